// Matrix products for blocks of threads: mm, bmm, linear with or without bias, of every dtype. Few rows (or few
// columns: the transposed product) go to kernels that read the large operand once. Which kernel works depends on sizes
// that may differ between recordings, so there is a launch of each that may, and those that do not apply have no
// blocks. The first of them says what the product is, for devices that have a library.
#include <algorithm>

#include "base/knobs.h"
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

/// The operands of a product as kernels take them.
struct ProductOperands {
  DType dtype = DType::Float32;
  Int batch = 1, m = 1, n = 1, k = 1;
  Side a, b, c;              ///< c: line is the stride of rows, k that of columns
  std::optional<Side> bias;  ///< line and k as c's
  Ints row_sizes, a_rows, c_rows;

  /// c's columns as rows and the other way round: c^T = b^T a^T.
  ProductOperands transposed() const {
    ProductOperands p = *this;
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
void rows_of(ProductOperands& p, const Layout& x, const Layout& y, int dims) {
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

ProductOperands product_of(const GpuContext& cx) {
  const std::vector<Operand>& o = cx.operands;
  ProductOperands p;
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

bool is_short_type(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

gpu::Lines lines_of(const Side& s) {
  return known_as(s.k, 1) ? gpu::Lines::Deep : known_as(s.line, 1) ? gpu::Lines::Wide : gpu::Lines::Any;
}

/// What all kinds of products take.
template <class K>
void tell_operands(LaunchOf<K>& l, const ProductOperands& p) {
  l->m = p.m, l->n = p.n, l->k = p.k;
  l->a = p.a.buffer, l->a_offset = p.a.offset, l->a_batch = p.a.batch, l->a_k = p.a.k;
  l->b = p.b.buffer, l->b_offset = p.b.offset, l->b_batch = p.b.batch, l->b_n = p.b.line;
  if (p.bias) l->bias = {.buffer = p.bias->buffer, .offset = p.bias->offset, .m = p.bias->line, .n = p.bias->k};
  l->c = p.c.buffer, l->c_offset = p.c.offset, l->c_batch = p.c.batch, l->c_n = p.c.k;
}

/// For m > few_m and n > few_n: a launch for each size of tiles that sizes may ask for.
void add_tiled(const ProductOperands& p, std::int64_t few_m, std::int64_t few_n, std::vector<GpuLaunch>& out) {
  const int row_dims = static_cast<int>(p.row_sizes.size());
  gpu::Lines a = lines_of(p.a);
  if (a == gpu::Lines::Wide && row_dims > 1) a = gpu::Lines::Any;
  const bool tf32 = p.dtype == DType::Float32 && knobs().cuda_tf32 == "on";
  auto add = [&](ProductTileSize tile, Int where) {
    LaunchOf l(
        gpu::ProductTiles{p.dtype, a, lines_of(p.b), row_dims, p.bias.has_value(), tile.rows, tile.columns, tf32});
    tell_operands(l, p);
    l->b_k = p.b.k;
    for (std::size_t d = 0; d < p.row_sizes.size(); ++d)
      l->rows[d] = {.size = p.row_sizes[d], .a = p.a_rows[d], .c = p.c_rows[d]};
    out.push_back(l.in(where * p.batch * blocks_for(p.m, tile.rows) * blocks_for(p.n, tile.columns)));
  };
  Int rest = where_more(p.m, few_m) * where_more(p.n, few_n);
  if (is_short_type(p.dtype) || tf32)
    for (ProductTileSize tile : kProductTilesOfCores) {
      // The largest tiles that are enough, where half of one is not empty.
      const Int enough =
          where_more(p.m, tile.rows / 2) *
          where_more(p.batch * blocks_for(p.m, tile.rows) * blocks_for(p.n, tile.columns), kProductTilesEnough - 1);
      if (!known_as(enough, 0) && !known_as(rest, 0)) add(tile, rest * enough);
      rest = rest * (1 - enough);
    }
  if (!known_as(rest, 0) || out.empty()) add({kProductTile, kProductTile}, rest);
}

/// For m in [least_m, most_m] and n > few_n; `known_m`: m if code may rely on it, or 0.
GpuLaunch few_rows(const ProductOperands& p, std::int64_t known_m, std::int64_t least_m, std::int64_t most_m,
                   std::int64_t few_n) {
  const Int where = where_more(p.m, least_m - 1) * where_at_most(p.m, most_m) * where_more(p.n, few_n);
  auto tell = [&](auto l) {
    tell_operands(l, p);
    l->a_m = p.a.line, l->c_m = p.c.line;
    return l;
  };
  if (known_as(p.b.k, 1) && is_short_type(p.dtype) && known_m != 1) {
    auto l = tell(LaunchOf(gpu::ProductStrip{p.dtype, static_cast<int>(known_m), p.bias.has_value()}));
    return l.in(where * p.batch * blocks_for(p.n, kProductStrip));
  }
  if (known_as(p.b.k, 1)) {
    auto l = tell(LaunchOf(gpu::ProductDot{p.dtype, static_cast<int>(known_m), p.bias.has_value()}));
    return l.in(where * p.batch *
                choose(where_more(kProductDotColumns, p.n), p.n, blocks_for(p.n, kProductDotThreads / 32)));
  }
  auto l = tell(LaunchOf(gpu::ProductSum{p.dtype, static_cast<int>(known_m), p.bias.has_value()}));
  l->b_k = p.b.k;
  return l.in(where * p.batch * blocks_for(p.n, 32));
}

/// For m <= kFewProductRows. Code for a single row needs fewer registers, so more of it waits for memory at a time.
void add_few_rows(const ProductOperands& p, std::int64_t few_n, std::vector<GpuLaunch>& out) {
  if (!p.m.is_symbolic()) {
    out.push_back(few_rows(p, p.m.hint(), 1, kFewProductRows, few_n));
    return;
  }
  out.push_back(few_rows(p, 1, 1, 1, few_n));
  out.push_back(few_rows(p, 0, 2, kFewProductRows, few_n));
}

/// Nothing for rows in more dims than a batch and one.
std::optional<device::ProductOf<Int>> described(const ProductOperands& p) {
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
  ProductOperands p = product_of(cx);
  if (known_as(p.m, 1)) p.m = 1;
  if (known_as(p.n, 1)) p.n = 1;
  std::vector<GpuLaunch> out;
  const bool together = p.row_sizes.size() == 1;
  const bool rows = together && !known_above(p.m, kFewProductRows),
             columns = together && !known_at_most(p.m, kFewProductRows) && !known_above(p.n, kFewProductRows);
  if (!together) {
    add_tiled(p, 0, 0, out);
  } else {
    if (rows) add_few_rows(p, 0, out);
    if (columns) add_few_rows(p.transposed(), kFewProductRows, out);
    if (!known_at_most(p.m, kFewProductRows) && !known_at_most(p.n, kFewProductRows))
      add_tiled(p, rows ? kFewProductRows : 0, columns ? kFewProductRows : 0, out);
  }
  out[0].product = described(columns && !rows ? p.transposed() : p);
  for (std::size_t i = 1; i < out.size(); ++i) out[i].alternative = true;
  return out;
}

}  // namespace reprise::kernels
