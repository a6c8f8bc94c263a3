#pragma once
#include <functional>
#include <vector>

#include "jit/emit/emitter.h"

namespace reprise::jit {

/// A value of the code that is written: a signed integer, a float, an i1, a vector of these, or a pointer. C's
/// operators emit code; a plain number takes the type of the value that it meets. Both sides must be of one type
/// otherwise: conversions are asked for. Shifts to the right are logical; & | ^ serve integers and conditions.
class V {
 public:
  V() = default;
  V(int n) : number_(n), whole_(n) {}                                // NOLINT: literals are meant to convert
  V(std::int64_t n) : number_(static_cast<double>(n)), whole_(n) {}  // NOLINT
  V(double x) : number_(x), whole_(static_cast<std::int64_t>(x)) {}  // NOLINT
  V(Emitter* e, llvm::Value* v) : v(v), e(e) {}
  /// As a value of `type`; `type` matters to a plain number only.
  llvm::Value* as(llvm::Type* type) const;

  llvm::Value* v = nullptr;  ///< null: a plain number
  Emitter* e = nullptr;

 private:
  double number_ = 0;
  std::int64_t whole_ = 0;
};
V operator+(const V&, const V&);
V operator-(const V&, const V&);
V operator*(const V&, const V&);
V operator/(const V&, const V&);
V operator%(const V&, const V&);
V operator&(const V&, const V&);
V operator|(const V&, const V&);
V operator^(const V&, const V&);
V operator<<(const V&, const V&);
V operator>>(const V&, const V&);
V operator<(const V&, const V&);
V operator<=(const V&, const V&);
V operator>(const V&, const V&);
V operator>=(const V&, const V&);
V operator==(const V&, const V&);
V operator!=(const V&, const V&);
V operator!(const V&);
V operator-(const V&);

/// A variable: assignments change it, wherever control flow comes from. Lives in a register (see Writer::promote).
class Var {
 public:
  Var() = default;
  Var(Emitter* e, llvm::AllocaInst* slot) : e_(e), slot_(slot) {}
  Var(const Var&) = default;  ///< the same variable
  Var& operator=(const V& x);
  Var& operator=(const Var& x) { return *this = static_cast<V>(x); }
  operator V() const;  // NOLINT: reads it

 private:
  Emitter* e_ = nullptr;
  llvm::AllocaInst* slot_ = nullptr;
};
using Vs = std::vector<V>;
using Vars = std::vector<Var>;

/// What C++ would say, as calls that emit LLVM IR where an Emitter stands. Base of the kernels' writers on each target,
/// which are Emitters, too: `e` may be such a one that is not made yet.
class Writer {
 public:
  explicit Writer(Emitter& e) : e_(e) {}
  Writer(const Writer&) = delete;

  // ---- values
  V wrap(llvm::Value* v) { return {&e_, v}; }
  V i32(const V& x);
  V i64(const V& x);
  V select(const V& condition, const V& yes, const V& no);
  V min(const V&, const V&);  ///< integers: signed; floats: a NaN loses against a number
  V max(const V&, const V&);
  /// x * y + z; floats: rounded once, but Float32 twice where the host does not fuse
  V multiply_add(const V& x, const V& y, const V& z);
  V ceil_div(const V& n, const V& by);
  V exp(const V& x);  ///< Float32

  // ---- control flow
  Var var(const V& initial);
  void when(const V& condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  /// for (i = begin; i < end; i += step)
  void loop(const V& begin, const V& end, const V& step, const std::function<void(V)>& body);
  void loop_while(const std::function<V()>& condition, const std::function<void()>& body);
  /// for (i = begin; i < end; i += step) carried = body(i, carried), tested at the bottom, for code that is not
  /// optimized any more. Returns the last carried.
  Vs carry(const V& begin, const V& end, const V& step, Vs carried, const std::function<Vs(V, Vs)>& body);

 protected:
  /// Makes registers of the variables: when the function is whole.
  void promote();

 private:
  Emitter& e_;
  std::vector<llvm::AllocaInst*> slots_;
};

}  // namespace reprise::jit
