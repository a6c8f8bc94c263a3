#include <algorithm>
#include <bit>
#include <numeric>

#include "tensor/impl.h"

namespace reprise {
namespace {

/// One coefficient of a sum: coefficient * x with 0 <= x <= max_x.
struct Term {
  std::int64_t coefficient, max_x;
};

/// Is there a choice of x with low <= sum of coefficient * x <= high?
///
/// Terms are merged where that loses nothing (equal coefficients; a coefficient that continues where the smaller one
/// ends), which leaves one or two for the views real programs make, then searched from the largest coefficient down.
/// A branch dies when what is left of the interval is out of reach of the smaller terms, or between two multiples of
/// their greatest common divisor. The problem is subset-sum, so the search has a budget; past it the answer is "maybe".
class BoundedSum {
 public:
  void add(std::int64_t coefficient, std::int64_t max_x) {
    if (coefficient > 0 && max_x > 0) terms_[n_++] = {coefficient, max_x};
  }
  void add(const TensorImpl& t) {
    for (int i = 0; i < t.rank; ++i)
      if (t.sizes[i] > 1) add(t.strides[i] * item_size(t.dtype), t.sizes[i] - 1);  // other strides may be anything
  }

  bool can_hit(std::int64_t low, std::int64_t high) {
    merge();
    std::int64_t reach = 0, divisor = 0;
    for (int i = n_; i-- > 0;) {
      reach += terms_[i].coefficient * terms_[i].max_x;
      divisor = std::gcd(divisor, terms_[i].coefficient);
      reach_[i] = reach;
      divisor_[i] = divisor;
    }
    return search(0, low, high);
  }

 private:
  void merge() {
    std::sort(terms_, terms_ + n_, [](Term a, Term b) { return a.coefficient < b.coefficient; });
    int kept = 0;
    for (int i = 0; i < n_; ++i) {
      Term t = terms_[i];
      Term* last = kept ? &terms_[kept - 1] : nullptr;
      // Values of c*x reach without gaps to the next multiple: then c*k*y + c*x is c*z, z up to k*max_y + max_x.
      if (last && t.coefficient % last->coefficient == 0 && t.coefficient / last->coefficient <= last->max_x + 1)
        last->max_x += t.coefficient / last->coefficient * t.max_x;
      else terms_[kept++] = t;
    }
    n_ = kept;
    std::reverse(terms_, terms_ + n_);
  }

  bool search(int at, std::int64_t low, std::int64_t high) {
    if (low <= 0 && high >= 0) return true;
    if (at == n_ || high < 0 || low > reach_[at]) return false;
    std::int64_t multiple = (std::max<std::int64_t>(low, 0) + divisor_[at] - 1) / divisor_[at] * divisor_[at];
    if (multiple > high) return false;
    if (--budget_ <= 0) return true;
    const auto [c, max_x] = terms_[at];
    std::int64_t rest = at + 1 < n_ ? reach_[at + 1] : 0;
    std::int64_t first = low - rest > 0 ? (low - rest + c - 1) / c : 0;
    std::int64_t last = std::min(max_x, high / c);
    for (std::int64_t x = first; x <= last; ++x)
      if (search(at + 1, low - c * x, high - c * x)) return true;
    return false;
  }

  Term terms_[2 * kMaxRank];
  std::int64_t reach_[2 * kMaxRank], divisor_[2 * kMaxRank];
  int n_ = 0;
  int budget_ = 20000;
};

}  // namespace

std::int64_t byte_extent(const TensorImpl& t) {
  std::int64_t n = item_size(t.dtype);
  for (int i = 0; i < t.rank; ++i) {
    if (t.sizes[i] == 0) return 0;
    n += (t.sizes[i] - 1) * t.strides[i] * item_size(t.dtype);
  }
  return n;
}

bool overlaps(const TensorImpl& a, const TensorImpl& b) {
  if (a.trace || b.trace || !a.storage->data || !b.storage->data || a.numel() == 0 || b.numel() == 0) return false;
  const std::int64_t width_a = item_size(a.dtype), width_b = item_size(b.dtype);
  const std::int64_t at_a = std::bit_cast<std::int64_t>(a.data()), at_b = std::bit_cast<std::int64_t>(b.data());
  const std::int64_t distance = at_a - at_b, extent_b = byte_extent(b);
  if (distance >= extent_b || -distance >= byte_extent(a)) return false;
  // Elements at a + sum(s*i) and b + sum(t*j) share a byte iff the difference of their addresses is in
  // (-width_a, width_b). Counting j down from its end makes every coefficient positive.
  BoundedSum sum;
  sum.add(a);
  sum.add(b);
  const std::int64_t offset = distance - (extent_b - width_b);
  return sum.can_hit(-width_a + 1 - offset, width_b - 1 - offset);
}

bool overlaps_itself(const TensorImpl& t) {
  if (t.trace || t.numel() == 0) return false;
  Term dims[2 * kMaxRank];  // half would do; g++ 12 warns of std::sort's fixed first 16 elements otherwise
  int n = 0;
  for (int i = 0; i < t.rank; ++i) {
    if (t.sizes[i] == 1) continue;
    if (t.strides[i] == 0) return true;
    dims[n++] = {t.strides[i], t.sizes[i] - 1};
  }
  std::sort(dims, dims + n, [](Term a, Term b) { return a.coefficient > b.coefficient; });
  // Two different indices with one address: their difference d has sum(s*d) = 0. Let k be the first dimension with
  // d != 0, and d[k] > 0: then s[k]*d[k] is cancelled by smaller strides, each d between -max and max.
  for (int k = 0; k < n; ++k) {
    std::int64_t below = 0;
    for (int i = k + 1; i < n; ++i) below += dims[i].coefficient * dims[i].max_x;
    if (dims[k].coefficient > below) continue;
    BoundedSum sum;
    sum.add(dims[k].coefficient, dims[k].max_x - 1);
    for (int i = k + 1; i < n; ++i) sum.add(dims[i].coefficient, 2 * dims[i].max_x);
    std::int64_t target = below - dims[k].coefficient;
    if (sum.can_hit(target, target)) return true;
  }
  return false;
}

}  // namespace reprise
