#include "runtime/call/call_frame.h"

#include <cstring>

#include "base/bail.h"
#include "base/errors.h"
#include "base/thread_object.h"
#include "graph/wrapper.h"
#include "runtime/call/layout_class.h"
#include "tensor/frozen.h"

namespace reprise::runtime {

namespace {

// Apart from the way of most calls, which then saves no registers.
[[gnu::noinline, gnu::cold, noreturn]] void refuse_traced(const TensorImpl& t) {
  if (t.trace->is_live()) bail(Bail::other_thread, "compile", {});
  fail(ErrorCode::InvalidArgument, "compile", {},
       "a tensor of a finished trace is used: it never had data (a function whose trace was given up has left it "
       "somewhere)");
}

// Kept in the tensor: its layout hardly ever changes. Racing threads compute the same word.
[[gnu::noinline, gnu::cold]] std::uint64_t make_word(const TensorImpl& t) {
  if (t.trace) refuse_traced(t);
  // of a discarded one the call may need only what is folded of it
  if (!is_discarded(*t.storage)) check_not_released(t, "an argument");
  std::uint64_t w = t.structure_word.load(std::memory_order_relaxed);
  if (w == 0) w = structure_word(t);
  if (t.keys & kWrappedKey) return w | kWrappedWord;  // not kept: every call of it comes here
  t.structure_word.store(w, std::memory_order_relaxed);
  return w;
}

/// How many values a tensor of this word has in a call, if they are at most kShort sizes: few have more, or strides.
/// Else more than that.
constexpr std::uint64_t kShort = 4;
[[gnu::always_inline]] inline std::uint64_t short_count(std::uint64_t w) {
  static_assert(kStridesWord == 16 << 8 && kMaxRank < 16);
  return w >> 8 & 31;
}

/// The ends of a frame's arrays while tensors are appended: in registers, and of enough room.
struct Ends {
  std::uint64_t* structure;
  TensorImpl** tensors;
  std::int64_t* values;

  Ends(CallFrame& f, std::size_t tensors)
      : structure(f.structure.room(tensors)), tensors(f.tensors.room(tensors)),
        values(f.values.room(tensors * 2 * kMaxRank)) {}
  static bool have_room(const CallFrame& f, std::size_t tensors) {
    return f.structure.has_room(tensors) && f.tensors.has_room(tensors) && f.values.has_room(tensors * 2 * kMaxRank);
  }
  void keep(CallFrame& f) const { f.structure.end_at(structure), f.tensors.end_at(tensors), f.values.end_at(values); }

  [[gnu::always_inline]] void append(const TensorImpl& t, std::uint64_t w) {
    if (short_count(w) <= kShort) [[likely]]
      return append_short(t, w);
    *structure++ = w;
    *tensors++ = const_cast<TensorImpl*>(&t);
    values = values_behind(values, t, w);
  }
  // What is behind the last size is written over.
  [[gnu::always_inline]] void append_short(const TensorImpl& t, std::uint64_t w) {
    *structure++ = w;
    *tensors++ = const_cast<TensorImpl*>(&t);
    std::memcpy(values, t.sizes, kShort * sizeof *values);
    values += short_count(w);
  }

 private:
  // By value, so that they stay in registers where this is not called.
  [[gnu::noinline]] static std::int64_t* values_behind(std::int64_t* values, const TensorImpl& t, std::uint64_t w) {
    const int rank = rank_of_word(w);
    std::memcpy(values, t.sizes, sizeof t.sizes);
    values += rank;
    if (!has_strides(w)) return values;
    std::memcpy(values, t.strides, sizeof t.strides);
    return values + rank;
  }
};

[[gnu::always_inline]] inline bool is_slow(std::uint64_t word) {
  return word == 0 || any_released.load(std::memory_order_relaxed);
}

// Of a wrapper's handle its class and its fields follow, as those of a struct would (Note [Wrapper tensors]).
[[gnu::noinline, gnu::cold]] void add_slowly(CallFrame& f, const TensorImpl& t) {
  const std::uint64_t w = make_word(t);
  add_tensor_as(f, t, w);
  if (!(w & kWrappedWord)) return;
  if (const graph::WrapperState* s = graph::state_of_wrapper(t)) {
    f.constant(reinterpret_cast<std::uintptr_t>(&s->type));
    s->type.flatten(s->value.get(), f);
  }
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
  const std::uint64_t w = t->structure_word.load(std::memory_order_relaxed);
  if (is_slow(w)) [[unlikely]]
    return add_slowly(f, *t);
  Ends ends(f, 1);
  ends.append(*t, w);
  ends.keep(f);
}

}  // namespace reprise::runtime

namespace reprise::detail {

void CallFrame::tensor(const Tensor& t) { runtime::add_tensor(*this, t.impl()); }

namespace {

/// Takes tensors from `first` on until one(t) is false, or to the end; where it came to.
template <class F>
[[gnu::always_inline]] inline const Tensor* each_of(const Tensor* first, std::size_t n, const F& one) {
  constexpr std::size_t kAhead = 6;
  const Tensor* const end = first + n;
  if (n > kAhead)
    for (const Tensor* const near = end - kAhead; first != near; ++first) {
      __builtin_prefetch(first[kAhead].impl());
      if (!one(first->impl())) [[unlikely]]
        return first;
    }
  for (; first != end; ++first)
    if (!one(first->impl())) [[unlikely]]
      break;
  return first;
}

[[gnu::noinline]] void append_any(CallFrame& f, const Tensor* first, std::size_t n) {
  runtime::Ends ends(f, n);
  each_of(
      first, n, [&](const TensorImpl* t) __attribute__((always_inline)) {
        if (!t) {
          *ends.structure++ = 0;
          return true;
        }
        const std::uint64_t w = t->structure_word.load(std::memory_order_relaxed);
        if (!runtime::is_slow(w)) [[likely]] {
          ends.append(*t, w);
        } else {
          ends.keep(f);
          runtime::add_slowly(f, *t);
          ends = runtime::Ends(f, n);
        }
        return true;
      });
  ends.keep(f);
}

}  // namespace

// What is plain is appended without a call, so that no registers are saved for one; from the first that is not on, the
// others are not.
void CallFrame::tensor_list(const Tensor* first, std::size_t n) {
  if (any_released.load(std::memory_order_relaxed) || !runtime::Ends::have_room(*this, n)) [[unlikely]]
    return append_any(*this, first, n);
  runtime::Ends ends(*this, n);
  const Tensor* const end = each_of(
      first, n, [&](const TensorImpl* t) __attribute__((always_inline)) {
        if (!t) [[unlikely]]
          return false;
        const std::uint64_t w = t->structure_word.load(std::memory_order_relaxed);
        if (w == 0 || runtime::short_count(w) > runtime::kShort) [[unlikely]]
          return false;
        ends.append_short(*t, w);
        return true;
      });
  ends.keep(*this);
  if (end != first + n) [[unlikely]]
    append_any(*this, end, static_cast<std::size_t>(first + n - end));
}

namespace {

/// A product of 128 bits, folded.
[[gnu::always_inline]] inline std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const unsigned __int128 p = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(p) ^ static_cast<std::uint64_t>(p >> 64);
}

// `mask`: of each word.
[[gnu::always_inline]] inline std::uint64_t hash_of(const FrameArray<std::uint64_t>& structure, std::uint64_t mask) {
  // Two words a multiplication, and four chains of them, so that these overlap.
  constexpr std::uint64_t kOdd[4] = {0x9e3779b97f4a7c15ull, 0xc2b2ae3d27d4eb4full, 0x165667b19e3779f9ull,
                                     0xff51afd7ed558ccdull};
  std::uint64_t h[4] = {structure.size(), 1, 2, 3};
  const std::uint64_t *at = structure.data(), *const end = at + structure.size();
  auto two = [&](int k, std::uint64_t a, std::uint64_t b) {
    h[k] = fold(h[k] ^ (a & mask) ^ kOdd[k], (b & mask) ^ kOdd[3 - k]);
  };
  for (; end - at >= 8; at += 8)
    for (int k = 0; k < 4; ++k) two(k, at[2 * k], at[2 * k + 1]);
  for (int k = 0; end - at >= 2; at += 2, ++k) two(k, at[0], at[1]);
  if (at != end) two(3, *at, 0);
  return fold(h[0] ^ h[1] ^ kOdd[0], h[2] ^ kOdd[1]) ^ fold(h[3] ^ kOdd[2], kOdd[3]);
}

}  // namespace

std::uint64_t CallFrame::hash() const { return hash_of(structure, ~std::uint64_t{0}); }

}  // namespace reprise::detail

namespace reprise::runtime {

std::uint64_t hash_of(const FrameArray<std::uint64_t>& structure) {
  return detail::hash_of(structure, ~std::uint64_t{0});
}
std::uint64_t hash_beside_layouts(const FrameArray<std::uint64_t>& structure) {
  return detail::hash_of(structure, ~kLayoutBits);
}

std::uint64_t hash_beside_layouts(const FrameArray<std::uint64_t>& structure, const std::vector<std::uint32_t>& but) {
  struct Without {
    FrameArray<std::uint64_t> words;
  };
  FrameArray<std::uint64_t>& without = thread_object<Without>().words;
  without = structure;
  for (std::uint32_t at : but)
    if (at < without.size()) without[at] = without[at] != 0;
  return detail::hash_of(without, ~kLayoutBits);
}

}  // namespace reprise::runtime
