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
  const std::int64_t dtype = static_cast<std::int64_t>(given.dtype);
  before.push_back(check_weights_launch(given, replacement ? Int(1) : samples, cx.node.loc, "multinomial_check"));
  const Operand state = random_state(cx, std::get<Int>(cx.node.args[3]), std::get<Int>(cx.node.args[4]), before);
  // Running sums, or times of arrival.
  const Operand made{cx.scratch(DType::Float64, rows * n * 8), DType::Float64, {{rows, n}, {n, 1}, 0}, true};
  const bool may_be_single = replacement || !known_above(samples, 1), may_be_several = !replacement && !known_as(samples, 1);

  std::vector<GpuLaunch> launches;
  if (may_be_single) {
    const Operand weights{given.buffer, given.dtype, x, false};
    GpuLaunch running = cumsum_launch(weights, made, 1);
    // Of several samples without replacement it has no rows to do.
    if (may_be_several) running.ints[0] = rows * (2 - Int::min(samples, 2));
    launches.push_back(std::move(running));
    GpuLaunchBuilder l(kGpuDraw, {dtype}, [](const std::int64_t* i) {
      return grid_of(i[1] == 0 || (i[3] && i[2] != 1) ? 0 : blocks_for(i[0] * i[2], kElementThreads));
    });
    l.buffer(state.buffer).buffer(given.buffer).buffer(made.buffer).buffer(result.buffer, true);
    l.ints({rows, n, samples, replacement ? 0 : 1, x.offset, x.strides[0], x.strides[1], out.offset, out.strides[0], out.strides[1]});
    launches.push_back(std::move(l.launch));
  }
  if (may_be_several) {
    GpuLaunchBuilder l(kGpuArrivals, {dtype}, [](const std::int64_t* i) {
      return grid_of(i[2] == 1 ? 0 : blocks_for(i[0] * i[1], kElementThreads));
    });
    l.buffer(state.buffer).buffer(given.buffer).buffer(made.buffer, true);
    l.ints({rows, n, samples, x.offset, x.strides[0], x.strides[1]});
    launches.push_back(std::move(l.launch));
    const Operand times{cx.scratch(DType::Float64, rows * samples * 8), DType::Float64, {{rows, samples}, {samples, 1}, 0}, true};
    const Operand drawn{result.buffer, result.dtype, out, true};
    launches.push_back(order_launch(cx, made, times, drawn, 1, samples * Int::min(samples - 1, 1), false));
  }
  return launches;
}

}  // namespace reprise::kernels
