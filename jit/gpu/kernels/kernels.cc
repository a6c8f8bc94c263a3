#include "jit/gpu/kernels/kernels.h"

#include <string_view>

#include "base/errors.h"
#include "jit/gpu/kernels/compile.h"

namespace reprise::jit {

namespace {

struct Kind {
  std::string_view name;
  void (*emit)(GpuModule&, const GpuParams&);
};
constexpr Kind kKinds[] = {
    {kernels::kGpuProduct, emit_product},
    {kernels::kGpuProductDot, emit_product_dot},
    {kernels::kGpuProductSum, emit_product_sum},
    {kernels::kGpuAttention, emit_attention},
    {kernels::kGpuAttentionPart, emit_attention_part},
    {kernels::kGpuAttentionJoin, emit_attention_join},
    {kernels::kGpuArgReduce, emit_arg_reduce},
    {kernels::kGpuCumsum, emit_cumsum},
    {kernels::kGpuOrder, emit_order},
    {kernels::kGpuCheckIndex, emit_check_index},
    {kernels::kGpuCheckWeights, emit_check_weights},
    {kernels::kGpuCopy, emit_copy},
    {kernels::kGpuRandom, emit_random},
    {kernels::kGpuArrivals, emit_arrivals},
    {kernels::kGpuDraw, emit_draw},
    {kernels::kGpuScatter, emit_scatter},
    {kernels::kGpuIndexOffsets, emit_index_offsets},
    {kernels::kGpuIndexLast, emit_index_last},
    {kernels::kGpuIndexPut, emit_index_put},
};

}  // namespace

Vs GpuWalk::offsets(V index) const {
  Vs r(strides.size());
  V rest = index;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    V i = d ? rest % sizes[d] : rest;
    if (d) rest = rest / sizes[d];
    for (std::size_t t = 0; t < r.size(); ++t) r[t] = r[t].v ? r[t] + i * strides[t][d] : i * strides[t][d];
  }
  return r;
}

V thread_of_grid(GpuCode& g) { return g.block_id * kernels::kElementThreads + g.i64(g.tid); }

V order_key(GpuCode& g, DType t, const V& x) {
  if (!is_floating(t)) return item_size(t) == 8 ? x : g.convert(t, DType::Int32, x);
  int top = t == DType::Float64 ? 63 : 31;
  V zeroless = x + 0.0;  // -0.0 + 0.0 is 0.0
  V bits = g.wrap(g.bits(zeroless.v));
  V most = g.wrap(g.b.CreateLShr(llvm::ConstantInt::getAllOnesValue(bits.v->getType()), 1));
  V sign = g.wrap(g.b.CreateAShr(bits.v, static_cast<std::uint64_t>(top)));
  return g.select(x != x, most, bits ^ (sign & most));
}

device::ImagePtr compile_gpu(const kernels::MicroKernelSpec& spec, const device::CodeTarget& target, bool guarded) {
  for (const Kind& kind : kKinds) {
    if (kind.name != spec.kind) continue;
    std::string key = "grid " + spec.kind;
    for (std::int64_t p : spec.params) key += " " + std::to_string(p);
    if (guarded) key += " guarded";
    return compile_gpu_module(key, target, [&](GpuModule& m) {
      m.guarded = guarded;
      kind.emit(m, spec.params);
    });
  }
  fail(ErrorCode::Internal, "jit", {}, "no grid kernel of kind '", spec.kind, "'");
}

}  // namespace reprise::jit
