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
Range range_of(Call& c, DType t) {
  if (t == kUInt8) return {0, 255};
  if (t == kInt8) return {-128, 127};
  c.bad("to ", t, " is not supported");
}
/// Rounded to even at halves, moved by the zero point and cut off.
Tensor quantized(Call& c, const Tensor& x, const Tensor& scale, const Tensor* zero, DType to) {
  Tensor y = x.to(kFloat32) / scale.to(kFloat32);
  if (is_storage_only(to)) {
    const double most = to == kFloat8E4M3FN ? 448 : 57344;
    return clamp(y, -most, most).to(to);
  }
  const Range r = range_of(c, to);
  y = round(y);
  if (zero) y = y + zero->to(kFloat32);
  return clamp(y, r.low, r.high).to(to);
}

void quantize(Call& c) {
  const Tensor x = c.x(0);
  const std::int64_t axis = c.i("axis", 1), block = c.i("block_size", 0);
  DType to = kUInt8;
  if (c.has(2)) to = c.x(2).dtype();
  else if (const std::int64_t element = c.i("output_dtype", 0)) {
    const std::optional<DType> t = element < static_cast<std::int64_t>(Element::UInt4) ? dtype_of_element(static_cast<std::int32_t>(element)) : std::nullopt;
    if (!t) c.bad("to ", element_name(static_cast<std::int32_t>(element)), " is not supported");
    to = *t;
  }
  const Tensor zero = c.has(2) ? beside(c, c.x(2), x, axis, block) : Tensor();
  c.give(quantized(c, x, beside(c, c.x(1), x, axis, block), c.has(2) ? &zero : nullptr, to));
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
  c.give(dequantized(x, c.has(2) ? &zero : nullptr, beside(c, scale, x, axis, block)).to(scale.dtype()));
}
void dynamic_quantize(Call& c) {
  const Tensor x = c.x(0);
  const Tensor most = maximum(amax(x), 0), least = minimum(amin(x), 0);
  const Tensor scale = (most - least) / 255;
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
void matmul_integer(Call& c) { c.give(matmul(centred(c, 0, 2, true), centred(c, 1, 3, false))); }
void qlinear_matmul(Call& c) {
  const Tensor a = c.x(0);
  const auto scale = [&](int input, bool rows) {
    const Tensor s = c.x(input).to(kFloat32);
    return rows && s.dim() == 1 && bool(s.size(0) != 1) ? s.unsqueeze(-1) : s;
  };
  const Tensor product = matmul(centred(c, 0, 2, true), centred(c, 3, 5, false)).to(kFloat32) * (scale(1, true) * scale(4, false));
  const Tensor zero = c.x(7);
  c.give(quantized(c, product, c.x(6), &zero, zero.dtype()));
}

constexpr Row kRows[] = {
    {"DequantizeLinear", 10, 0, dequantize},
    {"DynamicQuantizeLinear", 11, 0, dynamic_quantize},
    {"MatMulInteger", 10, 0, matmul_integer},
    {"QLinearMatMul", 10, 0, qlinear_matmul},
    {"QuantizeLinear", 10, 0, quantize},
};

}  // namespace

std::span<const Row> quantize_rows() { return kRows; }

}  // namespace reprise::onnx
