#include "device/team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/comes_true.h"

namespace reprise::device {
namespace {

using test::comes_true;

// Teams of more threads than there are cores: what they do then is right, if not quick. They are never destroyed: their
// threads do not end.
Team& team_of(int workers) {
  static auto* teams = new std::vector<std::pair<int, Team*>>;
  for (auto& [n, t] : *teams)
    if (n == workers) return *t;
  return *teams->emplace_back(workers, new Team(workers)).second;
}

/// Every index once, whoever takes it.
struct Counted {
  explicit Counted(std::int64_t n) : times(static_cast<std::size_t>(n)) {}
  std::vector<std::atomic<int>> times;
  static void add(void* ctx, std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      static_cast<Counted*>(ctx)->times[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
  }
  bool once() const {
    return std::all_of(times.begin(), times.end(), [](const std::atomic<int>& t) { return t.load() == 1; });
  }
};

TEST(Team, EveryIndexIsServedOnce) {
  for (int workers : {1, 2, 7})
    for (std::int64_t n : {2, 3, 7, 8, 9, 100, 1001, 40'000})
      for (std::int64_t least : {1, 3, 50})
        for (std::int64_t wake : {1, 3, 50, 10'000}) {
          if (wake < least) continue;
          Counted c(n);
          team_of(workers).run({n, least, wake, Counted::add, &c}, workers + 1);
          EXPECT_TRUE(c.once()) << n << " in " << least << ", " << wake << " on " << workers;
        }
  EXPECT_EQ(team_of(7).made(), 7);
}

TEST(Team, AllWhoAreWantedMeet) {
  struct Meeting {
    std::atomic<int> here{0};
    int all;
  };
  for (int times = 0; times < 10; ++times)
    for (int threads : {2, 5, 8}) {
      Meeting m{{0}, threads};
      auto meet = [](void* ctx, std::int64_t begin, std::int64_t end) {
        auto& meeting = *static_cast<Meeting*>(ctx);
        meeting.here.fetch_add(static_cast<int>(end - begin));
        EXPECT_TRUE(comes_true([&] { return meeting.here.load() >= meeting.all; }));
      };
      team_of(7).run({threads, 1, 1, meet, &m}, threads);
      EXPECT_EQ(m.here.load(), threads);
    }
}

TEST(Team, AWorkerKeepsItsPart) {
  // Threads that are there for a range again and again have the same part of it, as long as none is late.
  struct Who {
    std::atomic<std::thread::id> of[2];
    std::atomic<int> here{0};
  } before, now;
  auto note = [](void* ctx, std::int64_t begin, std::int64_t end) {
    auto& who = *static_cast<Who*>(ctx);
    for (std::int64_t i = begin; i < end; ++i) who.of[i].store(std::this_thread::get_id());
    who.here.fetch_add(1);
    EXPECT_TRUE(comes_true([&] { return who.here.load() >= 2; }));
  };
  team_of(1).run({2, 1, 1, note, &before}, 2);
  for (int i = 0; i < 50; ++i) {
    now.here = 0;
    team_of(1).run({2, 1, 1, note, &now}, 2);
    EXPECT_EQ(now.of[0].load(), std::this_thread::get_id());
    EXPECT_EQ(now.of[1].load(), before.of[1].load());
  }
}

TEST(Team, IdleWorkersSleep) {
  Team& team = team_of(3);
  Counted c(1000);
  team.run({1000, 1, 1, Counted::add, &c}, 4);
  EXPECT_TRUE(comes_true([&] { return team.made() == 3 && team.asleep() == 3; }));
  Counted again(1000);
  team.run({1000, 1, 1, Counted::add, &again}, 4);
  EXPECT_TRUE(again.once());
  EXPECT_TRUE(comes_true([&] { return team.asleep() == 3; }));
}

TEST(Team, ShortWorkWakesNobodyAtOnce) {
  Team& team = team_of(2);
  Counted c(8);
  team.run({8, 1, 1, Counted::add, &c}, 3);
  ASSERT_TRUE(comes_true([&] { return team.asleep() == 2; }));
  for (int i = 0; i < 3; ++i) {
    Counted few(4);
    team.run({4, 1, 4, Counted::add, &few}, 3);  // not worth waking anybody
    EXPECT_TRUE(few.once());
    EXPECT_EQ(team.asleep(), 2);
  }
  bool woken = false;  // but often enough, it is
  for (int i = 0; i < 1000 && !woken; ++i) {
    Counted few(4);
    team.run({4, 1, 4, Counted::add, &few}, 3);
    EXPECT_TRUE(few.once());
    woken = team.asleep() < 2;
  }
  EXPECT_TRUE(woken);
}

TEST(Team, CallersAtOnceShareWhatThereIs) {
  Team& team = team_of(7);
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t)
    callers.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        Counted c(100 + 13 * t + i);
        team.run({static_cast<std::int64_t>(c.times.size()), 3, i % 3 ? 12 : 300, Counted::add, &c}, 2 + (i + t) % 7);
        wrong += !c.once();
      }
    });
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST(Team, NoMoreAreAtWorkThanTheLimit) {
  Team& team = team_of(7);
  static std::atomic<int> now{0}, most{0};
  auto work = [](void*, std::int64_t, std::int64_t) {
    int n = now.fetch_add(1) + 1, before = most.load();
    while (before < n && !most.compare_exchange_weak(before, n)) {
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    now.fetch_sub(1);
  };
  std::vector<std::thread> callers;
  for (int t = 0; t < 3; ++t)
    callers.emplace_back([&] {
      for (int i = 0; i < 50; ++i) team.run({16, 1, 1, work, nullptr}, 3);
    });
  for (std::thread& t : callers) t.join();
  // Each caller works itself. One that begins looks at who is there already; the one before it may have been given a
  // worker too many by then.
  EXPECT_LE(most.load(), 3 + 2);
}

TEST(Team, AThreadThatIsHeldUpDoesNotHoldUpTheRest) {
  struct Slow {
    std::thread::id caller = std::this_thread::get_id();
    std::atomic<int> by_caller{0}, by_other{0};
  } slow;
  auto work = [](void* ctx, std::int64_t begin, std::int64_t end) {
    auto& s = *static_cast<Slow*>(ctx);
    if (std::this_thread::get_id() == s.caller) {
      s.by_caller += static_cast<int>(end - begin);
    } else {
      s.by_other += static_cast<int>(end - begin);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  };
  team_of(1).run({64, 1, 1, work, &slow}, 2);
  EXPECT_EQ(slow.by_caller + slow.by_other, 64);
  EXPECT_LE(slow.by_other.load(), 16);  // chunks of 8
}

TEST(Team, AChildOfForkHasThreadsOfItsOwn) {
  if (num_threads() < 2) GTEST_SKIP() << "one core";
  auto serves = [] {
    Counted c(1 << 16);
    parallel_for(1 << 16, 1 << 12, Counted::add, &c);
    return c.once();
  };
  auto two_meet = [] {
    std::atomic<int> here{0};
    parallel_for(
        2, 1,
        [](void* ctx, std::int64_t begin, std::int64_t end) {
          auto& h = *static_cast<std::atomic<int>*>(ctx);
          h += static_cast<int>(end - begin);
          comes_true([&] { return h.load() >= 2; });
        },
        &here);
    return here.load() == 2;
  };
  ASSERT_TRUE(serves() && two_meet());
  for (int i = 0; i < 5; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      alarm(60);
      _exit(serves() && two_meet() ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    EXPECT_TRUE(serves());
  }
}

}  // namespace
}  // namespace reprise::device
