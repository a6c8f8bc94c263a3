// Operators that write their arguments, whose kernels run on the host, between kernels of a device.
#include "graph/writers.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "kernels/reference/elements.h"
#include "tests/cuda/support.h"

namespace reprise {
namespace {

using CudaWriters = test::Cuda;

// Every second element of x is doubled; what is between stays.
graph::OpId double_every_second() {
  static const graph::OpId op = graph::register_op(
      {.schema = "test::every_second_(Tensor(a!) x) -> ()", .shape = [](graph::RuleCtx&) {}},
      {kernels::reference_kernels().fact({[](const kernels::NativeArgs& a) {
        int i = 0;
        kernels::reference::for_each(a.tensor(0), [&](std::int64_t at) {
          if (i++ % 2 == 0)
            kernels::reference::store(
                a.tensor(0), at, kernels::reference::Value::of(2 * kernels::reference::load_number(a.tensor(0), at)));
        });
      }})});
  return op;
}

TEST_F(CudaWriters, ElementsThatAreNotWrittenStay) {
  auto program = [](Tensor x, Tensor y) {
    graph::calln(double_every_second(), {&x}, {});
    Tensor part = x.slice(0, 1), made = y * 3;
    graph::calln(double_every_second(), {&part}, {});
    graph::calln(double_every_second(), {&made}, {});
    return made + x;
  };
  for (int n : {3, 6, 3}) {
    Tensor x = arange(0, n * 4, 1, {.dtype = kFloat32}).view({n, 4}), y = x * 0.5 + 1, on = x.to(d), oy = y.to(d),
           eager = x.to(d);
    auto f = compile(program);
    Tensor got = f(on, oy), want = program(x, y);
    EXPECT_TRUE(equal(got.to(Device::cpu()), want)) << n;
    EXPECT_TRUE(equal(on.to(Device::cpu()), x)) << n;
    EXPECT_TRUE(equal(program(eager, oy).to(Device::cpu()), want)) << n;
    EXPECT_TRUE(equal(eager.to(Device::cpu()), x)) << n;
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

// The host gets the part that is written, not the tensor around it.
TEST_F(CudaWriters, APartGoesToTheHostAlone) {
  auto program = [](Tensor cache, Tensor row) {
    Tensor part = cache.select(0, 2).slice(0, 1, 3);
    graph::calln(double_every_second(), {&part}, {});
    return part.sum(0) + row;
  };
  auto f = compile(program);
  for (int n : {4, 64, 400}) {
    Tensor cache = arange(0, n * 32, 1, {.dtype = kFloat32}).view({n, 4, 8}) * 0.5,
           row = ones({8}, {.dtype = kFloat32}), on = cache.to(d), orow = row.to(d);
    f(cache.to(d), orow);
    const auto before = test::Simulator::library() ? test::Simulator::counters() : reprise_simulator_counters{};
    Tensor got = f(on, orow);
    if (test::Simulator::library()) {
      const auto after = test::Simulator::counters();
      EXPECT_EQ(after.bytes_to_host - before.bytes_to_host, 2u * 8 * 4) << n;
      EXPECT_LE(after.bytes_to_device - before.bytes_to_device, 2u * 8 * 4 + 1024) << n;  // and addresses
    }
    EXPECT_TRUE(equal(got.to(Device::cpu()), program(cache, row))) << n;
    EXPECT_TRUE(equal(on.to(Device::cpu()), cache)) << n;
  }
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
}

// x and y are columns of one tensor: they lie between each other, element by element.
TEST_F(CudaWriters, TwoViewsOfOneTensor) {
  static const graph::OpId op =
      graph::register_op({.schema = "test::swap_(Tensor(a!) x, Tensor(b!) y) -> ()", .shape = [](graph::RuleCtx&) {}},
                         {kernels::reference_kernels().fact({[](const kernels::NativeArgs& a) {
                           namespace r = kernels::reference;
                           const kernels::TensorView &x = a.tensor(0), &y = a.tensor(1);
                           r::for_each<2>(x.rank, x.sizes, {x.strides, y.strides}, [&](const auto& at) {
                             const auto was = r::load(x, at[0]);
                             r::store(x, at[0], r::load(y, at[1]));
                             r::store(y, at[1], was);
                           });
                         }})});
  auto swap = [](Tensor x, Tensor y) { graph::calln(op, {&x, &y}, {}); };
  auto f = compile(swap);
  for (int n : {1, 3, 4, 0}) {
    const Tensor x = arange(0, n * 4, 1, {.dtype = kFloat32}).view({n, 4}), want = x.clone();
    swap(want.select(1, 0), want.select(1, 2));
    for (bool compiled : {false, true}) {
      const Tensor on = x.to(d);
      compiled ? f(on.select(1, 0), on.select(1, 2)) : swap(on.select(1, 0), on.select(1, 2));
      EXPECT_TRUE(equal(on.to(Device::cpu()), want)) << n << (compiled ? " compiled" : " eager");
    }
  }
}

}  // namespace
}  // namespace reprise
