// Misuse: one exception that names the operator, both sides and the user's line, and everything as it was before.
#include <gtest/gtest.h>

#include "reprise/reprise.h"
#include "tensor/impl.h"

namespace reprise {
namespace {

template <class F>
Error caught(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return Error(ErrorCode::Internal, "", "nothing was thrown");
}

void expect(const Error& e, ErrorCode code, std::initializer_list<const char*> words, std::uint32_t line = 0) {
  EXPECT_EQ(error_code_name(e.code()), error_code_name(code)) << e.what();
  for (const char* w : words)
    EXPECT_NE(std::string(e.what()).find(w), std::string::npos) << "'" << w << "' in: " << e.what();
  if (line) {
    EXPECT_EQ(e.where().line, line) << e.what();
  }
}

// What is found while a function is traced is told only where nothing before it would have thrown.
TEST(Misuse, OfTwoMistakesTheFirstIsTold) {
  auto body = [](Tensor x, Tensor index, Tensor y) {
    x += 1;
    Tensor rows = x.index_select(0, index);
    return matmul(rows, y);
  };
  auto f = compile(body);
  auto index = [](std::int64_t i) { return full({2}, i, {.dtype = kInt64}); };
  const Tensor x = ones({4, 3}), wrong = ones({2, 4}), right = ones({3, 2});
  for (int turn = 0; turn < 3; ++turn) {
    expect(caught([&] { f(x, index(9), wrong); }), ErrorCode::IndexOutOfRange, {"index_select", "9"});
    expect(caught([&] { f(x, index(1), wrong); }), ErrorCode::ShapeMismatch, {"matmul"});
    expect(caught([&] { f(x, index(9), right); }), ErrorCode::IndexOutOfRange, {"index_select", "9"});
    EXPECT_TRUE(equal(x, ones({4, 3}))) << "as before the call";
  }
  EXPECT_TRUE(equal(f(x, index(1), right), full({2, 2}, 6.0)));
}

TEST(Misuse, ShapesAndDTypesEagerAndCompiled) {
  auto add = [](Tensor a, Tensor b) { return a + b; };
  auto compiled = compile(add, {.name = "add"});
  Tensor a = ones({2, 3}), b = ones({2, 4});
  expect(caught([&] { add(a, b); }), ErrorCode::ShapeMismatch, {"add", "[2, 3]", "[2, 4]", "errors_test.cc"});
  expect(caught([&] { compiled(a, b); }), ErrorCode::ShapeMismatch, {"add", "[2, 3]", "[2, 4]", "errors_test.cc"});
  EXPECT_EQ(compiled.stats().specializations, 0);
  EXPECT_EQ(compiled(a, a).sum().item().to_double(), 12);
  std::uint32_t line = __LINE__ + 1;
  expect(caught([&] { mm(a, b); }), ErrorCode::ShapeMismatch, {"mm", "3", "2"}, line);
  expect(caught([&] {
           mm(a, ones({3, 2}, {.dtype = kFloat64}));
         }),
         ErrorCode::DTypeMismatch, {"mm", "float32", "float64"});
  expect(caught([&] { zeros({2, -3}); }), ErrorCode::InvalidArgument, {"-3"});
  expect(caught([&] { a.data<double>(); }), ErrorCode::DTypeMismatch, {"float32", "float64"});
  expect(caught([&] { a.item(); }), ErrorCode::ShapeMismatch, {"item"});
  expect(caught([&] { ones({3}).add_(ones({2, 3})); }), ErrorCode::ShapeMismatch, {"add"});
  expect(caught([&] { ones({3}, {.dtype = kInt64}).add_(0.5); }), ErrorCode::DTypeMismatch, {"add"});
  expect(caught([&] { ones({1, 3}).expand({4, 3}).add_(1); }), ErrorCode::AliasConflict, {"expanded"});
  expect(caught([&] { Tensor() + 1; }), ErrorCode::InvalidArgument, {"undefined"});
}

TEST(Misuse, AnIndexOutOfRangeLeavesArgumentsAsTheyWere) {
  auto f = compile(
      [](Tensor cache, Tensor table, Tensor ids) {
        cache.slice(0, 0, 1).add_(1);
        Tensor rows = embedding(table, ids);
        cache.slice(0, 1, 2).copy_(rows.sum(0, true));
        return rows;
      },
      {.name = "lookup"});
  Tensor cache = zeros({3, 2}), table = ones({4, 2});
  f(cache, table, tensor_of(std::vector<std::int64_t>{0, 3}));
  std::vector<float> before = cache.to_vector<float>();
  for (std::int64_t bad : {4, 1000}) {
    expect(caught([&] {
             f(cache, table, tensor_of(std::vector<std::int64_t>{1, bad}));
           }),
           ErrorCode::IndexOutOfRange, {"embedding", std::to_string(bad).c_str(), "errors_test.cc"});
    EXPECT_EQ(cache.to_vector<float>(), before);
  }
  f(cache, table, tensor_of(std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(f.stats().compilations, 1);
  expect(caught([&] { embedding(table, tensor_of(std::vector<std::int64_t>{-9})); }), ErrorCode::IndexOutOfRange,
         {"embedding", "-9"});
}

TEST(Misuse, ReleasedStorage) {
  std::vector<float> data(6, 1);
  int freed = 0;
  Tensor x = from_blob(data.data(), {2, 3}, kFloat32, [&](void*) { ++freed; });
  Tensor view = x.slice(0, 1, 2);
  auto f = compile([](Tensor t) { return t + 1; }, {.name = "released"});
  f(x);
  x.release_storage();
  EXPECT_EQ(freed, 1);
  expect(caught([&] { view + 1; }), ErrorCode::StorageFreed, {"released"});
  expect(caught([&] { f(x); }), ErrorCode::StorageFreed, {"released"});
  expect(caught([&] { x.to_vector<float>(); }), ErrorCode::StorageFreed, {"released"});
}

// What a function has done on the tape before it throws, where it is run eagerly because it has thrown before.
TEST(Misuse, AnErrorLeavesTheTapeAsItWas) {
  struct Case {
    const char* name;
    void (*f)(const Tensor& x, const Tensor& y, const Tensor& w);
  };
  static const auto nine = [](const Tensor& g) { return g * 9; };
  const Case cases[] = {
      {"requires_grad_", [](const Tensor& x, const Tensor&, const Tensor&) { x.requires_grad_(); }},
      {"requires_grad_(false)", [](const Tensor&, const Tensor&, const Tensor& w) { w.requires_grad_(false); }},
      {"a write", [](const Tensor& x, const Tensor&, const Tensor& w) { x.mul_(w); }},
      {"a write of what wants", [](const Tensor&, const Tensor& y, const Tensor& w) { y.mul_(w).add_(1); }},
      {"through a view", [](const Tensor&, const Tensor& y, const Tensor& w) { y.select(0, 0).mul_(w.select(0, 0)); }},
      {"detach_", [](const Tensor&, const Tensor& y, const Tensor&) { y.detach_(); }},
      {"backward", [](const Tensor&, const Tensor&, const Tensor& w) { (w * 2).sum().backward(); }},
      {"set_grad",
       [](const Tensor&, const Tensor&, const Tensor& w) {
         w.set_grad(zeros({2, 2}));
       }},
      {"a hook of a leaf", [](const Tensor&, const Tensor&, const Tensor& w) { w.register_hook(nine); }},
      {"a hook", [](const Tensor&, const Tensor& y, const Tensor&) { y.register_hook(nine); }},
      {"retain_grad", [](const Tensor&, const Tensor& y, const Tensor&) { y.retain_grad(); }},
      {"transpose_", [](const Tensor&, const Tensor& y, const Tensor&) { y.transpose_(0, 1); }},
  };
  for (const Case& c : cases)
    for (const bool retained : {false, true}) {
      bool acts = false;
      auto function = [&](const Tensor& x, const Tensor& y, const Tensor& w, const Tensor& i) {
        if (acts) c.f(x, y, w);
        return index_select(w, 0, i) + ones({7});
      };
      auto f = compile(function, {.name = "fails"});
      std::vector<std::vector<double>> told;
      for (const int calls : {0, 1, 3}) {
        const Tensor w = tensor({{1.0, 2.0}, {3.0, 4.0}}).requires_grad_(), x = w.detach() + 1, y = w * w;
        if (retained) y.retain_grad(), w.set_grad(ones({2, 2}));
        for (int i = 0; i <= calls; ++i) {
          acts = i > 0;
          EXPECT_THROW(f(x, y, w, tensor({5})), Error) << c.name;
        }
        std::vector<double> all{1.0 * x.requires_grad(), 1.0 * x.is_leaf(), 1.0 * y.is_leaf(), 1.0 * w.requires_grad()};
        (y * w + x).sum().backward();
        for (const Tensor& t : {x, y, y.grad(), w.grad()})
          for (double v : t.defined() ? t.detach().to(kFloat64).contiguous().to_vector<double>() : std::vector{-1.0})
            all.push_back(v);
        told.push_back(all);
      }
      EXPECT_EQ(told[1], told[0]) << c.name << retained;
      EXPECT_EQ(told[2], told[0]) << c.name << retained;
    }
}

// What the tape keeps while the function computes derivatives of its own ends before the variables are put back.
TEST(Misuse, AnErrorBehindDerivativesOfTheFunctionsOwn) {
  const std::vector<Tensor (*)(const Tensor&)> derivatives = {
      [](const Tensor& p) {
        return grad({grad({(p * p * p).sum()}, {p}, {}, {.create_graph = true})[0].sum()}, {p})[0];
      },
      [](const Tensor& p) {
        return grad({checkpoint([](const Tensor& q) { return tanh(q) * 2.0; }, p * 1.0).sum()}, {p})[0];
      },
      [](const Tensor& p) {
        Tensor q = p * 1.0;
        q.retain_grad();
        (q * q).sum().backward();
        return q.grad();
      },
      [](const Tensor& p) {
        Tensor q = p * 1.0;
        q.register_hook([c = p.detach() * 2](const Tensor& g) { return g * c; });
        (q * q).sum().backward();
        return p.grad();
      },
      [](const Tensor& p) {
        Tensor q = p * 1.0;
        q.select(0, 0).mul_(3);
        (q * q).sum().backward();
        return p.grad();
      },
  };
  for (std::size_t i = 0; i < derivatives.size(); ++i) {
    Tensor left = ones({2});
    const Tensor was = left;
    auto f = compile([&, i](const Tensor& x) {
      const EnableGradScope on;
      left = derivatives[i](x.detach().requires_grad_());
      return left + ones({7, 5});
    });
    for (int call = 0; call < 4; ++call) {
      EXPECT_THROW(f(ones({3, 3})), Error) << i;
      EXPECT_TRUE(left.is_same(was)) << i << " " << call;
    }
  }
}

// An inner function that runs to its end does for the outer one what it does.
TEST(Misuse, AnErrorPutsBackWhatAnInnerFunctionHasAssigned) {
  for (const bool inner_throws_once : {false, true}) {
    Tensor left = ones({2});
    const Tensor was = left;
    bool throws = inner_throws_once;
    auto inner = compile([&](const Tensor& x) {
      left = x * 2;
      return throws ? left + ones({7, 5}) : left;
    });
    auto outer = compile([&](const Tensor& x) { return inner(x) + ones({7, 5}); });
    for (int call = 0; call < 4; ++call) {
      EXPECT_THROW(outer(ones({3, 3})), Error) << call;
      EXPECT_TRUE(left.is_same(was)) << call;
      throws = false;
    }
  }
}

TEST(Misuse, SealedFunctionsNameTheGuardThatFailed) {
  auto f = compile([](Tensor x, Tensor y) { return x + y; }, {.name = "sealed"});
  f(ones({4}), ones({4}));
  f.seal();
  EXPECT_EQ(f(ones({9}), ones({9})).numel().value(), 9);
  expect(caught([&] { f(ones({4}), ones({1})); }), ErrorCode::Sealed, {"sealed", "s0 == s1", "errors_test.cc"});
}

TEST(Misuse, AnExceptionOfTheUsersFunctionLeavesNothingBehind) {
  bool fail = true;
  auto f = compile(
      [&](Tensor x) {
        Tensor y = x + 1;
        if (fail) throw std::runtime_error("mine");
        return y;
      },
      {.name = "throws"});
  EXPECT_THROW(f(ones({2})), std::runtime_error);
  EXPECT_EQ(f.stats().specializations, 0);
  fail = false;
  EXPECT_EQ(f(ones({2})).sum().item().to_double(), 4);
  EXPECT_EQ((ones({2}) + 1).sum().item().to_double(), 4);  // the thread is not left inside the trace
}

// A trace answers what the data decide before it knows them. An error that follows from its answers is none of a call
// of which they are not true.
TEST(Misuse, WhatATraceTakesForGrantedOfDataIsNoMistake) {
  using Body = Tensor (*)(const Tensor& flags, const Tensor& x);
  const Body bodies[] = {[](const Tensor& flags, const Tensor& x) {
                           Tensor a = nonzero(flags).squeeze(1).to(kFloat32);
                           a = a.view({a.size(0) * a.size(-1)});
                           return a.mul_(2.0) + x;
                         },
                         [](const Tensor& flags, const Tensor& x) {
                           const Tensor a = masked_select(flags, flags).to(kFloat32);
                           return a.view({a.size(0), a.size(0)}) * 2.0 + x;
                         }};
  for (const Body body : bodies) {
    auto f = compile(body, {.name = "granted"});
    for (const int n : {1, 2, 1, 0, 3, 1}) {
      const Tensor flags = arange(9) < n, x = ones({2});
      std::string want, got;
      Tensor w, g;
      try {
        w = body(flags, x);
      } catch (const Error& e) {
        want = e.message();
      }
      try {
        g = f(flags, x);
      } catch (const Error& e) {
        got = e.message();
      }
      EXPECT_EQ(got, want) << n;
      if (w.defined() && g.defined()) {
        EXPECT_TRUE(equal(w, g)) << n;
      }
    }
  }
}

TEST(Misuse, AFunctionThatThrowsIsNotTracedAtEveryCall) {
  bool fail = true;
  int runs = 0;
  std::vector<bool> traced;
  auto f = compile(
      [&](Tensor x) {
        ++runs;
        x.add_(1);
        traced.push_back(x.impl()->trace != nullptr);
        if (fail && x.size(0) > 2) throw std::runtime_error("too long");
        return x * 2;
      },
      {.name = "throws"});
  Tensor x = zeros({4});
  for (int i = 0; i < 5; ++i) {
    EXPECT_THROW(f(x), std::runtime_error);
    EXPECT_EQ(x.sum().item<double>(), 0) << "call " << i;  // compiled or not, such a call changes nothing
  }
  EXPECT_EQ(traced, (std::vector<bool>{true, false, false, false, false}));
  EXPECT_EQ(runs, 5);
  // What the trace asked before it threw is not true of these.
  Tensor few = zeros({2});
  EXPECT_EQ(f(few).sum().item<double>(), 4);
  EXPECT_TRUE(traced.back());
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  // One that does not throw: the next is compiled.
  fail = false;
  EXPECT_EQ(f(x).sum().item<double>(), 8);
  EXPECT_FALSE(traced.back());
  EXPECT_EQ(f.stats().fallbacks.at(0).reason, std::string_view("throws"));
  EXPECT_EQ(f(x).sum().item<double>(), 16);
  EXPECT_TRUE(traced.back());
  const int before = runs;
  EXPECT_EQ(f(x).sum().item<double>(), 24);
  EXPECT_EQ(runs, before);
  EXPECT_EQ(f.stats().eager_fallbacks, 1);
}

TEST(Misuse, AFunctionThatThrowsInTurnsIsTracedNowAndThen) {
  int call = 0, traces = 0;
  auto f = compile(
      [&](Tensor x) {
        const bool throws = x.impl()->trace != nullptr;
        traces += throws;
        ++call;
        if (throws) throw std::runtime_error("only while it is traced");
        return x + 1;
      },
      {.name = "in_turns"});
  Tensor x = zeros({3});
  int thrown = 0;
  for (int i = 0; i < 200; ++i) {
    try {
      EXPECT_EQ(f(x).sum().item<double>(), 3);
    } catch (const std::runtime_error&) {
      ++thrown;
    }
  }
  EXPECT_EQ(call, 200);
  EXPECT_EQ(thrown, traces);
  EXPECT_LE(traces, 8);  // 1, 2, 4, ... calls between them
  EXPECT_GE(traces, 7);
}

TEST(Misuse, ATensorOfATraceThatThrewIsDeadNotWrong) {
  std::vector<Tensor> kept;
  auto f = compile(
      [&](Tensor x) {
        kept.push_back(x + 1);
        return kept[0].view({7});
      },
      {.name = "keeps"});
  EXPECT_THROW(f(ones({2})), Error);
  expect(caught([&] { kept[0] + 1; }), ErrorCode::InvalidArgument, {"finished trace"});
}

TEST(Misuse, MarksThatTheTensorBreaks) {
  Tensor x = ones({6});
  expect(caught([&] { mark_dynamic(x, 0, {.min = 8}); }), ErrorCode::InvalidArgument, {"6", "8"});
  expect(caught([&] { mark_dynamic(x, 3); }), ErrorCode::IndexOutOfRange, {"3"});
  expect(caught([] { compile([](Tensor t) { return t; }, {.mode = "fast"}); }), ErrorCode::InvalidArgument, {"fast"});
}

}  // namespace
}  // namespace reprise
