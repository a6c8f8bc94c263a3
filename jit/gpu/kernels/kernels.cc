#include "jit/gpu/kernels/kernels.h"

#include <algorithm>

#include "base/errors.h"
#include "jit/gpu/kernels/compile.h"

namespace reprise::jit {

namespace {

/// Emits code of one of these kinds. False where it is of none.
template <class... Kinds>
bool emit_any(GpuModule& m, const kernels::KernelCode& code) {
  return ((code.as<Kinds>() && (emit(m, *code.as<Kinds>()), true)) || ...);
}

}  // namespace

Vs offsets(const Vs& sizes, const std::vector<const Vs*>& strides, V index) {
  Vs r(strides.size());
  V rest = index;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    V i = d ? rest % sizes[d] : rest;
    if (d) rest = rest / sizes[d];
    for (std::size_t t = 0; t < r.size(); ++t) r[t] = r[t].v ? r[t] + i * (*strides[t])[d] : i * (*strides[t])[d];
  }
  return r;
}

V thread_of_all(GpuCode& g) { return g.block_id * kernels::kElementThreads + g.i64(g.tid); }

V order_key(GpuCode& g, DType t, const V& x) {
  if (!is_floating(t)) return item_size(t) == 8 ? x : g.convert(t, DType::Int32, x);
  int top = t == DType::Float64 ? 63 : 31;
  V zeroless = x + 0.0;  // -0.0 + 0.0 is 0.0
  V bits = g.wrap(g.bits(zeroless.v));
  V most = g.wrap(g.b.CreateLShr(llvm::ConstantInt::getAllOnesValue(bits.v->getType()), 1));
  V sign = g.wrap(g.b.CreateAShr(bits.v, static_cast<std::uint64_t>(top)));
  return g.select(x != x, most, bits ^ (sign & most));
}

device::ImagePtr compile_gpu(const kernels::KernelCode& code, const device::CodeTarget& target, bool guarded,
                             const std::vector<bool>& words) {
  std::string of_words;
  if (std::find(words.begin(), words.end(), true) != words.end()) {
    of_words = " words ";
    for (bool w : words) of_words += w ? '1' : '0';
  }
  return compile_gpu_module("gpu " + code.text() + (guarded ? " guarded" : "") + of_words, target, [&](GpuModule& m) {
    m.guarded = guarded;
    m.grid_word = !words.empty() && words[0];
    if (!words.empty()) m.words.assign(words.begin() + 1, words.end());
    const bool made =
        emit_any<gpu::ProductTiles, gpu::ProductDot, gpu::ProductStrip, gpu::ProductSum, gpu::ProductJoined,
                 gpu::ScaledTiles, gpu::ScaledDot, gpu::AttentionTiles, gpu::AttentionPart, gpu::ArgReduce, gpu::Cumsum,
                 gpu::Order, gpu::CheckIndex, gpu::CheckWeights, gpu::CopyElements, gpu::Random, gpu::Draw,
                 gpu::Arrivals, gpu::Scatter, gpu::IndexOffsets, gpu::IndexLast, gpu::IndexPut>(m, code);
    if (!made) fail(ErrorCode::Internal, "jit", {}, "no kernel of devices of kind '", code.kind(), "'");
  });
}

}  // namespace reprise::jit
