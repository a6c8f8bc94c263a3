// One compiled function, many threads.
#include <gtest/gtest.h>
#include <ucontext.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "reprise/reprise.h"
#include "tests/support/sanitized.h"

namespace reprise {
namespace {

template <class F>
void on_threads(int n, F f) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back([=] { f(i); });
  for (std::thread& t : threads) t.join();
}

TEST(Threads, OneCompilationServesEveryThreadAndSize) {
  auto f = compile([](Tensor x, Tensor w) { return softmax(mm(x, w) + 1, -1) * 2; }, {.name = "shared"});
  Tensor w = ones({4, 4});
  std::atomic<int> wrong{0};
  on_threads(8, [&](int id) {
    auto mine = f;  // copies share one state
    for (int i = 0; i < 40; ++i) {
      std::int64_t n = 2 + (id + i) % 9;
      std::vector<float> y = mine(ones({n, 4}), w).to_vector<float>();
      if (y.size() != static_cast<std::size_t>(4 * n)) ++wrong;
      for (float v : y)
        if (v != 0.5f) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().calls, 320);
}

TEST(Threads, ConcurrentReplaysOfOneRecordingDoNotShareScratch) {
  // The intermediate is too large to stay in a kernel, so that every replay writes it to its own lane of the pool.
  auto f = compile([](Tensor x, Tensor w) { return mm(mm(x, w), w); }, {.name = "scratch"});
  Tensor w = full({64, 64}, 0.5);
  f(ones({16, 64}), w);
  std::atomic<int> wrong{0};
  on_threads(6, [&](int id) {
    float value = static_cast<float>(id + 1);
    Tensor x = full({16, 64}, static_cast<double>(value));
    for (int i = 0; i < 60; ++i)
      for (float v : f(x, w).to_vector<float>())
        if (v != value * 1024.0f) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(f.stats().compilations, 1);
}

TEST(Threads, EagerOperatorsFromManyThreads) {
  std::atomic<int> wrong{0};
  on_threads(8, [&](int id) {
    for (int i = 0; i < 30; ++i) {
      Tensor x = full({3 + i % 4, 5}, static_cast<double>(id));
      x.slice(1, 0, 2).add_(1.0);
      double want = static_cast<double>(id) * 5 * (3 + i % 4) + 2.0 * (3 + i % 4);
      if (x.sum().item().to_double() != want) ++wrong;
    }
  });
  EXPECT_EQ(wrong, 0);
}

TEST(Threads, WritesToArgumentsOfTheirOwn) {
  auto f = compile([](Tensor cache, Tensor k, Int pos) { cache.slice(0, pos, pos + k.size(0)).copy_(k); },
                   {.name = "caches"});
  std::atomic<int> wrong{0};
  on_threads(4, [&](int id) {
    Tensor cache = zeros({40, 2}), k = full({2, 2}, id + 1.0);
    for (std::int64_t pos = 0; pos < 40; pos += 2) f(cache, k, pos);
    for (float v : cache.to_vector<float>())
      if (v != static_cast<float>(id + 1)) ++wrong;
  });
  EXPECT_EQ(wrong, 0);
}

/// A function on a stack of its own, which goes on where it has left.
class Fiber {
 public:
  Fiber(std::size_t bytes, std::function<void()> f) : stack_(std::make_unique<char[]>(bytes)), f_(std::move(f)) {
    getcontext(&its_);
    its_.uc_stack.ss_sp = stack_.get(), its_.uc_stack.ss_size = bytes, its_.uc_link = &outside_;
    next = this;
    makecontext(
        &its_, [] { next->f_(); }, 0);
  }
  void go_on() { swapcontext(&outside_, &its_); }
  void leave() { swapcontext(&its_, &outside_); }

 private:
  static inline Fiber* next = nullptr;
  std::unique_ptr<char[]> stack_;
  std::function<void()> f_;
  ucontext_t outside_{}, its_{};
};
constexpr std::size_t kSmall = std::size_t{192} << 10;

double total(const Tensor& t) { return t.sum().item().to_double(); }
std::string told(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

// What the thread does meanwhile is not the function's.
TEST(Fibers, ThatLeaveAmidATrace) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers follow no stacks of the program's making";
  Tensor w = ones({3}), other = ones({3}), third = full({3}, 3.0);
  Fiber* fiber = nullptr;
  bool leaves = true;
  auto g = compile([](Tensor x) { return x + 1; }, {.name = "g"});
  auto f = compile(
      [&](Tensor x) {
        Tensor y = x * w;
        if (leaves) fiber->leave();
        return y + w;
      },
      {.name = "f"});
  double got = 0;
  Fiber of_f(kSmall, [&] { got = total(f(full({3}, 2.0))); });
  fiber = &of_f;
  of_f.go_on();
  const std::string refused = told([&] { other.add_(1); });
  EXPECT_NE(refused.find("a fiber of this thread has left f/0 while that was traced"), std::string::npos) << refused;
  EXPECT_NE(told([&] { g(other); }).find("has left f/0"), std::string::npos);
  other = third;  // handles are nobody's business
  leaves = false;
  of_f.go_on();
  EXPECT_EQ(got, 9);
  EXPECT_EQ(total(other), 9) << "the function has not assigned it";
  other = ones({3});
  EXPECT_EQ(total(f(full({3}, 4.0))), 15);
  EXPECT_EQ(total(other), 3);
  EXPECT_EQ(total(g(ones({2}))), 4);
  EXPECT_EQ(f.stats().compilations, 1);
}

// A stack that is enough for the function is enough: code is made on another one.
TEST(Fibers, AreCalledFromAndCallCompiledFunctions) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers follow no stacks of the program's making";
  auto f = compile(
      [](Tensor x) {
        Tensor made;
        Fiber generator(kSmall, [&] { made = x * 2; });  // a part of the function
        generator.go_on();
        return made + 1;
      },
      {.name = "generates"});
  EXPECT_EQ(total(f(ones({4}))), 12);
  EXPECT_EQ(total(f(ones({5}))), 15);
  EXPECT_EQ(f.stats().replays, 2);
  auto g = compile([](Tensor x) { return softmax(mm(x, x.t()), -1) * 2 + 1; }, {.name = "on a fiber"});
  Tensor y;
  Fiber caller(kSmall, [&] { y = g(ones({2, 3})); });
  caller.go_on();
  EXPECT_EQ(total(y), 8);
  EXPECT_EQ(total(g(ones({4, 3}))), 24);
  EXPECT_EQ(g.stats().replays, 2);
}

}  // namespace
}  // namespace reprise
