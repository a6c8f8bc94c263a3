#pragma once
#include <type_traits>
#include <vector>

#include "jit/emit/writer.h"
#include "kernels/cpu/all_micro_kernels.h"

namespace reprise::jit {

/// Writes one micro-kernel: vectors of `lanes` elements of the accumulator's dtype, conversions at loads and stores
/// (half types exist in memory only), masks for what is left over.
class MicroCode : public Emitter, public Writer {
 public:
  /// Stands in the body of a function with the parameters of `K::Fn`.
  template <kernels::KernelKind K>
  MicroCode(EmitContext& cx, const K& code, DType acc) : MicroCode(cx, code.bits, acc, kinds(typename K::Fn())) {}
  void finish() { b.CreateRetVoid(); }

  const int bits, lanes;
  const DType acc;

  V arg(unsigned i) { return wrap(fn_->getArg(i)); }
  /// Of the struct that the first argument points to: what stands at a byte offset.
  V pointer_at(std::size_t offset) { return field(offset, b.getPtrTy()); }
  V integer_at(std::size_t offset) { return field(offset, b.getInt64Ty()); }
  using Writer::i64, Writer::multiply_add;
  V zero() { return wrap(llvm::Constant::getNullValue(vector())); }
  V constant(double x) { return wrap(llvm::ConstantFP::get(vector(), x)); }
  V splat(const V& x) { return wrap(Emitter::splat(x.v, lanes)); }
  /// n & -step: how much of n whole steps (a power of two) are.
  V whole(const V& n, std::int64_t step) { return n & -step; }

  /// The address of element `index` of an array of `t`.
  V at(const V& p, DType t, const V& index) { return wrap(Emitter::at(memory_type(t), p.v, i64(index).v)); }
  /// Lanes l < n (n may be anything), of `lanes` or of `count`.
  V mask_below(const V& n, int count = 0) { return wrap(lane_mask(max(n, 0).v, count ? count : lanes)); }
  /// `lanes` elements of `t`, widened; lanes outside `mask` (none: all) are 0 and not touched in memory.
  V load(DType t, const V& p, const V& mask = {});
  /// All elements of `x` (any number), rounded once to `t`.
  void store(DType t, const V& x, const V& p, const V& mask = {});
  /// One accumulator-typed element in all lanes.
  /// 1 where the pointer is not null, else 0: how often what it is for happens.
  V is_there(const V& p) { return wrap(b.CreateZExt(b.CreateIsNotNull(p.v), b.getInt64Ty())); }
  V load_splat(const V& p) { return load_splat(acc, p); }
  V load_splat(DType t, const V& p) { return splat(wrap(Emitter::load(t, p.v, 0, nullptr))); }
  /// To the caches, from the one of `level` (1: the nearest) on: the line at `p`, which need not be memory of ours.
  void prefetch(const V& p, bool to_write = false, int level = 1);

  /// The lanes of x, then those of y.
  llvm::Value* joined(llvm::Value* x, llvm::Value* y) {
    std::vector<int> all;
    for (int i = 0; i < 2 * lanes_of(x); ++i) all.push_back(i);
    return b.CreateShuffleVector(x, y, all);
  }
  V shuffle(const V& x, const V& y, const std::vector<int>& m) { return wrap(b.CreateShuffleVector(x.v, y.v, m)); }
  /// One value in every lane: op over all lanes, as a fixed tree.
  V fold(V x, const std::function<V(V, V)>& op);

  llvm::Type* vector() { return register_type(acc, lanes); }

 private:
  enum class Kind { Pointer, Integer, Float };
  template <class R, class... P>
  static std::vector<Kind> kinds(R (*)(P...)) {
    return {(std::is_pointer_v<P> ? Kind::Pointer : std::is_same_v<P, float> ? Kind::Float : Kind::Integer)...};
  }
  MicroCode(EmitContext&, int bits, DType acc, const std::vector<Kind>& parameters);
  V field(std::size_t offset, llvm::Type* type);

  llvm::Function* fn_;
};

/// So many vectors on the stack, by number; 0 at first.
class StackedVectors {
 public:
  StackedVectors(MicroCode& g, int count);
  void put(const V& i, const V& x);
  V get(const V& i);

 private:
  MicroCode& g_;
  StackArray all_;
};

/// Folds each of 2^j vectors over its lanes by `op`, a sum where there is none; element i of the result (of as many) is
/// that of vector i. Every vector is folded by the same tree, so a row's result does not depend on its place in the
/// group.
V sum_each(MicroCode& g, Vs v, const std::function<V(V, V)>& op = {});

/// The transpose of `lanes` vectors.
Vs transpose(MicroCode& g, Vs);

/// sums + the products of pairs of bfloat16 in x and y, lane by lane: VDPBF16PS, or the function that stands for it.
V dot_of_halves(MicroCode& g, const V& sums, const V& x, const V& y);

// Emitters of kernels::MicroKernels, whose headers say what they compute and take.
namespace micro = kernels::micro;
void emit(EmitContext&, const micro::Gemm&);
void emit(EmitContext&, const micro::GemvDot&);
void emit(EmitContext&, const micro::GemvSum&);
void emit(EmitContext&, const micro::Convert&);
void emit(EmitContext&, const micro::Transpose&);
void emit(EmitContext&, const micro::PackWindows&);
void emit(EmitContext&, const micro::SumWindows&);
void emit(EmitContext&, const micro::RowTiles&);
void emit(EmitContext&, const micro::Turn&);
void emit(EmitContext&, const micro::DealRows&);
void emit(EmitContext&, const micro::SumChannel&);
void emit(EmitContext&, const micro::SumLanes&);
void emit(EmitContext&, const micro::Strip&);
void emit(EmitContext&, const micro::Softmax&);
void emit(EmitContext&, const micro::Scale&);
void emit(EmitContext&, const micro::IntDot&);
void emit(EmitContext&, const micro::HalfDot&);
void emit(EmitContext&, const micro::BlockDot&);
void emit(EmitContext&, const micro::IntTile&);
void emit(EmitContext&, const micro::ScaleSums&);
void emit(EmitContext&, const micro::UnpackDot&);
void emit(EmitContext&, const micro::Unpack&);
void emit(EmitContext&, const micro::UnpackBytes&);
void emit(EmitContext&, const micro::PackBytes&);
void emit(EmitContext&, const micro::QuantizeRows&);
void emit(EmitContext&, const micro::MultiplyBytes&);
void emit(EmitContext&, const micro::LowTile&);
void emit(EmitContext&, const micro::Interleave&);
void emit(EmitContext&, const micro::Fragment&);

}  // namespace reprise::jit
