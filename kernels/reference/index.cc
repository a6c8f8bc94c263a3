// Reads and writes at computed indices. Every index value is checked before anything is written. As in ATen, only index
// and index_put count negative values from the end.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

namespace {

bool in_range(const NativeArgs& a, const TensorView& indices, int dim, std::int64_t extent, bool wraps) {
  std::int64_t linear = 0, bad = -1, value = 0;
  for_each(indices, [&](std::int64_t at) {
    std::int64_t v = load(indices, at).i;
    if (bad < 0 && (v >= extent || v < (wraps ? -extent : 0))) bad = linear, value = v;
    ++linear;
  });
  if (bad < 0) return true;
  std::int64_t index[kMaxRank] = {};
  for (int d = indices.rank - 1; d >= 0; --d) index[d] = bad % indices.sizes[d], bad /= indices.sizes[d];
  fault(a, ErrorCode::IndexOutOfRange,
        "index " + std::to_string(value) + " at position " + position_text(indices, index) +
            " is out of range for dimension " + std::to_string(dim) + " of size " + std::to_string(extent));
  return false;
}

void copy_element(const TensorView& to, std::int64_t at, const TensorView& from, std::int64_t from_at) {
  store(to, at, load(from, from_at));
}

void add_element(const TensorView& to, std::int64_t at, Value v) {
  Value old = load(to, at);
  if (old.is_float)
    old.f += v.number();
  else
    old.i = static_cast<std::int64_t>(static_cast<std::uint64_t>(old.i) + static_cast<std::uint64_t>(v.i));
  store(to, at, old);
}

/// The places that a scatter names, one for each element of its index.
struct Scatter {
  TensorView self, indices, out, src;
  Value one;                     // where src is a number
  bool has_tensor;
  int dim;
  Strides rest{};                // of out, 0 in `dim`
  explicit Scatter(const NativeArgs& a) : self(at_least_1d(a.tensor(0))), indices(at_least_1d(a.tensor(2))), out(at_least_1d(a.result())), has_tensor(a.args[3].kind == NativeArg::Kind::Tensor) {
    dim = static_cast<int>(wrap(a.integer(1), self.rank));
    if (has_tensor) src = at_least_1d(a.tensor(3));
    else one = number(a, 3);
    for (int d = 0; d < out.rank; ++d) rest[static_cast<std::size_t>(d)] = d == dim ? 0 : out.strides[d];
  }
  /// False, and the fault is told, where an index is out of range. Otherwise out has self's elements.
  bool begin(const NativeArgs& a) const {
    if (!in_range(a, indices, dim, self.sizes[dim], false)) return false;
    copy_into(out, self);
    return true;
  }
  /// write(result, where, value)
  template <class F>
  void run(F&& write) const {
    for_each<3>(indices.rank, indices.sizes, {indices.strides, rest.data(), src.strides}, [&](const auto& at) {
      write(out, at[1] + load(indices, at[0]).i * out.strides[dim], has_tensor ? load(src, at[2]) : one);
    });
  }
};

template <class F>
void scatter_by(const NativeArgs& a, F&& write) {
  const Scatter s(a);
  if (s.begin(a)) s.run(write);
}

}  // namespace

void embedding(const NativeArgs& a) {
  const TensorView &weight = a.tensor(0), &indices = a.tensor(1), &out = a.result();
  if (!in_range(a, indices, 0, weight.sizes[0], false)) return;
  TensorView rows = keep(out, (1u << indices.rank) - 1);
  for_each(indices, rows, [&](std::int64_t at, std::int64_t to) {
    TensorView row = select(weight, 0, load(indices, at).i), into = keep(out, 1u << indices.rank);
    into.data += to * item_size(out.dtype);
    copy_into(into, row);
  });
}

void index_select(const NativeArgs& a) {
  TensorView self = at_least_1d(a.tensor(0)), indices = at_least_1d(a.tensor(2)), out = at_least_1d(a.result());
  int dim = static_cast<int>(wrap(a.integer(1), self.rank));
  if (!in_range(a, indices, dim, self.sizes[dim], false)) return;
  for (std::int64_t i = 0; i < indices.sizes[0]; ++i) {
    copy_into(select(out, dim, i), select(self, dim, load(indices, i * indices.strides[0]).i));
  }
}

void gather(const NativeArgs& a) {
  TensorView self = at_least_1d(a.tensor(0)), indices = at_least_1d(a.tensor(2)), out = at_least_1d(a.result());
  int dim = static_cast<int>(wrap(a.integer(1), self.rank));
  if (!in_range(a, indices, dim, self.sizes[dim], false)) return;
  std::int64_t step = self.strides[dim];
  self.strides[dim] = 0;  // the index walks this dim
  for_each<3>(out.rank, out.sizes, {out.strides, indices.strides, self.strides},
              [&](const auto& at) { copy_element(out, at[0], self, at[2] + load(indices, at[1]).i * step); });
}

void scatter(const NativeArgs& a) { scatter_by(a, store); }
void scatter_add(const NativeArgs& a) { scatter_by(a, add_element); }

void scatter_reduce(const NativeArgs& a) {
  const std::string_view reduce = a.text(4);
  const bool is_max = reduce == "amax", is_sum = reduce == "sum", is_prod = reduce == "prod";
  const Scatter s(a);
  if (!s.begin(a)) return;
  if (!a.flag(5)) {  // the places that are named begin with what changes nothing: of Bool, false and true are the ends
    const double end = is_max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
    const bool is_bool = s.out.dtype == DType::Bool;
    const Value first = is_sum ? Value::of(std::int64_t{0}) : is_prod ? Value::of(std::int64_t{1}) : is_bool ? Value::of(std::int64_t{!is_max}) : Value::of(end);
    s.run([&](const TensorView& to, std::int64_t at, Value) { store(to, at, first); });
  }
  s.run([&](const TensorView& to, std::int64_t at, Value v) {
    if (is_sum) return add_element(to, at, v);
    const Value old = load(to, at);
    if (is_prod) return store(to, at, old.is_float ? Value::of(old.f * v.f) : Value::of(static_cast<std::int64_t>(static_cast<std::uint64_t>(old.i) * static_cast<std::uint64_t>(v.i))));
    const bool takes = old.is_float ? !std::isnan(old.f) && (std::isnan(v.f) || (is_max ? v.f > old.f : v.f < old.f)) : is_max ? v.i > old.i : v.i < old.i;
    if (takes) store(to, at, v);
  });
}

namespace {

/// self[indices] as a walk: over sizes in which the broadcast index dims stand where the indexed dims were (adjacent),
/// or in front. Trailing argument of the launch: which elements of the Tensor?[] are there (reference.cc).
struct IndexWalk {
  int rank = 0, count = 0;
  std::int64_t sizes[kMaxRank] = {};
  Strides self_strides{};  // 0 in the index dims
  TensorView tensors[kMaxRank];
  Strides strides[kMaxRank] = {};  // of each index tensor
  std::int64_t step[kMaxRank] = {}, extent[kMaxRank] = {};
  bool ok = true;

  IndexWalk(const NativeArgs& a, const TensorView& self) {
    const NativeArg &list = a.args[1], &there = a.args[a.n_args - 1];
    int first = -1, last = -1;
    bool indexed[kMaxRank] = {};
    for (std::uint32_t d = 0; d < there.count; ++d) {
      if (!a.ints[there.first + d]) continue;
      int dim = static_cast<int>(d);
      tensors[count] = a.tensors[list.first + static_cast<std::uint32_t>(count)];
      step[count] = self.strides[d];
      extent[count] = self.sizes[d];
      ok = ok && in_range(a, tensors[count], dim, self.sizes[d], true);
      ++count;
      indexed[d] = true;
      if (first < 0) first = dim;
      last = dim;
    }
    TensorView common;  // the index tensors' broadcast sizes
    for (int i = 0; i < count; ++i) common.rank = std::max(common.rank, tensors[i].rank);
    for (int d = 0; d < common.rank; ++d) {
      common.sizes[d] = 1;
      for (int i = 0; i < count; ++i) {
        int own = d - (common.rank - tensors[i].rank);
        if (own >= 0 && tensors[i].sizes[own] != 1) common.sizes[d] = tensors[i].sizes[own];
      }
    }
    if (self.rank - count + common.rank > kMaxRank) {
      fault(a, ErrorCode::InvalidArgument,
            "the indexed part would have more than " + std::to_string(kMaxRank) + " dimensions");
      ok = false;
      return;
    }
    int place = last - first + 1 == count ? first : 0;  // adjacent, or in front
    bool placed = false;
    auto put_common = [&] {
      for (int i = 0; i < count; ++i) {
        Strides s = broadcast_strides(tensors[i], common);
        for (int d = 0; d < common.rank; ++d)
          strides[i][static_cast<std::size_t>(rank + d)] = s[static_cast<std::size_t>(d)];
      }
      for (int d = 0; d < common.rank; ++d) sizes[rank++] = common.sizes[d];
      placed = true;
    };
    for (int d = 0; d < self.rank; ++d) {
      if (d == place) put_common();
      if (indexed[d]) continue;
      self_strides[static_cast<std::size_t>(rank)] = self.strides[d];
      sizes[rank++] = self.sizes[d];
    }
    if (!placed) put_common();
  }

  /// The last dims of the walk, in which no index moves: whole rows are read or written there.
  int row_dims() const {
    int n = 0;
    auto still = [&](std::size_t d) { return std::all_of(strides, strides + count, [&](const Strides& s) { return s[d] == 0; }); };
    while (n < rank && still(static_cast<std::size_t>(rank - n - 1))) ++n;
    return n;
  }

  /// f(offset in self, offset in the other operand, whose strides over the walk are given) over all dims but the last `without`.
  template <class F>
  void run(const std::int64_t* other, int without, F&& f) const {
    std::array<const std::int64_t*, kMaxRank + 2> s{self_strides.data(), other};
    for (std::size_t i = 0; i < kMaxRank; ++i) s[i + 2] = strides[i].data();
    for_each<kMaxRank + 2>(rank - without, sizes, s, [&](const auto& at) {
      std::int64_t to = at[0];
      for (int i = 0; i < count; ++i) {
        std::int64_t v = load(tensors[i], at[static_cast<std::size_t>(i) + 2]).i;
        to += (v < 0 ? v + extent[i] : v) * step[i];
      }
      f(to, at[1]);
    });
  }
};

/// f(row of what is indexed, row of the other operand, whose strides over the walk are given)
template <class F>
void rows_of(const IndexWalk& walk, const TensorView& indexed, const TensorView& other, const std::int64_t* strides, F&& f) {
  const int dims = walk.row_dims(), first = walk.rank - dims;
  TensorView there = indexed, here = other;
  there.rank = here.rank = dims;
  for (int d = 0; d < dims; ++d) {
    there.sizes[d] = here.sizes[d] = walk.sizes[first + d];
    there.strides[d] = walk.self_strides[static_cast<std::size_t>(first + d)];
    here.strides[d] = strides[first + d];
  }
  walk.run(strides, dims, [&](std::int64_t at, std::int64_t at_other) {
    there.data = indexed.data + at * item_size(indexed.dtype);
    here.data = other.data + at_other * item_size(other.dtype);
    f(there, here);
  });
}

}  // namespace

void index(const NativeArgs& a) {
  const TensorView &self = a.tensor(0), &out = a.result();
  IndexWalk walk(a, self);
  if (!walk.ok) return;
  rows_of(walk, self, out, out.strides, [&](const TensorView& there, const TensorView& here) { copy_into(here, there); });
}

void index_put(const NativeArgs& a) {
  const TensorView &values = a.tensor(2), &out = a.result();
  IndexWalk walk(a, out);
  if (!walk.ok) return;
  copy_into(out, a.tensor(0));
  TensorView shape;
  shape.rank = walk.rank;
  Strides s = broadcast_strides(values, shape);
  if (a.flag(3)) return walk.run(s.data(), 0, [&](std::int64_t to, std::int64_t from) { add_element(out, to, load(values, from)); });
  // One row after another, in the order of the indices: of those that name one place the last stays.
  rows_of(walk, out, values, s.data(), [&](const TensorView& there, const TensorView& here) { copy_into(there, here); });
}

}  // namespace reprise::kernels::reference
