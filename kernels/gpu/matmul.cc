// Matrix products for blocks of threads: mm, bmm, linear with or without bias, of every dtype. Few rows (or few
// columns: the transposed product) go to kernels that read the large operand once. Which kernel works depends on sizes
// that may differ between recordings, so there is a launch of each that may, and those that do not apply have an empty
// grid. The first of them says what the product is, for devices that have a library.
#include <algorithm>

#include "kernels/gpu/rules.h"
#include "kernels/launch/product.h"

namespace reprise::kernels {

using device::kFewProductRows;

namespace {

/// One operand as lines (rows of a, columns of b) by depth; of the result, as rows by columns.
struct Side {
  std::uint32_t buffer = 0;
  Int offset = 0, batch = 0, line = 0, k = 0;
};

struct Product {
  DType dtype = DType::Float32;
  Int batch = 1, m = 1, n = 1, k = 1;
  Side a, b, c;              ///< c: line is the stride of rows, k that of columns
  std::optional<Side> bias;  ///< line and k as c's
  Ints row_sizes, a_rows, c_rows;

  /// c's columns as rows and the other way round: c^T = b^T a^T.
  Product transposed() const {
    Product p = *this;
    std::swap(p.m, p.n), std::swap(p.a, p.b), std::swap(p.c.line, p.c.k);
    if (p.bias) std::swap(p.bias->line, p.bias->k);
    return p;
  }
};

Side side(const Operand& o, int line, int k, int batch = -1) {
  const Layout& l = o.layout;
  return {o.buffer, l.offset, batch < 0 ? Int(0) : l.strides[batch], l.strides[line], l.strides[k]};
}

/// Leading dims of x and y as few as they provably are; at least one.
void rows_of(Product& p, const Layout& x, const Layout& y, int dims) {
  for (int d = 0; d < dims; ++d) {
    if (known_as(y.sizes[d], 1)) continue;
    Int size = y.sizes[d], a = x.strides[d], c = y.strides[d];
    std::size_t n = p.row_sizes.size();
    if (n && same_number(p.a_rows[n - 1], a * size) && same_number(p.c_rows[n - 1], c * size)) {
      p.row_sizes[n - 1] = p.row_sizes[n - 1] * size, p.a_rows[n - 1] = a, p.c_rows[n - 1] = c;
    } else {
      p.row_sizes.push_back(size), p.a_rows.push_back(a), p.c_rows.push_back(c);
    }
  }
  if (p.row_sizes.empty()) p.row_sizes = {1}, p.a_rows = {0}, p.c_rows = {0};
  for (const Int& s : p.row_sizes) p.m = p.m * s;
  p.a.line = p.a_rows.back(), p.c.line = p.c_rows.back();
}

Product product_of(const GpuContext& cx) {
  const std::vector<Operand>& o = cx.operands;
  Product p;
  const Operand& result = o.back();
  const Layout &a = o[0].layout, &b = o[1].layout, &c = result.layout;
  p.dtype = result.dtype;
  const ProductForm form = product_forms().at(cx.node.op);
  if (form == ProductForm::Rows) {
    int last = a.dim() - 1;
    p.a = side(o[0], last, last), p.b = side(o[1], 0, 1), p.c = side(result, last, last);
    rows_of(p, a, c, last);
    p.n = b.sizes[0], p.k = b.sizes[1];
    if (o.size() == 4) p.bias = Side{o[2].buffer, o[2].layout.offset, 0, 0, o[2].layout.strides[0]};
    return p;
  }
  int batch = form == ProductForm::Batched ? 0 : -1, r = batch + 1;
  p.a = side(o[0], r, r + 1, batch), p.b = side(o[1], r + 1, r, batch), p.c = side(result, r, r + 1, batch);
  if (batch == 0) p.batch = c.sizes[0];
  p.m = c.sizes[r], p.n = c.sizes[r + 1], p.k = a.sizes[r + 1];
  p.row_sizes = {p.m}, p.a_rows = {p.a.line}, p.c_rows = {p.c.line};
  return p;
}

GpuLines lines_of(const Side& s) {
  return known_as(s.k, 1) ? GpuLines::Deep : known_as(s.line, 1) ? GpuLines::Wide : GpuLines::Any;
}

void add_operands(GpuLaunchBuilder& l, const Product& p) {
  l.buffer(p.a.buffer).buffer(p.b.buffer);
  if (p.bias) l.buffer(p.bias->buffer);
  l.buffer(p.c.buffer, true);
  l.ints({p.batch, p.m, p.n, p.k, p.a.offset, p.b.offset});
  if (p.bias) l.ints({p.bias->offset, p.bias->line, p.bias->k});
  l.ints({p.c.offset, p.a.batch, p.b.batch, p.c.batch});
}

GpuLaunch tiled(const Product& p, std::int64_t few_m, std::int64_t few_n) {
  std::int64_t row_dims = static_cast<std::int64_t>(p.row_sizes.size());
  GpuLines a = lines_of(p.a);
  if (a == GpuLines::Wide && row_dims > 1) a = GpuLines::Any;
  GpuLaunchBuilder l(kGpuProduct,
                      {static_cast<std::int64_t>(p.dtype), static_cast<std::int64_t>(a),
                       static_cast<std::int64_t>(lines_of(p.b)), row_dims, p.bias ? 1 : 0},
                      [](const std::int64_t* i) {
                        if (i[3] <= i[0] || i[4] <= i[1]) return device::Dim3{0, 1, 1};
                        return grid_of(i[2] * blocks_for(i[3], kProductTile) * blocks_for(i[4], kProductTile));
                      });
  l.ints({few_m, few_n});
  add_operands(l, p);
  l.ints({p.a.k, p.b.k, p.b.line, p.c.k});
  for (std::size_t d = 0; d < p.row_sizes.size(); ++d) l.ints({p.row_sizes[d], p.a_rows[d], p.c_rows[d]});
  return std::move(l.launch);
}

/// For m in [least_m, most_m] and n > few_n; `known_m`: m if code may rely on it, or 0.
GpuLaunch few_rows(const Product& p, std::int64_t known_m, std::int64_t least_m, std::int64_t most_m,
                    std::int64_t few_n) {
  bool dot = known_as(p.b.k, 1);
  auto grid = dot ? [](const std::int64_t* i) {
    if (i[4] < i[0] || i[4] > i[1] || i[5] <= i[2]) return device::Dim3{0, 1, 1};
    return grid_of(i[3] * blocks_for(i[5], i[5] < kProductDotColumns ? 1 : kProductDotThreads / 32));
  } : [](const std::int64_t* i) {
    if (i[4] < i[0] || i[4] > i[1] || i[5] <= i[2]) return device::Dim3{0, 1, 1};
    return grid_of(i[3] * blocks_for(i[5], 32));
  };
  GpuLaunchBuilder l(dot ? kGpuProductDot : kGpuProductSum,
                      {static_cast<std::int64_t>(p.dtype), known_m, p.bias ? 1 : 0}, grid);
  l.ints({least_m, most_m, few_n});
  add_operands(l, p);
  l.ints({p.a.line, p.a.k});
  if (!dot) l.ints({p.b.k});
  l.ints({p.b.line, p.c.line, p.c.k});
  return std::move(l.launch);
}

/// For m <= kFewProductRows. Code for a single row needs fewer registers, so more of it waits for memory at a time.
void add_few_rows(const Product& p, std::int64_t few_n, std::vector<GpuLaunch>& out) {
  if (!p.m.is_symbolic()) {
    out.push_back(few_rows(p, p.m.hint(), 1, kFewProductRows, few_n));
    return;
  }
  out.push_back(few_rows(p, 1, 1, 1, few_n));
  out.push_back(few_rows(p, 0, 2, kFewProductRows, few_n));
}

/// Nothing for rows in more dims than a batch and one.
std::optional<device::ProductOf<Int>> described(const Product& p) {
  device::ProductOf<Int> d{p.dtype, p.bias.has_value(), p.batch, p.m, p.n, p.k, {}, {}, {}, {}};
  d.a = {p.a.offset, p.a.batch, p.a.line, p.a.k};
  d.b = {p.b.offset, p.b.batch, p.b.k, p.b.line};
  if (p.bias) d.bias = {p.bias->offset, 0, p.bias->line, p.bias->k};
  d.c = {p.c.offset, p.c.batch, p.c.line, p.c.k};
  if (p.row_sizes.size() == 1) return d;
  if (p.row_sizes.size() > 2) return std::nullopt;
  d.batch = p.row_sizes[0], d.m = p.row_sizes[1], d.a.batch = p.a_rows[0], d.c.batch = p.c_rows[0];
  return d;
}

}  // namespace

GpuLaunches gpu_matmul(const GpuContext& cx, std::vector<Launch>&) {
  Product p = product_of(cx);
  if (known_as(p.m, 1)) p.m = 1;
  if (known_as(p.n, 1)) p.n = 1;
  std::vector<GpuLaunch> out;
  if (p.row_sizes.size() > 1) {
    out.push_back(tiled(p, 0, 0));
    out[0].product = described(p);
    return out;
  }
  bool rows = !known_above(p.m, kFewProductRows), columns = !known_at_most(p.m, kFewProductRows) && !known_above(p.n, kFewProductRows);
  if (rows) add_few_rows(p, 0, out);
  if (columns) add_few_rows(p.transposed(), kFewProductRows, out);
  if (!known_at_most(p.m, kFewProductRows) && !known_at_most(p.n, kFewProductRows))
    out.push_back(tiled(p, rows ? kFewProductRows : 0, columns ? kFewProductRows : 0));
  out[0].product = described(columns && !rows ? p.transposed() : p);
  for (std::size_t i = 1; i < out.size(); ++i) out[i].alternative = true;
  return out;
}

}  // namespace reprise::kernels
