// Convolutions and pooling. Pads that are not the same on both sides, or not constants, are added before; everything
// else is an operator's own.
#include "reprise/convolution.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "import/onnx/core.h"
#include "reprise/pooling.h"

namespace reprise::onnx {
namespace {

using List = std::vector<std::int64_t>;

/// Windows over the dimensions from 2 on.
struct Windows {
  int dims = 0;
  List kernel, strides, dilations;
  std::vector<Int> before, after;  ///< pads
  bool ceil = false;
  std::int64_t extent(int d) const {
    return dilations[static_cast<std::size_t>(d)] * (kernel[static_cast<std::size_t>(d)] - 1) + 1;
  }
  bool symmetric() const {
    for (int d = 0; d < dims; ++d)
      if (!identical(before[static_cast<std::size_t>(d)], after[static_cast<std::size_t>(d)]) ||
          before[static_cast<std::size_t>(d)].is_symbolic())
        return false;
    return true;
  }
  bool padded() const {
    for (int d = 0; d < 2 * dims; ++d) {
      const Int p = d < dims ? before[static_cast<std::size_t>(d)] : after[static_cast<std::size_t>(d - dims)];
      if (p.is_symbolic() || bool(p != 0)) return true;
    }
    return false;
  }
};

List one_each(Call& c, const char* name, int dims, std::int64_t otherwise) {
  List l = c.list(name, List(static_cast<std::size_t>(dims), otherwise));
  if (static_cast<int>(l.size()) != dims) c.bad("has ", l.size(), " ", name, " for ", dims, " dimensions");
  for (std::int64_t v : l)
    if (v < (otherwise == 0 ? 0 : 1)) c.bad("has ", name, " ", v);
  return l;
}

Windows windows(Call& c, const Tensor& x, List kernel) {
  Windows w;
  w.dims = x.dim() - 2;
  if (w.dims < 1 || w.dims > 3) c.bad("of ", x.dim(), " dimensions; wanted 3 to 5");
  w.kernel = c.list("kernel_shape", std::move(kernel));
  if (static_cast<int>(w.kernel.size()) != w.dims)
    c.bad("has a kernel of ", w.kernel.size(), " dimensions for ", w.dims);
  for (std::int64_t k : w.kernel)
    if (k < 1) c.bad("has a kernel of size ", k);
  w.strides = one_each(c, "strides", w.dims, 1), w.dilations = one_each(c, "dilations", w.dims, 1);
  w.ceil = c.i("ceil_mode", 0) != 0;
  const std::string mode = c.s("auto_pad", "NOTSET");
  const List pads = c.list("pads", List(2 * static_cast<std::size_t>(w.dims), 0));
  if (static_cast<int>(pads.size()) != 2 * w.dims) c.bad("has ", pads.size(), " pads for ", w.dims, " dimensions");
  for (int d = 0; d < w.dims; ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    if (mode == "NOTSET") {
      if (pads[i] < 0 || pads[i + static_cast<std::size_t>(w.dims)] < 0) c.bad("has a negative pad");
      w.before.push_back(pads[i]), w.after.push_back(pads[i + static_cast<std::size_t>(w.dims)]);
    } else if (mode == "VALID") {
      w.before.push_back(0), w.after.push_back(0);
    } else if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
      const Int n = x.size(d + 2), stride = w.strides[i];
      const Int total = Int::max((Int::ceil_div(n, stride) - 1) * stride + w.extent(d) - n, 0), half = total / 2;
      w.before.push_back(mode == "SAME_UPPER" ? half : total - half),
          w.after.push_back(mode == "SAME_UPPER" ? total - half : half);
    } else {
      c.bad("auto_pad is '", mode, "'; wanted NOTSET, VALID, SAME_UPPER or SAME_LOWER");
    }
  }
  return w;
}

/// The sizes of a convolution's weight behind its channels, which kernel_shape says again.
List kernel_of(Call& c, const Tensor& weight) {
  List kernel;
  for (int d = 2; d < weight.dim(); ++d) kernel.push_back(weight.size(d).value());
  if (const auto said = c.list("kernel_shape"); said && *said != kernel)
    c.bad("has a kernel_shape that the weight's sizes contradict");
  return kernel;
}

Tensor padded(const Tensor& x, const std::vector<Int>& before, const std::vector<Int>& after, Scalar value) {
  Ints pads;
  for (std::size_t d = before.size(); d-- > 0;) pads.push_back(before[d]), pads.push_back(after[d]);
  return reprise::pad(x, pads, value);
}
Scalar least(DType t) {
  if (is_floating(t)) return -std::numeric_limits<double>::infinity();
  return t == kUInt8   ? Scalar(0)
         : t == kInt8  ? Scalar(-128)
         : t == kInt32 ? Scalar(static_cast<std::int64_t>(INT32_MIN))
                       : Scalar(INT64_MIN);
}
List zeros_for(const Windows& w) { return List(static_cast<std::size_t>(w.dims), 0); }

Tensor convolved(Call& c, const Tensor& x, const Tensor& weight, const Tensor& bias) {
  const Windows w = windows(c, x, kernel_of(c, weight));
  if (w.symmetric())
    return convolution(x, weight, bias, w.strides, w.before, w.dilations, false, zeros_for(w), c.i("group", 1));
  return convolution(padded(x, w.before, w.after, 0), weight, bias, w.strides, zeros_for(w), w.dilations, false,
                     zeros_for(w), c.i("group", 1));
}
void conv(Call& c) { c.give(convolved(c, c.x(0), c.x(1), c.has(2) ? c.x(2) : Tensor())); }

void conv_transpose(Call& c) {
  const Tensor x = c.x(0), weight = c.x(1);
  Windows w = windows(c, x, kernel_of(c, weight));
  const List more = one_each(c, "output_padding", w.dims, 0);
  const std::string mode = c.s("auto_pad", "NOTSET");
  const auto wanted = c.list("output_shape");
  if (wanted && wanted->size() < static_cast<std::size_t>(w.dims))
    c.bad("has an output_shape of ", wanted->size(), " dimensions for ", w.dims);
  bool direct = w.symmetric() && !wanted && (mode == "NOTSET" || mode == "VALID");
  for (int d = 0; d < w.dims; ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    direct &= more[i] < std::max(w.strides[i], w.dilations[i]);
    if (!wanted && (mode == "NOTSET" || mode == "VALID")) continue;
    const Int n = x.size(d + 2),
              out = wanted ? Int((*wanted)[wanted->size() - static_cast<std::size_t>(w.dims - d)]) : n * w.strides[i];
    // rounded down: it may be negative
    const Int total = (n - 1) * w.strides[i] + more[i] + w.extent(d) - out, half = (total - (total % 2 + 2) % 2) / 2;
    w.before[i] = mode == "SAME_UPPER" ? half : total - half, w.after[i] = mode == "SAME_UPPER" ? total - half : half;
  }
  const Tensor bias = c.has(2) ? c.x(2) : Tensor();
  if (direct)
    return c.give(convolution(x, weight, bias, w.strides, w.before, w.dilations, true, more, c.i("group", 1)));
  // All of it, and then what the pads leave: they may differ, and be negative.
  Tensor full = convolution(x, weight, {}, w.strides, zeros_for(w), w.dilations, true, zeros_for(w), c.i("group", 1));
  for (int d = 0; d < w.dims; ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    w.before[i] = -w.before[i], w.after[i] = more[i] - w.after[i];
  }
  full = padded(full, w.before, w.after, 0);
  if (c.has(2)) {
    Ints sizes(static_cast<std::size_t>(x.dim()), Int(1));
    sizes[1] = bias.size(0);
    full = full + bias.view(sizes);
  }
  c.give(full);
}

/// Sums of windows, of each channel by itself: a convolution with ones.
Tensor window_sums(const Tensor& x, const Windows& w) {
  Ints planes{x.size(0) * x.size(1), 1}, ones_of{1, 1}, sizes{x.size(0), x.size(1)};
  for (int d = 0; d < w.dims; ++d)
    planes.push_back(x.size(d + 2)), ones_of.push_back(w.kernel[static_cast<std::size_t>(d)]);
  const Tensor sums = convolution(x.reshape(planes), ones(ones_of, {.dtype = x.dtype()}), {}, w.strides, zeros_for(w),
                                  w.dilations, false, zeros_for(w), 1);
  for (int d = 0; d < w.dims; ++d) sizes.push_back(sums.size(d + 2));
  return sums.reshape(sizes);
}
/// Behind the last place, as many more as a window that begins inside wants.
std::vector<Int> up_to_whole(const Windows& w, const Tensor& x) {
  std::vector<Int> more;
  for (int d = 0; d < w.dims; ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    if (!w.ceil) {
      more.push_back(0);
      continue;
    }
    const Int n = x.size(d + 2), all = n + w.before[i] + w.after[i], stride = w.strides[i];
    Int out = Int::ceil_div(all - w.extent(d), stride) + 1;
    if (bool((out - 1) * stride >= n + w.before[i])) out = out - 1;  // it would begin behind the image
    more.push_back(Int::max((out - 1) * stride + w.extent(d) - all, 0));
  }
  return more;
}
std::vector<Int> plus(std::vector<Int> a, const std::vector<Int>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = a[i] + b[i];
  return a;
}

bool fits_kernel(const Windows& w) {
  for (int d = 0; d < w.dims; ++d)
    if (w.before[static_cast<std::size_t>(d)].hint() * 2 > w.kernel[static_cast<std::size_t>(d)]) return false;
  return true;
}
Tensor averages(const Tensor& x, const Windows& w, bool with_pads) {
  const auto of = w.dims == 1 ? avg_pool1d : w.dims == 2 ? avg_pool2d : avg_pool3d;
  return of(x, w.kernel, w.strides, w.before, w.ceil, with_pads, std::nullopt, {});
}
void average_pool(Call& c) {
  const Tensor x = c.x(0);
  const Windows w = windows(c, x, {});
  const bool with_pads = c.i("count_include_pad", 0) != 0;
  if (w.symmetric() && fits_kernel(w) && w.dilations == List(static_cast<std::size_t>(w.dims), 1) && !w.ceil)
    return c.give(averages(x, w, with_pads));
  const std::vector<Int> after = plus(w.after, up_to_whole(w, x));
  const Tensor sums = window_sums(padded(x, w.before, after, 0), w);
  if (with_pads && !w.ceil) {
    std::int64_t whole = 1;
    for (std::int64_t k : w.kernel) whole *= k;
    return c.give(sums / whole);
  }
  // Pads count where that is asked for; what ceil_mode adds behind them never does.
  const std::vector<Int> none(w.before.size(), Int(0));
  const Tensor image = with_pads ? padded(padded(ones_like(x), w.before, w.after, 1), none, up_to_whole(w, x), 0)
                                 : padded(ones_like(x), w.before, after, 0);
  c.give(sums / window_sums(image, w));
}
void lp_pool(Call& c) {
  const Tensor x = c.x(0);
  const Windows w = windows(c, x, {});
  const double p = static_cast<double>(c.i("p", 2));
  c.give(pow(window_sums(pow(abs(padded(x, w.before, plus(w.after, up_to_whole(w, x)), 0)), p), w), 1 / p));
}

void max_pool(Call& c) {
  const Tensor x = c.x(0);
  const Windows w = windows(c, x, {});
  const bool direct = w.symmetric() && fits_kernel(w);
  const std::vector<Int> after = plus(w.after, up_to_whole(w, x));
  const Tensor from = direct ? x : padded(x, w.before, after, least(x.dtype()));
  const List none = zeros_for(w);
  const auto pads = direct ? IntArrayRef(w.before) : IntArrayRef(none);
  const bool up = direct && w.ceil;
  if (!c.wants(1)) {
    const auto of = w.dims == 1 ? max_pool1d : w.dims == 2 ? max_pool2d : max_pool3d;
    return c.give(of(from, w.kernel, w.strides, pads, w.dilations, up, {}));
  }
  const auto of = w.dims == 1   ? max_pool1d_with_indices
                  : w.dims == 2 ? max_pool2d_with_indices
                                : max_pool3d_with_indices;
  const auto [values, places] = of(from, w.kernel, w.strides, pads, w.dilations, up, {});
  c.give(values, 0);
  // A place in a plane becomes one in the whole tensor, by columns where that is asked for.
  const bool columns = c.i("storage_order", 0) != 0;
  Tensor rest = places, at = zeros_like(places);
  Int plane = 1, step = 1;
  for (int d = 0; d < w.dims; ++d) plane *= x.size(d + 2);
  std::vector<Tensor> by_dim(static_cast<std::size_t>(w.dims));
  for (int d = w.dims - 1; d >= 0; --d) {
    const Int n = from.size(d + 2);
    by_dim[static_cast<std::size_t>(d)] =
        remainder(rest, n) - (direct ? Int(0) : w.before[static_cast<std::size_t>(d)]);
    rest = floor_divide(rest, n);
  }
  for (int e = 0; e < w.dims; ++e) {
    const int d = columns ? e : w.dims - 1 - e;
    at = at + by_dim[static_cast<std::size_t>(d)] * step;
    step *= x.size(d + 2);
  }
  Ints of_planes{x.size(0), x.size(1)};
  for (int d = 0; d < w.dims; ++d) of_planes.push_back(1);
  c.give(at + arange(x.size(0) * x.size(1)).view(of_planes) * plane, 1);
}
void max_unpool(Call& c) {
  const Tensor x = c.x(0), places = c.x(1);
  const Windows w = windows(c, x, {});
  Ints sizes{x.size(0), x.size(1)};
  for (int d = 0; d < w.dims; ++d) {
    const std::size_t i = static_cast<std::size_t>(d);
    sizes.push_back((x.size(d + 2) - 1) * w.strides[i] - w.before[i] - w.after[i] + w.kernel[i]);
  }
  // Places count in the sizes that pads and strides tell; asked for larger ones, the rest is zeros behind.
  Int n = 1;
  for (Int size : sizes) n *= size;
  const Tensor made =
      scatter(zeros({n}, {.dtype = x.dtype()}), 0, places.reshape({places.numel()}), x.reshape({x.numel()}))
          .view(sizes);
  if (!c.has(2)) return c.give(made);
  const std::vector<Int> to = c.ints(2);
  if (to.size() != sizes.size()) c.bad("has an output_shape of ", to.size(), " dimensions for ", sizes.size());
  std::vector<Int> more;
  for (std::size_t d = 0; d < to.size(); ++d) more.push_back(to[d] - sizes[d]);
  c.give(padded(made, std::vector<Int>(to.size(), Int(0)), more, 0));
}

std::vector<int> spatial(const Tensor& x) {
  std::vector<int> dims;
  for (int d = 2; d < x.dim(); ++d) dims.push_back(d);
  return dims;
}
void global_lp_pool(Call& c) {
  const Tensor x = c.x(0);
  const double p = static_cast<double>(c.i("p", 2));
  c.give(pow(sum(pow(abs(x), p), spatial(x), true), 1 / p));
}

/// Integers as doubles: sums are exact.
Tensor exactly(Call& c, int input, int zero) {
  const Tensor x = c.x(input).to(kFloat64);
  if (!c.has(zero)) return x;
  Tensor z = c.x(zero).to(kFloat64);
  if (z.dim() == 1 && bool(z.size(0) != 1)) {
    Ints sizes(static_cast<std::size_t>(x.dim()), Int(1));
    sizes[0] = z.size(0);
    z = z.view(sizes);
  }
  return x - z;
}
void conv_integer(Call& c) { c.give(convolved(c, exactly(c, 0, 2), exactly(c, 1, 3), {}).to(kInt32)); }
void qlinear_conv(Call& c) {
  Tensor y = convolved(c, exactly(c, 0, 2), exactly(c, 3, 5), c.has(8) ? c.x(8).to(kFloat64) : Tensor());
  Tensor scale = c.x(4).to(kFloat64);
  if (scale.dim() == 1 && bool(scale.size(0) != 1)) {
    Ints sizes(static_cast<std::size_t>(y.dim()), Int(1));
    sizes[1] = scale.size(0);
    scale = scale.view(sizes);
  }
  const Tensor zero = c.x(7);
  const bool is_signed = zero.dtype() == kInt8;
  y = round(y * (scale * c.x(1).to(kFloat64) / c.x(6).to(kFloat64))) + zero.to(kFloat64);
  c.give(clamp(y, is_signed ? -128 : 0, is_signed ? 127 : 255).to(zero.dtype()));
}

/// What unfolding takes apart: a transposed convolution that puts each place of a block where it stood.
void col2im(Call& c) {
  const Tensor x = c.x(0);
  const List block = c.constants(2);
  const std::vector<Int> image = c.ints(1);
  const int dims = static_cast<int>(block.size());
  if (dims < 1 || dims > 3 || image.size() != block.size())
    c.bad("has an image of ", image.size(), " and blocks of ", dims, " dimensions; wanted 1 to 3, of both the same");
  const List strides = one_each(c, "strides", dims, 1), dilations = one_each(c, "dilations", dims, 1),
             pads = c.list("pads", List(2 * block.size(), 0));
  if (pads.size() != 2 * block.size()) c.bad("has ", pads.size(), " pads for ", dims, " dimensions");
  Int each = 1;
  for (std::int64_t b : block) {
    if (b < 1) c.bad("has a block of size ", b);
    each *= b;
  }
  const Int channels = x.size(1) / each;
  Ints in{x.size(0) * channels, each}, kernel{each, 1}, out{x.size(0), channels};
  std::vector<Int> before, after;
  for (std::size_t d = 0; d < block.size(); ++d) {
    const Int whole = image[d] + pads[d] + pads[d + block.size()], extent = dilations[d] * (block[d] - 1) + 1,
              steps = (whole - extent) / strides[d] + 1;
    in.push_back(steps), kernel.push_back(block[d]), out.push_back(image[d]);
    before.push_back(-pads[d]), after.push_back(whole - ((steps - 1) * strides[d] + extent) - pads[d + block.size()]);
  }
  const List none(block.size(), 0);
  const Tensor places = eye(each, each, {.dtype = x.dtype()}).view(kernel);
  c.give(padded(convolution(x.reshape(in), places, {}, strides, none, dilations, true, none, 1), before, after, 0)
             .reshape(out));
}

constexpr Row kConvRows[] = {
    {"AveragePool", 1, 0, average_pool},
    {"Col2Im", 18, 0, col2im, 2 | 4},
    {"Conv", 1, 0, conv},
    {"ConvInteger", 10, 0, conv_integer},
    {"ConvTranspose", 1, 0, conv_transpose},
    {"GlobalAveragePool", 1, 0, [](Call& c) { c.give(mean(c.x(0), spatial(c.x(0)), true)); }},
    {"GlobalLpPool", 2, 0, global_lp_pool},
    {"GlobalMaxPool", 1, 0, [](Call& c) { c.give(amax(c.x(0), spatial(c.x(0)), true)); }},
    {"LpPool", 2, 0, lp_pool},
    {"MaxPool", 1, 0, max_pool},
    {"MaxUnpool", 9, 0, max_unpool, 4},
    {"QLinearConv", 10, 0, qlinear_conv},
};

}  // namespace

std::span<const Row> conv_rows() { return kConvRows; }

}  // namespace reprise::onnx
