#include "kernels/plan/product_sums.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kernels/cpu/matmul.h"
#include "kernels/launch/layout.h"
#include "kernels/plan/drop_launches.h"

namespace reprise::kernels {

namespace {

constexpr std::uint32_t kNever = ~0u;
constexpr std::uint32_t kNear = 16;  // how far a sum may be behind its product

/// The launches that use a buffer, and that write it.
struct Life {
  std::uint32_t first = kNever, last = 0, last_write = kNever;
};

std::vector<Life> lives_of(const Lowered& l) {
  std::vector<Life> lives(l.buffers.size());
  for (std::uint32_t i = 0; i < l.launches.size(); ++i)
    for_each_use(l.launches[i], [&](std::uint32_t b, bool, bool written) {
      Life& life = lives[b];
      life.first = std::min(life.first, i), life.last = i;
      if (written) life.last_write = i;
    });
  return lives;
}

const Operand* result_of(const Launch& l) {
  const auto* n = std::get_if<NativeLaunch>(&l.what);
  return n && n->n_results == 1 ? &n->operands[n->first_result] : nullptr;
}

}  // namespace

void join_sums(Lowered& l, std::size_t& marked) {
  if (l.fault_record) return;
  std::vector<Life> lives = lives_of(l);
  std::vector<std::uint32_t> now(l.buffers.size());  // which buffer stands for one
  for (std::uint32_t b = 0; b < now.size(); ++b) now[b] = b;
  std::vector<bool> gone(l.launches.size());
  auto temp = [&](std::uint32_t b) { return l.buffers[b].kind == Buffer::Kind::Temp; };
  for (std::uint32_t i = 0; i < l.launches.size(); ++i) {
    Launch& product = l.launches[i];
    const Operand* made = gone[i] ? nullptr : result_of(product);
    if (!made || !temp(made->buffer) || lives[made->buffer].first != i || lives[made->buffer].last <= i ||
        product.in_region())
      continue;
    // Its one reader adds to it what is there when it is made, and makes what nobody uses before.
    const std::uint32_t at = lives[made->buffer].last;
    const Launch& sum = l.launches[at];
    const auto* loop = std::get_if<LoopLaunch>(&sum.what);
    if (at - i > kNear || !loop || (loop->buffers.size() != 3 && loop->buffers.size() != 2) || sum.in_region())
      continue;
    std::uint32_t to = kNever, other = kNever;
    for_each_use(sum, [&](std::uint32_t b, bool, bool written) {
      if (written) to = b;
      else if (b != made->buffer) other = b;
    });
    if (to == kNever || (other == kNever) != (loop->buffers.size() == 2)) continue;
    bool one_reader = true, only_added = true;
    for (std::uint32_t k = i; k < at; ++k)
      for_each_use(l.launches[k], [&](std::uint32_t b, bool, bool) {
        one_reader = one_reader && (k == i || b != made->buffer);
        only_added = only_added && b != other;
      });
    const bool ready = other == kNever || lives[other].last_write == kNever || lives[other].last_write < i;
    // What is written of an argument must stay as it was if there is no room to multiply in.
    if (!one_reader || !ready || l.buffers[to].kind == Buffer::Kind::Input || lives[to].first != at ||
        !join_sum(product, sum))
      continue;
    gone[at] = true;
    lives[to].first = i;
    if (other == kNever || lives[other].last != at || !only_added) continue;
    lives[other].last = i;
    const auto& n = std::get<NativeLaunch>(product.what);
    const Operand &from = n.operands[n.first_result - 1], &result = n.operands[n.first_result];
    if (!temp(other) || !same_number(l.buffers[other].bytes, l.buffers[to].bytes) ||
        !same_layout(from.layout, result.layout))
      continue;
    now[other] = to;
    lives[to].first = lives[other].first;
    sum_in_place(product);
  }
  auto stands_for = [&](std::uint32_t b) {
    std::uint32_t end = b;
    while (now[end] != end) end = now[end];
    while (now[b] != end) b = std::exchange(now[b], end);
    return end;
  };
  for (Launch& launch : l.launches) for_each_buffer(launch, [&](std::uint32_t& b) { b = stands_for(b); });
  drop_launches(l, gone, marked);
}

}  // namespace reprise::kernels
