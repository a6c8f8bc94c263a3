#include "device/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "device/cpu_info.h"

namespace reprise::device {
namespace {

struct Seen {
  std::mutex mu;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  std::set<std::thread::id> threads;
  static void note(void* ctx, std::int64_t b, std::int64_t e) {
    Seen& s = *static_cast<Seen*>(ctx);
    std::lock_guard lock(s.mu);
    s.ranges.push_back({b, e});
    s.threads.insert(std::this_thread::get_id());
  }
};
struct Threads {
  explicit Threads(int n) : before(num_threads()) { set_num_threads(n); }
  ~Threads() { set_num_threads(before); }
  int before;
};

TEST(Parallel, ChunksCoverTheRangeExactly) {
  for (std::int64_t n : {1, 2, 7, 100, 1000, 4097, 1'000'003})
    for (std::int64_t grain : {1, 3, 64, 5000}) {
      Seen s;
      parallel_for(n, grain, Seen::note, &s);
      std::sort(s.ranges.begin(), s.ranges.end());
      std::int64_t at = 0;
      for (auto [b, e] : s.ranges) {
        EXPECT_EQ(b, at);
        EXPECT_GT(e, b);
        if (s.ranges.size() > 1) {
          EXPECT_GE(e - b, std::max<std::int64_t>(grain / 4, 1)) << n;
        }
        at = e;
      }
      EXPECT_EQ(at, n);
    }
}

TEST(Parallel, SmallRangesStayOnTheCaller) {
  Seen s;
  parallel_for(100, 300, Seen::note, &s);
  EXPECT_EQ(s.ranges.size(), 1u);
  EXPECT_EQ(s.threads, std::set<std::thread::id>{std::this_thread::get_id()});
  Seen none;
  parallel_for(0, 1, Seen::note, &none);
  parallel_for(-5, 1, Seen::note, &none);
  EXPECT_TRUE(none.ranges.empty());
}

TEST(Parallel, OneThreadMeansTheCaller) {
  Threads one(1);
  EXPECT_EQ(num_threads(), 1);
  Seen s;
  parallel_for(1 << 20, 1, Seen::note, &s);
  EXPECT_EQ(s.ranges.size(), 1u);
  EXPECT_EQ(s.threads, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(Parallel, LimitIsClampedToTheMachine) {
  Threads keep(num_threads());
  set_num_threads(1 << 20);
  EXPECT_LE(num_threads(), cpu_info().cores);
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
}

TEST(Parallel, TwoChunksReallyMeet) {
  if (num_threads() < 2) GTEST_SKIP() << "one core";
  // Both halves wait for each other: this ends only if they run at the same time.
  struct Meeting {
    std::atomic<int> here{0};
  } m;
  Threads two(2);
  parallel_for(
      2, 1,
      [](void* ctx, std::int64_t, std::int64_t) {
        Meeting& m = *static_cast<Meeting*>(ctx);
        m.here.fetch_add(1);
        while (m.here.load() < 2) std::this_thread::yield();
      },
      &m);
  EXPECT_EQ(m.here.load(), 2);
}

TEST(Parallel, NestedRangesRunOnTheirThread) {
  struct Count {
    std::atomic<std::int64_t> n{0}, moved{0};
  } count;
  parallel_for(
      64, 1,
      [](void* ctx, std::int64_t b, std::int64_t e) {
        struct Inner {
          Count* c;
          std::thread::id outer;
        } inner{static_cast<Count*>(ctx), std::this_thread::get_id()};
        for (std::int64_t i = b; i < e; ++i)
          parallel_for(
              100, 1,
              [](void* p, std::int64_t b, std::int64_t e) {
                Inner& in = *static_cast<Inner*>(p);
                in.c->n += e - b;
                in.c->moved += in.outer != std::this_thread::get_id();
              },
              &inner);
      },
      &count);
  EXPECT_EQ(count.n.load(), 6400);
  EXPECT_EQ(count.moved.load(), 0);
}

TEST(Parallel, ManyCallersAtOnce) {
  std::vector<std::thread> callers;
  std::atomic<std::int64_t> total{0};
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i)
        parallel_for(
            1000, 10,
            [](void* ctx, std::int64_t b, std::int64_t e) { *static_cast<std::atomic<std::int64_t>*>(ctx) += e - b; },
            &total);
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(total.load(), 6 * 50 * 1000);
}

TEST(CpuInfo, IsConsistent) {
  const CpuInfo& c = cpu_info();
  EXPECT_GE(c.cores, 1);
  EXPECT_FALSE(c.model.empty());
  EXPECT_GE(c.l1d_bytes, 8 << 10);
  EXPECT_GT(c.l2_bytes, c.l1d_bytes);
  if (c.avx512) {
    EXPECT_TRUE(c.avx2);
    EXPECT_EQ(c.vector_bits(), 512);
  }
  EXPECT_TRUE(c.avx512 || !c.avx512_bf16);
  EXPECT_NE(c.str().find(c.model), std::string::npos);
}

}  // namespace
}  // namespace reprise::device
