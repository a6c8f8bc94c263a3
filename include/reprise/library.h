#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reprise/decomposition.h"
#include "reprise/kernel.h"
#include "reprise/scalar.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Operators of a user's own: eager, traced, functionalized, and compiled into recordings like those of the library.
/// docs/custom_operators.md explains them with examples.
namespace reprise REPRISE_VISIBLE {

namespace graph {
struct RuleCtx;
}

/// What a shape function is asked with: the arguments of a call, tensors without their elements. Arguments are counted
/// as the schema does. Sizes are symbolic in a trace: comparing them is a guard. Asking for an argument of another kind
/// throws InvalidArgument.
class ShapeCall {
 public:
  explicit ShapeCall(graph::RuleCtx& c) : c_(c) {}
  bool has(int arg) const;  ///< it is not None
  DType dtype(int tensor) const;
  const Ints& sizes(int tensor) const;
  Int size(int tensor, int dim) const;  ///< dim may be negative; throws IndexOutOfRange
  int dim(int tensor) const;
  std::size_t count(int tensors) const;  ///< of a list
  const Ints& sizes(int tensors, std::size_t of_list) const;
  DType dtype(int tensors, std::size_t of_list) const;
  Int integer(int arg) const;
  const Ints& integers(int arg) const;
  Scalar number(int arg) const;
  bool flag(int arg) const;
  DType dtype_argument(int arg, DType otherwise) const;
  std::string_view text(int arg) const;

  /// The next result: contiguous, on the arguments' device. As many as the schema says, beside written arguments that
  /// it returns.
  void result(DType, const Ints& sizes);
  /// Throws Error with the operator's name and the line of the call.
  [[noreturn]] void fail(ErrorCode, const std::string& message) const;
  /// fail(ShapeMismatch, "sizes 3 and 4 of what differ") unless they are equal.
  void expect_equal(Int a, Int b, const char* what) const;

 private:
  graph::RuleCtx& c_;
};

/// A tensor of a call, as far as it decides how much memory a kernel works in.
struct WorkspaceTensor {
  DType dtype;
  const Ints& sizes;
};

struct OperatorDef {
  /// ATen's schema language: "rms_norm_(Tensor(a!) out, Tensor x, Tensor w, float eps=1e-6) -> ()". `(a!)` is written.
  std::string schema;
  /// Asks what must hold of the arguments and gives the results. Not set: one result like the first tensor, or none.
  std::function<void(ShapeCall&)> shape = {};
  /// On the host: any strides and dtypes that the shape function lets through. May run on any thread, several at once.
  Kernel cpu = nullptr;
  /// On a CUDA device: queues its work in call.stream (a CUstream) and waits for nothing; it becomes a node of the
  /// recordings' graphs. Where there is no `cpu` it serves the host, too, with no stream. Not set: computed on the
  /// host, with copies of the operands. cuda_code.h launches kernels that are brought as text.
  Kernel cuda = nullptr;
  /// Bytes that `cuda` works in, by its tensors (lists flattened), then its results; not set: none. (`cpu` gets none.)
  std::function<Int(const std::vector<WorkspaceTensor>&)> workspace = {};
  bool may_fail = false;  ///< a kernel may report a fault; writes to arguments wait for it
  /// Not 0: calls of the same lane happen in the order of the program, and none is left out or merged (printing,
  /// counting).
  std::uint8_t lane = 0;
  bool moves = false;  ///< takes dtypes that are for storage alone (float8)
  /// Of one that writes: the operator, registered before, that computes the same as a function, by name or with all of
  /// its schema
  /// ("my::rms_norm" of "my::rms_norm_out(Tensor(a!) out, Tensor x, Tensor w) -> ()"). Compiled functions call it
  /// instead, so that it fuses and patterns match it. Arguments correspond by name; its results are the written
  /// arguments, then the new values.
  std::string functional = {};
  /// The same in terms of other operators (decomposition.h). It is used where the operator has no kernel for the
  /// device; an operator that has only this needs no shape function, and compiled functions inline it, under its name
  /// as scope, so that it fuses.
  Decomposition decomposition = {};
  /// Tried before the operator is known to anybody: for each of these arguments the kernel must give and write what
  /// `functional` and `decomposition` do, as closely as the dtype allows. Where there is no `cpu` kernel these are
  /// compared with each other.
  std::vector<OperatorSample> samples = {};
};

/// A registered operator. Copies are the same one.
class Operator {
 public:
  /// What a call gives: one tensor where the operator gives one, else all of them.
  class Results {
   public:
    explicit Results(std::vector<Tensor> all, std::string_view name) : all_(std::move(all)), name_(name) {}
    operator Tensor() const;  ///< throws InvalidArgument unless there is exactly one
    const Tensor& operator[](std::size_t i) const { return all_.at(i); }
    std::size_t size() const { return all_.size(); }
    std::vector<Tensor>::const_iterator begin() const { return all_.begin(); }
    std::vector<Tensor>::const_iterator end() const { return all_.end(); }

   private:
    std::vector<Tensor> all_;
    std::string_view name_;
  };
  /// The first argument, and the line of the call: a default argument of an implicit conversion is evaluated there.
  struct First {
    detail::OperatorArg arg;
    SourceLoc loc;
    template <class T>
    requires requires(const T& v) { detail::operator_arg(v); }
    First(const T& v, SourceLoc l = SourceLoc::current()) : arg(detail::operator_arg(v)), loc(l) {}
  };

  /// Calls it. The last arguments may be left out where the schema has defaults. Tensors, lists of them, numbers,
  /// bools, dtypes, texts, std::nullopt for None; an undefined Tensor is None, too. Throws InvalidArgument for too few
  /// or too many arguments and for one of the wrong kind, naming it, and what the shape function and kernels say.
  template <class... A>
  Results operator()(First first, const A&... args) const {
    return at(first.loc, first.arg, args...);
  }
  /// The same at a line of the user's: for wrappers that take `SourceLoc loc = SourceLoc::current()`.
  template <class... A>
  Results at(SourceLoc loc, const A&... args) const {
    const detail::OperatorArg all[] = {detail::operator_arg(args)...};
    return call(all, loc);
  }
  std::string_view name() const;  ///< "my::rms_norm_"

 private:
  friend class Library;
  explicit Operator(std::uint16_t id) : id_(id) {}
  Results call(std::span<const detail::OperatorArg>, SourceLoc) const;
  std::uint16_t id_;
};

/// A namespace of operators.
class Library {
 public:
  /// A C++ identifier. Throws InvalidArgument for another text, and for "aten".
  explicit Library(std::string name);
  /// Registers an operator "name::...", for the rest of the process. All of it or nothing: throws InvalidArgument for a
  /// schema that does not parse (with the column), one that is of another namespace, a name that is taken, a sample
  /// whose results differ (naming it), and where there is neither kernel nor decomposition. Any thread.
  Operator define(OperatorDef) const;
  /// One that was registered, by any Library of this name; throws InvalidArgument.
  Operator find(std::string_view op) const;

 private:
  std::string name_;
};

}  // namespace REPRISE_VISIBLE
