#include "kernels/reference/native_launches.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/checked_math.h"
#include "kernels/launch/named.h"
#include "kernels/reference/weights.h"

namespace reprise::kernels {
namespace {

// Visits every index of `sizes`; f(offset of a, offset of b) in elements. The innermost dim is a plain loop.
template <class F>
bool walk(const TensorView& a, const TensorView& b, F&& f) {
  if (a.numel() == 0) return true;
  std::int64_t index[kMaxRank] = {};
  std::uint64_t at_a = 0, at_b = 0;
  int rank = a.rank, last = rank - 1;
  if (rank == 0) return f(std::int64_t{0}, std::int64_t{0});
  for (;;) {
    std::uint64_t x = at_a, y = at_b;
    for (std::int64_t i = 0; i < a.sizes[last]; ++i, x += wrapping(a.strides[last]), y += wrapping(b.strides[last])) {
      if (!f(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y))) return false;
    }
    int d = last - 1;
    for (; d >= 0; --d) {
      at_a += wrapping(a.strides[d]), at_b += wrapping(b.strides[d]);
      if (++index[d] < a.sizes[d]) break;
      at_a -= wrapping(a.strides[d]) * wrapping(a.sizes[d]), at_b -= wrapping(b.strides[d]) * wrapping(b.sizes[d]);
      index[d] = 0;
    }
    if (d < 0) return true;
  }
}

template <class Bits>
void copy_as(const TensorView& from, const TensorView& to) {
  const Bits* p = reinterpret_cast<const Bits*>(from.data);
  Bits* q = reinterpret_cast<Bits*>(to.data);
  walk(from, to, [&](std::int64_t i, std::int64_t j) { return q[j] = p[i], true; });
}

void copy_kernel(const NativeArgs& a) {
  const TensorView &from = a.tensors[0], &to = a.tensors[1];
  switch (item_size(from.dtype)) {
    case 1: return copy_as<std::uint8_t>(from, to);
    case 2: return copy_as<std::uint16_t>(from, to);
    case 4: return copy_as<std::uint32_t>(from, to);
    default: return copy_as<std::uint64_t>(from, to);
  }
}

std::string index_fault(std::int64_t value, std::int64_t position, std::span<const std::int64_t> sizes,
                        std::int64_t extent, std::int64_t dim) {
  std::string at;
  for (std::size_t d = sizes.size(); d-- > 0; position /= sizes[d])
    at = std::to_string(position % sizes[d]) + (at.empty() ? "" : ", ") + at;
  return "index " + std::to_string(value) + " at position [" + at + "] is out of range for dimension " +
         std::to_string(dim) + " of size " + std::to_string(extent);
}

template <class T>
void check_as(const NativeArgs& a) {
  const TensorView& t = a.tensors[0];
  const T* p = reinterpret_cast<const T*>(t.data);
  std::int64_t extent = a.integer(1), dim = a.integer(2), least = a.flag(3) ? -extent : 0, flat = 0;
  walk(t, t, [&](std::int64_t i, std::int64_t) {
    auto v = static_cast<std::int64_t>(p[i]);
    if (v >= least && v < extent) return ++flat, true;
    *a.fault = {true, ErrorCode::IndexOutOfRange,
                index_fault(v, flat, {t.sizes, static_cast<std::size_t>(t.rank)}, extent, dim)};
    return false;
  });
}

void check_index_kernel(const NativeArgs& a) {
  switch (a.tensors[0].dtype) {
    case DType::Int64: return check_as<std::int64_t>(a);
    case DType::Int32: return check_as<std::int32_t>(a);
    case DType::Int8: return check_as<std::int8_t>(a);
    case DType::UInt8: return check_as<std::uint8_t>(a);
    default:
      *a.fault = {true, ErrorCode::DTypeMismatch,
                  "an index must be of an integer dtype, got " + std::string(dtype_name(a.tensors[0].dtype))};
  }
}

std::int64_t index_value(const TensorView& t, std::int64_t at) {
  switch (t.dtype) {
    case DType::Int64: return reinterpret_cast<const std::int64_t*>(t.data)[at];
    case DType::Int32: return reinterpret_cast<const std::int32_t*>(t.data)[at];
    case DType::Int8: return reinterpret_cast<const std::int8_t*>(t.data)[at];
    default: return reinterpret_cast<const std::uint8_t*>(t.data)[at];
  }
}

// ints: extents of the indices.
void last_places_kernel(const NativeArgs& a) {
  const auto count = static_cast<std::size_t>(a.args[0].count);
  const TensorView& last = a.tensors[count];
  auto* to = reinterpret_cast<std::int64_t*>(last.data);
  const std::int64_t n = last.numel();
  for (std::size_t k = 0; k < count; ++k) {
    const TensorView& index = a.tensors[k];
    const std::int64_t extent = a.ints[k];
    std::int64_t flat = 0;
    walk(index, index, [&](std::int64_t i, std::int64_t) {
      const std::int64_t v = index_value(index, i), place = v < 0 ? v + extent : v;
      to[flat] = k == 0 ? place : to[flat] * extent + place;
      return ++flat, true;
    });
  }
  std::int64_t rising = 1;  // as rows that are written one after another
  while (rising < n && to[rising - 1] < to[rising]) ++rising;
  if (rising >= n) return;
  // From the last one on, those met before are in the table: open addressing, half of it stays empty.
  auto* table = reinterpret_cast<std::int64_t*>(a.tensors[count + 1].data);
  const auto mask = std::bit_floor(static_cast<std::uint64_t>(4 * n)) - 1;
  std::fill_n(table, mask + 1, -1);
  for (std::int64_t p = n; p-- > 0;) {
    std::uint64_t at = (static_cast<std::uint64_t>(to[p]) * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (table[at] >= 0 && table[at] != to[p]) at = (at + 1) & mask;
    if (table[at] >= 0) to[p] = -1;
    else table[at] = to[p];
  }
}

void check_weights_kernel(const NativeArgs& a) {
  std::string why = refuse_weights(a.tensors[0], a.integer(1));
  if (!why.empty()) *a.fault = {true, ErrorCode::InvalidArgument, std::move(why)};
}

}  // namespace

std::optional<ValueCheck> value_check(const Launch& l) {
  const auto* native = std::get_if<NativeLaunch>(&l.what);
  if (!native) return std::nullopt;
  const Ints& sizes = native->operands[0].layout.sizes;
  if (native->fn == check_index_kernel)
    return ValueCheck{ValueCheck::Of::Indices, static_cast<int>(native->ints[1].hint()), native->ints[0], sizes};
  if (native->fn == check_weights_kernel) return ValueCheck{ValueCheck::Of::Weights, 0, native->ints[0], sizes};
  return std::nullopt;
}

KernelFault check_fault(ValueCheck::Of of, std::int64_t place, std::int64_t value, std::span<const std::int64_t> sizes,
                        std::int64_t extent, std::int64_t dim) {
  if (of == ValueCheck::Of::Indices)
    return {true, ErrorCode::IndexOutOfRange, index_fault(value, place, sizes, extent, dim)};
  const std::int64_t n = sizes.back();
  return {true, ErrorCode::InvalidArgument,
          place < 0 ? few_weights_fault(value, extent, -1 - place)
                    : weight_fault(std::bit_cast<double>(value), place % n, place / n)};
}

Launch copy_launch(Operand from, Operand to, std::string name, SourceLoc loc) {
  NativeLaunch n;
  n.fn = copy_kernel;
  to.written = true;
  n.operands = {std::move(from), std::move(to)};
  n.args = {{NativeArg::Kind::Tensor, 0, 1}};
  n.first_result = 1;
  n.n_results = 1;
  return {std::move(n), std::move(name), loc, false, {}};
}

Launch check_index_launch(Operand index, Int extent, int dim, bool wraps, SourceLoc loc, std::string name) {
  NativeLaunch n;
  n.fn = check_index_kernel;
  n.operands = {std::move(index)};
  n.args = {{NativeArg::Kind::Tensor, 0, 1},
            {NativeArg::Kind::Int, 0, 1},
            {NativeArg::Kind::Int, 1, 1},
            {NativeArg::Kind::Bool, 2, 1}};
  n.ints = {extent, dim, wraps ? 1 : 0};
  n.first_result = 1;
  return {std::move(n), std::move(name), loc, true, {}};
}

Launch last_places_launch(std::vector<Operand> indices, const Ints& extents, Operand last, Operand table, SourceLoc loc,
                          std::string name) {
  NativeLaunch n;
  n.fn = last_places_kernel;
  n.operands = std::move(indices);
  const auto count = static_cast<std::uint32_t>(n.operands.size());
  for (Operand& o : n.operands) {  // broadcast
    const std::size_t rank = last.layout.sizes.size(), lead = rank - o.layout.sizes.size();
    Layout seen{last.layout.sizes, Ints(rank, Int(0)), o.layout.offset};
    for (std::size_t d = lead; d < rank; ++d)
      if (!o.layout.sizes[d - lead].is_symbolic() && o.layout.sizes[d - lead].hint() == 1) continue;
      else seen.strides[d] = o.layout.strides[d - lead];
    o.layout = std::move(seen);
  }
  last.written = table.written = true;
  n.operands.push_back(std::move(last)), n.operands.push_back(std::move(table));
  n.args = {{NativeArg::Kind::Tensor, 0, count}};
  n.ints = {extents.begin(), extents.end()};
  n.first_result = count;
  n.n_results = 2;
  return {std::move(n), std::move(name), loc, false, {}};
}

Launch check_weights_launch(Operand weights, Int wanted, SourceLoc loc, std::string name) {
  NativeLaunch n;
  n.fn = check_weights_kernel;
  n.operands = {std::move(weights)};
  n.args = {{NativeArg::Kind::Tensor, 0, 1}, {NativeArg::Kind::Int, 0, 1}};
  n.ints = {wanted};
  n.first_result = 1;
  return {std::move(n), std::move(name), loc, true, {}};
}

NativeFn named::copy() { return copy_kernel; }
NativeFn named::check_index() { return check_index_kernel; }
NativeFn named::last_places() { return last_places_kernel; }
NativeFn named::check_weights() { return check_weights_kernel; }

}  // namespace reprise::kernels
