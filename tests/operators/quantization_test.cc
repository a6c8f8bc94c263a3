#include "reprise/quantization.h"

#include <gtest/gtest.h>

#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

TEST(Quantization, RoundsAndClampsToItsDtype) {
  for (DType t : kFloats)
    for (DType q : {kInt8, kUInt8, kInt32}) {
      const Tensor x = numbers({4, 6}, t) * 32;
      const double low = q == kInt8    ? -128
                         : q == kUInt8 ? 0
                                       : -2147483648.0,
                   high = q == kInt8    ? 127
                          : q == kUInt8 ? 255
                                        : 2147483647.0;
      const std::int64_t zero = q == kUInt8 ? 128 : 3;
      const auto quantized = [=](double scale) {
        return [=](const Row& r) {
          Row v;
          for (double e : r) v.push_back(std::clamp(std::nearbyint(e / scale) + static_cast<double>(zero), low, high));
          return v;
        };
      };
      const Tensor codes = quantize_per_tensor(x, 0.5, zero, q),
                   scales = tensor_of<float>({0.5, 0.25, 1, 2}).to(test_device()),
                   zeros_of = full({4}, zero, {kInt32, test_device()});
      expect_same({codes, dequantize_per_tensor(codes, 0.5, zero), dequantize_per_tensor(codes, 0.5, zero, t)},
                  {of_rows(x, -1, quantized(0.5), q), (codes.to(kFloat32) - static_cast<double>(zero)) * 0.5,
                   ((codes.to(kFloat32) - static_cast<double>(zero)) * 0.5).to(t)},
                  0, 0);
      const Tensor rows = quantize_per_channel(x, scales, zeros_of, 0, q);
      for (std::int64_t i = 0; i < 4; ++i) {
        const double s = scales.select(0, i).item().to_double();
        expect_same(
            {rows.select(0, i), dequantize_per_channel(rows, scales, zeros_of, 0).select(0, i)},
            {quantize_per_tensor(x.select(0, i), s, zero, q), dequantize_per_tensor(rows.select(0, i), s, zero)}, 0, 0);
      }
      expect_same({quantize_per_channel(x.t(), scales, zeros_of, -1, q)}, {rows.t()}, 0, 0);
      if (q == kInt32) continue;
      const std::int64_t least = static_cast<std::int64_t>(low), most = static_cast<std::int64_t>(high);
      expect_same({fake_quantize_per_tensor_affine(x, 0.5, zero, least, most),
                   fake_quantize_per_channel_affine(x, scales, zeros_of, 0, least, most)},
                  {dequantize_per_tensor(codes, 0.5, zero, t), dequantize_per_channel(rows, scales, zeros_of, 0, t)}, 0,
                  0);
    }
  expect_same({quantize_per_tensor(
                  tensor_of<double>({kNan, kInf, -kInf, 0.5, 1.5, -2.5}).to(kFloat32).to(test_device()), 1, 0, kInt8)},
              {tensor_of<std::int64_t>({0, 127, -128, 0, 2, -2}).to(kInt8)}, 0, 0);
}

TEST(Quantization, CompileOnceForAllSizes) {
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{
            quantize_per_tensor(a[0] * 3, 0.25, 1, kInt8),
            dequantize_per_channel(quantize_per_channel(a[0], a[1], a[2], 1, kUInt8), a[1], a[2], 1) + 1,
            fake_quantize_per_tensor_affine(a[0], 0.5, 0, -8, 7)};
      },
      [](std::int64_t n) {
        return std::vector<Tensor>{numbers({n, 4}), numbers({4}).abs() + 0.5, numbers({4}, kInt32).abs()};
      },
      {3, 8, 1, 0});
}

TEST(Quantization, RefusesWhatIsNoCode) {
  const Tensor x = zeros({2, 3}), s = ones({2});
  EXPECT_EQ(error_of([&] { quantize_per_tensor(x, 1, 0, kInt64); }).message(),
            "quantizes to int8, uint8 or int32, not to int64");
  EXPECT_EQ(error_of([&] { quantize_per_tensor(x, 0, 0, kInt8); }).message(), "scale must be above 0, got 0");
  EXPECT_EQ(error_of([&] { quantize_per_tensor(x, 1, 128, kInt8); }).message(),
            "zero_point must lie in [-128, 127], got 128");
  EXPECT_EQ(error_of([&] { quantize_per_tensor(x.to(kInt8), 1, 0, kInt8); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { quantize_per_channel(x, s, s, 1, kInt8); }).message(),
            "scales has sizes [2] for dimension 1 of sizes [2, 3]");
  EXPECT_EQ(error_of([&] { dequantize_per_tensor(x, 1, 0); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([&] { fake_quantize_per_tensor_affine(x, 1, 0, 3, 2); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
