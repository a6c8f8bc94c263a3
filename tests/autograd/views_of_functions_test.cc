// Views that custom functions return: what is written through them, and where gradients are off.
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "reprise/reprise.h"
#include "tests/autograd/views.h"

namespace reprise::test {
namespace {

template <class F>
std::string message_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "nothing was thrown";
}

// torch.autograd.Function: "Output 0 of TurnedBackward is a view and is being modified inplace."
TEST(ViewsOfFunctions, AreNotWritten) {
  const Tensor x = ones({2, 3}).requires_grad_(), made = x * 1;
  for (const Tensor& of : {x, made})
    for (Tensor (*call)(const Tensor&) :
         {+[](const Tensor& t) { return Turned::apply(t); }, +[](const Tensor& t) { return Same::apply(t); },
          +[](const Tensor& t) { return Inner::apply(t); },
          +[](const Tensor& t) { return Turned::apply(t).select(0, 0); }}) {
      const Tensor v = call(of);
      EXPECT_NE(message_of([&] { v.mul_(2); }).find("writes to a view that a Function ("), std::string::npos)
          << message_of([&] { v.mul_(2); });
      EXPECT_THROW(v.select(0, 0).add_(1), Error);
      EXPECT_TRUE(equal(x, ones({2, 3})));
      const Tensor own = v.clone();
      own.mul_(2);
      EXPECT_TRUE(equal(grad({own.sum()}, {x})[0], grad({v.sum()}, {x})[0] * 2));
    }
  // What is written otherwise makes its derivative unknown.
  const Tensor v = Turned::apply(made), plain = Turned::apply(made * 1);
  made.mul_(2);
  EXPECT_NE(message_of([&] { v.sum(); }).find("was written since"), std::string::npos) << message_of([&] { v.sum(); });
  EXPECT_EQ(message_of([&] { plain.sum().backward(); }), "nothing was thrown");
  // Where nothing wants a gradient, it is memory.
  const Tensor free = ones({2, 3}), of_free = Turned::apply(free);
  of_free.mul_(2);
  EXPECT_TRUE(equal(free, ones({2, 3}) * 2));
  EXPECT_THROW(of_free.mul_(ones({1}).requires_grad_()), Error);
}

// Where gradients are off they are as other views made there: of what wants a gradient, nothing writes through them
// where gradients are on (torch: "A view was created in no_grad mode").
TEST(ViewsOfFunctions, MadeWhereGradientsAreOff) {
  auto turned = [](const Tensor& x) { return Turned::apply(x); };
  auto twice = [](const Tensor& x) { return Turned::apply(Turned::apply(x.alias())).view({-1}); };
  auto compiled = compile(turned);
  auto compiled_twice = compile(twice);
  for (const Argument& argument : kArguments)
    for (const std::function<Tensor(const Tensor&)>& f :
         {std::function<Tensor(const Tensor&)>(turned), {twice}, {compiled}, {compiled_twice}}) {
      const Tensor leaf = ones({2, 4}).requires_grad_(), x = argument.make(leaf), before = x.detach().clone();
      const Tensor v = (NoGradScope(), f(x));
      if (x.requires_grad()) {
        EXPECT_NE(message_of([&] { v.mul_(2); }).find("made while gradients were off"), std::string::npos)
            << argument.name << message_of([&] { v.mul_(2); });
      }
      EXPECT_TRUE(equal(x, before)) << argument.name;
      const NoGradScope off;
      v.mul_(2);
      EXPECT_TRUE(equal(x, before * 2)) << argument.name;
    }
}

TEST(ViewsOfFunctions, AreTold) {
  auto f = compile(
      [](const Tensor& x) {
        Tensor off;
        {
          const NoGradScope no;
          off = x.select(0, 0);
        }
        return List{Turned::apply(x), off, x.t()};
      },
      {.name = "tells"});
  f(ones({2, 3}).requires_grad_() * 1);
  const std::string told = f.explain();
  EXPECT_NE(
      told.find("result 0 is a view that a Function has returned: nothing that has a gradient is written through it"),
      std::string::npos)
      << told;
  EXPECT_NE(told.find("result 1 is a view that was made while gradients were off"), std::string::npos) << told;
  EXPECT_EQ(told.find("result 2 is a view"), std::string::npos) << told;
  const nlohmann::json s = nlohmann::json::parse(f.signature())["specializations"][0];
  auto made = [&](std::size_t result) {
    return s["outputs"][s["results"][result]["output"].get<std::size_t>()].value("made", "");
  };
  EXPECT_EQ(made(0), "in_function");
  EXPECT_EQ(made(1), "gradients_off");
  EXPECT_EQ(made(2), "");
}

}  // namespace
}  // namespace reprise::test
