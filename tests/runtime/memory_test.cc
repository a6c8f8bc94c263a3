// What is made for calls that do not come back is freed.
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "base/knobs.h"
#include "reprise/reprise.h"
#include "tests/support/sanitized.h"

namespace reprise {
namespace {

using test::kSanitized;

// What the allocator could give back does not count: how much it keeps depends on the tests before.
std::int64_t resident_bytes() {
  malloc_trim(0);
  std::int64_t pages = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

// A request makes its own table of numbers, and the function reads it wherever it is now.
struct Requests {
  std::unique_ptr<Tensor> table;
  CompiledFunction<std::function<Tensor(Tensor)>> f;
  explicit Requests(const char* name)
      : f(compile(std::function<Tensor(Tensor)>([this](Tensor x) { return x + *table; }), {.name = name})) {}
  void one(double value, int calls) {
    table.reset();
    table = std::make_unique<Tensor>(full({4}, value));
    for (int i = 0; i < calls; ++i) EXPECT_EQ(f(ones({4})).to_vector<float>()[3], static_cast<float>(value + 1));
  }
};

TEST(Memory, SpecializationsOfVariablesThatAreGoneAreFreed) {
  Requests requests("made_anew");
  constexpr int kCalls = 17, kWarm = 40, kMore = 400;
  for (int i = 0; i < kWarm; ++i) requests.one(i, kCalls);
  const std::int64_t before = resident_bytes();
  for (int i = 0; i < kMore; ++i) requests.one(i, kCalls);
  EXPECT_TRUE(kSanitized || resident_bytes() - before < kMore * std::int64_t{12} << 10) << resident_bytes() - before;
  const Stats s = requests.f.stats();
  EXPECT_EQ(s.specializations, 1);
  EXPECT_EQ(s.retired, 0);
  EXPECT_EQ(s.compilations, kWarm + kMore);
  EXPECT_EQ(s.replays, (kWarm + kMore) * kCalls);  // those of the freed ones are counted
  EXPECT_EQ(s.recordings, 1);
  EXPECT_EQ(s.recordings_made, kWarm + kMore);
}

TEST(Memory, TheyAreFreedWhileOtherThreadsCall) {
  // Each thread has requests of its own, all of one function: whoever retires a specialization does so under the
  // others' feet.
  static thread_local std::unique_ptr<Tensor>* mine = nullptr;
  std::unique_ptr<Tensor> tables[4];
  auto f = compile([&](Tensor x, std::int64_t id) { return x + *tables[id]; }, {.name = "threads_anew"});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (std::int64_t id = 0; id < 4; ++id)
    threads.emplace_back([&, id] {
      mine = &tables[id];
      for (int i = 0; i < 40; ++i) {
        mine->reset();
        *mine = std::make_unique<Tensor>(full({4}, static_cast<double>(10 * i + id)));
        for (int c = 0; c < 30; ++c)
          if (f(ones({4}), id).to_vector<float>()[0] != static_cast<float>(10 * i + id + 1)) ++wrong;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  const Stats s = f.stats();
  EXPECT_LE(s.specializations, 4);
  EXPECT_LT(s.retired, 80);  // of 160: one that a call was in goes with a later one
  EXPECT_EQ(s.replays + s.eager_fallbacks, 4 * 40 * 30);
}

TEST(Memory, ResetWhileOtherThreadsCall) {
  auto f = compile([](Tensor x) { return x * 2; }, {.name = "reset_under_calls"});
  std::atomic<bool> done{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int id = 0; id < 2; ++id)
    threads.emplace_back([&] {
      while (!done)
        if (f(ones({3})).to_vector<float>()[2] != 2) ++wrong;
    });
  for (int i = 0; i < 60; ++i) {
    f(ones({3}));
    f.reset();
  }
  done = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Memory, KindsOfEagerCallsAreBounded) {
  struct Knob {
    std::int64_t before = knobs().eager_max;
    Knob() { knobs().eager_max = 32; }
    ~Knob() { knobs().eager_max = before; }
  } knob;
  // Every pattern of strides of six dimensions is a structure of its own. The code of most is the same.
  auto call = [](int pattern) {
    Ints strides;
    for (int d = 0; d < 6; ++d, pattern /= 3) strides.push_back(pattern % 3 == 2 ? 3 : pattern % 3);
    Tensor x = arange(24).as_strided({2, 2, 2, 2, 2, 2}, strides);
    EXPECT_EQ((x + x).to_vector<std::int64_t>().back(), 2 * x.to_vector<std::int64_t>().back());
  };
  for (int i = 0; i < 100; ++i) call(i);
  const std::int64_t before = resident_bytes(), traces = stats().traces;
  for (int i = 100; i < 500; ++i) call(i);
  EXPECT_TRUE(kSanitized || resident_bytes() - before < 400 * std::int64_t{20} << 10) << resident_bytes() - before;
  EXPECT_GE(stats().traces - traces, 400);
  for (int i = 0; i < 3; ++i) call(i);  // evicted, and made again
}

}  // namespace
}  // namespace reprise
