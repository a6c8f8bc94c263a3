// Words of a recording: sizes, positions, numbers and seeds stand beside the addresses, so that what moves is neither
// another recording nor another graph.
#include <algorithm>

#include "base/counters.h"
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

class CudaWords : public Cuda {
 protected:
  static Tensor numbers(const Ints& sizes, double step = 0.37) {
    Int n = 1;
    for (Int s : sizes) n *= s;
    return (arange(n).to(kFloat32) * step).sin().reshape(sizes);
  }
  static reprise_simulator_counters told() {
    return Simulator::library() ? Simulator::counters() : reprise_simulator_counters{};
  }
  static std::uint64_t calls(const char* entry) {
    return Simulator::library() ? Simulator::find<decltype(reprise_simulator_calls)>("reprise_simulator_calls")(entry)
                                : 0;
  }
  static bool counts() { return Simulator::library() && knobs().cuda_pointers == "block"; }
};

/// A layer that decodes: one position of the cache is written, those up to it are read.
struct Layer {
  Tensor operator()(Tensor k, Tensor v, Tensor x, Int pos) const {
    const Tensor q = (x * 1.5).reshape({1, 2, 1, 8});
    k.slice(2, pos, pos + 1).copy_((x + 0.25).reshape({1, 2, 1, 8}));
    v.slice(2, pos, pos + 1).copy_(x.reshape({1, 2, 1, 8}));
    const Tensor y = scaled_dot_product_attention(q, k.slice(2, 0, pos + 1), v.slice(2, 0, pos + 1));
    return softmax(y.reshape({1, 16}) + x, -1);
  }
};

TEST_F(CudaWords, ADecodeOverAllPositionsIsOneRecording) {
  const std::int64_t room = 4096;
  auto f = compile(Layer(), {.name = "layer"});
  Tensor k = zeros({1, 2, room, 8}, {.device = d}), v = zeros({1, 2, room, 8}, {.device = d});
  Tensor host_k = zeros({1, 2, room, 8}), host_v = zeros({1, 2, room, 8});
  const Tensor x = numbers({1, 16}), on_device = x.to(d);
  auto step = [&](std::int64_t pos, bool compare) {
    const Tensor made = f(k, v, on_device, pos);
    if (!compare) return;
    host_k.copy_(k.cpu()), host_v.copy_(v.cpu());
    EXPECT_TRUE(allclose(made.cpu(), Layer()(host_k, host_v, x, pos), 1e-4, 1e-5)) << pos;
  };
  for (std::int64_t pos = 0; pos < 6; ++pos) step(pos, true);
  const reprise_simulator_counters before = told();
  const std::int64_t made = f.stats().recordings_made;
  std::uint64_t steps = 0;
  for (std::int64_t pos = 6; pos < room; pos += pos < 200 ? 1 : 97, ++steps) step(pos, pos % 50 == 0);
  step(room - 1, true), ++steps;
  const reprise_simulator_counters after = told();
  EXPECT_EQ(f.stats().recordings_made, made);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  if (counts()) {
    EXPECT_LE(after.node_updates - before.node_updates, steps + 3) << "the upload alone; copies of the comparison";
    EXPECT_EQ(after.instantiations, before.instantiations);
  }
  EXPECT_LE(made, 2);
}

TEST_F(CudaWords, TokensAreQueuedAheadOfTheDevice) {
  if (!Simulator::library()) GTEST_SKIP() << "counts calls of the simulator";
  // The token that is chosen stays on the device, and the next step embeds it.
  auto step = compile(
      [](Tensor table, Tensor k, Tensor v, Tensor token, Int pos) {
        const Tensor y = Layer()(k, v, table.index_select(0, token), pos);
        return (y * table).sum({1}).argmax(0, true);
      },
      {.name = "step"});
  auto run = [&](Device where) {
    Tensor table = numbers({11, 16}, 1.7).to(where), k = zeros({1, 2, 64, 8}, {.device = where}),
           v = zeros({1, 2, 64, 8}, {.device = where});
    std::vector<Tensor> tokens{zeros({1}, {.dtype = kInt64, .device = where})};
    std::uint64_t waits = 0;
    for (std::int64_t pos = 0; pos < 40; ++pos) {
      const std::uint64_t before =
          calls("cuStreamSynchronize") + calls("cuCtxSynchronize") + calls("cuEventSynchronize");
      tokens.push_back(step(table, k, v, tokens.back(), pos));
      if (pos >= 8)
        waits += calls("cuStreamSynchronize") + calls("cuCtxSynchronize") + calls("cuEventSynchronize") - before;
    }
    std::vector<std::int64_t> all;
    for (const Tensor& t : tokens) all.push_back(t.cpu().item<std::int64_t>());
    return std::pair(all, waits);
  };
  const auto [on_host, none] = run(Device::cpu());
  const auto [on_device, waits] = run(d);
  EXPECT_EQ(on_device, on_host);
  // An index that is read from memory is checked, which is asked for at the end of a call.
  EXPECT_LE(waits, 32u);
}

TEST_F(CudaWords, RandomNumbersNeedNoStepOfTheHost) {
  auto body = [](Tensor x) {
    return dropout(x, 0.3) + rand({3, 50}, {.device = x.device()}) + randn({3, 50}, {.device = x.device()});
  };
  auto f = compile(body, {.name = "noise"});
  const Tensor x = ones({3, 50}, {.device = d});
  manual_seed(5);
  const Tensor expected = body(x);
  manual_seed(5);
  EXPECT_TRUE(equal(f(x).cpu(), expected.cpu()));
  f(x), f(x);
  const std::uint64_t copies = calls("cuMemcpyHtoDAsync") + calls("cuMemcpyDtoHAsync");
  const reprise_simulator_counters before = told();
  const Tensor one = f(x), other = f(x);
  if (counts()) {
    EXPECT_EQ(calls("cuMemcpyHtoDAsync") + calls("cuMemcpyDtoHAsync"), copies);
    EXPECT_LE(told().node_updates - before.node_updates, 2u);
  }
  EXPECT_FALSE(equal(one.cpu(), other.cpu()));
  EXPECT_EQ(f.stats().recordings_made, 1);
}

// Pointwise, rows, columns, running sums, choices: each size between the least and the most, in both orders.
TEST_F(CudaWords, SizesThatChangeAtEveryCallMakeFewRecordings) {
  auto body = [](Tensor x) {
    const Tensor rows = softmax(x, -1), columns = x.sum({0}) + x.cumsum(1).amax(0);
    return std::tuple(gelu(x) + rows * columns, x.argmax(1), x.transpose(0, 1).contiguous().mean(1));
  };
  auto f = compile(body, {.name = "sizes"});
  const Tensor most = numbers({700, 24});
  const Tensor on_device = most.to(d);
  std::vector<std::int64_t> sizes;
  for (std::int64_t n = 2; n <= 700; n += n < 20 ? 1 : n / 9) sizes.push_back(n);
  const std::vector<std::int64_t> once = sizes;
  sizes.insert(sizes.end(), once.rbegin(), once.rend());
  for (std::int64_t n : sizes) {
    const auto [a, b, c] = f(on_device.slice(0, 0, n));
    const auto [ea, eb, ec] = body(most.slice(0, 0, n));
    EXPECT_TRUE(allclose(a.cpu(), ea, 1e-4, 1e-4)) << n;
    EXPECT_TRUE(equal(b.cpu(), eb)) << n;
    EXPECT_TRUE(allclose(c.cpu(), ec, 1e-4, 1e-4)) << n;
  }
  EXPECT_LE(f.stats().recordings_made, 8 * f.stats().compilations);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

}  // namespace
}  // namespace reprise::test
