// Registered operators that write their arguments (Note [Operators that write] in graph/writers.h).
#include <gtest/gtest.h>

#include <functional>

#include "base/errors.h"
#include "base/knobs.h"
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "graph/writers.h"
#include "kernels/plan/columns.h"
#include "reprise/reprise.h"
#include "tests/support/float_view.h"

namespace reprise {
namespace {

using graph::OpId;
using kernels::NativeArgs;
using kernels::TensorView;
using test::each;
using test::values_of;

void no_results(graph::RuleCtx&) {}

OpId writer(const char* schema, kernels::NativeFn kernel, graph::Effects effects = {},
            graph::ShapeRule shape = no_results) {
  return graph::register_op({.schema = schema, .shape = shape, .effects = effects},
                            {kernels::reference_kernels().fact({kernel})});
}
std::vector<Tensor> call(OpId op, std::initializer_list<graph::CallArg> args) {
  return graph::calln(op, args, SourceLoc::current());
}

// self *= by
OpId scale() {
  static const OpId op = writer("test::scale_(Tensor(a!) self, Scalar by=2) -> ()", [](const NativeArgs& a) {
    each(a.tensor(0), [&](float& x, std::int64_t) {
      x *= static_cast<float>(a.number(1).is_float ? a.number(1).f : static_cast<double>(a.number(1).i));
    });
  });
  return op;
}
// cache[at] = row
OpId append() {
  static const OpId op = writer("test::append(Tensor(a!) cache, Tensor row, SymInt at) -> ()",
                                [](const NativeArgs& a) {
                                  TensorView row = a.tensor(0);
                                  const std::int64_t at = a.integer(2);
                                  if (at < 0 || at >= row.sizes[0]) {
                                    *a.fault = {true, ErrorCode::IndexOutOfRange,
                                                "row " + std::to_string(at) + " of " + std::to_string(row.sizes[0])};
                                    return;
                                  }
                                  row.data += at * row.strides[0] * 4;
                                  row.sizes[0] = 1;
                                  const std::vector<float> from = values_of(a.tensor(1));
                                  each(row, [&](float& x, std::int64_t i) { x = from[static_cast<std::size_t>(i)]; });
                                },
                                {.may_fail = true});
  return op;
}
// self += by; gives self and by * 2
OpId bump() {
  static const OpId op = writer(
      "test::bump(Tensor(a!) self, Tensor by) -> (Tensor(a!), Tensor)",
      [](const NativeArgs& a) {
        const std::vector<float> by = values_of(a.tensor(1));
        each(a.tensor(0), [&](float& x, std::int64_t i) { x += by[static_cast<std::size_t>(i)]; });
        each(a.result(), [&](float& x, std::int64_t i) { x = by[static_cast<std::size_t>(i)] * 2; });
      },
      {},
      [](graph::RuleCtx& c) {
        for (int d = 0; d < c.tensor(0).dim(); ++d)
          if (!graph::same(c.tensor(0).size(d), c.tensor(1).size(d), c.loc, "bump: equal sizes"))
            fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc, "size ", c.tensor(1).size(d),
                 " of 'by', not ", c.tensor(0).size(d));
        c.result(c.tensor(1).dtype, c.tensor(1).layout.sizes);
      });
  return op;
}
// x, y = y, x
OpId swap() {
  static const OpId op = writer("test::swap(Tensor(a!) x, Tensor(b!) y) -> ()", [](const NativeArgs& a) {
    const std::vector<float> x = values_of(a.tensor(0)), y = values_of(a.tensor(1));
    each(a.tensor(0), [&](float& v, std::int64_t i) { v = y[static_cast<std::size_t>(i)]; });
    each(a.tensor(1), [&](float& v, std::int64_t i) { v = x[static_cast<std::size_t>(i)]; });
  });
  return op;
}
// each of the list += its place in the list + 1; gives how many there are
OpId count_up() {
  static const OpId op = writer(
      "test::count_up(Tensor(a!)[] list, Tensor like) -> Tensor",
      [](const NativeArgs& a) {
        const kernels::NativeArg& list = a.args[0];
        for (std::uint32_t k = 0; k < list.count; ++k)
          each(a.tensors[list.first + k], [&](float& x, std::int64_t) { x += static_cast<float>(k) + 1; });
        each(a.result(), [&](float& x, std::int64_t) { x = static_cast<float>(list.count); });
      },
      {}, [](graph::RuleCtx& c) { c.result(c.tensor(1).dtype, c.tensor(1).layout.sizes); });
  return op;
}

using Program = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

/// Compiled as eager, for several sizes, without a fall back: results, arguments, later writes through results.
/// `copied`: bytes beyond eager for each n, where what is written are views (Note [Two forms of a write]).
void expect_as_eager(const char* name, const Program& program,
                     const std::function<std::vector<Tensor>(std::int64_t)>& make, std::int64_t copied = -1) {
  if (knobs().writers != "values") {
    Scoped values(knobs().writers, "values");
    expect_as_eager(name, program, make);
  }
  auto f = compile(program, {.name = name});
  for (std::int64_t n : {4, 7, 12, 4}) {
    std::vector<Tensor> a = make(n), b;
    for (const Tensor& t : a) b.push_back(t.clone());
    const std::int64_t before = f.stats().copied_bytes;
    std::vector<Tensor> got = f(a), want = program(b);
    if (copied >= 0) {
      EXPECT_EQ(f.stats().copied_bytes - before, copied * n) << name << " " << n << "\n" << f.explain();
    }
    ASSERT_EQ(got.size(), want.size());
    for (int later = 0; later < 2; ++later) {
      for (std::size_t i = 0; i < got.size(); ++i)
        EXPECT_TRUE(equal(got[i], want[i])) << name << ": result " << i << ", n " << n << "\n" << f.explain();
      for (std::size_t i = 0; i < a.size(); ++i)
        EXPECT_TRUE(equal(a[i], b[i])) << name << ": argument " << i << ", n " << n << "\n" << f.explain();
      for (std::size_t i = 0; i < got.size(); ++i) got[i].add_(1), want[i].add_(1);
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << name << ": " << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 1) << name;
}
Tensor grid(std::int64_t n, std::int64_t m = 3) { return arange(0, n * m, 1, {.dtype = kFloat32}).view({n, m}) * 0.5; }

TEST(Writers, RunEagerly) {
  Tensor x = grid(4), y = x.clone();
  const std::uint64_t version = x.version();
  EXPECT_TRUE(call(scale(), {&x}).empty());
  EXPECT_TRUE(equal(x, y * 2));
  EXPECT_EQ(x.version(), version + 1);
  Tensor row = ones({3});
  Tensor part = x.slice(0, 1, 4);
  call(append(), {&part, &row, Int(2)});
  EXPECT_TRUE(equal(x.select(0, 3), row));
  EXPECT_TRUE(equal(x.slice(0, 0, 3), (y * 2).slice(0, 0, 3)));
  Tensor turned = x.t(), by = ones({3, 4});
  std::vector<Tensor> made = call(bump(), {&turned, &by});
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].impl(), turned.impl()) << "the written argument itself";
  EXPECT_TRUE(equal(made[1], full({3, 4}, 2.0)));
  EXPECT_TRUE(equal(x.select(0, 3), full({3}, 2.0)));
  Tensor a = x.select(0, 0), b = x.select(0, 1), was_a = a.clone(), was_b = b.clone();
  call(swap(), {&a, &b});
  EXPECT_TRUE(equal(a, was_b) && equal(b, was_a));
  std::vector<Tensor> list{x.select(1, 0), x.select(1, 2)};
  Tensor before = x.clone();
  EXPECT_TRUE(equal(call(count_up(), {TensorArrayRef(list), &row})[0], full({3}, 2.0)));
  EXPECT_TRUE(equal(x.select(1, 0), before.select(1, 0) + 1));
  EXPECT_TRUE(equal(x.select(1, 1), before.select(1, 1)));
  EXPECT_TRUE(equal(x.select(1, 2), before.select(1, 2) + 2));
}

TEST(Writers, AreCompiledAsEager) {
  expect_as_eager(
      "scaled",
      [](std::vector<Tensor> a) {
        Tensor before = a[0] + 1;
        call(scale(), {&a[0], Scalar(3)});
        Tensor y = a[0] * 2;
        call(scale(), {&y, Scalar(0.5)});
        return std::vector{before, y, a[0].sum(1)};
      },
      [](std::int64_t n) { return std::vector{grid(n)}; });
  expect_as_eager(
      "bumped",
      [](std::vector<Tensor> a) {
        std::vector<Tensor> made = call(bump(), {&a[0], &a[1]});
        made[0].mul_(2);
        made[1].add_(made[0]);
        return std::vector{made[1], made[0] + 0};
      },
      [](std::int64_t n) {
        return std::vector{grid(n), grid(n) * 0.25};
      });
  expect_as_eager(
      "swapped",
      [](std::vector<Tensor> a) {
        call(swap(), {&a[0], &a[1]});
        Tensor x = a[0] + 1, y = a[1] + 2;
        call(swap(), {&x, &y});
        return std::vector{x, y};
      },
      [](std::int64_t n) {
        return std::vector{grid(n), grid(n) * -1};
      });
  expect_as_eager(
      "listed",
      [](std::vector<Tensor> a) {
        std::vector<Tensor> list{a[0], a[1].select(0, 1), a[0] * 2};
        Tensor n = call(count_up(), {TensorArrayRef(list), &a[1]})[0];
        return std::vector{n, list[2] + a[0]};
      },
      [](std::int64_t n) {
        return std::vector{grid(n), grid(n)};
      });
}

TEST(Writers, WriteThroughViews) {
  expect_as_eager(
      "views",
      [](std::vector<Tensor> a) {
        Tensor x = a[0], row = a[1];
        Tensor part = x.slice(0, 1, -1), turned = x.t(), kept = x.select(1, 0);
        call(append(), {&part, &row, Int(1)});
        call(scale(), {&turned});
        Tensor y = x * 2, of_part = y.slice(0, 2).select(1, 1), flat = y.view({-1}), windows = y.slice(1, 1).t();
        call(scale(), {&of_part, Scalar(-1)});
        call(scale(), {&flat});
        call(bump(), {&windows, &windows});
        return std::vector{kept + 0, y, windows};
      },
      [](std::int64_t n) {
        return std::vector{grid(n), full({3}, 7.0, {.dtype = kFloat32})};
      });
  // An argument that is a view of more, and one of another order.
  expect_as_eager(
      "of_more",
      [](std::vector<Tensor> a) {
        call(scale(), {&a[0]});
        call(append(), {&a[1], &a[2], Int(0)});
        return std::vector{a[0] + 1};
      },
      [](std::int64_t n) {
        return std::vector{grid(n, 6).slice(1, 1, 5), grid(n).t(), full({n}, 3.0, {.dtype = kFloat32})};
      });
}

// As a model with a cache would use them.
TEST(Writers, CopyNothingWhereEagerCopiesNothing) {
  auto of_argument = [](std::vector<Tensor> a) {
    Tensor row = a[1] * 2;
    call(append(), {&a[0], &row, Int(1)});
    return std::vector{a[0].sum(0)};
  };
  auto two = [](std::int64_t n) { return std::vector{grid(n), full({3}, 7.0, {.dtype = kFloat32})}; };
  expect_as_eager("cache", of_argument, two, 0);
  expect_as_eager(
      "part_of_a_cache",
      [](std::vector<Tensor> a) {
        Tensor part = a[0].slice(0, 1), row = a[0].select(0, 0);
        call(append(), {&a[0], &a[1], Int(2)});
        call(scale(), {&part, Scalar(3)});
        call(scale(), {&row, Scalar(5)});
        return std::vector{a[0] + 1};
      },
      two, 0);
  // If append fails, what was written before must be put back: the parts are kept (Note [Kept parts] in
  // kernels/plan/undo.h), here all of it.
  expect_as_eager(
      "part_of_a_cache_kept",
      [](std::vector<Tensor> a) {
        Tensor part = a[0].slice(0, 1), row = a[0].select(0, 0);
        call(scale(), {&part, Scalar(3)});
        call(scale(), {&row, Scalar(5)});
        call(append(), {&a[0], &a[1], Int(2)});
        return std::vector{a[0] + 1};
      },
      two, 12);
  expect_as_eager(
      "made_here",
      [](std::vector<Tensor> a) {
        Tensor y = a[0] + 1, z = y.slice(0, 1);
        call(scale(), {&y, Scalar(3)});
        call(scale(), {&z, Scalar(-1)});
        call(bump(), {&y, &a[0]});
        return std::vector{y};
      },
      two, 0);
  // The old value is read later: a copy must be made, by eager with clone().
  expect_as_eager(
      "kept",
      [](std::vector<Tensor> a) {
        Tensor old = a[0].clone();
        call(scale(), {&a[0], Scalar(3)});
        return std::vector{old + a[0]};
      },
      two);
}

// Note [Written views] in graph/writers.h.
TEST(Writers, PartsAreWrittenWhereTheyStand) {
  auto cache = [](std::int64_t n) {
    return std::vector{arange(0, n * 24, 1, {.dtype = kFloat32}).view({n, 6, 4}), full({4}, 7.0, {.dtype = kFloat32})};
  };
  expect_as_eager(
      "view_of_a_view",
      [](std::vector<Tensor> a) {
        Tensor part = a[0].select(0, 1).slice(0, 2, 5).t(), diagonal = a[0].select(0, 2).diagonal(1);
        call(scale(), {&part, Scalar(3)});
        call(scale(), {&diagonal, Scalar(-1)});
        return std::vector{a[0].sum(-1)};
      },
      cache, 0);
  expect_as_eager(
      "layer_of_a_cache",
      [](std::vector<Tensor> a) {
        Tensor layer = a[0].select(0, -1), row = a[1] * 2;
        call(append(), {&layer, &row, Int(3)});
        Tensor y = layer.slice(0, 0, 4).sum(0);
        a[0].select(0, 0).add_(y);
        return std::vector{y};
      },
      cache, 0);
  expect_as_eager(
      "part_of_an_intermediate",
      [](std::vector<Tensor> a) {
        Tensor y = a[0] + 1, z = a[0] * 2, part = y.slice(1, 1, 4), column = z.view({-1, 4}).select(1, 3),
               window = z.as_strided({2, 3}, {5, 1}, 4);
        call(scale(), {&part, Scalar(3)});
        call(scale(), {&column, Scalar(0.5)});
        call(scale(), {&window});
        return std::vector{y, z};
      },
      cache, 0);
  expect_as_eager(
      "window_of_an_argument",
      [](std::vector<Tensor> a) {
        Tensor window = a[0].as_strided({3, 2}, {7, 2}, 5), flat = a[0].view({-1}).slice(0, 3, 9);
        call(scale(), {&window, Scalar(3)});
        call(scale(), {&flat, Scalar(5)});
        return std::vector<Tensor>{};
      },
      cache, 0);
  expect_as_eager(
      "two_blocks",
      [](std::vector<Tensor> a) {
        Tensor left = a[0].slice(2, 0, 2), right = a[0].slice(2, 2, 4), y = a[0] * 2;
        call(swap(), {&left, &right});
        Tensor first = y.select(0, 0), last = y.select(0, -1);
        call(swap(), {&last, &first});
        call(bump(), {&first, &last});
        return std::vector{y};
      },
      cache, 0);
  expect_as_eager(
      "residual",
      [](std::vector<Tensor> a) {
        Tensor h = a[0] * 0.5, part = a[0].slice(1, 0, 3);
        a[0].add_(h);
        call(scale(), {&part, Scalar(0.25)});
        Tensor y = a[0] * rsqrt((a[0] * a[0]).mean(-1, true) + 1e-5) * a[1];
        call(scale(), {&part});
        return std::vector{y};
      },
      cache, 0);
  // What is read lies under what is written: a copy of it, as eager makes one.
  expect_as_eager(
      "shifted",
      [](std::vector<Tensor> a) {
        Tensor low = a[0].slice(1, 0, 5), high = a[0].slice(1, 1, 6), y = a[0] * 2, part = y.select(1, 2);
        call(bump(), {&low, &high});
        call(bump(), {&part, &part});
        return std::vector{y};
      },
      cache, 0);
  // Strided arguments: a column of a transposed one, a part of a part.
  expect_as_eager(
      "strided",
      [](std::vector<Tensor> a) {
        Tensor x = a[0].select(1, 1), y = a[1].slice(0, 1).select(1, 0), z = a[1].view({2, -1, 3}).select(0, 1);
        call(scale(), {&x, Scalar(3)});
        call(scale(), {&y, Scalar(5)});
        call(scale(), {&z, Scalar(7)});
        return std::vector<Tensor>{};
      },
      [](std::int64_t n) {
        return std::vector{grid(n, 4).t(), grid(2 * n, 6).slice(1, 1, 4)};
      },
      0);
}

TEST(Writers, WhatIsKeptIsReadBeforeTheWrite) {
  expect_as_eager(
      "clone_read_later",
      [](std::vector<Tensor> a) {
        Tensor old = a[0].clone(), part = a[0].slice(0, 1), of_old = old.slice(0, 1);
        call(scale(), {&a[0], Scalar(3)});
        call(bump(), {&a[0], &old});
        call(bump(), {&part, &of_old});
        return std::vector{old};
      },
      [](std::int64_t n) { return std::vector{grid(n)}; });
  expect_as_eager(
      "part_then_whole",
      [](std::vector<Tensor> a) {
        Tensor x = a[0] + 1, row = x.select(0, 1), old = row + 0, rest = x.slice(0, 2);
        call(scale(), {&row, Scalar(3)});
        call(scale(), {&x, Scalar(2)});
        call(bump(), {&row, &old});
        call(scale(), {&rest, Scalar(0.5)});
        x.select(0, 0).add_(row);
        return std::vector{x, old};
      },
      [](std::int64_t n) { return std::vector{grid(n)}; });
}

TEST(Writers, ACapturedBufferIsWrittenInPart) {
  Tensor cache = zeros({5, 6, 3}, {.dtype = kFloat32}), want = cache.clone();
  auto program = [](Tensor to, Tensor row, Int layer, Int at) {
    Tensor part = to.select(0, layer);
    call(append(), {&part, &row, at});
    return part.sum(0);
  };
  auto f =
      compile([&](Tensor row, Int layer, Int at) { return program(cache, row, layer, at); }, {.name = "captured_part"});
  for (int at : {0, 2, 3, 2}) {
    Tensor row = full({3}, at + 1.0, {.dtype = kFloat32});
    EXPECT_TRUE(equal(f(row, at % 2 + 1, at), program(want, row, at % 2 + 1, at)));
    EXPECT_TRUE(equal(cache, want));
  }
  EXPECT_THROW(f(want.select(0, 0).select(0, 0), 1, 6), Error);
  EXPECT_TRUE(equal(cache, want));
  EXPECT_EQ(f.stats().copied_bytes, 0) << f.explain();
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Writers, TwoWrittenTensorsOfOneStorage) {
  expect_as_eager(
      "rows",
      [](std::vector<Tensor> a) {
        Int n = a[0].size(0);
        Tensor x = a[0].slice(0, 0, n / 2), y = a[0].slice(0, n - n / 2), z = a[0] * 3;
        call(swap(), {&x, &y});
        Tensor first = z.select(1, 0), last = z.select(1, 2);
        call(swap(), {&last, &first});
        Tensor two = z.slice(1, 0, 2), one = z.slice(1, 2, 3);
        std::vector<Tensor> list{two, one};
        call(count_up(), {TensorArrayRef(list), &x});
        return std::vector{z};
      },
      [](std::int64_t n) { return std::vector{grid(n)}; });
  // The same elements: refused, eagerly and compiled, and nothing is changed.
  const Program refused[] = {
      [](std::vector<Tensor> a) {
        return call(swap(), {&a[0], &a[0]});
      },
      [](std::vector<Tensor> a) {
        Tensor x = a[0].slice(0, 0, 3), y = a[0].slice(0, 2, 5);
        return call(swap(), {&x, &y});
      },
      [](std::vector<Tensor> a) {
        Tensor b = a[0] * 2, t = b.slice(1, 0, 3).slice(0, 0, 3).t();
        Tensor s = b.slice(0, 0, 3);
        return call(swap(), {&s, &t});
      },
      [](std::vector<Tensor> a) {
        Tensor e = a[0].slice(0, 0, 1).expand({4, 3});
        return call(scale(), {&e});
      },
      [](std::vector<Tensor> a) {
        return call(swap(), {&a[0], &a[1]});
      },
  };
  for (std::size_t i = 0; i < std::size(refused); ++i)
    for (bool compiled : {false, true}) {
      Tensor x = grid(6), before = x.clone();
      auto f = compile(refused[i], {.name = "refused"});
      try {
        compiled ? f(std::vector{x, x}) : refused[i]({x, x});
        ADD_FAILURE() << i << " " << compiled;
      } catch (const Error& e) {
        EXPECT_EQ(e.code(), ErrorCode::AliasConflict) << i << " " << compiled << ": " << e.what();
        EXPECT_EQ(std::string(e.what()).find("test::"), 0u) << e.what();
      }
      EXPECT_TRUE(equal(x, before)) << i << " " << compiled;
    }
}

TEST(Writers, WhatIsReadIsAsItWasBeforeTheCall) {
  // The written tensor itself, a view of it, another argument on its memory.
  expect_as_eager(
      "itself",
      [](std::vector<Tensor> a) {
        std::vector<Tensor> one = call(bump(), {&a[0], &a[0]});
        Tensor y = a[0].slice(0, 0, 3) + 1, first = y.select(0, 0), last = y.select(0, 2);
        Tensor row = first;
        call(append(), {&y, &row, Int(2)});
        Tensor low = a[0].slice(0, 0, 3), high = a[0].slice(0, 1, 4);
        call(bump(), {&low, &high});
        return std::vector{one[1], last + 0, y};
      },
      [](std::int64_t n) { return std::vector{grid(n)}; });
  Tensor x = grid(5), low = x.slice(0, 0, 4), high = x.slice(0, 1, 5), was = x.clone();
  call(bump(), {&low, &high});
  EXPECT_TRUE(equal(low, was.slice(0, 0, 4) + was.slice(0, 1, 5)));
  auto f = compile([](Tensor a, Tensor b) { call(bump(), {&a, &b}); });
  Tensor y = was.clone();
  f(y.slice(0, 0, 4), y.slice(0, 1, 5));
  EXPECT_TRUE(equal(y, x));
}

TEST(Writers, AFaultLeavesEverythingAsItWas) {
  auto program = [](Tensor cache, Tensor other, Tensor row, Int at) {
    other.add_(1);
    Tensor part = cache.slice(1, 1);
    call(append(), {&part, &row, at});
    cache.mul_(2);
    return cache.sum(0);
  };
  auto f = compile(program, {.name = "faults"});
  Tensor cache = grid(5, 4), other = ones({3}), row = full({3}, 9.0, {.dtype = kFloat32});
  Tensor a = cache.clone(), b = other.clone();
  EXPECT_TRUE(equal(f(cache, other, row, 4), program(a, b, row, 4)));
  EXPECT_TRUE(equal(cache, a) && equal(other, b));
  for (int i = 0; i < 2; ++i) {
    try {
      f(cache, other, row, 5);
      ADD_FAILURE();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange) << e.what();
      EXPECT_NE(std::string(e.what()).find("test::append: row 5 of 5"), std::string::npos) << e.what();
    }
    EXPECT_TRUE(equal(cache, a) && equal(other, b));
  }
  Tensor part = cache.slice(1, 1);
  EXPECT_THROW(call(append(), {&part, &row, Int(-1)}), Error);
  EXPECT_TRUE(equal(cache, a));
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

// A decoder's cache, [n layers, 6, 4], appended to layer by layer and read: 4 of 5 layers' rows must be put back if a
// later append fails.
TEST(Writers, PartsAreKeptForALaterFault) {
  const Program program = [](std::vector<Tensor> a) {
    Tensor x = a[1];
    for (int layer = 0; layer < 4; ++layer) {
      Tensor rows = a[0].select(0, layer).slice(0, 2, 4);
      call(append(), {&rows, &x, Int(1)});
      x = x + a[0].select(0, layer).slice(0, 0, 4).sum(0) * 0.25;
    }
    return std::vector{x};
  };
  expect_as_eager("kept", program, [](std::int64_t n) {
    return std::vector{arange(0, n * 24, 1, {.dtype = kFloat32}).view({n, 6, 4}), full({4}, 7.0, {.dtype = kFloat32})};
  });
  auto f = compile(program, {.name = "kept"});
  for (std::int64_t n : {4, 40, 400}) {  // 3 parts of [2, 4], whatever the cache
    const std::int64_t before = f.stats().copied_bytes;
    f(std::vector{zeros({n, 6, 4}, {.dtype = kFloat32}), ones({4}, {.dtype = kFloat32})});
    EXPECT_EQ(f.stats().copied_bytes - before, 3 * 2 * 4 * 4) << f.explain();
  }
}

// Writes before the one that fails, and after it, in the same memory.
TEST(Writers, AFaultLeavesWhatElseIsWrittenThere) {
  for (const char* form : {"views", "values"}) {
    Scoped scoped(knobs().writers, form);
    auto program = [](Tensor cache, Tensor row, Int at, Int then) {
      cache.select(0, 0).add_(1);
      call(append(), {&cache, &row, at});
      Tensor part = cache.slice(0, 2);
      call(scale(), {&part, Scalar(3)});
      call(append(), {&part, &row, then});
      cache.select(0, 1).mul_(2);
      return cache.sum(0);
    };
    auto f = compile(program, {.name = "faults_between"});
    Tensor cache = grid(6), row = full({3}, 9.0, {.dtype = kFloat32}), want = cache.clone();
    for (int at : {5, 0, 3}) {
      EXPECT_TRUE(equal(f(cache, row, at, 1), program(want, row, at, 1))) << form << "\n" << f.explain();
      EXPECT_TRUE(equal(cache, want)) << form << "\n" << f.explain();
      for (auto [one, two] : {std::pair(6, 0), {0, 4}, {-1, 5}}) {
        EXPECT_THROW(f(cache, row, one, two), Error);
        EXPECT_TRUE(equal(cache, want)) << form << " " << one << " " << two << "\n" << f.explain();
      }
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  }
}

// Registered along with it, the twin is a function like others.
TEST(Writers, TheFunctionalTwinMayBeCalled) {
  const OpId twin = graph::op(bump()).functional.value();
  auto program = [&](Tensor x, Tensor by) {
    std::vector<Tensor> made = call(twin, {&x, &by}), again = call(twin, {&x, &by});
    return std::tuple(made[0] + again[0], made[1], x * 1);
  };
  auto f = compile(program);
  for (int n : {2, 5}) {
    Tensor x = grid(n), by = grid(n) + 1, was = x.clone();
    auto [sum, twice, same] = f(x, by);
    auto [esum, etwice, esame] = program(x, by);
    EXPECT_TRUE(equal(x, was) && equal(same, was) && equal(esame, was));
    EXPECT_TRUE(equal(sum, (was + by) * 2) && equal(sum, esum));
    EXPECT_TRUE(equal(twice, by * 2) && equal(twice, etwice));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Writers, ErrorsNameTheOperatorAndChangeNothing) {
  Tensor x = grid(4), wrong = grid(3), none, was = x.clone();
  const std::function<void(Tensor)> programs[] = {
      [&](Tensor t) {
        call(bump(), {&t, &wrong});
      },  // sizes
      [&](Tensor t) {
        call(bump(), {&t, &none});
      },  // undefined
      [&](Tensor t) {
        std::vector<Tensor> list{t, none};
        call(count_up(), {TensorArrayRef(list), &t});
      },
  };
  for (const auto& program : programs)
    for (bool compiled : {false, true}) {
      try {
        compiled ? compile(program)(x) : program(x);
        ADD_FAILURE();
      } catch (const Error& e) {
        EXPECT_TRUE(e.code() == ErrorCode::ShapeMismatch || e.code() == ErrorCode::InvalidArgument) << e.what();
        EXPECT_EQ(std::string(e.what()).find("test::"), 0u) << e.what();
        EXPECT_EQ(std::string(e.what()).find("functional"), std::string::npos) << e.what();
      }
      EXPECT_TRUE(equal(x, was));
    }
}

int g_said = 0;
std::vector<float> g_seen;
TEST(Writers, AnOperatorOfNoResultsHappensInOrder) {
  static const OpId say = writer("test::say(Tensor x) -> ()",
                                 [](const NativeArgs& a) {
                                   ++g_said;
                                   g_seen.push_back(values_of(a.tensor(0))[0]);
                                 },
                                 {.lane = 4});
  auto program = [](Tensor x) {
    call(say, {&x});
    x.add_(1);
    Tensor part = x.select(0, 1);
    call(say, {&part});
    call(scale(), {&x, Scalar(10)});
    call(say, {&x});
    call(say, {&x});
  };
  auto f = compile(program);
  for (int i = 0; i < 3; ++i) {
    Tensor x = ones({4, 2}), y = ones({4, 2});
    g_seen.clear();
    program(x);
    const std::vector<float> want = std::exchange(g_seen, {});
    ASSERT_EQ(want, (std::vector<float>{1, 2, 20, 20}));
    f(y);
    EXPECT_EQ(g_seen, want);
    EXPECT_TRUE(equal(x, y));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Writers, CapturedTensorsAreWritten) {
  Tensor cache = zeros({4, 3}, {.dtype = kFloat32});
  auto f = compile([&](Tensor row, Int at) {
    call(append(), {&cache, &row, at});
    Tensor none = zeros({4, 3}, {.dtype = kFloat32});
    call(bump(), {&cache, &none})[0].mul_(1);  // what it returns is another handle on the captured tensor
    return cache.sum();
  });
  for (int at : {0, 2, 3, 2}) {
    Tensor want = cache.clone();
    want.select(0, at).copy_(full({3}, at + 1.0));
    const std::uint64_t version = cache.version();
    EXPECT_TRUE(equal(f(full({3}, at + 1.0, {.dtype = kFloat32}), at), want.sum()));
    EXPECT_GT(cache.version(), version);
    EXPECT_TRUE(equal(cache, want));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(f.stats().compilations, 1);
}

}  // namespace
}  // namespace reprise
