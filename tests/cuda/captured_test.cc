// Work of other libraries in graphs: an operator that a user serves by what is queued in a stream.
#include <cuda.h>

#include "reprise/library.h"
#include "tests/cuda/blend_fixture.h"

namespace reprise::test {
namespace {

class CudaCaptured : public CudaBlend {
 protected:
  Tensor numbers(Ints sizes, int seed) {
    return (arange(numel(sizes)).to(kFloat32) * (0.25 * seed)).sin().reshape(sizes).to(d);
  }
  static Tensor want(const Tensor& x, const Tensor& y, double t) { return x * (1 - t) + y * t; }
};

TEST_F(CudaCaptured, IsANodeThatIsReplayedAtMovedAddresses) {
  auto body = [](const Tensor& x, const Tensor& y) { return Blend::of(x * 2, y, 0.25) + Blend::of(y, x) * 3; };
  auto f = compile(body, {.name = "blends"});
  const Tensor x = numbers({6, 5}, 1), y = numbers({6, 5}, 2);
  auto expect = [&](const Tensor& a, const Tensor& b, const char* what) {
    EXPECT_TRUE(allclose(f(a, b), want(a * 2, b, 0.25) + want(b, a, 0.5) * 3, 1e-6, 1e-6)) << what;
  };
  expect(x, y, "first");
  expect(x, y, "again");
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  const int queued = Blend::queued;
  const reprise_simulator_counters before = Simulator::counters();
  for (int i = 0; i < 4; ++i) f(x, y);
  EXPECT_EQ(Blend::queued, queued) << "nothing moved: what was captured runs";
  synchronize(d);
  EXPECT_GE(Simulator::counters().launches - before.launches, 16u) << "two kernels of each";
  const Tensor a = numbers({6, 5}, 3), b = numbers({6, 5}, 4);
  expect(a, b, "moved");
  EXPECT_GT(Blend::queued, queued);
  const int both = Blend::queued;
  expect(x, y, "back");
  expect(a, b, "and forth");
  EXPECT_EQ(Blend::queued, both) << "captured once for the same addresses";
  EXPECT_EQ(Simulator::counters().instantiations, before.instantiations) << "the graph stays";
  for (Int n : {1, 7, 40}) expect(numbers({n, 5}, 5), numbers({n, 5}, 6), "other sizes");
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST_F(CudaCaptured, EagerCallsAreTheSame) {
  const Tensor x = numbers({9}, 1), y = numbers({9}, 2);
  EXPECT_TRUE(allclose(Blend::of(x, y, 0.75), want(x, y, 0.75), 1e-6, 1e-6));
}

// Whatever it reports, it is an Error of that operator, and arguments are as before the call.
TEST_F(CudaCaptured, WhatCannotBeQueuedIsAnErrorOfTheOperator) {
  auto f = compile(
      [](Tensor x, const Tensor& y) {
        x.add_(1);
        x.copy_(Blend::of(y, x));
      },
      {.name = "refused"});
  Tensor x = numbers({4, 4}, 1);
  const Tensor y = numbers({4, 4}, 2), kept = x.clone();
  const Error e = error_of([&] { f(x, y.transpose(0, 1)); });
  EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(e.op(), "test::blend");
  EXPECT_EQ(e.message(), "wants dense tensors of float32");
  EXPECT_TRUE(equal(x, kept));
  f(x, y);
  EXPECT_TRUE(allclose(x, want(y, kept + 1, 0.5), 1e-6, 1e-6));
  // What the driver refuses while it captures.
  const Blend::Submit submit = Blend::submit;
  Blend::submit = [](void*, void (*)(void*), const void*, std::size_t) { return 999; };
  Tensor z = numbers({4, 4}, 5);
  const Tensor as_it_was = z.clone();
  EXPECT_EQ(error_of([&] { f(z, y); }).code(), ErrorCode::DeviceFailed);
  Blend::submit = submit;
  EXPECT_TRUE(equal(z, as_it_was));
  f(z, y);
  EXPECT_TRUE(allclose(z, want(y, as_it_was + 1, 0.5), 1e-6, 1e-6));
}

// It knows nothing of guards: where a check before it fails, it does not run.
TEST_F(CudaCaptured, NothingIsWrittenAfterAFailedCheck) {
  auto f =
      compile([](Tensor x, const Tensor& y, const Tensor& rows) { x.copy_(Blend::of(x, y.index_select(0, rows))); },
              {.name = "checked"});
  Tensor x = numbers({3, 4}, 1);
  const Tensor y = numbers({5, 4}, 2), kept = x.clone();
  const Tensor good = tensor_of(std::vector<std::int64_t>{4, 0, 2}, {3}).to(d),
               bad = tensor_of(std::vector<std::int64_t>{4, 5, 2}, {3}).to(d);
  EXPECT_EQ(error_of([&] { f(x, y, bad); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_TRUE(equal(x, kept));
  f(x, y, good);
  EXPECT_TRUE(allclose(x, want(kept, y.index_select(0, good), 0.5), 1e-6, 1e-6));
}

/// self = self * by, in a stream; `work` bytes of memory are asked for and not used. Through the public headers.
const Operator& scale_in_stream() {
  struct Work {
    char* at;
    std::int64_t n;
    float by;
  };
  static const Operator op =
      Library("testcuda")
          .define({.schema = "scale_(Tensor(a!) self, Scalar by) -> Tensor(a!)",
                   .cuda =
                       [](const KernelCall& k) {
                         const TensorView& t = k.tensor(0);
                         if (!t.contiguous()) return k.fail(ErrorCode::InvalidArgument, "wants rows without gaps");
                         if (!k.workspace()) return k.fail(ErrorCode::Internal, "has no workspace");
                         const Work work{t.data, t.numel(), static_cast<float>(k.number(1).to_double())};
                         auto run = [](void* p) {
                           const Work& w = *static_cast<const Work*>(p);
                           float* x = static_cast<float*>(
                               Blend::reach ? Blend::reach(reinterpret_cast<std::uint64_t>(w.at),
                                                           static_cast<std::size_t>(4 * w.n), true, "scale")
                                            : static_cast<void*>(w.at));
                           for (std::int64_t i = 0; x && i < w.n; ++i) x[i] *= w.by;
                         };
                         if (Blend::submit(k.stream, run, &work, sizeof work))
                           k.fail(ErrorCode::DeviceFailed, "cannot be queued");
                       },
                   .workspace = [](const std::vector<WorkspaceTensor>& t) { return numel(t[0].sizes) * 4; }});
  return op;
}

TEST_F(CudaCaptured, AnOperatorThatWritesWritesInPlace) {
  auto body = [](Tensor x, Tensor cache, Scalar by) {
    scale_in_stream()(cache[1].slice(0, 1, 3), by);
    Tensor y = x * 2;
    scale_in_stream()(y, by);
    return y + cache[1].slice(0, 0, 1);
  };
  auto reference = [](Tensor x, Tensor cache, double by) {
    cache[1].slice(0, 1, 3).mul_(by);
    return x * 2 * by + cache[1].slice(0, 0, 1);
  };
  auto f = compile(body, {.name = "scaled"});
  for (double by : {0.5, 3.0, 0.5}) {
    Tensor x = numbers({5}, 1), cache = numbers({3, 4, 5}, 2), same = cache.clone(), eager = cache.clone();
    const Tensor want = reference(x, same, by);
    EXPECT_TRUE(allclose(body(x, eager, by), want, 1e-6, 1e-6));
    EXPECT_TRUE(allclose(f(x, cache, by), want, 1e-6, 1e-6));
    EXPECT_TRUE(allclose(cache, same, 1e-6, 1e-6));
    EXPECT_TRUE(allclose(eager, same, 1e-6, 1e-6));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise::test
