// Users' kernels as text: PTX, and CUDA C++ by NVRTC (a real one beside a real driver, else the stand-in), in
// recordings.
#include "reprise/cuda_code.h"

#include <dlfcn.h>

#include <thread>

#include "reprise/library.h"
#include "tensor/layout.h"
#include "tests/cuda/support.h"
#include "tests/cuda_sim/nvrtc/control.h"
#include "tests/cuda_sim_test/image.h"
#include "tests/cuda_sim_test/kernels.h"

namespace reprise::test {
namespace {

const char* const kScale = R"(
extern "C" __global__ void scale(float* out, const float* in, long long n, float by) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * by;
})";

/// The same, for the simulator.
std::string scale_image() {
  return sim_test::image("scale", {8, 8, 8, 4}, sim_test::kThreadRegisters + R"(
define ptx_kernel void @scale(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 %n, float %by) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %cd = mul i32 %c, %d
  %i32 = add i32 %cd, %t
  %i = zext i32 %i32 to i64
  %inside = icmp slt i64 %i, %n
  br i1 %inside, label %body, label %end
body:
  %from = getelementptr float, ptr addrspace(1) %in, i64 %i
  %to = getelementptr float, ptr addrspace(1) %out, i64 %i
  %x = load float, ptr addrspace(1) %from, align 4
  %y = fmul float %x, %by
  store float %y, ptr addrspace(1) %to, align 4
  br label %end
end:
  ret void
})");
}

void launch_scale(const CudaCode& code, const KernelCall& k) {
  const TensorView &in = k.tensor(0), &out = k.result();
  const std::int64_t n = out.numel();
  if (!in.contiguous()) return k.fail(ErrorCode::InvalidArgument, "wants rows without gaps");
  code.launch(k, "scale", {.grid = {static_cast<std::uint32_t>((n + 63) / 64)}, .block = {64}}, out, in, n,
              static_cast<float>(k.number(1).to_double()));
}

class CudaTexts : public Cuda {
 protected:
  static void SetUpTestSuite() {
    Cuda::SetUpTestSuite();
    if (Simulator::library() && knobs().nvrtc.empty()) knobs().nvrtc = REPRISE_NVRTC_SIM;
  }
  void SetUp() override {
    Cuda::SetUp();
    if (IsSkipped() || !Simulator::library()) return;
    find<decltype(reprise_nvrtc_gives)>("reprise_nvrtc_gives")("void scale(", scale_image().c_str());
  }
  template <class F>
  static F* find(const char* name) {
    static void* const library = dlopen(REPRISE_NVRTC_SIM, RTLD_NOW);
    return reinterpret_cast<F*>(dlsym(library, name));
  }
  Tensor numbers(Ints sizes, double by = 0.25) {
    return (arange(numel(sizes)).to(kFloat32) * by).sin().reshape(sizes).to(d);
  }

  void expect_right(const Operator& op) {
    auto f = compile([&](const Tensor& x, Scalar by) { return Tensor(op(x + 1, by)) * 2; });
    for (std::int64_t n : {6, 200, 0, 6})
      for (double by : {0.5, 3.0}) {
        const Tensor x = numbers({n, 5});
        EXPECT_TRUE(allclose(f(x, by), (x + 1) * by * 2, 1e-6, 1e-6)) << n;
        EXPECT_TRUE(allclose(Tensor(op(x, by)), x * by, 1e-6, 1e-6)) << n;
      }
    EXPECT_EQ(f.stats().compilations, 1);
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
  }
};

const OperatorDef kDef{.schema = "", .shape = [](ShapeCall& c) { c.result(kFloat32, c.sizes(0)); }};
Operator define(std::string schema, Kernel kernel) {
  OperatorDef def = kDef;
  def.schema = std::move(schema);
  def.cuda = kernel;
  return Library("texts").define(std::move(def));
}

TEST_F(CudaTexts, CudaIsCompiledOnce) {
  static const CudaCode code(kScale, {"--use_fast_math"});
  static const Operator op =
      define("scale(Tensor x, Scalar by) -> Tensor", [](const KernelCall& k) { launch_scale(code, k); });
  const int before = Simulator::library() ? find<decltype(reprise_nvrtc_compiled)>("reprise_nvrtc_compiled")() : 0;
  expect_right(op);
  if (!Simulator::library()) return;
  EXPECT_EQ(find<decltype(reprise_nvrtc_compiled)>("reprise_nvrtc_compiled")(), before + 1);
  EXPECT_STREQ(find<decltype(reprise_nvrtc_options)>("reprise_nvrtc_options")(),
               "--gpu-architecture=sm_90\n--use_fast_math\n");
  EXPECT_EQ(find<decltype(reprise_nvrtc_live)>("reprise_nvrtc_live")(), 0);
}

TEST_F(CudaTexts, PtxNeedsNoCompiler) {
  static const CudaCode code(Simulator::library() ? scale_image() : R"(
.version 7.8
.target sm_90
.address_size 64
.visible .entry scale(.param .u64 out, .param .u64 in, .param .u64 n, .param .f32 by)
{
  .reg .pred %p;
  .reg .b32 %t, %d, %c;
  .reg .b64 %i, %n, %a, %b, %o;
  .reg .f32 %x, %y;
  mov.u32 %t, %tid.x;
  mov.u32 %d, %ntid.x;
  mov.u32 %c, %ctaid.x;
  mad.lo.u32 %t, %c, %d, %t;
  cvt.u64.u32 %i, %t;
  ld.param.u64 %n, [n];
  setp.ge.s64 %p, %i, %n;
  @%p ret;
  ld.param.u64 %a, [in];
  ld.param.u64 %b, [out];
  ld.param.f32 %y, [by];
  shl.b64 %o, %i, 2;
  add.u64 %a, %a, %o;
  add.u64 %b, %b, %o;
  ld.global.f32 %x, [%a];
  mul.f32 %x, %x, %y;
  st.global.f32 [%b], %x;
  ret;
})");
  static const Operator op =
      define("scale_ptx(Tensor x, Scalar by) -> Tensor", [](const KernelCall& k) { launch_scale(code, k); });
  expect_right(op);
  std::vector<std::thread> threads;  // from several threads at once, too
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      const Tensor x = numbers({50, 5});
      EXPECT_TRUE(allclose(Tensor(op(x, 2)), x * 2, 1e-6, 1e-6));
    });
  for (std::thread& t : threads) t.join();
}

TEST_F(CudaTexts, MistakesAreErrorsOfTheOperator) {
  static const CudaCode wrong("#error nothing here is right\n__global__"), none(kScale),
      broken(".version 7.8\n.target sm_999\nnothing");
  static const Operator bad =
      define("bad(Tensor x, Scalar by) -> Tensor", [](const KernelCall& k) { launch_scale(wrong, k); });
  static const Operator missing = define("missing(Tensor x, Scalar by) -> Tensor",
                                         [](const KernelCall& k) { none.launch(k, "scales", {}, k.result()); });
  static const Operator refused =
      define("refused(Tensor x, Scalar by) -> Tensor", [](const KernelCall& k) { launch_scale(broken, k); });
  const Tensor x = numbers({4});
  auto expect = [&](const Operator& op, ErrorCode code, const char* words) {
    auto f = compile([&](const Tensor& t) { return Tensor(op(t, 2)) + 1; });
    for (int again = 0; again < 2; ++again) {
      const Error e = error_of([&] { f(x); });
      EXPECT_EQ(e.code(), code) << e.what();
      EXPECT_EQ(e.op(), op.name());
      EXPECT_NE(e.message().find(words), std::string::npos) << e.what();
      EXPECT_EQ(error_of([&] { op(x, 2); }).code(), code);
    }
  };
  expect(bad, ErrorCode::InvalidArgument, "nothing here is right");
  expect(missing, ErrorCode::InvalidArgument, "there is no kernel 'scales' in the code");
  expect(refused, ErrorCode::DeviceFailed, "the driver refuses the code");
  const Error host = error_of([&] { bad(x.cpu(), 2); });
  EXPECT_EQ(host.code(), ErrorCode::DeviceUnavailable);
  EXPECT_NE(host.message().find("runs on CUDA devices"), std::string::npos) << host.what();
}

}  // namespace
}  // namespace reprise::test
