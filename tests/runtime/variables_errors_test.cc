// Variables after calls that fail or are checked: they hold what they held before.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "reprise/reprise.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(AssignedVariable, IsAsBeforeAfterAnError) {
  Tensor h = ones({2}), table = ones({4, 2});
  auto f = compile([&](Tensor i) {
    h = h * 2.0;
    Tensor found = embedding(table, i);
    h = h + found.sum(0);
    return found;
  });
  for (int i : {0, 9, 1, 9, 3}) {
    const Tensor before = h, values = h.clone();
    const Tensor index = full({1}, i, {.dtype = kInt64});
    if (i < 4) {
      f(index);
      EXPECT_TRUE(equal(h, values * 2.0 + 1.0));
    } else {
      EXPECT_EQ(error_of([&] { f(index); }).code(), ErrorCode::IndexOutOfRange);
      EXPECT_TRUE(h.is_same(before) && equal(h, values));
    }
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// Whatever fails, and however the call is served: no variable is another one.
TEST(AssignedVariable, IsAsBeforeAfterAnyError) {
  struct Vars {
    Tensor member, empty;
    std::vector<Tensor> list;
    std::map<std::string, Tensor> named;
  };
  Vars s{ones({2}), {}, {ones({2}), zeros({3})}, {{"w", ones({2})}}};
  Tensor local = ones({2}), gone;
  auto assign = [&](Tensor x) {
    s.member = x, s.empty = x + 0, s.named["w"] = s.member;
    std::swap(s.list[0], s.list[1]);
    s.list[1] = x;
    gone = std::move(local);
    local = x;
    for (int i = 0; i < 2; ++i) local = local + 0, local = local * 2;
  };
  using Body = std::function<Tensor(Tensor)>;
  const std::pair<const char*, Body> bodies[] = {
      {"view", [](Tensor x) { return x.view({-1}); }},
      {"add_, view",
       [](Tensor x) {
         x.add_(1);
         return x.view({-1});
       }},
      {"zeros, view",
       [](Tensor x) {
         Tensor z = zeros(x.sizes());
         return x.view({-1}) + z;
       }},
      {"scatter_reduce, view",
       [](Tensor x) {
         Tensor z = x.scatter_reduce(1, zeros(x.sizes(), {.dtype = kInt64}), x, "sum");
         return x.view({-1}) + z;
       }},
      {"index_select, linear",
       [](Tensor x) {
         Tensor z = x.index_select(0, arange(2));
         return linear(z, ones({3, 3}));
       }},
      {"index_select", [](Tensor x) { return x.index_select(0, arange(2) + 7); }},
      {"written, index_select",
       [](Tensor x) {
         x.mul_(2);
         return x.index_select(0, arange(2) + 7);
       }},
      {"linear",
       [](Tensor x) {
         return linear(x, ones({3, 3}));
       }},
      {"masked_fill_ of expanded",
       [](Tensor x) {
         Tensor e = x.unsqueeze(0).expand({2, -1, -1});
         e.masked_fill_(e.remainder(3) == 1, 2);
         return x + 0;
       }},
      {"caught, then linear",
       [](Tensor x) {
         try {
           x.index_select(0, arange(2) + 7);
         } catch (const Error&) {
         }
         return linear(x, ones({3, 3}));
       }},
      {"its own error",
       [](Tensor x) -> Tensor {
         Tensor z = x.index_select(0, arange(2));
         throw std::runtime_error("no");
       }},
      {"linear, on a tensor that was reshaped",
       [](Tensor x) {
         x.transpose_(0, 1);
         x.index_select(0, arange(2));
         return linear(x, ones({3, 3}));
       }},
  };
  for (const auto& [name, body] : bodies) {
    auto f = compile(
        [&, &body = body](Tensor x) {
          assign(x);
          return body(x);
        },
        {.name = name});
    const Tensor x = arange(14, {.dtype = kFloat32}).view({2, 7}).clone().slice(1, 1, 5);
    const std::vector<Tensor> before{s.member, s.list[0], s.list[1], s.named["w"], local};
    const std::string text = x.str();
    for (int call = 0; call < 4; ++call) {
      EXPECT_THROW(f(x), std::exception) << name;
      const std::vector<const Tensor*> now{&s.member, &s.list[0], &s.list[1], &s.named["w"], &local};
      for (std::size_t i = 0; i < now.size(); ++i)
        EXPECT_TRUE(now[i]->defined() && now[i]->is_same(before[i])) << name << ", call " << call << ", variable " << i;
      EXPECT_FALSE(s.empty.defined() || gone.defined()) << name << ", call " << call;
      EXPECT_EQ(x.str(), text) << name << ", call " << call;
    }
  }
}

TEST(AssignedVariable, IsChecked) {
  Tensor h = ones({2});
  double rate = 0.5;
  auto f = compile(
      [&](Tensor x) {
        h = h * rate + x;
        return x * 2.0;
      },
      {.check = 1});
  for (int i = 0; i < 4; ++i) f(ones({2}));
  EXPECT_EQ(at(h, 0), 1.9375f);
  EXPECT_GT(f.stats().checks, 0);
  rate = 0.25;
  const Tensor before = h;
  EXPECT_EQ(error_of([&] { f(ones({2})); }).code(), ErrorCode::CheckFailed);
  EXPECT_TRUE(h.is_same(before));
}

TEST(ChangedVariable, IsPutBackBeforeTheFunctionRunsAgain) {
  Tensor a = full({1}, 1.0), b = full({1}, 2.0), made;
  auto f = compile([&](Tensor x) {
    std::swap(a, b);
    if (!made.defined()) made = x * 3.0;
    return made * a.item<float>();  // ends the capture
  });
  EXPECT_EQ(at(f(ones({1})), 0), 6);
  EXPECT_EQ(at(a, 0), 2);
  EXPECT_EQ(at(f(ones({1})), 0), 3);
  EXPECT_EQ(at(f(zeros({1})), 0), 6);
  auto g = compile([&](Tensor x) {
    a = x * 2.0;
    return x.view({3, 3});
  });
  EXPECT_EQ(error_of([&] { g(ones({2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(at(a, 0), 2) << "as before the call";
}

TEST(ChangedVariable, IsPutBackWhenTheReplayThrows) {
  Tensor last = ones({1}), table = ones({4, 2});
  auto f = compile([&](Tensor i) {
    last = embedding(table, i);
    return last * 2.0;
  });
  Tensor before = last;
  EXPECT_EQ(error_of([&] { f(full({1}, 9, {.dtype = kInt64})); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_TRUE(last.is_same(before));
  EXPECT_EQ(at(f(zeros({1}, {.dtype = kInt64})), 0), 2);
  EXPECT_EQ(last.dim(), 2);
}

}  // namespace
}  // namespace reprise::test
