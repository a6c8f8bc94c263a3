// Draws by weights.
#include "kernels/gpu/rules.h"
#include "kernels/reference/native_launches.h"

namespace reprise::kernels {

namespace {

/// Weights and what is drawn as [rows, n].
Layout as_rows(const Layout& l) {
  if (l.dim() == 2) return l;
  return {{1, l.sizes[0]}, {0, l.strides[0]}, l.offset};
}

}  // namespace

GpuLaunches gpu_multinomial(const GpuContext& cx, std::vector<Launch>& before) {
  const Operand &given = cx.operands[0], &result = cx.operands[1];
  const Layout x = as_rows(given.layout), out = as_rows(result.layout);
  const Int rows = x.sizes[0], n = x.sizes[1], samples = out.sizes[1];
  const bool replacement = std::get<bool>(cx.node.args[2]);
  before.push_back(check_weights_launch(given, replacement ? Int(1) : samples, cx.node.info.loc, "multinomial_check"));
  const Int seed = std::get<Int>(cx.node.args[3]), first = std::get<Int>(cx.node.args[4]);
  // Running sums, or times of arrival.
  const Operand made{cx.scratch(DType::Float64, rows * n * 8), DType::Float64, {{rows, n}, {n, 1}, 0}, true};
  const bool may_be_single = replacement || !known_above(samples, 1),
             may_be_several = !replacement && !known_as(samples, 1);

  std::vector<GpuLaunch> launches;
  if (may_be_single) {
    const Operand weights{given.buffer, given.dtype, x, false};
    // Several samples without replacement are made otherwise.
    const Int single = replacement ? Int(1) : where_is(samples, 1);
    launches.push_back(cumsum_launch(weights, made, 1, single));
    LaunchOf l(gpu::Draw{given.dtype});
    l->rows = rows, l->n = n, l->samples = samples, l->seed = seed, l->first = first;
    l->weights = given, l->running = made, l->out = result;
    l->weights_offset = x.offset, l->weights_row = x.strides[0], l->weights_step = x.strides[1];
    l->out_offset = out.offset, l->out_row = out.strides[0], l->out_step = out.strides[1];
    launches.push_back(l.in(blocks_for(rows * samples, kElementThreads) * where_more(n, 0) * single));
  }
  if (may_be_several) {
    LaunchOf l(gpu::Arrivals{given.dtype});
    l->rows = rows, l->n = n, l->samples = samples, l->seed = seed, l->first = first;
    l->weights = given, l->times = made;
    l->weights_offset = x.offset, l->weights_row = x.strides[0], l->weights_step = x.strides[1];
    launches.push_back(l.in(blocks_for(rows * n, kElementThreads) * (1 - where_is(samples, 1))));
    const Operand times{
        cx.scratch(DType::Float64, rows * samples * 8), DType::Float64, {{rows, samples}, {samples, 1}, 0}, true};
    const Operand drawn{result.buffer, result.dtype, out, true};
    launches.push_back(order_launch(cx, made, times, drawn, 1, samples * Int::min(samples - 1, 1), false));
  }
  return launches;
}

}  // namespace reprise::kernels
