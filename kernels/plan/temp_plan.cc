#include "kernels/plan/temp_plan.h"

#include <algorithm>
#include <numeric>

#include "base/errors.h"

namespace reprise::kernels {

namespace {

/// What a loop uses from outside, carries from turn to turn, or sees in parts is there for all of it. What a turn makes
/// and reads itself lives within the turn, as the launches stand.
void extend_over_loops(const Lowered& l, const std::vector<std::int32_t>& at, std::vector<TempLife>& lives) {
  struct Range {
    std::uint32_t first, last;
    const Repeat* of;
  };
  std::vector<Range> loops;
  const auto ranges = repeat_ranges(l);
  for (std::size_t r = 0; r < ranges.size(); ++r)
    if (ranges[r].second > 0) loops.push_back({ranges[r].first, ranges[r].second - 1, &l.repeats[r]});
  // the inner ones first: what they extend, the outer ones see
  std::sort(loops.begin(), loops.end(),
            [](const Range& a, const Range& b) { return a.last - a.first < b.last - b.first; });
  for (const Range& loop : loops) {
    auto whole = [&](TempLife& life) {
      life.first = std::min(life.first, loop.first), life.last = std::max(life.last, loop.last);
    };
    for (TempLife& life : lives) {
      const bool meets = life.first <= loop.last && loop.first <= life.last,
                 inside = loop.first <= life.first && life.last <= loop.last;
      if (meets && !inside) whole(life);
    }
    auto held = [&](std::uint32_t b) {
      if (at[b] >= 0) whole(lives[static_cast<std::size_t>(at[b])]);
    };
    // Behind an odd number of turns each has the other's memory.
    for (const Repeat::Swap& s : loop.of->swaps) {
      if (at[s.read] < 0 || at[s.made] < 0) continue;
      TempLife &a = lives[static_cast<std::size_t>(at[s.read])], &b = lives[static_cast<std::size_t>(at[s.made])];
      whole(a), whole(b);
      a.first = b.first = std::min(a.first, b.first), a.last = b.last = std::max(a.last, b.last);
    }
    for (const Repeat::Window& w : loop.of->windows) held(w.of);
  }
}

}  // namespace

std::vector<TempLife> temp_lives(const Lowered& l) {
  std::vector<std::int32_t> at(l.buffers.size(), -1);
  std::vector<TempLife> lives;
  for (std::uint32_t i = 0; i < l.launches.size(); ++i) {
    for_each_buffer(l.launches[i], [&](std::uint32_t b) {
      if (l.buffers[b].kind != Buffer::Kind::Temp) return;
      if (at[b] < 0) {
        at[b] = static_cast<std::int32_t>(lives.size());
        lives.push_back({b, i, i});
      }
      lives[static_cast<std::size_t>(at[b])].last = i;
    });
  }
  // Read by the host when all launches are over.
  if (l.fault_record)
    if (std::int32_t record = at[*l.fault_record]; record >= 0)
      lives[static_cast<std::size_t>(record)].last = static_cast<std::uint32_t>(l.launches.size() - 1);
  extend_over_loops(l, at, lives);
  return lives;
}

namespace {

/// Lives that are placed, found by what they have in common with another: they begin during it, or last when it begins.
/// Lists of few hang on many launches: they are links in one array, because a plan is made at every new size.
class Placed {
 public:
  explicit Placed(const std::vector<TempLife>& lives) : lives_(lives) {
    for (const TempLife& l : lives) launches_ = std::max<std::size_t>(launches_, l.last + 1);
    first_.assign(3 * launches_, kNone);
    links_.reserve(3 * lives.size());
  }
  void add(std::uint32_t i) {
    hang(i, begins_at(lives_[i].first));
    // A tree over the launches: node n stands for those of nodes 2n and 2n + 1. A life is noted at the fewest that make
    // it up.
    std::size_t from = lives_[i].first + launches_, to = lives_[i].last + launches_ + 1;
    for (; from < to; from /= 2, to /= 2) {
      if (from % 2) hang(i, from++);
      if (to % 2) hang(i, --to);
    }
  }
  void meeting(std::size_t i, std::vector<std::uint32_t>& out) const {
    out.clear();
    for (std::size_t n = lives_[i].first + launches_; n > 0; n /= 2) append(out, n);
    for (std::size_t l = lives_[i].first + 1; l <= lives_[i].last; ++l) append(out, begins_at(l));
  }

 private:
  static constexpr std::uint32_t kNone = ~0u;
  struct Link {
    std::uint32_t life, next;
  };
  std::size_t begins_at(std::size_t launch) const { return 2 * launches_ + launch; }
  void hang(std::uint32_t life, std::size_t list) {
    links_.push_back({life, first_[list]});
    first_[list] = static_cast<std::uint32_t>(links_.size() - 1);
  }
  void append(std::vector<std::uint32_t>& out, std::size_t list) const {
    for (std::uint32_t k = first_[list]; k != kNone; k = links_[k].next) out.push_back(links_[k].life);
  }

  const std::vector<TempLife>& lives_;
  std::size_t launches_ = 0;
  std::vector<std::uint32_t> first_;  ///< by node of the tree, then by launch that lives begin at
  std::vector<Link> links_;
};

}  // namespace

TempPlan plan_offsets(const std::vector<TempLife>& lives, const std::vector<std::int64_t>& bytes,
                      std::int64_t alignment) {
  TempPlan plan;
  plan.offsets.assign(lives.size(), 0);
  std::vector<std::uint32_t> order(lives.size()), in_the_way;
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b; });
  auto round_up = [&](std::int64_t n) { return (n + alignment - 1) / alignment * alignment; };
  // No memory has as many, and below it no sum of two and no rounding wraps.
  constexpr std::int64_t kMost = std::int64_t{1} << 61;
  Placed placed(lives);
  for (std::uint32_t i : order) {
    if (bytes[i] <= 0) continue;
    if (bytes[i] > kMost) fail(ErrorCode::OutOfMemory, "", {}, "a temporary value takes ", bytes[i], " bytes");
    // Past every neighbour in time that is in the way, from the lowest on.
    placed.meeting(i, in_the_way);
    std::sort(in_the_way.begin(), in_the_way.end(),
              [&](std::uint32_t a, std::uint32_t b) { return plan.offsets[a] < plan.offsets[b]; });
    std::int64_t at = 0;
    for (std::uint32_t p : in_the_way) {
      if (plan.offsets[p] >= at + bytes[i]) break;
      at = std::max(at, round_up(plan.offsets[p] + bytes[p]));
    }
    if (at > kMost) fail(ErrorCode::OutOfMemory, "", {}, "temporary values take more than ", at, " bytes at a time");
    plan.offsets[i] = at;
    plan.total = std::max(plan.total, round_up(at + bytes[i]));
    placed.add(i);
  }
  return plan;
}

}  // namespace reprise::kernels
