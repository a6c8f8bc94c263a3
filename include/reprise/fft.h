#pragma once
#include "reprise/ops.h"

/// Discrete Fourier transforms.
///
/// Complex numbers are pairs: a last dimension of size 2, the real part first, as ATen's view_as_real and ONNX have
/// them. There is no complex dtype: what programs do with spectra (magnitudes, filters, rotations) is arithmetic of
/// parts, which fuses like all other; every cast, promotion rule and kernel would have to know of such a dtype that
/// none of the models computes in.
///
/// `dim` counts the dimensions without that of the pairs, negative from their end: fft of [b, n, 2] goes along n by
/// default. `n` cuts the input along dim or pads it with zeros. norm: "backward" (the default: only inverses are
/// divided, by the length), "ortho" (both by its root) or "forward" (only forward transforms). Any length, in time n
/// log n; computed in double and rounded once. Floats; integers become float32. ShapeMismatch: no pairs, a length of 0;
/// InvalidArgument: n < 1, another norm.
namespace reprise REPRISE_VISIBLE {

// ---- pairs
/// [..., 2] of two tensors that broadcast.
Tensor complex(const Tensor& real, const Tensor& imag, SourceLoc loc = SourceLoc::current());
/// Views of the parts.
Tensor real(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor imag(const Tensor& self, SourceLoc loc = SourceLoc::current());
/// |z|, the angle of z, the product of two that broadcast, and z with its imaginary part negated.
Tensor complex_abs(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor complex_angle(const Tensor& self, SourceLoc loc = SourceLoc::current());
Tensor complex_mul(const Tensor& self, const Tensor& other, SourceLoc loc = SourceLoc::current());
Tensor complex_conj(const Tensor& self, SourceLoc loc = SourceLoc::current());

// ---- transforms
/// Pairs to pairs.
Tensor fft(const Tensor& self, std::optional<Int> n = std::nullopt, Int dim = -1, std::string_view norm = "backward",
           SourceLoc loc = SourceLoc::current());
Tensor ifft(const Tensor& self, std::optional<Int> n = std::nullopt, Int dim = -1, std::string_view norm = "backward",
            SourceLoc loc = SourceLoc::current());
/// Real numbers to the first n / 2 + 1 pairs (the others are their conjugates), and back to n real ones, by default 2 *
/// (size - 1).
Tensor rfft(const Tensor& self, std::optional<Int> n = std::nullopt, Int dim = -1, std::string_view norm = "backward",
            SourceLoc loc = SourceLoc::current());
Tensor irfft(const Tensor& self, std::optional<Int> n = std::nullopt, Int dim = -1, std::string_view norm = "backward",
             SourceLoc loc = SourceLoc::current());
/// Along several dimensions: those given, or as many of the last as s has, or all. rfftn halves the last of them. s:
/// the lengths, -1 for the size that is there.
Tensor fftn(const Tensor& self, IntArrayRef s = {}, const OptionalDims& dim = {}, std::string_view norm = "backward",
            SourceLoc loc = SourceLoc::current());
Tensor ifftn(const Tensor& self, IntArrayRef s = {}, const OptionalDims& dim = {}, std::string_view norm = "backward",
             SourceLoc loc = SourceLoc::current());
Tensor rfftn(const Tensor& self, IntArrayRef s = {}, const OptionalDims& dim = {}, std::string_view norm = "backward",
             SourceLoc loc = SourceLoc::current());
Tensor irfftn(const Tensor& self, IntArrayRef s = {}, const OptionalDims& dim = {}, std::string_view norm = "backward",
              SourceLoc loc = SourceLoc::current());
/// Along the last two, or those given.
Tensor fft2(const Tensor& self, IntArrayRef s = {}, IntArrayRef dim = {-2, -1}, std::string_view norm = "backward",
            SourceLoc loc = SourceLoc::current());
Tensor ifft2(const Tensor& self, IntArrayRef s = {}, IntArrayRef dim = {-2, -1}, std::string_view norm = "backward",
             SourceLoc loc = SourceLoc::current());
Tensor rfft2(const Tensor& self, IntArrayRef s = {}, IntArrayRef dim = {-2, -1}, std::string_view norm = "backward",
             SourceLoc loc = SourceLoc::current());
Tensor irfft2(const Tensor& self, IntArrayRef s = {}, IntArrayRef dim = {-2, -1}, std::string_view norm = "backward",
              SourceLoc loc = SourceLoc::current());
/// The frequencies of fft's n results, and of rfft's n / 2 + 1, in cycles where samples are d apart.
Tensor fftfreq(Int n, double d = 1.0, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor rfftfreq(Int n, double d = 1.0, const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
/// Frequency 0 to the middle of dimensions (all if none are given; of pairs name them), and back.
Tensor fftshift(const Tensor& self, const OptionalDims& dim = {}, SourceLoc loc = SourceLoc::current());
Tensor ifftshift(const Tensor& self, const OptionalDims& dim = {}, SourceLoc loc = SourceLoc::current());

// ---- short-time transforms
/// Transforms of windows of n_fft real samples, every hop_length (n_fft / 4 if none): [..., samples] to [..., n_fft / 2
/// + 1, frames, 2], with onesided false n_fft frequencies. window [win_length]: padded with zeros on both sides to
/// n_fft; ones if undefined. center: the signal is padded by n_fft / 2 on both sides, pad_mode "reflect" (fewer than
/// the samples) or "constant". normalized: divided by the root of n_fft.
Tensor stft(const Tensor& self, Int n_fft, std::optional<Int> hop_length = std::nullopt,
            std::optional<Int> win_length = std::nullopt, const Tensor& window = {}, bool center = true,
            std::string_view pad_mode = "reflect", bool normalized = false, bool onesided = true,
            SourceLoc loc = SourceLoc::current());
/// The samples whose stft is nearest: [..., n_fft / 2 + 1, frames, 2] to [..., length]. Frames are windowed again and
/// added, and the sum divided by that of the squared windows, which must not vanish (InvalidArgument). length: of the
/// result; what frames give without the padding if none.
Tensor istft(const Tensor& self, Int n_fft, std::optional<Int> hop_length = std::nullopt,
             std::optional<Int> win_length = std::nullopt, const Tensor& window = {}, bool center = true,
             bool normalized = false, bool onesided = true, std::optional<Int> length = std::nullopt,
             SourceLoc loc = SourceLoc::current());

// ---- windows
/// [window_length], symmetric, or with periodic the first window_length of one that is one longer. Of length 1: one.
/// Floats (DTypeMismatch).
Tensor hann_window(Int window_length, bool periodic = true, const TensorOptions& options = {},
                   SourceLoc loc = SourceLoc::current());
/// alpha - beta * cos.
Tensor hamming_window(Int window_length, bool periodic = true, double alpha = 0.54, double beta = 0.46,
                      const TensorOptions& options = {}, SourceLoc loc = SourceLoc::current());
Tensor blackman_window(Int window_length, bool periodic = true, const TensorOptions& options = {},
                       SourceLoc loc = SourceLoc::current());
Tensor bartlett_window(Int window_length, bool periodic = true, const TensorOptions& options = {},
                       SourceLoc loc = SourceLoc::current());
Tensor kaiser_window(Int window_length, bool periodic = true, double beta = 12.0, const TensorOptions& options = {},
                     SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
