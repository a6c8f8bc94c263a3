#pragma once
#include <cstdint>
#include <memory>
#include <vector>

/// Discrete Fourier transforms of any length, in double.
namespace reprise::operators {

struct Complex {
  double re = 0, im = 0;
  friend Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
  friend Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
  friend Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
  friend Complex operator*(double s, Complex a) { return {s * a.re, s * a.im}; }
  Complex conj() const { return {re, -im}; }
  Complex turned() const { return {im, -re}; }  ///< times -i
  Complex swapped() const { return {im, re}; }
};

/// What the transform of one length needs; made once, read by any number of threads. Mixed radices by Stockham's scheme
/// (Swarztrauber: FFT algorithms for vector computers, Parallel Computing 1, 1984), which needs no reordering; a length
/// with a large prime factor by Bluestein's (A linear filtering approach to the computation of the discrete Fourier
/// transform, IEEE Trans. AU-18, 1970) as a convolution of a power of two. Both n log n.
class FftPlan {
 public:
  explicit FftPlan(std::int64_t n);  ///< n >= 1
  std::int64_t size() const { return n_; }
  /// y_k = sum of x_j exp(-2 pi i j k / n), k = 0 .. n - 1, in the place of x. `work`: as many as work_size().
  void transform(Complex* x, Complex* work) const;
  /// The same with exp(+2 pi i j k / n).
  void inverse(Complex* x, Complex* work) const;
  std::int64_t work_size() const { return convolution_ ? 2 * convolution_->size() : n_; }

 private:
  void mixed_radix(Complex* x, Complex* work) const;
  void chirp(Complex* x, Complex* work) const;

  std::int64_t n_;
  std::vector<std::int64_t> radices_;
  std::vector<Complex> roots_;                  ///< exp(-2 pi i k / n); of a chirp exp(-pi i k^2 / n)
  std::unique_ptr<const FftPlan> convolution_;  ///< of a power of two, where the transform is a convolution
  std::vector<Complex> response_;               ///< the transform of what it is convolved with
};

/// Transforms of n real numbers to n / 2 + 1 complex ones, and back: an even n goes by a complex transform of half the
/// length.
class RealFftPlan {
 public:
  explicit RealFftPlan(std::int64_t n);
  std::int64_t size() const { return n_; }
  std::int64_t buffer_size() const { return n_ + 1; }
  std::int64_t work_size() const { return plan_.work_size(); }
  /// `buffer`: scratch of buffer_size(), whose first n / 2 + 1 are the result.
  void forward(const double* x, Complex* buffer, Complex* work) const;
  /// `buffer`: the n / 2 + 1 numbers first; destroyed. The imaginary parts of what must be real do not count.
  void backward(Complex* buffer, double* x, Complex* work) const;

 private:
  bool halved() const { return n_ % 2 == 0; }
  std::int64_t n_;
  FftPlan plan_;
  std::vector<Complex> roots_;  ///< exp(-2 pi i k / n), k <= n / 2, of an even n
};

}  // namespace reprise::operators
