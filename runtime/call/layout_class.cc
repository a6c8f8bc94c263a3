#include "runtime/call/layout_class.h"

#include <algorithm>

#include "base/checked_math.h"

namespace reprise::runtime {

namespace {

bool is_large(const TensorImpl& t) {
  std::int64_t n = 1;
  for (int d = 0; d < t.rank; ++d)
    if (t.strides[d] < 0 || t.strides[d] > kModestElements ||
        (t.sizes[d] > 1 && (__builtin_mul_overflow(n, t.sizes[d], &n) || n > kModestElements)))
      return true;
  return false;
}

// Equal strides are those of a dimension and of one of size 0 or 1 inside it. Of several such dimensions nobody knows.
DimOrder order_in_memory(const TensorImpl& t) {
  DimOrder o;
  auto outside = [&](int a, int b) {
    return t.strides[a] != t.strides[b] ? t.strides[a] > t.strides[b] : t.sizes[a] > 1 && t.sizes[b] <= 1;
  };
  for (; o.rank < t.rank; ++o.rank) {
    int at = o.rank;
    for (; at > 0 && outside(o.rank, o.dims[at - 1]); --at) o.dims[at] = o.dims[at - 1];
    o.dims[at] = static_cast<std::uint8_t>(o.rank);
  }
  return o;
}

bool has_strides_of(const TensorImpl& t, const DimOrder& o) {
  std::int64_t want = 1;
  for (int k = o.rank; k-- > 0;) {
    const int d = o.dims[static_cast<std::size_t>(k)];
    if (t.strides[d] != want) return false;
    // beside a size of 0: no stride is that
    if (t.sizes[d] > 1 && __builtin_mul_overflow(want, t.sizes[d], &want)) want = -1;
  }
  return true;
}

bool is_dense(const TensorImpl& t, const DimOrder& o) {
  std::int64_t want = 1;
  bool as_elements = true;
  for (int k = o.rank; k-- > 0;) {
    const int d = o.dims[static_cast<std::size_t>(k)];
    if (t.sizes[d] == 0) return true;  // nothing is there to be read
    if (t.sizes[d] != 1) as_elements = as_elements && t.strides[d] == want;
    if (__builtin_mul_overflow(want, t.sizes[d], &want)) want = -1;
  }
  return as_elements;
}

constexpr DimOrder row_major_order(int rank) {
  DimOrder o{{0, 1, 2, 3, 4, 5, 6, 7}, rank};
  static_assert(kMaxRank == 8);
  return o;
}

// Among all orders of so many dimensions, sorted; the row-major one is 0.
std::uint64_t number_of(const DimOrder& o) {
  std::uint64_t n = 0;
  for (int i = 0; i < o.rank; ++i) {
    const auto at = o.dims.begin() + i;
    n = n * static_cast<std::uint64_t>(o.rank - i) +
        static_cast<std::uint64_t>(std::count_if(at, o.dims.begin() + o.rank, [&](std::uint8_t d) { return d < *at; }));
  }
  return n;  // < 8!, so 16 bits hold it
}

}  // namespace

DimOrder order_of(std::uint64_t w) {
  DimOrder o = row_major_order(rank_of_word(w));
  if (layout_class(w) != LayoutClass::Dense) return o;
  std::uint64_t n = w >> 16 & 0xffff;
  std::array<std::uint64_t, kMaxRank> place;  // of dimension i among those that are left
  for (int i = o.rank; i-- > 0; n /= static_cast<std::uint64_t>(o.rank - i))
    place[static_cast<std::size_t>(i)] = n % static_cast<std::uint64_t>(o.rank - i);
  for (int i = 0; i < o.rank; ++i) {
    const auto at = o.dims.begin() + i;
    std::rotate(at, at + static_cast<std::ptrdiff_t>(place[static_cast<std::size_t>(i)]),
                at + static_cast<std::ptrdiff_t>(place[static_cast<std::size_t>(i)]) + 1);
  }
  return o;
}

std::uint64_t structure_word(const TensorImpl& t) {
  const std::uint64_t w = (static_cast<std::uint64_t>(t.dtype) + 1) | static_cast<std::uint64_t>(t.rank) << 8 |
                          static_cast<std::uint64_t>(is_large(t)) << 14 |
                          static_cast<std::uint64_t>(t.device.type) << 32 |
                          static_cast<std::uint64_t>(t.device.index) << 40;
  auto of = [&](LayoutClass c, std::uint64_t more = 0) { return w | static_cast<std::uint64_t>(c) << 12 | more << 16; };
  const DimOrder row_major = row_major_order(t.rank);
  if (has_strides_of(t, row_major)) return of(LayoutClass::RowMajor);
  if (const DimOrder o = order_in_memory(t); has_strides_of(t, o)) return of(LayoutClass::Dense, number_of(o));
  if (is_dense(t, row_major)) return of(LayoutClass::RowMajor);
  std::uint64_t classes = 0;
  for (int d = 0; d < t.rank; ++d) {
    const StrideClass c = t.strides[d] == 1   ? StrideClass::One
                          : t.strides[d] == 0 ? StrideClass::Zero
                                              : StrideClass::Other;
    classes |= static_cast<std::uint64_t>(c) << 2 * d;
  }
  return of(LayoutClass::Strided, classes);
}

bool fits(const TensorImpl& t, std::uint64_t w, bool shown, bool general) {
  const bool any_small = std::any_of(t.sizes, t.sizes + t.rank, [](std::int64_t n) { return n <= 1; });
  if (!has_strides(w)) return any_small && is_dense(t, order_of(w));
  if (!any_small && !general) return false;
  bool reads_without = false;
  for (int d = 0; d < t.rank; ++d) {
    const std::int64_t stride = t.strides[d];
    const StrideClass own = stride == 1   ? StrideClass::One
                            : stride == 0 ? StrideClass::Zero
                                          : StrideClass::Other,
                      made = stride_class(w, d);
    const bool is_small = t.sizes[d] <= 1;
    if (own != made && !(general && made == StrideClass::Other) &&
        !(is_small && (made == StrideClass::Other || !shown)))
      return false;
    reads_without = reads_without || (made == StrideClass::Zero && t.sizes[d] == 0);
  }
  // Nobody steps along a dimension of stride 0: kernels read what stands there outside of its loop, also where it has
  // no elements. What they read must be there.
  if (reads_without) {
    const auto last = last_element(
        t.rank, t.offset, [&](int d) { return std::max<std::int64_t>(t.sizes[d], 1); },
        [&](int d) { return t.strides[d]; });
    if (!last || *last >= t.storage->bytes / item_size(t.dtype)) return false;
  }
  return true;
}

unsigned ones_of(std::uint64_t w) {
  const int rank = rank_of_word(w);
  if (rank && !has_strides(w)) return 1u << order_of(w).dims[static_cast<std::size_t>(rank - 1)];
  unsigned ones = 0;
  for (int d = 0; d < rank; ++d) ones |= static_cast<unsigned>(stride_class(w, d) == StrideClass::One) << d;
  return ones;
}

std::uint64_t of_any_strides(std::uint64_t w, unsigned ones) {
  const int rank = rank_of_word(w);
  if (rank == 0) return w;
  w = (w & ~kLayoutBits) | static_cast<std::uint64_t>(LayoutClass::Strided) << 12;
  for (int d = 0; d < rank; ++d)
    if (ones >> d & 1) w |= static_cast<std::uint64_t>(StrideClass::One) << (16 + 2 * d);
  return w;
}

bool has_strides_of(const TensorImpl& t, std::uint64_t w) { return has_strides_of(t, order_of(w)); }

Ints strides_in(const DimOrder& o, const Ints& sizes, Ints (*made)(const Ints&)) {
  Ints in_order, strides(sizes.size(), Int(0));
  for (int k = 0; k < o.rank; ++k) in_order.push_back(sizes[o.dims[static_cast<std::size_t>(k)]]);
  in_order = made(in_order);
  for (int k = 0; k < o.rank; ++k) strides[o.dims[static_cast<std::size_t>(k)]] = in_order[static_cast<std::size_t>(k)];
  return strides;
}

std::string layout_name(std::uint64_t w) {
  if (layout_class(w) == LayoutClass::RowMajor) return "row-major";
  const bool strided = has_strides(w);
  const DimOrder o = order_of(w);
  std::string s = strided ? "strided [" : "dense in order [";
  for (int d = 0; d < rank_of_word(w); ++d) {
    s += d ? ", " : "";
    const StrideClass c = stride_class(w, d);
    s += !strided                 ? std::to_string(o.dims[static_cast<std::size_t>(d)])
         : c == StrideClass::One  ? "1"
         : c == StrideClass::Zero ? "0"
                                  : "any";
  }
  return s + "]";
}

}  // namespace reprise::runtime
