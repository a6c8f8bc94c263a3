#include "operators/fft_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace reprise::operators {
namespace {

/// Beyond this a prime factor, whose butterfly costs its square, is dearer than a convolution.
constexpr std::int64_t kLargestRadix = 31;

std::vector<std::int64_t> factors(std::int64_t n) {
  std::vector<std::int64_t> f;
  for (std::int64_t p : {4, 2, 3, 5})
    while (n % p == 0) f.push_back(p), n /= p;
  for (std::int64_t p = 7; p * p <= n; p += 2)
    while (n % p == 0) f.push_back(p), n /= p;
  if (n > 1) f.push_back(n);
  return f;
}

Complex root(std::int64_t k, std::int64_t n) {
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), -std::sin(angle)};
}

/// One pass: `m` groups of `p` inputs m * s apart become outputs s apart, each times its root. s numbers beside each
/// other at a time.
template <int p, class Butterfly>
void pass(const Complex* x, Complex* y, std::int64_t m, std::int64_t s, const Complex* roots, Butterfly&& butterfly) {
  for (std::int64_t j = 0; j < m; ++j) {
    Complex w[p];
    for (int r = 1; r < p; ++r) w[r] = roots[j * r * s];
    const Complex* from = x + s * j;
    Complex* to = y + s * p * j;
    for (std::int64_t q = 0; q < s; ++q) {
      Complex a[p];
      for (int k = 0; k < p; ++k) a[k] = from[q + s * m * k];
      butterfly(a);
      to[q] = a[0];
      for (int r = 1; r < p; ++r) to[q + s * r] = a[r] * w[r];
    }
  }
}

void butterfly2(Complex* a) {
  const Complex b = a[0] - a[1];
  a[0] = a[0] + a[1], a[1] = b;
}
void butterfly3(Complex* a) {
  constexpr double kSine = 0.86602540378443864676;
  const Complex sum = a[1] + a[2], apart = kSine * (a[1] - a[2]).turned(), middle = a[0] - 0.5 * sum;
  a[0] = a[0] + sum, a[1] = middle + apart, a[2] = middle - apart;
}
void butterfly4(Complex* a) {
  const Complex even = a[0] + a[2], odd = a[1] + a[3], even_apart = a[0] - a[2], odd_apart = (a[1] - a[3]).turned();
  a[0] = even + odd, a[1] = even_apart + odd_apart, a[2] = even - odd, a[3] = even_apart - odd_apart;
}
void butterfly5(Complex* a) {
  constexpr double kCos1 = 0.30901699437494742410, kCos2 = -0.80901699437494742410, kSin1 = 0.95105651629515357212,
                   kSin2 = 0.58778525229247312917;
  const Complex s1 = a[1] + a[4], s2 = a[2] + a[3], d1 = (a[1] - a[4]).turned(), d2 = (a[2] - a[3]).turned();
  const Complex m1 = a[0] + kCos1 * s1 + kCos2 * s2, m2 = a[0] + kCos2 * s1 + kCos1 * s2, n1 = kSin1 * d1 + kSin2 * d2,
                n2 = kSin2 * d1 - kSin1 * d2;
  a[0] = a[0] + s1 + s2, a[1] = m1 + n1, a[2] = m2 + n2, a[3] = m2 - n2, a[4] = m1 - n1;
}

/// A pass of any radix, by the sum itself.
void pass_of(std::int64_t p, const Complex* x, Complex* y, std::int64_t m, std::int64_t s, const Complex* roots,
             std::int64_t n) {
  for (std::int64_t j = 0; j < m; ++j)
    for (std::int64_t r = 0; r < p; ++r) {
      const Complex w = roots[j * r * s];
      for (std::int64_t q = 0; q < s; ++q) {
        Complex sum = x[q + s * j];
        for (std::int64_t k = 1, turn = r; k < p; ++k, turn = turn + r < p ? turn + r : turn + r - p)
          sum = sum + x[q + s * (j + m * k)] * roots[turn * (n / p)];
        y[q + s * (p * j + r)] = sum * w;
      }
    }
}

}  // namespace

FftPlan::FftPlan(std::int64_t n) : n_(n), radices_(factors(n)) {
  roots_.reserve(static_cast<std::size_t>(n));
  const bool large = !radices_.empty() && *std::max_element(radices_.begin(), radices_.end()) > kLargestRadix;
  if (!large) {
    for (std::int64_t k = 0; k < n; ++k) roots_.push_back(root(k, n));
    return;
  }
  // k^2 modulo 2n, step by step: the angle stays exact.
  for (std::int64_t k = 0, square = 0; k < n; ++k) {
    roots_.push_back(root(square, 2 * n));
    square = (square + 2 * k + 1) % (2 * n);
  }
  const auto m = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(2 * n - 1)));
  convolution_ = std::make_unique<const FftPlan>(m);
  response_.assign(static_cast<std::size_t>(m), Complex{});
  response_[0] = roots_[0].conj();
  for (std::int64_t k = 1; k < n; ++k)
    response_[static_cast<std::size_t>(k)] = response_[static_cast<std::size_t>(m - k)] =
        roots_[static_cast<std::size_t>(k)].conj();
  std::vector<Complex> work(response_.size());
  convolution_->transform(response_.data(), work.data());
  for (Complex& c : response_) c = (1.0 / static_cast<double>(m)) * c;
}

void FftPlan::transform(Complex* x, Complex* work) const { convolution_ ? chirp(x, work) : mixed_radix(x, work); }

void FftPlan::inverse(Complex* x, Complex* work) const {
  for (std::int64_t i = 0; i < n_; ++i) x[i] = x[i].swapped();
  transform(x, work);
  for (std::int64_t i = 0; i < n_; ++i) x[i] = x[i].swapped();
}

void FftPlan::mixed_radix(Complex* x, Complex* work) const {
  Complex *from = x, *to = work;
  std::int64_t left = n_, s = 1;
  for (std::int64_t p : radices_) {
    const std::int64_t m = left / p;
    switch (p) {
      case 2: pass<2>(from, to, m, s, roots_.data(), butterfly2); break;
      case 3: pass<3>(from, to, m, s, roots_.data(), butterfly3); break;
      case 4: pass<4>(from, to, m, s, roots_.data(), butterfly4); break;
      case 5: pass<5>(from, to, m, s, roots_.data(), butterfly5); break;
      default: pass_of(p, from, to, m, s, roots_.data(), n_);
    }
    std::swap(from, to);
    left = m, s *= p;
  }
  if (from != x) std::copy(from, from + n_, x);
}

void FftPlan::chirp(Complex* x, Complex* work) const {
  const std::int64_t m = convolution_->size();
  Complex* a = work;
  for (std::int64_t k = 0; k < n_; ++k) a[k] = x[k] * roots_[static_cast<std::size_t>(k)];
  std::fill(a + n_, a + m, Complex{});
  convolution_->transform(a, work + m);
  for (std::int64_t k = 0; k < m; ++k) a[k] = a[k] * response_[static_cast<std::size_t>(k)];
  convolution_->inverse(a, work + m);
  for (std::int64_t k = 0; k < n_; ++k) x[k] = a[k] * roots_[static_cast<std::size_t>(k)];
}

RealFftPlan::RealFftPlan(std::int64_t n) : n_(n), plan_(n % 2 == 0 ? n / 2 : n) {
  if (!halved()) return;
  for (std::int64_t k = 0; k <= n / 2; ++k) roots_.push_back(root(k, n));
}

// Of an even n: even and odd elements as real and imaginary parts of n / 2 numbers z, whose transform Z is that of the
// even ones and i times that of the odd ones. conj(Z[n/2 - k]) tells the two apart.
void RealFftPlan::forward(const double* x, Complex* z, Complex* work) const {
  if (!halved()) {
    for (std::int64_t i = 0; i < n_; ++i) z[i] = {x[i], 0};
    return plan_.transform(z, work);
  }
  const std::int64_t half = n_ / 2;
  for (std::int64_t i = 0; i < half; ++i) z[i] = {x[2 * i], x[2 * i + 1]};
  plan_.transform(z, work);
  z[half] = z[0];
  for (std::int64_t k = 0; k <= half - k; ++k) {
    const Complex a = z[k], b = z[half - k];
    auto both = [&](Complex u, Complex v, std::int64_t at) {
      return 0.5 * ((u + v.conj()) + (u - v.conj()).turned() * roots_[static_cast<std::size_t>(at)]);
    };
    z[k] = both(a, b, k), z[half - k] = both(b, a, half - k);
  }
}

void RealFftPlan::backward(Complex* z, double* x, Complex* work) const {
  z[0].im = 0;
  if (!halved()) {
    for (std::int64_t k = 1; k <= n_ / 2; ++k) z[n_ - k] = z[k].conj();
    plan_.inverse(z, work);
    for (std::int64_t i = 0; i < n_; ++i) x[i] = z[i].re;
    return;
  }
  const std::int64_t half = n_ / 2;
  z[half].im = 0;
  for (std::int64_t k = 0; k <= half - k; ++k) {
    const Complex a = z[k], b = z[half - k];
    auto both = [&](Complex u, Complex v, std::int64_t at) {  // times i: turned the other way
      const Complex odd = (u - v.conj()) * roots_[static_cast<std::size_t>(at)].conj();
      return (u + v.conj()) - odd.turned();
    };
    z[k] = both(a, b, k), z[half - k] = both(b, a, half - k);
  }
  plan_.inverse(z, work);
  for (std::int64_t i = 0; i < half; ++i) x[2 * i] = z[i].re, x[2 * i + 1] = z[i].im;
}

}  // namespace reprise::operators
