#include "kernels/gpu/launches.h"

#include <algorithm>

#include "kernels/gpu/rules.h"

namespace reprise::kernels {

using graph::OpId;

namespace {

constinit graph::OpColumn<GpuRule> g_column("kernels of devices",
                                            {
                                                {OpId::mm, gpu_matmul},
                                                {OpId::bmm, gpu_matmul},
                                                {OpId::linear, gpu_matmul},
                                                {OpId::int_mm, gpu_scaled},
                                                {OpId::scaled_mm, gpu_scaled},
                                                {OpId::scaled_dot_product_attention, gpu_attention},
                                                {OpId::argmax, gpu_argmax},
                                                {OpId::argmin, gpu_argmin},
                                                {OpId::cumsum, gpu_cumsum},
                                                {OpId::topk, gpu_topk},
                                                {OpId::sort, gpu_sort},
                                                {OpId::rand, gpu_rand},
                                                {OpId::randn, gpu_randn},
                                                {OpId::multinomial, gpu_multinomial},
                                                {OpId::scatter, gpu_scatter},
                                                {OpId::scatter_add, gpu_scatter_add},
                                                {OpId::index_put, gpu_index_put},
                                            });

}  // namespace

graph::OpColumn<GpuRule>& gpu_rules() { return g_column; }

std::vector<bool> words_of(const GpuLaunch& l) {
  std::vector<bool> words{l.blocks.is_symbolic()};
  for (const Int& i : l.ints) words.push_back(i.is_symbolic());
  return words;
}

std::optional<std::vector<Launch>> gpu_launches(const GpuContext& cx) {
  std::vector<Launch> out;
  const GpuRule* rule = g_column.find(cx.node.op);
  GpuLaunches made = rule ? (*rule)(cx, out) : std::nullopt;
  if (!made) return std::nullopt;
  for (const Operand& o : cx.operands) {
    const auto has_it = std::find_if(made->begin(), made->end(), [&](const GpuLaunch& l) {
      return std::find(l.buffers.begin(), l.buffers.end(), o.buffer) != l.buffers.end();
    });
    if (has_it != made->end()) has_it->operands.push_back(o);
  }
  for (GpuLaunch& l : *made) out.push_back({std::move(l), "", cx.node.info.loc, false, {}});
  std::string name(graph::op(cx.node.op).name());
  for (Launch& l : out) {
    if (l.name.empty()) l.name = name;
    l.op = name;
  }
  return out;
}

}  // namespace reprise::kernels
