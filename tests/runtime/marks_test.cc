// mark_dynamic and mark_static: what is declared of an argument is held to.
#include <gtest/gtest.h>

#include <string>

#include "reprise/reprise.h"
#include "tests/runtime/scene.h"

namespace reprise::test {
namespace {

double total(const Tensor& t) { return t.sum().item<double>(); }

void expect_fails(const std::optional<Error>& e, std::initializer_list<const char*> named) {
  ASSERT_TRUE(e.has_value());
  EXPECT_EQ(e->code(), ErrorCode::InvalidArgument) << e->what();
  for (const char* part : named)
    EXPECT_NE(std::string(e->what()).find(part), std::string::npos) << part << " in: " << e->what();
}

TEST(Marks, DeclaredRangesAreCheckedNotAssumed) {
  auto f = compile([](Tensor x) { return x.size(0) >= 2 ? x * 2 : x * 3; }, {.name = "marked"});
  Tensor x = ones({8});
  mark_dynamic(x, 0, {.min = 2, .max = 64, .multiple_of = 4, .outside = Outside::Recompiles});
  EXPECT_EQ(total(f(x)), 16);
  EXPECT_EQ(total(f(ones({6}))), 12);  // outside the marks: right, by another specialization
  EXPECT_EQ(total(f(ones({1}))), 3);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  Tensor y = ones({5});
  mark_static(y, 0);
  auto g = compile([](Tensor t) { return t + 1; }, {.name = "static"});
  g(y);
  g(ones({5}));
  EXPECT_EQ(g.stats().compilations, 1);
  g(ones({6}));
  EXPECT_EQ(g.stats().compilations, 2);
}

struct Pair {
  Tensor a, b;
};

TEST(Marks, ACallOutsideOfWhatWasDeclaredFails) {
  auto f = compile(
      [](Pair p, Tensor) {
        p.a += 1;
        return p.a * p.b;
      },
      {.name = "product", .arguments = {"pair", "unused"}});
  auto tensor = [](std::int64_t n) { return ones({n, 3}); };
  Pair marked{tensor(8), tensor(1)};
  mark_dynamic(marked.a, 0, {.min = 2, .max = 64, .multiple_of = 4});
  EXPECT_EQ(total(f(marked, ones({1}))), 48);
  for (int turn = 0; turn < 3; ++turn)
    for (std::int64_t n : {1, 6, 68, 0}) {
      const Pair other{tensor(n), tensor(1)};
      expect_fails(caught([&] { f(other, ones({1})); }),
                   {"product", "pair.a", std::to_string(n).c_str(), "2 to 64", "multiple of 4"});
      EXPECT_EQ(total(other.a), 3.0 * static_cast<double>(n)) << "as before the call";
      // Of another layout it is declared the same.
      expect_fails(caught([&] { f(Pair{ones({3, n}).t(), tensor(1)}, ones({1})); }), {"pair.a", "2 to 64"});
    }
  EXPECT_EQ(total(f(Pair{tensor(64), tensor(1)}, ones({1}))), 384);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  // Who declares something else of his own goes by that.
  Pair own{tensor(100), tensor(1)};
  mark_dynamic(own.a, 0, {.min = 65, .max = 1000});
  EXPECT_EQ(total(f(own, ones({1}))), 600);
  EXPECT_EQ(total(f(Pair{tensor(500), tensor(1)}, ones({1}))), 3000);
  EXPECT_EQ(total(f(Pair{tensor(32), tensor(1)}, ones({1}))), 192);
  EXPECT_EQ(f.stats().compilations, 2);
  expect_fails(caught([&] { f(Pair{tensor(2000), tensor(1)}, ones({1})); }), {"65 to 1000"});
  f.reset();
  EXPECT_EQ(total(f(Pair{tensor(2000), tensor(1)}, ones({1}))), 12000);
}

TEST(Marks, ATraceThatMakesAConstantOfAMarkedDimensionFails) {
  const std::uint32_t line = __LINE__;
  auto pins = [](Tensor x) {
    const std::int64_t n = x.size(1).value();
    return x * static_cast<double>(n);
  };
  auto compares = [](Tensor x) { return x.size(1) == 4 ? x * 2 : x; };
  auto narrows = [](Tensor x) { return x.size(1) > 3 && x.size(1) < 5 ? x * 2 : x; };
  auto meets = [](Tensor x) { return x + ones({4}); };
  auto check = [&](auto body, std::uint32_t at) {
    auto f = compile(body, {.arguments = {"x"}});
    Tensor x = ones({2, 4}), free = ones({2, 4});
    mark_dynamic(x, 1);
    for (int turn = 0; turn < 3; ++turn) {
      const std::optional<Error> e = caught([&] { f(x); });
      expect_fails(e, {"mark_dynamic", "x .size(1)", "4"});
      if (e) {
        EXPECT_EQ(e->where().line, at) << e->what();
      }
      EXPECT_EQ(total(x), 8);
    }
    EXPECT_EQ(f.stats().eager_fallbacks, 0);
    EXPECT_TRUE(equal(f(free), body(free)));  // nothing is declared of it
    Tensor one = ones({2, 4});
    mark_dynamic(one, 1, {.min = 4, .max = 4});  // a constant, and declared to be
    EXPECT_TRUE(equal(f(one), body(one)));
  };
  check(pins, line + 2);
  check(compares, line + 5);
  check(narrows, line + 6);
  check(meets, line + 7);
  // A side of a branch leaves many sizes.
  auto f = compile([](Tensor x) { return x.size(0) > 3 && x.size(0) != 9 ? x * 2 : x; });
  Tensor x = ones({7, 2});
  mark_dynamic(x, 0, {.min = 1});
  EXPECT_EQ(total(f(x)), 28);
  EXPECT_EQ(total(f(ones({2, 2}))), 4);
}

TEST(Marks, ContradictionsAreErrors) {
  Tensor x = ones({6, 2});
  mark_dynamic(x, 0, {.min = 2, .max = 64, .multiple_of = 2});
  expect_fails(caught([&] { mark_static(x, 0); }), {"mark_static", "dimension 0", "dynamic"});
  mark_static(x, 1);
  mark_static(x, 1);
  expect_fails(caught([&] { mark_dynamic(x, 1); }), {"mark_dynamic", "dimension 1", "static"});
  expect_fails(caught([&] { mark_dynamic(x, 0, {.min = 8}); }), {"size 6", "8"});
  expect_fails(caught([&] { mark_dynamic(x, 0, {.min = 9, .max = 3}); }), {"no size", "9 to 3"});
  expect_fails(caught([&] { mark_dynamic(x, 0, {.min = 5, .max = 6, .multiple_of = 7}); }),
               {"no size", "multiple of 7"});
  EXPECT_EQ(caught([&] { mark_dynamic(x, 2); })->code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(caught([&] { mark_static(x, -3); })->code(), ErrorCode::IndexOutOfRange);
  // What was said before is as it was. Both of two marks hold.
  mark_dynamic(x, 0, {.min = 3, .max = 100, .multiple_of = 3});
  auto f = compile([](Tensor t) { return t * 2; });
  EXPECT_EQ(total(f(x)), 24);
  EXPECT_EQ(total(f(ones({60, 2}))), 240);
  for (std::int64_t n : {2, 9, 66, 72}) expect_fails(caught([&] { f(ones({n, 2})); }), {"3 to 64", "multiple of 6"});
  EXPECT_EQ(total(f(ones({60, 5}))), 600) << "a static dimension is a compilation for each size";
  EXPECT_EQ(f.stats().compilations, 2);
  // A tensor that is no longer as it was marked.
  Tensor y = ones({8});
  mark_dynamic(y, 0, {.min = 4});
  y.resize_({2});
  auto g = compile([](Tensor t) { return t * 2; });
  for (int turn = 0; turn < 2; ++turn) expect_fails(caught([&] { g(y); }), {"is 2", "4 or more"});
  EXPECT_EQ(g.stats().eager_fallbacks, 0);
}

}  // namespace
}  // namespace reprise::test
