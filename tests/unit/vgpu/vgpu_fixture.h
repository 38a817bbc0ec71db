/* vgpu_fixture.h - what the tests of the virtual GPU share: a module from a body, buffers, a launch
 *
 * Buffers x, y and z get the device addresses X, Y and Z below; a kernel's arguments are packed with vt_arg.
 */
#ifndef KC_TEST_VGPU_FIXTURE_H
#define KC_TEST_VGPU_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agents/gpu/vgpu/vgpu.h"

#define VT_X 0x100000ull
#define VT_Y 0x200000ull
#define VT_Z 0x300000ull
enum { VT_BYTES = 64 << 10 };

typedef struct vt {
    vgpu_module_t *m;
    uint8_t x[VT_BYTES], y[VT_BYTES], z[VT_BYTES];
    vgpu_buffer_t buffers[3];
    vgpu_launch_t launch;
    uint8_t params[256];
    vgpu_counters_t c;
    vgpu_finding_t f;
    kc_err_t err;
} vt_t;

// A module "k" with registers of every kind: %p<16> %h<16> %r<32> %rd<32> %f<16> %fd<16>; 'params' is the
// parameter list's text, 'body' the instructions.  Fails the test when it does not load.
vt_t *vt_new (const char *params, const char *body);
vt_t *vt_baseline (const char *params, const char *body); // the same with the baseline's operator bodies
// The same from a whole PTX text.
vt_t *vt_from_text (const char *text);
// Load a text that must be refused; the error's text is in 'err'.
void vt_refused (const char *text, kc_err_t *err);
char *vt_text (const char *params, const char *body); // caller frees
void vt_arg (vt_t *t, const void *value, uint32_t size); // naturally aligned
void vt_arg64 (vt_t *t, uint64_t value);
void vt_arg32 (vt_t *t, uint32_t value);
int vt_run (vt_t *t, uint32_t grid, uint32_t block); // 0 or -1
void vt_ok (vt_t *t, uint32_t grid, uint32_t block); // must end well
void vt_destroy (vt_t **t_p);

#endif // KC_TEST_VGPU_FIXTURE_H
