#include "runtime/replay/boxed.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "device/backend.h"
#include "device/device_memory.h"
#include "tensor/impl.h"
#include "tensor/release_bytes.h"

namespace reprise::runtime {

using kernels::Buffer;

namespace {

constinit std::atomic<std::int64_t> g_released{0};

bool writes_arguments(const Program& p) {
  return p.has_epilogue || !p.metadata.empty() || !p.lowered.undo.empty() ||
         std::any_of(p.graph.inputs.begin(), p.graph.inputs.end(),
                     [](const graph::InputSpec& i) { return i.mutates_data || i.mutates_metadata; });
}

}  // namespace

BoxedPlan::BoxedPlan(const Program& p) : last_read(p.graph.inputs.size(), kUnread) {
  const std::vector<kernels::Launch>& launches = p.lowered.launches;
  is_possible = device::runs_host_code(p.device) && p.repeats.empty() && !writes_arguments(p) && !launches.empty() &&
                p.steps.size() == launches.size() &&
                std::none_of(launches.begin(), launches.end(), [](const kernels::Launch& l) { return l.may_fail; });
  if (!is_possible) return;
  const auto n = static_cast<std::uint32_t>(launches.size());
  std::vector<std::uint32_t> first(p.lowered.buffers.size(), n), last(p.lowered.buffers.size(), kUnread);
  for (std::uint32_t i = 0; i < n; ++i)
    kernels::for_each_buffer(launches[i], [&](std::uint32_t b) { first[b] = std::min(first[b], i), last[b] = i; });
  for (std::uint32_t b = 0; b < p.lowered.buffers.size(); ++b) {
    const Buffer& buffer = p.lowered.buffers[b];
    switch (buffer.kind) {
      case Buffer::Kind::Input:
        if (std::uint32_t& read = last_read[buffer.index]; last[b] != kUnread)
          read = read == kUnread ? last[b] : std::max(read, last[b]);
        break;
      case Buffer::Kind::Output: made.push_back({last[b] == kUnread ? 0 : first[b], b}); break;
      case Buffer::Kind::Temp:
        if (last[b] == kUnread) break;
        made.push_back({first[b], b});
        gone.push_back({last[b], b});
        break;
      case Buffer::Kind::Window: break;  // of loops, which are not boxed
    }
  }
  auto earlier = [](const Moment& a, const Moment& b) { return a.step < b.step; };
  std::stable_sort(made.begin(), made.end(), earlier);
  std::stable_sort(gone.begin(), gone.end(), earlier);
}

std::int64_t BoxedReplay::released_bytes() { return g_released.load(std::memory_order_relaxed); }

BoxedReplay::BoxedReplay(const Program& p, const BoxedPlan& plan, SlotValues slots, void** base, bool in_pool)
    : program_(p), plan_(plan), slots_(slots), base_(base), in_pool_(in_pool),
      results_(p.lowered.buffers.size(), nullptr) {}

BoxedReplay::~BoxedReplay() {
  while (next_gone_ < plan_.gone.size()) {
    const BoxedPlan::Moment& m = plan_.gone[next_gone_++];
    const bool is_made = std::any_of(plan_.made.begin(), plan_.made.begin() + static_cast<std::ptrdiff_t>(next_made_),
                                     [&](const BoxedPlan::Moment& o) { return o.buffer == m.buffer; });
    if (is_made) drop(m.buffer);
  }
}

namespace {

/// f(tensor, its number among the inputs) of those that are given.
template <class F>
void for_each_given(const detail::Given& given, TensorImpl* const* inputs, std::size_t n_inputs, const F& f) {
  for (std::size_t i = 0; i < given.tensors.size() && i < n_inputs; ++i)
    if (TensorImpl* t = given.tensors[i].impl(); t && t == inputs[i] && t->storage) f(t, i);
}

}  // namespace

constinit std::atomic<std::int64_t> boxed_worth{256 << 10};

bool BoxedReplay::is_worth_it(const detail::Given& given, TensorImpl* const* inputs, std::size_t n_inputs) {
  std::int64_t bytes = 0;
  for_each_given(given, inputs, n_inputs, [&](const TensorImpl* t, std::size_t) { bytes += t->storage->bytes; });
  return bytes > 0 && bytes >= boxed_worth.load(std::memory_order_relaxed);
}

void BoxedReplay::give(const detail::Given& given, TensorImpl* const* inputs, std::size_t n_inputs) {
  if (given.begins) given.begins(given.ctx);
  struct One {
    TensorImpl* tensor;
    std::int64_t last;  // -1: nobody reads it
  };
  std::vector<One> all;
  for_each_given(given, inputs, n_inputs, [&](TensorImpl* t, std::size_t i) {
    const std::uint32_t last = i < plan_.last_read.size() ? plan_.last_read[i] : BoxedPlan::kUnread;
    all.push_back({t, last == BoxedPlan::kUnread ? -1 : static_cast<std::int64_t>(last)});
  });
  // By memory: all that stands on it must be given, and held by nobody else.
  std::sort(all.begin(), all.end(), [](const One& a, const One& b) {
    return std::pair(a.tensor->storage, a.tensor) < std::pair(b.tensor->storage, b.tensor);
  });
  for (std::size_t i = 0; i < all.size();) {
    Storage* const storage = all[i].tensor->storage;
    std::int64_t last = -1;
    std::int32_t handles = 0;
    bool alone = true;
    while (i < all.size() && all[i].tensor->storage == storage) {
      TensorImpl* const t = all[i].tensor;
      std::int32_t times = 0;
      for (; i < all.size() && all[i].tensor == t; ++i, ++times) last = std::max(last, all[i].last);
      alone = alone && t->refs.load(std::memory_order_acquire) == times;
      ++handles;
    }
    if (!alone || storage->refs.load(std::memory_order_acquire) != handles || storage->released ||
        storage->frozen.load(std::memory_order_relaxed))
      continue;
    if (last < 0) release(*storage);
    else given_.push_back({static_cast<std::uint32_t>(last), storage});
  }
  std::stable_sort(given_.begin(), given_.end(), [](const Going& a, const Going& b) { return a.step < b.step; });
}

Storage* BoxedReplay::result(std::uint32_t buffer) { return results_[buffer] = new_storage(program_.device, 0); }

void BoxedReplay::make(std::uint32_t buffer) {
  if (in_pool_ && !results_[buffer]) return;
  const std::int64_t bytes = slots_[program_.buffer_bytes[buffer]];
  base_[buffer] = bytes ? device::allocate(program_.device, bytes) : nullptr;
  if (Storage* s = results_[buffer]) s->data = base_[buffer], s->bytes = bytes;
}

void BoxedReplay::drop(std::uint32_t buffer) noexcept {
  if (in_pool_) return;
  if (void* at = std::exchange(base_[buffer], nullptr))
    device::deallocate(program_.device, at, slots_[program_.buffer_bytes[buffer]]);
}

void BoxedReplay::release(Storage& s) noexcept {
  g_released.fetch_add(s.bytes, std::memory_order_relaxed);
  release_bytes(s);
}

}  // namespace reprise::runtime
