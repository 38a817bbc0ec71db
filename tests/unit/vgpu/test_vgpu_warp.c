// test_vgpu_warp.c - collectives of a warp, atomics, printf and assert

#include <math.h>

#include "tests/unit/vgpu/vgpu_fixture.h"

#define OUT ".param .u64 b"
#define LANE "ld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd4, %rd2, %rd5;\n"

#define LANE_FORMAT "ld.param.u64 %%rd2, [b];\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd5, %%r1, 4;\nadd.s64 %%rd4, %%rd2, %%rd5;\n"

static vt_t *s_out (const char *body)
{
    vt_t *t = vt_new (OUT, body);
    vt_arg64 (t, VT_Y);
    return t;
}

static uint32_t s_y (const vt_t *t, uint32_t i)
{
    uint32_t v;
    memcpy (&v, t->y + 4 * i, 4);
    return v;
}

// The definition of shfl, written out once more.
static uint32_t s_source (const char *mode, uint32_t lane, uint32_t b, uint32_t c, int *valid)
{
    uint32_t clamp = c & 31, seg = c >> 8 & 31, low = lane & seg, high = low | (clamp & ~seg & 31);
    int32_t j = (int32_t)lane;
    if (!strcmp (mode, "up")) {
        j -= (int32_t)b;
        *valid = j >= (int32_t)high;
    }
    else if (!strcmp (mode, "down")) {
        j += (int32_t)b;
        *valid = j <= (int32_t)high;
    }
    else if (!strcmp (mode, "bfly")) {
        j ^= (int32_t)b;
        *valid = j <= (int32_t)high;
    }
    else {
        j = (int32_t)(low | (b & ~seg & 31));
        *valid = j <= (int32_t)high;
    }
    return *valid ? (uint32_t)j : lane;
}

static void shuffles_move_values_and_keep_the_own_one_out_of_range (void **state)
{
    (void)state;
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    static const uint32_t amounts[] = {0, 1, 5, 16, 31};
    static const uint32_t widths[] = {32, 16, 8, 2};
    for (size_t mi = 0; mi < 4; mi++)
        for (size_t ai = 0; ai < 5; ai++)
            for (size_t wi = 0; wi < 4; wi++) {
                uint32_t c = (32 - widths[wi]) << 8 | (mi == 0 ? 0 : 31);
                char body[1024];
                snprintf (body, sizeof (body),
                          LANE_FORMAT "mad.lo.u32 %%r2, %%r1, 10, 7;\nshfl.sync.%s.b32 %%r3|%%p1, %%r2, %u, %u, -1;\nselp.u32 %%r4, 1, 0, %%p1;\n"
                                      "st.global.u32 [%%rd4], %%r3;\nst.global.u32 [%%rd4+512], %%r4;",
                          modes[mi], amounts[ai], c);
                vt_t *t = s_out (body);
                vt_ok (t, 1, 32);
                for (uint32_t l = 0; l < 32; l++) {
                    int valid;
                    uint32_t from = s_source (modes[mi], l, amounts[ai], c, &valid);
                    assert_int_equal (s_y (t, l), from * 10 + 7);
                    assert_int_equal (s_y (t, l + 128), valid);
                }
                vt_destroy (&t);
            }
}

static void votes_and_matches_see_the_members_only (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "setp.lt.u32 %p1, %r1, 16;\nmov.u32 %r9, 0x0000ffff;\nmov.u32 %r8, 0xffff0000;\nselp.u32 %r9, %r9, %r8, %p1;\n"
                          "and.b32 %r2, %r1, 3;\nsetp.eq.u32 %p2, %r2, 0;\n"
                          // each half by its own mask, from two places
                          "@%p1 bra A;\nvote.sync.ballot.b32 %r3, %p2, %r9;\nvote.sync.all.pred %p3, %p1, %r9;\nmatch.any.sync.b32 %r4, %r2, %r9;\nbra M;\n"
                          "A:\nvote.sync.ballot.b32 %r3, !%p2, %r9;\nvote.sync.all.pred %p3, %p1, %r9;\nmatch.any.sync.b32 %r4, %r2, %r9;\nM:\n"
                          "vote.sync.any.pred %p4, %p2, -1;\nvote.sync.uni.pred %p5, %p2, -1;\nselp.u32 %r5, 1, 0, %p3;\nselp.u32 %r6, 2, 0, %p4;\n"
                          "selp.u32 %r7, 4, 0, %p5;\nor.b32 %r5, %r5, %r6;\nor.b32 %r5, %r5, %r7;\nst.global.u32 [%rd4], %r3;\nst.global.u32 [%rd4+512], %r4;\n"
                          "st.global.u32 [%rd4+1024], %r5;");
    vt_ok (t, 1, 32);
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t half = l < 16 ? 0x0000ffffu : 0xffff0000u;
        assert_int_equal (s_y (t, l), l < 16 ? 0xeeee : 0x11110000u);
        assert_int_equal (s_y (t, l + 128), (0x11111111u << (l & 3)) & half);
        assert_int_equal (s_y (t, l + 256), (l < 16 ? 1 : 0) | 2);
    }
    vt_destroy (&t);
}

static void match_all_needs_one_value_and_redux_reduces (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "match.all.sync.b32 %r2|%p1, 5, -1;\nmatch.all.sync.b32 %r3|%p2, %r1, -1;\nsub.s32 %r9, %r1, 9;\n"
                          "redux.sync.add.s32 %r4, %r9, -1;\nredux.sync.min.s32 %r5, %r9, -1;\nredux.sync.max.u32 %r6, %r9, -1;\n"
                          "redux.sync.or.b32 %r7, %r1, -1;\nredux.sync.xor.b32 %r8, %r1, -1;\nredux.sync.and.b32 %r10, 6, -1;\n"
                          "cvt.u64.u32 %rd7, %r1;\nshl.b64 %rd7, %rd7, 35;\nmatch.any.sync.b64 %r11, %rd7, -1;\n"
                          "selp.u32 %r12, 1, 0, %p1;\nselp.u32 %r13, 2, 0, %p2;\nadd.u32 %r12, %r12, %r13;\n"
                          "st.global.u32 [%rd4], %r2;\nst.global.u32 [%rd4+128], %r3;\nst.global.u32 [%rd4+256], %r4;\nst.global.u32 [%rd4+384], %r5;\n"
                          "st.global.u32 [%rd4+512], %r6;\nst.global.u32 [%rd4+640], %r7;\nst.global.u32 [%rd4+768], %r8;\nst.global.u32 [%rd4+896], %r10;\n"
                          "st.global.u32 [%rd4+1024], %r11;\nst.global.u32 [%rd4+1152], %r12;");
    vt_ok (t, 1, 32);
    for (uint32_t l = 0; l < 32; l++) {
        assert_int_equal (s_y (t, l), 0xffffffffu);
        assert_int_equal (s_y (t, l + 32), 0);
        assert_int_equal ((int32_t)s_y (t, l + 64), 31 * 32 / 2 - 9 * 32);
        assert_int_equal ((int32_t)s_y (t, l + 96), -9);
        assert_int_equal (s_y (t, l + 128), 0xffffffffu);
        assert_int_equal (s_y (t, l + 160), 31);
        assert_int_equal (s_y (t, l + 192), 0);
        assert_int_equal (s_y (t, l + 224), 6);
        assert_int_equal (s_y (t, l + 256), 1u << l);
        assert_int_equal (s_y (t, l + 288), 1);
    }
    vt_destroy (&t);
}

// Tiles of 8 lanes come to one instruction together, each with its own member mask.
static void every_tile_of_a_warp_votes_matches_and_reduces_for_itself (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "and.b32 %r2, %r1, 24;\nmov.u32 %r3, 255;\nshl.b32 %r9, %r3, %r2;\n"              // %r9: the tile's lanes
                          "and.b32 %r4, %r1, 7;\nshr.u32 %r5, %r1, 3;\nsetp.eq.u32 %p1, %r4, %r5;\n"       // one lane of each tile, another in each
                          "vote.sync.ballot.b32 %r6, %p1, %r9;\nsetp.lt.u32 %p2, %r1, 12;\n"                // true in tile 0, in half of tile 1
                          "vote.sync.all.pred %p3, %p2, %r9;\nvote.sync.any.pred %p4, %p2, %r9;\nvote.sync.uni.pred %p5, %p2, %r9;\n"
                          "selp.u32 %r7, 1, 0, %p3;\nselp.u32 %r8, 2, 0, %p4;\nor.b32 %r7, %r7, %r8;\nselp.u32 %r8, 4, 0, %p5;\nor.b32 %r7, %r7, %r8;\n"
                          "and.b32 %r8, %r1, 1;\nmatch.any.sync.b32 %r10, %r8, %r9;\nmin.u32 %r11, %r1, 7;\nmatch.all.sync.b32 %r12|%p6, %r11, %r9;\n"
                          "selp.u32 %r13, 1, 0, %p6;\nredux.sync.add.s32 %r14, %r1, %r9;\nredux.sync.max.u32 %r15, %r1, %r9;\n"
                          "st.global.u32 [%rd4], %r6;\nst.global.u32 [%rd4+128], %r7;\nst.global.u32 [%rd4+256], %r10;\nst.global.u32 [%rd4+384], %r12;\n"
                          "st.global.u32 [%rd4+512], %r13;\nst.global.u32 [%rd4+640], %r14;\nst.global.u32 [%rd4+768], %r15;");
    vt_ok (t, 1, 32);
    for (uint32_t l = 0; l < 32; l++) {
        uint32_t tile = l / 8, lanes = 0xffu << (8 * tile);
        assert_int_equal (s_y (t, l), 1u << (8 * tile + tile));
        assert_int_equal (s_y (t, l + 32), tile == 0 ? 7 : tile == 1 ? 2 : 4);
        assert_int_equal (s_y (t, l + 64), (0x55555555u << (l & 1)) & lanes);
        assert_int_equal (s_y (t, l + 96), tile == 0 ? 0 : lanes); // 0..7 differ, the others are all 7
        assert_int_equal (s_y (t, l + 128), tile != 0);
        assert_int_equal (s_y (t, l + 160), 64 * tile + 28);
        assert_int_equal (s_y (t, l + 192), 8 * tile + 7);
    }
    vt_destroy (&t);
}

// Half of the first tile comes by another way. The other tiles, whose masks differ, must not make it go without that half.
static void a_tile_waits_for_its_own_lanes_whoever_comes_along (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "and.b32 %r2, %r1, 24;\nmov.u32 %r3, 255;\nshl.b32 %r9, %r3, %r2;\nsetp.ge.u32 %p2, %r1, 28;\nmov.u32 %r7, 5;\n@!%p2 bra S;\n"
                          "mov.u32 %r7, 9;\nS:\nvote.sync.ballot.b32 %r6, %p2, %r9;\nst.global.u32 [%rd4], %r6;\nst.global.u32 [%rd4+128], %r7;");
    vt_ok (t, 1, 32);
    for (uint32_t l = 0; l < 32; l++)
        assert_int_equal (s_y (t, l), l < 24 ? 0 : 0xf0000000u);
    vt_destroy (&t);
    // lanes 0-27 stand in one place, 28-31 in another: the last tile lacks half its lanes and is named
    t = s_out (LANE "and.b32 %r2, %r1, 24;\nmov.u32 %r3, 255;\nshl.b32 %r9, %r3, %r2;\nsetp.ge.u32 %p2, %r1, 28;\n@%p2 bra A;\n"
                    "vote.sync.ballot.b32 %r6, %p2, %r9;\nbra M;\nA:\nvote.sync.ballot.b32 %r6, %p2, %r9;\nadd.u32 %r6, %r6, 1;\nM:\nst.global.u32 [%rd4], %r6;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_SYNC_MISSING);
    vt_destroy (&t);
}

static void a_collective_gathers_lanes_that_come_by_different_ways (void **state)
{
    (void)state;
    // both halves call one function from different places; inside, all 32 lanes exchange
    vt_t *t = vt_from_text (".version 7.5\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 b)\n{\n.reg .pred %p<4>;\n.reg .b32 %r<9>;\n"
                            ".reg .b64 %rd<9>;\n" LANE "setp.gt.u32 %p1, %r1, 31;\nmov.u32 %r2, 0;\n@%p1 bra S;\nand.b32 %r3, %r1, 1;\nsetp.eq.u32 %p2, %r3, 0;\n"
                            "@%p2 bra S;\nmov.u32 %r2, 1;\nS:\nbar.warp.sync -1;\nshfl.sync.bfly.b32 %r4, %r2, 1, 31, -1;\nactivemask.b32 %r5;\n"
                            "st.global.u32 [%rd4], %r4;\nst.global.u32 [%rd4+512], %r5;\nret;\n}\n");
    vt_arg64 (t, VT_Y);
    vt_ok (t, 1, 64);
    for (uint32_t l = 0; l < 32; l++) {
        assert_int_equal (s_y (t, l), l % 2 == 0);
        assert_int_equal (s_y (t, l + 128), 0xffffffffu);
    }
    vt_destroy (&t);
}

static void lanes_missing_at_a_collective_are_named (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "setp.lt.u32 %p1, %r1, 8;\n.loc 1 30 0\n@!%p1 bra M;\n.loc 1 31 0\nshfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nM:\n.loc 1 33 0\nbar.warp.sync -1;\n"
                          "st.global.u32 [%rd4], %r2;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_SYNC_MISSING);
    assert_non_null (strstr (t->f.text, "names lanes 0-31 of warp 0, but lanes"));
    assert_non_null (strstr (t->f.text, "33"));
    vt_destroy (&t);
    // lanes that have exited are not waited for
    t = s_out (LANE "setp.gt.u32 %p1, %r1, 7;\n@%p1 exit;\nshfl.sync.idx.b32 %r2, %r1, 3, 31, -1;\nst.global.u32 [%rd4], %r2;");
    vt_ok (t, 1, 32);
    assert_int_equal (s_y (t, 7), 3);
    vt_destroy (&t);
}

static void every_atomic_returns_the_old_value_and_stores_the_new (void **state)
{
    (void)state;
    // all lanes on one address, in lane order: the old value of lane l is known
    static const struct {
        const char *op;
        uint64_t start, last; // last = value in memory at the end, operand = lane + 1 (or as noted)
        int bytes;
    } cases[] = {
        {"add.u32", 10, 10 + 528, 4},
        {"add.s32", 0xffffffffu, 527, 4},
        {"add.u64", 1ull << 40, (1ull << 40) + 528, 8},
        {"min.u32", 20, 1, 4},
        {"min.s32", 0xfffffff0u, 0xfffffff0u, 4},
        {"max.s32", 0xfffffff0u, 32, 4},
        {"max.u32", 0xfffffff0u, 0xfffffff0u, 4},
        {"max.u64", 5, 32, 8},
        {"min.s64", (uint64_t)-3, (uint64_t)-3, 8},
        {"inc.u32", 0, 0, 4},  // operand lane + 1 grows with the value: ends below
        {"dec.u32", 3, 0, 4},
        {"and.b32", 0xff, 0, 4},
        {"or.b32", 0, 63, 4},
        {"xor.b64", 1ull << 50, (1ull << 50) | 32, 8},
        {"exch.b32", 77, 32, 4},
        {"exch.b64", 77, 32, 8},
    };
    for (size_t k = 0; k < sizeof (cases) / sizeof (cases[0]); k++)
        for (int space = 0; space < 3; space++) {
            int wide = cases[k].bytes == 8;
            const char *name = space == 0 ? ".global" : space == 1 ? ".shared" : "";
            char body[2048];
            snprintf (body, sizeof (body),
                      ".shared .align 8 .b8 s[8];\nld.param.u64 %%rd2, [b];\nmov.u32 %%r1, %%tid.x;\nmul.wide.u32 %%rd5, %%r1, 8;\nadd.s64 %%rd4, %%rd2, %%rd5;\n"
                      "mov.u64 %%rd6, %s;\n%smov.u64 %%rd7, %lld;\nst%s.u64 [%%rd6], %%rd7;\nbar.sync 0;\nadd.u32 %%r2, %%r1, 1;\ncvt.u64.u32 %%rd8, %%r2;\n"
                      "mov.u64 %%rd9, 0;\natom%s.%s %s, [%%rd6], %s;\n%sst.global.u64 [%%rd4+64], %%rd9;\nbar.sync 0;\nld%s.u64 %%rd10, [%%rd6];\nst.global.u64 [%%rd2], %%rd10;",
                      space == 0 ? "2097184" : "s", space == 2 ? "cvta.shared.u64 %rd6, %rd6;\n" : "", (long long)cases[k].start, name, name, cases[k].op,
                      wide ? "%rd9" : "%r3", wide ? "%rd8" : "%r2", wide ? "" : "cvt.u64.u32 %rd9, %r3;\n", name);
            vt_t *t = s_out (body);
            vt_ok (t, 1, 32);
            uint64_t now = cases[k].start, got, mask = wide ? ~0ull : 0xffffffffull;
            now &= mask;
            for (uint64_t l = 0; l < 32; l++) {
                uint64_t operand = l + 1;
                memcpy (&got, t->y + 64 + 8 * l, 8);
                assert_int_equal (got, now);
                int64_t s = wide ? (int64_t)now : (int32_t)(uint32_t)now, so = (int64_t)operand;
                const char *op = cases[k].op;
                if (!strncmp (op, "add", 3))
                    now += operand;
                else if (!strncmp (op, "min.s", 5))
                    now = s < so ? now : operand;
                else if (!strncmp (op, "max.s", 5))
                    now = s > so ? now : operand;
                else if (!strncmp (op, "min", 3))
                    now = now < operand ? now : operand;
                else if (!strncmp (op, "max", 3))
                    now = now > operand ? now : operand;
                else if (!strncmp (op, "inc", 3))
                    now = now >= operand ? 0 : now + 1;
                else if (!strncmp (op, "dec", 3))
                    now = now == 0 || now > operand ? operand : now - 1;
                else if (!strncmp (op, "and", 3))
                    now &= operand;
                else if (!strncmp (op, "or", 2))
                    now |= operand;
                else if (!strncmp (op, "xor", 3))
                    now ^= operand;
                else
                    now = operand;
                now &= mask;
            }
            memcpy (&got, t->y, 8);
            assert_int_equal (got & mask, now);
            if (strncmp (cases[k].op, "inc", 3) && strncmp (cases[k].op, "dec", 3))
                assert_int_equal (now, cases[k].last & mask);
            assert_int_equal (space == 0 ? t->c.atomics_global : t->c.atomics_shared, 32);
            vt_destroy (&t);
        }
}

static void float_atomics_reductions_and_the_hottest_address (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "cvt.rn.f32.u32 %f1, %r1;\ncvt.rn.f64.u32 %fd1, %r1;\natom.global.add.f32 %f2, [%rd2], %f1;\nred.global.add.f64 [%rd2+8], %fd1;\n"
                          "red.global.max.u32 [%rd2+16], %r1;\nand.b32 %r2, %r1, 1;\nmul.wide.u32 %rd6, %r2, 4;\nadd.s64 %rd6, %rd2, %rd6;\n"
                          "red.relaxed.gpu.global.add.u32 [%rd6+32], 1;\natom.global.cas.b32 %r3, [%rd2+64], %r1, 1000;\natom.acq_rel.gpu.global.cas.b64 %rd7, [%rd2+72], 0, 5;\n"
                          "add.s64 %rd8, %rd2, %rd5;\nst.global.u32 [%rd8+128], %r3;");
    vt_ok (t, 1, 64);
    float f;
    double d;
    memcpy (&f, t->y, 4);
    memcpy (&d, t->y + 8, 8);
    assert_true (f == 2016.0f && d == 2016.0);
    assert_int_equal (s_y (t, 4), 63);
    assert_int_equal (s_y (t, 8), 32);
    assert_int_equal (s_y (t, 9), 32);
    assert_int_equal (s_y (t, 16), 1000);
    assert_int_equal (s_y (t, 18), 5);
    assert_int_equal (s_y (t, 32), 0);
    assert_int_equal (s_y (t, 33), 1000);
    assert_int_equal (t->c.atomics_global, 64 * 6);
    assert_int_equal (t->c.atomic_hottest, 64);
    assert_int_equal (t->c.atomic_addresses, 7);
    assert_int_equal (t->c.traffic[0].atomics, 0);
    assert_int_equal (t->c.traffic[1].atomics, 64 * 6);
    vt_destroy (&t);
}

static void an_atomic_outside_its_buffer_is_found (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "atom.global.add.u32 %r2, [%rd2+65536], 1;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_OUT_OF_BOUNDS);
    assert_non_null (strstr (t->f.text, "4-byte atomic 4 bytes past the end of y"));
    vt_destroy (&t);
    t = s_out (LANE "red.global.add.u64 [%rd2+4], 1;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_MISALIGNED);
    vt_destroy (&t);
}

#define PRINTF_HEAD                                                                    \
    ".version 7.5\n.target sm_80\n.address_size 64\n.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);\n"             \
    ".extern .func __assertfail (.param .b64 m, .param .b64 f, .param .b32 l, .param .b64 n, .param .b64 c);\n"

static void printf_formats_every_kind_of_argument (void **state)
{
    (void)state;
    // "%d|%5.2f|%s|%lld|%x|%c|%%|%-4u|%e\n"
    vt_t *t = vt_from_text (
        PRINTF_HEAD ".global .align 1 .b8 fmt[34] = {37,100,124,37,53,46,50,102,124,37,115,124,37,108,108,100,124,37,120,124,37,99,124,37,37,124,37,45,52,117,124,10,0,0};\n"
                    ".global .align 1 .b8 str[4] = {97,98,99,0};\n.visible .entry k()\n{\n.local .align 8 .b8 l[64];\n.reg .pred %p<2>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
                    "mov.u64 %rd1, l;\ncvta.local.u64 %rd2, %rd1;\nmov.u32 %r1, %tid.x;\nsub.s32 %r2, %r1, 2;\nst.local.u32 [%rd1], %r2;\nst.local.u64 [%rd1+8], 0x400921FB54442D18;\n"
                    "mov.u64 %rd3, str;\ncvta.global.u64 %rd3, %rd3;\nst.local.u64 [%rd1+16], %rd3;\nst.local.u64 [%rd1+24], -5000000000;\nst.local.u32 [%rd1+32], 48879;\n"
                    "st.local.u32 [%rd1+36], 90;\nst.local.u32 [%rd1+40], 7;\nmov.u64 %rd4, fmt;\ncvta.global.u64 %rd4, %rd4;\nsetp.lt.u32 %p1, %r1, 2;\n@!%p1 bra E;\n"
                    "{\n.param .b64 a;\nst.param.b64 [a], %rd4;\n.param .b64 c;\nst.param.b64 [c], %rd2;\n.param .b32 q;\ncall.uni (q), vprintf, (a, c);\nld.param.b32 %r3, [q];\n}\nE:\nret;\n}\n");
    vt_ok (t, 1, 32);
    assert_string_equal (t->c.output, "-2| 3.14|abc|-5000000000|beef|Z|%|7   |\n-1| 3.14|abc|-5000000000|beef|Z|%|7   |\n");
    assert_true (vgpu_module_static (t->m)->forbidden & PTX_USES_PRINTF);
    assert_false (vgpu_module_static (t->m)->forbidden & PTX_FORBIDDEN_WRITABLE);
    assert_null (ptx_module_unresolved (vgpu_module_static (t->m)));
    vt_destroy (&t);
}

static void a_failed_assertion_is_quoted (void **state)
{
    (void)state;
    vt_t *t = vt_from_text (PRINTF_HEAD ".global .align 1 .b8 m[6] = {105,32,60,32,52,0};\n.global .align 1 .b8 f[5] = {107,46,99,117,0};\n.visible .entry k()\n{\n"
                                        ".reg .pred %p<2>;\n.reg .b32 %r<4>;\n.reg .b64 %rd<6>;\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\n@%p1 bra E;\nmov.u64 %rd1, m;\n"
                                        "cvta.global.u64 %rd1, %rd1;\nmov.u64 %rd2, f;\ncvta.global.u64 %rd2, %rd2;\n{\n.param .b64 a; st.param.b64 [a], %rd1;\n.param .b64 b; st.param.b64 [b], %rd2;\n"
                                        ".param .b32 c; st.param.b32 [c], 12;\n.param .b64 d; st.param.b64 [d], %rd2;\n.param .b64 e; st.param.b64 [e], 1;\ncall.uni __assertfail, (a, b, c, d, e);\n}\nE:\nret;\n}\n");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_ASSERT);
    assert_int_equal (t->f.thread[0], 4);
    assert_non_null (strstr (t->f.text, "assertion 'i < 4' failed at k.cu:12"));
    vt_destroy (&t);
}

static void math_functions_left_as_calls_are_computed (void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int args;
        double x, y, want;
    } cases[] = {
        {"exp", 1, 1.5, 0, 4.4816890703380648},   {"exp2", 1, 3.5, 0, 11.313708498984761},   {"exp10", 1, 2, 0, 100},
        {"expm1", 1, 1e-3, 0, 1.0005001667083416e-3}, {"log", 1, 10, 0, 2.3025850929940457}, {"log2", 1, 8, 0, 3},
        {"log10", 1, 1000, 0, 3},                 {"log1p", 1, 1e-3, 0, 9.9950033308353317e-4}, {"sin", 1, 1, 0, 0.8414709848078965},
        {"cos", 1, 1, 0, 0.5403023058681398},     {"tan", 1, 1, 0, 1.5574077246549023},      {"sinpi", 1, 0.5, 0, 1},
        {"cospi", 1, 1, 0, -1},                   {"asin", 1, 0.5, 0, 0.52359877559829887},  {"acos", 1, 0.5, 0, 1.0471975511965979},
        {"atan", 1, 1, 0, 0.78539816339744831},   {"sinh", 1, 1, 0, 1.1752011936438014},     {"cosh", 1, 1, 0, 1.5430806348152437},
        {"tanh", 1, 0.5, 0, 0.46211715726000979}, {"asinh", 1, 1, 0, 0.88137358701954305},   {"acosh", 1, 2, 0, 1.3169578969248166},
        {"atanh", 1, 0.5, 0, 0.54930614433405489}, {"erf", 1, 0.5, 0, 0.52049987781304652},  {"erfc", 1, 0.5, 0, 0.47950012218695343},
        {"erfinv", 1, 0.5, 0, 0.47693627620446987}, {"normcdf", 1, 0, 0, 0.5},               {"lgamma", 1, 5, 0, 3.1780538303479458},
        {"tgamma", 1, 5, 0, 24},                  {"sqrt", 1, 2, 0, 1.4142135623730951},     {"rsqrt", 1, 4, 0, 0.5},
        {"cbrt", 1, 27, 0, 3},                    {"rcbrt", 1, 8, 0, 0.5},                   {"fabs", 1, -2, 0, 2},
        {"floor", 1, -1.5, 0, -2},                {"ceil", 1, -1.5, 0, -1},                  {"trunc", 1, -1.5, 0, -1},
        {"round", 1, 2.5, 0, 3},                  {"rint", 1, 2.5, 0, 2},                    {"nearbyint", 1, 3.5, 0, 4},
        {"logb", 1, 10, 0, 3},                    {"pow", 2, 2, 10, 1024},                   {"atan2", 2, 1, -1, 2.3561944901923449},
        {"fmod", 2, 7.5, 2, 1.5},                 {"remainder", 2, 7.5, 2, -0.5},            {"fmin", 2, 1, 2, 1},
        {"fmax", 2, 1, 2, 2},                     {"fdim", 2, 5, 3, 2},                      {"hypot", 2, 3, 4, 5},
        {"rhypot", 2, 3, 4, 0.2},                 {"copysign", 2, 3, -1, -3},                {"nextafter", 2, 1, 1, 1},
    };
    for (size_t k = 0; k < sizeof (cases) / sizeof (cases[0]); k++)
        for (int fl = 0; fl < 2; fl++)
            for (int nv = 0; nv < 2; nv++) {
                const char *type = fl ? "f32" : "f64";
                char text[2048], reg[4];
                snprintf (reg, sizeof (reg), "%s", fl ? "%f" : "%d");
                snprintf (text, sizeof (text),
                          ".version 7.5\n.target sm_80\n.address_size 64\n.extern .func (.param .b%d r) %s%s%s (.param .b%d x%s);\n"
                          ".visible .entry k(.param .u64 b, .param .%s x, .param .%s y)\n{\n.reg .b64 %%rd<4>;\n.reg .f32 %%f<4>;\n.reg .f64 %%d<4>;\n"
                          "ld.param.u64 %%rd1, [b];\nld.param.%s %s1, [x];\nld.param.%s %s2, [y];\n{\n.param .b%d p;\nst.param.%s [p], %s1;\n.param .b%d q;\nst.param.%s [q], %s2;\n"
                          ".param .b%d v;\ncall.uni (v), %s%s%s, (p%s);\nld.param.%s %s3, [v];\n}\nst.global.%s [%%rd1], %s3;\nret;\n}\n",
                          fl ? 32 : 64, nv ? "__nv_" : "", cases[k].name, fl ? "f" : "", fl ? 32 : 64, cases[k].args == 2 ? fl ? ", .param .b32 y" : ", .param .b64 y" : "",
                          type, type, type, reg, type, reg, fl ? 32 : 64, type, reg, fl ? 32 : 64, type, reg, fl ? 32 : 64, nv ? "__nv_" : "", cases[k].name, fl ? "f" : "",
                          cases[k].args == 2 ? ", q" : "", type, reg, type, reg);
                vt_t *t = vt_from_text (text);
                vt_arg64 (t, VT_Y);
                double got;
                if (fl) {
                    float x = (float)cases[k].x, y = (float)cases[k].y, r;
                    vt_arg (t, &x, 4);
                    vt_arg (t, &y, 4);
                    vt_ok (t, 1, 1);
                    memcpy (&r, t->y, 4);
                    got = (double)r;
                }
                else {
                    vt_arg (t, &cases[k].x, 8);
                    vt_arg (t, &cases[k].y, 8);
                    vt_ok (t, 1, 1);
                    memcpy (&got, t->y, 8);
                }
                double room = (fl ? 2e-7 : 1e-15) * fmax (1, fabs (cases[k].want));
                if (!(fabs (got - cases[k].want) <= room))
                    fail_msg ("%s%s (%g, %g) is %.17g, expected %.17g", cases[k].name, fl ? "f" : "", cases[k].x, cases[k].y, got, cases[k].want);
                assert_true (t->c.warp_instructions > 4);
                vt_destroy (&t);
            }
}

static void functions_with_result_pointers_write_through_them (void **state)
{
    (void)state;
    vt_t *t = vt_from_text (".version 7.5\n.target sm_80\n.address_size 64\n.extern .func sincosf (.param .b32 x, .param .b64 s, .param .b64 c);\n"
                            ".extern .func (.param .b32 r) frexpf (.param .b32 x, .param .b64 e);\n.extern .func (.param .b32 r) ldexpf (.param .b32 x, .param .b32 e);\n"
                            ".visible .entry k(.param .u64 b)\n{\n.local .align 4 .b8 l[8];\n.reg .b64 %rd<6>;\n.reg .f32 %f<6>;\nld.param.u64 %rd1, [b];\nmov.u64 %rd2, l;\ncvta.local.u64 %rd2, %rd2;\n"
                            "add.s64 %rd3, %rd2, 4;\n{\n.param .b32 x; st.param.f32 [x], 0f3F800000;\n.param .b64 s; st.param.b64 [s], %rd2;\n.param .b64 c; st.param.b64 [c], %rd3;\ncall.uni sincosf, (x, s, c);\n}\n"
                            "ld.local.f32 %f1, [l];\nld.local.f32 %f2, [l+4];\nst.global.v2.f32 [%rd1], {%f1, %f2};\n{\n.param .b32 x; st.param.f32 [x], 0f41200000;\n.param .b64 e; st.param.b64 [e], %rd2;\n.param .b32 r;\n"
                            "call.uni (r), frexpf, (x, e);\nld.param.f32 %f3, [r];\n}\nst.global.f32 [%rd1+8], %f3;\n{\n.param .b32 x; st.param.f32 [x], 0f3FC00000;\n.param .b32 e; st.param.b32 [e], 4;\n.param .b32 r;\n"
                            "call.uni (r), ldexpf, (x, e);\nld.param.f32 %f4, [r];\n}\nst.global.f32 [%rd1+12], %f4;\nret;\n}\n");
    vt_arg64 (t, VT_Y);
    vt_ok (t, 1, 3);
    float r[4];
    memcpy (r, t->y, 16);
    assert_true (r[0] == (float)sin (1.0) && r[1] == (float)cos (1.0) && r[2] == 0.625f && r[3] == 24.0f);
    vt_destroy (&t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (shuffles_move_values_and_keep_the_own_one_out_of_range),
        cmocka_unit_test (votes_and_matches_see_the_members_only),
        cmocka_unit_test (match_all_needs_one_value_and_redux_reduces),
        cmocka_unit_test (every_tile_of_a_warp_votes_matches_and_reduces_for_itself),
        cmocka_unit_test (a_tile_waits_for_its_own_lanes_whoever_comes_along),
        cmocka_unit_test (a_collective_gathers_lanes_that_come_by_different_ways),
        cmocka_unit_test (lanes_missing_at_a_collective_are_named),
        cmocka_unit_test (every_atomic_returns_the_old_value_and_stores_the_new),
        cmocka_unit_test (float_atomics_reductions_and_the_hottest_address),
        cmocka_unit_test (an_atomic_outside_its_buffer_is_found),
        cmocka_unit_test (printf_formats_every_kind_of_argument),
        cmocka_unit_test (a_failed_assertion_is_quoted),
        cmocka_unit_test (math_functions_left_as_calls_are_computed),
        cmocka_unit_test (functions_with_result_pointers_write_through_them),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
