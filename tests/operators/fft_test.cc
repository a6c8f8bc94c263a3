#include "reprise/fft.h"

#include <gtest/gtest.h>

#include <complex>
#include <numbers>

#include "operators/fft_plan.h"
#include "tests/operators/rows_reference.h"
#include "tests/support/error_of.h"

namespace reprise::test {
namespace {

using Numbers = std::vector<std::complex<double>>;

/// The sum itself.
Numbers transform(const Numbers& x, bool forward = true) {
  const std::size_t n = x.size();
  Numbers y(n);
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t j = 0; j < n; ++j)
      y[k] += x[j] * std::polar(1.0, (forward ? -2 : 2) * std::numbers::pi * static_cast<double>(j * k % n) /
                                         static_cast<double>(n));
  return y;
}
Numbers noise(std::size_t n, unsigned seed = 1) {
  Numbers x(n);
  auto next = [&] { return static_cast<double>(seed = seed * 1664525u + 1013904223u) * 0x1p-31 - 1; };
  for (auto& v : x) v = {next(), next()};
  return x;
}
Tensor pairs(const Numbers& x, DType t = kFloat64) {
  std::vector<double> v;
  for (const auto& c : x) v.push_back(c.real()), v.push_back(c.imag());
  return tensor_of(v, {static_cast<std::int64_t>(x.size()), 2}).to(t).to(test_device());
}
Numbers numbers_of(const Tensor& t) {
  const std::vector<double> v = t.to_vector<double>();
  Numbers x;
  for (std::size_t i = 0; i < v.size(); i += 2) x.emplace_back(v[i], v[i + 1]);
  return x;
}
Numbers cut(Numbers x, std::size_t n) { return x.resize(n), x; }
Numbers scaled(Numbers x, double by) {
  for (auto& v : x) v *= by;
  return x;
}
Tensor parts(const Numbers& x) {
  std::vector<double> v;
  for (const auto& c : x) v.push_back(c.real());
  return tensor_of(v).to(test_device());
}

// Every kind of length: powers, products, primes below and above the largest radix, products of those.
TEST(Fft, OfEveryLength) {
  for (std::size_t n : {1,  2,  3,  4,  5,  6,  7,  8,   9,   12,  15,  16,  25,  29,  30,   31,
                        32, 37, 49, 60, 64, 74, 97, 100, 101, 128, 210, 251, 400, 509, 1000, 1018}) {
    SCOPED_TRACE(n);
    const Numbers x = noise(n);
    const double allowed = 1e-13 * static_cast<double>(n);
    expect_same({fft(pairs(x)), ifft(pairs(x), std::nullopt, -1, "forward")},
                {pairs(transform(x)), pairs(transform(x, false))}, 0, allowed);
    expect_same({ifft(fft(pairs(x)))}, {pairs(x)}, 0, 1e-13);
    Numbers re = x;
    for (auto& v : re) v = v.real();
    const Tensor half = rfft(parts(x));
    expect_same({half, irfft(half, static_cast<std::int64_t>(n))}, {pairs(cut(transform(re), n / 2 + 1)), parts(x)}, 0,
                allowed);
    expect_same({fft(pairs(x, kFloat32))}, {pairs(transform(numbers_of(pairs(x, kFloat32))), kFloat32)}, 1e-6,
                2e-7 * std::sqrt(static_cast<double>(n)));
  }
}

TEST(Fft, OfALargePrime) {
  const std::int64_t n = 10007;  // by its frequency alone
  Numbers x(static_cast<std::size_t>(n));
  for (std::int64_t j = 0; j < n; ++j)
    x[static_cast<std::size_t>(j)] =
        std::polar(1.0, 2 * std::numbers::pi * static_cast<double>(j * 123 % n) / static_cast<double>(n));
  const Numbers y = numbers_of(fft(pairs(x)));
  for (std::int64_t k = 0; k < n; ++k)
    ASSERT_LT(std::abs(y[static_cast<std::size_t>(k)] - (k == 123 ? static_cast<double>(n) : 0.0)), 1e-8) << k;
}

TEST(Fft, NormsLengthsAndDimensions) {
  const Numbers x = noise(6), y = transform(x);
  expect_same(
      {fft(pairs(x), std::nullopt, -1, "ortho"), fft(pairs(x), std::nullopt, 0, "forward"), ifft(pairs(y)),
       ifft(pairs(y), std::nullopt, -1, "ortho")},
      {pairs(scaled(y, 1 / std::sqrt(6.0))), pairs(scaled(y, 1 / 6.0)), pairs(x), pairs(scaled(x, std::sqrt(6.0)))}, 0,
      1e-13);
  expect_same({fft(pairs(x), 4), fft(pairs(x), 9)}, {pairs(transform(cut(x, 4))), pairs(transform(cut(x, 9)))}, 0,
              1e-13);
  const Tensor half = rfft(parts(x), 4);
  expect_same(
      {half.select(-1, 1).select(0, 0), irfft(half), irfft(half, 3, -1, "ortho")},
      {full({}, 0.0, {kFloat64}), parts(cut(x, 4)), irfft(half.slice(0, 0, 2), 3, 0, "backward") * std::sqrt(3.0)}, 0,
      1e-13);

  const Tensor m = tensor_of(std::vector<double>{1, 2, 3, 4, 5, 7, 9, -2, 0.5, 1, 1, 1}, {4, 3}).to(test_device()),
               zero = m * 0;
  const Tensor both = fft(fft(complex(m, zero), std::nullopt, 0), std::nullopt, 1);
  expect_same({fft2(complex(m, zero)), fftn(complex(m, zero)), rfft2(m), irfft2(rfft2(m), {4, 3}), ifft2(both),
               rfftn(m, {}, {1, 0})},
              {both, both, both.slice(1, 0, 2), m, complex(m, zero), both.slice(0, 0, 3)}, 0, 1e-12);
  expect_same({fftn(complex(m, zero), {-1, 5}), irfftn(rfftn(m, {2, 3}), {2, 3}),
               fft2(complex(m, zero), {2, 2}, {0, 1}, "ortho")},
              {fft(fft(complex(m, zero), std::nullopt, 0), 5, 1), m.slice(0, 0, 2),
               fft2(complex(m.slice(0, 0, 2).slice(1, 0, 2), zero.slice(0, 0, 2).slice(1, 0, 2))) / 2},
              0, 1e-12);
  // Strided: every layout gives the same.
  const Tensor z = complex(m, m + 1);
  expect_same({fft(transposed_memory(z), std::nullopt, 0), fft(with_gaps(z), std::nullopt, 0),
               rfft(transposed_memory(m), std::nullopt, 0)},
              {fft(z, std::nullopt, 0), fft(z, std::nullopt, 0), rfft(m, std::nullopt, 0)}, 0, 0);
}

TEST(Fft, DtypesAndParts) {
  for (DType t : kFloats) EXPECT_EQ(fft(numbers({5, 2}, t)).dtype(), t);
  EXPECT_EQ(rfft(numbers({5}, kInt64)).dtype(), kFloat32);
  expect_same({rfft(numbers({5}, kInt64))}, {rfft(numbers({5}, kInt64).to(kFloat32))}, 0, 0);
  const Numbers x = noise(5), y = noise(5, 9);
  Numbers product = x, conj = x, size = x, angle = x;
  for (std::size_t i = 0; i < 5; ++i)
    product[i] = x[i] * y[i], conj[i] = std::conj(x[i]), size[i] = std::abs(x[i]), angle[i] = std::arg(x[i]);
  expect_same({complex_mul(pairs(x), pairs(y)), complex_conj(pairs(x)), complex_abs(pairs(x)), complex_angle(pairs(x)),
               complex(real(pairs(x)), imag(pairs(x)))},
              {pairs(product), pairs(conj), parts(size), parts(angle), pairs(x)}, 0, 1e-14);
  expect_same({fft(zeros({0, 4, 2}).to(test_device()))}, {zeros({0, 4, 2})}, 0, 0);
}

TEST(Fft, FrequenciesAndShifts) {
  expect_same({fftfreq(4), fftfreq(5, 0.5), rfftfreq(5)},
              {tensor_of<float>({0, 0.25, -0.5, -0.25}), tensor_of<float>({0, 0.4f, 0.8f, -0.8f, -0.4f}),
               tensor_of<float>({0, 0.2f, 0.4f})},
              1e-6, 0);
  const Tensor x = arange(5).to(kFloat32);
  expect_same({fftshift(x), ifftshift(fftshift(x)), ifftshift(x)},
              {tensor_of<float>({3, 4, 0, 1, 2}), x, tensor_of<float>({2, 3, 4, 0, 1})}, 0, 0);
}

TEST(Fft, Windows) {
  const auto expect = [](const Tensor& w, const std::function<double(double)>& of, std::int64_t n, double period) {
    Row v;
    for (std::int64_t k = 0; k < n; ++k) v.push_back(of(2 * std::numbers::pi * static_cast<double>(k) / period));
    expect_same({w.to(kFloat64)}, {tensor_of(v)}, 0, 1e-12);
  };
  const TensorOptions wide{kFloat64, test_device()};
  for (bool periodic : {true, false}) {
    const double period = periodic ? 7 : 6;
    expect(
        hann_window(7, periodic, wide), [](double a) { return 0.5 - 0.5 * std::cos(a); }, 7, period);
    expect(
        hamming_window(7, periodic, 0.6, 0.4, wide), [](double a) { return 0.6 - 0.4 * std::cos(a); }, 7, period);
    expect(
        blackman_window(7, periodic, wide), [](double a) { return 0.42 - 0.5 * std::cos(a) + 0.08 * std::cos(2 * a); },
        7, period);
    expect(
        bartlett_window(7, periodic, wide), [](double a) { return 1 - std::abs(a / std::numbers::pi - 1); }, 7, period);
    expect(
        kaiser_window(7, periodic, 8, wide),
        [](double a) {
          return std::cyl_bessel_i(0.0, 8 * std::sqrt(std::max(0.0, 1 - std::pow(a / std::numbers::pi - 1, 2)))) /
                 std::cyl_bessel_i(0.0, 8.0);
        },
        7, period);
  }
  EXPECT_EQ(hann_window(0).numel().value(), 0);
  EXPECT_EQ(hann_window(1).item().to_double(), 1);
  EXPECT_EQ(hann_window(4).dtype(), kFloat32);
}

TEST(Fft, ShortTimeTransforms) {
  const std::int64_t n_fft = 8, hop = 3;
  const Tensor x = numbers({2, 25}, kFloat64), window = hann_window(n_fft, true, {kFloat64, test_device()});
  const Tensor s = stft(x, n_fft, hop, std::nullopt, window);
  EXPECT_EQ(graph::sizes_text(s.sizes()), "[2, 5, 9, 2]");
  // A frame by hand, and one that reaches over the end.
  const std::vector<double> v = x.select(0, 1).to_vector<double>(), w = window.to_vector<double>();
  for (std::int64_t frame : {0, 4, 8}) {
    Numbers samples;
    for (std::int64_t i = 0; i < n_fft; ++i) {
      std::int64_t at = std::abs(frame * hop + i - n_fft / 2);
      if (at > 24) at = 48 - at;
      samples.emplace_back(v[static_cast<std::size_t>(at)] * w[static_cast<std::size_t>(i)]);
    }
    expect_same({s.select(0, 1).select(1, frame)}, {pairs(cut(transform(samples), 5))}, 0, 1e-12);
  }
  expect_same({istft(s, n_fft, hop, std::nullopt, window, true, false, true, 25)}, {x}, 0, 1e-12);
  for (bool onesided : {true, false})
    for (bool normalized : {true, false})
      for (std::int64_t win : {8, 5}) {
        const Tensor narrow = hamming_window(win, true, 0.54, 0.46, {kFloat64, test_device()}),
                     t = stft(x, n_fft, 2, win, narrow, true, "constant", normalized, onesided);
        expect_same({istft(t, n_fft, 2, win, narrow, true, normalized, onesided)}, {x.slice(1, 0, 24)}, 0, 1e-11);
      }
  EXPECT_EQ(graph::sizes_text(stft(x.select(0, 0), 8, {}, {}, {}, false).sizes()), "[5, 9, 2]");
}

TEST(Fft, CompileOnceForAllSizes) {
  auto make = [](std::int64_t n) {
    return std::vector<Tensor>{numbers({3, n}), numbers({n, 3, 2}, kFloat32, 1), hann_window(8).to(test_device())};
  };
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        return std::vector<Tensor>{complex_abs(rfft(a[0] * 2)), fft(a[1], std::nullopt, 0) + 1,
                                   irfft(rfft(a[0]), a[0].size(1)), fft2(a[1], {}, {0, 1}),
                                   ifft(a[1], std::nullopt, 0, "ortho")};
      },
      make, {4, 7, 20, 37, 1});
  expect_compiled(
      [](const std::vector<Tensor>& a) {
        const Tensor s = stft(a[0], 8, 2, {}, a[2]);
        return std::vector<Tensor>{log(square(real(s)) + square(imag(s)) + 1e-3),
                                   istft(s, 8, 2, {}, a[2], true, false, true, a[0].size(1))};
      },
      make, {12, 17, 64}, {.rtol = 1e-4, .atol = 1e-4});
  auto f = compile([](Tensor x) {
    return complex_abs(rfft(x, x.size(0) + 3, -1, "ortho")) *
           hann_window(x.size(0) / 2 + 2, false, {std::nullopt, x.device()}).sum();
  });
  for (std::int64_t n : {4, 6, 90, 101}) f(numbers({n}));
  EXPECT_LE(f.stats().compilations, 2);
  EXPECT_EQ(f.stats().eager_fallbacks, 0);
}

TEST(Fft, RefuseWhatIsNone) {
  const Error e = error_of([] { fft(zeros({4})); });
  EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(e.message(),
            "wants pairs (real, imaginary) as a last dimension of size 2, got sizes [4]; of real numbers: complex(x, "
            "zeros_like(x)), or rfft");
  EXPECT_EQ(error_of([] { fft(zeros({0, 2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([] { fft(zeros({4, 2}), 0); }).message(), "n must be at least 1, got 0");
  EXPECT_EQ(error_of([] { fft(zeros({4, 2}), {}, 1); }).code(), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(error_of([] { rfft(zeros({4}), {}, -1, "both"); }).message(),
            "norm is 'both', expected backward, ortho or forward");
  EXPECT_EQ(error_of([] { irfft(zeros({1, 2})); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([] { fftn(zeros({4, 2}), {1, 2, 3}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { fftn(zeros({4, 3, 2}), {}, {0, 0}); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { stft(zeros({4}), 16); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([] { stft(zeros({40}), 16, 4, 17); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { stft(zeros({40}), 16, 4, 8, zeros({16})); }).message(),
            "window has sizes [16], expected [8]");
  EXPECT_EQ(error_of([] { stft(zeros({40}), 16, 0); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { istft(zeros({8, 5, 2}), 16); }).code(), ErrorCode::ShapeMismatch);
  EXPECT_EQ(error_of([] { istft(zeros({9, 5, 2}), 16, 4, 16, zeros({16})); }).code(), ErrorCode::InvalidArgument);
  EXPECT_EQ(error_of([] { hann_window(4, true, {kInt64}); }).code(), ErrorCode::DTypeMismatch);
  EXPECT_EQ(error_of([] { hann_window(-1); }).code(), ErrorCode::InvalidArgument);
}

}  // namespace
}  // namespace reprise::test
