// topk, sort and multinomial: the tail of a sampling loop. These serve eager and compiled code, so they are also quick.
//
// Elements become unsigned keys in whose order they stand (NaN last ascending, first descending; -0.0 equals 0.0). Ties
// keep their order, so results are the same for any algorithm: topk by a bounded heap, sort by counting digits. Rows
// are shared among threads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "kernels/reference/draws.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/parallel_rows.h"
#include "kernels/reference/philox.h"
#include "kernels/reference/weights.h"

namespace reprise::kernels::reference {

namespace {

std::uint32_t ascending(float v) {
  if (std::isnan(v)) return ~0u;
  std::uint32_t u = std::bit_cast<std::uint32_t>(v + 0.0f);  // -0.0 + 0.0 is 0.0
  return u >> 31 ? ~u : u | 0x80000000u;
}
std::uint64_t ascending(double v) {
  if (std::isnan(v)) return ~std::uint64_t{0};
  std::uint64_t u = std::bit_cast<std::uint64_t>(v + 0.0);
  return u >> 63 ? ~u : u | std::uint64_t{1} << 63;
}
std::uint64_t ascending(std::int64_t v) { return static_cast<std::uint64_t>(v) ^ std::uint64_t{1} << 63; }

/// An element with its place. Types of up to 32 bits: key and place in one word, which compares and moves at once.
struct Narrow {
  static constexpr int kBits = 32;
  std::uint64_t both;
  Narrow(std::uint64_t key, std::int64_t at) : both(key << 32 | static_cast<std::uint64_t>(at)) {}
  std::int64_t at() const { return static_cast<std::int64_t>(both & 0xffffffffu); }
  std::uint64_t bits() const { return both >> 32; }
  bool operator<(const Narrow& o) const { return both < o.both; }
};
struct Wide {
  static constexpr int kBits = 64;
  std::uint64_t key;
  std::int64_t place;
  Wide(std::uint64_t k, std::int64_t at) : key(k), place(at) {}
  std::int64_t at() const { return place; }
  std::uint64_t bits() const { return key; }
  bool operator<(const Wide& o) const { return key != o.key ? key < o.key : place < o.place; }
};

/// One row along the ordered dim.
struct Row {
  const TensorView* t;
  std::int64_t from, step, n;
  bool descending;

  bool narrow() const { return t->dtype != DType::Float64 && t->dtype != DType::Int64 && n < (std::int64_t{1} << 32); }
  std::uint64_t flip(std::uint64_t key, bool narrow) const {
    return !descending ? key : narrow ? key ^ 0xffffffffu : ~key;
  }
  /// f(key, place) for every element; keys ascend in the wanted order.
  template <class F>
  void each_narrow(F&& f) const {
    if (t->dtype == DType::Float32) {
      const float* p = reinterpret_cast<const float*>(t->data) + from;
      for (std::int64_t i = 0; i < n; ++i) f(flip(ascending(p[i * step]), true), i);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      Value v = load(*t, from + i * step);
      f(flip(v.is_float ? ascending(static_cast<float>(v.f)) : static_cast<std::uint32_t>(v.i) ^ 0x80000000u, true), i);
    }
  }
  template <class F>
  void each_wide(F&& f) const {
    if (t->dtype == DType::Int64) {
      const std::int64_t* p = reinterpret_cast<const std::int64_t*>(t->data) + from;
      for (std::int64_t i = 0; i < n; ++i) f(flip(ascending(p[i * step]), false), i);
      return;
    }
    for (std::int64_t i = 0; i < n; ++i) {
      Value v = load(*t, from + i * step);
      f(flip(v.is_float ? ascending(v.f) : ascending(v.i), false), i);
    }
  }
};

// Stable passes over 11 bits each of the key, but for digits that all have in common. `v` comes in order of place.
template <class Entry>
void sort_entries(std::vector<Entry>& v) {
  if (v.size() < 1024) return std::sort(v.begin(), v.end());
  constexpr int kDigit = 11, kPasses = (Entry::kBits + kDigit - 1) / kDigit;
  constexpr std::uint64_t kMask = (1 << kDigit) - 1;
  std::vector<std::size_t> starts(std::size_t{kPasses} << kDigit);
  for (const Entry& e : v)
    for (int p = 0; p < kPasses; ++p)
      ++starts[(static_cast<std::size_t>(p) << kDigit) + (e.bits() >> (p * kDigit) & kMask)];
  std::vector<Entry> other;
  for (int p = 0; p < kPasses; ++p) {
    std::size_t* start = &starts[static_cast<std::size_t>(p) << kDigit];
    if (start[v[0].bits() >> (p * kDigit) & kMask] == v.size()) continue;
    std::size_t sum = 0;
    for (std::size_t i = 0; i <= kMask; ++i) sum += std::exchange(start[i], sum);
    if (other.empty()) other = v;
    for (const Entry& e : v) other[start[e.bits() >> (p * kDigit) & kMask]++] = e;
    v.swap(other);
  }
}

template <class Entry, class Each>
std::vector<Entry> all_sorted(std::int64_t n, Each&& each) {
  std::vector<Entry> v;
  v.reserve(static_cast<std::size_t>(n));
  each([&](std::uint64_t key, std::int64_t at) { v.emplace_back(key, at); });
  sort_entries(v);
  return v;
}

/// The k first of the row in order. A heap of k whose top is the last of them: most elements cost one comparison.
template <class Entry, class Each>
std::vector<Entry> first_sorted(std::int64_t n, std::int64_t k, Each&& each) {
  if (k > n / 8) {
    std::vector<Entry> v = all_sorted<Entry>(n, each);
    v.erase(v.begin() + k, v.end());
    return v;
  }
  std::vector<Entry> heap;
  heap.reserve(static_cast<std::size_t>(k) + 1);
  each([&](std::uint64_t key, std::int64_t at) {
    Entry e(key, at);
    if (static_cast<std::int64_t>(heap.size()) < k) {
      heap.push_back(e);
      std::push_heap(heap.begin(), heap.end());
    } else if (k && e < heap.front()) {
      std::pop_heap(heap.begin(), heap.end());
      heap.back() = e;
      std::push_heap(heap.begin(), heap.end());
    }
  });
  std::sort_heap(heap.begin(), heap.end());
  return heap;
}

/// Writes the first k of every row along `dim`, with their places.
void order(const NativeArgs& a, std::int64_t dim_arg, std::int64_t k, bool descending) {
  TensorView x = at_least_1d(a.tensor(0)), values = at_least_1d(a.result(0)), places = at_least_1d(a.result(1));
  int dim = static_cast<int>(wrap(dim_arg, x.rank));
  std::uint32_t others = ~(1u << dim) & ((1u << x.rank) - 1);
  TensorView rows = keep(x, others), value_rows = keep(values, others), place_rows = keep(places, others);
  std::int64_t step = x.strides[dim];
  parallel_each<3>({rows, value_rows, place_rows}, 8 * x.sizes[dim], [&](const auto& at) {
    Row row{&x, at[0], step, x.sizes[dim], descending};
    auto write_as = [&]<class T>(T, const auto& entries) {
      const T* from = reinterpret_cast<const T*>(x.data) + at[0];
      T* value = reinterpret_cast<T*>(values.data) + at[1];
      std::int64_t* place = reinterpret_cast<std::int64_t*>(places.data) + at[2];
      for (const auto& e : entries) {
        *value = from[e.at() * step];
        *place = e.at();
        value += values.strides[dim];
        place += places.strides[dim];
      }
    };
    auto write = [&](const auto& entries) {  // without the detour of load and store
      if (x.dtype == DType::Float32) return write_as(float{}, entries);
      if (x.dtype == DType::Int64) return write_as(std::int64_t{}, entries);
      for (std::size_t i = 0; i < entries.size(); ++i) {
        std::int64_t to = static_cast<std::int64_t>(i), place = entries[i].at();
        store(values, at[1] + to * values.strides[dim], load(x, at[0] + place * step));
        store(places, at[2] + to * places.strides[dim], Value::of(place));
      }
    };
    if (row.narrow()) write(first_sorted<Narrow>(row.n, k, [&](auto&& f) { row.each_narrow(f); }));
    else write(first_sorted<Wide>(row.n, k, [&](auto&& f) { row.each_wide(f); }));
  });
}

}  // namespace

// k of a 0-dim tensor's one element: that element, as ATen gives it for k = 0, too.
void topk(const NativeArgs& a) { order(a, a.integer(2), a.tensor(0).rank ? a.integer(1) : 1, a.flag(3)); }

void sort(const NativeArgs& a) {
  TensorView x = at_least_1d(a.tensor(0));
  order(a, a.integer(1), x.sizes[wrap(a.integer(1), x.rank)], a.flag(2));
}

namespace {

/// The category where the running sum of weights passes u * total; never one of weight 0.
std::int64_t where_sum_passes(const std::vector<double>& running, double u) {
  double target = u * running.back();
  auto hit = std::upper_bound(running.begin(), running.end(), target);
  if (hit == running.end())
    hit = std::lower_bound(running.begin(), running.end(), running.back());  // u * total rounded up to it
  return hit - running.begin();
}

/// k categories without replacement: those of the smallest exponential arrival times, -log(u) / weight.
std::vector<std::int64_t> first_arrivals(const std::vector<double>& w, std::int64_t k, std::uint64_t seed,
                                         std::uint64_t counter) {
  std::vector<std::pair<double, std::int64_t>> times;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (w[i] == 0) continue;
    double u = uniform(philox(seed, counter, i + 1), 53);  // stream 0 is that of the element-wise draws
    times.emplace_back(-std::log1p(-u) / w[i], static_cast<std::int64_t>(i));
  }
  std::partial_sort(times.begin(), times.begin() + k, times.end());
  std::vector<std::int64_t> r;
  for (std::int64_t i = 0; i < k; ++i) r.push_back(times[static_cast<std::size_t>(i)].second);
  return r;
}

}  // namespace

// With replacement (or one sample) sample s of row r uses counter offset + r * samples + s; otherwise one stream for
// each category.
static void draw_categories(const NativeArgs& a, std::int64_t samples, bool replacement, DrawsFrom from) {
  TensorView x = a.tensor(0), out = a.result();
  const std::uint64_t seed = from.seed, offset = from.offset;
  std::int64_t rows = x.rank == 2 ? x.sizes[0] : 1;
  if (std::string why = refuse_weights(x, replacement ? 1 : samples); !why.empty())
    return fault(a, ErrorCode::InvalidArgument, why);
  auto draw = [&](std::int64_t r) {
    std::vector<double> w = weights_of(row_of(x, r));
    TensorView to = row_of(out, r);
    std::uint64_t counter = offset + static_cast<std::uint64_t>(r * samples);
    if (!replacement && samples > 1) {
      std::vector<std::int64_t> drawn = first_arrivals(w, samples, seed, counter);
      for (std::int64_t s = 0; s < samples; ++s)
        store(to, s * to.strides[0], Value::of(drawn[static_cast<std::size_t>(s)]));
      return;
    }
    double sum = 0;
    for (double& v : w) v = sum += v;
    for (std::int64_t s = 0; s < samples; ++s) {
      double u = uniform(philox(seed, counter + static_cast<std::uint64_t>(s)), 53);
      store(to, s * to.strides[0], Value::of(where_sum_passes(w, u)));
    }
  };
  parallel(rows, x.sizes[x.rank - 1], [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) draw(r);
  });
}

void multinomial(const NativeArgs& a) {
  draw_categories(a, a.integer(1), a.flag(2),
                  {static_cast<std::uint64_t>(a.integer(3)), static_cast<std::uint64_t>(a.integer(4))});
}
void multinomial_at(const NativeArgs& a) { draw_categories(a, a.integer(3), a.flag(4), draws_from(a, 1, 5)); }

}  // namespace reprise::kernels::reference
