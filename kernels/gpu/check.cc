// Checks of values as kernels of the device.
#include "kernels/gpu/rules.h"
#include "kernels/reference/native_launches.h"

namespace reprise::kernels {

namespace {

GpuLaunch indices_kernel(const NativeLaunch& check, std::uint32_t record, std::int64_t number, bool first) {
  const Operand& index = check.operands[0];
  GpuWalkDims walk(index.layout.sizes, {index.layout.strides}, (1u << index.layout.sizes.size()) - 1);
  const Int extent = check.ints[0], wraps = check.ints[2], n = walk.count();
  LaunchOf l(gpu::CheckIndex{index.dtype, wraps.hint() != 0, walk.dims(),
                             known_at_most(n, kCheckFewThreads) ? kCheckFewThreads : kCheckThreads});
  l->n = n, l->extent = extent, l->number = number, l->first = first ? 1 : 0;
  l->sizes = walk.sizes_told();
  l->index = {.buffer = index, .offset = index.layout.offset, .strides = walk.strides_told(0)};
  l->record = record;
  return l.in(1);
}

GpuLaunch weights_kernel(const NativeLaunch& check, std::uint32_t record, std::int64_t number, bool first) {
  const Operand& weights = check.operands[0];
  const Layout& w = weights.layout;
  const bool rows = w.dim() == 2;
  LaunchOf l(gpu::CheckWeights{weights.dtype});
  l->rows = rows ? w.sizes[0] : Int(1), l->n = w.sizes.back(), l->wanted = check.ints[0];
  l->number = number, l->first = first ? 1 : 0;
  l->weights = weights, l->offset = w.offset, l->row_step = rows ? w.strides[0] : Int(0), l->step = w.strides.back();
  l->record = record;
  return l.in(1);
}

bool writes_input(const Lowered& l, const Launch& launch) {
  bool does = false;
  for_each_use(launch, [&](std::uint32_t b, bool, bool written) {
    does = does || (written && l.buffers[b].kind == Buffer::Kind::Input);
  });
  return does;
}

bool writes_at_indices(const Launch& launch) {
  const auto* launched = std::get_if<GpuLaunch>(&launch.what);
  return launched && (launched->code.as<gpu::Scatter>() || launched->code.as<gpu::IndexPut>());
}

}  // namespace

void check_on_device(Lowered& l) {
  std::optional<std::uint32_t> record;
  for (std::size_t i = 0; i < l.launches.size(); ++i) {
    Launch& launch = l.launches[i];
    if (std::optional<ValueCheck> check = value_check(launch)) {
      const bool first = !record;
      if (first) {
        record = static_cast<std::uint32_t>(l.buffers.size());
        l.buffers.push_back({Buffer::Kind::Temp, 0, DType::Int64, kFaultRecord * 8});
      }
      const NativeLaunch host = std::get<NativeLaunch>(launch.what);
      const auto kernel = check->of == ValueCheck::Of::Indices ? indices_kernel : weights_kernel;
      GpuLaunch made = kernel(host, *record, static_cast<std::int64_t>(i) + 1, first);
      made.operands = {host.operands[0]};
      launch.what = std::move(made);
      launch.check = std::move(check);
    } else if (record && !std::holds_alternative<NativeLaunch>(launch.what) &&
               (writes_input(l, launch) || writes_at_indices(launch))) {
      launch.guard = record;
    }
  }
  l.fault_record = record;
}

}  // namespace reprise::kernels
