#pragma once
#include <functional>
#include <vector>

#include "jit/gpu/emitter.h"

namespace reprise::jit {

class GpuCode;

/// A value of the kernel that a GpuCode writes: a signed integer, a float, an i1 or a pointer. C's operators emit
/// code; a plain number takes the type of the value that it meets. Both sides must be of one type otherwise:
/// conversions are asked for. Shifts to the right are logical; & | ^ serve integers and conditions.
class V {
 public:
  V() = default;
  V(int n) : number_(n), whole_(n) {}                                // NOLINT: literals are meant to convert
  V(std::int64_t n) : number_(static_cast<double>(n)), whole_(n) {}  // NOLINT
  V(double x) : number_(x), whole_(static_cast<std::int64_t>(x)) {}  // NOLINT
  V(GpuCode* g, llvm::Value* v) : v(v), g(g) {}
  /// As a value of `type`; `type` matters to a plain number only.
  llvm::Value* as(llvm::Type* type) const;

  llvm::Value* v = nullptr;  ///< null: a plain number
  GpuCode* g = nullptr;

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

/// A variable: assignments change it, wherever control flow comes from. Lives in a register (see GpuCode::finish).
class Var {
 public:
  Var() = default;
  Var(GpuCode* g, llvm::AllocaInst* slot) : g_(g), slot_(slot) {}
  Var(const Var&) = default;  ///< the same variable
  Var& operator=(const V& x);
  Var& operator=(const Var& x) { return *this = static_cast<V>(x); }
  operator V() const;  // NOLINT: reads it

 private:
  GpuCode* g_ = nullptr;
  llvm::AllocaInst* slot_ = nullptr;
};
using Vs = std::vector<V>;
using Vars = std::vector<Var>;

/// Writes one kernel of one-dimensional blocks and grid: what CUDA C++ would say, as calls that emit LLVM IR. No inline
/// assembly, so that the simulator of the driver can run the same module.
class GpuCode : public GpuEmitter {
 public:
  /// Stands in the body of a kernel with these buffers and this many integers. `threads`: of a block.
  GpuCode(GpuModule&, std::vector<DType> buffers, int ints, int threads);
  /// Ends the function and makes registers of its variables. Nothing may be emitted after it.
  void finish();

  V pointer(int i) { return wrap(buffer(static_cast<std::size_t>(i))); }
  V integer(int i) { return wrap(param(static_cast<std::size_t>(i))); }
  /// The integers from `next` on, one after the other.
  V take() { return integer(next_++); }
  V tid;               ///< i32, in the block
  V lane_id, warp_id;  ///< i32
  V block_id;          ///< i64

  // ---- values
  V wrap(llvm::Value* v) { return {this, v}; }
  V constant(DType t, double x) { return wrap(V(x).as(register_type(t))); }  ///< of the register type
  V i32(const V& x);
  V i64(const V& x);
  V convert(DType from, DType to, const V& x) { return wrap(cast(from, to, x.v)); }
  V select(const V& condition, const V& yes, const V& no);
  V min(const V&, const V&);  ///< integers: signed; floats: a NaN loses against a number
  V max(const V&, const V&);
  V multiply_add(const V& x, const V& y, const V& z);  ///< x * y + z; floats: rounded once
  V ceil_div(const V& n, const V& by);
  V exp(const V& x);  ///< Float32

  // ---- control flow. Barriers must stand where all threads of the block come.
  Var var(const V& initial);
  Var var(DType t, double initial) { return var(constant(t, initial)); }
  void when(const V& condition, const std::function<void()>& then, const std::function<void()>& otherwise = {});
  /// for (i = begin; i < end; i += step)
  void loop(const V& begin, const V& end, const V& step, const std::function<void(V)>& body);
  void loop_while(const std::function<V()>& condition, const std::function<void()>& body);

  // ---- memory, global or shared; indices are in elements of `t`, i32 or i64
  V at(DType t, const V& p, const V& index);
  V read(DType t, const V& p, const V& index = 0) { return wrap(load(t, at(t, p, index).v, 0, nullptr)); }
  void write(DType t, const V& p, const V& index, const V& x) {
    store(t, x.as(register_type(t)), at(t, p, index).v, nullptr);
  }
  /// `n` neighbours (a power of two) at p, which is aligned to all of them or 16 bytes.
  Vs read_run(DType t, const V& p, int n);
  void write_run(DType t, const V& p, const Vs& x);
  V aligned(const V& p, int bytes) { return wrap(is_aligned(p.v, bytes)); }
  /// An array of the block, in elements of `t`, aligned to 16 bytes.
  V shared(DType t, std::int64_t n) { return wrap(shared_array(memory_type(t), static_cast<std::uint64_t>(n))); }

  // ---- between lanes, all of which come here
  V from_xor(const V& x, int mask) { return wrap(shuffle_xor(x.v, mask)); }
  V from_below(const V& x, int distance) { return wrap(shuffle_up(x.v, distance)); }  ///< the lowest keep their own
  V votes(const V& condition) { return wrap(ballot(condition.v)); }
  V sum_lanes(const V& x, int width = kWarp);  ///< groups of `width` lanes; every lane gets the sum
  V max_lanes(const V& x, int width = kWarp);
  V count_bits(const V& x) { return wrap(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x.v)); }

 private:
  std::vector<llvm::AllocaInst*> slots_;
  int ints_ = 0, next_ = 0;
};

}  // namespace reprise::jit
