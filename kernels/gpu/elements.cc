// Random numbers, and writes at computed indices: scatter, scatter_add, index_put.
#include <algorithm>
#include <cstring>

#include "kernels/gpu/rules.h"
#include "kernels/reference/native_launches.h"

namespace reprise::kernels {

using graph::OpId;

namespace {

std::uint32_t all_dims(std::size_t rank) { return (1u << rank) - 1; }
std::int64_t number_of(DType t) { return static_cast<std::int64_t>(t); }

Layout at_least_1d(Layout l) {
  if (l.dim() == 0) l.sizes.push_back(1), l.strides.push_back(1);
  return l;
}

device::Dim3 grid_of_first(const std::int64_t* ints) { return grid_of(blocks_for(ints[0], kElementThreads)); }

Int bits_of(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// out = self, unless they are one memory already.
void add_copy(const Operand& self, const Operand& out, std::vector<GpuLaunch>& launches) {
  if (self.buffer == out.buffer && same_layout(self.layout, out.layout)) return;
  GpuWalkDims walk(out.layout.sizes, {self.layout.strides, out.layout.strides}, all_dims(out.layout.sizes.size()));
  GpuLaunchBuilder l(kGpuCopy, {number_of(out.dtype), walk.dims()}, grid_of_first);
  l.buffer(self.buffer).buffer(out.buffer, true);
  l.ints({walk.count(), self.layout.offset, out.layout.offset});
  walk.add_to(l);
  launches.push_back(std::move(l.launch));
}

// The generator's state changes with each call, launches do not: it goes through memory.
void write_state(const NativeArgs& a) {
  auto* to = reinterpret_cast<std::int64_t*>(a.tensors[0].data);
  to[0] = a.ints[0], to[1] = a.ints[1];
}

GpuLaunches random(const GpuContext& cx, std::vector<Launch>& before, bool normal) {
  const Operand& out = cx.operands.back();
  if (normal && out.dtype == DType::Float64) return std::nullopt;
  Operand state = random_state(cx, std::get<Int>(cx.node.args[3]), std::get<Int>(cx.node.args[4]), before);
  GpuWalkDims walk(out.layout.sizes, {out.layout.strides}, all_dims(out.layout.sizes.size()));
  GpuLaunchBuilder l(kGpuRandom, {number_of(out.dtype), normal ? 1 : 0, walk.dims()}, grid_of_first);
  l.buffer(state.buffer).buffer(out.buffer, true);
  l.ints({walk.count(), out.layout.offset});
  walk.add_to(l);
  return std::vector<GpuLaunch>{std::move(l.launch)};
}

GpuLaunches scatter(const GpuContext& cx, std::vector<Launch>& before, bool add) {
  const Operand &self = cx.operands[0], &indices = cx.operands[1], &result = cx.operands.back();
  bool number = cx.operands.size() == 3;
  DType t = result.dtype;
  Layout index = at_least_1d(indices.layout), out = at_least_1d(result.layout);
  std::int64_t d = std::get<Int>(cx.node.args[1]).hint();
  int dim = static_cast<int>(d < 0 ? d + out.dim() : d);
  GpuScatter mode = add ? GpuScatter::Add : number ? GpuScatter::Number : GpuScatter::Set;
  // One line of floats would be one thread's work.
  if (t == DType::Bool || (add && !adds_atomically(t) && out.dim() == 1)) return std::nullopt;
  Int value = 0;
  if (number) {
    const auto* s = std::get_if<Scalar>(&cx.node.args[3]);
    Scalar given = s ? *s : Scalar(std::get<Int>(cx.node.args[3]));
    if (is_floating(t) != given.is_float()) {
      if (given.is_float() || given.is_symbolic()) return std::nullopt;
      value = bits_of(given.to_double());
    } else {
      value = given.word();
    }
  }
  before.push_back(check_index_launch(indices, self.layout.dim() ? self.layout.sizes[dim] : Int(1), dim, false,
                                      cx.node.loc, "scatter_check"));
  std::vector<GpuLaunch> launches;
  add_copy(self, result, launches);

  std::vector<Ints> strides{index.strides};
  Layout src;
  if (!number) src = at_least_1d(cx.operands[2].layout), strides.push_back(src.strides);
  strides.push_back(out.strides);
  GpuWalkDims lines(index.sizes, strides, all_dims(index.sizes.size()) & ~(1u << dim));
  bool serial = add && !adds_atomically(t);
  GpuLaunchBuilder l(
      kGpuScatter, {number_of(t), number_of(indices.dtype), static_cast<std::int64_t>(mode), lines.dims()},
      serial ? grid_of_first : [](const std::int64_t* i) { return grid_of(blocks_for(i[0] * i[1], kElementThreads)); });
  l.buffer(indices.buffer);
  if (!number) l.buffer(cx.operands[2].buffer);
  l.buffer(result.buffer, true);
  l.ints({lines.count(), index.sizes[dim], index.offset});
  if (!number) l.ints({src.offset});
  l.ints({out.offset, index.strides[dim]});
  if (!number) l.ints({src.strides[dim]});
  l.ints({out.strides[dim]});
  if (number) l.ints({value});
  lines.add_to(l);
  launches.push_back(std::move(l.launch));
  return launches;
}

/// Strides of `l` over dims `sizes`, aligned from the right; 0 where it has none or is broadcast.
Ints strides_over(const Layout& l, std::size_t rank) {
  Ints r;
  for (std::size_t d = 0; d < rank; ++d) {
    std::ptrdiff_t own = static_cast<std::ptrdiff_t>(d) - static_cast<std::ptrdiff_t>(rank - l.sizes.size());
    r.push_back(own < 0 || known_as(l.sizes[static_cast<std::size_t>(own)], 1)
                    ? Int(0)
                    : l.strides[static_cast<std::size_t>(own)]);
  }
  return r;
}

GpuLaunches index_put(const GpuContext& cx, std::vector<Launch>& before) {
  const Operand &self = cx.operands[0], &values = cx.operands[cx.operands.size() - 2], &result = cx.operands.back();
  const auto& given = std::get<std::vector<graph::ValueId>>(cx.node.args[1]);
  bool add = std::get<bool>(cx.node.args[3]);
  const Layout& out = result.layout;
  DType t = result.dtype;
  if (t == DType::Bool) return std::nullopt;
  std::vector<int> dims;  // that are indexed
  for (std::size_t d = 0; d < given.size(); ++d)
    if (given[d]) dims.push_back(static_cast<int>(d));
  if (dims.empty() || (add && !adds_atomically(t) && static_cast<int>(dims.size()) == out.dim())) return std::nullopt;
  bool adjacent = dims.back() - dims.front() + 1 == static_cast<int>(dims.size());
  int place = adjacent ? dims.front() : 0;

  Ints common;  // the index tensors' broadcast sizes
  for (std::size_t k = 0; k < dims.size(); ++k) {
    const Ints& s = cx.operands[1 + k].layout.sizes;
    while (common.size() < s.size()) common.insert(common.begin(), Int(1));
    for (std::size_t d = 0; d < s.size(); ++d) {
      Int& c = common[common.size() - s.size() + d];
      if (!known_as(s[d], 1)) c = s[d];
    }
  }
  // The walk as the result of index() would have its dims.
  Ints sizes, of_out;
  std::uint32_t position_dims = 0;
  for (int d = 0; d <= out.dim(); ++d) {
    if (d == place)
      for (const Int& c : common) position_dims |= 1u << sizes.size(), sizes.push_back(c), of_out.push_back(0);
    if (d == out.dim() || (static_cast<std::size_t>(d) < given.size() && given[static_cast<std::size_t>(d)])) continue;
    sizes.push_back(out.sizes[d]), of_out.push_back(out.strides[d]);
  }
  if (sizes.size() > static_cast<std::size_t>(kMaxRank)) return std::nullopt;
  Ints of_values = strides_over(values.layout, sizes.size());

  for (std::size_t k = 0; k < dims.size(); ++k)
    before.push_back(check_index_launch(cx.operands[1 + k], self.layout.sizes[dims[k]], dims[k], true, cx.node.loc,
                                        "index_put_check"));
  std::vector<GpuLaunch> launches;
  add_copy(self, result, launches);

  std::vector<Ints> of_index;
  for (std::size_t k = 0; k < dims.size(); ++k)
    of_index.push_back(strides_over(cx.operands[1 + k].layout, common.size()));
  GpuWalkDims index_walk(common, of_index, all_dims(common.size()));
  Int positions = index_walk.count();
  std::uint32_t to = cx.scratch(DType::Int64, Int::max(1, positions) * 8);
  std::vector<std::int64_t> code;
  for (std::size_t k = 0; k < dims.size(); ++k) code.push_back(number_of(cx.operands[1 + k].dtype));
  code.push_back(index_walk.dims());
  GpuLaunchBuilder offsets(kGpuIndexOffsets, code, grid_of_first);
  for (std::size_t k = 0; k < dims.size(); ++k) offsets.buffer(cx.operands[1 + k].buffer);
  offsets.buffer(to, true);
  offsets.ints({positions});
  for (std::size_t k = 0; k < dims.size(); ++k)
    offsets.ints({cx.operands[1 + k].layout.offset, out.sizes[dims[k]], out.strides[dims[k]]});
  index_walk.add_to(offsets);
  launches.push_back(std::move(offsets.launch));

  if (!add && !known_at_most(positions, 1)) {
    std::uint32_t last = cx.scratch(DType::Int64, Int::max(1, positions) * 8);
    GpuLaunchBuilder l(kGpuIndexLast, {}, grid_of_first);
    l.buffer(to).buffer(last, true);
    l.ints({positions});
    launches.push_back(std::move(l.launch));
    to = last;
  }
  GpuWalkDims position_walk(sizes, {of_values}, position_dims),
      lines(sizes, {of_values, of_out}, all_dims(sizes.size()) & ~position_dims);
  bool serial = add && !adds_atomically(t);
  GpuLaunchBuilder put(
      kGpuIndexPut, {number_of(t), add ? 1 : 0, position_walk.dims(), lines.dims()},
      serial ? [](const std::int64_t* i) { return grid_of(i[0] ? blocks_for(i[1], kElementThreads) : 0); }
             : [](const std::int64_t* i) { return grid_of(blocks_for(i[0] * i[1], kElementThreads)); });
  put.buffer(to).buffer(values.buffer).buffer(result.buffer, true);
  put.ints({positions, lines.count(), values.layout.offset, out.offset});
  position_walk.add_to(put), lines.add_to(put);
  launches.push_back(std::move(put.launch));
  return launches;
}

}  // namespace

void host_writes_first(Lowered& l) {
  std::stable_partition(l.launches.begin(), l.launches.end(), [](const Launch& launch) {
    const auto* native = std::get_if<NativeLaunch>(&launch.what);
    return native && native->fn == write_state;
  });
}

Operand random_state(const GpuContext& cx, Int seed, Int offset, std::vector<Launch>& before) {
  Operand state{cx.scratch(DType::Int64, 16), DType::Int64, {{2}, {1}, 0}, true};
  NativeLaunch write;
  write.fn = write_state;
  write.operands = {state};
  write.ints = {seed, offset};
  write.n_results = 1;
  before.push_back({std::move(write), "random_state", cx.node.loc, false, {}});
  return state;
}

GpuLaunches gpu_rand(const GpuContext& cx, std::vector<Launch>& before) { return random(cx, before, false); }
GpuLaunches gpu_randn(const GpuContext& cx, std::vector<Launch>& before) { return random(cx, before, true); }
GpuLaunches gpu_scatter(const GpuContext& cx, std::vector<Launch>& before) { return scatter(cx, before, false); }
GpuLaunches gpu_scatter_add(const GpuContext& cx, std::vector<Launch>& before) { return scatter(cx, before, true); }
GpuLaunches gpu_index_put(const GpuContext& cx, std::vector<Launch>& before) { return index_put(cx, before); }

}  // namespace reprise::kernels
