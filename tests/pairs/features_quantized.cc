// Weights in blocks, products of bytes, rounding to bytes.
#include "reprise/gguf.h"
#include "reprise/quantization.h"
#include "tests/pairs/feature.h"
#include "tests/support/device.h"

namespace reprise::pairs {

namespace {

constexpr int kOut = 5, kIn = 32;

/// [kOut, kIn] of one block in each row: a scale that is a power of two, then bytes of any value.
gguf::Blocks blocks(gguf::Type type, std::size_t block_bytes) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t row = 0; row < kOut; ++row)
    for (std::size_t i = 0; i < block_bytes; ++i)
      bytes.push_back(i == 0   ? std::uint8_t{0}
                      : i == 1 ? static_cast<std::uint8_t>(0x1c + 4 * (row % 2))
                               : static_cast<std::uint8_t>((i * 37 + row * 11) % 256));
  const Tensor data = tensor_of(bytes, {kOut, static_cast<std::int64_t>(block_bytes)});
  return gguf::Blocks{type, data, data.view(kFloat16)}.to(test::test_device());
}
const gguf::Blocks& q8() {
  static const gguf::Blocks w = blocks(gguf::Type::Q8_0, 34);
  return w;
}
const gguf::Blocks& q4() {
  static const gguf::Blocks w = blocks(gguf::Type::Q4_0, 18);
  return w;
}
/// a's first columns, beside zeros: [rows, kIn].
Tensor rows_of(const Tensor& a) {
  const Tensor m = flat(a).to(kFloat32);
  return cat({m, zeros({m.size(0), kIn}, m.options())}, 1).narrow(1, 0, kIn);
}
/// Not at a border between two numbers.
Tensor to_int8(const Tensor& a) { return clamp(round(a * 16.0 + 0.137), -127.0, 127.0).to(kInt8); }
Tensor scale(double by) { return full({}, by, {.device = test::test_device()}); }

const Row quantized[] = {
    PAIRS_ROW(3, 0, return gguf::linear(rows_of(a), q8())),
    PAIRS_ROW(3, 0, return gguf::linear(rows_of(a), q4())),
    PAIRS_ROW(2, kHalf, Tensor t = gguf::linear(rows_of(a), q8(), {}, Activations::Int8);
              return a + t.detach().sum().clamp(-9.0, 9.0) * 1e-4),
    PAIRS_ROW(2, 0, return matmul(rows_of(a), q4().dequantize().t()) * 0.125),
    PAIRS_ROW(2, 0, return q8().rows(in.index * 0 + d) * a.sum()),
    PAIRS_ROW(2, 0, Tensor w = q4().dequantize(); w.mul_(c); return matmul(rows_of(a), w.t())),
    PAIRS_ROW(2, 0, in.bytes.copy_(in.bytes / 2); return in.bytes.to(kFloat32).mul_(c)),
    PAIRS_ROW(3, kSteps, Tensor q = to_int8(flat(a).detach());
              return scaled_mm(q, q.t(), scale(0.0625), scale(0.03125), {}, kFloat32)),
    PAIRS_ROW(2, kSteps, Tensor q = to_int8(flat(a).detach()); q.clamp_(-9, 9);
              return int_mm(q, q.t()).to(kFloat32) * 0.01),
    PAIRS_ROW(2, kSteps, Tensor q = to_int8(a.detach()); Tensor v = flat(q).t(); v.bitwise_and_(15);
              return q.to(kFloat32) * 0.125),
    PAIRS_ROW(2, kSteps, Tensor q = quantize_per_tensor(a.detach() + 0.003, 0.0625, 3, kInt8);
              return dequantize_per_tensor(q, 0.0625, 3)),
    PAIRS_ROW(2, kSteps, return fake_quantize_per_tensor_affine(a + 0.003, 0.0625, 0, -128, 127)),
};
const Wrap quantized_wraps[] = {
    PAIRS_WRAP(2, 0, Tensor t = inner(a, b); return gguf::linear(rows_of(t), q8()) + gguf::linear(rows_of(t), q4())),
    PAIRS_WRAP(2, 0, return inner(gguf::linear(rows_of(a), q8()), b)),
    PAIRS_WRAP(2, kSteps, Tensor q = to_int8(inner(a, b).detach()); return q.to(kFloat32) * 0.0625),
};

}  // namespace

const Feature kQuantized{"quantized", quantized, quantized_wraps, {}};

}  // namespace reprise::pairs
