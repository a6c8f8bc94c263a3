// Reads and writes at computed indices. Every index value is checked before anything is written. As in ATen, only index
// and index_put count negative values from the end.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/checked_math.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/index_walk.h"

namespace reprise::kernels::reference {

namespace {

template <class T>
bool all_within(const TensorView& t, std::int64_t least, std::int64_t extent) {
  const T* p = reinterpret_cast<const T*>(t.data);
  std::uint64_t outside = 0;  // the sign of what is below, or above; where a difference wraps, it is
  auto look = [&](std::int64_t from, std::int64_t n, std::int64_t step) {
    for (std::int64_t i = 0; i < n; ++i) {
      const auto v = static_cast<std::uint64_t>(static_cast<std::int64_t>(p[from + i * step]));
      outside |= (v - static_cast<std::uint64_t>(least)) | (static_cast<std::uint64_t>(extent - 1) - v);
    }
  };
  std::int64_t run = 1;
  int rank = t.rank;
  while (rank > 0 && (t.sizes[rank - 1] == 1 || t.strides[rank - 1] == run)) run = times(run, t.sizes[--rank]);
  if (run == 0) return true;
  if (run > 1 || rank == 0) {
    for_each<1>(rank, t.sizes, {t.strides}, [&](const auto& at) { look(at[0], run, 1); });
  } else {
    --rank;
    for_each<1>(rank, t.sizes, {t.strides}, [&](const auto& at) { look(at[0], t.sizes[rank], t.strides[rank]); });
  }
  return outside >> 63 == 0;
}
bool all_within(TensorView t, std::int64_t least, std::int64_t extent) {
  for (int d = 0; d < t.rank; ++d)
    if (t.strides[d] == 0 && t.sizes[d] > 0) t.sizes[d] = 1;  // expanded: the same values again
  switch (t.dtype) {
    case DType::Int64: return all_within<std::int64_t>(t, least, extent);
    case DType::Int32: return all_within<std::int32_t>(t, least, extent);
    default: return false;
  }
}

}  // namespace

bool in_range(const NativeArgs& a, const TensorView& indices, int dim, std::int64_t extent, bool wraps) {
  if (all_within(indices, wraps ? -extent : 0, extent)) return true;
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

bool Scatter::begin(const NativeArgs& a) const {
  if (!in_range(a, indices, dim, self.sizes[dim], false)) return false;
  copy_into(out, self);
  return true;
}

namespace {

void copy_element(const TensorView& to, std::int64_t at, const TensorView& from, std::int64_t from_at) {
  store(to, at, load(from, from_at));
}

void add_element(const TensorView& to, std::int64_t at, Value v) {
  Value old = load(to, at);
  if (old.is_float) old.f += v.number();
  else old.i = static_cast<std::int64_t>(static_cast<std::uint64_t>(old.i) + static_cast<std::uint64_t>(v.i));
  store(to, at, old);
}

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

Value neutral(std::string_view reduce, DType t) {
  if (reduce == "sum") return Value::of(std::int64_t{0});
  if (reduce == "prod") return Value::of(std::int64_t{1});
  const bool is_max = reduce == "amax";
  if (t == DType::Bool) return Value::of(std::int64_t{!is_max});
  return Value::of(is_max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity());
}

void scatter_reduce(const NativeArgs& a) {
  const std::string_view reduce = a.text(4);
  const bool is_max = reduce == "amax", is_sum = reduce == "sum", is_prod = reduce == "prod";
  const Scatter s(a);
  if (!s.begin(a)) return;
  if (!a.flag(5)) {
    const Value first = neutral(reduce, s.out.dtype);
    s.run([&](const TensorView& to, std::int64_t at, Value) { store(to, at, first); });
  }
  s.run([&](const TensorView& to, std::int64_t at, Value v) {
    if (is_sum) return add_element(to, at, v);
    const Value old = load(to, at);
    if (is_prod)
      return store(to, at,
                   old.is_float ? Value::of(old.f * v.f)
                                : Value::of(static_cast<std::int64_t>(static_cast<std::uint64_t>(old.i) *
                                                                      static_cast<std::uint64_t>(v.i))));
    const bool takes = old.is_float ? !std::isnan(old.f) && (std::isnan(v.f) || (is_max ? v.f > old.f : v.f < old.f))
                       : is_max     ? v.i > old.i
                                    : v.i < old.i;
    if (takes) store(to, at, v);
  });
}

namespace {

/// f(row of what is indexed, row of the other operand, whose strides over the walk are given)
template <class F>
void rows_of(const IndexWalk& walk, const TensorView& indexed, const TensorView& other, const std::int64_t* strides,
             F&& f) {
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
  rows_of(walk, self, out, out.strides,
          [&](const TensorView& there, const TensorView& here) { copy_into(here, there); });
}

void index_put(const NativeArgs& a) {
  const TensorView &values = a.tensor(2), &out = a.result();
  IndexWalk walk(a, out);
  if (!walk.ok) return;
  copy_into(out, a.tensor(0));
  TensorView shape;
  shape.rank = walk.rank;
  Strides s = broadcast_strides(values, shape);
  if (a.flag(3))
    return walk.run(s.data(), 0, [&](std::int64_t to, std::int64_t from) { add_element(out, to, load(values, from)); });
  // One row after another, in the order of the indices: of those that name one place the last stays.
  rows_of(walk, out, values, s.data(),
          [&](const TensorView& there, const TensorView& here) { copy_into(there, here); });
}

}  // namespace reprise::kernels::reference
