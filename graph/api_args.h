#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "base/bail.h"
#include "graph/interpreter.h"
#include "guards/expr.h"
#include "reprise/arguments.h"
#include "tensor/layout.h"

/// How the public functions' arguments become CallArgs. All borrow from the caller's expression.
namespace reprise::graph::api {

inline CallArg arg(const Tensor& t) { return &t; }
inline CallArg arg(const Operand& o) { return o.tensor() ? CallArg(o.tensor()) : CallArg(o.number()); }
inline CallArg arg(const OptionalOperand& o) { return o.given() ? arg(o.operand()) : CallArg{}; }
inline CallArg arg(const Scalar& s) { return s; }
inline CallArg arg(const Int& i) { return i; }
inline CallArg arg(bool b) { return b; }
inline CallArg arg(double d) { return Scalar(d); }
inline CallArg arg(DType t) { return t; }
inline CallArg arg(IntArrayRef l) { return l; }
inline CallArg arg(TensorArrayRef l) { return l; }
inline CallArg arg(std::string_view s) { return s; }
inline CallArg arg(const OptionalDims& d) { return d.given() ? CallArg(IntArrayRef(d.dims())) : CallArg{}; }
template <class T>
CallArg arg(const std::optional<T>& o) {
  return o ? arg(*o) : CallArg{};
}
/// div's rounding_mode: empty means none.
inline CallArg rounding(std::string_view mode) { return mode.empty() ? CallArg{} : CallArg(mode); }

/// What a function of several operators computes with where an operator would promote its operands, compute half types
/// in Float32 and round once: tensors in the dtype that the promotion gives, if that is a floating one, half types
/// widened; and the result in that dtype. Eager calls would round after each of the operators otherwise, and compiled
/// ones only where a value is stored.
class RoundedOnce {
 public:
  RoundedOnce(std::initializer_list<const Operand*> operands, const char* op, SourceLoc loc);
  Operand operator()(const Operand& o);         ///< as it takes part; borrows this object
  Tensor result(const Tensor& t) const;         ///< rounded
  DType promoted() const { return promoted_; }  ///< of all operands

 private:
  DType promoted_;
  DType computed_;               ///< Float32 for half types
  std::vector<Tensor> widened_;  // never grows beyond what the constructor reserves
  SourceLoc loc_;
};

/// Metadata of either kind of tensor; throws InvalidArgument naming `op` for an undefined one.
TensorMeta checked_meta(const Tensor& t, const char* op, SourceLoc loc);

/// A dimension counted from the front; a symbolic one is pinned. Throws IndexOutOfRange naming `op`.
inline int wrapped(const TensorMeta& m, Int dim, const char* op, SourceLoc loc) {
  return wrap_dim(dim.value(loc), m.dim(), op, loc);
}

/// f(), whose errors name `op` instead of the operators that it is made of.
template <class F>
auto named(const char* op, F&& f) {
  try {
    return f();
  } catch (const Error& e) {
    throw_as(e, op, e.where());
  }
}

/// ATen's indexing takes 0-dim tensors and vectors for each other. `of`, index and source as vectors of the same
/// storage, where none has more dimensions and one has less; nothing where they are as they are wanted.
struct AsVectors {
  Tensor self, index, src;
};
std::optional<AsVectors> as_vectors(const Tensor& self, const Tensor& index, const Tensor* src, SourceLoc loc);

inline TensorPair pair(std::vector<Tensor> r) { return {std::move(r[0]), std::move(r[1])}; }

}  // namespace reprise::graph::api
