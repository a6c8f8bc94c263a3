// Derivatives of reductions and of running sums.
#include <algorithm>
#include <cmath>
#include <limits>

#include "autograd/rule_parts.h"
#include "autograd/rules.h"
#include "reprise/autograd.h"
#include "reprise/scans.h"

namespace reprise::autograd::rules {

std::vector<int> reduced_dims(const Backward& b, int dims) {
  const int rank = b.dim(0);
  std::vector<bool> is_reduced(static_cast<std::size_t>(rank), !b.has(dims) || b.ints(dims).empty());
  if (b.has(dims) && rank > 0)
    for (Int d : b.ints(dims)) is_reduced[static_cast<std::size_t>(wrapped(d, rank))] = true;
  std::vector<int> all;
  for (int d = 0; d < rank; ++d)
    if (is_reduced[static_cast<std::size_t>(d)]) all.push_back(d);
  return all;
}

Tensor kept(const Backward& b, const Tensor& t, const std::vector<int>& reduced, bool keepdim) {
  if (keepdim) return t;
  Tensor r = t;
  for (int d : reduced) r = unsqueeze(r, d, b.loc());
  return r;
}

Int numel_of(const Ints& sizes) {
  Int n = 1;
  for (Int s : sizes) n *= s;
  return n;
}
Int numel_of(const Ints& sizes, const std::vector<int>& dims) {
  Int n = 1;
  for (int d : dims) n *= sizes[static_cast<std::size_t>(d)];
  return n;
}

void sum(Backward& b) { b.give(0, expand(kept(b, b.grad(), reduced_dims(b, 1), b.flag(2)), b.sizes(0), b.loc())); }
void mean(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 1);
  b.give(0, expand(kept(b, b.grad(), dims, b.flag(2)) / numel_of(b.sizes(0), dims), b.sizes(0), b.loc()));
}
void nansum(Backward& b) {
  b.give(0, unless(isnan(b.tensor(0), b.loc()), kept(b, b.grad(), reduced_dims(b, 1), b.flag(2)), b.loc()));
}

namespace {

/// The product of all others along the last dimension, of differentiable parts: right where elements are 0, and so are
/// its derivatives.
Tensor product_of_others(const Tensor& x, SourceLoc loc) {
  const Tensor one = ones_like(slice(x, -1, 0, 1, 1, loc), {}, loc);
  auto before = [&](const Tensor& t) {
    return slice(cumprod(cat({one, t}, -1, loc), -1, std::nullopt, loc), -1, 0, -1, 1, loc);
  };
  return before(x) * flip(before(flip(x, -1, loc)), -1, loc);
}

/// The same in one pass, without a derivative of its own: what is 0 is left out of the product; where it is the only 0
/// that product is all, beside a 0 nothing is left.
Tensor product_of_others_now(const Tensor& x, SourceLoc loc) {
  const Tensor is_0 = x == 0, safe = where(is_0, 1, x, loc), p = prod(safe, -1, true, std::nullopt, loc);
  const Tensor zeros = sum(is_0, -1, true, std::nullopt, loc);
  return where(zeros == to(is_0, kInt64, loc), p / safe, 0, loc);
}

}  // namespace

void prod(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 1);
  const Tensor x = to(b.tensor(0), b.result_dtype(), b.loc()), g = kept(b, b.grad(), dims, b.flag(2));
  if (dims.empty()) return b.give(0, b.grad());
  // The reduced dimensions as one, the last.
  std::vector<Int> order;
  Ints front, moved;
  for (int d = 0; d < b.dim(0); ++d)
    if (std::find(dims.begin(), dims.end(), d) == dims.end())
      order.push_back(d), front.push_back(b.sizes(0)[static_cast<std::size_t>(d)]);
  moved = front;
  for (int d : dims) order.push_back(d), moved.push_back(b.sizes(0)[static_cast<std::size_t>(d)]);
  front.push_back(numel_of(b.sizes(0), dims));
  std::vector<Int> back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i].hint())] = Int(i);
  const Tensor flat =
      dims.size() == 1 ? permute(x, order, b.loc()) : reshape(permute(x, order, b.loc()), front, b.loc());
  Tensor others = is_grad_enabled() ? product_of_others(flat, b.loc()) : product_of_others_now(flat, b.loc());
  if (dims.size() > 1) others = reshape(others, moved, b.loc());
  b.give(0, g * permute(others, back, b.loc()));
}

namespace {

/// To each element that is the result, its part of what they share.
Tensor shared_out(const Tensor& is_result, const Tensor& g, const std::vector<int>& dims, SourceLoc loc) {
  if (dims.empty()) return g;
  const Tensor mask = to(is_result, g.dtype(), loc);
  return mask * (g / sum(mask, dims_of(dims), true, std::nullopt, loc));
}

}  // namespace

void extreme_of(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 1);
  const Tensor r = kept(b, b.result(), dims, b.flag(2)), g = kept(b, b.grad(), dims, b.flag(2));
  b.give(0, shared_out(eq(b.tensor(0), r, b.loc()), g, dims, b.loc()));
}

namespace {

/// Of the variance over dims, whose gradient (kept) is g.
Tensor of_variance(Backward& b, const Tensor& g, const std::vector<int>& dims) {
  const Tensor x = wide(b.tensor(0), b.loc());
  const Scalar n(numel_of(b.sizes(0), dims));
  return g * (x - mean(x, dims_of(dims), true, std::nullopt, b.loc())) * (Scalar(2.0) / (n - b.number(2)));
}

}  // namespace

void var(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 1);
  b.give(0, of_variance(b, kept(b, b.grad(), dims, b.flag(3)), dims));
}
void std(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 1);
  const Tensor r = b.result(), at_0 = r == 0;
  const Tensor g = unless(at_0, b.grad(), b.loc()) / where(at_0, 1, r * 2, b.loc());
  b.give(0, of_variance(b, kept(b, g, dims, b.flag(3)), dims));
}

void logsumexp(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 1);
  const Tensor r = kept(b, b.result(), dims, b.flag(2)), g = kept(b, b.grad(), dims, b.flag(2));
  // Where all is -inf the result is, too: exp(-inf - 0).
  const Tensor top = where(r == -std::numeric_limits<double>::infinity(), 0, r, b.loc());
  b.give(0, g * exp(b.tensor(0) - top, b.loc()));
}

// d|x| is 0 at 0, and so is that of a norm there.
void norm(Backward& b) {
  const std::vector<int> dims = reduced_dims(b, 2);
  const double p = b.number(1).to_double(b.loc());
  const bool keepdim = b.flag(3);
  const Tensor x = b.tensor(0), g = kept(b, b.grad(), dims, keepdim);
  if (p == 0) return;
  if (p == 1) return b.give(0, g * sign(x, b.loc()));
  const Tensor r = kept(b, b.result(), dims, keepdim), at_0 = r == 0;
  if (std::isinf(p)) return b.give(0, sign(x, b.loc()) * shared_out(eq(abs(x, b.loc()), r, b.loc()), g, dims, b.loc()));
  const Tensor safe = where(at_0, 1, r, b.loc()), some = unless(at_0, g, b.loc());
  if (p == 2) return b.give(0, x * (some / safe));
  const Tensor is_0 = x == 0, away = where(is_0, 1, x, b.loc());
  const Tensor powers = sign(x, b.loc()) * pow(abs(away, b.loc()) / safe, p - 1, b.loc());
  b.give(0, unless(is_0, powers * some, b.loc()));
}

void cumsum(Backward& b) {
  const Int dim = b.integer(1);
  if (b.dim(0) == 0) return b.give(0, b.grad());
  b.give(0, flip(cumsum(flip(b.grad(), dim, b.loc()), dim, std::nullopt, b.loc()), dim, b.loc()));
}

}  // namespace reprise::autograd::rules
