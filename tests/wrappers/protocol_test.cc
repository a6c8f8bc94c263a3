// Wrapper tensors of a user's own: eagerly, compiled, on the tape, nested; what is refused.
#include <gtest/gtest.h>

#include "reprise/dlpack.h"
#include "reprise/export.h"
#include "reprise/map.h"
#include "reprise/while_loop.h"
#include "tests/runtime/log_lines.h"
#include "tests/support/error_of.h"
#include "tests/wrappers/wrappers.h"

namespace reprise::test {
namespace {

Tensor metres(const Tensor& t) { return Length(t, "m").tensor(); }
std::vector<float> floats(const Tensor& t) { return t.to_vector<float>(); }

TEST(Wrappers, AHandleLooksLikeATensorAndHasNoBytes) {
  const Tensor v = tensor({{1.f, 2.f}, {3.f, 4.f}}), x = metres(v);
  EXPECT_TRUE(is_wrapper(x));
  EXPECT_EQ(wrapper_name(x), "Length");
  EXPECT_EQ(Length::from(x).unit, "m");
  EXPECT_EQ(x.sizes(), v.sizes());
  EXPECT_EQ(x.dtype(), kFloat32);
  EXPECT_FALSE(x.shares_storage_with(v));
  EXPECT_EQ(floats(x), floats(v)) << "its plain meaning";
  EXPECT_EQ(x.str(), "Length(" + v.str() + ")");
  EXPECT_TRUE(plain(x).is_same(v));
  EXPECT_FALSE(is_wrapper(v));
  EXPECT_EQ(wrapper_name(v), "");
  EXPECT_EQ(x.sum().item<float>(), 10);
  for (const auto& refused : {+[](const Tensor& t) { t.data_ptr(); }, +[](const Tensor& t) { to_dlpack(t); },
                              +[](const Tensor& t) {
                                Tensor u = t;
                                u.release_storage();
                              }})
    EXPECT_NE(error_of([&] { refused(x); }).message().find("the tensor is a wrapper (Length)"), std::string::npos);
  EXPECT_EQ(error_of([&] { Length::from(v); }).message(), "the tensor is a plain one, no Length");
  EXPECT_EQ(error_of([&] { x.t_(); }).code(), ErrorCode::InvalidArgument);
}

TEST(Wrappers, RulesAnswerEagerlyAndCompiled) {
  const Tensor a = metres(tensor({1.f, 2.f})), b = metres(tensor({10.f, 20.f}));
  auto body = [](const Tensor& x, const Tensor& y) { return (x + y) * y; };
  auto f = compile(body);
  for (int i = 0; i < 3; ++i) {
    const Tensor want = body(a, b), got = f(a, b);
    EXPECT_EQ(Length::from(got).unit, "m*m");
    EXPECT_EQ(Length::from(want).unit, "m*m");
    EXPECT_EQ(floats(got), floats(want));
    EXPECT_EQ(floats(got), (std::vector<float>{110, 440}));
  }
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
  EXPECT_EQ(floats(f(metres(ones({7})), metres(ones({7})))), std::vector<float>(7, 2)) << "sizes vary";
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(floats(f(plain(a), plain(b))), (std::vector<float>{110, 440}));
  EXPECT_EQ(f.stats().compilations, 2);
}

TEST(Wrappers, MetadataIsStructureAndNamedInTheLog) {
  auto f = compile([](const Tensor& x) { return x + x; }, {.arguments = {"x"}});
  const Tensor v = ones({3});
  f(metres(v));
  testing::LogLines log;
  EXPECT_EQ(Length::from(f(Length(v, "ft").tensor())).unit, "ft");
  f(Counted(v).tensor());
  f(v);
  EXPECT_EQ(f.stats().compilations, 4);
  std::string all;
  for (const std::string& line : log.lines()) all += line + "\n";
  EXPECT_NE(all.find("x.unit (arg 0) is 'ft', was 'm'"), std::string::npos);
  EXPECT_NE(all.find("x (arg 0) is a plain tensor, was a wrapper"), std::string::npos);
  EXPECT_NE(all.find("x (arg 0) is a Counted, was a Length"), std::string::npos);
  EXPECT_EQ(Length::from(f(metres(v))).unit, "m");
  EXPECT_EQ(f.stats().compilations, 4);
}

TEST(Wrappers, ResultsInStructsAndNested) {
  struct Two {
    Tensor a, b;
  };
  auto f = compile([](const Tensor& x) {
    return Two{Counted((x * x)).tensor(), Length(Counted(plain(x)).tensor(), "s").tensor()};
  });
  const Tensor x = metres(tensor({2.f, 3.f}));
  for (int i = 0; i < 2; ++i) {
    const Two got = f(x);
    const Tensor inner = Counted::from(got.a).inner;
    EXPECT_EQ(Length::from(inner).unit, "m*m");
    EXPECT_EQ(floats(got.a), (std::vector<float>{4, 9}));
    EXPECT_EQ(Length::from(got.b).unit, "s");
    EXPECT_TRUE(Counted::of(Length::from(got.b).value));
    EXPECT_EQ(floats(got.b), (std::vector<float>{2, 3}));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // Nested ones as arguments; an argument that comes back is itself.
  auto g = compile([](const Tensor& a, std::vector<Tensor> list) {
    list[1].mul_(2.0);
    return std::pair(a + a, list[0]);
  });
  const Tensor c = Counted(metres(ones({2}))).tensor();
  std::vector<Tensor> list{x, metres(tensor({5.f}))};
  for (int i = 0; i < 2; ++i) {
    const auto [sum, same] = g(c, list);
    EXPECT_EQ(Length::from(Counted::from(sum).inner).unit, "m");
    EXPECT_EQ(floats(sum), (std::vector<float>{2, 2}));
    EXPECT_TRUE(same.is_same(x));
  }
  EXPECT_EQ(floats(list[1]), (std::vector<float>{20}));
  EXPECT_EQ(g.stats().eager_fallbacks, 0) << g.stats().last_fallback_reason;
}

TEST(Wrappers, WritesViewsAndAliasesAreThoseOfInnerTensors) {
  const Tensor v = zeros({2, 3}), x = metres(v);
  const std::uint64_t version = x.version();
  x.select(0, 1).fill_(2.0);
  EXPECT_EQ(floats(v), (std::vector<float>{0, 0, 0, 2, 2, 2}));
  x.add_(metres(ones({2, 3})));
  EXPECT_EQ(floats(v), (std::vector<float>{1, 1, 1, 3, 3, 3}));
  EXPECT_GT(x.version(), version);
  const std::uint64_t now = x.version();
  v.add_(1.0);
  EXPECT_GT(x.version(), now) << "a write of the inner tensor is one of the handle";
  // One inner tensor behind two arguments, of which one is written.
  auto f = compile([](const Tensor& a, const Tensor& b) {
    a.mul_(2.0);
    return b + b;
  });
  const Tensor other = metres(v), w = ones({2});
  EXPECT_EQ(floats(f(x, other)), (std::vector<float>{8, 8, 8, 16, 16, 16}));
  EXPECT_EQ(floats(v), (std::vector<float>{4, 4, 4, 8, 8, 8}));
  EXPECT_EQ(floats(f(metres(w), metres(ones({2})))), (std::vector<float>{2, 2}));
  EXPECT_EQ(floats(w), (std::vector<float>{2, 2}));
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  const Tensor plain_one = zeros({2});
  plain_one.copy_(metres(w));
  EXPECT_EQ(floats(plain_one), (std::vector<float>{2, 2}));
}

TEST(Wrappers, TheTapeKnowsHandles) {
  const Tensor v = tensor({1.f, 2.f, 3.f}), x = tensor({4.f, 5.f, 6.f}).requires_grad_();
  const Tensor w = Length(v, "m").tensor().requires_grad_();
  EXPECT_TRUE(w.requires_grad() && w.is_leaf());
  EXPECT_FALSE(v.requires_grad());
  auto body = [](const Tensor& w, const Tensor& x) { return (w * w * x).sum(); };
  auto f = compile(body);
  for (int i = 0; i < 4; ++i) {
    w.set_grad({}), x.set_grad({});
    Tensor loss = i % 2 ? body(w, x) : f(w, x);
    EXPECT_EQ(loss.item<float>(), 4 + 20 + 54);
    loss.backward();
    EXPECT_EQ(floats(w.grad()), (std::vector<float>{8, 20, 36})) << i;
    EXPECT_EQ(floats(x.grad()), (std::vector<float>{1, 4, 9})) << i;
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  // What a node has kept, and was written since, is found.
  const Tensor loss = body(w, x);
  v.add_(1.0);
  EXPECT_NE(error_of([&] { loss.backward(); }).message().find("was written since"), std::string::npos);
  // A tangent that is a wrapper, where a plain one was expected.
  auto twice = compile([](const Tensor& x) { return x * 2.0; });
  for (const Tensor& tangent : {ones({3}), metres(ones({3})), Counted(ones({3})).tensor(), ones({3})}) {
    x.set_grad({});
    twice(x).backward(tangent);
    EXPECT_EQ(floats(x.grad()), (std::vector<float>{2, 2, 2}));
  }
}

// A handle that wants no gradient hides none that its inner tensor wants: operators and views are of that.
TEST(Wrappers, InnerTensorsMayWantGradients) {
  using Body = Tensor (*)(const Tensor&);
  const Body bodies[] = {[](const Tensor& w) { return w.view({4}); },
                         [](const Tensor& w) { return w.alias().t().slice(0, 0, 1); },
                         [](const Tensor& w) { return plain(w).view({4}); }, [](const Tensor& w) { return w * 2.0; },
                         [](const Tensor& w) {
                           return w.select(0, 0).unsqueeze(0).expand({3, -1}) + 0.0;
                         }};
  for (std::size_t k = 0; k < std::size(bodies); ++k)
    for (const bool follows : {false, true}) {
      if (k == 2 && follows) continue;  // plain() takes the inner tensor, which is not the handle's on the tape
      const Body body = bodies[k];
      std::vector<float> gradients[2];
      for (const bool compiled : {false, true}) {
        const Tensor leaf = tensor({{1.f, 2.f}, {3.f, 4.f}}).requires_grad_(), x = leaf * 1.5;
        Tensor w = Plain(follows ? x.detach() : x).tensor();
        if (follows) w.requires_grad_();
        auto f = compile(body);
        const Tensor r = compiled ? f(w) : body(w);
        ASSERT_TRUE(r.requires_grad() && !r.is_leaf()) << k << follows << compiled;
        (r * r).sum().backward();
        gradients[compiled] = floats(follows ? w.grad() : leaf.grad());
        // A view of the handle is returned: the caller's tape has it as a view of the handle.
        if (compiled) EXPECT_EQ(f.stats().eager_fallbacks, follows && k < 2) << f.stats().last_fallback_reason;
      }
      EXPECT_EQ(gradients[0], gradients[1]) << k << follows;
    }
}

TEST(Wrappers, CapturedOnesAreFollowed) {
  Tensor w = metres(tensor({1.f, 2.f}));
  auto f = compile([&](const Tensor& x) { return plain(x + w); });
  const Tensor x = metres(zeros({2}));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(floats(f(x)), (std::vector<float>{1, 2}));
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
  Length::from(w).value.add_(1.0);
  EXPECT_EQ(floats(f(x)), (std::vector<float>{2, 3}));
  EXPECT_EQ(f.stats().compilations, 1);
  const Tensor old = w;  // its inner tensors stay
  w = metres(tensor({7.f, 8.f}));
  EXPECT_EQ(floats(f(x)), (std::vector<float>{7, 8}));
  w = old;
  EXPECT_EQ(floats(f(x)), (std::vector<float>{2, 3}));
  w = Length(tensor({7.f, 8.f}), "ft").tensor();
  EXPECT_EQ(error_of([&] { f(x); }).message(), "m and ft");
  w = tensor({3.f, 4.f});
  EXPECT_EQ(error_of([&] { f(x); }).message(), "m and 1");
  // A captured plain tensor that is wrapped inside.
  const Tensor y = ones({2});
  auto g = compile([&](const Tensor& x) { return exp(metres(y)) * x; });
  EXPECT_EQ(floats(g(ones({2}))), floats(exp(y)));
  EXPECT_EQ(g.stats().eager_fallbacks, 0) << g.stats().last_fallback_reason;
}

TEST(Wrappers, CountsWhatAFunctionMultiplies) {
  Counted::multiplications = 0;
  const Tensor a = Counted(ones({8, 4})).tensor(), b = ones({4, 16});
  const Tensor y = relu(mm(a, b)) + 1.0;
  EXPECT_EQ(Counted::multiplications, 8 * 4 * 16);
  EXPECT_TRUE(Counted::of(y));
  EXPECT_EQ(y.sum().item<float>(), 8 * 16 * 5);
}

TEST(Wrappers, AutocastAndChecksMeetThem) {
  const Tensor w = Counted(ones({4, 4})).tensor(), x = ones({2, 4});
  auto f = compile([](const Tensor& x, const Tensor& w) { return matmul(x, w); }, {.check = 1});
  for (int i = 0; i < 3; ++i) {
    AutocastScope on(kBFloat16);
    const Tensor y = f(x, w);
    EXPECT_EQ(y.dtype(), kBFloat16);
    EXPECT_EQ(floats(y), std::vector<float>(8, 4));
  }
  EXPECT_EQ(f.stats().eager_fallbacks, 0) << f.stats().last_fallback_reason;
}

// Loops and branches that are given wrappers, or derive by them, run eagerly: their graphs have no place for a handle.
TEST(Wrappers, InBranchesAndLoops) {
  using Body = Tensor (*)(const Tensor& w, const Tensor& x);
  const std::pair<const char*, Body> bodies[] = {
      {"slices",
       [](const Tensor& w, const Tensor& x) {
         return scan([](const Tensor& h, const Tensor& r) { return tanh(h + r); }, x, w);
       }},
      {"mapped", [](const Tensor& w,
                    const Tensor& x) { return map([](const Tensor& r) { return reprise::plain(r) * 2.0; }, w) + x; }},
      {"state",
       [](const Tensor& w, const Tensor& x) {
         return while_loop([](const Tensor& t) { return reprise::plain(t).sum() < 9; },
                           [](const Tensor& t) { return t * 2.0; }, w, 20) *
                x;
       }},
      {"captured by a branch",
       [](const Tensor& w, const Tensor& x) {
         return cond(
             x.sum() > 0, [&] { return w * x; }, [&] { return x * 2.0; });
       }},
      {"captured by a loop",
       [](const Tensor& w, const Tensor& x) {
         return scan([&](const Tensor& h, const Tensor& r) { return h * 0.5 + r * w; }, x, x.view({1, 2, 2}));
       }},
  };
  for (const auto& [name, body] : bodies)
    for (const bool wants : {false, true}) {
      auto f = compile(body);
      std::string seen[3];
      for (int call = 0; call < 3; ++call) {
        const Tensor w = Length(full({2, 2}, 2.0), "1").tensor(), x = full({2, 2}, 0.5);
        if (wants) w.requires_grad_(), x.requires_grad_();
        std::ostringstream out;
        try {
          const Tensor r = reprise::plain(call ? f(w, x) : body(w, x));
          out << r << r.requires_grad();
          if (r.requires_grad()) r.sum().backward();
          if (w.grad().defined()) out << "w " << reprise::plain(w.grad());
          if (x.grad().defined()) out << "x " << x.grad();
        } catch (const Error& e) {
          out << e.what();
        }
        seen[call] = out.str();
        EXPECT_EQ(seen[call], seen[0]) << name << (wants ? ", derived" : "");
      }
    }
}

// What check runs beside the replay assigns other wrappers: their handles have no elements to copy.
TEST(Wrappers, AssignedVariablesAreChecked) {
  Tensor a = Length(ones({2}), "m").tensor(), b = Length(ones({2}) * 2.0, "m").tensor();
  auto f = compile(
      [&](Tensor x) {
        std::swap(a, b);
        return x + reprise::plain(a);
      },
      {.check = 1});
  for (int call = 0; call < 4; ++call) EXPECT_TRUE(equal(f(ones({2})), full({2}, call % 2 ? 2.0 : 3.0))) << call;
}

TEST(Wrappers, BadInputIsOneErrorThatNamesWrapperOperatorAndLine) {
  const Tensor v = ones({2, 2});
  struct Case {
    Tensor (*call)(const Tensor&);
    int mode;
    ErrorCode code;
    const char* says;
  };
  const Case cases[] = {
      {[](const Tensor& b) { return exp(b); }, 1, ErrorCode::ShapeMismatch,
       "exp: wrapper Bare: its rule gives [] of float32, and the operator's result is [2, 2] of float32"},
      {[](const Tensor& b) { return exp(b); }, 2, ErrorCode::DTypeMismatch,
       "exp: wrapper Bare: its rule gives [2, 2] of float64, and the operator's result is [2, 2] of float32"},
      {[](const Tensor& b) { return exp(b); }, 3, ErrorCode::InvalidArgument,
       "exp: wrapper Bare: its rules call operators with wrappers in 64 calls inside each other"},
      {[](const Tensor& b) { return b * 2.0; }, 0, ErrorCode::InvalidArgument,
       "mul: wrapper Bare has no rule for this operator, and no default"},
      {[](const Tensor& b) { return b.add_(2.0); }, 0, ErrorCode::InvalidArgument,
       "add_: wrapper Bare has no rule for this operator, and no default"},
      {[](const Tensor& b) { return plain(b); }, 0, ErrorCode::InvalidArgument, "Bare: has no plain meaning"},
      {[](const Tensor& b) {
         return matmul(b, ones({3, 3}));
       },
       0, ErrorCode::ShapeMismatch, "matmul: "},
  };
  for (const Case& c : cases) {
    const Tensor b = Bare(v, c.mode).tensor();
    const Error eager = error_of([&] { c.call(b); });
    EXPECT_EQ(eager.code(), c.code) << eager.what();
    EXPECT_TRUE(std::string(eager.what()).starts_with(c.says)) << eager.what();
    EXPECT_NE(std::string(eager.what()).find("protocol_test.cc:"), std::string::npos) << eager.what();
    auto f = compile(c.call);
    const Error compiled = error_of([&] { f(b); });
    EXPECT_EQ(compiled.code(), c.code) << compiled.what();
    EXPECT_TRUE(std::string(compiled.what()).starts_with(c.says)) << compiled.what();
  }
  EXPECT_EQ(floats(exp(Bare(v, 0).tensor())), floats(exp(v)));
  EXPECT_EQ(error_of([&] { metres(metres(v)); }).message(),
            "a wrapper inside of itself: an inner tensor is a Length, too");
  EXPECT_EQ(error_of([&] { metres(Counted(metres(v)).tensor()); }).message(),
            "a wrapper inside of itself: an inner tensor is a Length, too");
  EXPECT_EQ(error_of([&] { metres(Tensor()); }).message(), "a wrapper without a defined inner tensor");
  EXPECT_EQ(error_of([&] { Counted(metres(v)).tensor() + Length(v, "ft").tensor(); }).message(), "1 and ft");
  Pair pair;
  pair.a = v, pair.b = v.to(Device::null());
  EXPECT_EQ(error_of([&] { pair.tensor(); }).code(), ErrorCode::DeviceMismatch);
  pair.b = v;
  EXPECT_NE(error_of([&] { pair.tensor(); }).message().find("a field is an Int"), std::string::npos);
  const Tensor x = metres(v);
  EXPECT_NE(error_of([&] { export_program([](Tensor t) { return t + t; }, std::tuple(x)); }).message().find("wrapper"),
            std::string::npos);
}

}  // namespace
}  // namespace reprise::test
