#include "kernels/temp_plan.h"

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

TempPlan plan_offsets(const std::vector<TempLife>& lives, const std::vector<std::int64_t>& bytes, std::int64_t alignment) {
  TempPlan plan;
  plan.offsets.assign(lives.size(), 0);
  std::vector<std::size_t> order(lives.size()), placed;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  auto round_up = [&](std::int64_t n) { return (n + alignment - 1) / alignment * alignment; };
  for (std::size_t i : order) {
    if (bytes[i] <= 0) continue;
    std::int64_t at = 0;
    // `placed` is sorted by offset: slide past every neighbour in time that is in the way.
    for (std::size_t p : placed) {
      bool meets = lives[p].first <= lives[i].last && lives[i].first <= lives[p].last;
      if (!meets) continue;
      if (plan.offsets[p] >= at + bytes[i]) break;
      at = std::max(at, round_up(plan.offsets[p] + bytes[p]));
    }
    plan.offsets[i] = at;
    plan.total = std::max(plan.total, round_up(at + bytes[i]));
    placed.insert(std::upper_bound(placed.begin(), placed.end(), at, [&](std::int64_t o, std::size_t p) { return o < plan.offsets[p]; }), i);
  }
  return plan;
}

}  // namespace reprise::kernels
