// Why calls are served eagerly: every reason is counted by its name, and the documents list all of them.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <sstream>

#include "base/bail.h"
#include "reprise/reprise.h"

namespace reprise {
namespace {

struct Case {
  Bail reason;
  std::function<Stats()> run;  ///< calls something compiled, and gives its stats
};

template <class F, class... A>
Stats once(F f, const A&... arguments) {
  auto c = compile(std::move(f));
  c(arguments...);
  return c.stats();
}

thread_local Tensor t_scale;

TEST(Bail, EachReasonIsCountedByItsName) {
  const Tensor x = ones({4});
  float numbers[4] = {1, 2, 3, 4};
  const auto nothing = std::make_unique<Tensor>();
  std::optional<Tensor> maybe;
  const Case cases[] = {
      {Bail::mode_off,
       [&] {
         auto f = compile([](Tensor t) { return t + 1; }, {.mode = "off"});
         f(x);
         return f.stats();
       }},
      {Bail::specialization_limit,
       [&] {
         auto f = compile([](Tensor t) { return t + 1; }, {.max_specializations = 1});
         f(x), f(x.to(kInt32));
         return f.stats();
       }},
      {Bail::reads_value, [&] { return once([](Tensor t) { return t * t.sum().item<float>(); }, x); }},
      {Bail::makes_from_host, [&] { return once([&](Tensor t) { return t + from_blob(numbers, {4}, kFloat32); }, x); }},
      {Bail::asks_state, [&] { return once([&](Tensor t) { return t * (x.is_pinned() ? 2 : 1); }, x); }},
      {Bail::seeds_generator,
       [&] {
         return once(
             [](Tensor t) {
               manual_seed(1);
               return t + 1;
             },
             x);
       }},
      {Bail::assigns_variable,
       [&] {
         return once(
             [&](Tensor t) {
               *nothing = t + 1;
               return t * *nothing;
             },
             x);
       }},
      {Bail::destroys_variable,
       [&] {
         maybe = ones({4});
         return once(
             [&](Tensor t) {
               maybe.reset();
               return t + 1;
             },
             x);
       }},
      {Bail::changes_itself, [&] { return once([n = 0](Tensor t) mutable { return t * ++n; }, x); }},
      {Bail::reads_unnamed,
       [&] {
         t_scale = ones({4});
         return once([](Tensor t) { return t * t_scale; }, x);
       }},
      {Bail::catches_error,
       [&] {
         return once(
             [](Tensor t) {
               try {
                 return t.view({5});
               } catch (const Error&) {
                 return t + 1;
               }
             },
             x);
       }},
      {Bail::said_so,
       [&] {
         return once(
             [first = std::make_shared<bool>(true)](Tensor t) {
               if (std::exchange(*first, false)) throw Error(ErrorCode::NotTraceable, "mine", "not this time");
               return t + 1;
             },
             x);
       }},
  };
  for (const Case& c : cases) {
    const Stats s = c.run();
    ASSERT_EQ(s.fallbacks.size(), 1u) << bail_name(c.reason) << ": " << s.last_fallback_reason;
    EXPECT_STREQ(s.fallbacks[0].reason, bail_name(c.reason)) << s.last_fallback_reason;
    EXPECT_EQ(s.fallbacks[0].calls, s.eager_fallbacks);
    EXPECT_FALSE(s.last_fallback_reason.empty());
  }
  t_scale = Tensor();
}

// Asked before anything is changed: what follows is a trace that is given up.
TEST(Bail, AFunctionThatRunsOnceIsAskedWhatDataDecides) {
  std::optional<Tensor> kept;
  t_scale = ones({});
  const std::function<Tensor(Tensor, Tensor)> again[] = {
      [](Tensor x, Tensor o) { return (masked_select(x, x > 0) + o) * t_scale; },
      [&](Tensor x, Tensor o) { return *(kept = masked_select(x, x > 0) + o); },
  };
  const Tensor x = tensor_of<float>({1, -1, -2, -2}), three = ones({3});
  for (const auto& body : again) {
    auto f = compile(body);
    kept.reset();
    EXPECT_TRUE(equal(f(x, three), body(x, three)));
    EXPECT_NE(f.stats().last_fallback_reason.find("does not hold that"), std::string::npos)
        << f.stats().last_fallback_reason;
    EXPECT_EQ(f.stats().eager_fallbacks, 1);
    Error e = [&] {
      try {
        compile(body)(x.abs().slice(0, 0, 2), three);
      } catch (const Error& error) {
        return error;
      }
      return Error(ErrorCode::Internal, "", "no error");
    }();
    EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch) << e.what();  // eager execution's
  }
  t_scale = Tensor();
  // To run these again would be another call.
  std::vector<Tensor> queue{three, three, three};
  auto takes = compile([&](Tensor t) {
    const Tensor last = queue.back();
    queue.pop_back();
    return masked_select(t, t > 0) + last;
  });
  auto counts = compile([n = 0](Tensor t, Tensor o) mutable { return (masked_select(t, t > 0) + o) * ++n; });
  auto message = [](auto call) -> std::string {
    try {
      call();
      return "no error";
    } catch (const Error& e) {
      return e.what();
    }
  };
  EXPECT_NE(message([&] { takes(x); }).find("cannot run again: it destroys"), std::string::npos);
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_NE(message([&] { counts(x, three); }).find("cannot run again: it changes a value"), std::string::npos);
}

TEST(Bail, ReasonsAreTold) {
  auto f = compile([](Tensor t) { return t * t.sum().item<float>(); });
  f(ones({2})), f(ones({2}));
  EXPECT_NE(f.explain().find("2 eager (reads_value 2)"), std::string::npos) << f.explain();
  f.reset();
  EXPECT_TRUE(f.stats().fallbacks.empty());
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Bail, TheDocumentListsThem) {
  std::ifstream in(REPRISE_SOURCE_DIR "/docs/logs.md");
  std::stringstream text;
  text << in.rdbuf();
  for (std::size_t i = 0; i < kBails; ++i) {
    const Bail b = static_cast<Bail>(i);
    const std::string row = "| `" + std::string(bail_name(b)) + "` | " + bail_text(b) + " |\n";
    EXPECT_NE(text.str().find(row), std::string::npos) << row;
  }
}

}  // namespace
}  // namespace reprise
