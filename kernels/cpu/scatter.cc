// Writes and additions at computed places: scatter, scatter_add, scatter_reduce, index_put.
//
// Note [Order of a scatter]
// Places that are named more than once are written in the row-major order of what is written, whatever the number of
// threads, as the reference kernel does it: sums have the same bits, and of values that are put the last one stays. So
// threads share the target, never the indices: a dim along which the target moves by itself is cut, or else what the
// first index may name, and every thread goes over the indices in order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/checked_math.h"
#include "kernels/cpu/host_kernels.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/reference/index_walk.h"

namespace reprise::kernels::host {

namespace {

using reference::Value;

constexpr int kBatch = 256;                    // places that are looked up before they are written,
constexpr int kAhead = 16;                     // and so many before, asked for
constexpr std::int64_t kLeastWork = 32 << 10;  // elements for a thread

/// A Bool in memory: added it is or, multiplied and.
struct Truth {
  std::uint8_t byte;
};

template <class T>
constexpr bool is_computed_in_float = !std::is_arithmetic_v<T> && !std::is_same_v<T, Truth>;

// Each is what the reference kernel computes in double, or 64 bits, and rounds once: a sum or product of two floats
// rounded to their type's precision by way of a type with twice as many digits and two more is the same.
struct Put {
  template <class T>
  T operator()(T, T v) const {
    return v;
  }
};
struct Add {
  template <class T>
  T operator()(T old, T v) const {
    if constexpr (std::is_same_v<T, Truth>) return {static_cast<std::uint8_t>((old.byte | v.byte) != 0)};
    else if constexpr (is_computed_in_float<T>) return T(static_cast<float>(old) + static_cast<float>(v));
    else if constexpr (std::is_floating_point_v<T>) return old + v;
    else return static_cast<T>(static_cast<std::make_unsigned_t<T>>(old) + static_cast<std::make_unsigned_t<T>>(v));
  }
};
struct Multiply {
  template <class T>
  T operator()(T old, T v) const {
    if constexpr (std::is_same_v<T, Truth>) return {static_cast<std::uint8_t>(old.byte && v.byte)};
    else if constexpr (is_computed_in_float<T>) return T(static_cast<float>(old) * static_cast<float>(v));
    else if constexpr (std::is_floating_point_v<T>) return old * v;
    else return static_cast<T>(static_cast<std::uint64_t>(old) * static_cast<std::uint64_t>(v));
  }
};
template <bool max>
struct Extreme {  // a NaN stays, and is taken
  template <class T>
  T operator()(T old, T v) const {
    if constexpr (std::is_same_v<T, Truth>) {
      return {static_cast<std::uint8_t>(max ? old.byte || v.byte : old.byte && v.byte)};
    } else {
      using C = std::conditional_t<is_computed_in_float<T>, float, T>;
      const C a = static_cast<C>(old), b = static_cast<C>(v);
      return a == a && (b != b || (max ? b > a : b < a)) ? v : old;
    }
  }
};

/// What is written where: over `rank` dims in row-major order, `to` and `from` in elements; in the dims of an index the
/// target does not move.
struct Writes {
  struct Index {
    const TensorView* values;
    std::int64_t strides[kMaxRank], step, extent;
  };
  int rank = 0, n_index = 0;
  std::int64_t sizes[kMaxRank], to[kMaxRank], from[kMaxRank];
  Index index[kMaxRank];
  char* out;
  const char* src;
  DType dtype;

  bool still(int d) const {
    return std::all_of(index, index + n_index, [&](const Index& i) { return i.strides[d] == 0; });
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= sizes[d];
    return n;
  }
  void move(int d, std::int64_t by) {
    out += by * to[d] * item_size(dtype);
    src += by * from[d] * item_size(dtype);
    for (int i = 0; i < n_index; ++i) offset[i] += by * index[i].strides[d];
  }
  std::int64_t offset[kMaxRank] = {};  // of each index, in elements

  /// Dims of one element go; dims that all step through as through one become one.
  void simplify() {
    int kept = 0;
    for (int d = 0; d < rank; ++d) {
      if (sizes[d] == 1) continue;
      auto joins = [&](const std::int64_t* s) { return s[kept - 1] == s[d] * sizes[d]; };
      const bool joined = kept > 0 && joins(to) && joins(from) &&
                          std::all_of(index, index + n_index, [&](const Index& i) { return joins(i.strides); });
      if (joined) --kept;
      sizes[kept] = joined ? sizes[kept] * sizes[d] : sizes[d];
      to[kept] = to[d], from[kept] = from[d];
      for (int i = 0; i < n_index; ++i) index[i].strides[kept] = index[i].strides[d];
      ++kept;
    }
    rank = kept;
    if (rank > 0) return;
    rank = 1, sizes[0] = 1, to[0] = from[0] = 0;
    for (int i = 0; i < n_index; ++i) index[i].strides[0] = 0;
  }
};

template <class I>
void add_places(const I* p, std::int64_t stride, std::int64_t n, std::int64_t extent, std::int64_t step,
                std::int64_t* places) {
  for (std::int64_t j = 0; j < n; ++j) {
    const auto v = static_cast<std::int64_t>(p[j * stride]);
    places[j] += (v < 0 ? v + extent : v) * step;
  }
}
void add_places(const Writes::Index& i, std::int64_t at, std::int64_t stride, std::int64_t n, std::int64_t step,
                std::int64_t* places) {
  const char* p = i.values->data + at * item_size(i.values->dtype);
  switch (i.values->dtype) {
    case DType::Int64: return add_places(reinterpret_cast<const std::int64_t*>(p), stride, n, i.extent, step, places);
    case DType::Int32: return add_places(reinterpret_cast<const std::int32_t*>(p), stride, n, i.extent, step, places);
    case DType::Int8: return add_places(reinterpret_cast<const std::int8_t*>(p), stride, n, i.extent, step, places);
    default: return add_places(reinterpret_cast<const std::uint8_t*>(p), stride, n, i.extent, step, places);
  }
}

/// Values of the first index that a thread sees to.
struct Share {
  std::int64_t first = 0, end = std::numeric_limits<std::int64_t>::max();
  bool all() const { return first == 0 && end == std::numeric_limits<std::int64_t>::max(); }
};

template <class T, class Op>
class Writer {
 public:
  Writer(const Writes& w, Share share, Op op) : w_(w), share_(share), op_(op) {
    last_ = w.rank - 1;
    row_ = w.still(last_) && w.to[last_] != 0;
  }
  void run() {
    if (w_.count() == 0) return;
    std::int64_t at[kMaxRank] = {}, out = 0, src = 0, index[kMaxRank] = {};
    for (int i = 0; i < w_.n_index; ++i) index[i] = w_.offset[i];
    for (;;) {
      if (row_) row(out, src, index);
      else elements(out, src, index);
      int d = last_ - 1;
      for (; d >= 0; --d) {
        out += w_.to[d], src += w_.from[d];
        for (int i = 0; i < w_.n_index; ++i) index[i] += w_.index[i].strides[d];
        if (++at[d] < w_.sizes[d]) break;
        out -= w_.to[d] * at[d], src -= w_.from[d] * at[d];
        for (int i = 0; i < w_.n_index; ++i) index[i] -= w_.index[i].strides[d] * at[d];
        at[d] = 0;
      }
      if (d < 0) return;
    }
  }

 private:
  void row(std::int64_t out, std::int64_t src, const std::int64_t* index) {
    std::int64_t place = 0;
    for (int i = 0; i < w_.n_index; ++i) {
      std::int64_t v = 0;
      add_places(w_.index[i], index[i], 0, 1, 1, &v);
      if (i == 0 && (v < share_.first || v >= share_.end)) return;
      place += v * w_.index[i].step;
    }
    T* to = reinterpret_cast<T*>(w_.out) + out + place;
    const T* from = reinterpret_cast<const T*>(w_.src) + src;
    const std::int64_t n = w_.sizes[last_], to_step = w_.to[last_], from_step = w_.from[last_];
    if (to_step == 1 && from_step == 1)
      for (std::int64_t j = 0; j < n; ++j) to[j] = op_(to[j], from[j]);
    else
      for (std::int64_t j = 0; j < n; ++j) to[j * to_step] = op_(to[j * to_step], from[j * from_step]);
  }

  void elements(std::int64_t out, std::int64_t src, const std::int64_t* index) {
    if (w_.n_index == 1 && share_.all() && w_.index[0].values->dtype == DType::Int64) one_index(out, src, index[0]);
    else batches(out, src, index);
  }

  /// One index of Int64: most scatters.
  void one_index(std::int64_t out, std::int64_t src, std::int64_t at) {
    T* to = reinterpret_cast<T*>(w_.out) + out;
    const T* from = reinterpret_cast<const T*>(w_.src) + src;
    const std::int64_t* p = reinterpret_cast<const std::int64_t*>(w_.index[0].values->data) + at;
    const std::int64_t n = w_.sizes[last_], stride = w_.index[0].strides[last_], extent = w_.index[0].extent,
                       index_step = w_.index[0].step, step = w_.to[last_], from_step = w_.from[last_];
    auto place = [&](std::int64_t j) {
      const std::int64_t v = p[j * stride];
      return (v < 0 ? v + extent : v) * index_step + j * step;
    };
    auto one = [&](std::int64_t j) {
      T& x = to[place(j)];
      x = op_(x, from[j * from_step]);
    };
    std::int64_t j = 0;
    for (; j + kAhead < n; ++j) {
      __builtin_prefetch(to + place(j + kAhead), 1);
      one(j);
    }
    for (; j < n; ++j) one(j);
  }

  void batches(std::int64_t out, std::int64_t src, const std::int64_t* index) {
    std::int64_t places[kBatch + kAhead], mine[kBatch];
    std::int32_t which[kBatch];
    const std::int64_t step = w_.to[last_], from_step = w_.from[last_];
    for (std::int64_t begin = 0; begin < w_.sizes[last_]; begin += kBatch) {
      const std::int64_t n = std::min<std::int64_t>(kBatch, w_.sizes[last_] - begin);
      auto add = [&](int i, std::int64_t by, std::int64_t* to) {
        add_places(w_.index[i], index[i] + begin * w_.index[i].strides[last_], w_.index[i].strides[last_], n, by, to);
      };
      T* to = reinterpret_cast<T*>(w_.out) + out;
      const T* from = reinterpret_cast<const T*>(w_.src) + src + begin * from_step;
      for (std::int64_t j = 0; j < n; ++j) places[j] = (begin + j) * step;
      for (int i = 0; i < w_.n_index; ++i) add(i, w_.index[i].step, places);
      if (share_.all()) {
        std::fill_n(places + n, kAhead, places[n - 1]);
        for (std::int64_t j = 0; j < n; ++j) {
          __builtin_prefetch(to + places[j + kAhead], 1);
          T& x = to[places[j]];
          x = op_(x, from[j * from_step]);
        }
        continue;
      }
      std::fill_n(mine, n, 0);
      add(0, 1, mine);
      std::int64_t count = 0;
      for (std::int64_t j = 0; j < n; ++j) {
        which[count] = static_cast<std::int32_t>(j);
        count += mine[j] >= share_.first && mine[j] < share_.end;
      }
      for (std::int64_t j = 0; j < count; ++j) {
        T& x = to[places[which[j]]];
        x = op_(x, from[which[j] * from_step]);
      }
    }
  }

  const Writes& w_;
  const Share share_;
  const Op op_;
  int last_;
  bool row_;
};

template <class T, class Op>
void write(const Writes& w, Op op) {
  const std::int64_t n = w.count(), threads = device::num_threads();
  if (n == 0) return;
  int cut = -1;
  for (int d = 0; d < w.rank; ++d)
    if (w.to[d] != 0 && (cut < 0 || (w.sizes[cut] < 4 * threads && w.sizes[d] > w.sizes[cut]))) cut = d;
  if (threads == 1 || n < 2 * kLeastWork) return Writer<T, Op>(w, {}, op).run();
  if (cut >= 0 && w.sizes[cut] >= threads) {
    const std::int64_t least = cut == w.rank - 1 ? 64 : 1;  // lines of a row are not shared
    parallel(w.sizes[cut], std::max(least, kLeastWork * w.sizes[cut] / n), [&](std::int64_t begin, std::int64_t end) {
      Writes part = w;
      part.move(cut, begin);
      part.sizes[cut] = end - begin;
      Writer<T, Op>(part, {}, op).run();
    });
    return;
  }
  if (w.n_index == 0) return Writer<T, Op>(w, {}, op).run();
  const std::int64_t extent = w.index[0].extent;
  parallel(extent, (extent + threads - 1) / threads, [&](std::int64_t begin, std::int64_t end) {
    Writer<T, Op>(w, {begin, end}, op).run();
  });
}

/// f(T{}), T the type of elements in memory.
template <class F>
void with_element(DType t, F&& f) {
  switch (t) {
    case DType::Float32: return f(float{});
    case DType::Float64: return f(double{});
    case DType::Float16: return f(Half{});
    case DType::BFloat16: return f(BFloat16{});
    case DType::Int8: return f(std::int8_t{});
    case DType::UInt8: return f(std::uint8_t{});
    case DType::Int32: return f(std::int32_t{});
    case DType::Int64: return f(std::int64_t{});
    case DType::Bool: return f(Truth{});
    default: return;  // not written here (is_written)
  }
}

void put(const Writes& w) {
  switch (item_size(w.dtype)) {
    case 1: return write<std::uint8_t>(w, Put{});
    case 2: return write<std::uint16_t>(w, Put{});
    case 4: return write<std::uint32_t>(w, Put{});
    default: return write<std::uint64_t>(w, Put{});
  }
}
void add(const Writes& w) {
  with_element(w.dtype, [&]<class T>(T) { write<T>(w, Add{}); });
}

/// A number in place of a tensor: one element, which stays where it is.
struct Constant {
  alignas(8) char bytes[8] = {};
  Constant(DType t, Value v) {
    TensorView one;
    one.data = bytes, one.dtype = t;
    reference::store(one, 0, v);
  }
};

Writes writes_of(const reference::Scatter& s, const Constant& one) {
  Writes w;
  w.rank = s.indices.rank, w.n_index = 1;
  w.out = s.out.data, w.src = s.has_tensor ? s.src.data : one.bytes, w.dtype = s.out.dtype;
  w.index[0].values = &s.indices, w.index[0].step = s.out.strides[s.dim], w.index[0].extent = s.out.sizes[s.dim];
  for (int d = 0; d < w.rank; ++d) {
    w.sizes[d] = s.indices.sizes[d], w.to[d] = s.rest[static_cast<std::size_t>(d)],
    w.from[d] = s.has_tensor ? s.src.strides[d] : 0;
    w.index[0].strides[d] = s.indices.strides[d];
  }
  w.simplify();
  return w;
}

/// Are elements of one dtype written into the other's here? Without conversion, and not into dtypes for storage alone.
bool is_written(DType from, DType to) { return from == to && !(is_floating(to) && item_size(to) == 1); }
bool is_written(const reference::Scatter& s) {
  return is_written(s.has_tensor ? s.src.dtype : s.out.dtype, s.out.dtype);
}

}  // namespace

void scatter(const NativeArgs& a) {
  const reference::Scatter s(a);
  if (!is_written(s)) return reference::scatter(a);
  if (s.begin(a)) put(writes_of(s, Constant(s.out.dtype, s.one)));
}

void scatter_add(const NativeArgs& a) {
  const reference::Scatter s(a);
  if (!is_written(s)) return reference::scatter_add(a);
  if (s.begin(a)) add(writes_of(s, Constant(s.out.dtype, s.one)));
}

void scatter_reduce(const NativeArgs& a) {
  const std::string_view reduce = a.text(4);
  const reference::Scatter s(a);
  if (!is_written(s)) return reference::scatter_reduce(a);
  if (!s.begin(a)) return;
  if (!a.flag(5)) {
    reference::Scatter first = s;
    first.has_tensor = false;
    put(writes_of(first, Constant(s.out.dtype, reference::neutral(reduce, s.out.dtype))));
  }
  const Constant one(s.out.dtype, s.one);
  const Writes w = writes_of(s, one);
  if (reduce == "sum") return add(w);
  with_element(w.dtype, [&]<class T>(T) {
    if (reduce == "prod") write<T>(w, Multiply{});
    else if (reduce == "amax") write<T>(w, Extreme<true>{});
    else write<T>(w, Extreme<false>{});
  });
}

void index_put(const NativeArgs& a) {
  const TensorView &values = a.tensor(2), &out = a.result();
  if (!is_written(values.dtype, out.dtype)) return reference::index_put(a);
  const reference::IndexWalk walk(a, out);
  if (!walk.ok) return;
  reference::copy_into(out, a.tensor(0));
  TensorView shape;
  shape.rank = walk.rank;
  const reference::Strides from = reference::broadcast_strides(values, shape);
  Writes w;
  w.rank = walk.rank, w.n_index = walk.count;
  w.out = out.data, w.src = values.data, w.dtype = out.dtype;
  for (int d = 0; d < w.rank; ++d)
    w.sizes[d] = walk.sizes[d], w.to[d] = walk.self_strides[static_cast<std::size_t>(d)],
    w.from[d] = from[static_cast<std::size_t>(d)];
  for (int i = 0; i < w.n_index; ++i) {
    w.index[i].values = &walk.tensors[i], w.index[i].step = walk.step[i], w.index[i].extent = walk.extent[i];
    for (int d = 0; d < w.rank; ++d) w.index[i].strides[d] = walk.strides[i][static_cast<std::size_t>(d)];
  }
  w.simplify();
  a.flag(3) ? add(w) : put(w);
}

}  // namespace reprise::kernels::host
