#include "jit/grid_kernels.h"

#include <string_view>

#include "base/errors.h"
#include "jit/grid.h"

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
};

}  // namespace

device::ImagePtr compile_grid(const kernels::MicroKernelSpec& spec, const device::CodeTarget& target) {
  for (const Kind& kind : kKinds) {
    if (kind.name != spec.kind) continue;
    std::string key = "grid " + spec.kind;
    for (std::int64_t p : spec.params) key += " " + std::to_string(p);
    return compile_grid_module(key, target, [&](GridModule& m) { kind.emit(m, spec.params); });
  }
  fail(ErrorCode::Internal, "jit", {}, "no grid kernel of kind '", spec.kind, "'");
}

}  // namespace reprise::jit
