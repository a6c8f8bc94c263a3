#include "runtime/call_frame.h"

#include <cstring>

#include "base/bail.h"
#include "base/errors.h"

namespace reprise::runtime {

namespace {

// Apart from the way of most calls, which then saves no registers.
[[gnu::noinline, gnu::cold, noreturn]] void refuse_traced(const TensorImpl& t) {
  if (t.trace->is_live()) bail(Bail::other_thread, "compile", {});
  fail(ErrorCode::InvalidArgument, "compile", {}, "a tensor of a finished trace is used: it never had data (a function whose trace was given up has left it somewhere)");
}

// Kept in the tensor: its layout hardly ever changes. Racing threads compute the same word.
[[gnu::noinline, gnu::cold]] std::uint64_t make_word(const TensorImpl& t) {
  if (t.trace) refuse_traced(t);
  check_not_released(t, "an argument");
  std::uint64_t w = t.structure_word.load(std::memory_order_relaxed);
  if (w == 0) w = structure_word(t);
  if (t.keys & kWrappedKey) return w | kWrappedWord;  // not kept: every call of it comes here
  t.structure_word.store(w, std::memory_order_relaxed);
  return w;
}

[[gnu::always_inline]] inline void append(CallFrame& f, const TensorImpl& t, std::uint64_t w) {
  f.structure.push_back(w);
  f.tensors.push_back(const_cast<TensorImpl*>(&t));
  const std::size_t rank = t.rank;
  const bool strided = has_strides(w);
  std::int64_t* at = f.values.extend(strided ? 2 * rank : rank);
  // Two at once, and no loop that the compiler makes ready for hundreds.
  auto copy = [rank](std::int64_t* to, const std::int64_t* from) {
    std::size_t left = rank;
    if (left % 2) --left, to[left] = from[left];
    for (; left > 0; left -= 2) std::memcpy(to + left - 2, from + left - 2, 2 * sizeof *to);
  };
  copy(at, t.sizes);
  if (strided) copy(at + rank, t.strides);
}

}  // namespace

void add_tensor_as(CallFrame& f, const TensorImpl& t, std::uint64_t w) { append(f, t, w); }

void add_tensor(CallFrame& f, const TensorImpl* t) {
  if (!t) [[unlikely]]
    return f.constant(0);
  std::uint64_t w = t->structure_word.load(std::memory_order_relaxed);
  if (w == 0 || t->trace || t->storage->released) [[unlikely]]
    w = make_word(*t);
  append(f, *t, w);
}

}  // namespace reprise::runtime

namespace reprise::detail {

void CallFrame::tensor(const Tensor& t) { runtime::add_tensor(*this, t.impl()); }

namespace {

// `mask`: of each word.
[[gnu::always_inline]] inline std::uint64_t hash_of(const FrameArray<std::uint64_t>& structure, std::uint64_t mask) {
  // Four chains, so that the multiplications overlap.
  std::uint64_t h[4] = {structure.size(), 0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0x165667b19e3779f9ull};
  std::size_t i = 0;
  for (; i + 4 <= structure.size(); i += 4)
    for (std::size_t k = 0; k < 4; ++k) h[k] = (h[k] ^ (structure[i + k] & mask)) * 0xff51afd7ed558ccdull, h[k] ^= h[k] >> 32;
  for (; i < structure.size(); ++i) h[0] = (h[0] ^ (structure[i] & mask)) * 0xff51afd7ed558ccdull, h[0] ^= h[0] >> 32;
  for (std::size_t k = 1; k < 4; ++k) h[0] = (h[0] ^ h[k]) * 0xc4ceb9fe1a85ec53ull, h[0] ^= h[0] >> 29;
  return h[0];
}

}  // namespace

std::uint64_t CallFrame::hash() const { return hash_of(structure, ~std::uint64_t{0}); }

}  // namespace reprise::detail

namespace reprise::runtime {

std::uint64_t hash_of(const FrameArray<std::uint64_t>& structure) { return detail::hash_of(structure, ~std::uint64_t{0}); }
std::uint64_t hash_beside_layouts(const FrameArray<std::uint64_t>& structure) { return detail::hash_of(structure, ~kLayoutBits); }

}  // namespace reprise::runtime
