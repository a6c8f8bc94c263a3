#pragma once
#include <concepts>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/device.h"
#include "reprise/dtype.h"
#include "reprise/int.h"
#include "reprise/scalar.h"
#include "reprise/source_location.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

class Tensor;

template <class T>
concept Number = std::is_arithmetic_v<T> || std::same_as<T, Int> || std::same_as<T, Float> || std::same_as<T, Scalar>;

/// A tensor or a number, as operators take them: `add(x, 1)`, `x * pos`. Converts implicitly and, as a default argument
/// is evaluated where the conversion happens, carries the caller's line into `x + y`. Borrows the tensor: lives as long
/// as the full expression.
class Operand {
 public:
  Operand(const Tensor& t, SourceLoc loc = SourceLoc::current()) : tensor_(&t), loc_(loc) {}
  template <Number T>
  Operand(T v, SourceLoc loc = SourceLoc::current()) : number_(v), loc_(loc) {}
  const Tensor* tensor() const { return tensor_; }  ///< null for a number
  const Scalar& number() const { return number_; }
  SourceLoc loc() const { return loc_; }

 private:
  const Tensor* tensor_ = nullptr;
  Scalar number_;
  SourceLoc loc_;
};

/// An Operand that may be left out: `clamp(x, std::nullopt, 6)`.
class OptionalOperand {
 public:
  OptionalOperand(std::nullopt_t) : operand_(0, {}), given_(false) {}
  OptionalOperand(const Tensor& t) : operand_(t, {}) {}
  template <Number T>
  OptionalOperand(T v) : operand_(v, {}) {}
  OptionalOperand(const Operand& o) : operand_(o) {}
  bool given() const { return given_; }
  const Operand& operand() const { return operand_; }

 private:
  Operand operand_;
  bool given_ = true;
};

/// The sides of `a + b`: an Operand that is a tensor, and one that is a number. Two classes, so that the operators of
/// Int stay Int's.
class TensorOperand : public Operand {
 public:
  TensorOperand(const Tensor& t, SourceLoc loc = SourceLoc::current()) : Operand(t, loc) {}
};
class NumberOperand : public Operand {
 public:
  template <Number T>
  NumberOperand(T v, SourceLoc loc = SourceLoc::current()) : Operand(v, loc) {}
};

/// Dimensions of a reduction: `x.sum()`, `x.sum(-1)`, `x.sum({0, 2}, true)`. None and {} mean all.
class OptionalDims {
 public:
  OptionalDims() = default;
  OptionalDims(std::nullopt_t) {}
  template <Number T>
  requires(std::same_as<T, Int> || std::is_integral_v<T>) OptionalDims(T dim) : dims_{Int(dim)}, given_(true) {}
  OptionalDims(std::initializer_list<Int> dims) : dims_(dims), given_(true) {}
  OptionalDims(IntArrayRef dims) : dims_(dims.begin(), dims.end()), given_(true) {}
  template <class T>
  requires(IntegralNumber<T> || std::same_as<T, Int>) OptionalDims(const std::vector<T>& dims)
      : OptionalDims(IntArrayRef(dims)) {}
  bool given() const { return given_; }
  const Ints& dims() const { return dims_; }

 private:
  Ints dims_;
  bool given_ = false;
};

/// `zeros({2, 3}, {.dtype = kFloat64, .device = Device::cuda()})`. Omitted fields take the operator's default.
struct TensorOptions {
  std::optional<DType> dtype = std::nullopt;
  std::optional<Device> device = std::nullopt;
};

/// (values, indices).
using TensorPair = std::pair<Tensor, Tensor>;

}  // namespace REPRISE_VISIBLE
