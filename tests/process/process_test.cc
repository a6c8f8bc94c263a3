// The library in a process that forks, ends, has threads with small stacks or few addresses, and traces that wait for
// others.
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "reprise/reprise.h"
#include "tests/process/probe.h"
#include "tests/support/sanitized.h"

namespace reprise {
namespace {

using test::Ended;
using test::kSanitized;
using test::run_probe;

/// A function that nobody has compiled yet: its numbers are constants of its code.
Tensor fresh_work(Tensor x, std::int64_t seed) {
  auto f = compile([seed](Tensor t) {
    return (t * static_cast<double>(seed + 2) + static_cast<double>(seed)).sum(-1) + static_cast<double>(seed % 7);
  });
  return f(x);
}
double fresh_result(std::int64_t seed) {
  return 4.0 * static_cast<double>(2 * seed + 2) + static_cast<double>(seed % 7);
}
bool fresh_is_right(std::int64_t seed) {
  return fresh_work(ones({3, 4}), seed).to_vector<float>()[2] == static_cast<float>(fresh_result(seed));
}

void on_stack_of(std::size_t bytes, const std::function<void()>& f) {
  pthread_attr_t a;
  ASSERT_EQ(pthread_attr_init(&a), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&a, bytes), 0);
  pthread_t t;
  ASSERT_EQ(pthread_create(
                &t, &a, [](void* p) -> void* { return (*static_cast<const std::function<void()>*>(p))(), nullptr; },
                const_cast<std::function<void()>*>(&f)),
            0);
  pthread_join(t, nullptr);
  pthread_attr_destroy(&a);
}

// ---- forks

TEST(Fork, ChildrenOfAProcessThatCompilesCanDoEverything) {
  if (kSanitized) GTEST_SKIP() << "sanitizers do not support children of processes with threads";
  std::atomic<bool> done{false};
  std::atomic<std::int64_t> seeds{1000};
  std::atomic<int> wrong{0};
  auto shared = compile([](Tensor x, Tensor w) { return mm(x, w) + 1; }, {.name = "shared"});
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      for (std::int64_t n = 1; !done; ++n) {
        const std::int64_t seed = seeds++;
        if (i == 0 && !fresh_is_right(seed)) ++wrong;
        if (i == 1 && (full({2 + n % 50, 3}, 2.0) * ones({3})).sum().item().to_double() !=
                          2.0 * 3 * static_cast<double>(2 + n % 50))
          ++wrong;
        if (i == 2 && shared(ones({n % 40 + 1, 64}), ones({64, 64})).to_vector<float>()[0] != 65) ++wrong;
      }
    });
  for (int i = 0; i < 15; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3 * i % 11));
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(100);  // a child that hangs is killed
      const std::int64_t seed = 1'000'000 + i;
      bool right = fresh_is_right(seed);
      right = right && shared(ones({i + 50, 64}), ones({64, 64})).to_vector<float>()[0] == 65;
      right = right && (arange(40 + i) + i).sum().item().to_int() == (40 + i) * (39 + i) / 2 + i * (40 + i);
      right = right && ones({300, 300}).sum().item().to_double() == 90000;
      std::thread other([&] { right = right && fresh_is_right(seed + 500); });
      other.join();
      right = right && shared.stats().calls > 0;
      _exit(right ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "fork " << i << ", signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0) << "fork " << i;
  }
  done = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Fork, AmidATrace) {
  if (kSanitized) GTEST_SKIP();
  // The child goes on with the trace that it was forked in; its parent does, too.
  int forks = 0;
  bool in_child = false;
  auto f = compile(
      [&](Tensor x) {
        Tensor y = x + 1;
        if (forks++ == 0) {
          const pid_t child = fork();
          in_child = child == 0;
          if (in_child) alarm(100);
          int status = 0;
          if (child > 0 && (waitpid(child, &status, 0) != child || status != 0)) forks = -1000;
        }
        return y * 2;
      },
      {.name = "forks"});
  const bool right = f(ones({3})).to_vector<float>()[1] == 4 && f(ones({5})).to_vector<float>()[1] == 4;
  if (in_child) _exit(right ? 0 : 1);
  EXPECT_TRUE(right);
  EXPECT_GT(forks, 0);
}

// ---- traces and threads

TEST(Turns, ATraceMayWaitForAThreadThatCallsTheSameFunction) {
  CompiledFunction<std::function<Tensor(Tensor, bool)>>* self = nullptr;
  std::atomic<int> inner{0};
  auto f = compile(std::function<Tensor(Tensor, bool)>([&](Tensor x, bool outer) {
                     if (outer)
                       std::thread([&] {
                         if ((*self)(ones({3}), false).to_vector<float>()[0] == 2) ++inner;
                         if ((*self)(ones({4}), false).to_vector<float>()[0] == 2) ++inner;
                       }).join();
                     return x + 1;
                   }),
                   {.name = "joins"});
  self = &f;
  EXPECT_EQ(f(ones({2}), true).to_vector<float>()[0], 2);
  EXPECT_EQ(inner, 2);
  EXPECT_NE(f.stats().last_fallback_reason.find("it may wait for this call"), std::string::npos)
      << f.stats().last_fallback_reason;
  EXPECT_EQ(f(ones({2}), false).to_vector<float>()[0], 2);
  EXPECT_EQ(f.stats().compilations, 2);
}

TEST(Turns, AFunctionMayAskForItsOwnStatisticsWhileItIsTraced) {
  CompiledFunction<std::function<Tensor(Tensor)>>* self = nullptr;
  std::int64_t seen = -1;
  auto f = compile(std::function<Tensor(Tensor)>([&](Tensor x) {
    seen = self->stats().specializations;
    EXPECT_NE(self->explain(), "");
    return x + 1;
  }));
  self = &f;
  f(ones({2}));
  EXPECT_EQ(seen, 0);
  EXPECT_EQ(f.stats().compilations, 1);
}

// ---- small stacks

TEST(Stack, SixtyFourKibibytesAreEnough) {
  if (kSanitized) GTEST_SKIP() << "instrumented frames are larger";
  auto f = compile(
      [](Tensor x, Tensor w) {
        Tensor y = mm(x, w);
        for (int i = 0; i < 20; ++i) y = softmax(y + i, -1) * 3 + y.sum(-1, true);
        return y;
      },
      {.name = "on_small_stack"});
  auto g = compile([](Tensor x, Tensor w) { return mm(x, w) * 2; }, {.name = "on_small_stack_too"});
  std::vector<float> small, again, eager;
  std::string error;
  on_stack_of(64 << 10, [&] {
    try {
      eager = (mm(ones({5, 16}), ones({16, 16})) * 2).to_vector<float>();
      small = f(ones({5, 16}), ones({16, 16})).to_vector<float>();
      again = f(ones({7, 16}), ones({16, 16})).to_vector<float>();
      EXPECT_EQ(g(ones({5, 16}), ones({16, 16})).to_vector<float>(), eager);
      EXPECT_NE(f.explain(), "");
    } catch (const std::exception& e) {
      error = e.what();
    }
  });
  EXPECT_EQ(error, "");
  EXPECT_EQ(small, f(ones({5, 16}), ones({16, 16})).to_vector<float>());
  EXPECT_EQ(again.size(), 7u * 16);
  EXPECT_EQ(eager.at(0), 32);
  EXPECT_EQ(f.stats().compilations, 1);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Stack, AnErrorOfTheOtherThreadIsThisOnes) {
  if (kSanitized) GTEST_SKIP();
  ErrorCode code{};
  on_stack_of(64 << 10, [&] {
    try {
      compile([](Tensor x) { return mm(x, x); })(ones({2, 3}));
    } catch (const Error& e) {
      code = e.code();
    }
  });
  EXPECT_EQ(code, ErrorCode::ShapeMismatch);
}

// ---- addresses

TEST(Probe, FewAddresses) {
  PROBE_ONLY();
  // Some libraries and one compiled call first; then half a gigabyte of addresses is all there is.
  fresh_work(ones({3, 4}), 1);
  release_pool();
  std::int64_t pages = 0;
  FILE* statm = fopen("/proc/self/statm", "r");
  ASSERT_EQ(fscanf(statm, "%ld", &pages), 1);
  fclose(statm);
  const rlim_t bytes = static_cast<rlim_t>(pages * sysconf(_SC_PAGESIZE)) + (rlim_t{512} << 20);
  const rlimit limit{bytes, bytes};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  auto f = compile([](Tensor x, Tensor w) { return mm(mm(x, w), w); }, {.name = "few_addresses"});
  for (std::int64_t n : {4, 40, 4000, 20000, 40})
    EXPECT_EQ(f(ones({n, 64}), full({64, 64}, 0.5)).to_vector<float>().back(), 1024) << n;
  EXPECT_GT(stats().pool_bytes, 0);
  // What is cached makes way: 300 MB of one size and then of another.
  { Tensor a = zeros({300, 250'000}); }
  { Tensor b = zeros({310, 250'000}); }
  try {
    f(ones({4'000'000, 64}), full({64, 64}, 0.5));
    ADD_FAILURE() << "a gigabyte in half a gigabyte";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::OutOfMemory) << e.what();
  }
  EXPECT_EQ(f(ones({40, 64}), full({64, 64}, 0.5)).to_vector<float>().back(), 1024);
  EXPECT_TRUE(fresh_is_right(2));
}

TEST(Addresses, ALimitLeavesASmallerPool) {
  if (kSanitized) GTEST_SKIP() << "shadow memory needs addresses";
  const Ended e = run_probe("FewAddresses");
  EXPECT_EQ(e.status, 0) << e.text;
}

// ---- ends

TEST(Probe, EndsWhileOthersCompile) {
  PROBE_ONLY();
  static std::atomic<std::int64_t> seeds{0};
  for (int i = 0; i < 3; ++i)
    std::thread([] {
      for (;;) fresh_work(ones({3, 4}), seeds++);
    }).detach();
  std::thread([] {
    Tensor w = ones({128, 128});
    for (std::int64_t n = 0;; ++n) mm(ones({200 + n % 50, 128}), w).sum().item();
  }).detach();
  // Behind the backs of calls: some of it still waits when the end comes.
  auto f = compile([](Tensor x, int k) { return tanh(x * k) + exp(x - k); },
                   {.max_specializations = 1000, .on_miss = OnMiss::ServeMeanwhile});
  for (int k = 0; k < 30; ++k) f(ones({3, 4}), k);
  const char* ms = std::getenv("REPRISE_TEST_MS");
  std::this_thread::sleep_for(std::chrono::milliseconds(ms ? std::atoi(ms) : 0));
  std::exit(0);
}

TEST(End, WhileOtherThreadsCompile) {
  if (kSanitized) GTEST_SKIP() << "threads that are detached";
  const char* times = std::getenv("REPRISE_TEST_ENDS");
  for (int i = 0; i < (times ? std::atoi(times) : 12); ++i) {
    const Ended e = run_probe("EndsWhileOthersCompile", "REPRISE_TEST_MS=" + std::to_string(i * 7 % 60));
    EXPECT_EQ(e.status, 0) << i << ": " << e.text;
  }
}

// ---- profiles

TEST(Probe, EndsWithProfiles) {
  PROBE_ONLY();
  for (const bool stays : {true, false}) {
    auto f = compile([](Tensor x) { return exp(x).sum(); }, {.name = stays ? "profiled" : "switched off"});
    f(ones({3}));
    if (!stays) f.profile(false);
    f(ones({3}));
  }
}

TEST(Profile, OfWhatIsGoneIsPrintedAlsoIfItWasSwitchedOff) {
  const Ended e = run_probe("EndsWithProfiles", "REPRISE_PROFILE=1");
  EXPECT_EQ(e.status, 0) << e.text;
  for (const char* name : {" profiled: ", " switched off: "}) EXPECT_NE(e.text.find(name), std::string::npos) << e.text;
}

}  // namespace
}  // namespace reprise
