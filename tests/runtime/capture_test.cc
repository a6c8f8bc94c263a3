// What a function does besides operators: it reads values, assigns variables that outlive the call, makes tensors of
// host memory, catches errors. Whatever a replay would not do again is served eagerly, and every call means what
// calling the function means.
#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "reprise/reprise.h"
#include "tests/support/element.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(Captured, ReadingItsValueIsNoConstant) {
  Tensor w = full({1}, 2.0);
  auto by_item = compile([w](Tensor x) { return x * w.item().to_double(); });
  auto by_branch = compile([w](Tensor x) { return (w > 2.5) ? x * 10.0 : x; });
  auto by_pointer = compile([w](Tensor x) { return x * static_cast<double>(*w.data<float>()); });
  auto by_vector = compile([w](Tensor x) { return x * static_cast<double>(w.to_vector<float>()[0]); });
  Tensor x = ones({3});
  for (double v : {2.0, 3.0, 5.0}) {
    w.fill_(v);
    EXPECT_EQ(at(by_item(x), 0), v);
    EXPECT_EQ(at(by_branch(x), 0), v > 2.5 ? 10 : 1);
    EXPECT_EQ(at(by_pointer(x), 0), v);
    EXPECT_EQ(at(by_vector(x), 0), v);
  }
  EXPECT_EQ(by_item.stats().eager_fallbacks, 3);
}

TEST(Captured, PrintingItReadsIt) {
  Tensor w = full({1}, 2.0);
  std::string shown;
  auto f = compile([&](Tensor x) {
    shown = w.str();
    return x + w;
  });
  for (double v : {2.0, 3.0}) {
    w.fill_(v);
    f(ones({1}));
    EXPECT_EQ(shown, w.str());
  }
}

TEST(Captured, ReadingWhatTheFunctionHasWritten) {
  Tensor count = zeros({1});
  auto f = compile([count](Tensor x) {
    count.add_(1.0);
    return x * count.item().to_double();
  });
  for (int i = 1; i < 4; ++i) EXPECT_EQ(at(f(ones({2})), 1), static_cast<float>(i));
}

TEST(Captured, ItsSizesAreThoseOfTheCall) {
  Tensor w = ones({4});
  auto f = compile([w](Tensor x) { return x * w.size(0) + w.numel() + w.dim(); });
  EXPECT_EQ(at(f(ones({2})), 0), 9);
  w.resize_({2});
  EXPECT_EQ(at(f(ones({2})), 0), 5);
  EXPECT_EQ(f.stats().compilations, 1);
  w.unsqueeze_(0);
  EXPECT_EQ(at(f(ones({2})), 0), 1 + 2 + 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Captured, AReferenceThatIsAnotherTensorNow) {
  Tensor w = ones({2});
  std::vector<Tensor> all{ones({2}), ones({2})};
  auto f = compile([&](Tensor x) { return x * w + all[1]; });
  EXPECT_EQ(at(f(ones({2})), 0), 2);
  w = full({2}, 7.0);
  EXPECT_EQ(at(f(ones({2})), 0), 8);
  all[1] = full({2}, 100.0);
  EXPECT_EQ(at(f(ones({2})), 0), 107);
}

TEST(Assigned, ToACapturedVariable) {
  Tensor h = zeros({2}), twin = zeros({2});
  auto step = [&](Tensor x, Tensor& state) {
    state = tanh(state + x);
    return state * 2.0;
  };
  auto f = compile([&](Tensor x) { return step(x, h); });
  for (int i = 0; i < 4; ++i) {
    Tensor x = full({2}, 0.1 * i), got = f(x), want = step(x, twin);
    EXPECT_TRUE(equal(got, want)) << i;
    EXPECT_TRUE(equal(h, twin)) << i;
  }
}

TEST(Assigned, ToAMemberOnceAndMixedWithWrites) {
  struct Model {
    Tensor cached;
    Tensor operator()(Tensor x, Tensor log) {
      if (!cached.defined()) cached = x.sum() * 10.0;
      log.add_(1.0);
      return x + cached;
    }
  };
  auto f = compile(Model{});
  Tensor log = zeros({1});
  EXPECT_EQ(at(f(ones({3}), log), 0), 31);
  EXPECT_EQ(at(f(full({3}, 2.0), log), 0), 32);
  EXPECT_EQ(at(f(full({3}, 3.0), log), 0), 33);
  EXPECT_EQ(at(log, 0), 3);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  EXPECT_EQ(f.stats().compilations, 2);
}

TEST(Assigned, ScalesThatAreMeasuredAtTheFirstCall) {
  double scale = 0;
  auto f = compile([&](Tensor x) {
    if (scale == 0) scale = x.abs().max().item<double>();
    return x / scale;
  });
  for (int i = 0; i < 4; ++i) EXPECT_EQ(at(f(full({2}, 4.0)), 0), 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
  EXPECT_EQ(f.stats().compilations, 1);
  auto always = compile([&](Tensor x) { return x / x.max().item<double>(); });
  for (int i = 0; i < 8; ++i) always(ones({2}));
  EXPECT_EQ(always.stats().eager_fallbacks, 8);
}

struct State {
  Tensor h;
  std::vector<Tensor> history;
  int steps = 0;
};

TEST(Assigned, ToArgumentsTakenByReference) {
  auto body = [](Tensor x, State& s) {
    s.h = tanh(s.h + x);
    s.history.push_back(s.h);
    s.steps += 1;
    return s.h + s.steps;
  };
  auto f = compile(body);
  State a{zeros({2}), {}}, b{zeros({2}), {}};
  for (int i = 0; i < 4; ++i) {
    Tensor x = full({2}, 0.3 * i), got = f(x, a), want = body(x, b);
    EXPECT_TRUE(equal(got, want)) << i;
    EXPECT_TRUE(equal(a.h, b.h)) << i;
    EXPECT_EQ(a.history.size(), b.history.size());
    EXPECT_EQ(a.steps, b.steps);
  }
  auto swap = compile([](Tensor& a, Tensor& b) { std::swap(a, b); });
  Tensor p = ones({1}), q = zeros({1});
  swap(p, q);
  EXPECT_EQ(at(p, 0), 0);
  // Writing into them is no assignment.
  auto write = compile([](Tensor& a, const Tensor& b) { a.copy_(b * 2.0); });
  write(p, full({1}, 4.0));
  EXPECT_EQ(at(p, 0), 8);
  EXPECT_EQ(write.stats().eager_fallbacks, 0);
}

TEST(HostValues, MadeIntoTensorsInside) {
  auto blob = compile([](Tensor x, double v) {
    float local[3] = {static_cast<float>(v), 2, 3};
    return x + from_blob(local, {3}, kFloat32);
  });
  auto vector = compile([](Tensor x) {
    Tensor w = tensor_of(std::vector<float>{1, 2, 3});
    w.add_(x);
    return w;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(at(blob(ones({3}), i), 0), 1.0f + static_cast<float>(i));
    EXPECT_EQ(at(vector(ones({3})), 0), 2);
  }
  auto given = compile([](Tensor x) { return std::pair(tensor({1.0, 2.0}), x); });
  given(ones({1})).first.add_(5.0);
  EXPECT_EQ(at(given(ones({1})).first, 0), 1);
}

TEST(Windows, StayWithinTheStorageAtEveryCall) {
  auto f = compile([](Tensor x, Int n) { return x.as_strided({n}, {1}) * 1.0; });
  Tensor x = arange(6, {.dtype = kFloat32});
  EXPECT_EQ(at(f(x, 6), 5), 5);
  EXPECT_EQ(error_of([&] { f(x, 30); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([&] { f(ones({2}), 6); }).code(), ErrorCode::IndexOutOfRange);
  Tensor big = arange(10, {.dtype = kFloat32});
  EXPECT_EQ(at(f(big.slice(0, 3, 9), 2), 0), 3) << "an offset counts from the storage, the default is the tensor's own";
  auto from_start = compile([](Tensor x) { return x.as_strided({2}, {1}, 0) * 1.0; });
  EXPECT_EQ(at(from_start(x), 1), 1);
  EXPECT_EQ(at(from_start(big.slice(0, 3, 9)), 0), 0);
  auto fill = compile([](Tensor x) { return x.as_strided({10}, {1}).fill_(7.0); });
  EXPECT_EQ(error_of([&] { fill(ones({4})); }).code(), ErrorCode::IndexOutOfRange);
}

TEST(Storage, QuestionsAboutItAreAnsweredAtTheCall) {
  auto offset = compile([](Tensor x) { return x + x.storage_offset(); });
  Tensor big = arange(10, {.dtype = kFloat32});
  EXPECT_EQ(at(offset(big), 0), 0);
  EXPECT_EQ(at(offset(big.slice(0, 3)), 0), 6);
  auto shared = compile([](Tensor a, Tensor b) { return a.shares_storage_with(b) ? a * 10.0 : a; });
  EXPECT_EQ(at(shared(ones({2}), ones({2})), 0), 1);
  Tensor b = ones({2});
  EXPECT_EQ(at(shared(b, b), 0), 10);
}

TEST(Storage, WhetherItIsPinnedIsNoConstant) {
  auto argument = compile([](Tensor x) { return x * (x.is_pinned() ? 10.0 : 2.0); });
  EXPECT_EQ(at(argument(ones({2})), 0), 2);
  EXPECT_EQ(argument.stats().eager_fallbacks, 1);
  Tensor w = ones({2});
  auto captured = compile([&](Tensor x) { return x * (w.is_pinned() ? 10.0 : 2.0); });
  EXPECT_EQ(at(captured(ones({2})), 0), 2);
  EXPECT_EQ(captured.stats().eager_fallbacks, 1);
  if (cuda_device_count() == 0) return;
  EXPECT_EQ(at(argument(ones({2}).pin_memory()), 0), 10);
  w = w.pin_memory();
  EXPECT_EQ(at(captured(ones({2})), 0), 10);
}

TEST(Errors, CaughtByTheFunction) {
  auto reads = compile([](Tensor x) {
    double m = -1;
    try {
      m = x.max().item().to_double();
    } catch (...) {
    }
    return x * m;
  });
  EXPECT_EQ(at(reads(full({2}, 3.0)), 0), 9);
  auto views = compile([](Tensor x) {
    try {
      return x.view({3, 3}) * 2.0;
    } catch (const Error&) {
      return x * 3.0;
    }
  });
  for (int n : {9, 8, 9}) EXPECT_EQ(views(ones({n})).dim(), n == 9 ? 2 : 1) << n;
}

TEST(Arguments, OneTensorTwiceWhoseSizesChange) {
  auto f = compile([](Tensor a, Tensor b) {
    b.unsqueeze_(0);
    return a.sum(0);
  });
  Tensor p = ones({2, 3}), q = ones({2, 3});
  EXPECT_EQ(f(p, q).dim(), 1);
  Tensor both = ones({2, 3});
  EXPECT_EQ(f(both, both).dim(), 2);
  EXPECT_EQ(both.dim(), 3);
}

TEST(Arguments, OfOtherTypesAreOtherStructures) {
  auto times = compile([](auto x, auto k) { return x * k; });
  Tensor x = ones({2}, {.dtype = kInt64});
  EXPECT_EQ(times(x, true).dtype(), kInt64);
  EXPECT_EQ(times(x.to(kBool), true).dtype(), kBool);
  EXPECT_EQ(times(x.to(kBool), 1).dtype(), kInt64);
  EXPECT_EQ(at(times(ones({1}), 1.0), 0), 1);
  EXPECT_EQ(at(times(ones({1}), std::int64_t{4607182418800017408}), 0), 4607182418800017408.0f);
  struct Overloaded {
    Tensor operator()(Tensor a, Tensor b) const { return a + b; }
    std::pair<Tensor, Tensor> operator()(const std::array<Tensor, 2>& both) const { return {both[0], both[1] * 3.0}; }
  };
  auto f = compile(Overloaded{});
  EXPECT_EQ(at(f(ones({1}), ones({1})), 0), 2);
  EXPECT_EQ(at(f(std::array{ones({1}), ones({1})}).second, 0), 3);
}

TEST(Arguments, BecomeWhatTheFunctionTakes) {
  auto f = compile([](const std::string& name, std::optional<Tensor> bias, Tensor x) {
    return name == "add" && bias ? x + *bias : x;
  });
  EXPECT_EQ(at(f("add", std::nullopt, ones({1})), 0), 1);
  EXPECT_EQ(at(f("add", ones({1}), ones({1})), 0), 2);
  EXPECT_EQ(at(f("no", ones({1}), ones({1})), 0), 1);
  auto literal = compile([](Tensor x, const char* how) { return x.gelu(how); });
  EXPECT_TRUE(equal(literal(ones({1}), "tanh"), ones({1}).gelu("tanh")));
  EXPECT_TRUE(equal(literal(ones({1}), "none"), ones({1}).gelu("none")));
  EXPECT_EQ(literal.stats().compilations, 2);
  auto generic = compile([](auto x, auto how) { return x.gelu(how); });
  EXPECT_TRUE(equal(generic(ones({1}), "tanh"), ones({1}).gelu("tanh")));
  const auto& constant = f;
  EXPECT_EQ(at(constant("add", ones({1}), ones({1})), 0), 2);
}

TEST(Results, AreValuesEvenOfFunctionsThatGiveReferences) {
  auto f = compile([](Tensor& x) -> Tensor& {
    x += 1.0;
    return x;
  });
  Tensor x = zeros({2});
  for (int i = 1; i < 4; ++i) EXPECT_EQ(at(f(x), 0), static_cast<float>(i));
}

TEST(Random, SeededInside) {
  auto f = compile([](Tensor x) {
    manual_seed(3);
    return rand_like(x);
  });
  Tensor x = ones({4});
  EXPECT_TRUE(equal(f(x), f(x)));
}

}  // namespace
}  // namespace reprise::test
