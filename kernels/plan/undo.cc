#include "kernels/plan/undo.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/hash.h"
#include "kernels/launch/layout.h"
#include "kernels/plan/epilogue.h"
#include "kernels/reference/native_launches.h"

namespace reprise::kernels {

namespace {

/// What a launch writes of inputs.
std::vector<Operand> written_inputs(const graph::Graph& g, const Lowered& l, const Launch& launch) {
  std::vector<Operand> out;
  auto is_input = [&](std::uint32_t b) { return l.buffers[b].kind == Buffer::Kind::Input; };
  if (const auto* native = std::get_if<NativeLaunch>(&launch.what)) {
    for (const Operand& o : native->operands)
      if (o.written && is_input(o.buffer)) out.push_back(o);
  } else if (const auto* loop = std::get_if<LoopLaunch>(&launch.what)) {
    const LoopKernel& k = loop->kernel;
    for (const BodyNode& n : k.body) {
      if (n.kind != BodyNode::Kind::Store) continue;
      const Access& at = k.accesses[n.access];
      const std::uint32_t b = loop->buffers[at.buffer];
      if (!is_input(b)) continue;
      Layout part{{}, {}, at.offset};
      for (std::size_t d = 0; d < k.extents.size(); ++d) {
        if (is_number(at.strides[d], 0)) continue;
        part.sizes.push_back(k.extents[d]);
        part.strides.push_back(at.strides[d]);
      }
      // any of them
      for (const Access::Gather& g : at.gathers) part.sizes.push_back(g.extent), part.strides.push_back(g.stride);
      if (part.dim() > static_cast<int>(kMaxRank)) {
        part = g.meta(g.inputs[l.buffers[b].index].value).layout;
        part.offset = 0;
      }
      out.push_back({b, l.buffers[b].dtype, std::move(part), true});
    }
  }
  return out;
}

/// Of equal parts the same: by their numbers in the traced call.
std::uint64_t hash_now(const Operand& part) {
  std::uint64_t h = hash_mix(hash_mix(kHashSeed, part.buffer), static_cast<std::uint64_t>(part.layout.offset.hint()));
  for (Int n : part.layout.sizes) h = hash_mix(h, static_cast<std::uint64_t>(n.hint()));
  return h;
}

}  // namespace

void keep_for_faults(const graph::Graph& g, Lowered& l, std::size_t last) {
  std::unordered_multimap<std::uint64_t, Operand> kept;
  auto is_kept = [&](std::uint64_t hash, const Operand& part) {
    auto [first, end] = kept.equal_range(hash);
    return std::any_of(first, end, [&](const auto& k) {
      return k.second.buffer == part.buffer && same_layout(k.second.layout, part.layout);
    });
  };
  std::vector<Launch> all, undo;
  // All are kept to the end: those of one size in one buffer, so that ten thousand rows are one temporary.
  struct Together {
    DType dtype;
    Int elements;  // of each
    std::uint32_t buffer;
    std::int64_t count = 0;
  };
  std::unordered_multimap<std::uint64_t, Together> together;
  auto room = [&](const Operand& part, Int bytes) {
    const Int n = numel(part.layout.sizes);
    const std::uint64_t hash =
        hash_mix(hash_mix(kHashSeed, static_cast<std::uint64_t>(part.dtype)), static_cast<std::uint64_t>(n.hint()));
    auto [at, end] = together.equal_range(hash);
    while (at != end && !(at->second.dtype == part.dtype && identical(at->second.elements, n))) ++at;
    if (at == end) {
      at = together.emplace(hash, Together{part.dtype, n, static_cast<std::uint32_t>(l.buffers.size())});
      l.buffers.push_back({Buffer::Kind::Temp, 0, part.dtype, Int(0)});
    }
    Together& those = at->second;
    Operand to{those.buffer, part.dtype, contiguous_layout(part.layout.sizes), true};
    to.layout.offset = n * Int(those.count++);
    l.buffers[those.buffer].bytes = bytes * Int(those.count);
    return to;
  };
  for (std::size_t i = 0; i < l.launches.size(); ++i) {
    if (i < last)  // that one writes nothing if it fails
      for (Operand& part : written_inputs(g, l, l.launches[i])) {
        const std::uint64_t hash = hash_now(part);
        if (is_kept(hash, part)) continue;
        part.written = part.kept = false;
        const Int bytes = bytes_of(part.layout.sizes, part.dtype);
        Operand to = room(part, bytes);
        Launch keep{copy_loop(part, to), "keep", l.launches[i].loc, false, l.launches[i].nodes};
        keep.copies = {Copy{Copy::Of::Ours, "it is put back if a later kernel fails", bytes}};
        l.undo.push_back(static_cast<std::uint32_t>(all.size()));
        all.push_back(std::move(keep));
        to.written = false;
        undo.push_back(copy_launch(to, part, "put_back", l.launches[i].loc));
        kept.emplace(hash, std::move(part));
      }
    all.push_back(std::move(l.launches[i]));
  }
  std::move(undo.begin(), undo.end(), std::back_inserter(all));
  l.launches = std::move(all);
}

}  // namespace reprise::kernels
