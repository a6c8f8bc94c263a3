#include "runtime/call_frame.h"

#include <cstring>

#include "base/bail.h"
#include "base/errors.h"
#include "runtime/layout_class.h"
#include "base/thread_object.h"

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

/// The ends of a frame's arrays while tensors are appended: in registers, and of enough room.
struct Ends {
  std::uint64_t* structure;
  TensorImpl** tensors;
  std::int64_t* values;

  Ends(CallFrame& f, std::size_t tensors) : structure(f.structure.room(tensors)), tensors(f.tensors.room(tensors)), values(f.values.room(tensors * 2 * kMaxRank)) {}
  void keep(CallFrame& f) const { f.structure.end_at(structure), f.tensors.end_at(tensors), f.values.end_at(values); }

  // Half of the array of sizes: what is behind the last one is written over. Few tensors have more, or strides among their values.
  [[gnu::always_inline]] void append(const TensorImpl& t, std::uint64_t w) {
    static_assert(kMaxRank == 8);
    *structure++ = w;
    *tensors++ = const_cast<TensorImpl*>(&t);
    std::memcpy(values, t.sizes, 4 * sizeof *values);
    if (is_long(w)) [[unlikely]] values = append_long(values, t, w);
    else values += rank_of_word(w);
  }

 private:
  static bool is_long(std::uint64_t w) {
    constexpr std::uint64_t kMoreThanFour = 8 << 8;  // once 3 are added to the rank
    static_assert(kMaxRank + 3 < 16);
    return (w + (3 << 8)) & (kMoreThanFour | kStridesWord);
  }
  [[gnu::noinline]] static std::int64_t* append_long(std::int64_t* values, const TensorImpl& t, std::uint64_t w) {
    const int rank = rank_of_word(w);
    std::memcpy(values, t.sizes, sizeof t.sizes);
    values += rank;
    if (!has_strides(w)) return values;
    std::memcpy(values, t.strides, sizeof t.strides);
    return values + rank;
  }
};

[[gnu::always_inline]] inline std::uint64_t word_of(const TensorImpl& t) {
  const std::uint64_t w = t.structure_word.load(std::memory_order_relaxed);
  if (w == 0 || any_released.load(std::memory_order_relaxed)) [[unlikely]] return make_word(t);
  return w;
}

}  // namespace

void add_tensor_as(CallFrame& f, const TensorImpl& t, std::uint64_t w) {
  Ends ends(f, 1);
  ends.append(t, w);
  ends.keep(f);
}

void add_tensor(CallFrame& f, const TensorImpl* t) {
  if (!t) [[unlikely]]
    return f.constant(0);
  const std::uint64_t w = word_of(*t);
  Ends ends(f, 1);
  ends.append(*t, w);
  ends.keep(f);
}

}  // namespace reprise::runtime

namespace reprise::detail {

void CallFrame::tensor(const Tensor& t) { runtime::add_tensor(*this, t.impl()); }

void CallFrame::tensor_list(const Tensor* first, std::size_t n) {
  constexpr std::size_t kAhead = 6;
  runtime::Ends ends(*this, n);
  const bool released = any_released.load(std::memory_order_relaxed);
  auto append = [&](const Tensor& handle) __attribute__((always_inline)) {
    const TensorImpl* t = handle.impl();
    if (!t) [[unlikely]] {
      *ends.structure++ = 0;
      return;
    }
    std::uint64_t w = t->structure_word.load(std::memory_order_relaxed);
    if (w == 0 || released) [[unlikely]] w = runtime::make_word(*t);
    ends.append(*t, w);
  };
  const Tensor *const end = first + n, *const near = n > kAhead ? end - kAhead : first;
  for (; first != near; ++first) {
    __builtin_prefetch(first[kAhead].impl());
    append(*first);
  }
  for (; first != end; ++first) append(*first);
  ends.keep(*this);
}

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

std::uint64_t hash_beside_layouts(const FrameArray<std::uint64_t>& structure, const std::vector<std::uint32_t>& but) {
  struct Without { FrameArray<std::uint64_t> words; };
  FrameArray<std::uint64_t>& without = thread_object<Without>().words;
  without = structure;
  for (std::uint32_t at : but)
    if (at < without.size()) without[at] = without[at] != 0;
  return detail::hash_of(without, ~kLayoutBits);
}

}  // namespace reprise::runtime
