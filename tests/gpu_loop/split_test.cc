// Reductions of much to little in several kernels: the same values as in one, on the host and on the device.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "base/knobs.h"
#include "guards/shape_env.h"
#include "jit/gpu/loop/compile.h"
#include "kernels/gpu/split_reduction.h"
#include "tests/gpu_loop/assembler.h"
#include "tests/gpu_loop/device_run.h"
#include "tests/gpu_loop/kernels.h"

namespace reprise {
namespace {

using kernels::BodyNode;
using kernels::LoopKernel;
using kernels::LoopLaunch;
using kernels::ReduceOp;
using kernels::ScalarOp;
using namespace test;

constexpr DType kFloat = DType::Float32;

LoopLaunch launch_of(const LoopKernel& k) {
  LoopLaunch l{k, {}};
  for (std::uint32_t i = 0; i < k.buffers.size(); ++i) l.buffers.push_back(i);
  return l;
}

/// (max(x) + sum(x * y) + z) * index of the kept dim, of x: kept x a x b x c.
LoopKernel sample(bool rows, std::int64_t kept, std::int64_t a, std::int64_t b, std::int64_t c) {
  KernelBuilder k({kept, a, b, c}, 1);
  const Ints strides = rows ? Ints{a * b * c, b * c, c, 1} : Ints{1, b * c * kept, c * kept, kept};
  const std::uint32_t x = k.input(kFloat, strides), y = k.input(DType::BFloat16, {0, 0, c, 1}),
                      z = k.input(kFloat, {1, 0, 0, 0});
  const std::uint32_t top = k.reduce(ReduceOp::Max, kFloat, x);
  const std::uint32_t sum = k.reduce(ReduceOp::Sum, kFloat, k.op(ScalarOp::Mul, kFloat, x, y));
  const std::uint32_t any = k.reduce(ReduceOp::Any, DType::Bool, k.op(ScalarOp::Lt, DType::Bool, x, y));
  BodyNode index{BodyNode::Kind::Index, DType::Int32};
  index.iimm = 0;
  std::uint32_t v = k.op(ScalarOp::Add, kFloat, k.op(ScalarOp::Add, kFloat, top, sum), z);
  v = k.op(ScalarOp::Mul, kFloat, v, k.cast(kFloat, k.add(index)));
  k.output(kFloat, v, {1, 0, 0, 0}, any);
  k.output(kFloat, sum, {2, 0, 0, 0});
  return k.k;
}

// The kernels below have few kept points (none: no kept dim) and one reduced dim of n, which may be a symbol.

struct Shape {
  bool rows;
  std::int64_t kept;
  KernelBuilder builder(Int n) const { return kept ? KernelBuilder({kept, n}, 1) : KernelBuilder({n}, 0); }
  Ints every(Int n) const { return !kept ? Ints{1} : rows ? Ints{n, 1} : Ints{1, kept}; }
  Ints along(Int stride) const { return kept ? Ints{0, stride} : Ints{stride}; }  ///< the reduced dim alone
  Ints point() const { return kept ? Ints{1, 0} : Ints{0}; }
  int reduced() const { return kept ? 1 : 0; }
};

LoopKernel one_reduction(Shape s, ReduceOp o, DType t, Int n) {
  KernelBuilder k = s.builder(n);
  const DType r = is_low_precision(t) ? kFloat : t;
  std::uint32_t x = k.input(t, s.every(n));
  if (o == ReduceOp::Prod && is_floating(t)) {  // signs: exact in any order
    BodyNode zero{BodyNode::Kind::Const, r}, one = zero, minus = zero;
    one.fimm = 1, minus.fimm = -1;
    const std::uint32_t negative = k.op(ScalarOp::Lt, DType::Bool, x, k.add(zero));
    x = k.op(ScalarOp::Where, r, negative, k.add(minus), k.add(one));
  }
  k.output(r, k.reduce(o, r, x), s.point());
  return k.k;
}

/// Reads with an offset, by a gather and with indices of the cut dim: the last place of a value, and a sum.
LoopKernel places(Shape s, Int n) {
  KernelBuilder k = s.builder(n);
  constexpr std::int64_t kTable = 7;
  const std::uint32_t x = k.input(kFloat, s.every(n));
  BodyNode place{BodyNode::Kind::Load, DType::Int64};
  place.access = k.access(k.buffer(DType::Int64), s.along(2), 3);
  const std::uint32_t at = k.add(place);
  BodyNode gathered{BodyNode::Kind::Load, kFloat};
  gathered.access = k.access(k.buffer(kFloat), s.along(0));
  k.k.accesses.back().gathers.push_back({at, 1, kTable});
  const std::uint32_t value = k.add(gathered);
  BodyNode index{BodyNode::Kind::Index, DType::Int64}, none{BodyNode::Kind::Const, DType::Int64};
  index.iimm = s.reduced(), none.iimm = -1;
  const std::uint32_t hit = k.op(ScalarOp::Lt, DType::Bool, x, value);
  const std::uint32_t i = k.add(index), where = k.op(ScalarOp::Where, DType::Int64, hit, i, k.add(none));
  k.output(DType::Int64, k.reduce(ReduceOp::Max, DType::Int64, where), s.point());
  k.output(kFloat, k.reduce(ReduceOp::Sum, kFloat, k.op(ScalarOp::Mul, kFloat, x, value)), s.point());
  return k.k;
}

/// Two reductions one after the other; `stores`: (x - max) * y - sum of these for every index, and the maximum, too.
LoopKernel nested(Shape s, bool stores, Int n) {
  KernelBuilder k = s.builder(n);
  const std::uint32_t x = k.input(kFloat, s.every(n)), y = k.input(DType::BFloat16, s.along(1));
  const std::uint32_t top = k.reduce(ReduceOp::Max, kFloat, x);
  const std::uint32_t v = k.op(ScalarOp::Mul, kFloat, k.op(ScalarOp::Sub, kFloat, x, top), y);
  const std::uint32_t sum = k.reduce(ReduceOp::Sum, kFloat, v);
  if (stores) k.output(kFloat, k.op(ScalarOp::Sub, kFloat, v, sum), s.every(n));
  k.output(kFloat, k.op(ScalarOp::Add, kFloat, top, sum), s.point());
  return k.k;
}

struct Split : ::testing::TestWithParam<bool> {
  Shape shape(std::int64_t kept) const { return {GetParam(), kept}; }

  /// The kernels in place of this one, verified; `scratch` becomes what they store in.
  std::vector<LoopLaunch> split(const LoopKernel& k) {
    kernels::verify(k);
    scratch.clear();
    std::vector<LoopLaunch> made = kernels::split_reduction(launch_of(k), {}, [&](DType, Int bytes) {
      scratch.push_back(bytes);
      return static_cast<std::uint32_t>(k.buffers.size() + scratch.size() - 1);
    });
    names.clear();
    for (LoopLaunch& l : made) {
      kernels::verify(l.kernel);
      names += (names.empty() ? "" : " ") + l.kernel.name;
      l.kernel.narrow = narrow;
    }
    return made;
  }
  /// Splits the kernel of symbolic sizes, by their hints, and compares with the whole one for other sizes.
  void compare(const std::function<LoopKernel(Int n)>& make, std::int64_t hint, const std::vector<std::int64_t>& sizes,
               Values values = Values::Integers) {
    guards::ShapeEnv env;
    const Int n = env.new_symbol({0, "n"}, hint, 0);
    const std::vector<LoopLaunch> made = split(make(n));
    ASSERT_FALSE(made.empty());
    for (const std::int64_t size : sizes) {
      auto number = [&](Int v) {
        guards::ExprProgram p;
        const std::uint32_t slot = p.add(v);
        Numbers slots(p.size());
        p.evaluate(&size, slots.data());
        return slots[slot];
      };
      check(make(size), made, number, values, names + " of " + std::to_string(size));
    }
  }
  void check(const LoopKernel& whole, const std::vector<LoopLaunch>& made,
             const std::function<std::int64_t(Int)>& number, Values values, const std::string& what) {
    const Arrays arrays = make_arrays(whole, rng, values), expected = interpreted(whole, arrays);
    auto run = [&](auto&& f, const char* where) {
      Arrays program = arrays;
      for (Int bytes : scratch) program.emplace_back(static_cast<std::size_t>(number(bytes)), char{0x55});
      for (const LoopLaunch& l : made) {
        Numbers params;
        for (Int i : kernels::runtime_params(l.kernel)) params.push_back(number(i));
        Arrays own;
        for (std::uint32_t b : l.buffers) own.push_back(program[b]);
        own = f(l.kernel, own, params);
        for (std::size_t i = 0; i < l.buffers.size(); ++i) program[l.buffers[i]] = std::move(own[i]);
      }
      program.resize(arrays.size());
      EXPECT_EQ(difference(whole, expected, program, 1e-30, 1), "") << where << ", " << what;
    };
    run([](const LoopKernel& k, const Arrays& a, const Numbers& p) { return interpreted(k, a, p); }, "interpreted");
    if (why_no_device().empty())
      run([](const LoopKernel& k, const Arrays& a, const Numbers& p) { return run_on_device(k, a, 0, p); }, "device");
  }

  std::vector<Int> scratch;
  std::string names;
  bool narrow = false;
  std::mt19937 rng{7};
};

std::int64_t hint_of(Int v) { return v.hint(); }

TEST_P(Split, OuterDimsMove) {
  for (const std::int64_t kept : {1, 3, 40}) {
    const LoopKernel k = sample(GetParam(), kept, 5, 70, 90);
    const std::vector<LoopLaunch> made = split(k);
    EXPECT_EQ(names, "_part _rest");
    for (std::size_t i = 0; i < scratch.size(); ++i)
      EXPECT_EQ(scratch[i].hint(), kept * 5 * 70 * (i == 2 ? 1 : 4)) << "of " << kept;
    check(k, made, hint_of, Values::Integers, "kept: " + std::to_string(kept));
  }
}

TEST_P(Split, OuterDimsMoveAndTheLastIsCut) {
  const LoopKernel k = sample(GetParam(), 2, 2, 3, 5000);
  const std::vector<LoopLaunch> made = split(k);
  EXPECT_EQ(names, "_part _tail _rest");
  check(k, made, hint_of, Values::Integers, names);
}

TEST_P(Split, EveryReductionOfEveryDtypeInChunks) {
  for (const DType t : kLoopDTypes)
    for (const ReduceOp o :
         {ReduceOp::Sum, ReduceOp::Prod, ReduceOp::Max, ReduceOp::Min, ReduceOp::Any, ReduceOp::All}) {
      if ((o == ReduceOp::Any || o == ReduceOp::All) != (t == DType::Bool)) continue;
      const Shape s = shape(GetParam() && rng() % 2 ? 0 : 3);
      SCOPED_TRACE(std::string(dtype_name(t)) + " " + std::to_string(static_cast<int>(o)));
      const bool chosen = o == ReduceOp::Max || o == ReduceOp::Min;
      narrow = !narrow;
      compare([&](Int n) { return one_reduction(s, o, t, n); }, 18000, {0, 7, 18000, 18037},
              chosen ? Values::Specials : Values::Integers);
      EXPECT_EQ(names, "_part _tail _rest");
    }
}

TEST_P(Split, SizesFarFromTheHint) {
  for (const std::int64_t kept : {1, 5}) {
    const Shape s = shape(kept);
    compare([&](Int n) { return one_reduction(s, ReduceOp::Sum, kFloat, n); }, 100000,
            {1, 15, 16, 63, 390, 391, 767, 768, 769, 4096, 250001});
  }
}

TEST_P(Split, NothingRemainsOfAKnownSize) {
  const Shape s = shape(2);
  const LoopKernel k = one_reduction(s, ReduceOp::Sum, kFloat, 1 << 16);
  const std::vector<LoopLaunch> made = split(k);
  EXPECT_EQ(names, "_part _rest");
  check(k, made, hint_of, Values::Integers, names);
}

TEST_P(Split, IndicesGathersAndOffsets) {
  for (const std::int64_t kept : {0, 4}) {
    if (!GetParam() && kept == 0) continue;
    const Shape s = shape(kept);
    compare([&](Int n) { return places(s, n); }, 20000, {3, 20001, 30000});
    EXPECT_EQ(names, "_part _tail _rest");
  }
}

TEST_P(Split, NestedReductions) {
  const Shape s = shape(3);
  compare([&](Int n) { return nested(s, false, n); }, 70000, {200, 40001});
  EXPECT_EQ(names, "_part _tail _rest _part2 _tail2 _rest2");
  compare([&](Int n) { return nested(s, true, n); }, 70000, {0, 200, 40001});
  EXPECT_EQ(names, "_part _tail _rest _part2 _tail2 _rest2 _elements _points");
}

// What is stored for every index comes first of several kernels, and is not there yet for one that reads it.
TEST_P(Split, IsNotDoneWherePointsReadElements) {
  const Shape s = shape(3);
  LoopKernel k = nested(s, true, 70000);
  EXPECT_FALSE(split(k).empty());
  BodyNode z{BodyNode::Kind::Load, kFloat};
  const std::uint32_t elements = k.accesses[2].buffer;
  k.accesses.push_back({elements, s.point(), 0, {}});
  z.access = static_cast<std::uint32_t>(k.accesses.size() - 1);
  k.body.insert(k.body.begin(), z);
  for (std::size_t i = 1; i < k.body.size(); ++i)
    for (std::uint32_t* o : {&k.body[i].a, &k.body[i].b, &k.body[i].c})
      if (*o != ~0u) ++*o;
  EXPECT_TRUE(split(k).empty());
}

TEST_P(Split, SumsStayAccurate) {
  const std::int64_t n = 300001;
  const Shape s = shape(2);
  const LoopKernel k = one_reduction(s, ReduceOp::Sum, kFloat, n);
  const std::vector<LoopLaunch> made = split(k);
  ASSERT_EQ(made.size(), 3u);
  Arrays program = make_arrays(k, rng, Values::Plain);
  std::vector<float> x(program[0].size() / 4);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.1f + 1e-3f * static_cast<float>(i % 11);
  std::memcpy(program[0].data(), x.data(), program[0].size());
  double exact[2] = {};
  for (std::int64_t p = 0; p < 2; ++p)
    for (std::int64_t i = 0; i < n; ++i) exact[p] += x[static_cast<std::size_t>(s.rows ? p * n + i : i * 2 + p)];
  for (Int bytes : scratch) program.emplace_back(static_cast<std::size_t>(bytes.hint()));
  if (!why_no_device().empty()) GTEST_SKIP() << why_no_device();
  for (const LoopLaunch& l : made) {
    Arrays own;
    for (std::uint32_t b : l.buffers) own.push_back(program[b]);
    own = run_on_device(l.kernel, own);
    for (std::size_t i = 0; i < l.buffers.size(); ++i) program[l.buffers[i]] = std::move(own[i]);
  }
  float got[2];
  std::memcpy(got, program[1].data(), sizeof got);
  for (int p = 0; p < 2; ++p) EXPECT_NEAR(got[p] / exact[p], 1, 2.5e-7);
}

TEST_P(Split, IsNotDoneWithoutGain) {
  EXPECT_TRUE(split(sample(GetParam(), 5000, 5, 70, 90)).empty()) << "kept points enough";
  EXPECT_TRUE(split(sample(GetParam(), 2, 4, 10, 20)).empty()) << "little to reduce";
  EXPECT_TRUE(split(reduction(ReduceOp::Sum, DType::Float32, GetParam(), 2, 10000)).empty()) << "no eight chunks";
  EXPECT_TRUE(split(layer_norm(DType::Float32, GetParam(), 2, 8000)).empty()) << "little for nested ones";
  EXPECT_TRUE(scratch.empty());
}

TEST_P(Split, AssemblesWithoutSpills) {
  if (test::ptxas().empty()) GTEST_SKIP() << "ptxas is not in $CUDA_HOME/bin, $PATH or /usr/local/cuda/bin";
  Scoped<std::string> no_disk(knobs().cache_dir, "off");
  for (narrow = false;; narrow = true) {
    guards::ShapeEnv env;
    const Int n = env.new_symbol({0, "n"}, 1000000, 0);
    for (const LoopKernel& k :
         {one_reduction(shape(3), ReduceOp::Sum, kFloat, n), one_reduction(shape(3), ReduceOp::Max, DType::BFloat16, n),
          places(shape(3), n), nested(shape(3), true, n), sample(GetParam(), 2, 2, 3, 50000)})
      for (const LoopLaunch& l : split(k))
        for (const char* arch : {"sm_80", "sm_90"}) {
          device::CodeTarget target;
          target.arch = arch;
          const jit::GpuKernelPtr made = jit::compile_gpu(l.kernel, target);
          ASSERT_TRUE(made);
          const test::Assembled a = test::assemble(made->image->code, arch);
          EXPECT_TRUE(a.ok) << l.kernel.name << " for " << arch << ": " << a.log;
          EXPECT_EQ(a.spilled_bytes, 0) << l.kernel.name << " for " << arch << ": " << a.registers << " registers";
        }
    if (narrow) break;
  }
}

INSTANTIATE_TEST_SUITE_P(Layouts, Split, ::testing::Bool(), [](const auto& i) { return i.param ? "rows" : "columns"; });

}  // namespace
}  // namespace reprise
