#include "tests/matrix/cells.h"

#include <algorithm>

#include "tests/support/device.h"

namespace reprise::matrix {

const char* name_of(Target t) {
  static const char* const names[] = {"an input", "an intermediate", "a captured tensor"};
  return names[static_cast<int>(t)];
}
const char* name_of(Relation r) {
  static const char* const names[] = {
      "apart",      "y is x", "y overlaps x", "y is a block of columns beside x",
      "y is x.t()", "z is x", "z overlaps x", "y is another storage on the memory of x"};
  return names[static_cast<int>(r)];
}
const char* name_of(XLayout l) {
  static const char* const names[] = {"row-major",  "strided",       "at an offset",
                                      "transposed", "an inner part", "expanded"};
  return names[static_cast<int>(l)];
}
const char* name_of(Sizes s) {
  static const char* const names[] = {"", ", no rows", ", one row", ", one column", ", square"};
  return names[static_cast<int>(s)];
}
std::string Cell::str() const {
  return std::string("[") + write->name + "] of " + name_of(target) + " gives [" + result->name + "]; " +
         name_of(relation) + "; " + name_of(layout) + name_of(sizes) + "; " + std::string(dtype_name(dtype));
}

std::vector<Tensor> run(const Cell& c, const Tensors& in) {
  const Tensor target = c.target == Target::Input ? in.x : c.target == Target::Captured ? in.z : in.x.clone();
  c.write->run(target, in);
  return c.result->run(target, in);
}

namespace {

/// Small numbers, which all dtypes hold exactly, also after a few writes.
Tensor ramp(std::int64_t n, DType dtype, int from) {
  if (dtype == kBool) return remainder(arange(n) * 5 + from, 3) > 0;
  return remainder(arange(n) * 5 + from, 7).to(dtype);
}

/// [n, m] of that layout, on memory of its own.
Tensor lay_out(XLayout layout, std::int64_t n, std::int64_t m, DType dtype, int from, std::vector<Tensor>& memory) {
  auto make = [&](std::int64_t rows, std::int64_t columns) {
    memory.push_back(ramp(rows * columns, dtype, from));
    return memory.back().view({rows, columns});
  };
  switch (layout) {
    case XLayout::RowMajor: break;
    case XLayout::Strided: return make(n, 2 * m).slice(1, 0, 2 * m, 2);
    case XLayout::Offset: return make(n + 1, m).slice(0, 1);
    case XLayout::Transposed: return make(m, n).t();
    case XLayout::Inner: return make(n + 2, m + 3).slice(0, 1, n + 1).slice(1, 2, m + 2);
    case XLayout::Expanded: return make(1, m).expand({n, m});
  }
  return make(n, m);
}

}  // namespace

std::vector<Tensor> Given::all() const {
  std::vector<Tensor> all{tensors.x, tensors.y, tensors.z, tensors.ids};
  all.insert(all.end(), held.begin(), held.end());
  return all;
}
std::vector<std::string> Given::names() {
  return {"x", "y", "z (captured)", "ids", "older handle on x", "older view of y", "memory 0", "memory 1", "memory 2"};
}

Given make(const Cell& c, int call) {
  static constexpr std::int64_t kOf[][2][2] = {
      {{4, 6}, {7, 5}}, {{0, 3}, {4, 3}}, {{1, 4}, {3, 4}}, {{4, 1}, {5, 3}}, {{5, 5}, {4, 6}}};
  const std::int64_t n = kOf[static_cast<int>(c.sizes)][call / 2][0];
  const std::int64_t m = c.relation == Relation::TransposedOfIt ? n : kOf[static_cast<int>(c.sizes)][call / 2][1];
  const int from = call % 2;
  std::vector<Tensor> memory;
  Tensor x, y, z;
  const Relation r = c.relation;
  if (r == Relation::Overlap || r == Relation::CapturedOverlap) {
    Tensor all = lay_out(c.layout, n + 1, m, c.dtype, from, memory);
    x = all.slice(0, 0, n);
    (r == Relation::Overlap ? y : z) = all.slice(0, 1);
  } else if (r == Relation::Blocks) {
    Tensor all = lay_out(c.layout, n, 2 * m, c.dtype, from, memory);
    x = all.slice(1, 0, m), y = all.slice(1, m);
  } else {
    x = lay_out(c.layout, n, m, c.dtype, from, memory);
    if (r == Relation::Same) y = x;
    if (r == Relation::TransposedOfIt) y = x.t();
    if (r == Relation::CapturedToo) z = x;
    if (r == Relation::TwoStorages) {  // each of which may grow, and leave the memory
      auto another = [&] {
        return from_blob(
            x.data_ptr(), x.sizes(), c.dtype, [memory](void*) {}, x.strides());
      };
      y = another();
      x = another();
    }
  }
  if (!y.defined()) y = lay_out(XLayout::RowMajor, n, m, c.dtype, from + 2, memory);
  if (!z.defined()) z = lay_out(XLayout::RowMajor, n, m, c.dtype, from + 4, memory);
  Tensor ids = n > 1 ? tensor({n - 1, std::int64_t{0}}) : arange(n);
  const bool same = y.is_same(x), captured = z.is_same(x);
  test::Mover move;
  x = move(x), y = same ? x : move(y), z = captured ? x : move(z);
  std::vector<Tensor> held{x.alias(), y.slice(0, 0, 1)};
  for (const Tensor& t : memory) held.push_back(move(t));
  return {{x, y, z, move(ids)}, held};
}

}  // namespace reprise::matrix
