// Loops and conditions that see one memory under several names, while gradients are wanted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/reprise.h"
#include "tests/runtime/region_given.h"
#include "tests/runtime/scene.h"

namespace reprise {
namespace {

using test::rising;

/// h is made on the tape by the function, of x, a leaf; the program reads and writes it and views of it.
using Program = Tensor (*)(Tensor h, const Tensor& flag, const Tensor& xs);

struct Seen {
  std::string text, reason;
  std::int64_t eager;
};

Seen run(Program program, bool compiled, bool twice = true) {
  auto plain = [&](const Tensor& x, const Tensor& flag, const Tensor& xs) {
    Tensor h = x * 2.0;
    const Tensor y = program(h, flag, xs);
    return (y * y).sum() + (h * h * h).sum();
  };
  auto f = compile(plain);
  Seen seen{};
  for (int rows : {4, 3, 5, 4})
    for (bool taken : {true, false}) {
      if (!twice && !taken) continue;
      const Tensor x = (rising({rows, rows}) * 0.25).clone().requires_grad_();
      const Tensor flag = full({}, taken, {.dtype = kBool}), xs = rising({3, rows, rows}) * 0.5;
      const Tensor sum = compiled ? f(x, flag, xs) : plain(x, flag, xs);
      sum.backward();
      seen.text += test::show(sum.detach()) + test::show(x.grad() + 0.0);  // of either sign: sums begin elsewhere
    }
  seen.eager = f.stats().eager_fallbacks, seen.reason = f.stats().last_fallback_reason;
  return seen;
}

void same(const char* what, Program program) {
  const Seen want = run(program, false), got = run(program, true);
  EXPECT_EQ(want.text, got.text) << what;
  EXPECT_EQ(got.eager, 0) << what << ": " << got.reason;
}
/// Right all the same, and served eagerly.
void is_eager(const char* what, Program program) {
  const Seen want = run(program, false), got = run(program, true);
  EXPECT_EQ(want.text, got.text) << what;
  EXPECT_NE(got.reason.find("under several names"), std::string::npos) << what << ": " << got.reason;
}

TEST(RegionBases, BranchesWriteViewsOfWhatTheyRead) {
  same("a transpose", [](Tensor h, const Tensor& flag, const Tensor&) {
    const Tensor t = h.t();
    return cond(
        flag,
        [&] {
          Tensor(t).mul_(h);
          return t + h;
        },
        [&] { return h * 1.0; });
  });
  same("rows that overlap", [](Tensor h, const Tensor& flag, const Tensor&) {
    Tensor a = h.narrow(0, 0, 2), b = h.narrow(0, 1, 2);
    return cond(
        flag,
        [&] {
          a.add_(b);
          return b * 2.0;
        },
        [&] {
          b.mul_(a);
          return a * 1.0;
        });
  });
  same("the whole by one branch, a part by the other", [](Tensor h, const Tensor& flag, const Tensor&) {
    Tensor row = h.select(0, 0);
    return cond(
        flag,
        [&] {
          h.mul_(row);
          return row * 1.0;
        },
        [&] {
          row.add_(h.select(1, 0));
          return row * 3.0;
        });
  });
}

TEST(RegionBases, LoopsWriteViewsOfWhatTheyRead) {
  same("scan", [](Tensor h, const Tensor&, const Tensor& xs) {
    Tensor t = h.t();
    auto [last, all] = scan(
        [&](const Tensor& s, const Tensor& x) {
          t.mul_(0.5).add_(h * x);
          const Tensor made = s + h;
          return std::pair{made, made.sum()};
        },
        zeros_like(h), xs);
    return last * all.sum();
  });
}

// What of the names has a place of its own on the tape is not told by the base.
TEST(RegionBases, BesideTheTapeTheyAreEager) {
  is_eager("detached", [](Tensor h, const Tensor& flag, const Tensor&) {
    const Tensor t = h.detach().t();
    return cond(
        flag,
        [&] {
          h.mul_(t);
          return t + h;
        },
        [&] { return h * 1.0; });
  });
  is_eager("made while gradients are off", [](Tensor h, const Tensor& flag, const Tensor&) {
    const Tensor t = [&] {
      const NoGradScope off;
      return h.t();
    }();
    return cond(
        flag,
        [&] {
          h.mul_(t);
          return t + h;
        },
        [&] { return h * 1.0; });
  });
  is_eager("with a hook", [](Tensor h, const Tensor& flag, const Tensor&) {
    const Tensor t = h.t();
    t.register_hook([](const Tensor& g) { return g * 2.0; });
    return cond(
        flag,
        [&] {
          const Tensor y = t + h;
          h.mul_(2.0);
          return y;
        },
        [&] { return h * 1.0; });
  });
}

}  // namespace
}  // namespace reprise
