// What serves calls is taken away and freed while other threads call: by reset(), at bounds of recordings,
// specializations and code, with captured and frozen tensors, with the function itself (Note [Who frees what] in
// runtime/front/compiled.h). Each storm takes REPRISE_TEST_STORM_MS (150) of the process's time; longer ones find more,
// and ThreadSanitizer finds most.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/knobs.h"
#include "reprise/library.h"
#include "reprise/reprise.h"
#include "tests/support/storm.h"

namespace reprise {
namespace {

using test::below;
using test::Random;
using test::storm;

double total(const Tensor& t) { return t.to(kFloat64).sum().item().to_double(); }

std::string differs(double got, double expected) {
  return got == expected ? "" : std::to_string(got) + " where " + std::to_string(expected) + " is right";
}

constexpr int kThreads = 6;

/// A kernel with a temporary; each n is a recording, each k a specialization.
Tensor sum_of(Tensor x, int k) { return softmax(x * 0.5, 1).sum() + k * 1.0; }

template <class F>
std::string call(const F& f, Random& r, int sizes, int kinds) {
  const int n = 1 + below(r, sizes), k = below(r, kinds);
  const double got = total(f(ones({n, 4}), k));
  return std::abs(got - n - k) < 1e-3 ? "" : differs(got, n + k);
}

// Every call makes a recording and drops the oldest one, which is mostly of a specialization that is being freed.
TEST(Freed, ByResetWhileAllElseTrims) {
  auto f = compile([](Tensor x) { return x.sum(); }, {.name = "trims", .recordings_max = 400, .mode = "interpret"});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 50 == 0) f.reset();
    const int n = 1 + below(r, 64), m = 1 + below(r, 64);
    return differs(total(f(ones({n, m}))), n * m);
  });
}

TEST(Freed, ByResetAndWhereRecordingsAreCounted) {
  auto f = compile(sum_of, {.name = "counted", .max_specializations = 6, .recordings_max = 7});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 32 == 0) f.reset();
    return call(f, r, 30, 6);
  });
}

TEST(Freed, ByResetAndWhereBytesOfRecordingsAreBounded) {
  auto f = compile(sum_of, {.name = "bytes", .recordings_bytes = 4096});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 32 == 0) f.reset();
    return call(f, r, 30, 6);
  });
}

TEST(Freed, WhereRecordingsAreCountedAndNobodyResets) {
  auto f = compile(sum_of, {.name = "evicted", .max_specializations = 6, .recordings_max = 7});
  storm(kThreads, [&](int, Random& r) { return call(f, r, 30, 6); });
  f(ones({2, 4}), 0);
  const Stats s = f.stats();
  EXPECT_EQ(s.calls, s.replays + s.eager_fallbacks);
  EXPECT_LE(s.recordings, 7);
  EXPECT_EQ(s.recordings, s.recordings_made - s.evictions);
}

TEST(Freed, WhatMakesRoom) {
  const auto body = [](Tensor x, int k) { return x.sum() + k; };
  for (const bool resets : {false, true}) {
    auto f = compile(body, {.name = "room", .max_specializations = 3, .recordings_max = 4, .mode = "interpret"});
    std::atomic<int> calls{0};
    storm(kThreads, [&](int id, Random& r) {
      if (resets && id == 0 && r() % 4096 == 0) f.reset();
      const int n = 1 + below(r, 9), k = calls++ / 2500 + below(r, 2);  // what was called long ago does not come again
      return differs(total(f(ones({n}), k)), n + k);
    });
    if (!resets && calls > 10'000) {
      EXPECT_GE(f.stats().replaced, 1);
    }
    EXPECT_LE(f.stats().specializations, 3);
  }
}

TEST(Freed, WhereCodeIsBounded) {
  const auto body = [](Tensor x, int k) { return x.sum() + k; };
  auto one = compile(body);
  one(ones({2}), 1);
  auto f = compile(body, {.name = "code", .code_bytes = one.stats().code_bytes * 2});
  std::atomic<int> calls{0};
  storm(kThreads, [&](int, Random& r) {
    const int n = 1 + below(r, 9), k = calls++ / 2500 + below(r, 2);
    return differs(total(f(ones({n}), k)), n + k);
  });
}

TEST(Freed, WhatIsBuiltMeanwhile) {
  auto f = compile(
      sum_of, {.name = "meanwhile", .max_specializations = 4, .recordings_max = 5, .on_miss = OnMiss::ServeMeanwhile});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 16 == 0) f.reset();
    if (id == 1 && r() % 16 == 0) f.wait();
    return call(f, r, 30, 6);
  });
  f.wait();
  EXPECT_EQ(f.stats().building, 0);
}

TEST(Freed, TheFunctionWhileItIsBuilt) {
  auto made = [] { return compile(sum_of, {.name = "gone", .recordings_max = 3, .on_miss = OnMiss::ServeMeanwhile}); };
  auto all = made();  // guarded by mu
  std::mutex mu;
  storm(kThreads, [&](int id, Random& r) {
    auto f = [&] {
      const std::lock_guard lock(mu);
      if (id == 0 && r() % 4 == 0) return std::exchange(all, made());
      return all;
    }();
    if (id == 1) f = made();  // with nobody else's call in it
    return call(f, r, 8, 3);
  });
}

TEST(Freed, WhatIsMadeAhead) {
  auto f = compile(sum_of, {.name = "ahead", .max_specializations = 4, .recordings_max = 5});
  storm(kThreads, [&](int id, Random& r) -> std::string {
    if (id == 0 && r() % 32 == 0) f.reset();
    if (id < 3) return call(f, r, 30, 3);
    const WarmedUp made = f.warm_up(empty({1 + below(r, 30), 4}), below(r, 3));
    return made.specialization.starts_with("ahead/") ? "" : made.specialization;
  });
}

TEST(Freed, WhatIsSealed) {
  auto f = compile(sum_of, {.name = "sealed", .recordings_max = 64, .on_miss = OnMiss::ServeMeanwhile});
  storm(kThreads, [&](int id, Random& r) -> std::string {
    if (id == 0 && r() % 8 == 0) f.reset();
    if (id == 1 && r() % 8 == 0) f.seal();
    try {
      return call(f, r, 8, 3);
    } catch (const Error& e) {
      return e.code() == ErrorCode::Sealed ? "" : e.what();
    }
  });
}

TEST(Freed, WhatIsToldOf) {
  auto f = compile(sum_of, {.name = "told", .max_specializations = 4, .recordings_max = 5});
  storm(kThreads, [&](int id, Random& r) -> std::string {
    if (id == 0 && r() % 32 == 0) f.reset();
    if (id > 2) return call(f, r, 30, 4);
    switch (r() % 6) {
      case 0: return f.explain().starts_with("told: ") ? "" : f.explain();
      case 1: return f.signature().empty() ? "no signature" : "";
      case 2: return f.stats().recordings < 0 ? "recordings below 0" : "";
      case 3: f.profile(r() % 2 == 0); break;
      case 4:
        if (r() % 2) f.set_miss_callback([](const Miss& m) { ASSERT_EQ(m.function, "told"); });
        else f.set_miss_callback({});
        break;
      default: f.measure_dispatch_ns(std::tuple(ones({3, 4}), 1), 20);
    }
    return call(f, r, 30, 4);
  });
}

// Each thread replaces the cell that its calls read, so that nobody may call what was made for the one before.
TEST(Freed, WithCapturedTensors) {
  struct Cell {
    Tensor w;
  };
  std::array<std::unique_ptr<Cell>, kThreads> cells;
  for (auto& c : cells) c = std::make_unique<Cell>(Cell{ones({4})});
  auto f = compile([&](Tensor x, int k) { return (x * cells[static_cast<std::size_t>(k)]->w).sum(); },
                   {.name = "captured", .recordings_max = 64, .mode = "interpret"});
  storm(kThreads, [&](int id, Random& r) {
    auto& cell = cells[static_cast<std::size_t>(id)];
    const int value = below(r, 5), n = 1 + below(r, 12);
    if (r() % 16 == 0) cell = std::make_unique<Cell>(Cell{full({4}, value)});
    else cell->w = full({4}, value);
    if (id == 0 && r() % 256 == 0) f.reset();
    return differs(total(f(ones({n, 4}), id)), 4.0 * n * value);
  });
}

TEST(Freed, WithFrozenTensors) {
  auto f = compile([](Tensor x, Tensor w, int k) { return (x * (w.t() * 2 + k)).sum(); },
                   {.name = "frozen", .recordings_max = 6});
  std::array<Tensor, kThreads> frozen;
  const Tensor shared = full({4, 4}, 3);
  freeze(shared);
  storm(kThreads, [&](int id, Random& r) -> std::string {
    Tensor& own = frozen[static_cast<std::size_t>(id)];
    if (!own.defined() || r() % 8 == 0) own = full({4, 4}, id), freeze(own);
    if (id == 0 && r() % 32 == 0) f.reset();
    if (id == 1 && r() % 16 == 0) return f.explain().empty() ? "nothing" : "";
    const bool other = r() % 2;
    const int k = below(r, 3);
    if (r() % 16 == 0) changed(other ? shared : own);
    return differs(total(f(ones({4, 4}), other ? shared : own, k)), 16.0 * ((other ? 3 : id) * 2 + k));
  });
}

TEST(Freed, WithNumbersOfData) {
  auto f = compile([](Tensor x, int k) { return masked_select(x, x.gt(0.5)) + k; },
                   {.name = "numbers", .recordings_max = 4, .mode = "interpret"});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 32 == 0) f.reset();
    const int n = 1 + below(r, 10), m = 1 + below(r, 10), k = below(r, 3);
    return differs(total(f(cat({ones({n}), zeros({m})}, 0), k)), n * (1.0 + k));
  });
}

// The inner function is part of the outer one's trace, and goes with its function object.
TEST(Freed, WithFunctionsInside) {
  auto inner = compile([](Tensor x, int k) { return x * k; }, {.name = "inner", .recordings_max = 3});
  auto outer = compile([inner](Tensor x, int k) { return inner(x, k).sum() + k; },
                       {.name = "outer", .recordings_max = 3, .on_miss = OnMiss::ServeMeanwhile});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 16 == 0) outer.reset();
    if (id == 1 && r() % 16 == 0) inner.reset();
    const int n = 1 + below(r, 10), k = below(r, 3);
    if (id % 2) return differs(total(inner(ones({n}), k)), n * k);
    return differs(total(outer(ones({n}), k)), n * k + k);
  });
}

// Many nodes, so that what is made is kept on disk, and found there after each reset.
TEST(Freed, WithRecipes) {
  const auto body = [](Tensor x, int k) {
    for (int i = 0; i < 8; ++i) x = (x + k).t() * 1.0;
    return x.sum();
  };
  auto f = compile(body, {.name = "recipe", .recordings_max = 3});
  auto g = compile(body, {.name = "recipe too", .recordings_max = 3, .on_miss = OnMiss::ServeMeanwhile});
  storm(kThreads, [&](int id, Random& r) {
    if (id == 0 && r() % 8 == 0) r() % 2 ? f.reset() : g.reset();
    const int n = 2 + below(r, 8), k = below(r, 2);
    const Tensor x = ones({n, 3});
    return differs(total(r() % 2 ? f(x, k) : g(x, k)), 3.0 * n * (1 + 8 * k));
  });
}

TEST(Freed, OfOperatorsThatRunEagerly) {
  struct Knob {
    std::int64_t before = knobs().eager_max;
    Knob() { knobs().eager_max = 16; }
    ~Knob() { knobs().eager_max = before; }
  } knob;
  storm(kThreads, [&](int, Random& r) {
    const int n = 1 + below(r, 20), rank = below(r, 4);
    Tensor x = ones(rank == 0 ? Ints{n} : rank == 1 ? Ints{n, 2} : rank == 2 ? Ints{n, 1, 2} : Ints{2, n, 1, 1});
    if (r() % 2) x = x.to(r() % 2 ? kFloat64 : kInt32);
    x = r() % 3 == 0 ? x + x : r() % 2 ? x * 2 : x - (x * -1);
    return differs(total(x), 2.0 * n * (rank ? 2 : 1));
  });
}

/// Waits until it may go on: whoever calls it is amid a call.
struct Gate {
  std::atomic<bool> inside{false}, open{false};
};
Gate gate;
const Operator& waits() {
  static const Library library("freedtest");
  static const Operator op = library.define({.schema = "waits(Tensor x) -> Tensor", .cpu = [](const KernelCall& k) {
                                               gate.inside = true;
                                               while (!gate.open) std::this_thread::yield();
                                               *k.result(0).as<float>() = *k.tensor(0).as<float>() + 1;
                                             }});
  return op;
}

Tensor held(Tensor x, int k) { return Tensor(waits()(x)) * k; }

TEST(Freed, ACallEndsWithWhatItHas) {
  for (const bool goes : {false, true}) {
    gate.inside = false, gate.open = true;
    std::optional f = compile(held, {.name = "held"});
    (*f)(zeros({1}), 3);
    gate.inside = gate.open = false;
    std::future<double> later = std::async(std::launch::async, [own = *f] { return total(own(ones({1}), 3)); });
    while (!gate.inside) std::this_thread::yield();
    f->reset();
    Stats s = f->stats();
    EXPECT_EQ(s.retired, 1);
    EXPECT_EQ(s.recordings, 1) << "it is there";
    EXPECT_EQ(s.specializations + s.compilations + s.calls + s.replays + s.recordings_made, 0) << "but it is forgotten";
    EXPECT_NE(f->explain().find("1 retired"), std::string::npos) << f->explain();
    if (goes) f.reset();
    gate.open = true;
    EXPECT_EQ(later.get(), 6);
    if (goes) continue;
    f->reset();
    s = f->stats();
    EXPECT_EQ(s.retired + s.recordings + s.replays + s.recordings_made, 0);
  }
}

TEST(Freed, WhatIsCountedBeginsAgain) {
  auto f = compile(sum_of, {.name = "counters"});
  storm(kThreads, [&](int id, Random& r) -> std::string {
    if (id) return call(f, r, 30, 4);
    f.reset();
    const Stats s = f.stats();
    return s.compilations > 8 || s.recordings_made < 0 ? "counters of what is gone" : "";
  });
  f.reset();
  const Stats s = f.stats();
  EXPECT_EQ(s.calls + s.replays + s.compilations + s.recordings_made + s.evictions + s.copied_bytes, 0);
  EXPECT_EQ(s.specializations + s.recordings, 0);
}

}  // namespace
}  // namespace reprise
