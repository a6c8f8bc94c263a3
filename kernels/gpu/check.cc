// Checks of values as kernels of the device.
#include "kernels/gpu/rules.h"
#include "kernels/reference/native_launches.h"

namespace reprise::kernels {

namespace {

device::Dim3 one_block(const std::int64_t*) { return grid_of(1); }

GpuLaunch indices_kernel(const NativeLaunch& check, std::uint32_t record, std::int64_t number, bool first) {
  const Operand& index = check.operands[0];
  GpuWalkDims walk(index.layout.sizes, {index.layout.strides}, (1u << index.layout.sizes.size()) - 1);
  const Int extent = check.ints[0], wraps = check.ints[2], n = walk.count();
  GpuLaunchBuilder l(kGpuCheckIndex,
                      {static_cast<std::int64_t>(index.dtype), wraps.hint(), walk.dims(), known_at_most(n, kCheckFewThreads) ? kCheckFewThreads : kCheckThreads},
                      one_block);
  l.buffer(index.buffer).buffer(record, true);
  l.ints({n, extent, number, first ? 1 : 0, index.layout.offset});
  walk.add_to(l);
  return std::move(l.launch);
}

GpuLaunch weights_kernel(const NativeLaunch& check, std::uint32_t record, std::int64_t number, bool first) {
  const Operand& weights = check.operands[0];
  const Layout& l = weights.layout;
  const bool rows = l.dim() == 2;
  GpuLaunchBuilder b(kGpuCheckWeights, {static_cast<std::int64_t>(weights.dtype)}, one_block);
  b.buffer(weights.buffer).buffer(record, true);
  b.ints({rows ? l.sizes[0] : Int(1), l.sizes.back(), check.ints[0], number, first ? 1 : 0, l.offset, rows ? l.strides[0] : Int(0), l.strides.back()});
  return std::move(b.launch);
}

bool writes_input(const Lowered& l, const Launch& launch) {
  bool does = false;
  for_each_use(launch, [&](std::uint32_t b, bool, bool written) { does = does || (written && l.buffers[b].kind == Buffer::Kind::Input); });
  return does;
}

bool writes_at_indices(const Launch& launch) {
  const auto* gpu = std::get_if<GpuLaunch>(&launch.what);
  return gpu && (gpu->code.kind == kGpuScatter || gpu->code.kind == kGpuIndexPut);
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
      launch.what = kernel(host, *record, static_cast<std::int64_t>(i) + 1, first);
      launch.check = std::move(check);
    } else if (record && !std::holds_alternative<NativeLaunch>(launch.what) && (writes_input(l, launch) || writes_at_indices(launch))) {
      launch.guard = record;
    }
  }
  l.fault_record = record;
}

}  // namespace reprise::kernels
