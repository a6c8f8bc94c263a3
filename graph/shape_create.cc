#include <cmath>

#include "base/errors.h"
#include "graph/shape_rules.h"

namespace reprise::graph {
namespace {

const char* name(const RuleCtx& c) { return c.op.schema.name.c_str(); }

void create(RuleCtx& c, DType dtype, const Ints& sizes) {
  for (Int s : sizes) {
    if (!require(detail::compare_le(0, s, c.loc), "size not negative")) {
      fail(ErrorCode::InvalidArgument, name(c), c.loc, "negative size in ", sizes_text(sizes));
    }
  }
  c.result(dtype, sizes);
  int device = c.op.schema.find("device");
  if (device >= 0 && c.has(device)) c.results.back().device = device_from_name(c.str(device), c.loc);
}

/// ceil((end - start) / step). Integers stay symbolic; with a float among them the length is a number now.
Int arange_length(const RuleCtx& c) {
  Scalar start = c.scalar(0), end = c.scalar(1), step = c.scalar(2);
  auto refuse = [&](const char* why) {
    fail(ErrorCode::InvalidArgument, "arange", c.loc, why, ": start ", start.str(), ", end ", end.str(), ", step ",
         step.str());
  };
  if (start.is_float() || end.is_float() || step.is_float()) {
    auto number = [&](const Scalar& s) {
      return s.is_float() ? s.to_double(c.loc) : static_cast<double>(s.to_int().value(c.loc));
    };
    double a = number(start), b = number(end), by = number(step);
    double length = std::ceil((b - a) / by);
    if (!(by != 0) || !std::isfinite(length) || length >= 9e18) refuse("step must not be 0 and bounds must be finite");
    if (length < 0) refuse("step leads away from end");
    return static_cast<std::int64_t>(length);
  }
  Int a = start.to_int(), b = end.to_int(), by = step.to_int();
  if (is_plain(by, 0)) refuse("step must not be 0");
  bool up = ask(detail::compare_lt(0, by, c.loc), "arange: sign of step");
  if (!up && !require(detail::compare_lt(by, 0, c.loc), "arange: sign of step")) refuse("step must not be 0");
  if (!require(up ? detail::compare_le(a, b, c.loc) : detail::compare_le(b, a, c.loc),
               "arange: bounds agree with step")) {
    refuse("step leads away from end");
  }
  // Between the bounds may be more than 63 bits count, and few steps.
  const bool seen = !depends_on_data(a) && !depends_on_data(b) && !depends_on_data(by);
  if (seen) {
    const __int128 from = a.hint(), to = b.hint(), stride = by.hint();
    const __int128 count = (to - from + (up ? stride - 1 : stride + 1)) / stride;
    if (count > INT64_MAX) refuse("more elements than 63 bits can count");
    if (!a.is_symbolic() && !b.is_symbolic() && !by.is_symbolic()) return static_cast<std::int64_t>(count);
  }
  // What -2^63 steps over in one, 1 - 2^63 does, too.
  if (seen && by.hint() == INT64_MIN && ask(detail::compare_eq(by, INT64_MIN, c.loc), "arange: the lowest step"))
    by = -INT64_MAX;
  Int span = up ? b - a : a - b, unit = up ? by : -by;
  return is_plain(unit, 1) ? span : count_steps(span, unit);
}

}  // namespace

namespace rules {

void full(RuleCtx& c) { create(c, c.dtype(2, c.scalar(1).dtype()), c.ints(0)); }

void arange(RuleCtx& c) {
  DType t = c.dtype(3, DType::Int64);
  if (t == DType::Bool) fail(ErrorCode::DTypeMismatch, "arange", c.loc, "not defined for bool");
  create(c, t, Ints{arange_length(c)});
}

void random(RuleCtx& c) {
  DType t = c.dtype(1, DType::Float32);
  if (!is_floating(t))
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "not defined for ", dtype_name(t), " (wanted a floating dtype)");
  create(c, t, c.ints(0));
}

void multinomial(RuleCtx& c) {
  const TensorMeta& self = c.tensor(0);
  if (!is_floating(self.dtype)) {
    fail(ErrorCode::DTypeMismatch, "multinomial", c.loc, "weights must be floats, got ", dtype_name(self.dtype));
  }
  if (self.dim() != 1 && self.dim() != 2) {
    fail(ErrorCode::ShapeMismatch, "multinomial", c.loc, "weights must have 1 or 2 dimensions, got sizes ",
         sizes_text(self.layout.sizes));
  }
  Int n = c.integer(1), of = self.size(self.dim() - 1);
  if (!require(detail::compare_lt(0, n, c.loc), "multinomial: at least one sample") ||
      (!c.flag(2) && !require(detail::compare_le(n, of, c.loc), "multinomial: enough categories"))) {
    fail(ErrorCode::InvalidArgument, "multinomial", c.loc, "cannot draw ", n, " samples from ", of, " categories",
         c.flag(2) ? "" : " without replacement");
  }
  c.result(DType::Int64, self.dim() == 2 ? Ints{self.size(0), n} : Ints{n});
}

}  // namespace rules
}  // namespace reprise::graph
