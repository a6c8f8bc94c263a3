// Transforms of rows (operators/fft_plan.h), and the functions over them. What pairs are: reprise/fft.h.
#include "reprise/fft.h"

#include <cmath>
#include <numbers>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "guards/general.h"
#include "kernels/plan/columns.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/fft_plan.h"
#include "operators/rows.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;

/// What a transform of length n is multiplied with: 0: nothing, 1: by 1 / sqrt(n), 2: by 1 / n (ATen's numbers).
enum class Normalization : std::int64_t { None, ByRoot, ByLength };

double factor(std::int64_t normalization, std::int64_t n) {
  const auto by = static_cast<Normalization>(normalization);
  return by == Normalization::None     ? 1
         : by == Normalization::ByRoot ? 1 / std::sqrt(static_cast<double>(n))
                                       : 1 / static_cast<double>(n);
}

TensorView part(const TensorView& pairs, std::int64_t which) {
  return kernels::reference::select(pairs, pairs.rank - 1, which);
}

struct Buffers {
  std::vector<Complex> numbers, work;
  std::vector<double> re, im;
};

void read_pairs(const TensorView& x, std::int64_t at, int dim, std::int64_t n, Buffers& b) {
  const TensorView re = part(x, 0), im = part(x, 1);
  read_row(re, at, x.strides[dim], n, b.re.data());
  read_row(im, at, x.strides[dim], n, b.im.data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) b.numbers[i] = {b.re[i], b.im[i]};
}
void write_pairs(const TensorView& x, std::int64_t at, int dim, std::int64_t n, double scale, Buffers& b) {
  for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i)
    b.re[i] = scale * b.numbers[i].re, b.im[i] = scale * b.numbers[i].im;
  write_row(part(x, 0), at, x.strides[dim], n, b.re.data());
  write_row(part(x, 1), at, x.strides[dim], n, b.im.data());
}
/// Rows along dim of a view of pairs, one for each pair of a column.
TensorView rows_of_pairs(const TensorView& x, int dim) { return without(part(x, 0), dim); }

/// body(offset in a, offset in b, buffers)
template <class F>
void transform_rows(const TensorView& a, const TensorView& b, std::int64_t numbers, std::int64_t work,
                    std::int64_t reals, const F& body) {
  parallel_each<2>({a, b}, 8 * reals, [&, buffers = Buffers()](const auto& at) mutable {
    if (buffers.re.empty()) {
      buffers.numbers.resize(static_cast<std::size_t>(numbers));
      buffers.work.resize(static_cast<std::size_t>(work));
      buffers.re.resize(static_cast<std::size_t>(reals));
      buffers.im.resize(static_cast<std::size_t>(reals));
    }
    body(at[0], at[1], buffers);
  });
}

void c2c_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &out = a.result();
  if (out.numel() == 0) return;
  const int dim = static_cast<int>(a.integer(1));
  const std::int64_t n = x.sizes[dim];
  const bool forward = a.flag(3);
  const double scale = factor(a.integer(2), n);
  const FftPlan plan(n);
  transform_rows(rows_of_pairs(x, dim), rows_of_pairs(out, dim), n, plan.work_size(), n,
                 [&](std::int64_t from, std::int64_t to, Buffers& b) {
                   read_pairs(x, from, dim, n, b);
                   forward ? plan.transform(b.numbers.data(), b.work.data())
                           : plan.inverse(b.numbers.data(), b.work.data());
                   write_pairs(out, to, dim, n, scale, b);
                 });
}

void r2c_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &out = a.result();
  if (out.numel() == 0) return;
  const int dim = static_cast<int>(a.integer(1));
  const std::int64_t n = x.sizes[dim];
  const double scale = factor(a.integer(2), n);
  const RealFftPlan plan(n);
  transform_rows(without(x, dim), rows_of_pairs(out, dim), plan.buffer_size(), plan.work_size(), std::max(n, n / 2 + 1),
                 [&](std::int64_t from, std::int64_t to, Buffers& b) {
                   read_row(x, from, x.strides[dim], n, b.re.data());
                   plan.forward(b.re.data(), b.numbers.data(), b.work.data());
                   write_pairs(out, to, dim, n / 2 + 1, scale, b);
                 });
}

void c2r_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &out = a.result();
  if (out.numel() == 0) return;
  const int dim = static_cast<int>(a.integer(1));
  const std::int64_t n = out.sizes[dim];
  const double scale = factor(a.integer(2), n);
  const RealFftPlan plan(n);
  transform_rows(rows_of_pairs(x, dim), without(out, dim), plan.buffer_size(), plan.work_size(), std::max(n, n / 2 + 1),
                 [&](std::int64_t from, std::int64_t to, Buffers& b) {
                   read_pairs(x, from, dim, n / 2 + 1, b);
                   plan.backward(b.numbers.data(), b.re.data(), b.work.data());
                   for (double& v : b.re) v *= scale;
                   write_row(out, to, out.strides[dim], n, b.re.data());
                 });
}

// frames [..., n, count], each times the window, added hop apart, and divided by the sum of the squared windows:
// samples start .. start + length.
void overlap_add_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &w = a.tensor(1), &out = a.result();
  const int last = x.rank - 1;
  const std::int64_t n = x.sizes[last - 1], count = x.sizes[last], hop = a.integer(2), start = a.integer(3),
                     length = out.sizes[out.rank - 1];
  std::vector<double> window(static_cast<std::size_t>(n)), weight(static_cast<std::size_t>(length));
  read_row(w, 0, w.strides[0], n, window.data());
  for (std::int64_t f = 0; f < count; ++f)
    for (std::int64_t i = std::max<std::int64_t>(0, start - f * hop); i < std::min(n, start + length - f * hop); ++i) {
      const double v = window[static_cast<std::size_t>(i)];
      weight[static_cast<std::size_t>(f * hop + i - start)] += v * v;
    }
  const std::int64_t covered = std::min(length, (count - 1) * hop + n - start);  // behind are zeros
  for (std::int64_t i = 0; i < covered; ++i)
    if (weight[static_cast<std::size_t>(i)] < 1e-11)
      return kernels::reference::fault(
          a, ErrorCode::InvalidArgument,
          "the windows add up to nothing at sample " + std::to_string(i) + " of " + std::to_string(length));
  parallel_each<2>({without_last(x, 2), without_last(out, 1)}, n * count,
                   [&, sum = std::vector<double>(), frame = std::vector<double>()](const auto& at) mutable {
                     sum.assign(static_cast<std::size_t>(length), 0);
                     frame.resize(static_cast<std::size_t>(n));
                     for (std::int64_t f = 0; f < count; ++f) {
                       read_row(x, at[0] + f * x.strides[last], x.strides[last - 1], n, frame.data());
                       for (std::int64_t i = std::max<std::int64_t>(0, start - f * hop);
                            i < std::min(n, start + length - f * hop); ++i)
                         sum[static_cast<std::size_t>(f * hop + i - start)] +=
                             frame[static_cast<std::size_t>(i)] * window[static_cast<std::size_t>(i)];
                     }
                     for (std::int64_t i = 0; i < covered; ++i)
                       sum[static_cast<std::size_t>(i)] /= weight[static_cast<std::size_t>(i)];
                     write_row(out, at[1], out.strides[out.rank - 1], length, sum.data());
                   });
}

const char* name(const graph::RuleCtx& c) { return c.op.schema.name.c_str(); }

DType floating(DType t) { return is_floating(t) ? t : DType::Float32; }

/// The functions below ask what users may get wrong; a graph's text may say anything.
void need_pairs(const graph::RuleCtx& c, const TensorMeta& m) {
  if (m.dim() < 2 || !graph::same(m.size(m.dim() - 1), 2, c.loc, "fft: pairs"))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc,
         "wants pairs (real, imaginary) as a last dimension of size 2, got sizes ", graph::sizes_text(m.layout.sizes));
}
int dim_of(const graph::RuleCtx& c, int dims) {
  const std::int64_t d = c.constant_int(1);
  if (d < 0 || d >= dims)
    fail(ErrorCode::IndexOutOfRange, name(c), c.loc, "dimension ", d, " is out of range for ", dims, " dimensions");
  return static_cast<int>(d);
}
void need_length(const graph::RuleCtx& c, Int n) {
  if (!graph::require(detail::compare_lt(0, n, c.loc), "fft: at least one element"))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "a transform of length ", n, " is none");
}

void c2c_shape(graph::RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  need_pairs(c, self);
  need_length(c, self.size(dim_of(c, self.dim() - 1)));
  c.result(floating(self.dtype), self.layout.sizes);
}
void r2c_shape(graph::RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  const int d = dim_of(c, self.dim());
  need_length(c, self.size(d));
  Ints sizes = self.layout.sizes;
  sizes[static_cast<std::size_t>(d)] = self.size(d) / 2 + 1;
  sizes.push_back(2);
  c.result(floating(self.dtype), sizes);
}
void c2r_shape(graph::RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  need_pairs(c, self);
  const int d = dim_of(c, self.dim() - 1);
  const Int n = c.integer(3);
  need_length(c, n);
  if (!graph::same(self.size(d), n / 2 + 1, c.loc, "fft: half the length"))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, n, " real numbers are made of ", n / 2 + 1, " pairs, got sizes ",
         graph::sizes_text(self.layout.sizes));
  Ints sizes = self.layout.sizes;
  sizes.pop_back();
  sizes[static_cast<std::size_t>(d)] = n;
  c.result(floating(self.dtype), sizes);
}
void overlap_add_shape(graph::RuleCtx& c) {
  const TensorMeta &frames = c.tensor(0), &window = c.tensor(1);
  if (!is_floating(frames.dtype))
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "adds up frames of floats, got ", dtype_name(frames.dtype));
  if (frames.dim() < 2 || window.dim() != 1 ||
      !graph::same(frames.size(frames.dim() - 2), window.size(0), c.loc, "overlap_add: a window of a frame"))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "frames of sizes ", graph::sizes_text(frames.layout.sizes),
         " and a window of sizes ", graph::sizes_text(window.layout.sizes));
  for (int i : {2, 4})
    if (!graph::require(detail::compare_lt(0, c.integer(i), c.loc), "overlap_add: at least one sample"))
      fail(ErrorCode::InvalidArgument, name(c), c.loc, c.op.schema.args[static_cast<std::size_t>(i)].name,
           " must be at least 1, got ", c.integer(i));
  if (!graph::require(detail::compare_le(0, c.integer(3), c.loc), "overlap_add: from the first sample"))
    fail(ErrorCode::InvalidArgument, name(c), c.loc, "start must not be negative, got ", c.integer(3));
  Ints sizes = frames.layout.sizes;
  sizes.pop_back();
  sizes.back() = c.integer(4);
  c.result(frames.dtype, sizes);
}

OpId c2c_op() {
  static const OpId id = graph::register_op(
      {.schema = "fft_c2c(Tensor self, int dim, int normalization, bool forward) -> Tensor", .shape = c2c_shape},
      {kernels::reference_kernels().fact({c2c_kernel}),
       operators::derivative(operators::derivatives::fft_c2c, autograd::kNothing)});
  return id;
}
OpId r2c_op() {
  static const OpId id =
      graph::register_op({.schema = "fft_r2c(Tensor self, int dim, int normalization) -> Tensor", .shape = r2c_shape},
                         {kernels::reference_kernels().fact({r2c_kernel}),
                          operators::derivative(operators::derivatives::fft_r2c, autograd::kNothing)});
  return id;
}
OpId c2r_op() {
  static const OpId id =
      graph::register_op({.schema = "fft_c2r(Tensor self, int dim, int normalization, SymInt last_dim_size) -> Tensor",
                          .shape = c2r_shape},
                         {kernels::reference_kernels().fact({c2r_kernel}),
                          operators::derivative(operators::derivatives::fft_c2r, autograd::kNothing)});
  return id;
}
OpId overlap_add_op() {
  static const OpId id = graph::register_op(
      {.schema = "overlap_add(Tensor frames, Tensor window, SymInt hop, SymInt start, SymInt length) -> Tensor",
       .shape = overlap_add_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({overlap_add_kernel}),
       operators::derivative(operators::derivatives::overlap_add,
                             autograd::in(0, autograd::of(1)) + autograd::in(1) + autograd::out(0, autograd::of(1)))});
  return id;
}

Int normalization(std::string_view norm, bool forward, const char* op, SourceLoc loc) {
  if (norm == "ortho") return static_cast<std::int64_t>(Normalization::ByRoot);
  if (norm != "backward" && norm != "forward")
    fail(ErrorCode::InvalidArgument, op, loc, "norm is '", norm, "', expected backward, ortho or forward");
  return static_cast<std::int64_t>((norm == "forward") == forward ? Normalization::ByLength : Normalization::None);
}

/// The metadata of x; where it must be pairs, they are there.
TensorMeta transformed(const Tensor& x, bool pairs, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(x, op, loc);
  if (is_storage_only(m.dtype)) fail(ErrorCode::DTypeMismatch, op, loc, "not defined for ", dtype_name(m.dtype));
  if (pairs && (m.dim() < 2 || !graph::same(m.size(m.dim() - 1), 2, loc, "fft: pairs")))
    fail(ErrorCode::ShapeMismatch, op, loc, "wants pairs (real, imaginary) as a last dimension of size 2, got sizes ",
         graph::sizes_text(m.layout.sizes), "; of real numbers: complex(x, zeros_like(x)), or rfft");
  if (m.dim() < 1) fail(ErrorCode::ShapeMismatch, op, loc, "wants at least one dimension, got a 0-dim tensor");
  return m;
}

/// dim of the dimensions before that of the pairs.
int dim_of(const TensorMeta& m, bool pairs, Int dim, const char* op, SourceLoc loc) {
  return wrap_dim(dim.value(loc), m.dim() - (pairs ? 1 : 0), op, loc);
}

/// Cut, or padded with zeros, to n along dim.
Tensor of_length(const Tensor& x, int dim, Int n, const char* op, SourceLoc loc) {
  if (!graph::require(detail::compare_lt(0, n, loc), "fft: at least one element"))
    fail(ErrorCode::InvalidArgument, op, loc, "n must be at least 1, got ", n);
  const Int size = x.size(dim);
  if (identical(size, n) || detail::compare_eq(size, n, loc)) return x;
  if (detail::compare_lt(n, size, loc)) return narrow(x, dim, 0, n, loc);
  std::vector<Int> amounts(static_cast<std::size_t>(2 * (x.dim() - dim)), 0);
  amounts.back() = n - size;
  return pad(x, amounts, 0, loc);
}

Tensor complex_transform(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, bool forward,
                         const char* op, SourceLoc loc) {
  const TensorMeta m = transformed(self, true, op, loc);
  const int d = dim_of(m, true, dim, op, loc);
  const Int by = normalization(norm, forward, op, loc);
  return named(op, [&] {
    return graph::call1(c2c_op(), {arg(n ? of_length(self, d, *n, op, loc) : self), Int(d), by, forward}, loc);
  });
}
Tensor of_real(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, const char* op,
               SourceLoc loc) {
  const TensorMeta m = transformed(self, false, op, loc);
  const int d = dim_of(m, false, dim, op, loc);
  const Int by = normalization(norm, true, op, loc);
  return named(op, [&] {
    return graph::call1(r2c_op(), {arg(n ? of_length(self, d, *n, op, loc) : self), Int(d), by}, loc);
  });
}
Tensor to_real(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, const char* op,
               SourceLoc loc) {
  const TensorMeta m = transformed(self, true, op, loc);
  const int d = dim_of(m, true, dim, op, loc);
  const Int by = normalization(norm, false, op, loc), length = n ? *n : (m.size(d) - 1) * 2;
  if (!graph::require(detail::compare_lt(0, length, loc), "irfft: at least one element")) {
    if (n) fail(ErrorCode::InvalidArgument, op, loc, "n must be at least 1, got ", length);
    fail(ErrorCode::ShapeMismatch, op, loc, "dimension ", d, " of sizes ", graph::sizes_text(m.layout.sizes),
         " gives no real numbers; tell n");
  }
  return named(op, [&] {
    return graph::call1(c2r_op(), {arg(of_length(self, d, length / 2 + 1, op, loc)), Int(d), by, length}, loc);
  });
}

struct Along {
  std::vector<int> dims;
  std::vector<std::optional<Int>> lengths;
};
Along along(const TensorMeta& m, bool pairs, IntArrayRef s, const OptionalDims& dim, const char* op, SourceLoc loc) {
  Along a;
  const int rank = m.dim() - (pairs ? 1 : 0);
  if (dim.given()) {
    for (const Int& d : dim.dims()) a.dims.push_back(wrap_dim(d.value(loc), rank, op, loc));
  } else {
    for (int d = s.empty() ? 0 : rank - static_cast<int>(s.size()); d < rank; ++d) a.dims.push_back(d);
  }
  if ((!s.empty() && s.size() != a.dims.size()) || (!dim.given() && static_cast<int>(s.size()) > rank))
    fail(ErrorCode::InvalidArgument, op, loc, "s gives ", s.size(), " lengths for ",
         dim.given() ? static_cast<int>(a.dims.size()) : rank, " dimensions");
  for (std::size_t i = 0; i < a.dims.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k)
      if (a.dims[i] == a.dims[k]) fail(ErrorCode::InvalidArgument, op, loc, "dimension ", a.dims[i], " is given twice");
    a.lengths.push_back(s.empty() || graph::is_to_infer(s[i], loc) ? std::optional<Int>() : std::optional<Int>(s[i]));
  }
  if (a.dims.empty()) fail(ErrorCode::InvalidArgument, op, loc, "no dimension is transformed");
  return a;
}

Tensor complex_transforms(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm,
                          bool forward, const char* op, SourceLoc loc) {
  const Along a = along(transformed(self, true, op, loc), true, s, dim, op, loc);
  Tensor x = self;
  for (std::size_t i = a.dims.size(); i-- > 0;)
    x = complex_transform(x, a.lengths[i], a.dims[i], norm, forward, op, loc);
  return x;
}
Tensor transforms_of_real(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm,
                          const char* op, SourceLoc loc) {
  const Along a = along(transformed(self, false, op, loc), false, s, dim, op, loc);
  Tensor x = of_real(self, a.lengths.back(), a.dims.back(), norm, op, loc);
  for (std::size_t i = a.dims.size() - 1; i-- > 0;)
    x = complex_transform(x, a.lengths[i], a.dims[i], norm, true, op, loc);
  return x;
}
Tensor transforms_to_real(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm,
                          const char* op, SourceLoc loc) {
  const Along a = along(transformed(self, true, op, loc), true, s, dim, op, loc);
  Tensor x = self;
  for (std::size_t i = 0; i + 1 < a.dims.size(); ++i)
    x = complex_transform(x, a.lengths[i], a.dims[i], norm, false, op, loc);
  return to_real(x, a.lengths.back(), a.dims.back(), norm, op, loc);
}

}  // namespace

// ---- pairs

Tensor complex(const Tensor& real, const Tensor& imag, SourceLoc loc) {
  return named("complex", [&] {
    const Ints sizes = graph::broadcast(checked_meta(real, "complex", loc).layout.sizes,
                                        checked_meta(imag, "complex", loc).layout.sizes, "complex", loc);
    return stack({expand(real, sizes, loc), expand(imag, sizes, loc)}, -1, loc);
  });
}
Tensor real(const Tensor& self, SourceLoc loc) {
  return transformed(self, true, "real", loc), select(self, -1, 0, loc);
}
Tensor imag(const Tensor& self, SourceLoc loc) {
  return transformed(self, true, "imag", loc), select(self, -1, 1, loc);
}
Tensor complex_abs(const Tensor& self, SourceLoc loc) {
  return named("complex_abs", [&] { return hypot(real(self, loc), imag(self, loc), loc); });
}
Tensor complex_angle(const Tensor& self, SourceLoc loc) {
  return named("complex_angle", [&] { return atan2(imag(self, loc), real(self, loc), loc); });
}
Tensor complex_mul(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return named("complex_mul", [&] {
    const Tensor a = real(self, loc), b = imag(self, loc), c = real(other, loc), d = imag(other, loc);
    return stack({sub(mul(a, c, loc), mul(b, d, loc), 1, loc), add(mul(a, d, loc), mul(b, c, loc), 1, loc)}, -1, loc);
  });
}
Tensor complex_conj(const Tensor& self, SourceLoc loc) {
  return named("complex_conj", [&] { return stack({real(self, loc), neg(imag(self, loc), loc)}, -1, loc); });
}

// ---- transforms

Tensor fft(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, SourceLoc loc) {
  return complex_transform(self, n, dim, norm, true, "fft", loc);
}
Tensor ifft(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, SourceLoc loc) {
  return complex_transform(self, n, dim, norm, false, "ifft", loc);
}
Tensor rfft(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, SourceLoc loc) {
  return of_real(self, n, dim, norm, "rfft", loc);
}
Tensor irfft(const Tensor& self, std::optional<Int> n, Int dim, std::string_view norm, SourceLoc loc) {
  return to_real(self, n, dim, norm, "irfft", loc);
}
Tensor fftn(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm, SourceLoc loc) {
  return complex_transforms(self, s, dim, norm, true, "fftn", loc);
}
Tensor ifftn(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm, SourceLoc loc) {
  return complex_transforms(self, s, dim, norm, false, "ifftn", loc);
}
Tensor rfftn(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm, SourceLoc loc) {
  return transforms_of_real(self, s, dim, norm, "rfftn", loc);
}
Tensor irfftn(const Tensor& self, IntArrayRef s, const OptionalDims& dim, std::string_view norm, SourceLoc loc) {
  return transforms_to_real(self, s, dim, norm, "irfftn", loc);
}
Tensor fft2(const Tensor& self, IntArrayRef s, IntArrayRef dim, std::string_view norm, SourceLoc loc) {
  return complex_transforms(self, s, dim, norm, true, "fft2", loc);
}
Tensor ifft2(const Tensor& self, IntArrayRef s, IntArrayRef dim, std::string_view norm, SourceLoc loc) {
  return complex_transforms(self, s, dim, norm, false, "ifft2", loc);
}
Tensor rfft2(const Tensor& self, IntArrayRef s, IntArrayRef dim, std::string_view norm, SourceLoc loc) {
  return transforms_of_real(self, s, dim, norm, "rfft2", loc);
}
Tensor irfft2(const Tensor& self, IntArrayRef s, IntArrayRef dim, std::string_view norm, SourceLoc loc) {
  return transforms_to_real(self, s, dim, norm, "irfft2", loc);
}

namespace {
DType floating_option(const TensorOptions& o, const char* op, SourceLoc loc) {
  const DType t = o.dtype.value_or(get_default_dtype());
  if (!is_floating(t) || is_storage_only(t))
    fail(ErrorCode::DTypeMismatch, op, loc, "wants a floating dtype, got ", dtype_name(t));
  return t;
}
}  // namespace

Tensor fftfreq(Int n, double d, const TensorOptions& options, SourceLoc loc) {
  const DType t = floating_option(options, "fftfreq", loc);
  const Tensor k = arange(n, {kInt64, options.device}, loc);  // from (n + 1) / 2 on they are negative
  const Tensor signed_k = where(lt(k, Scalar((n + 1) / 2), loc), k, sub(k, Scalar(n), 1, loc), loc);
  return to(div(to(signed_k, kFloat64, loc), Scalar(Float(n) * d), {}, loc), t, loc);
}
Tensor rfftfreq(Int n, double d, const TensorOptions& options, SourceLoc loc) {
  const DType t = floating_option(options, "rfftfreq", loc);
  return to(div(to(arange(n / 2 + 1, {kInt64, options.device}, loc), kFloat64, loc), Scalar(Float(n) * d), {}, loc), t,
            loc);
}

namespace {
Tensor shifted(const Tensor& self, const OptionalDims& dim, bool back, const char* op, SourceLoc loc) {
  return named(op, [&] {
    const TensorMeta m = checked_meta(self, op, loc);
    std::vector<Int> dims, by;
    if (dim.given())
      for (const Int& d : dim.dims()) dims.push_back(graph::api::wrapped(m, d, op, loc));
    else
      for (int d = 0; d < m.dim(); ++d) dims.push_back(d);
    for (const Int& d : dims) {
      const Int n = m.size(static_cast<int>(d.hint()));
      by.push_back(back ? (n + 1) / 2 : n / 2);
    }
    return dims.empty() ? clone(self, loc) : roll(self, by, dims, loc);
  });
}
}  // namespace
Tensor fftshift(const Tensor& self, const OptionalDims& dim, SourceLoc loc) {
  return shifted(self, dim, false, "fftshift", loc);
}
Tensor ifftshift(const Tensor& self, const OptionalDims& dim, SourceLoc loc) {
  return shifted(self, dim, true, "ifftshift", loc);
}

// ---- short-time transforms

namespace {

struct Frames {
  Int n_fft, hop;
  Tensor window;  ///< [n_fft]
};
Frames frames_of(const TensorMeta& m, Int n_fft, std::optional<Int> hop_length, std::optional<Int> win_length,
                 const Tensor& window, const char* op, SourceLoc loc) {
  Frames f{n_fft, hop_length ? *hop_length : n_fft / 4, {}};
  if (!graph::require(detail::compare_le(1, n_fft, loc), "stft: n_fft"))
    fail(ErrorCode::InvalidArgument, op, loc, "n_fft must be at least 1, got ", n_fft);
  if (!graph::require(detail::compare_le(1, f.hop, loc), "stft: hop_length"))
    fail(ErrorCode::InvalidArgument, op, loc, "hop_length must be at least 1, got ", f.hop);
  const Int length = win_length ? *win_length : n_fft;
  if (!graph::require(detail::compare_lt(0, length, loc), "stft: a window") ||
      !graph::require(detail::compare_le(length, n_fft, loc), "stft: a window within n_fft"))
    fail(ErrorCode::InvalidArgument, op, loc, "win_length must lie in [1, n_fft = ", n_fft, "], got ", length);
  const DType t = floating(m.dtype);
  Tensor w = window.defined() ? window : ones({length}, {t, m.device}, loc);
  const TensorMeta wm = checked_meta(w, op, loc);
  if (wm.dim() != 1 || !graph::same(wm.size(0), length, loc, "stft: a window of win_length"))
    fail(ErrorCode::ShapeMismatch, op, loc, "window has sizes ", graph::sizes_text(wm.layout.sizes), ", expected [",
         length, "]");
  const Int left = (n_fft - length) / 2;
  f.window = identical(length, n_fft) ? w : pad(w, {left, n_fft - length - left}, 0, loc);
  return f;
}

/// Padded by `by` on both sides with the samples seen from there backwards, without those at the ends.
Tensor reflected(const Tensor& x, Int by, SourceLoc loc) {
  const Int n = x.size(-1);
  if (!graph::require(detail::compare_lt(by, n, loc), "stft: padding below the samples"))
    fail(ErrorCode::ShapeMismatch, "stft", loc, "reflecting ", by, " samples at each end wants more than ", n,
         " samples");
  const TensorMeta m = checked_meta(x, "stft", loc);
  const Tensor at = abs(arange(-by, n + by, 1, {kInt64, m.device}, loc), loc);
  return index_select(x, -1, sub(Scalar(n - 1), abs(sub(Scalar(n - 1), at, 1, loc), loc), 1, loc), loc);
}

}  // namespace

Tensor stft(const Tensor& self, Int n_fft, std::optional<Int> hop_length, std::optional<Int> win_length,
            const Tensor& window, bool center, std::string_view pad_mode, bool normalized, bool onesided,
            SourceLoc loc) {
  const TensorMeta m = transformed(self, false, "stft", loc);
  if (pad_mode != "reflect" && pad_mode != "constant")
    fail(ErrorCode::InvalidArgument, "stft", loc, "pad_mode is '", pad_mode, "', expected reflect or constant");
  return named("stft", [&] {
    const Frames f = frames_of(m, n_fft, hop_length, win_length, window, "stft", loc);
    Tensor x = is_floating(m.dtype) ? self : to(self, kFloat32, loc);
    if (center) x = pad_mode == "reflect" ? reflected(x, n_fft / 2, loc) : pad(x, {n_fft / 2, n_fft / 2}, 0, loc);
    if (!graph::require(detail::compare_le(n_fft, x.size(-1), loc), "stft: one frame at least"))
      fail(ErrorCode::ShapeMismatch, "stft", loc, "n_fft is ", n_fft, ", and there are ", x.size(-1), " samples");
    x = mul(unfold(x, -1, n_fft, f.hop, loc), f.window, loc);  // [..., frames, n_fft]
    const std::string_view norm = normalized ? "ortho" : "backward";
    Tensor r = onesided ? rfft(x, std::nullopt, -1, norm, loc)
                        : fft(complex(x, zeros_like(x, {}, loc), loc), std::nullopt, -1, norm, loc);
    return contiguous(transpose(r, -3, -2, loc), loc);
  });
}

Tensor istft(const Tensor& self, Int n_fft, std::optional<Int> hop_length, std::optional<Int> win_length,
             const Tensor& window, bool center, bool normalized, bool onesided, std::optional<Int> length,
             SourceLoc loc) {
  const TensorMeta m = transformed(self, true, "istft", loc);
  if (m.dim() < 3)
    fail(ErrorCode::ShapeMismatch, "istft", loc, "wants [..., frequencies, frames, 2], got sizes ",
         graph::sizes_text(m.layout.sizes));
  return named("istft", [&] {
    const Frames f = frames_of(m, n_fft, hop_length, win_length, window, "istft", loc);
    const Int bins = onesided ? n_fft / 2 + 1 : n_fft;
    if (!graph::same(m.size(m.dim() - 3), bins, loc, "istft: frequencies of n_fft"))
      fail(ErrorCode::ShapeMismatch, "istft", loc, "n_fft = ", n_fft, " has ", bins, " frequencies, got sizes ",
           graph::sizes_text(m.layout.sizes));
    const std::string_view norm = normalized ? "ortho" : "backward";
    // [..., n_fft, frames]
    const Tensor frames =
        onesided ? irfft(self, n_fft, -2, norm, loc) : real(ifft(self, std::nullopt, -2, norm, loc), loc);
    const Int all = (m.size(m.dim() - 2) - 1) * f.hop + n_fft, start = center ? n_fft / 2 : Int(0);
    const Int wanted = length ? *length : center ? all - 2 * (n_fft / 2) : all;
    return graph::call1(overlap_add_op(), {arg(frames), arg(f.window), arg(f.hop), arg(start), arg(wanted)}, loc);
  });
}

// ---- windows

namespace {

/// of(k * 2 pi / period, period) for k < n, where the period is n, or of a symmetric window n - 1.
template <class F>
Tensor window_of(Int n, bool periodic, const TensorOptions& options, const char* op, SourceLoc loc, F&& of) {
  if (!graph::require(detail::compare_le(0, n, loc), "window: a length"))
    fail(ErrorCode::InvalidArgument, op, loc, "window_length must not be negative, got ", n);
  const DType t = floating_option(options, op, loc);
  const Tensor k = to(arange(n, {kInt64, options.device}, loc), kFloat64, loc);
  if (detail::compare_le(n, 1, loc)) return ones({n}, {t, options.device}, loc);
  return to(of(k, Float(periodic ? n : n - 1)), t, loc);
}
Tensor cosine(const Tensor& k, const Float& period, double times, SourceLoc loc) {
  return cos(mul(k, Scalar(2 * std::numbers::pi * times / period), loc), loc);
}

}  // namespace

Tensor hamming_window(Int n, bool periodic, double alpha, double beta, const TensorOptions& options, SourceLoc loc) {
  return window_of(n, periodic, options, "hamming_window", loc, [&](const Tensor& k, const Float& period) {
    return sub(alpha, mul(cosine(k, period, 1, loc), beta, loc), 1, loc);
  });
}
Tensor hann_window(Int n, bool periodic, const TensorOptions& options, SourceLoc loc) {
  return window_of(n, periodic, options, "hann_window", loc, [&](const Tensor& k, const Float& period) {
    return sub(0.5, mul(cosine(k, period, 1, loc), 0.5, loc), 1, loc);
  });
}
Tensor blackman_window(Int n, bool periodic, const TensorOptions& options, SourceLoc loc) {
  return window_of(n, periodic, options, "blackman_window", loc, [&](const Tensor& k, const Float& period) {
    return add(sub(0.42, mul(cosine(k, period, 1, loc), 0.5, loc), 1, loc), mul(cosine(k, period, 2, loc), 0.08, loc),
               1, loc);
  });
}
Tensor bartlett_window(Int n, bool periodic, const TensorOptions& options, SourceLoc loc) {
  return window_of(n, periodic, options, "bartlett_window", loc, [&](const Tensor& k, const Float& period) {
    return sub(1.0, abs(sub(mul(k, Scalar(2.0 / period), loc), 1.0, 1, loc), loc), 1, loc);
  });
}
Tensor kaiser_window(Int n, bool periodic, double beta, const TensorOptions& options, SourceLoc loc) {
  return window_of(n, periodic, options, "kaiser_window", loc, [&](const Tensor& k, const Float& period) {
    const Tensor from_middle = sub(mul(k, Scalar(2.0 / period), loc), 1.0, 1, loc);
    return div(i0(mul(sqrt(clamp_min(sub(1.0, square(from_middle, loc), 1, loc), 0.0, loc), loc), beta, loc), loc),
               std::cyl_bessel_i(0.0, beta), {}, loc);
  });
}

namespace operators {
void register_fft() { c2c_op(), r2c_op(), c2r_op(), overlap_add_op(); }
}  // namespace operators

}  // namespace reprise
