#include <bit>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "guards/general.h"

namespace reprise::graph {
namespace {

const char* name(const RuleCtx& c) { return c.op.schema.name.c_str(); }

const TensorMeta* tensor_or_null(const RuleCtx& c, int i) {
  auto* m = std::get_if<const TensorMeta*>(&c.args[i]);
  return m ? *m : nullptr;
}

/// broadcast() where any size of two that meet may be 1 in another call: the larger one is the result, and nothing is
/// asked but that they fit. (kernels/plan/fuse_map.cc reads what is 1 at index 0.) Sizes of 0, which 1 is larger than,
/// are asked for.
Ints broadcast_any(const Ints& a, const Ints& b, const char* op, SourceLoc loc) {
  const Ints& longer = a.size() >= b.size() ? a : b;
  const Ints& shorter = a.size() >= b.size() ? b : a;
  Ints out = longer, left_a = a, left_b = b;  // what is left to broadcast() in the usual way
  for (std::size_t i = shorter.size(); i > 0; --i) {
    const std::size_t at = out.size() - i;
    const Int x = longer[at], y = shorter[shorter.size() - i];
    if (identical(x, y) || is_plain(x, 1) || is_plain(y, 1) || detail::compare_eq(x, y, loc).known_true()) continue;
    const Bool equal = detail::compare_eq(x, y, loc), first = detail::compare_eq(x, 1, loc),
               second = detail::compare_eq(y, 1, loc);
    if (!require(detail::compare_le(1, x, loc), "broadcast: sizes of at least 1") ||
        !require(detail::compare_le(1, y, loc), "broadcast: sizes of at least 1") ||
        !require(equal | first | second, "broadcast: equal sizes, or one is 1"))
      continue;
    out[at] = Int::max(x, y);
    left_a[a.size() - i] = left_b[b.size() - i] = out[at];
  }
  return broadcast(left_a, left_b, op, loc);
}

/// Sizes of arguments [0, n) broadcast; numbers have none. At least one must be a tensor.
Ints broadcast_args(const RuleCtx& c, int n, int first = 0) {
  Ints sizes;
  bool any = false;
  for (int i = first; i < n; ++i) {
    const TensorMeta* m = tensor_or_null(c, i);
    if (!m) continue;
    sizes = !any                              ? m->layout.sizes
            : guards::generality().broadcasts ? broadcast_any(sizes, m->layout.sizes, name(c), c.loc)
                                              : broadcast(sizes, m->layout.sizes, name(c), c.loc);
    any = true;
  }
  if (!any) fail(ErrorCode::InvalidArgument, name(c), c.loc, "at least one operand must be a tensor");
  return sizes;
}

DType promoted(const RuleCtx& c, int n, int first = 0) { return result_dtype(c.args.subspan(first, n - first)); }

DType floating_of(DType t) { return is_floating(t) ? t : DType::Float32; }

[[noreturn]] void refuse(const RuleCtx& c, DType t, const char* wanted) {
  fail(ErrorCode::DTypeMismatch, name(c), c.loc, "not defined for ", dtype_name(t), " (wanted ", wanted, ")");
}

DType not_bool(const RuleCtx& c, DType t) {
  if (t == DType::Bool) refuse(c, t, "integers or floats");
  return t;
}

DType only_float(const RuleCtx& c, DType t) {
  if (!is_floating(t)) refuse(c, t, "a floating dtype; cast with to()");
  return t;
}

/// A number of an integer operation must not be a float: add's alpha, addcmul's value.
void check_factor(const RuleCtx& c, int i, DType t) {
  if (c.scalar(i).is_float() && !is_floating(t)) {
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "for ", dtype_name(t), " operands '", c.op.schema.args[i].name,
         "' must not be a float, got ", c.scalar(i).str());
  }
}

void same_dtype(const RuleCtx& c, const TensorMeta& a, const TensorMeta& b, int ia, int ib) {
  if (a.dtype != b.dtype) {
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "'", c.op.schema.args[ia].name, "' is ", dtype_name(a.dtype),
         " and '", c.op.schema.args[ib].name, "' is ", dtype_name(b.dtype));
  }
}

}  // namespace

namespace rules {

void arithmetic(RuleCtx& c) {
  DType t = promoted(c, 2);
  if (c.op.id == OpId::add) {
    check_factor(c, 2, t);
  }
  c.result(t, broadcast_args(c, 2));
}

void arithmetic_no_bool(RuleCtx& c) { c.result(not_bool(c, promoted(c, 2)), broadcast_args(c, 2)); }

void subtraction(RuleCtx& c) {
  DType t = promoted(c, 2);
  for (std::size_t i : {0, 1}) {  // ATen refuses a bool whatever the other is
    const auto* m = std::get_if<const TensorMeta*>(&c.args[i]);
    const auto* s = std::get_if<Scalar>(&c.args[i]);
    if ((m && *m && (*m)->dtype == DType::Bool) || (s && s->kind() == Scalar::Kind::Bool))
      refuse(c, DType::Bool, "integers or floats; for bools use logical_xor, to invert a mask logical_not");
  }
  check_factor(c, 2, t);
  c.result(t, broadcast_args(c, 2));
}

void division(RuleCtx& c) {
  DType t = promoted(c, 2);
  std::string_view mode = c.str(2);
  if (!c.has(2)) {
    t = floating_of(t);
  } else if (mode != "trunc" && mode != "floor") {
    fail(ErrorCode::InvalidArgument, "div", c.loc, "rounding_mode must be 'trunc', 'floor' or none, got '", mode, "'");
  } else {
    not_bool(c, t);
  }
  c.result(t, broadcast_args(c, 2));
}

void power(RuleCtx& c) {
  DType t = not_bool(c, promoted(c, 2));
  auto* s = std::get_if<Scalar>(&c.args[1]);
  if (s && !s->is_float() && is_integral(t) && detail::compare_lt(s->word(), 0, c.loc)) {
    fail(ErrorCode::InvalidArgument, "pow", c.loc, "integers to negative integer powers are not allowed (exponent ",
         s->str(), ")");
  }
  // Some powers are multiplications and roots (kernels/loop/pointwise.cc), so which one it is must be known.
  if (s && s->is_symbolic() && is_floating(t))
    for (double special : {2.0, 3.0, -1.0, -2.0, 0.5, -0.5}) {
      const bool integer = special == static_cast<double>(static_cast<std::int64_t>(special));
      if (!s->is_float() && !integer) continue;
      const std::int64_t word =
          s->is_float() ? std::bit_cast<std::int64_t>(special) : static_cast<std::int64_t>(special);
      if (detail::compare_eq(s->word(), word, c.loc)) break;
    }
  c.result(t, broadcast_args(c, 2));
}

void binary_float(RuleCtx& c) { c.result(floating_of(promoted(c, 2)), broadcast_args(c, 2)); }
void binary_float_only(RuleCtx& c) { c.result(only_float(c, promoted(c, 2)), broadcast_args(c, 2)); }

void lerp(RuleCtx& c) {
  const TensorMeta &self = c.tensor(0), &end = c.tensor(1);
  only_float(c, self.dtype);
  same_dtype(c, self, end, 0, 1);
  if (const TensorMeta* w = tensor_or_null(c, 2)) same_dtype(c, self, *w, 0, 2);
  c.result(self.dtype, broadcast_args(c, 3));
}

void addcmul(RuleCtx& c) {
  DType t = not_bool(c, promoted(c, 3));
  check_factor(c, 3, t);
  c.result(t, broadcast_args(c, 3));
}

void addcdiv(RuleCtx& c) {
  if (!is_floating(promoted(c, 3, 1)))
    refuse(c, promoted(c, 3, 1), "a floating dtype; integer division here is ambiguous");
  c.result(promoted(c, 3), broadcast_args(c, 3));
}

void comparison(RuleCtx& c) { c.result(DType::Bool, broadcast_args(c, 2)); }

void bitwise(RuleCtx& c) {
  DType t = promoted(c, 2);
  if (is_floating(t)) refuse(c, t, "integers or bool");
  c.result(t, broadcast_args(c, 2));
}

void shift(RuleCtx& c) {
  DType t = promoted(c, 2);
  if (!is_integral(t)) refuse(c, t, "integers");
  c.result(t, broadcast_args(c, 2));
}

void unary(RuleCtx& c) { c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes); }
void unary_no_bool(RuleCtx& c) { c.result(not_bool(c, c.tensor(0).dtype), c.tensor(0).layout.sizes); }
void unary_square(RuleCtx& c) {
  DType t = c.tensor(0).dtype;
  c.result(t == DType::Bool ? DType::Int64 : t, c.tensor(0).layout.sizes);
}
void unary_float(RuleCtx& c) { c.result(floating_of(c.tensor(0).dtype), c.tensor(0).layout.sizes); }
void unary_float_only(RuleCtx& c) { c.result(only_float(c, c.tensor(0).dtype), c.tensor(0).layout.sizes); }
void unary_bool(RuleCtx& c) { c.result(DType::Bool, c.tensor(0).layout.sizes); }
void unary_bitwise(RuleCtx& c) {
  DType t = c.tensor(0).dtype;
  if (is_floating(t)) refuse(c, t, "integers or bool");
  c.result(t, c.tensor(0).layout.sizes);
}

void gelu(RuleCtx& c) {
  if (std::string_view how = c.str(1); how != "none" && how != "tanh") {
    fail(ErrorCode::InvalidArgument, "gelu", c.loc, "approximate must be 'none' or 'tanh', got '", how, "'");
  }
  unary_float_only(c);
}

void where(RuleCtx& c) {
  if (DType t = c.tensor(0).dtype; t != DType::Bool) refuse(c, t, "a bool condition");
  c.result(promoted(c, 3, 1), broadcast_args(c, 3));
}

void clamp(RuleCtx& c) {
  if (!c.has(1) && !c.has(2))
    fail(ErrorCode::InvalidArgument, "clamp", c.loc, "at least one of min and max must be given");
  c.result(not_bool(c, promoted(c, 3)), broadcast_args(c, 3));
}

void masked_fill(RuleCtx& c) {
  if (DType t = c.tensor(1).dtype; t != DType::Bool) refuse(c, t, "a bool mask");
  if (const TensorMeta* v = tensor_or_null(c, 2); v && v->dim() != 0) {
    fail(ErrorCode::ShapeMismatch, "masked_fill", c.loc, "a tensor value must have 0 dimensions, got sizes ",
         sizes_text(v->layout.sizes));
  }
  c.result(c.tensor(0).dtype, broadcast_args(c, 2));
}

void to(RuleCtx& c) { c.result(c.dtype(1, c.tensor(0).dtype), c.tensor(0).layout.sizes); }

void copy(RuleCtx& c) {
  check_expandable(c.tensor(1).layout.sizes, c.tensor(0).layout.sizes, "copy_", c.loc);
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

void fill(RuleCtx& c) {
  if (const TensorMeta* v = tensor_or_null(c, 1); v && v->dim() != 0) {
    fail(ErrorCode::ShapeMismatch, "fill_", c.loc, "a tensor value must have 0 dimensions, got sizes ",
         sizes_text(v->layout.sizes));
  }
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

}  // namespace rules

void check_inplace(const OpDef& op, const TensorMeta& self, const TensorMeta& result, SourceLoc loc) {
  std::string twin = op.schema.name + "_";
  if (!op.has_inplace) fail(ErrorCode::InvalidArgument, twin.c_str(), loc, "has no in-place form");
  auto category = [](DType t) { return t == DType::Bool ? 0 : is_floating(t) ? 2 : 1; };
  if (category(result.dtype) > category(self.dtype)) {
    // A comparison's bool goes into any dtype; a float result does not go into integers.
    fail(ErrorCode::DTypeMismatch, twin.c_str(), loc, "the result is ", dtype_name(result.dtype),
         " and cannot be written into ", dtype_name(self.dtype));
  }
  bool equal = self.dim() == result.dim();
  for (int d = 0; equal && d < self.dim(); ++d)
    equal = same(self.size(d), result.size(d), loc, "in-place result keeps the size");
  if (!equal) {
    fail(ErrorCode::ShapeMismatch, twin.c_str(), loc, "the result has sizes ", sizes_text(result.layout.sizes),
         " and cannot be written into sizes ", sizes_text(self.layout.sizes));
  }
}

}  // namespace reprise::graph
