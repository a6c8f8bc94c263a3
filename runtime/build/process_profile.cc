#include "runtime/build/process_profile.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <set>
#include <tuple>

#include "base/fork.h"
#include "base/shown.h"
#include "runtime/build/specialization.h"
#include "runtime/replay/profile.h"

namespace reprise::detail {

namespace {

ForkMutex& mu() {
  static ForkMutex* m = new ForkMutex;  // never destroyed: programs end in static objects' destructors, too
  return *m;
}

/// With REPRISE_PROFILE: what lives, and the sums of what is gone, by function, launch and line.
struct Kept {
  static constinit std::atomic<bool> any;  ///< is there one?
  std::set<const Specialization*> live;
  std::map<std::tuple<std::string, std::string, std::string, std::string>, Stats::Launch> gone;

  static Kept& get() {
    static Kept* k = new Kept;
    return *k;
  }
  void add(const Specialization& s) {
    for (Stats::Launch& l : s.launches(s.name)) {
      l.specialization = l.specialization.substr(0, l.specialization.rfind('/'));
      Stats::Launch& to = gone.try_emplace({l.specialization, l.name, l.operators, l.line},
                                           Stats::Launch{l.specialization, l.name, l.operators, l.line})
                              .first->second;
      to.calls += l.calls, to.ns += l.ns, to.bytes += l.bytes, to.flops += l.flops;
    }
  }
};

constinit std::atomic<bool> Kept::any{false};

void print_at_exit() {
  std::vector<Stats::Launch> all;
  {
    std::lock_guard lock(mu());
    Kept& k = Kept::get();
    for (const Specialization* s : k.live) k.add(*s);
    for (const auto& [key, l] : k.gone) all.push_back(l);
  }
  if (all.empty()) return;
  constexpr std::size_t kRows = 40;
  const std::string table = shown_lines(runtime::print_launches(std::move(all), kRows));
  std::fputs(("REPRISE_PROFILE: what launches took, in all\n" + table).c_str(), stderr);
}

}  // namespace

void profile_from_start(const Specialization& s) {
  runtime::copy_rate();  // while threads are there
  static const int at_exit = std::atexit(print_at_exit);
  static_cast<void>(at_exit);
  s.profile(true);
  std::lock_guard lock(mu());
  Kept::get().live.insert(&s);
  Kept::any.store(true, std::memory_order_relaxed);
}

// Also of one whose profile is off by now: the sums stay.
void profile_ends(const Specialization& s) noexcept {
  if (!Kept::any.load(std::memory_order_relaxed)) return;
  std::lock_guard lock(mu());
  if (!Kept::get().live.erase(&s)) return;
  try {
    Kept::get().add(s);
  } catch (const std::bad_alloc&) {  // its line is missing
  }
}

}  // namespace reprise::detail
