// Reductions of much to little in two kernels: the same values as in one, on the host and on the device.
#include <gtest/gtest.h>

#include "kernels/split_reduction.h"
#include "tests/grid/device_run.h"
#include "tests/grid/kernels.h"

namespace reprise {
namespace {

using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::LoopLaunch;
using kernels::ReduceOp;
using kernels::ScalarOp;
using namespace test;

LoopLaunch launch_of(const LoopKernel& k) {
  LoopLaunch l{k, {}};
  for (std::uint32_t i = 0; i < k.buffers.size(); ++i) l.buffers.push_back(i);
  return l;
}

/// (max(x) + sum(x * y) + z) * index of the kept dim, of x: kept x a x b x c.
LoopKernel sample(bool rows, std::int64_t kept, std::int64_t a, std::int64_t b, std::int64_t c) {
  KernelBuilder k({kept, a, b, c}, 1);
  const DType f = DType::Float32;
  const Ints strides = rows ? Ints{a * b * c, b * c, c, 1} : Ints{1, b * c * kept, c * kept, kept};
  const std::uint32_t x = k.input(f, strides), y = k.input(DType::BFloat16, {0, 0, c, 1}), z = k.input(f, {1, 0, 0, 0});
  const std::uint32_t top = k.reduce(ReduceOp::Max, f, x);
  const std::uint32_t sum = k.reduce(ReduceOp::Sum, f, k.op(ScalarOp::Mul, f, x, y));
  const std::uint32_t any = k.reduce(ReduceOp::Any, DType::Bool, k.op(ScalarOp::Lt, DType::Bool, x, y));
  BodyNode index{BodyNode::Kind::Index, DType::Int32};
  index.iimm = 0;
  std::uint32_t v = k.op(ScalarOp::Add, f, k.op(ScalarOp::Add, f, top, sum), z);
  v = k.op(ScalarOp::Mul, f, v, k.cast(f, k.add(index)));
  k.output(f, v, {1, 0, 0, 0}, any);
  k.output(f, sum, {2, 0, 0, 0});
  return k.k;
}

struct Split : ::testing::TestWithParam<bool> {
  std::vector<std::int64_t> scratch_elements;
  std::vector<DType> scratch_types;
  std::optional<kernels::SplitReduction> split(const LoopLaunch& l) {
    return kernels::split_reduction(l, [&](DType t, Int bytes) {
      scratch_elements.push_back(bytes.hint() / item_size(t)), scratch_types.push_back(t);
      return static_cast<std::uint32_t>(l.buffers.size() + scratch_elements.size() - 1);
    });
  }
  /// Runs one of the two on the program's buffers.
  template <class Run>
  static void run(const LoopLaunch& l, Arrays& program, Run&& f) {
    Arrays own;
    for (std::uint32_t b : l.buffers) own.push_back(program[b]);
    own = f(l.kernel, own);
    for (std::size_t i = 0; i < l.buffers.size(); ++i) program[l.buffers[i]] = own[i];
  }
};

TEST_P(Split, GivesWhatOneKernelGives) {
  for (const std::int64_t kept : {1, 3, 40}) {
    scratch_elements.clear(), scratch_types.clear();
    const LoopKernel k = sample(GetParam(), kept, 5, 70, 90);
    kernels::verify(k);
    const LoopLaunch whole = launch_of(k);
    const auto halves = split(whole);
    ASSERT_TRUE(halves);
    kernels::verify(halves->part.kernel), kernels::verify(halves->rest.kernel);
    EXPECT_EQ(scratch_elements, std::vector<std::int64_t>(3, kept * 5 * 70));
    std::mt19937 rng(7);
    const Arrays arrays = make_arrays(k, rng, Values::Integers), expected = interpreted(k, arrays);
    auto check = [&](auto&& f, const char* where) {
      Arrays program = arrays;
      for (std::size_t i = 0; i < scratch_elements.size(); ++i)
        program.emplace_back(static_cast<std::size_t>(scratch_elements[i] * item_size(scratch_types[i])));
      run(halves->part, program, f);
      run(halves->rest, program, f);
      program.resize(arrays.size());
      EXPECT_EQ(difference(k, expected, program, 0, 1), "") << where << ", " << kept << " kept";
    };
    check(interpreted, "interpreted");
    if (why_no_device().empty())
      check([](const LoopKernel& part, const Arrays& a) { return run_on_device(part, a); }, "device");
  }
}

TEST_P(Split, IsNotDoneWithoutGain) {
  EXPECT_FALSE(split(launch_of(sample(GetParam(), 300, 5, 70, 90)))) << "kept points enough";
  EXPECT_FALSE(split(launch_of(sample(GetParam(), 2, 4, 10, 20)))) << "little to reduce";
  EXPECT_FALSE(split(launch_of(reduction(ReduceOp::Sum, DType::Float32, GetParam(), 2, 100000)))) << "one reduced dim";
  EXPECT_FALSE(split(launch_of(layer_norm(DType::Float32, GetParam(), 2, 100000)))) << "stores inside";
  EXPECT_TRUE(scratch_elements.empty());
}

INSTANTIATE_TEST_SUITE_P(Layouts, Split, ::testing::Bool(), [](const auto& i) { return i.param ? "rows" : "columns"; });

}  // namespace
}  // namespace reprise
