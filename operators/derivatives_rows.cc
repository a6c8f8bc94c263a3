// Derivatives of scans, of special functions, of Fourier transforms, and of what selects rows.
#include <cmath>
#include <limits>
#include <numbers>

#include "autograd/rule_parts.h"
#include "base/errors.h"
#include "graph/api_args.h"
#include "operators/derivatives.h"
#include "reprise/autograd.h"
#include "reprise/scans.h"
#include "reprise/searching.h"
#include "reprise/selection.h"
#include "reprise/special.h"

namespace reprise::operators::derivatives {

using namespace autograd::rules;
using autograd::Backward;
using graph::api::arg;

namespace {

Tensor sum_along(const Tensor& t, Int dim, SourceLoc loc) { return sum(t, dim, false, std::nullopt, loc); }
/// From each element to the last.
Tensor running_from(const Tensor& t, Int dim, SourceLoc loc) {
  return flip(cumsum(flip(t, dim, loc), dim, std::nullopt, loc), dim, loc);
}

/// Element k: the sum over i >= k of g_i and the product of all x up to i but x_k, of x along the last dimension. A
/// square for each row, of differentiable parts.
Tensor cumprod_with_derivatives(const Tensor& x, const Tensor& g, SourceLoc loc) {
  const Tensor at = arange(Scalar(x.size(-1)), {kInt64, x.device()}, loc), own = unsqueeze(at, -1, loc);
  const Tensor products = cumprod(where(at == own, 1, unsqueeze(x, -2, loc), loc), -1, std::nullopt, loc);
  return sum_along(only(at >= own, products * unsqueeze(g, -2, loc), loc), -1, loc);
}

}  // namespace

// Products that a 0 has ended say nothing of what made them: up to the first 0 each is divided by the element; of the 0
// itself they are made again with a 1 in its place.
void cumprod(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor& g = b.grad();
  const Int dim = b.integer(1);
  if (b.dim(0) == 0) return b.give(0, g);
  const Tensor x = to(b.tensor(0), b.result_dtype(), loc);
  if (is_grad_enabled())
    return b.give(0, transpose(cumprod_with_derivatives(transpose(x, dim, -1, loc), transpose(g, dim, -1, loc), loc),
                               dim, -1, loc));
  const Tensor is_0 = x == 0, zeros = cumsum(is_0, dim, std::nullopt, loc);
  const Tensor divided = running_from(g * b.result(), dim, loc) / where(is_0, 1, x, loc);
  const Tensor of_first =
      running_from(g * reprise::cumprod(where(is_0 & (zeros == 1), 1, x, loc), dim, std::nullopt, loc), dim, loc);
  b.give(0, where(zeros == 0, divided, only(is_0 & (zeros == 1), of_first, loc), loc));
}

void chosen_along(Backward& b) {
  if (!b.has_grad(0)) return;
  if (b.dim(0) == 0) return b.give(0, b.grad());
  b.give(0, scatter_add(zeros_for(b, 0, b.grad()), b.integer(1), b.result(1), b.grad(), b.loc()));
}
void mode(Backward& b) {
  if (!b.has_grad(0)) return;
  if (b.dim(0) == 0) return b.give(0, b.grad());
  const Int dim = b.integer(1);
  Tensor g = b.grad(), at = b.result(1);
  if (!b.flag(2)) g = unsqueeze(g, dim, b.loc()), at = unsqueeze(at, dim, b.loc());
  b.give(0, scatter_add(zeros_for(b, 0, g), dim, at, g, b.loc()));
}

// exp(x_k) times the sum of g_i exp(-result_i) over i >= k, in logarithms, of gradients above 0 and below it apart.
void logcumsumexp(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor& g = b.grad();
  const Int dim = b.integer(1);
  if (b.dim(0) == 0) return b.give(0, g);
  const Tensor x = b.tensor(0), r = b.result();
  const double never = -std::numeric_limits<double>::infinity();
  auto part = [&](const Tensor& size, const Tensor& is_there) {
    const Tensor logs = where(is_there, log(where(is_there, size, 1, loc), loc) - r, never, loc);
    return exp(flip(reprise::logcumsumexp(flip(logs, dim, loc), dim, loc), dim, loc) + x, loc);
  };
  b.give(0, part(g, g > 0) - part(-g, g < 0));
}

// ---- special functions

void digamma(Backward& b) { b.give(0, b.grad() * reprise::polygamma(1, b.tensor(0), b.loc())); }
void polygamma(Backward& b) {
  b.give(1, b.grad() * reprise::polygamma(b.integer(0).value(b.loc()) + 1, b.tensor(1), b.loc()));
}
void erfinv(Backward& b) {
  b.give(0, b.grad() * (exp(square(b.result(), b.loc()), b.loc()) * (0.5 / std::numbers::inv_sqrtpi)));
}
void i0e(Backward& b) {
  const Tensor x = b.tensor(0);
  b.give(0, b.grad() * (reprise::i1e(x, b.loc()) - sign(x, b.loc()) * b.result()));
}
// i1(x) / x and i1e(x) / x are 1/2 at 0.
void i1(Backward& b) {
  const Tensor x = b.tensor(0), at_0 = x == 0,
               ratio = where(at_0, 0.5, b.result() / where(at_0, 1, x, b.loc()), b.loc());
  b.give(0, b.grad() * (reprise::i0(x, b.loc()) - ratio));
}
void i1e(Backward& b) {
  const Tensor x = b.tensor(0), r = b.result(), at_0 = x == 0,
               ratio = where(at_0, 0.5, r / where(at_0, 1, x, b.loc()), b.loc());
  b.give(0, b.grad() * (reprise::i0e(x, b.loc()) - sign(x, b.loc()) * r - ratio));
}
void zeta(Backward& b) {
  if (b.wants(0))
    fail(ErrorCode::InvalidArgument, "special_zeta", b.loc(), "has no derivative by its first argument: detach() it");
  const Tensor x = b.tensor(0);
  b.give(1, -b.grad() * (x * reprise::zeta(x + 1, b.tensor(1), b.loc())));
}

// ---- Fourier transforms: of pairs, the adjoint turns the other way round with the same factor

namespace {
graph::OpId row(const char* name) { return graph::find_op(name)->id; }
}  // namespace

void fft_c2c(Backward& b) {
  const Tensor& g = b.grad();
  b.give(0, graph::call1(row("fft_c2c"), {arg(g), arg(b.integer(1)), arg(b.integer(2)), arg(!b.flag(3))}, b.loc()));
}
// The half that was not told of has no gradient.
void fft_r2c(Backward& b) {
  const int dim = wrapped(b.integer(1), b.dim(0));
  const Int n = b.sizes(0)[static_cast<std::size_t>(dim)];
  std::vector<Int> behind(static_cast<std::size_t>(2 * (b.dim(0) - dim)), 0);
  behind.push_back(0), behind.push_back(n - (n / 2 + 1));
  const Tensor all = pad(b.grad(), behind, 0, b.loc());
  b.give(0, select(graph::call1(row("fft_c2c"), {arg(all), arg(Int(dim)), arg(b.integer(2)), arg(false)}, b.loc()), -1,
                   0, b.loc()));
}
// Each pair stands for itself and for its mirror image, but the first, and the last of an even length.
void fft_c2r(Backward& b) {
  const int dim = wrapped(b.integer(1), b.dim(0) - 1);
  const Int n = b.integer(3);
  const Tensor& g = b.grad();
  const Tensor pairs = graph::call1(row("fft_r2c"), {arg(g), arg(Int(dim)), arg(b.integer(2))}, b.loc());
  const Tensor at = arange(Scalar(n / 2 + 1), {kInt64, g.device()}, b.loc());
  Ints beside(static_cast<std::size_t>(b.dim(0) - dim), 1);
  beside[0] = n / 2 + 1;
  b.give(0,
         pairs * reshape(where((at == 0) | (at * 2 == n), 1.0, 2.0, b.loc()).to(g.dtype(), b.loc()), beside, b.loc()));
}

// Sample s: the sum of frames[i, f] window[i] where i + f hop - start is s, over that of the squared windows.
void overlap_add(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor w = wide(b.tensor(1), loc), g = wide(b.grad(), loc);
  const Int hop = b.integer(2), start = b.integer(3), length = b.integer(4), n = b.sizes(1)[0],
            count = b.sizes(0).back();
  const TensorOptions places{kInt64, g.device()};
  const Tensor at =
      unsqueeze(arange(Scalar(n), places, loc), -1, loc) + arange(Scalar(count), places, loc) * hop - start;
  const Tensor inside = (at >= 0) & (at < length), flat = reshape(clamp(at, 0, length - 1, loc), {n * count}, loc);
  const Tensor column = unsqueeze(w, -1, loc),
               squares = reshape(expand(only(inside, column * column, loc), {n, count}, loc), {n * count}, loc);
  const Tensor weight = index_add(zeros({length}, w.options(), loc), 0, flat, squares, loc),
               shared = g / where(weight == 0, 1, weight, loc);
  auto seen = [&](const Tensor& samples) {
    return only(inside, unflatten(index_select(samples, -1, flat, loc), -1, {n, count}, loc), loc);
  };
  const Tensor of_frames = seen(shared);
  if (b.wants(0)) b.give(0, of_frames * column);
  if (!b.wants(1)) return;
  std::vector<Int> others;
  for (int d = 0; d < b.dim(0); ++d)
    if (d != b.dim(0) - 2) others.push_back(d);
  b.give(1, sum(of_frames * (wide(b.tensor(0), loc) - seen(wide(b.result(), loc)) * column * 2), others, false,
                std::nullopt, loc));
}

// ---- what selects rows

void embedding_bag(Backward& b) {
  enum { kWeight, kIndices, kOffsets, kEach, kMode, kLastOffset, kPadding };
  const SourceLoc loc = b.loc();
  const Tensor indices = b.tensor(kIndices), offsets = b.tensor(kOffsets), g = wide(b.grad(), loc);
  const Int m = b.sizes(kIndices)[0], bags = b.result_sizes()[0];
  const std::string_view mode = b.text(kMode);
  // Which bag each index lies in; those behind the last offset lie in none, and padding counts as nothing.
  const Tensor counted =
      searchsorted(offsets, arange(Scalar(m), {offsets.dtype(), offsets.device()}, loc), false, true, {}, {}, loc) - 1;
  Tensor is_in = counted < bags;
  if (b.has(kPadding)) is_in = is_in & ne(indices, b.integer(kPadding), loc);
  const Tensor bag = clamp(counted, 0, Int::max(bags - 1, 0), loc), beside = unsqueeze(is_in, -1, loc);
  auto of_bags = [&](const Tensor& t) { return index_select(t, 0, bag, loc); };
  Tensor rows;          // of weight: for each index
  if (mode == "max") {  // shared by all that are it
    const Tensor is = beside & (index_select(b.tensor(kWeight), 0, indices, loc) == of_bags(b.result()));
    const Tensor each = to(is, g.dtype(), loc),
                 sharing = index_add(zeros(b.result_sizes(), g.options(), loc), 0, bag, each, loc);
    rows = each * of_bags(g / where(sharing == 0, 1, sharing, loc));
  } else {
    rows = only(beside, of_bags(g), loc);
    if (mode == "mean") {
      const Tensor count = index_add(zeros({bags}, g.options(), loc), 0, bag, to(is_in, g.dtype(), loc), loc);
      rows = rows / unsqueeze(of_bags(where(count == 0, 1, count, loc)), -1, loc);
    }
    if (b.wants(kEach)) b.give(kEach, sum_along(rows * index_select(b.tensor(kWeight), 0, indices, loc), -1, loc));
    if (b.has(kEach)) rows = rows * unsqueeze(b.tensor(kEach), -1, loc);
  }
  if (b.wants(kWeight)) b.give(kWeight, index_add(zeros_for(b, kWeight, rows), 0, indices, rows, loc));
}

void grouped_mm(Backward& b) {
  const Tensor& g = b.grad();
  const Tensor offs = b.tensor(2);
  if (b.wants(0)) b.give(0, reprise::grouped_mm(g, mT(b.tensor(1), b.loc()), offs, b.loc()));
  if (b.wants(1)) b.give(1, reprise::grouped_mm(mT(b.tensor(0), b.loc()), g, offs, b.loc()));
}

}  // namespace reprise::operators::derivatives
