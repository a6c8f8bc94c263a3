#include "runtime/build/call_slice.h"

#include <algorithm>
#include <atomic>

#include "device/host_memory.h"
#include "runtime/build/specialization.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

std::int64_t elements_of(const CallFrame& f) {
  std::int64_t n = 0;
  for (const TensorImpl* t : f.tensors) {
    if (!t) continue;
    std::int64_t of = 1;
    for (int d = 0; d < t->rank; ++d)
      if (__builtin_mul_overflow(of, t->sizes[d], &of)) return INT64_MAX;
    if (__builtin_add_overflow(n, of, &n)) return INT64_MAX;
  }
  return n;
}

}  // namespace

std::string values_of(const Specialization& s, const CallFrame& f) {
  constexpr std::size_t kMost = 16;
  std::string text;
  const std::vector<std::uint32_t>& words = s.program.key_words;
  for (std::size_t i = 0; i < std::min(words.size(), kMost); ++i)
    // Others depend on data, and the call is over.
    if (words[i] < f.values.size()) text += (i ? "," : "") + std::to_string(f.values[words[i]]);
  return words.size() > kMost ? text + ",..." : text;
}

namespace {

/// The memory of results, at most every 10 ms.
void add_result_counter(timeline::Time now) {
  constexpr timeline::Time kEvery = 10'000'000;
  static constinit std::atomic<timeline::Time> last{0};
  timeline::Time before = last.load(std::memory_order_relaxed);
  if (now - before < kEvery || !last.compare_exchange_strong(before, now, std::memory_order_relaxed)) return;
  const device::HostMemoryStats m = device::host_memory_stats();
  timeline::counter("results", {{"live bytes", m.live_bytes}, {"kept bytes", m.cached_bytes}});
}

}  // namespace

void add_call_slice(const Specialization& s, const CallFrame& f) {
  const timeline::Time end = timeline::now();
  timeline::slice("call", s.name, call_began(), end, {{"values", values_of(s, f)}, {"elements", elements_of(f)}});
  add_result_counter(end);
}

}  // namespace reprise::detail
