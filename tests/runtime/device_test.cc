// A device of its own memory, shown on the null device: what is copied, what the host runs, what an exception leaves
// behind.
#include <gtest/gtest.h>

#include <climits>

#include "device/null/null_device.h"
#include "reprise/reprise.h"
#include "tests/support/error_of.h"

namespace reprise {
namespace {

using device::take_null_record;

Tensor on_null(const Tensor& t) { return t.to(Device::null()); }

TEST(OtherDevice, TensorsMoveAndComeBack) {
  Tensor x = tensor_of(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  Tensor there = on_null(x);
  EXPECT_EQ(there.device(), Device::null());
  EXPECT_EQ(there.cpu().to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ(on_null(x.transpose(0, 1)).strides(), x.transpose(0, 1).strides()) << "a dense tensor keeps its strides";
  EXPECT_EQ(on_null(x.slice(1, 0, 2)).strides(), Ints({2, 1})) << "others become row-major";
  EXPECT_EQ(there.select(0, 1).to_vector<float>(), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(there.select(0, 1).select(0, 2).item().to_double(), 6);
  EXPECT_NE(there.str().find("device=null"), std::string::npos) << there.str();
  EXPECT_TRUE(there.to(Device::null()).is_same(there));
  Tensor y = zeros({2, 3});
  y.copy_(there);
  EXPECT_EQ(y.to_vector<float>(), x.to_vector<float>());
}

TEST(OtherDevice, TensorsOfTwoDevicesDoNotMeet) {
  Tensor x = ones({2, 3});
  try {
    add(x, on_null(x));
    ADD_FAILURE() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::DeviceMismatch);
    EXPECT_NE(std::string(e.what()).find("cpu and null"), std::string::npos) << e.what();
  }
  EXPECT_EQ((on_null(x) * 2.0).cpu().to_vector<float>(), (x * 2.0).to_vector<float>()) << "numbers go anywhere";
}

TEST(OtherDevice, AMoveInsideACompiledFunctionIsServedEagerly) {
  auto f = compile([](Tensor x) { return x.cpu() + 1.0; }, {.name = "moves"});
  EXPECT_EQ(f(on_null(ones({3}))).to_vector<float>(), (std::vector<float>{2, 2, 2}));
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_NE(f.stats().last_fallback_reason.find("to(device)"), std::string::npos) << f.stats().last_fallback_reason;
}

TEST(OtherDevice, MutationsReachTheArgument) {
  auto f = compile(
      [](Tensor cache, Tensor x, Int pos) {
        cache.slice(0, pos, pos + 1).copy_(x);
        return cache.sum();
      },
      {.name = "cache"});
  Tensor cache = on_null(zeros({4, 2}));
  for (int pos = 0; pos < 4; ++pos) f(cache, on_null(full({1, 2}, pos + 1.0)), pos);
  EXPECT_EQ(cache.to_vector<float>(), (std::vector<float>{1, 1, 2, 2, 3, 3, 4, 4}));
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(OtherDevice, AFaultLeavesArgumentsAsTheyWere) {
  auto f = compile([](Tensor x, Tensor table, Tensor ids) { x.add_(embedding(table, ids)); }, {.name = "fault"});
  Tensor x = on_null(zeros({2, 3})), table = on_null(ones({4, 3}));
  f(x, table, on_null(tensor_of(std::vector<std::int64_t>{0, 3})));
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 1));
  EXPECT_THROW(f(x, table, on_null(tensor_of(std::vector<std::int64_t>{0, 4}))), Error);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(6, 1));
}

// What a device with code of its own is told: kernels as nodes, with the dependencies that they have and no others.
TEST(OtherDevice, AGraphHasTheTrueDependencies) {
  device::set_null_kernels(true);
  auto f = compile(
      [](Tensor x, Tensor y) {
        Tensor a = x.sum({0}), b = y.sum({0});  // independent of each other
        return (a * b).cumsum(0) + 1.0;         // cumsum may be a step of the host; the product needs both sums
      },
      {.name = "branches", .mode = "no-fuse"});
  Tensor x = on_null(ones({3, 4})), y = on_null(ones({5, 4}));
  take_null_record();
  f(x, y);
  device::NullRecord r = take_null_record();
  device::set_null_kernels(false);
  ASSERT_GE(r.launches.size(), 4u);
  EXPECT_EQ(r.launches[0].after, std::vector<std::uint32_t>());
  EXPECT_EQ(r.launches[1].after, std::vector<std::uint32_t>()) << "independent branches stay parallel";
  EXPECT_EQ(r.launches[2].after, (std::vector<std::uint32_t>{0, 1}));
  EXPECT_GE(r.graph_launches, 1);
  EXPECT_EQ(r.instantiated, r.graph_launches);
}

TEST(OtherDevice, EvictedRecordingsGiveTheirGraphsToNewSizes) {
  device::set_null_kernels(true);
  auto f = compile([](Tensor x) { return softmax(x, -1) * 2.0; }, {.name = "sizes", .recordings_max = 3});
  take_null_record();
  // of ten classes
  for (int k = 0; k < 10; ++k) f(empty({std::int64_t{1} << (14 + k), 8}, {.device = Device::null()}));
  device::NullRecord r = take_null_record();
  device::set_null_kernels(false);
  EXPECT_EQ(f.stats().recordings_made, 10);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_GE(r.reused, 7) << "only the first recordings are instantiated";
}

TEST(OtherDevice, ASealedFunctionQueuesSizesThatAreNew) {
  device::set_null_kernels(true);
  auto f = compile([](Tensor x) { return softmax(x, -1) * 2.0; }, {.name = "sealed", .recordings_max = 3});
  std::vector<Tensor> xs;
  for (int n = 1; n <= 10; ++n) xs.push_back(on_null(ones({n, 8})));
  f(xs[2]);
  f.seal();
  take_null_record();
  for (const Tensor& x : xs) f(x);
  device::NullRecord r = take_null_record();
  EXPECT_EQ(r.instantiated, 0);
  EXPECT_EQ(r.queued + r.graph_launches, 10);
  EXPECT_GE(r.graph_launches, 1) << "what was there serves";
  f.reset();
  f(xs[0]);
  EXPECT_EQ(take_null_record().instantiated, 1);
  device::set_null_kernels(false);
}

TEST(Streams, GuardsNestAndEveryStreamHasItsOwnLane) {
  Device d = Device::null();
  auto f = compile([](Tensor x) { return softmax(x, -1).sum({0}).cumsum(0); }, {.name = "lanes", .mode = "no-fuse"});
  Tensor x = on_null(ones({64, 64}));
  f(x);
  std::int64_t one = device_memory(d).pool;
  EXPECT_GT(one, 0);
  {
    Stream passing = Stream::create(d);
    StreamGuard guard(passing);
    f(x);
    EXPECT_EQ(device_memory(d).pool, 2 * one);
  }
  EXPECT_EQ(device_memory(d).pool, one) << "a stream takes its lane with it";
  Stream a = Stream::create(d), b = Stream::create(d, -1);
  {
    StreamGuard outer(a);
    f(x);
    EXPECT_EQ(device_memory(d).pool, 2 * one);
    {
      StreamGuard inner(b);
      f(x);
      EXPECT_EQ(device_memory(d).pool, 3 * one);
    }
    f(x);
    EXPECT_EQ(device_memory(d).pool, 3 * one) << "back on the outer stream";
  }
  f(x);
  EXPECT_EQ(device_memory(d).pool, 3 * one);
  a.synchronize();
  EXPECT_TRUE(b.idle());
  synchronize(d);
  release_pool();
  EXPECT_EQ(device_memory(d).pool, 0);
}

TEST(Streams, OfTheHostDoNothing) {
  Stream s = Stream::create(Device::cpu());
  StreamGuard guard(s);
  EXPECT_TRUE(s.idle());
  EXPECT_EQ(s.native_handle(), nullptr);
  synchronize(Device::cpu());
  EXPECT_FALSE(describe(Device::cpu()).empty());
}

TEST(Devices, NumbersThatNoneCanHave) {
  for (const char* name : {"cuda:256", "cuda:99999999999", "cuda:-1", "cuda:", "cuda:1x", "tpu"})
    EXPECT_NE(why_unavailable(name).find("there is no such device"), std::string::npos)
        << name << ": " << why_unavailable(name);
  EXPECT_EQ(why_unavailable("cuda:255").find("there is no such device: "), std::string::npos);
  EXPECT_EQ(Device::cuda(255).index, 255);
  static_assert(Device::cuda(3).index == 3);
  for (int i : {-1, 256, INT_MAX}) {
    const Error e = test::error_of([&] { Device::cuda(i); });
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_NE(e.message().find("cuda:" + std::to_string(i)), std::string::npos) << e.what();
  }
}

TEST(Streams, OfADeviceThatIsNotThere) {
  if (cuda_device_count() > 0) GTEST_SKIP() << "there is a CUDA device";
  for (auto f : {+[] { Stream::create(Device::cuda()); }, +[] { synchronize(Device::cuda()); },
                 +[] { device_memory(Device::cuda(3)); }}) {
    try {
      f();
      ADD_FAILURE() << "did not throw";
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::DeviceUnavailable) << e.what();
    }
  }
}

}  // namespace
}  // namespace reprise
