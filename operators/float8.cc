// Tensors of float8 with their scales, and layers that are trained with them.
#include "reprise/float8.h"

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise {

namespace {

constexpr const char* kFloat8 = "Float8";
constexpr double kEpsilon = 1e-12;  // torchao's

double most_of(DType t) { return t == kFloat8E4M3FN ? 448.0 : 57344.0; }
bool is_scaled_product(DType t) { return t == kFloat32 || t == kBFloat16 || t == kFloat16; }

/// How many of the last two dimensions share a scale.
std::pair<std::int64_t, std::int64_t> shared(const Float8Options& o) {
  switch (o.scaling) {
    case Float8Scaling::PerTensor: return {0, 0};
    case Float8Scaling::PerRow: return {1, 0};
    case Float8Scaling::PerBlock: return {o.block_rows, o.block_columns};
  }
  return {0, 0};
}
bool is_in_blocks(std::int64_t rows, std::int64_t columns) { return rows > 1 || columns > 0; }

void check(const Tensor& x, const Float8Options& o, SourceLoc loc) {
  if (!x.defined()) fail(ErrorCode::InvalidArgument, kFloat8, loc, "x is undefined");
  if (!is_floating(x.dtype()) || is_storage_only(x.dtype()))
    fail(ErrorCode::DTypeMismatch, kFloat8, loc, "x is ", x.dtype(), ", not a float");
  if (o.dtype != kFloat8E4M3FN && o.dtype != kFloat8E5M2)
    fail(ErrorCode::DTypeMismatch, kFloat8, loc, o.dtype, " is no float8");
  if (o.scaling == Float8Scaling::PerRow && x.dim() < 1)
    fail(ErrorCode::ShapeMismatch, kFloat8, loc, "scales of rows want at least one dimension");
  if (o.scaling != Float8Scaling::PerBlock) return;
  if (o.block_rows < 1 || o.block_columns < 1)
    fail(ErrorCode::InvalidArgument, kFloat8, loc, "blocks of ", o.block_rows, " x ", o.block_columns);
  if (x.dim() != 2 ||
      !graph::require(detail::compare_eq(x.size(0) % o.block_rows, 0, loc), "Float8: rows that blocks divide") ||
      !graph::require(detail::compare_eq(x.size(1) % o.block_columns, 0, loc), "Float8: columns that blocks divide"))
    fail(ErrorCode::ShapeMismatch, kFloat8, loc, "blocks of ", o.block_rows, " x ", o.block_columns, " of sizes ",
         graph::sizes_text(x.sizes()));
}

/// A matrix as its blocks: [n / r, r, k / c, c].
Tensor in_blocks(const Tensor& x, std::int64_t rows, std::int64_t columns, SourceLoc loc) {
  const Int n = x.size(0), k = x.size(1), r = rows ? Int(rows) : n, c = columns ? Int(columns) : k;
  return x.reshape({n / r, r, k / c, c}, loc);
}
/// The scale of each element: what broadcasts against it.
Tensor times_scale(const Tensor& x, const Tensor& scale, std::int64_t rows, std::int64_t columns, SourceLoc loc) {
  if (!is_in_blocks(rows, columns)) return mul(x, scale, loc);
  return mul(in_blocks(x, rows, columns, loc), scale.unsqueeze(1, loc).unsqueeze(3, loc), loc).reshape(x.sizes(), loc);
}

Tensor to_float8(const Tensor& x, const Tensor& scale, DType dtype, std::int64_t rows, std::int64_t columns,
                 SourceLoc loc) {
  const double most = most_of(dtype);
  const Tensor scaled = times_scale(x.to(kFloat32, loc), scale.reciprocal(loc), rows, columns, loc);
  return clamp(scaled, -most, most, loc).to(dtype, loc);
}

Tensor made(const Tensor& x, const Tensor& scale, const Float8Options& o, SourceLoc loc) {
  const auto [rows, columns] = shared(o);
  Float8 f;
  f.data = to_float8(x, scale, o.dtype, rows, columns, loc), f.scale = scale;
  f.looks_like = x.dtype(), f.rows = rows, f.columns = columns;
  return f.tensor(loc);
}

/// Quantizing rounds; gradients go through.
struct Quantize : Function<Quantize> {
  static constexpr const char* name = "Float8::quantize";
  static Tensor forward(FunctionContext& c, const Tensor& x, const Tensor& scale, const Float8Options& o,
                        SourceLoc loc) {
    c.set_materialize_grads(false);
    return made(x, scale.defined() ? scale : float8_scale(float8_amax(x, o, loc), o, loc), o, loc);
  }
  static std::vector<Tensor> backward(FunctionContext&, std::vector<Tensor> grads) { return {grads[0], Tensor()}; }
};

Tensor transposed(const Float8& f, SourceLoc loc) {
  Float8 t = f;
  t.data = f.data.t(loc), t.scale = f.scale.t(loc);
  t.rows = f.columns, t.columns = f.rows;
  return t.tensor(loc);
}

/// a x b of matrices, b Float8, a too or a plain activation. Undefined: its scales are no scaled_mm's.
Tensor product(const Tensor& a, const Float8& b, const Tensor& bias, DType out, SourceLoc loc) {
  const Float8* const f = Float8::of(a);
  if (is_wrapper(a) && !f) return {};
  if (!is_scaled_product(out) || a.dim() != 2 || b.data.dim() != 2) return {};
  if (bias.defined() && (is_wrapper(bias) || !is_scaled_product(bias.dtype()))) return {};
  if (!f && !is_scaled_product(a.dtype())) return {};
  Ints block;
  if (b.rows == 0 && b.columns <= 1) {
    if (f && (f->columns != 0 || f->rows > 1)) return {};
  } else {
    if (b.rows <= 1 || b.columns < 1) return {};
    if (f && !(f->columns == 0 && f->rows <= 1) && !(f->rows == 1 && f->columns == b.rows)) return {};
    block = {b.rows, b.columns};
  }
  const Tensor one = f ? f->scale : ones({1, 1}, {.dtype = kFloat32, .device = a.device()}, loc);
  return scaled_mm(f ? f->data : a, b.data, one, b.scale, bias, out,
                   block.empty() ? OptionalDims() : OptionalDims(block), loc);
}

/// x as a matrix: its last dimension, and all others.
Tensor as_matrix(const Tensor& x, SourceLoc loc) {
  const Float8* const f = Float8::of(x);
  if (!f) return is_wrapper(x) || x.dim() < 1 ? Tensor() : x.dim() == 2 ? x : x.reshape({-1, x.size(-1)}, loc);
  if (f->data.dim() == 2) return x;
  if (f->data.dim() < 1 || is_in_blocks(f->rows, f->columns)) return {};
  Float8 m = *f;
  m.data = f->data.reshape({-1, f->data.size(-1)}, loc);
  m.scale = f->rows == 1 ? f->scale.reshape({-1, 1}, loc) : f->scale.reshape({1, 1}, loc);
  return m.tensor(loc);
}

Tensor linear_of(WrapperCall& c) {
  const Float8* const w = c.as<Float8>(1);
  if (!w || w->data.dim() != 2) return {};
  const Tensor x = as_matrix(c.tensor(0), c.loc());
  if (!x.defined()) return {};
  const Tensor t = transposed(*w, c.loc());
  const Tensor y = product(x, *Float8::of(t), c.tensor(2), c.expected().dtype, c.loc());
  return y.defined() && c.tensor(0).dim() != 2 ? y.reshape(c.expected().sizes, c.loc()) : y;
}

Tensor matmul_of(WrapperCall& c) {
  const Float8* const b = c.as<Float8>(1);
  if (!b) return {};
  const Tensor a = as_matrix(c.tensor(0), c.loc());
  if (!a.defined()) return {};
  const Tensor y = product(a, *b, {}, c.expected().dtype, c.loc());
  return y.defined() && c.tensor(0).dim() != 2 ? y.reshape(c.expected().sizes, c.loc()) : y;
}

}  // namespace

Tensor float8_amax(const Tensor& x, const Float8Options& options, SourceLoc loc) {
  check(x, options, loc);
  const Tensor size = x.to(kFloat32, loc).abs(loc);
  const auto [rows, columns] = shared(options);
  if (is_in_blocks(rows, columns)) return in_blocks(size, rows, columns, loc).amax({1, 3}, false, loc);
  return options.scaling == Float8Scaling::PerRow ? size.amax({-1}, true, loc) : size.amax({}, true, loc);
}

// The factor is float32's, as torchao's is; what is stored is 1 / factor.
Tensor float8_scale(const Tensor& amax, const Float8Options& options, SourceLoc loc) {
  Tensor factor = div(most_of(options.dtype), clamp(amax, kEpsilon, std::nullopt, loc).to(kFloat64, loc), {}, loc);
  if (options.power_of_two) factor = exp2(floor(log2(factor, loc), loc), loc);
  return factor.to(kFloat32, loc).reciprocal(loc);
}

Tensor Float8::quantize(const Tensor& x, const Float8Options& options, SourceLoc loc) {
  check(x, options, loc);
  return Quantize::apply(x, Tensor(), options, loc);
}
Tensor Float8::quantize_with(const Tensor& x, const Tensor& scale, const Float8Options& options, SourceLoc loc) {
  check(x, options, loc);
  if (!scale.defined() || scale.dtype() != kFloat32 || scale.dim() != x.dim())
    fail(ErrorCode::ShapeMismatch, kFloat8, loc, "scales are float32 with the ", x.dim(), " dimensions of x");
  return Quantize::apply(x, scale, options, loc);
}

Tensor Float8::plain(SourceLoc loc) const {
  return times_scale(data.to(kFloat32, loc), scale, rows, columns, loc).to(looks_like, loc);
}
void Float8::store(const Tensor& value, SourceLoc loc) const {
  data.copy_(to_float8(value, scale, data.dtype(), rows, columns, loc), loc);
}

void Float8::dispatch(WrapperCall& c) {
  c.on("linear", linear_of);
  c.on({"matmul", "mm"}, matmul_of);
  c.on("permute", [](WrapperCall& c) -> Tensor {
    const Float8* const f = c.as<Float8>(0);
    if (!f || f->data.dim() != 2) return {};
    const Ints dims = c.ints(1);
    return (dims[0].value() + 2) % 2 == 1 ? transposed(*f, c.loc()) : Tensor();
  });
  c.otherwise(unwrap);
}

// ---- training

namespace {

/// a x b of plain matrices, both quantized along what is summed over.
Tensor product8(const Tensor& a, DType of_a, const Tensor& b, DType of_b, const Tensor& scale_a, const Tensor& scale_b,
                const Float8Training& how, SourceLoc loc) {
  const Float8Options left{.scaling = how.scaling, .dtype = of_a}, right{.scaling = how.scaling, .dtype = of_b};
  const Tensor columns = b.t(loc);
  const Tensor sa = scale_a.defined() ? scale_a : float8_scale(float8_amax(a, left, loc), left, loc),
               sb = scale_b.defined() ? scale_b : float8_scale(float8_amax(columns, right, loc), right, loc);
  const auto [rows, rest] = shared(left);
  return scaled_mm(to_float8(a, sa, of_a, rows, rest, loc), to_float8(columns, sb, of_b, rows, rest, loc).t(loc), sa,
                   sb.t(loc), {}, a.dtype(), {}, loc);
}

/// The scale by the largest of the last calls, or of this one while there were none; and this one is noted.
Tensor delayed_scale(const Tensor& history, const Tensor& x, DType dtype, SourceLoc loc) {
  if (!history.defined()) return {};
  const Float8Options o{.dtype = dtype};
  const Tensor now = float8_amax(x, o, loc).reshape({1}, loc);
  const Tensor known = history.amax({}, false, loc).reshape({1}, loc);
  const Tensor amax = where(gt(known, 0.0, loc), known, now, loc);
  history.copy_(cat({now, history.slice(0, 0, history.size(0) - 1, 1, loc)}, 0, loc), loc);
  return float8_scale(amax, o, loc).reshape({1, 1}, loc);
}

struct Linear8 : Function<Linear8> {
  static constexpr const char* name = "float8_linear";
  struct Kept {
    Float8Training how;
    SourceLoc loc;
  };
  static Tensor forward(FunctionContext& c, const Tensor& x, const Tensor& w, const Float8Training& how,
                        SourceLoc loc) {
    c.save_for_backward({x, w});
    c.more = std::make_shared<Kept>(Kept{how, loc});
    const Tensor sx = delayed_scale(how.input_history, x, how.forward, loc),
                 sw = delayed_scale(how.weight_history, w, how.forward, loc);
    return product8(x, how.forward, w.t(loc), how.forward, sx, sw, how, loc);
  }
  static std::vector<Tensor> backward(FunctionContext& c, std::vector<Tensor> grads) {
    const auto& [how, loc] = *std::static_pointer_cast<Kept>(c.more);
    const std::vector<Tensor> saved = c.saved_tensors();
    const Tensor &x = saved[0], &w = saved[1], &g = grads[0];
    Tensor gx, gw;
    if (c.needs_input_grad(0)) gx = product8(g, how.backward, w, how.forward, {}, {}, how, loc);
    if (c.needs_input_grad(1)) gw = product8(g.t(loc), how.backward, x, how.forward, {}, {}, how, loc);
    return {gx, gw};
  }
};

}  // namespace

Tensor float8_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Float8Training& how,
                     SourceLoc loc) {
  constexpr const char* op = "float8_linear";
  if (!x.defined() || !weight.defined()) fail(ErrorCode::InvalidArgument, op, loc, "x or the weight is undefined");
  if (weight.dim() != 2 || x.dim() < 1 || !graph::same(x.size(-1), weight.size(1), loc, "float8_linear: equal columns"))
    fail(ErrorCode::ShapeMismatch, op, loc, "x of sizes ", graph::sizes_text(x.sizes()), " and a weight of sizes ",
         graph::sizes_text(weight.sizes()));
  if (x.dtype() != weight.dtype() || !is_scaled_product(x.dtype()))
    fail(ErrorCode::DTypeMismatch, op, loc, "x is ", x.dtype(), " and the weight ", weight.dtype(),
         ": both are float32, bfloat16 or float16");
  if (how.scaling == Float8Scaling::PerBlock)
    fail(ErrorCode::InvalidArgument, op, loc, "scales are of tensors or of rows, not of blocks");
  if ((how.input_history.defined() || how.weight_history.defined()) && how.scaling != Float8Scaling::PerTensor)
    fail(ErrorCode::InvalidArgument, op, loc, "delayed scaling is of tensors, not of rows");
  for (const Tensor* h : {&how.input_history, &how.weight_history})
    if (h->defined() && (h->dim() != 1 || h->dtype() != kFloat32))
      fail(ErrorCode::ShapeMismatch, op, loc, "a history is float32 of one dimension, got ", h->dtype(), " of sizes ",
           graph::sizes_text(h->sizes()));
  const Tensor rows = x.dim() == 2 ? x : x.reshape({-1, x.size(-1)}, loc);
  Tensor y = Linear8::apply(rows, weight, how, loc);
  if (bias.defined()) y = add(y, bias, 1, loc);
  if (x.dim() == 2) return y;
  Ints sizes = x.sizes();
  sizes.back() = weight.size(0);
  return y.reshape(sizes, loc);
}

}  // namespace reprise
