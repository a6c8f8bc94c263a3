#include "device/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "base/knobs.h"
#include "device/cpu_info.h"
#include "tests/support/comes_true.h"

namespace reprise::device {
namespace {

using test::comes_true;

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
        EXPECT_TRUE(comes_true([&] { return m.here.load() == 2; }));
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
  for (const CpuFeature& f : cpu_features()) EXPECT_TRUE(!(c.*f.has) || !f.needs || c.*f.needs) << f.name;
  EXPECT_NE(c.str().find(c.model), std::string::npos);
}

TEST(CpuInfo, KnobsTakeFeaturesAway) {
  const CpuInfo host = cpu_info();
  auto with = [](const char* cpu) -> const CpuInfo& {
    Scoped<std::string> knob(knobs().cpu, cpu);
    return cpu_info();
  };
  const CpuInfo& oldest = with("x86-64-v2");
  EXPECT_EQ(oldest.refusal, "");
  EXPECT_EQ(oldest.vector_bits(), 128);
  EXPECT_EQ(oldest.level, "x86-64-v2");
  for (const CpuFeature& f : cpu_features()) EXPECT_FALSE(oldest.*f.has) << f.name;
  EXPECT_EQ(&oldest, &with("x86-64-v2")) << "asked once";
  // What needs a feature goes with it.
  const CpuInfo& narrow = with("-avx512");
  EXPECT_LE(narrow.vector_bits(), 256);
  EXPECT_EQ(narrow.avx2, host.avx2);
  for (const CpuFeature& f : cpu_features()) EXPECT_FALSE(f.needs == &CpuInfo::avx512 && narrow.*f.has) << f.name;
  EXPECT_EQ(narrow.level, "") << "code is still for this model";
  if (host.avx512) {
    const CpuInfo& level = with("avx512");
    EXPECT_TRUE(level.avx512 && !level.avx512_vnni);
    const CpuInfo& less = with("-avx512-vnni,-amx");
    EXPECT_TRUE(less.avx512 && !less.avx512_vnni && !less.amx_bf16 && !less.amx_int8);
    Scoped<std::int64_t> width(knobs().vector_bits, 256);
    EXPECT_FALSE(cpu_info().avx512);
    EXPECT_EQ(cpu_info().vector_bits(), 256);
  }
}

TEST(CpuInfo, WhatIsNotThereIsRefusedInAMessageThatListsWhatIs) {
  auto refusal = [](const char* cpu) {
    Scoped<std::string> knob(knobs().cpu, cpu);
    return cpu_info().refusal;
  };
  EXPECT_EQ(refusal("avx9"),
            "no level is called avx9; there are x86_64_v2, avx2, avx512, avx512_vnni, avx512_bf16, amx, emulated");
  EXPECT_EQ(refusal("-sse2").substr(0, 47), "no feature is called sse2; there are avx2, f16c");
  EXPECT_EQ(refusal("avx2,avx512"), "one level at most");
  if (!cpu_info().amx_bf16) {
    EXPECT_NE(refusal("amx").find("this processor has no "), std::string::npos);
    EXPECT_NE(refusal("amx").find("; it has "), std::string::npos);
  }
  if (cpu_info().avx512_vnni && cpu_info().avx512_vbmi) {
    Scoped<std::string> knob(knobs().cpu, "amx,emulated");
    EXPECT_EQ(cpu_info().refusal, "");
    EXPECT_TRUE(cpu_info().emulates_amx != cpu_info().amx_bf16);
  }
}

}  // namespace
}  // namespace reprise::device
