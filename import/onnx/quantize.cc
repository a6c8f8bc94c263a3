#include <cmath>

#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

/// A scale or a zero point beside x: of the whole tensor, along `axis`, or of blocks along it.
Tensor beside(Call& c, const Tensor& t, const Tensor& x, std::int64_t axis, std::int64_t block) {
  if (t.dim() == 0) return t;
  if (t.dim() == 1 && (x.dim() != 1 || block == 0)) {
    if (bool(t.size(0) == 1)) return t.reshape(IntArrayRef());
    const int d = axis_of(c, axis, x.dim());
    Ints sizes;
    for (int e = 0; e < x.dim(); ++e) sizes.push_back(e == d ? t.size(0) : Int(1));
    return t.view(sizes);
  }
  if (block < 1) c.bad("has scales of ", t.dim(), " dimensions, and no block_size");
  const int d = axis_of(c, axis, x.dim());
  return repeat_interleave(t, block, d).narrow(d, 0, x.size(d));
}

struct Range {
  double low, high;
};
Range range_of(Call& c, DType t, std::int32_t wider) {
  if (const IntegerElement e = integer_element(wider); e.bits) {
    const double values = std::ldexp(1.0, e.bits);
    return e.is_signed ? Range{-values / 2, values / 2 - 1} : Range{0, values - 1};
  }
  if (t == kUInt8) return {0, 255};
  if (t == kInt8) return {-128, 127};
  c.bad("to ", t, " is not supported");
}
/// Rounded to even at halves, moved by the zero point and cut off.
Tensor quantized(Call& c, const Tensor& x, const Tensor& scale, const Tensor* zero, DType to, std::int32_t wider = 0) {
  Tensor y = x.to(kFloat32) / scale.to(kFloat32);
  if (static_cast<Element>(wider) == Element::Float4E2M1) return cast_to_element(c, y, wider, true);
  if (is_storage_only(to)) {
    const double most = to == kFloat8E4M3FN ? 448 : 57344;
    return clamp(y, -most, most).to(to);
  }
  const Range r = range_of(c, to, wider);
  y = round(y);
  if (zero) y = y + zero->to(kFloat32);
  return clamp(y, r.low, r.high).to(to);
}

void quantize(Call& c) {
  const Tensor x = c.x(0);
  const std::int64_t axis = c.i("axis", 1), block = c.i("block_size", 0);
  DType to = kUInt8;
  std::int32_t wider = c.held_wider(2);
  if (c.has(2)) to = c.x(2).dtype();
  else if (const std::int32_t element = static_cast<std::int32_t>(c.i("output_dtype", 0))) {
    const std::optional<DType> t = dtype_of_element(element);
    if (!t) c.bad("to ", element_name(element), " is not supported");
    to = *t, wider = is_held_wider(element) ? element : 0;
  }
  const Tensor zero = c.has(2) ? beside(c, c.x(2), x, axis, block) : Tensor();
  c.give(quantized(c, x, beside(c, c.x(1), x, axis, block), c.has(2) ? &zero : nullptr, to, wider));
}
Tensor dequantized(const Tensor& x, const Tensor* zero, const Tensor& scale) {
  Tensor y = x.to(kFloat32);
  if (zero) y = y - zero->to(kFloat32);
  return y * scale.to(kFloat32);
}
void dequantize(Call& c) {
  const Tensor x = c.x(0), scale = c.x(1);
  const std::int64_t axis = c.i("axis", 1), block = c.i("block_size", 0);
  const Tensor zero = c.has(2) ? beside(c, c.x(2), x, axis, block) : Tensor();
  DType to = scale.dtype();
  if (const std::int64_t element = c.i("output_dtype", 0)) {
    const std::optional<DType> t = dtype_of_element(static_cast<std::int32_t>(element));
    if (!t) c.bad("to ", element_name(static_cast<std::int32_t>(element)), " is not supported");
    to = *t;
  }
  c.give(dequantized(x, c.has(2) ? &zero : nullptr, beside(c, scale, x, axis, block)).to(to));
}
void dynamic_quantize(Call& c) {
  const Tensor x = c.x(0);
  const Tensor most = maximum(amax(x), 0), least = minimum(amin(x), 0);
  const Tensor spread = (most - least) / 255, scale = where(spread == 0, 1, spread);
  const Tensor zero = clamp(round(-least / scale), 0, 255).to(kUInt8);
  c.give(quantized(c, x, scale, &zero, kUInt8), 0);
  c.give(scale, 1);
  c.give(zero, 2);
}

/// Integers less their zero point, exactly. Rows of a, columns of b may have zero points of their own.
Tensor centred(Call& c, int input, int zero, bool rows) {
  const Tensor x = c.x(input).to(kInt32);
  if (!c.has(zero)) return x;
  Tensor z = c.x(zero).to(kInt32);
  if (rows && z.dim() == 1 && bool(z.size(0) != 1)) z = z.unsqueeze(-1);
  return x - z;
}

/// Bytes as int8, those that are unsigned less 128; their zero point with them, as int32: null where it is surely 0.
struct Bytes {
  Tensor x;
  std::optional<Tensor> zero;
};
Bytes signed_bytes(Call& c, int input, int zero) {
  Bytes b{c.x(input), std::nullopt};
  const bool moved = b.x.dtype() == kUInt8;
  if (moved) b.x = (b.x.to(kInt32) - 128).to(kInt8);
  if (c.has(zero)) b.zero = c.x(zero).to(kInt32) - (moved ? 128 : 0);
  else if (moved) b.zero = full({}, -128, {kInt32});
  return b;
}

/// The product of what is left of a and of b less their zero points, in int32: sums of products of bytes, and what the
/// zero points add to them.
Tensor integer_product(Call& c, int a_input, int a_zero, int b_input, int b_zero) {
  const Tensor a = c.x(a_input), b = c.x(b_input);
  auto byte = [](const Tensor& t) { return t.dtype() == kInt8 || t.dtype() == kUInt8; };
  auto one = [&](int zero) {
    return !c.has(zero) || c.x(zero).dim() == 0 || (c.x(zero).dim() == 1 && bool(c.x(zero).size(0) == 1));
  };
  // A zero point for each row of more than a matrix, products in batches: by int32.
  if (!byte(a) || !byte(b) || a.dim() < 2 || b.dim() != 2 ||
      !(one(a_zero) || (a.dim() == 2 && c.x(a_zero).dim() == 1)) || !(one(b_zero) || c.x(b_zero).dim() == 1))
    return matmul(centred(c, a_input, a_zero, true), centred(c, b_input, b_zero, false));
  Bytes x = signed_bytes(c, a_input, a_zero), y = signed_bytes(c, b_input, b_zero);
  Ints sizes = a.sizes();
  const Int k = sizes.back();
  sizes.back() = b.size(1);
  if (a.dim() > 2) x.x = x.x.flatten(0, a.dim() - 2);
  if (x.zero && x.zero->dim() == 1) x.zero = x.zero->unsqueeze(-1);
  Tensor product = int_mm(x.x, y.x);
  if (y.zero) product = product - *y.zero * sum(x.x, {-1}, true, kInt32);
  if (x.zero) product = product - *x.zero * sum(y.x, {0}, true, kInt32);
  if (x.zero && y.zero) product = product + *x.zero * *y.zero * k;
  return a.dim() > 2 ? product.view(sizes) : product;
}
void matmul_integer(Call& c) { c.give(integer_product(c, 0, 2, 1, 3)); }
void qlinear_matmul(Call& c) {
  const Tensor a = c.x(0);
  const auto scale = [&](int input, bool rows) {
    const Tensor s = c.x(input).to(kFloat32);
    return rows && s.dim() == 1 && bool(s.size(0) != 1) ? s.unsqueeze(-1) : s;
  };
  const Tensor product = integer_product(c, 0, 2, 3, 5).to(kFloat32) * (scale(1, true) * scale(4, false));
  const Tensor zero = c.x(7);
  c.give(quantized(c, product, c.x(6), &zero, zero.dtype()));
}

constexpr Row kQuantizeRows[] = {
    {"DequantizeLinear", 10, 0, dequantize},  {"DynamicQuantizeLinear", 11, 0, dynamic_quantize},
    {"MatMulInteger", 10, 0, matmul_integer}, {"QLinearMatMul", 10, 0, qlinear_matmul},
    {"QuantizeLinear", 10, 0, quantize},
};

}  // namespace

std::span<const Row> quantize_rows() { return kQuantizeRows; }

}  // namespace reprise::onnx
