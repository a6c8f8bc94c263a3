// Random numbers, and writes at computed indices: scatter, scatter_add, index_put.
#include <algorithm>
#include <cstring>

#include "kernels/gpu/rules.h"
#include "kernels/reference/native_launches.h"

namespace reprise::kernels {

using graph::OpId;

namespace {

std::uint32_t all_dims(std::size_t rank) { return (1u << rank) - 1; }

Layout at_least_1d(Layout l) {
  if (l.dim() == 0) l.sizes.push_back(1), l.strides.push_back(1);
  return l;
}

Int bits_of(double x) {
  std::int64_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

/// out = self, unless they are one memory already.
void add_copy(const Operand& self, const Operand& out, std::vector<GpuLaunch>& launches) {
  if (self.buffer == out.buffer && same_layout(self.layout, out.layout)) return;
  GpuWalkDims walk(out.layout.sizes, {self.layout.strides, out.layout.strides}, all_dims(out.layout.sizes.size()));
  LaunchOf l(gpu::CopyElements{out.dtype, walk.dims()});
  l->n = walk.count(), l->sizes = walk.sizes_told();
  l->x = {.buffer = self, .offset = self.layout.offset, .strides = walk.strides_told(0)};
  l->y = {.buffer = out, .offset = out.layout.offset, .strides = walk.strides_told(1)};
  launches.push_back(l.in(blocks_for(walk.count(), kElementThreads)));
}

GpuLaunches random(const GpuContext& cx, bool normal) {
  const Operand& out = cx.operands.back();
  if (normal && out.dtype == DType::Float64) return std::nullopt;
  GpuWalkDims walk(out.layout.sizes, {out.layout.strides}, all_dims(out.layout.sizes.size()));
  LaunchOf l(gpu::Random{out.dtype, normal, walk.dims()});
  l->n = walk.count(), l->seed = std::get<Int>(cx.node.args[3]), l->first = std::get<Int>(cx.node.args[4]),
  l->sizes = walk.sizes_told();
  l->out = {.buffer = out, .offset = out.layout.offset, .strides = walk.strides_told(0)};
  return std::vector<GpuLaunch>{l.in(blocks_for(walk.count(), kElementThreads))};
}

GpuLaunches scatter(const GpuContext& cx, std::vector<Launch>& before, bool add) {
  const Operand &self = cx.operands[0], &indices = cx.operands[1], &result = cx.operands.back();
  bool number = cx.operands.size() == 3;
  DType t = result.dtype;
  Layout index = at_least_1d(indices.layout), out = at_least_1d(result.layout);
  std::int64_t d = std::get<Int>(cx.node.args[1]).hint();
  int dim = static_cast<int>(d < 0 ? d + out.dim() : d);
  using Mode = gpu::Scatter::Mode;
  const Mode mode = add ? Mode::Add : number ? Mode::Number : Mode::Set;
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
                                      cx.node.info.loc, "scatter_check"));
  std::vector<GpuLaunch> launches;
  add_copy(self, result, launches);

  std::vector<Ints> strides{index.strides};
  Layout src;
  if (!number) src = at_least_1d(cx.operands[2].layout), strides.push_back(src.strides);
  strides.push_back(out.strides);
  GpuWalkDims lines(index.sizes, strides, all_dims(index.sizes.size()) & ~(1u << dim));
  bool serial = add && !adds_atomically(t);
  LaunchOf l(gpu::Scatter{t, indices.dtype, mode, lines.dims()});
  const Int n = index.sizes[dim];
  l->lines = lines.count(), l->n = n, l->line_sizes = lines.sizes_told();
  l->index = {.buffer = indices, .offset = index.offset, .step = index.strides[dim], .rows = lines.strides_told(0)};
  if (number) l->value = value;
  else
    l->src = {.buffer = cx.operands[2], .offset = src.offset, .step = src.strides[dim], .rows = lines.strides_told(1)};
  l->out = {
      .buffer = result, .offset = out.offset, .step = out.strides[dim], .rows = lines.strides_told(number ? 1 : 2)};
  launches.push_back(l.in(blocks_for(serial ? lines.count() : lines.count() * n, kElementThreads)));
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

/// to[position] = sum of the indices' values, each times its step.
GpuLaunch offsets_launch(const std::vector<Operand>& indices, const Ints& extents, const Ints& steps,
                         const Ints& positions, std::uint32_t to) {
  std::vector<Ints> strides;
  for (const Operand& index : indices) strides.push_back(strides_over(index.layout, positions.size()));
  GpuWalkDims walk(positions, strides, all_dims(positions.size()));
  gpu::IndexOffsets code{{}, walk.dims()};
  for (const Operand& index : indices) code.indices.push_back(index.dtype);
  LaunchOf l(code);
  l->positions = walk.count(), l->sizes = walk.sizes_told(), l->to = to;
  for (std::size_t k = 0; k < indices.size(); ++k)
    l->indices[k] = {.buffer = indices[k],
                     .offset = indices[k].layout.offset,
                     .extent = extents[k],
                     .step = steps[k],
                     .strides = walk.strides_told(k)};
  return l.in(blocks_for(walk.count(), kElementThreads));
}

GpuLaunch last_launch(Int positions, std::uint32_t to, std::uint32_t last) {
  LaunchOf l(gpu::IndexLast{});
  l->positions = positions, l->to = to, l->last = last;
  return l.in(blocks_for(positions, kElementThreads));
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
    before.push_back(check_index_launch(cx.operands[1 + k], self.layout.sizes[dims[k]], dims[k], true, cx.node.info.loc,
                                        "index_put_check"));
  std::vector<GpuLaunch> launches;
  add_copy(self, result, launches);

  Ints extents, steps;
  for (int d : dims)
    extents.push_back(out.sizes[static_cast<std::size_t>(d)]),
        steps.push_back(out.strides[static_cast<std::size_t>(d)]);
  const Int positions = numel(common);
  std::uint32_t to = cx.scratch(DType::Int64, Int::max(1, positions) * 8);
  const std::vector<Operand> indices(cx.operands.begin() + 1,
                                     cx.operands.begin() + 1 + static_cast<std::ptrdiff_t>(dims.size()));
  launches.push_back(offsets_launch(indices, extents, steps, common, to));

  if (!add && !known_at_most(positions, 1)) {
    std::uint32_t last = cx.scratch(DType::Int64, Int::max(1, positions) * 8);
    launches.push_back(last_launch(positions, to, last));
    to = last;
  }
  GpuWalkDims position_walk(sizes, {of_values}, position_dims),
      lines(sizes, {of_values, of_out}, all_dims(sizes.size()) & ~position_dims);
  bool serial = add && !adds_atomically(t);
  LaunchOf put(gpu::IndexPut{t, add, position_walk.dims(), lines.dims()});
  put->positions = positions, put->lines = lines.count();
  put->to = to, put->values = values, put->out = result;
  put->values_offset = values.layout.offset, put->out_offset = out.offset;
  put->position_sizes = position_walk.sizes_told(), put->values_positions = position_walk.strides_told(0);
  put->line_sizes = lines.sizes_told(), put->values_lines = lines.strides_told(0),
  put->out_lines = lines.strides_told(1);
  launches.push_back(put.in(serial ? where_more(positions, 0) * blocks_for(lines.count(), kElementThreads)
                                   : blocks_for(positions * lines.count(), kElementThreads)));
  return launches;
}

}  // namespace

std::vector<GpuLaunch> gpu_last_places(const std::vector<Operand>& indices, const Ints& extents, const Operand& last,
                                       const std::function<std::uint32_t(DType, Int bytes)>& scratch) {
  Ints steps(extents.size(), Int(1));
  for (std::size_t k = extents.size(); k-- > 1;) steps[k - 1] = steps[k] * extents[k];
  const Int positions = numel(last.layout.sizes);
  const std::uint32_t to = scratch(DType::Int64, Int::max(1, positions) * 8);
  return {offsets_launch(indices, extents, steps, last.layout.sizes, to), last_launch(positions, to, last.buffer)};
}

GpuLaunches gpu_rand(const GpuContext& cx, std::vector<Launch>&) { return random(cx, false); }
GpuLaunches gpu_randn(const GpuContext& cx, std::vector<Launch>&) { return random(cx, true); }
GpuLaunches gpu_scatter(const GpuContext& cx, std::vector<Launch>& before) { return scatter(cx, before, false); }
GpuLaunches gpu_scatter_add(const GpuContext& cx, std::vector<Launch>& before) { return scatter(cx, before, true); }
GpuLaunches gpu_index_put(const GpuContext& cx, std::vector<Launch>& before) { return index_put(cx, before); }

}  // namespace reprise::kernels
