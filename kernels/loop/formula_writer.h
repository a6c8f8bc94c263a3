#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "kernels/loop/pointwise.h"

namespace reprise::kernels {

/// One operator being written: its arguments, converted on demand to the computation dtype `type`.
class FormulaWriter {
 public:
  using N = std::uint32_t;  // a node of the body
  using S = ScalarOp;
  FormulaWriter(BodyBuilder& b, const graph::OpDef& op, const std::vector<PointwiseArg>& args, DType type)
      : b_(b), op_(op), args_(args), type_(type) {}

  DType type() const { return type_; }
  bool has(int i) const {
    return i < static_cast<int>(args_.size()) && !std::holds_alternative<std::monostate>(arg(i).value);
  }
  bool given_number(int i) const { return std::holds_alternative<Scalar>(arg(i).value); }
  Scalar number(int i) const {
    const graph::RuleArg& v = arg(i).value;
    if (auto* s = std::get_if<Scalar>(&v)) return *s;
    if (auto* n = std::get_if<Int>(&v)) return Scalar(*n);
    if (auto* t = std::get_if<bool>(&v)) return Scalar(*t);
    fail(ErrorCode::Internal, "pointwise", {}, std::string(op_.name()), ": argument ", i, " is not a number");
  }
  std::string_view text(int i) const { return has(i) ? std::get<std::string_view>(arg(i).value) : std::string_view{}; }

  /// Argument i (tensor or number) as a value of dtype t. `exact`: a half type is rounded to.
  N as(int i, DType t, bool exact = false) {
    DType reg = is_low_precision(t) && !exact ? DType::Float32 : t;
    if (!std::holds_alternative<const TensorMeta*>(arg(i).value)) return b_.constant(number(i), reg);
    REPRISE_CHECK(arg(i).node != ~0u);
    return b_.cast(arg(i).node, reg);
  }
  N x(int i = 0) { return as(i, type_); }
  N exact(int i) { return as(i, type_, true); }
  N truth(int i) { return as(i, DType::Bool); }
  N c(Scalar v) { return b_.constant(v, is_low_precision(type_) ? DType::Float32 : type_); }

  /// A bound on values of `type`: of a narrow integer type the nearest value that it has.
  N bound(int i) {
    if (!given_number(i) || !integral() || type_ == DType::Bool || type_ == DType::Int64 || number(i).is_float())
      return exact(i);
    const std::int64_t low = type_ == DType::UInt8 ? 0 : -(std::int64_t{1} << (item_size(type_) * 8 - 1));
    const std::int64_t high = low + (std::int64_t{1} << item_size(type_) * 8) - 1;
    const N wide = b_.constant(number(i), DType::Int64);
    return b_.cast(op(S::Min, op(S::Max, wide, b_.constant(low, DType::Int64)), b_.constant(high, DType::Int64)),
                   type_);
  }

  N op(S s, N a, N b = ~0u, N d = ~0u) { return b_.op(s, a, b, d); }
  N add(N a, N b) { return op(S::Add, a, b); }
  N sub(N a, N b) { return op(S::Sub, a, b); }
  N mul(N a, N b) { return op(S::Mul, a, b); }
  N div(N a, N b) { return op(S::Div, a, b); }
  N max(N a, N b) { return op(S::Max, a, b); }
  N min(N a, N b) { return op(S::Min, a, b); }
  N lt(N a, N b) { return op(S::Lt, a, b); }
  N le(N a, N b) { return op(S::Le, a, b); }
  N where(N a, N b, N d) { return op(S::Where, a, b, d); }
  bool integral() const { return !is_floating(type_); }

 private:
  const PointwiseArg& arg(int i) const { return args_[static_cast<std::size_t>(i)]; }
  BodyBuilder& b_;
  const graph::OpDef& op_;
  const std::vector<PointwiseArg>& args_;
  DType type_;
};

}  // namespace reprise::kernels
