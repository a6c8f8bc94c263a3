#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/Module.h>

#include "jit/engine/engine.h"
#include "kernels/loop/ir.h"

namespace reprise::jit {

inline constexpr int kCacheLine = 64;  // bytes

/// Helpers over IRBuilder that all emitters share. A value is a scalar (lanes 0) or a vector of `lanes` elements; every
/// helper takes both. No fast-math flag is ever set: equal expressions give equal bits wherever they are emitted.
class Emitter {
 public:
  explicit Emitter(EmitContext& cx) : cx(cx), b(cx.context) {}

  EmitContext& cx;
  llvm::IRBuilder<> b;

  /// Type of a value in registers (half types are float, Bool is i1) and in memory (half types i16, Bool i8).
  llvm::Type* register_type(DType, int lanes = 0);
  llvm::Type* memory_type(DType, int lanes = 0);
  llvm::Type* i(int bits, int lanes = 0) { return shaped(b.getIntNTy(static_cast<unsigned>(bits)), lanes); }
  llvm::Type* f32(int lanes = 0) { return shaped(b.getFloatTy(), lanes); }
  llvm::Type* f64(int lanes = 0) { return shaped(b.getDoubleTy(), lanes); }
  llvm::Type* shaped(llvm::Type* scalar, int lanes);
  static int lanes_of(const llvm::Value* v);
  /// The type of `v` with another element type.
  llvm::Type* like(const llvm::Value* v, llvm::Type* element) { return shaped(element, lanes_of(v)); }

  llvm::Value* i64(std::int64_t v) { return b.getInt64(static_cast<std::uint64_t>(v)); }
  /// Constants of the type of `v`, splat when it is a vector.
  llvm::Value* constant(const llvm::Value* v, double x) { return llvm::ConstantFP::get(v->getType(), x); }
  llvm::Value* integer(const llvm::Value* v, std::int64_t x) {
    return llvm::ConstantInt::get(v->getType(), static_cast<std::uint64_t>(x), true);
  }
  llvm::Value* splat(llvm::Value* v, int lanes);  ///< of a scalar; a vector passes through
  llvm::Value* iota(llvm::Type* element, int lanes);

  llvm::Value* call(llvm::Intrinsic::ID id, llvm::Value* a) { return b.CreateUnaryIntrinsic(id, a); }
  llvm::Value* call(llvm::Intrinsic::ID id, llvm::Value* a, llvm::Value* c) {
    return b.CreateBinaryIntrinsic(id, a, c);
  }
  /// a * x + c of Float32 is rounded once where the host fuses, and else twice: for what is as right either way.
  llvm::Value* multiply_add(llvm::Value* a, llvm::Value* x, llvm::Value* c) {
    return cx.host.fuses || !a->getType()->getScalarType()->isFloatTy() ? fma(a, x, c)
                                                                        : b.CreateFAdd(b.CreateFMul(a, x), c);
  }
  llvm::Value* fma(llvm::Value* a, llvm::Value* x, llvm::Value* c) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, x, c});
  }
  llvm::Value* bits(llvm::Value* v) {
    return b.CreateBitCast(v, like(v, b.getIntNTy(v->getType()->getScalarSizeInBits())));
  }
  llvm::Value* floats(llvm::Value* v) {
    return b.CreateBitCast(v, like(v, v->getType()->getScalarSizeInBits() == 64 ? b.getDoubleTy() : b.getFloatTy()));
  }

  /// Which of `lanes` lanes are below `remaining` (an i64 >= 0; more than lanes means all).
  llvm::Value* lane_mask(llvm::Value* remaining, int lanes);

  /// Memory access at `p`, aligned to the element only; widens and narrows between memory and register types.
  /// lanes 0: a scalar; mask null: all lanes. Masked-off lanes load as zero. `whole`, an i1: the mask has all lanes,
  /// which is asked first (see Note [Masked steps] in jit/cpu/loop/loop_plan.h).
  llvm::Value* load(DType, llvm::Value* p, int lanes, llvm::Value* mask, llvm::Value* whole = nullptr);
  void store(DType, llvm::Value* v, llvm::Value* p, llvm::Value* mask, llvm::Value* whole = nullptr);
  /// Past the caches; `p` is aligned to the whole vector, or to a cache line where that is less. Other threads see it
  /// after a store fence only.
  void store_streaming(DType, llvm::Value* v, llvm::Value* p);
  /// The same at a vector of addresses. A masked-off lane's address must be valid all the same for 8 and 16 bit loads.
  llvm::Value* gather(DType, llvm::Value* base, llvm::Value* offsets, llvm::Value* mask);
  void scatter(DType, llvm::Value* v, llvm::Value* base, llvm::Value* offsets, llvm::Value* mask);
  llvm::Value* to_register(DType, llvm::Value* memory);
  llvm::Value* to_memory(DType, llvm::Value* reg);
  /// Float32 as a float of 8 bits with such fields; of magnitudes from `limit` (bits of a float32) on, as its dtype has
  /// it.
  llvm::Value* to_float8(llvm::Value* reg, int mantissa, int bias, std::uint32_t limit);

  /// Conversion of a register value between dtypes. Float to integer saturates, NaN becomes 0.
  llvm::Value* cast(DType from, DType to, llvm::Value* v);
  llvm::Value* vector_to_integer(DType to, llvm::Value* v);  ///< of floats; not of one alone

  /// Address of element `index` (i64, or a vector of them) after `p`.
  llvm::Value* at(llvm::Type* element, llvm::Value* p, llvm::Value* index) { return b.CreateGEP(element, p, index); }
  /// Calls the array function `name` (jit/engine/runtime_calls.cc) on one vector or scalar of each operand, or the
  /// scalar function of that name that the module carries (jit/emit/library.h).
  llvm::Value* call_runtime(const std::string& name, llvm::ArrayRef<llvm::Value*> operands);

  /// A scalar operation of loop kernels on register values of dtype `operand` (ops.cc); `result` is the node's
  /// dtype.
  llvm::Value* op(kernels::ScalarOp, DType result, DType operand, llvm::Value* a, llvm::Value* c = nullptr,
                  llvm::Value* d = nullptr);
  /// Functions of Float32 in vector code (math.cc); null when there is none and the runtime's is to be called.
  llvm::Value* math_f32(kernels::ScalarOp, llvm::Value* a, llvm::Value* c);

 private:
  llvm::Value* integer_op(kernels::ScalarOp, DType, llvm::Value* a, llvm::Value* c, llvm::Value* d);
  llvm::Value* float_op(kernels::ScalarOp, DType, llvm::Value* a, llvm::Value* c, llvm::Value* d);
  llvm::Value* small_divide(kernels::ScalarOp, DType, llvm::Value* a, llvm::Value* c);
  llvm::Value* scalar_divide(kernels::ScalarOp, DType, llvm::Value* a, llvm::Value* c);
};

/// `count` values of one type, one after the other, on the stack of the function being emitted. A value may be
/// smaller than a vector register (8 lanes of a byte): loads and stores promise the alignment that every place has,
/// no more.
class StackArray {
 public:
  StackArray(Emitter&, llvm::Type*, int count);
  void put(llvm::Value* index, llvm::Value* v);
  llvm::Value* get(llvm::Value* index);

 private:
  llvm::Value* place(llvm::Value* index);
  Emitter* e_;
  llvm::Type* type_;
  llvm::AllocaInst* all_;
  llvm::Align each_;
};

/// A counted loop: begin; while (iv < end) { body; iv += step }. `carried` holds values that go around: the body reads
/// and replaces its entries, afterwards they are the final values. The builder ends behind the loop.
void emit_loop(Emitter&, llvm::Value* begin, llvm::Value* end, llvm::Value* step, std::vector<llvm::Value*>& carried,
               const std::function<void(llvm::Value* iv)>& body, const char* name);
/// The same, of nothing that goes around; asked behind the body, which is one block then where it has no branches
/// itself: code made with little effort keeps its values in registers within a block alone.
void emit_runs(Emitter&, llvm::Value* begin, llvm::Value* end, llvm::Value* step,
               const std::function<void(llvm::Value* iv)>& body, const char* name);
/// The body only where `condition` (an i1) holds; otherwise `other`, when there is one.
void emit_if(Emitter&, llvm::Value* condition, const std::function<void()>& body,
             const std::function<void()>& other = nullptr);

}  // namespace reprise::jit
