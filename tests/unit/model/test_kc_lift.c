// test_kc_lift.c - ordinary CUDA with host launchers becomes program text, or is
// refused with the sentence

#include "common/model/kc_lift.h"
#include "model_cases.h"

static void s_lifts (const char *text, const kc_card_t *card, const char *plan)
{
    kc_err_t err = {0};
    char *out = kc_lift (text, strlen (text), card, &err);
    if (!out)
        fail_msg ("%s", err.text);
    // the plan lines alone
    kc_buf_t b = {0};
    for (const char *p = out; !strncmp (p, "//@", 3); p = strchr (p, '\n') + 1)
        kc_buf_put (&b, p, (size_t)(strchr (p, '\n') + 1 - p));
    assert_string_equal (kc_buf_str (&b), plan);
    kc_buf_free (&b);
    kc_verdict_t *v = kc_verdict_new ();
    kc_program_text_t *t = kc_program_text_parse (out, strlen (out), card, v);
    if (!t)
        fail_msg ("%s\n%s", kc_findings_text (v), out);
    assert_null (strstr (t->program->source, "<<<"));
    kc_program_text_destroy (&t);
    kc_verdict_free (&v);
    free (out);
}

static void s_refuses (const char *text, const char *why)
{
    kc_err_t err = {0};
    char *out = kc_lift (text, strlen (text), NULL, &err);
    if (out)
        fail_msg ("lifted: %s", out);
    assert_int_equal (err.code, KC_EUNSUPPORTED);
    if (!strstr (err.text, why))
        fail_msg ("%s", err.text);
}

#define KERNEL                                                                         \
    "#include <torch/extension.h>\n#include <cuda_runtime.h>\n#define THREADS 256\n"   \
    "__device__ float twice(float v) { return 2.f * v; }\n"                            \
    "__global__ void scale(const float* __restrict__ x, float* __restrict__ y, int "   \
    "n) {\n"                                                                           \
    "  int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) y[i] = twice(x[i]); " \
    "}\n"

static void a_torch_launcher_is_lifted (void **state)
{
    (void)state;
    s_lifts (KERNEL "torch::Tensor scale_cuda(torch::Tensor x) {\n"
                    "  TORCH_CHECK(x.is_cuda(), \"x must be a CUDA tensor\");\n"
                    "  auto y = torch::empty_like(x);\n  int n = x.numel();\n"
                    "  const int blocks = (n + THREADS - 1) / THREADS;\n"
                    "  scale<<<blocks, THREADS>>>(x.data_ptr<float>(), "
                    "y.data_ptr<float>(), n);\n  return y;\n}\n",
             NULL,
             "//@ launch scale<<<(x.numel + 256 - 1) / 256, 256>>>(x, y, x.numel)\n");
}

static void dim3_loops_conditions_and_scratch_are_lifted (void **state)
{
    (void)state;
    s_lifts (
        KERNEL
        "static int cdiv(int a, int b) { return (a + b - 1) / b; }\n"
        "torch::Tensor run(const torch::Tensor& x, int steps) {\n"
        "  const auto B = x.size(0), D = x.size(1);\n"
        "  auto tmp = torch::zeros({x.size(0), 2 * x.size(1)}, x.options());\n"
        "  auto y = torch::empty({x.size(0), x.size(1)}, x.options());\n"
        "  dim3 grid(cdiv(x.size(1), 32), (unsigned int)x.size(0));\n  dim3 block(32, "
        "8);\n"
        "  cudaStream_t stream = at::cuda::getCurrentCUDAStream();\n"
        "  for (int s = 0; s < steps; ++s) {\n"
        "    scale<<<grid, block, 4 * sizeof(float), stream>>>(x.data_ptr<float>(), "
        "tmp.data_ptr<float>() + s * 4, 7u);\n  }\n"
        "  if (x.size(1) % 4 == 0) {\n    scale<<<1, 32, 0, "
        "stream>>>(tmp.data_ptr<float>(), y.data_ptr<float>(), 1 << 4);\n"
        "  } else {\n    scale<<<dim3(2, 3), 32>>>(tmp.data_ptr<float>(), "
        "y.data_ptr<float>(), (int)ceil(x.size(0) / 4.0f));\n  }\n"
        "  return y;\n}\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def(\"run\", "
        "&run); }\n",
        NULL,
        "//@ scratch tmp f32[x.shape[0], 2 * x.shape[1]] = 0\n//@ for s in steps\n"
        "//@ launch scale<<<[cdiv(x.shape[1], 32), x.shape[0]], [32, 8], 4 * 4>>>(x, "
        "tmp + s * 4, 7)\n//@ end\n"
        "//@ if x.shape[1] % 4 == 0\n//@ launch scale<<<1, 32>>>(tmp, y, 1 << 4)\n//@ "
        "else\n"
        "//@ launch scale<<<[2, 3], 32>>>(tmp, y, cdiv(x.shape[0], 4.0))\n//@ end\n");
}

static void dispatch_macros_mean_float (void **state)
{
    (void)state;
    s_lifts (
        "template <typename scalar_t, int N> __global__ void k(const scalar_t* x, "
        "scalar_t* y) { }\n"
        "at::Tensor run(at::Tensor x) {\n  auto y = at::zeros_like(x.contiguous());\n"
        "  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), \"k\", ([&] {\n"
        "    k<scalar_t, 4><<<x.size(0), 128>>>(x.data_ptr<scalar_t>(), "
        "y.data_ptr<scalar_t>());\n  }));\n  return y;\n}\n",
        NULL,
        "//@ fill dst=y value=0\n//@ launch k<float   , 4><<<x.shape[0], 128>>>(x, "
        "y)\n");
}

static void a_launcher_with_pointers_takes_the_names_of_the_task (void **state)
{
    (void)state;
    kc_program_text_t *t = case_parse (
        "//@ task t\n//@ dim N = 64\n//@ input a f32[N]\n//@ input b f32[N]\n//@ "
        "output c f32[N]\n"
        "//@ launch k<<<1, 32>>>\n__global__ void k(const float *a, float *c) { }\n");
    kc_card_t *card = kc_type_new (&kc_card_type);
    kc_task_setting_t *n = kc_push (&card->dims, &card->n_dims, sizeof *n);
    n->name = kc_strdup ("N");
    n->value = 64;
    for (size_t i = 0; i < t->task->n_tensors; i++) {
        kc_card_tensor_t *k = kc_push (&card->tensors, &card->n_tensors, sizeof *k);
        k->name = kc_strdup (t->task->tensors[i].name);
        k->role = t->task->tensors[i].role;
        k->dtype = t->task->tensors[i].dtype;
    }
    static const char add[] =
        "__global__ void add(const float *p, const float *q, float *r, int n) { }\n";
    char *text = kc_asprintf ("%sextern \"C\" void launch(const float *p, const float "
                              "*q, float *out, int n) {\n"
                              "  int threads = 128;\n  add<<<(n + threads - 1) / "
                              "threads, threads>>>(p, q, out, n);\n"
                              "  cudaDeviceSynchronize();\n}\n",
                              add);
    s_lifts (text, card, "//@ launch add<<<(N + 128 - 1) / 128, 128>>>(a, b, c, N)\n");
    free (text);
    text =
        kc_asprintf ("%sint main() {\n  const int N = 64;\n  float *d_b, *d_a, *d_c;\n "
                     " float *h = (float*)malloc(N * 4);\n"
                     "  for (int i = 0; i < N; i++) h[i] = i;\n  cudaMalloc(&d_a, N * "
                     "sizeof(float));\n"
                     "  cudaMalloc((void**)&d_b, N * sizeof(float));\n  "
                     "cudaMalloc(&d_c, N * sizeof(float));\n"
                     "  cudaMemcpy(d_a, h, N * 4, cudaMemcpyHostToDevice);\n  "
                     "cudaMemcpy(d_b, h, N * 4, cudaMemcpyHostToDevice);\n"
                     "  add<<<N / 32, 32>>>(d_a, d_b, d_c, N);\n  cudaMemcpy(h, d_c, N "
                     "* 4, cudaMemcpyDeviceToHost);\n"
                     "  printf(\"%%f\\n\", h[0]);\n  cudaFree(d_a);\n  return 0;\n}\n",
                     add);
    s_lifts (text, card, "//@ launch add<<<64 / 32, 32>>>(a, b, c, 64)\n");
    free (text);
    kc_card_free (&card);
    kc_program_text_destroy (&t);
}

static void what_is_not_understood_is_named (void **state)
{
    (void)state;
    s_refuses ("__global__ void k(float *y) { }\n",
               "no host function launches a kernel");
    s_refuses (KERNEL "void run(torch::Tensor x) { int b = choose(x); scale<<<b, "
                      "32>>>(x.data_ptr<float>(), x.data_ptr<float>(), 3); }\n",
               "'int b = choose(x)', which b comes from");
    s_refuses (KERNEL "void run(float *x, float *y) { int n = 4; while (n < 100) n += "
                      "tune(n); scale<<<n, 32>>>(x, y, n); }\n",
               "which n comes from");
    s_refuses (KERNEL "void run(float *x, float *y) { scale<<<1, 32>>>(x, y); }\n",
               "another number of parameters");
    s_refuses (KERNEL "void run(float *x, float *y) { for (int i = 8; i > 0; i /= 2) { "
                      "scale<<<i, 32>>>(x, y, i); } }\n",
               "only loops for (int i = 0; i < N; ++i)");
    s_refuses (KERNEL "void a(float *x) { scale<<<1, 32>>>(x, x, 3); }\nvoid b(float "
                      "*x) { scale<<<1, 32>>>(x, x, 3); }\n",
               "2 host functions launch kernels");
    s_refuses (KERNEL "void run(float *x, std::vector<float*> ys) { scale<<<1, "
                      "32>>>(x, ys[0], 3); }\n",
               "is not understood");
    assert_true (kc_lift_applies (KERNEL "void f() { scale<<<1, 2>>>(); }",
                                  strlen (KERNEL) + 30));
    assert_false (kc_lift_applies (KERNEL, strlen (KERNEL)));
}

int main (void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test (a_torch_launcher_is_lifted),
        cmocka_unit_test (dim3_loops_conditions_and_scratch_are_lifted),
        cmocka_unit_test (dispatch_macros_mean_float),
        cmocka_unit_test (a_launcher_with_pointers_takes_the_names_of_the_task),
        cmocka_unit_test (what_is_not_understood_is_named),
    };
    return cmocka_run_group_tests (tests, NULL, NULL);
}
