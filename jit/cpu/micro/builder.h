#pragma once
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <vector>

#include "kernels/cpu/micro_kernels.h"

namespace reprise::jit {

/// Emits the function of a micro-kernel into `m` under `name`. Throws Error(Internal) for an unknown kind.
llvm::Function* emit_micro_kernel(llvm::Module& m, const kernels::MicroKernelSpec& spec, const std::string& name);

/// What the micro-kernel emitters share: one function, vectors of the accumulator's dtype, conversions at loads and
/// stores (half types exist in memory only), masks for what is left over, loops with carried values.
class MicroBuilder {
 public:
  using Values = std::vector<llvm::Value*>;

  /// `params`: 'p' pointer, 'i' 64-bit integer, 'f' float.
  MicroBuilder(llvm::Module& m, const std::string& name, const char* params, int bits, DType acc);
  llvm::Function* finish();

  llvm::IRBuilder<> b;
  llvm::Function* fn;
  int bits, lanes;
  DType acc;
  llvm::Type* elem;  ///< of an accumulator
  llvm::FixedVectorType* vec;

  llvm::Value* arg(unsigned i) { return fn->getArg(i); }
  llvm::Value* i64(std::int64_t v) { return b.getInt64(static_cast<std::uint64_t>(v)); }
  llvm::Value* zero() { return llvm::Constant::getNullValue(vec); }
  llvm::Value* splat(llvm::Value* x) { return b.CreateVectorSplat(static_cast<unsigned>(lanes), x); }
  llvm::Value* constant(double v) { return llvm::ConstantFP::get(vec, v); }
  /// The address of element `index` of an array of `t`.
  llvm::Value* at(llvm::Value* p, DType t, llvm::Value* index);
  llvm::Value* min(llvm::Value* x, llvm::Value* y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  llvm::Value* fma(llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  }
  /// Lanes l < n (n may be anything).
  llvm::Value* mask_below(llvm::Value* n);
  /// `lanes` elements of `t`, widened; lanes outside `mask` (null: all) are 0 and not touched in memory.
  llvm::Value* load(DType t, llvm::Value* p, llvm::Value* mask = nullptr);
  /// All elements of `v` (any number), rounded once to `t`.
  void store(DType t, llvm::Value* v, llvm::Value* p, llvm::Value* mask = nullptr);
  /// One accumulator-typed element in all lanes.
  llvm::Value* load_splat(llvm::Value* p) { return splat(b.CreateAlignedLoad(elem, p, llvm::Align(item_size(acc)))); }
  llvm::Value* shuffle(llvm::Value* x, llvm::Value* y, const std::vector<int>& m) {
    return b.CreateShuffleVector(x, y, m);
  }
  /// for (i = begin; i < end; i += step) carried = body(i, carried); tested at the bottom. Returns the last carried.
  Values loop(llvm::Value* begin, llvm::Value* end, std::int64_t step, Values carried,
              const std::function<Values(llvm::Value*, Values)>& body);
  /// One value in every lane: op over all lanes, as a fixed tree.
  llvm::Value* fold(llvm::Value* v, const std::function<llvm::Value*(llvm::Value*, llvm::Value*)>& op);
  /// exp in every lane, Float32, error below 2 units in the last place; -inf gives 0, NaN stays.
  llvm::Value* exp(llvm::Value* x);

 private:
  llvm::FixedVectorType* of(llvm::Type* t) { return llvm::FixedVectorType::get(t, static_cast<unsigned>(lanes)); }
};

llvm::Function* emit_gemm(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);
llvm::Function* emit_gemv_dot(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);
llvm::Function* emit_gemv_sum(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);
llvm::Function* emit_convert(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);
llvm::Function* emit_transpose(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);
llvm::Function* emit_softmax(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);
llvm::Function* emit_scale(llvm::Module&, const std::string&, const std::vector<std::int64_t>&);

}  // namespace reprise::jit
