// Float arguments stand in the block that a graph's first node uploads, beside the addresses: another number is no
// other recording.
#include <cuda.h>

#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

class CudaFloats : public Cuda {
 protected:
  Tensor numbers(const Ints& sizes) {
    Int n = 1;
    for (Int s : sizes) n *= s;
    return (arange(n).to(kFloat32) * 0.37).sin().reshape(sizes).to(d);
  }
};

TEST_F(CudaFloats, AnotherNumberIsNoOtherRecording) {
  auto body = [](const Tensor& x, Scalar scale, Scalar shift) { return (x * scale).exp().sum({1}) + shift; };
  auto f = compile(body, {.name = "scaled"});
  const Tensor x = numbers({6, 40}), on_host = x.cpu();
  auto expect = [&](double scale, double shift) {
    EXPECT_TRUE(allclose(f(x, scale, shift).cpu(), body(on_host, scale, shift), 1e-5, 1e-5)) << scale << ' ' << shift;
  };
  expect(0.1, 1.5);
  expect(0.2, 1.5);
  const reprise_simulator_counters before = Simulator::library() ? Simulator::counters() : reprise_simulator_counters{};
  for (int i = 0; i < 8; ++i) expect(0.25 * i - 1, i);
  for (double special : {0.0, -0.0, 1e-300, 3.5e1}) expect(special, 1);
  EXPECT_EQ(f.stats().recordings_made, 1);
  EXPECT_EQ(f.stats().compilations, 1);
  if (Simulator::library() && knobs().cuda_pointers == "block") {
    const reprise_simulator_counters after = Simulator::counters();
    EXPECT_LE(after.node_updates - before.node_updates, 12u) << "the upload alone";
    EXPECT_EQ(after.instantiations, before.instantiations);
  }
}

// As are those that kernels by kind take as numbers.
TEST_F(CudaFloats, NumbersOfKernelsByKindAreNoOtherRecording) {
  auto body = [](const Tensor& x, const Tensor& at, Scalar value) { return x.scatter(0, at, value) * value; };
  auto f = compile(body, {.name = "scattered"});
  const Tensor x = numbers({9}), at = tensor_of(std::vector<std::int64_t>{1, 4, 7}, {3});
  for (double value : {0.5, 2.25, 0.5})
    EXPECT_TRUE(allclose(f(x, at.to(d), value).cpu(), body(x.cpu(), at, value), 1e-6, 1e-6)) << value;
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().recordings_made, 1);
}

TEST_F(CudaFloats, RecordingsThatAreMadeIntoOthersKeepTheirCells) {
  auto body = [](const Tensor& x, Scalar t, Scalar u) { return x / t + (x * u).sum(); };
  auto f = compile(body, {.name = "recycled", .recordings_max = 2});
  for (std::int64_t n : {3, 50, 7, 3, 90, 50})
    for (double t : {0.5, 3.0}) {
      const Tensor x = numbers({n});
      EXPECT_TRUE(allclose(f(x, t, t + 1).cpu(), body(x.cpu(), t, t + 1), 1e-5, 1e-5)) << n << ' ' << t;
    }
}

}  // namespace
}  // namespace reprise::test
