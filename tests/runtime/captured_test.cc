// Work of other libraries where there are no streams: on the host it is a step like others; the null device queues it
// in launch order.
#include <gtest/gtest.h>

#include "device/null/null_device.h"
#include "tests/support/blend.h"
#include "tests/support/error_of.h"

namespace reprise {
namespace {

using test::Blend;
using test::error_of;

TEST(Captured, OnTheHostItIsANativeLaunch) {
  auto f = compile([](const Tensor& x, const Tensor& y) { return Blend::of(x * 2, y, 0.25) + 1; }, {.name = "blend"});
  for (std::int64_t n : {3, 8, 1}) {
    const Tensor x = arange(0, n, 1, {.dtype = kFloat32}), y = x * x;
    EXPECT_TRUE(allclose(f(x, y), x * 1.5 + y * 0.25 + 1, 1e-6, 1e-6)) << n;
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  auto op_by_op = compile([](const Tensor& x, const Tensor& y) { return Blend::of(x, y); }, {.mode = "interpret"});
  const Tensor x = ones({4}), y = zeros({4});
  EXPECT_TRUE(allclose(op_by_op(x, y), x * 0.5));
  EXPECT_TRUE(allclose(Blend::of(x, y, 1), y)) << "eager";
}

TEST(Captured, AFaultNamesTheOperator) {
  const Tensor x = ones({3, 4}), y = ones({4, 3}).transpose(0, 1);
  auto f = compile([](const Tensor& a, const Tensor& b) { return Blend::of(a, b); });
  for (const Error& e : {error_of([&] { f(x, y); }), error_of([&] { Blend::of(x, y); })}) {
    EXPECT_EQ(e.code(), ErrorCode::InvalidArgument);
    EXPECT_EQ(e.op(), "test::blend");
  }
}

TEST(Captured, TheNullDeviceQueuesItInLaunchOrder) {
  device::set_null_kernels(true);
  const Tensor x = arange(0, 6, 1, {.dtype = kFloat32}).to(Device::null()), y = (ones({6}) * 4).to(Device::null());
  auto f =
      compile([](const Tensor& a, const Tensor& b) { return Blend::of(Blend::of(a, b), a, 0.25); }, {.name = "chain"});
  f(x, y);
  device::take_null_record();
  const Tensor got = f(x, y);
  const device::NullRecord r = device::take_null_record();
  EXPECT_EQ(r.graph_launches, 1);
  ASSERT_EQ(r.launches.size(), 2u);
  EXPECT_EQ(r.launches[0].name, "test::blend");
  EXPECT_EQ(r.launches[0].pointers.size(), 4u) << "two arguments, the result, the workspace";
  EXPECT_EQ(r.launches[1].after, (std::vector<std::uint32_t>{0}));
  EXPECT_EQ(r.copied_to + r.copied_from, 0) << "no step of the host";
  const Tensor on_host = arange(0, 6, 1, {.dtype = kFloat32});
  EXPECT_TRUE(allclose(got.cpu(), (on_host * 0.5 + 2) * 0.75 + on_host * 0.25, 1e-6, 1e-6));
  device::set_null_kernels(false);
}

}  // namespace
}  // namespace reprise
