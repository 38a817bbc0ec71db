// test_vgpu_control.c - divergence and reconvergence, calls, barriers, blocks that wait for each other, budgets

#include "tests/unit/vgpu/vgpu_fixture.h"

#define OUT ".param .u64 b"
// %r1 = tid, %rd4 = b + 4 tid
#define LANE "ld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd5, %r1, 4;\nadd.s64 %rd4, %rd2, %rd5;\n"
#define HEAD ".version 7.5\n.target sm_80\n.address_size 64\n"

static vt_t *s_out (const char *body)
{
    vt_t *t = vt_new (OUT, body);
    vt_arg64 (t, VT_Y);
    return t;
}

static uint32_t s_y (const vt_t *t, int i)
{
    uint32_t v;
    memcpy (&v, t->y + 4 * i, 4);
    return v;
}

static void both_sides_of_a_branch_run_and_meet_again (void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        vt_t *t = s_out (LANE "setp.lt.u32 %p1, %r1, 10;\n@%p1 bra A;\nmov.u32 %r2, 2000;\nactivemask.b32 %r3;\nbra M;\nA:\n"
                              "mov.u32 %r2, 1000;\nactivemask.b32 %r3;\nM:\nactivemask.b32 %r4;\nadd.u32 %r2, %r2, %r1;\n"
                              "st.global.u32 [%rd4], %r2;\nst.global.u32 [%rd4+512], %r3;\nst.global.u32 [%rd4+1024], %r4;");
        t->launch.seed = seed;
        vt_ok (t, 1, 32);
        for (int i = 0; i < 32; i++) {
            assert_int_equal (s_y (t, i), (i < 10 ? 1000 : 2000) + i);
            assert_int_equal (s_y (t, i + 128), i < 10 ? 0x3ffu : ~0x3ffu);
            assert_int_equal (s_y (t, i + 256), 0xffffffffu);
        }
        assert_int_equal (t->c.branches, 1);
        assert_int_equal (t->c.divergent_branches, 1);
        vt_destroy (&t);
    }
}

static void the_seed_decides_which_side_runs_first (void **state)
{
    (void)state;
    int first[2] = {0, 0};
    for (uint64_t seed = 0; seed < 40; seed++) {
        vt_t *t = s_out (LANE "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra A;\natom.global.add.u32 %r2, [%rd2], 1;\nbra M;\nA:\n"
                              "atom.global.add.u32 %r2, [%rd2], 1;\nM:\nst.global.u32 [%rd4+128], %r2;");
        t->launch.seed = seed;
        vt_ok (t, 1, 32);
        first[s_y (t, 32) == 0]++;
        if (seed == 0)
            assert_int_equal (s_y (t, 32), 16); // fall-through first
        vt_destroy (&t);
    }
    assert_true (first[0] > 5 && first[1] > 5);
}

static void lanes_leave_a_loop_one_by_one_and_meet_behind_it (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "mov.u32 %r2, 0;\nmov.u32 %r3, 0;\nL:\nadd.u32 %r3, %r3, %r2;\nadd.u32 %r2, %r2, 1;\n"
                          "setp.le.u32 %p1, %r2, %r1;\n@%p1 bra L;\nactivemask.b32 %r4;\nst.global.u32 [%rd4], %r3;\n"
                          "st.global.u32 [%rd4+512], %r4;");
    vt_ok (t, 1, 64);
    for (int i = 0; i < 64; i++) {
        assert_int_equal (s_y (t, i), i * (i + 1) / 2);
        assert_int_equal (s_y (t, i + 128), 0xffffffffu);
    }
    vt_destroy (&t);
}

static void nested_branches_with_early_exits_keep_every_lane_right (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "st.global.u32 [%rd4], 7;\nsetp.gt.u32 %p1, %r1, 27;\n@%p1 exit;\nand.b32 %r2, %r1, 1;\n"
                          "setp.eq.u32 %p2, %r2, 0;\nmov.u32 %r5, 0;\n@%p2 bra EVEN;\nand.b32 %r3, %r1, 2;\nsetp.eq.u32 %p3, %r3, 0;\n"
                          "@%p3 bra ODD1;\nsetp.eq.u32 %p4, %r1, 3;\n@%p4 ret;\nadd.u32 %r5, %r5, 100;\nbra OJ;\nODD1:\nadd.u32 %r5, %r5, 200;\n"
                          "OJ:\nadd.u32 %r5, %r5, 1;\nbra J;\nEVEN:\nadd.u32 %r5, %r5, 300;\nJ:\nactivemask.b32 %r6;\n"
                          "add.u32 %r5, %r5, 10000;\nst.global.u32 [%rd4], %r5;\nst.global.u32 [%rd4+512], %r6;");
    vt_ok (t, 1, 32);
    for (int i = 0; i < 32; i++) {
        int want = i > 27 || i == 3 ? 7 : i % 2 == 0 ? 10300 : (i & 2) == 0 ? 10201 : 10101;
        assert_int_equal (s_y (t, i), want);
        if (want != 7)
            assert_int_equal (s_y (t, i + 128), 0x0fffffffu & ~8u);
    }
    vt_destroy (&t);
}

static void an_indexed_branch_takes_every_lane_to_its_label (void **state)
{
    (void)state;
    vt_t *t = s_out ("T: .branchtargets A, B, C;\n" LANE "rem.u32 %r2, %r1, 3;\nbrx.idx %r2, T;\nA:\nmov.u32 %r3, 10;\nbra M;\nB:\n"
                     "mov.u32 %r3, 20;\nbra M;\nC:\nmov.u32 %r3, 30;\nM:\nactivemask.b32 %r4;\nst.global.u32 [%rd4], %r3;\n"
                     "st.global.u32 [%rd4+512], %r4;");
    vt_ok (t, 1, 32);
    for (int i = 0; i < 32; i++) {
        assert_int_equal (s_y (t, i), 10 * (i % 3 + 1));
        assert_int_equal (s_y (t, i + 128), 0xffffffffu);
    }
    vt_destroy (&t);
}

static void inline_assembly_scopes_hide_names_and_repeat_labels (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "mov.u32 %r2, 0;\nmov.u32 %r3, %r1;\n"
                          "{ .reg .pred p; .reg .b32 low, t; W: setp.gt.u32 p, %r3, 5; @!p bra D; sub.u32 %r3, %r3, 5; bra W; D: mov.u32 low, 3; "
                          "add.u32 %r2, %r2, low; }\n"
                          "{ .reg .pred p; .reg .b64 low; W: setp.eq.u32 p, %r3, 0;\n@p bra D;\nsub.u32 %r3, %r3, 1; add.u32 %r2, %r2, 10; bra W; D:\n"
                          "mov.u64 low, 4; { .reg .b32 low; mov.b32 low, 500; add.u32 %r2, %r2, low; } }\n"
                          "{ .reg .b32 %r1; mov.u32 %r1, 9000; add.u32 %r2, %r2, %r1; }\nst.global.u32 [%rd4], %r2;");
    vt_ok (t, 1, 32);
    for (int i = 0; i < 32; i++)
        assert_int_equal (s_y (t, i), 9503 + 10 * (i <= 5 ? i : (i - 1) % 5 + 1));
    vt_destroy (&t);
}

#define FIB                                                                            \
    ".func (.param .b32 r) fib (.param .b32 n)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\nld.param.u32 %r1, [n];\nmov.u32 %r2, %r1;\n" \
    "setp.lt.s32 %p1, %r1, 2;\n@%p1 bra L;\nadd.s32 %r3, %r1, -1;\n{\n.param .b32 p0;\nst.param.b32 [p0+0], %r3;\n.param .b32 q;\n" \
    "call.uni (q), fib, (p0);\nld.param.b32 %r4, [q+0];\n}\nadd.s32 %r3, %r1, -2;\n{\n.param .b32 p0;\nst.param.b32 [p0+0], %r3;\n"      \
    ".param .b32 q;\ncall.uni (q), fib, (p0);\nld.param.b32 %r5, [q+0];\n}\nadd.s32 %r2, %r4, %r5;\nL:\nst.param.b32 [r+0], %r2;\nret;\n}\n"

static void recursion_with_different_depth_per_lane_returns_the_right_values (void **state)
{
    (void)state;
    vt_t *t = vt_from_text (HEAD FIB ".visible .entry k(.param .u64 b)\n{\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" LANE
                                     "rem.u32 %r2, %r1, 11;\n{\n.param .b32 p0;\nst.param.b32 [p0+0], %r2;\n.param .b32 q;\n"
                                     "call.uni (q), fib, (p0);\nld.param.b32 %r3, [q+0];\n}\nactivemask.b32 %r4;\nst.global.u32 [%rd4], %r3;\n"
                                     "st.global.u32 [%rd4+512], %r4;\nret;\n}\n");
    vt_arg64 (t, VT_Y);
    vt_ok (t, 1, 64);
    static const int fib[] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55};
    for (int i = 0; i < 64; i++) {
        assert_int_equal (s_y (t, i), fib[i % 11]);
        assert_int_equal (s_y (t, i + 128), 0xffffffffu);
    }
    vt_destroy (&t);
}

static void a_guarded_call_with_a_struct_leaves_other_lanes_alone (void **state)
{
    (void)state;
    // f sums a struct of three and returns two values in one struct; it has local memory and a divergent return
    vt_t *t = vt_from_text (
        HEAD ".func (.param .align 4 .b8 r[8]) f (.param .align 4 .b8 s[12])\n{\n.local .align 4 .b8 l[16];\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n"
             "ld.param.u32 %r1, [s];\nld.param.u32 %r2, [s+4];\nmov.b64 %rd1, s;\nld.param.u32 %r3, [%rd1+8];\nst.local.u32 [l+8], %r3;\n"
             "add.u32 %r4, %r1, %r2;\nld.local.u32 %r5, [l+8];\nadd.u32 %r4, %r4, %r5;\nst.param.b32 [r], %r4;\nst.param.b32 [r+4], 1;\n"
             "setp.gt.u32 %p1, %r1, 20;\n@%p1 ret;\nst.param.b32 [r+4], 2;\nret;\n}\n"
             ".visible .entry k(.param .u64 b)\n{\n.local .align 4 .b8 mine[8];\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" LANE
             "st.local.u32 [mine], 77;\nmov.u32 %r5, 0;\nand.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 0;\n{\n.param .align 4 .b8 a[12];\n.param .align 4 .b8 q[8];\n"
             "st.param.b32 [q], 5;\nst.param.b32 [q+4], 6;\nst.param.b32 [a], %r1;\nst.param.v2.b32 [a+4], {100, 1000};\n"
             "@%p1 call (q), f, (a);\nld.param.u32 %r5, [q];\nld.param.u32 %r6, [q+4];\n}\nld.local.u32 %r7, [mine];\nactivemask.b32 %r8;\n"
             "st.global.u32 [%rd4], %r5;\nst.global.u32 [%rd4+256], %r6;\nst.global.u32 [%rd4+512], %r7;\nst.global.u32 [%rd4+1024], %r8;\nret;\n}\n");
    vt_arg64 (t, VT_Y);
    vt_ok (t, 1, 32);
    for (int i = 0; i < 32; i++) {
        assert_int_equal (s_y (t, i), i % 2 ? 5 : 1100 + i);
        assert_int_equal (s_y (t, i + 64), i % 2 ? 6 : i > 20 ? 1 : 2);
        assert_int_equal (s_y (t, i + 128), 77);
        assert_int_equal (s_y (t, i + 256), 0xffffffffu);
    }
    vt_destroy (&t);
}

static void endless_recursion_is_a_stack_overflow (void **state)
{
    (void)state;
    vt_t *t = vt_from_text (HEAD ".func f ()\n{\n.local .align 4 .b8 l[64];\nst.local.u32 [l], 1;\ncall.uni f;\nret;\n}\n"
                                 ".visible .entry k()\n{\ncall.uni f;\nret;\n}\n");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_STACK);
    assert_non_null (strstr (t->f.text, "call of f at depth"));
    vt_destroy (&t);
}

static void a_spin_lock_inside_one_warp_ends (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "L:\natom.global.cas.b32 %r2, [%rd2], 0, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra L;\n"
                          "ld.volatile.global.u32 %r3, [%rd2+4];\nadd.u32 %r3, %r3, 1;\nst.volatile.global.u32 [%rd2+4], %r3;\nmembar.gl;\n"
                          "atom.global.exch.b32 %r4, [%rd2], 0;");
    vt_ok (t, 4, 64);
    assert_int_equal (s_y (t, 0), 0);
    assert_int_equal (s_y (t, 1), 256);
    vt_destroy (&t);
}

// every block adds one and waits until all have
#define GRID_BARRIER                                                                   \
    LANE "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n.loc 1 56 0\natom.global.add.u32 %r2, [%rd2], 1;\nW:\n.loc 1 57 0\nmov.u32 %r5, %nctaid.x;\n" \
         "L:\nld.acquire.gpu.global.u32 %r3, [%rd2];\nsetp.lt.u32 %p2, %r3, %r5;\n@%p2 bra L;\n.loc 1 58 0\nmov.u32 %r6, %ctaid.x;\n"    \
         "mul.wide.u32 %rd6, %r6, 4;\nadd.s64 %rd6, %rd2, %rd6;\nst.global.u32 [%rd6+4], %r3;"

static void resident_blocks_wait_for_each_other_and_end (void **state)
{
    (void)state;
    vt_t *t = s_out (GRID_BARRIER);
    t->launch.n_resident = 8;
    vt_ok (t, 8, 96);
    for (int i = 0; i < 8; i++)
        assert_int_equal (s_y (t, 1 + i), 8);
    vt_destroy (&t);
}

static void a_grid_that_waits_for_blocks_that_are_not_there_is_named (void **state)
{
    (void)state;
    vt_t *t = s_out (GRID_BARRIER);
    t->launch.n_resident = 4;
    assert_int_equal (vt_run (t, 8, 64), -1);
    assert_int_equal (t->f.status, VGPU_TIMEOUT);
    assert_int_equal (t->f.line, 57);
    assert_non_null (strstr (t->f.text, "all 4 resident blocks wait at line 57"));
    assert_true (t->f.lane_instructions < 20000000);
    vt_destroy (&t);
}

static void a_look_back_chain_ends_with_few_resident_blocks (void **state)
{
    (void)state;
    // block i waits for block i - 1's flag, adds its number and publishes
    vt_t *t = s_out (LANE "mov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd6, %r5, 4;\nadd.s64 %rd6, %rd2, %rd6;\nmov.u32 %r3, 1;\nsetp.eq.u32 %p1, %r5, 0;\n"
                          "@%p1 bra GO;\nL:\nld.volatile.global.u32 %r3, [%rd6+-4];\nsetp.eq.u32 %p2, %r3, 0;\n@%p2 bra L;\nGO:\n"
                          "add.u32 %r3, %r3, %r5;\nst.global.u32 [%rd6], %r3;");
    t->launch.n_resident = 3;
    vt_ok (t, 40, 32);
    for (int i = 0; i < 40; i++)
        assert_int_equal (s_y (t, i), 1 + i * (i + 1) / 2);
    vt_destroy (&t);
}

static void an_endless_loop_spends_its_budget_and_names_the_line (void **state)
{
    (void)state;
    vt_t *t = s_out (".loc 1 5 0\n" LANE ".loc 1 6 0\nL:\nadd.u32 %r2, %r2, 1;\nbra L;");
    t->launch.budget = 1000000;
    assert_int_equal (vt_run (t, 2, 64), -1);
    assert_int_equal (t->f.status, VGPU_TIMEOUT);
    assert_int_equal (t->f.line, 6);
    assert_non_null (strstr (t->f.text, "the budget of 1000000 lane-instructions is spent"));
    assert_true (t->f.lane_instructions >= 1000000 && t->f.lane_instructions < 1400000);
    vt_destroy (&t);
}

static void barriers_order_warps_and_skip_exited_threads (void **state)
{
    (void)state;
    vt_t *t = s_out (".shared .align 4 .b8 s[1024];\n" LANE
                     "setp.gt.u32 %p1, %r1, 199;\n@%p1 exit;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.u32 %r4, %r3, %r2;\n"
                     "st.shared.u32 [%r4], %r1;\nbar.sync 0;\nmov.u32 %r5, 199;\nsub.u32 %r5, %r5, %r1;\nshl.b32 %r5, %r5, 2;\n"
                     "add.u32 %r5, %r3, %r5;\nld.shared.u32 %r6, [%r5];\nst.global.u32 [%rd4], %r6;");
    vt_ok (t, 2, 256);
    for (int i = 0; i < 200; i++)
        assert_int_equal (s_y (t, i), 199 - i);
    assert_int_equal (t->c.barriers, 2 * 7);
    assert_int_equal (t->c.barrier_releases, 2);
    vt_destroy (&t);
}

static void named_barriers_count_threads_and_arrivals (void **state)
{
    (void)state;
    // warp 1 produces and only arrives, warp 0 waits; warps 2 and 3 meet at barrier 2
    vt_t *t = s_out (".shared .align 4 .b8 s[16];\n" LANE
                     "shr.u32 %r2, %r1, 5;\nsetp.eq.u32 %p1, %r2, 0;\nsetp.eq.u32 %p2, %r2, 1;\n@%p1 bra WAIT;\n@%p2 bra MAKE;\n"
                     "bar.sync 2, 64;\nst.global.u32 [%rd4], 23;\nbra END;\nMAKE:\nst.shared.u32 [s], 42;\nbar.arrive 1, 64;\nst.global.u32 [%rd4], 1;\nbra END;\n"
                     "WAIT:\nbar.sync 1, 64;\nld.shared.u32 %r3, [s];\nst.global.u32 [%rd4], %r3;\nEND:\n");
    vt_ok (t, 1, 128);
    assert_int_equal (s_y (t, 5), 42);
    assert_int_equal (s_y (t, 40), 1);
    assert_int_equal (s_y (t, 100), 23);
    vt_destroy (&t);
}

static void a_barrier_reduces_predicates (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "setp.lt.u32 %p1, %r1, 70;\nbar.red.popc.u32 %r2, 0, %p1;\nbar.red.and.pred %p2, 0, %p1;\nbar.red.or.pred %p3, 0, !%p1;\n"
                          "barrier.red.popc.u32 %r5, 1, 96, !%p1;\nselp.u32 %r3, 1, 0, %p2;\nselp.u32 %r4, 1, 0, %p3;\n"
                          "mad.lo.u32 %r2, %r3, 1000, %r2;\nmad.lo.u32 %r2, %r4, 10000, %r2;\nmad.lo.u32 %r2, %r5, 100000, %r2;\nst.global.u32 [%rd4], %r2;");
    vt_ok (t, 1, 96);
    for (int i = 0; i < 96; i++)
        assert_int_equal (s_y (t, i), 2600000 + 10000 + 70);
    vt_destroy (&t);
}

static void a_barrier_in_a_divergent_branch_names_both_lines (void **state)
{
    (void)state;
    vt_t *t = s_out (".loc 1 10 0\n" LANE "setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra J;\n.loc 1 11 0\nbar.sync 0;\nJ:\n.loc 1 12 0\nst.global.u32 [%rd4], %r1;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_BARRIER_DIVERGENCE);
    assert_int_equal (t->f.line, 11);
    assert_non_null (strstr (t->f.text, "only lanes 0-15 of warp 0 reach the barrier of line 11; lanes 16-31 went past it and wait at line 12"));
    vt_destroy (&t);
    t = s_out (".loc 1 10 0\n" LANE "setp.lt.u32 %p1, %r1, 16;\n@!%p1 bra E;\n.loc 1 11 0\nbar.sync 0;\nbra J;\nE:\n.loc 1 14 0\nbar.sync 0;\nJ:\n.loc 1 15 0\n"
                             "st.global.u32 [%rd4], %r1;");
    assert_int_equal (vt_run (t, 1, 32), -1);
    assert_int_equal (t->f.status, VGPU_BARRIER_DIVERGENCE);
    assert_non_null (strstr (t->f.text, "line 11"));
    assert_non_null (strstr (t->f.text, "line 14"));
    vt_destroy (&t);
}

static void a_deadlock_says_who_waits_where (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra A;\n.loc 1 21 0\nbar.sync 1, 64;\nbra J;\nA:\n.loc 1 23 0\nbar.sync 2, 64;\nJ:\n"
                          "st.global.u32 [%rd4], %r1;");
    assert_int_equal (vt_run (t, 1, 64), -1);
    assert_int_equal (t->f.status, VGPU_DEADLOCK);
    assert_non_null (strstr (t->f.text, "32 threads of 1 blocks wait for a barrier at line 23 (bar.sync)"));
    assert_non_null (strstr (t->f.text, "32 threads of 1 blocks wait for a barrier at line 21 (bar.sync)"));
    vt_destroy (&t);
}

static void a_trap_names_its_thread (void **state)
{
    (void)state;
    vt_t *t = s_out (LANE "setp.eq.u32 %p1, %r1, 37;\n.loc 1 9 0\n@%p1 trap;");
    assert_int_equal (vt_run (t, 3, 64), -1);
    assert_int_equal (t->f.status, VGPU_TRAP);
    assert_int_equal (t->f.thread[0], 37);
    assert_int_equal (t->f.line, 9);
    vt_destroy (&t);
}

static void special_registers_describe_the_launch (void **state)
{
    (void)state;
    static const struct {
        const char *reg;
        uint32_t want; // of thread (3,2,1) = 57 of block (1,2,0), lane 25 of warp 1; block 8x6x2, grid 3x4x1
    } cases[] = {
        {"%tid.x", 3},      {"%tid.y", 2},       {"%tid.z", 1},   {"%ntid.x", 8},     {"%ntid.y", 5},    {"%ntid.z", 2},
        {"%ctaid.x", 1},    {"%ctaid.y", 2},     {"%ctaid.z", 0}, {"%nctaid.x", 3},   {"%nctaid.y", 4},  {"%nctaid.z", 1},
        {"%laneid", 27},    {"%warpid", 1},      {"%nwarpid", 3}, {"%smid", 7 % 5},   {"%nsmid", 5},     {"%gridid", 0},
        {"%lanemask_eq", 1u << 27}, {"%lanemask_lt", (1u << 27) - 1}, {"%lanemask_le", (1u << 28) - 1},
        {"%lanemask_gt", ~((1u << 28) - 1)}, {"%lanemask_ge", ~((1u << 27) - 1)}, {"%dynamic_smem_size", 48}, {"%total_smem_size", 48}};
    for (size_t i = 0; i < sizeof (cases) / sizeof (cases[0]); i++) {
        char body[1024];
        snprintf (body, sizeof (body),
                  "ld.param.u64 %%rd2, [b];\nmov.u32 %%r1, %%tid.x; mov.u32 %%r2, %%tid.y; mov.u32 %%r3, %%tid.z; mov.u32 %%r4, %%ctaid.x;\n"
                  "mov.u32 %%r5, %%ctaid.y;\nsetp.eq.u32 %%p1, %%r1, 3; setp.eq.and.u32 %%p1, %%r2, 2, %%p1; setp.eq.and.u32 %%p1, %%r3, 1, %%p1;\n"
                  "setp.eq.and.u32 %%p1, %%r4, 1, %%p1; setp.eq.and.u32 %%p1, %%r5, 2, %%p1;\nmov.u32 %%r6, %s;\n@%%p1 st.global.u32 [%%rd2], %%r6;",
                  cases[i].reg);
        vt_t *t = s_out (body);
        t->launch.grid[1] = 4;
        t->launch.block[1] = 5;
        t->launch.block[2] = 2;
        t->launch.sm_count = 5;
        t->launch.dynamic_shared = 48;
        vt_ok (t, 3, 8);
        if (s_y (t, 0) != cases[i].want)
            fail_msg ("%s is %u, expected %u", cases[i].reg, s_y (t, 0), cases[i].want);
        vt_destroy (&t);
    }
}

static void two_runs_of_one_launch_are_equal_to_the_last_counter (void **state)
{
    (void)state;
    vt_t *t = s_out (GRID_BARRIER);
    t->launch.n_resident = 8;
    vt_ok (t, 8, 96);
    vgpu_counters_t first = t->c;
    uint64_t lanes = t->f.lane_instructions;
    memset (&t->c, 0, sizeof (t->c));
    memset (t->y, 0, sizeof (t->y));
    vt_ok (t, 8, 96);
    assert_int_equal (first.warp_instructions, t->c.warp_instructions);
    assert_int_equal (first.chain_clocks_sum, t->c.chain_clocks_sum);
    assert_int_equal (lanes, t->f.lane_instructions);
    vgpu_counters_free (&first);
    vt_destroy (&t);
}

static void a_sample_runs_only_its_blocks (void **state)
{
    (void)state;
    static const uint64_t sample[] = {0, 5, 9};
    vt_t *t = s_out (LANE "mov.u32 %r5, %ctaid.x;\nmul.wide.u32 %rd6, %r5, 4;\nadd.s64 %rd6, %rd2, %rd6;\nst.global.u32 [%rd6], 1;");
    t->launch.sample = sample;
    t->launch.n_sample = 3;
    vt_ok (t, 10, 32);
    for (int i = 0; i < 10; i++)
        assert_int_equal (s_y (t, i), i == 0 || i == 5 || i == 9);
    assert_int_equal (t->c.blocks, 3);
    assert_int_equal (t->c.n_block_instructions, 3);
    vt_destroy (&t);
}

static void counters_tell_classes_flops_and_lines (void **state)
{
    (void)state;
    vt_t *t = s_out (".loc 1 3 0\n" LANE ".loc 1 4 0\ncvt.rn.f32.u32 %f1, %r1;\nfma.rn.f32 %f2, %f1, %f1, %f1;\nadd.f32 %f2, %f2, %f1;\n"
                                         "ex2.approx.f32 %f3, %f2;\nmul.f64 %fd1, %fd1, %fd1;\n.loc 1 5 0\nsetp.lt.u32 %p1, %r1, 8;\n@%p1 add.f32 %f2, %f2, %f2;\n"
                                         "st.global.f32 [%rd4], %f2;");
    vt_ok (t, 1, 64);
    assert_int_equal (t->c.warp_by_class[VGPU_CLASS_FP32_FMA], 2 + 4);
    assert_int_equal (t->c.warp_by_class[VGPU_CLASS_FP32_ADD], 4);
    assert_int_equal (t->c.thread_by_class[VGPU_CLASS_FP32_ADD], 64 + 8);
    assert_int_equal (t->c.warp_by_class[VGPU_CLASS_MUFU], 2);
    assert_int_equal (t->c.warp_by_class[VGPU_CLASS_GLOBAL_STORE], 2);
    assert_int_equal (t->c.fp32_flops, 64 * 2 + 64 + 64 + 8);
    assert_int_equal (t->c.fp64_flops, 64);
    assert_int_equal (t->c.predicated_off, 56);
    assert_int_equal (t->c.active_lanes, 64 * 15); // ex2 without ftz becomes three
    assert_int_equal (t->c.thread_instructions, t->c.active_lanes - 56);
    assert_int_equal (t->c.n_lines, 3);
    assert_int_equal (t->c.lines[1].line, 4);
    assert_int_equal (t->c.lines[1].warp_instructions, 14);
    assert_int_equal (t->c.lines[2].sectors, 8);
    assert_int_equal (t->c.chain_warps, 1);
    assert_true (t->c.chain_clocks_sum > 4 * 4);
    vt_destroy (&t);
}

static void independent_loads_are_in_flight_together (void **state)
{
    (void)state;
    vt_t *t = vt_new (".param .u64 a", "ld.param.u64 %rd1, [a];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\n"
                                       "ld.global.f32 %f1, [%rd3];\nld.global.f32 %f2, [%rd3+1024];\nld.global.f32 %f3, [%rd3+2048];\nld.global.f32 %f4, [%rd3+4096];\n"
                                       "add.f32 %f5, %f1, %f2;\nadd.f32 %f6, %f3, %f4;\nadd.f32 %f5, %f5, %f6;\nld.global.f32 %f7, [%rd3+8192];\nadd.f32 %f5, %f5, %f7;");
    vt_arg64 (t, VT_X);
    vt_ok (t, 1, 32);
    assert_int_equal (t->c.loads_in_flight_max, 4);
    assert_int_equal (t->c.load_bytes_in_flight_max, 4 * 128);
    assert_true (t->c.chain_clocks_sum > 2 * 650 && t->c.chain_clocks_sum < 3 * 650);
    assert_true (t->c.chain_memory_sum > 2 * 600);
    vt_destroy (&t);
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (both_sides_of_a_branch_run_and_meet_again),
        cmocka_unit_test (the_seed_decides_which_side_runs_first),
        cmocka_unit_test (lanes_leave_a_loop_one_by_one_and_meet_behind_it),
        cmocka_unit_test (nested_branches_with_early_exits_keep_every_lane_right),
        cmocka_unit_test (an_indexed_branch_takes_every_lane_to_its_label),
        cmocka_unit_test (inline_assembly_scopes_hide_names_and_repeat_labels),
        cmocka_unit_test (recursion_with_different_depth_per_lane_returns_the_right_values),
        cmocka_unit_test (a_guarded_call_with_a_struct_leaves_other_lanes_alone),
        cmocka_unit_test (endless_recursion_is_a_stack_overflow),
        cmocka_unit_test (a_spin_lock_inside_one_warp_ends),
        cmocka_unit_test (resident_blocks_wait_for_each_other_and_end),
        cmocka_unit_test (a_grid_that_waits_for_blocks_that_are_not_there_is_named),
        cmocka_unit_test (a_look_back_chain_ends_with_few_resident_blocks),
        cmocka_unit_test (an_endless_loop_spends_its_budget_and_names_the_line),
        cmocka_unit_test (barriers_order_warps_and_skip_exited_threads),
        cmocka_unit_test (named_barriers_count_threads_and_arrivals),
        cmocka_unit_test (a_barrier_reduces_predicates),
        cmocka_unit_test (a_barrier_in_a_divergent_branch_names_both_lines),
        cmocka_unit_test (a_deadlock_says_who_waits_where),
        cmocka_unit_test (a_trap_names_its_thread),
        cmocka_unit_test (special_registers_describe_the_launch),
        cmocka_unit_test (two_runs_of_one_launch_are_equal_to_the_last_counter),
        cmocka_unit_test (a_sample_runs_only_its_blocks),
        cmocka_unit_test (counters_tell_classes_flops_and_lines),
        cmocka_unit_test (independent_loads_are_in_flight_together),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
