// The code that is generated for the programs' loops: LLVM IR as a host with 256-bit vectors gets it, and PTX. (Kernels
// by kind, which are longer, have tests of their own: tests/gpu_kernels, tests/matmul.)
#include <gtest/gtest.h>

#include <regex>
#include <sstream>

#include "base/knobs.h"
#include "golden.h"
#include "graph/graph.h"
#include "jit/cpu/loop/compile.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/cpu/fragment.h"
#include "kernels/plan/lower.h"
#include "passes/pass.h"
#include "programs.h"
#include "stages.h"

namespace reprise::golden {
namespace {

using kernels::Launch, kernels::LoopLaunch;

/// The kernel's name has a hash in it, of settings too.
std::string without_hash(const std::string& ptx) {
  static const std::regex name("reprise_[a-z]+_[0-9a-f]{16}");
  return std::regex_replace(ptx, name, "kernel");
}

std::string comment(const std::string& text, const char* mark) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += mark + (" " + line) + "\n";
  return out;
}

kernels::Lowered lowered(const Program& p, kernels::LaunchStyle style) {
  graph::Graph g = graph::parse(stages_of(p)["optimized"]);
  if (style != kernels::LaunchStyle::Calls) passes::inline_regions(g);
  return kernels::lower(g, kernels::Mode::Full, style);
}

/// What the compiler makes of the program: its loops, and what products took of them.
std::vector<const kernels::LoopKernel*> loops_of(const Launch& l) {
  if (const auto* loop = std::get_if<LoopLaunch>(&l.what)) return {&loop->kernel};
  std::vector<const kernels::LoopKernel*> out;
  for (const kernels::KernelCode& code : std::get<kernels::NativeLaunch>(l.what).micro)
    if (const auto* fragment = code.as<kernels::micro::Fragment>()) out.push_back(&fragment->kernel);
  return out;
}

// The order of arguments' evaluation is the compiler's choice, and with it that of instructions: the files are g++'s.
class Code : public ::testing::TestWithParam<Program> {
#ifdef __clang__
  void SetUp() override { GTEST_SKIP() << "the committed code is of a build by g++"; }
#endif
};

TEST_P(Code, LlvmIrIsAsCommitted) {
  const Scoped<std::int64_t> one_width(knobs().vector_bits, 256), one_cache(knobs().stream_bytes, 32 << 20);
  std::string out = "; " + GetParam().about + "\n";
  for (const Launch& l : lowered(GetParam(), kernels::LaunchStyle::Calls).launches)
    for (const kernels::LoopKernel* k : loops_of(l))
      out += "\n; == " + l.name + "\n" + comment(canonical_text(*k), ";") + jit::llvm_ir(*k);
  expect_golden(GetParam().name + ".ll", out);
}

TEST_P(Code, PtxIsAsCommitted) {
  const Scoped<std::string> no_disk(knobs().cache_dir, "off");
  device::CodeTarget target;
  target.arch = "sm_80";
  std::string out = "// " + GetParam().about + "\n";
  for (const Launch& l : lowered(GetParam(), kernels::LaunchStyle::Gpu).launches) {
    const auto* loop = std::get_if<LoopLaunch>(&l.what);
    if (!loop) continue;
    const jit::GpuKernelPtr kernel = jit::compile_gpu(loop->kernel, target);
    ASSERT_TRUE(kernel) << l.name;
    out += "\n// == " + l.name + "\n" + comment(canonical_text(loop->kernel), "//") + without_hash(kernel->image->code);
  }
  expect_golden(GetParam().name + ".ptx", out);
}

INSTANTIATE_TEST_SUITE_P(Programs, Code, ::testing::ValuesIn(programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace reprise::golden
