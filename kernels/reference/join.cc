// cat, and the scatters of a part into a copy of the whole.
#include <algorithm>
#include <unordered_map>

#include "base/checked_math.h"
#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

namespace {

TensorView narrow(TensorView t, int dim, std::int64_t start, std::int64_t size, std::int64_t step = 1) {
  t.data += start * t.strides[dim] * item_size(t.dtype);
  t.sizes[dim] = size;
  t.strides[dim] *= step;
  return t;
}

TensorView slice(const NativeArgs& a, const TensorView& t) {
  int dim = static_cast<int>(wrap(a.integer(2), t.rank));
  std::int64_t n = t.sizes[dim], step = a.integer(5);
  auto bound = [&](int i, std::int64_t otherwise) {
    std::int64_t v = a.has(i) ? a.integer(i) : otherwise;
    return std::clamp<std::int64_t>(v < 0 ? v + n : v, 0, n);
  };
  std::int64_t start = bound(3, 0), end = std::max(bound(4, n), start);
  return narrow(t, dim, start, (end - start) / step + ((end - start) % step != 0), step);
}

TensorView diagonal(const NativeArgs& a, const TensorView& t) {
  std::int64_t offset = a.integer(2);
  int d1 = static_cast<int>(wrap(a.integer(3), t.rank)), d2 = static_cast<int>(wrap(a.integer(4), t.rank));
  std::int64_t length =
      offset >= 0 ? std::min(t.sizes[d1], t.sizes[d2] - offset) : std::min(t.sizes[d1] + offset, t.sizes[d2]);
  TensorView r = keep(t, ((1u << t.rank) - 1) & ~(1u << d1) & ~(1u << d2));
  r.sizes[r.rank] = std::max<std::int64_t>(length, 0);
  r.strides[r.rank++] = t.strides[d1] + t.strides[d2];
  if (length > 0) r.data += (offset >= 0 ? offset * t.strides[d2] : -offset * t.strides[d1]) * item_size(t.dtype);
  return r;
}

// The part is given over the storage that self has in the user's program; the launch's trailing argument holds self's
// strides there. So element positions are looked up; a position that is no element of self is not written.
void write_places(const NativeArgs& a) {
  const TensorView &src = a.tensor(1), &out = a.result();
  std::vector<std::int64_t> program = ints(a, static_cast<int>(a.n_args) - 1);
  std::int64_t own_offset = program.back();
  std::vector<std::int64_t> strides = ints(a, 3);
  strides.resize(kMaxRank);
  program.resize(kMaxRank);
  std::int64_t row = 1;
  bool expanded = false;
  bool as_stored = own_offset == 0;  // row by row, in the program and here
  // Of an expanded self it is the places in a row-major copy that are named.
  for (int d = 0; d < out.rank; ++d)
    if (program[static_cast<std::size_t>(d)] == 0 && out.sizes[d] > 1) expanded = true;
  for (int d = out.rank - 1; d >= 0; --d) {
    as_stored =
        as_stored && (out.sizes[d] == 1 || (out.strides[d] == row && program[static_cast<std::size_t>(d)] == row));
    row = times(row, out.sizes[d]);
  }
  if (as_stored || expanded) {
    TensorView part = out;
    part.rank = src.rank;
    for (int d = 0; d < src.rank; ++d)
      part.sizes[d] = src.sizes[d], part.strides[d] = strides[static_cast<std::size_t>(d)];
    part.data += (a.has(4) ? a.integer(4) : 0) * item_size(out.dtype);
    return copy_into(part, src);
  }
  std::unordered_map<std::int64_t, std::int64_t> element_at;
  for_each<2>(out.rank, out.sizes, {program.data(), out.strides},
              [&](const auto& at) { element_at.emplace(at[0], at[1]); });
  std::int64_t start = a.has(4) ? a.integer(4) - own_offset : 0;
  for_each<2>(src.rank, src.sizes, {strides.data(), src.strides}, [&](const auto& at) {
    auto found = element_at.find(start + at[0]);
    if (found != element_at.end()) store(out, found->second, load(src, at[1]));
  });
}

}  // namespace

void cat(const NativeArgs& a) {
  const TensorView& out = a.result();
  int dim = static_cast<int>(wrap(a.integer(1), out.rank));
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < a.args[0].count; ++i) {
    const TensorView& part = a.tensors[a.args[0].first + i];
    if (part.rank != out.rank) continue;  // ATen: a 1-dim tensor of no elements joins anything
    copy_into(narrow(out, dim, at, part.sizes[dim]), part);
    at += part.sizes[dim];
  }
}

void slice_scatter(const NativeArgs& a) {
  copy_into(a.result(), a.tensor(0));
  copy_into(slice(a, a.result()), a.tensor(1));
}

void select_scatter(const NativeArgs& a) {
  const TensorView& out = a.result();
  copy_into(out, a.tensor(0));
  const int dim = static_cast<int>(wrap(a.integer(2), out.rank));
  const std::int64_t i = a.integer(3);
  copy_into(select(out, dim, i < 0 ? i + out.sizes[dim] : i), a.tensor(1));
}

void diagonal_scatter(const NativeArgs& a) {
  copy_into(a.result(), a.tensor(0));
  copy_into(diagonal(a, a.result()), a.tensor(1));
}

void as_strided_scatter(const NativeArgs& a) {
  copy_into(a.result(), a.tensor(0));
  write_places(a);
}

}  // namespace reprise::kernels::reference
