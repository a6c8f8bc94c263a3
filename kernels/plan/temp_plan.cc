#include "kernels/plan/temp_plan.h"

#include <algorithm>
#include <numeric>

namespace reprise::kernels {
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
    if (std::int32_t record = at[*l.fault_record]; record >= 0) lives[static_cast<std::size_t>(record)].last = static_cast<std::uint32_t>(l.launches.size() - 1);
  return lives;
}

namespace {

/// Lives that are placed, found by what they have in common with another: they begin during it, or last when it begins.
class Placed {
 public:
  explicit Placed(const std::vector<TempLife>& lives) : lives_(lives) {
    for (const TempLife& l : lives) launches_ = std::max<std::size_t>(launches_, l.last + 1);
    begin_at_.resize(launches_);
    last_over_.resize(2 * launches_);
  }
  void add(std::size_t i) {
    begin_at_[lives_[i].first].push_back(i);
    // A tree over the launches: node n stands for those of nodes 2n and 2n + 1. A life is noted at the fewest that make it up.
    std::size_t from = lives_[i].first + launches_, to = lives_[i].last + launches_ + 1;
    for (; from < to; from /= 2, to /= 2) {
      if (from % 2) last_over_[from++].push_back(i);
      if (to % 2) last_over_[--to].push_back(i);
    }
  }
  void meeting(std::size_t i, std::vector<std::size_t>& out) const {
    out.clear();
    for (std::size_t n = lives_[i].first + launches_; n > 0; n /= 2) out.insert(out.end(), last_over_[n].begin(), last_over_[n].end());
    for (std::size_t l = lives_[i].first + 1; l <= lives_[i].last; ++l) out.insert(out.end(), begin_at_[l].begin(), begin_at_[l].end());
  }

 private:
  const std::vector<TempLife>& lives_;
  std::size_t launches_ = 0;
  std::vector<std::vector<std::size_t>> begin_at_, last_over_;
};

}  // namespace

TempPlan plan_offsets(const std::vector<TempLife>& lives, const std::vector<std::int64_t>& bytes, std::int64_t alignment) {
  TempPlan plan;
  plan.offsets.assign(lives.size(), 0);
  std::vector<std::size_t> order(lives.size()), in_the_way;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  auto round_up = [&](std::int64_t n) { return (n + alignment - 1) / alignment * alignment; };
  Placed placed(lives);
  for (std::size_t i : order) {
    if (bytes[i] <= 0) continue;
    // Past every neighbour in time that is in the way, from the lowest on.
    placed.meeting(i, in_the_way);
    std::sort(in_the_way.begin(), in_the_way.end(), [&](std::size_t a, std::size_t b) { return plan.offsets[a] < plan.offsets[b]; });
    std::int64_t at = 0;
    for (std::size_t p : in_the_way) {
      if (plan.offsets[p] >= at + bytes[i]) break;
      at = std::max(at, round_up(plan.offsets[p] + bytes[p]));
    }
    plan.offsets[i] = at;
    plan.total = std::max(plan.total, round_up(at + bytes[i]));
    placed.add(i);
  }
  return plan;
}

}  // namespace reprise::kernels
