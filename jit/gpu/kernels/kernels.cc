#include "jit/gpu/kernels/kernels.h"

#include <string_view>

#include "base/errors.h"
#include "jit/gpu/kernels/compile.h"

namespace reprise::jit {

namespace {

struct Kind {
  std::string_view name;
  void (*emit)(GridModule&, const GridParams&);
};
constexpr Kind kKinds[] = {
    {kernels::kGridProduct, emit_product},
    {kernels::kGridProductDot, emit_product_dot},
    {kernels::kGridProductSum, emit_product_sum},
    {kernels::kGridAttention, emit_attention},
    {kernels::kGridAttentionPart, emit_attention_part},
    {kernels::kGridAttentionJoin, emit_attention_join},
    {kernels::kGridArgReduce, emit_arg_reduce},
    {kernels::kGridCumsum, emit_cumsum},
    {kernels::kGridOrder, emit_order},
    {kernels::kGridCheckIndex, emit_check_index},
    {kernels::kGridCheckWeights, emit_check_weights},
    {kernels::kGridCopy, emit_copy},
    {kernels::kGridRandom, emit_random},
    {kernels::kGridArrivals, emit_arrivals},
    {kernels::kGridDraw, emit_draw},
    {kernels::kGridScatter, emit_scatter},
    {kernels::kGridIndexOffsets, emit_index_offsets},
    {kernels::kGridIndexLast, emit_index_last},
    {kernels::kGridIndexPut, emit_index_put},
};

}  // namespace

Vs GridWalk::offsets(V index) const {
  Vs r(strides.size());
  V rest = index;
  for (std::size_t d = sizes.size(); d-- > 0;) {
    V i = d ? rest % sizes[d] : rest;
    if (d) rest = rest / sizes[d];
    for (std::size_t t = 0; t < r.size(); ++t) r[t] = r[t].v ? r[t] + i * strides[t][d] : i * strides[t][d];
  }
  return r;
}

V thread_of_grid(GridCode& g) { return g.block_id * kernels::kElementThreads + g.i64(g.tid); }

V order_key(GridCode& g, DType t, const V& x) {
  if (!is_floating(t)) return item_size(t) == 8 ? x : g.convert(t, DType::Int32, x);
  int top = t == DType::Float64 ? 63 : 31;
  V zeroless = x + 0.0;  // -0.0 + 0.0 is 0.0
  V bits = g.wrap(g.bits(zeroless.v));
  V most = g.wrap(g.b.CreateLShr(llvm::ConstantInt::getAllOnesValue(bits.v->getType()), 1));
  V sign = g.wrap(g.b.CreateAShr(bits.v, static_cast<std::uint64_t>(top)));
  return g.select(x != x, most, bits ^ (sign & most));
}

device::ImagePtr compile_grid(const kernels::MicroKernelSpec& spec, const device::CodeTarget& target, bool guarded) {
  for (const Kind& kind : kKinds) {
    if (kind.name != spec.kind) continue;
    std::string key = "grid " + spec.kind;
    for (std::int64_t p : spec.params) key += " " + std::to_string(p);
    if (guarded) key += " guarded";
    return compile_grid_module(key, target, [&](GridModule& m) {
      m.guarded = guarded;
      kind.emit(m, spec.params);
    });
  }
  fail(ErrorCode::Internal, "jit", {}, "no grid kernel of kind '", spec.kind, "'");
}

}  // namespace reprise::jit
