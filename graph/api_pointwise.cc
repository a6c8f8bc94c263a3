// Pointwise functions that are several operators; their definitions are ATen's.
#include <cmath>
#include <limits>
#include <utility>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"
#include "tensor/impl.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::RoundedOnce;

namespace {

/// The tensor of two operands that have one at least; for the dtype and the device of what is made.
TensorMeta meta_of_either(const Operand& a, const Operand& b, const char* op, SourceLoc loc) {
  const Tensor* t = a.tensor() ? a.tensor() : b.tensor();
  if (!t) fail(ErrorCode::InvalidArgument, op, loc, "needs a tensor among its operands");
  return checked_meta(*t, op, loc);
}
void need_floating(DType t, const char* op, SourceLoc loc) {
  if (!is_floating(t))
    fail(ErrorCode::DTypeMismatch, op, loc, "not defined for ", dtype_name(t), " (wanted a floating dtype)");
}

Tensor log_of_sum(const Operand& given_self, const Operand& given_other, bool base_two, const char* op, SourceLoc loc) {
  meta_of_either(given_self, given_other, op, loc);
  RoundedOnce once({&given_self, &given_other}, op, loc);
  need_floating(once.promoted(), op, loc);
  const Operand self = once(given_self), other = once(given_other);
  Tensor greater = maximum(self, other, loc), apart = neg(abs(sub(self, other, 1, loc), loc), loc);
  Tensor rest = base_two ? mul(log1p(exp2(apart, loc), loc), 1.4426950408889634074, loc) : log1p(exp(apart, loc), loc);
  // Equal infinities are apart by NaN.
  return once.result(
      where(logical_and(isinf(greater, loc), eq(self, other, loc), loc), greater, add(greater, rest, 1, loc), loc));
}

/// The extreme of the two, or the one that is a number.
Tensor of_numbers(const Operand& self, const Operand& other, bool greater, const char* op, SourceLoc loc) {
  meta_of_either(self, other, op, loc);
  for (const auto& [x, y] : {std::pair(&self, &other), std::pair(&other, &self)})
    if (!x->tensor() && x->number().is_float() && std::isnan(x->number().to_double(loc))) return mul(*y, 1.0, loc);
  Tensor r = greater ? maximum(self, other, loc) : minimum(self, other, loc);
  if (!is_floating(r.dtype())) return r;
  if (self.tensor()) r = where(isnan(*self.tensor(), loc), other, r, loc);
  if (other.tensor()) r = where(isnan(*other.tensor(), loc), self, r, loc);
  return r;
}

double largest(DType t) {
  switch (t) {
    case DType::Float16: return 65504;
    case DType::BFloat16: return 0x1.fep127;
    case DType::Float64: return std::numeric_limits<double>::max();
    default: return std::numeric_limits<float>::max();
  }
}

}  // namespace

namespace graph::api {

namespace {
bool is_half(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
}  // namespace

RoundedOnce::RoundedOnce(std::initializer_list<const Operand*> operands, const char* op, SourceLoc loc) : loc_(loc) {
  std::vector<TensorMeta> metas(operands.size());
  std::vector<RuleArg> args;
  for (const Operand* o : operands) {
    if (!o->tensor()) {
      args.push_back(o->number());
      continue;
    }
    TensorMeta& m = metas[args.size()] = checked_meta(*o->tensor(), op, loc);
    args.push_back(&m);
  }
  promoted_ = result_dtype(args);
  computed_ = is_half(promoted_) ? DType::Float32 : promoted_;
  widened_.reserve(operands.size());
}
Operand RoundedOnce::operator()(const Operand& o) {
  if (!is_floating(computed_) || !o.tensor() || o.tensor()->dtype() == computed_) return o;
  REPRISE_CHECK(widened_.size() < widened_.capacity());
  return Operand(widened_.emplace_back(to(*o.tensor(), computed_, loc_)));
}
Tensor RoundedOnce::result(const Tensor& t) const { return computed_ == promoted_ ? t : to(t, promoted_, loc_); }

}  // namespace graph::api

Tensor logaddexp(const Operand& self, const Operand& other, SourceLoc loc) {
  return log_of_sum(self, other, false, "logaddexp", loc);
}
Tensor logaddexp2(const Operand& self, const Operand& other, SourceLoc loc) {
  return log_of_sum(self, other, true, "logaddexp2", loc);
}

Tensor xlogy(const Operand& given_self, const Operand& given_other, SourceLoc loc) {
  meta_of_either(given_self, given_other, "xlogy", loc);
  RoundedOnce once({&given_self, &given_other}, "xlogy", loc);
  const Operand self = once(given_self), other = once(given_other);
  const Tensor *x = self.tensor(), *y = other.tensor();
  if (!y) {
    const double by = std::log(other.number().to_double());
    if (std::isfinite(by) || std::isnan(other.number().to_double())) return once.result(mul(*x, by, loc));
    const Tensor zero = eq(*x, 0, loc);
    return once.result(where(zero, 0.0, mul(where(zero, 1, *x, loc), by, loc), loc));
  }
  if (!x && self.number().to_double() != 0) return once.result(mul(self, log(*y, loc), loc));
  // Where self is 0, a logarithm that is no number is not looked at, nor its slope; a finite one is self's slope there.
  const Tensor finite = logical_and(gt(*y, 0, loc), lt(*y, std::numeric_limits<double>::infinity(), loc), loc);
  const Tensor bare = logical_not(logical_or(finite, isnan(*y, loc), loc), loc);
  return once.result(mul(self, log(where(x ? logical_and(eq(*x, 0, loc), bare, loc) : bare, 1, *y, loc), loc), loc));
}

Tensor fmax(const Operand& self, const Operand& other, SourceLoc loc) {
  return of_numbers(self, other, true, "fmax", loc);
}
Tensor fmin(const Operand& self, const Operand& other, SourceLoc loc) {
  return of_numbers(self, other, false, "fmin", loc);
}

Tensor heaviside(const Tensor& self, const Operand& values, SourceLoc loc) {
  const DType t = checked_meta(self, "heaviside", loc).dtype;
  return where(eq(self, 0, loc), values, gt(self, 0, loc).to(t, loc), loc);
}

Tensor nan_to_num(const Tensor& self, std::optional<double> nan, std::optional<double> posinf,
                  std::optional<double> neginf, SourceLoc loc) {
  const DType t = checked_meta(self, "nan_to_num", loc).dtype;
  if (!is_floating(t)) return clone(self, loc);
  const double infinity = std::numeric_limits<double>::infinity();
  Tensor x = where(isnan(self, loc), nan.value_or(0), self, loc);
  x = where(eq(self, infinity, loc), posinf.value_or(largest(t)), x, loc);
  return where(eq(self, -infinity, loc), neginf.value_or(-largest(t)), x, loc);
}

Tensor isposinf(const Tensor& self, SourceLoc loc) { return eq(self, std::numeric_limits<double>::infinity(), loc); }
Tensor isneginf(const Tensor& self, SourceLoc loc) { return eq(self, -std::numeric_limits<double>::infinity(), loc); }

Tensor signbit(const Tensor& self, SourceLoc loc) {
  // A negative zero has one, too.
  return is_floating(checked_meta(self, "signbit", loc).dtype)
             ? lt(copysign(ones_like(self, {}, loc), self, loc), 0, loc)
             : lt(self, 0, loc);
}

Tensor isclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan, SourceLoc loc) {
  if (!(rtol >= 0 && atol >= 0))
    fail(ErrorCode::InvalidArgument, "isclose", loc, "rtol is ", rtol, " and atol ", atol, ", expected at least 0");
  // Integers as int64, in which their distances do not wrap.
  auto exact = [&](const Tensor& t) {
    return is_floating(checked_meta(t, "isclose", loc).dtype) ? t : to(t, kInt64, loc);
  };
  const Tensor a = exact(self), b = exact(other);
  const Operand given_self = a, given_other = b;
  RoundedOnce once({&given_self, &given_other}, "isclose", loc);
  const Operand x = once(given_self), y = once(given_other);
  Tensor same = eq(self, other, loc), far = abs(sub(x, y, 1, loc), loc);
  Tensor close =
      logical_and(isfinite(far, loc), le(far, add(mul(abs(*y.tensor(), loc), rtol, loc), atol, 1, loc), loc), loc);
  close = logical_or(same, close, loc);
  return equal_nan ? logical_or(close, logical_and(isnan(self, loc), isnan(other, loc), loc), loc) : close;
}

Tensor hardshrink(const Tensor& self, Scalar lambd, SourceLoc loc) {
  need_floating(checked_meta(self, "hardshrink", loc).dtype, "hardshrink", loc);
  return where(le(abs(self, loc), lambd, loc), 0.0, self, loc);
}
Tensor softshrink(const Tensor& self, Scalar lambd, SourceLoc loc) {
  need_floating(checked_meta(self, "softshrink", loc).dtype, "softshrink", loc);
  if (!(lambd.to_double() >= 0))
    fail(ErrorCode::InvalidArgument, "softshrink", loc, "lambd is ", lambd.str(), ", expected at least 0");
  return where(gt(self, lambd, loc), sub(self, lambd, 1, loc),
               where(lt(self, -lambd.to_double(), loc), add(self, lambd, 1, loc), mul(self, 0.0, loc), loc), loc);
}
Tensor tanhshrink(const Tensor& self, SourceLoc loc) {
  const Operand given = self;
  RoundedOnce once({&given}, "tanhshrink", loc);
  const Operand x = once(given);
  return once.result(sub(x, tanh(*x.tensor(), loc), 1, loc));
}

Tensor prelu(const Tensor& self, const Tensor& weight, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "prelu", loc), w = checked_meta(weight, "prelu", loc);
  Tensor slope = weight;
  if (w.dim() == 1) {
    const Int channels = m.dim() > 1 ? m.size(1) : Int(1);
    if (!graph::same(w.size(0), 1, loc, "prelu: one slope") &&
        !graph::same(w.size(0), channels, loc, "prelu: a slope for each channel"))
      fail(ErrorCode::ShapeMismatch, "prelu", loc, "weight has ", w.size(0), " numbers, wanted one or ", channels,
           ", the channels of sizes ", graph::sizes_text(m.layout.sizes));
  }
  if (w.dim() == 1 && m.dim() > 1) {
    Ints sizes(m.layout.sizes.size(), Int(1));
    sizes[1] = w.size(0);
    slope = view(weight, sizes, loc);
  } else if (w.dim() == 1 && m.dim() == 0) {
    slope = view(weight, {}, loc);
  } else if (w.dim() > 1) {
    fail(ErrorCode::ShapeMismatch, "prelu", loc, "weight must have one dimension at most, got ", w.dim());
  }
  return where(gt(self, 0, loc), self, graph::api::named("prelu", [&] { return mul(slope, self, loc); }), loc);
}

Tensor deg2rad(const Tensor& self, SourceLoc loc) { return mul(self, 0.017453292519943295769, loc); }
Tensor rad2deg(const Tensor& self, SourceLoc loc) { return mul(self, 57.295779513082320877, loc); }

bool equal(const Tensor& self, const Tensor& other, SourceLoc loc) {
  TensorMeta a = checked_meta(self, "equal", loc), b = checked_meta(other, "equal", loc);
  bool same = a.dim() == b.dim();
  for (int d = 0; same && d < a.dim(); ++d) same = static_cast<bool>(detail::compare_eq(a.size(d), b.size(d), loc));
  return same && static_cast<bool>(all(eq(self, other, loc), {}, false, loc).item(loc).to_int().value(loc));
}
bool allclose(const Tensor& self, const Tensor& other, double rtol, double atol, bool equal_nan, SourceLoc loc) {
  return static_cast<bool>(
      all(isclose(self, other, rtol, atol, equal_nan, loc), {}, false, loc).item(loc).to_int().value(loc));
}

// ---- the methods

Tensor Tensor::logaddexp(const Operand& other, SourceLoc loc) const { return reprise::logaddexp(*this, other, loc); }
Tensor Tensor::fmax(const Operand& other, SourceLoc loc) const { return reprise::fmax(*this, other, loc); }
Tensor Tensor::fmin(const Operand& other, SourceLoc loc) const { return reprise::fmin(*this, other, loc); }
Tensor Tensor::nan_to_num(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf,
                          SourceLoc loc) const {
  return reprise::nan_to_num(*this, nan, posinf, neginf, loc);
}
Tensor Tensor::clip(const OptionalOperand& min, const OptionalOperand& max, SourceLoc loc) const {
  return reprise::clamp(*this, min, max, loc);
}
Tensor Tensor::isclose(const Tensor& other, double rtol, double atol, bool equal_nan, SourceLoc loc) const {
  return reprise::isclose(*this, other, rtol, atol, equal_nan, loc);
}
bool Tensor::allclose(const Tensor& other, double rtol, double atol, bool equal_nan, SourceLoc loc) const {
  return reprise::allclose(*this, other, rtol, atol, equal_nan, loc);
}
bool Tensor::equal(const Tensor& other, SourceLoc loc) const { return reprise::equal(*this, other, loc); }

}  // namespace reprise
