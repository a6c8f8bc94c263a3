// The forms of matmul in mm, bmm and linear: the operators that have kernels.
#include "graph/op.h"
#include "graph/shape_rules.h"
#include "passes/decompose_builder.h"

namespace reprise::passes {

using graph::OpId;
using V = Build::V;

namespace {

Ints without(const Ints& sizes, std::size_t drop_last) {
  return Ints(sizes.begin(), sizes.end() - static_cast<std::ptrdiff_t>(drop_last));
}

Int product(const Ints& sizes) {
  Int n = 1;
  for (Int s : sizes) n *= s;
  return n;
}

V turned(Build& b, V v) {
  Ints dims;
  for (int d = 0; d < b.dim(v); ++d) dims.push_back(d);
  std::swap(dims[dims.size() - 2], dims.back());
  return b.emit(OpId::permute, {v, dims});
}

// [batch..., r, c] expanded to `batch` and flattened to [prod(batch), r, c]. A transposed matrix stays one: products
// read them as they are, and what must be copied is not turned around on the way.
V flat_batch(Build& b, V v, const Ints& batch) {
  const Ints strides = b.meta(v).layout.strides;
  if (batch.size() != 1 && identical(strides[strides.size() - 2], 1) && !identical(strides.back(), 1))
    return turned(b, flat_batch(b, turned(b, v), batch));
  const Ints& s = b.sizes(v);
  Int r = s[s.size() - 2], c = s[s.size() - 1];
  Ints full = batch;
  full.push_back(r);
  full.push_back(c);
  bool same = s.size() == full.size();
  for (std::size_t i = 0; same && i < full.size(); ++i) same = identical(s[i], full[i]);
  if (!same) v = b.emit(OpId::expand, {v, full});
  return batch.size() == 1 ? v : b.reshape(v, {product(batch), r, c});
}

}  // namespace

// ATen's rule: a vector on the left is a row, on the right a column, and the dimension that was added goes again.
V decompose_matmul(Build& b, DType) {
  V x = b.tensor(0), y = b.tensor(1);
  bool row = b.dim(x) == 1, column = b.dim(y) == 1;
  if (row) x = b.emit(OpId::unsqueeze, {x, Int(0)});
  if (column) y = b.emit(OpId::unsqueeze, {y, Int(1)});
  V z;
  if (b.dim(x) == 2 && b.dim(y) == 2) {
    z = b.emit(OpId::mm, {x, y});
  } else if (b.dim(y) == 2) {  // fold the batch into rows: one large product instead of many
    Ints batch = without(b.sizes(x), 1), out = batch;
    out.push_back(b.sizes(y)[1]);
    V flat = b.reshape(x, {product(batch), b.sizes(x)[b.sizes(x).size() - 1]});
    z = b.emit(OpId::view, {b.emit(OpId::mm, {flat, y}), out});
  } else {
    Ints batch = graph::broadcast(without(b.sizes(x), 2), without(b.sizes(y), 2), "matmul", b.loc());
    Ints out = batch;
    out.push_back(b.sizes(x)[b.sizes(x).size() - 2]);
    out.push_back(b.sizes(y)[b.sizes(y).size() - 1]);
    z = b.emit(OpId::bmm, {flat_batch(b, x, batch), flat_batch(b, y, batch)});
    if (batch.size() != 1) z = b.emit(OpId::view, {z, out});
  }
  Ints final_sizes = b.sizes(z);
  if (column) final_sizes.pop_back();
  if (row) final_sizes.erase(final_sizes.end() - (column ? 1 : 2));
  return row || column ? b.emit(OpId::view, {z, final_sizes}) : z;
}

V decompose_addmm(Build& b, DType) {
  V product = b.emit(OpId::mm, {b.tensor(1), b.tensor(2)});
  Scalar beta = b.scalar(3), alpha = b.scalar(4);
  auto is = [](const Scalar& s, double v) { return !s.is_symbolic() && s.to_double() == v; };
  if (!is(alpha, 1)) product = b.mul(product, alpha);
  if (graph::ask(detail::scalar_compare(detail::FloatCompare::Equal, beta, 0, b.loc()), "addmm: is self read?"))
    return product;  // ATen: self is then not read, so its NaNs do not show
  return b.add(product, is(beta, 1) ? b.tensor(0) : b.mul(b.tensor(0), beta));
}

V decompose_linear_with_bias(Build& b, DType) {
  return b.add(b.emit(OpId::linear, {b.tensor(0), b.tensor(1), std::monostate{}}), b.tensor(2));
}

}  // namespace reprise::passes
