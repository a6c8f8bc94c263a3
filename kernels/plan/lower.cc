// From a functional graph to launches over buffers. The steps, each a file:
//   assign_buffers   which values share memory, what is written in place, what must come before what
//   fuse             which operators become one loop kernel; an order of the launches
//   lower_kernel     the body of each loop kernel
// and here: the native launches and the outcome.
#include "kernels/plan/lower.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/knobs.h"
#include "graph/name_scopes.h"
#include "guards/expr.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/host_kernels.h"
#include "kernels/cpu/matmul.h"
#include "kernels/gpu/index_width.h"
#include "kernels/gpu/launches.h"
#include "kernels/gpu/split_reduction.h"
#include "kernels/launch/elements.h"
#include "kernels/launch/launch.h"
#include "kernels/plan/epilogue.h"
#include "kernels/plan/fragments.h"
#include "kernels/plan/fuse.h"
#include "kernels/plan/fuse_map.h"
#include "kernels/plan/gather.h"
#include "kernels/plan/interpret.h"
#include "kernels/plan/join_products.h"
#include "kernels/plan/loop_kernel.h"
#include "kernels/plan/product_sums.h"
#include "kernels/plan/regions.h"
#include "kernels/plan/scatter.h"
#include "kernels/plan/undo.h"
#include "kernels/reference/captured.h"
#include "kernels/reference/native_launches.h"
#include "kernels/reference/reference.h"
#include "tensor/impl.h"

namespace reprise::kernels {

using graph::Graph;
using graph::Node;
using graph::OpClass;
using graph::ValueId;

namespace {

/// Is this node part of a loop kernel? Otherwise its native kernel runs.
bool in_loops(const Graph& g, const Node& node) {
  switch (graph::op(node.op).cls) {
    case OpClass::Pointwise:
    case OpClass::Reduction:
    case OpClass::Creation: return true;
    case OpClass::Gather: return gather_form(g, node).has_value();
    default: return false;
  }
}

Operand operand_at(const Graph& g, const BufferPlan& p, ValueId v) {
  const Place& at = p.place[root_of(g, v).v];
  REPRISE_CHECK(at.buffer != ~0u, " a native kernel's operand was not stored");
  auto layout = layout_from_root(g, v, at.layout);
  REPRISE_CHECK(layout.has_value());
  return {at.buffer, g.meta(v).dtype, std::move(*layout), false};
}

/// A view that a native kernel reads, by its dimensions.
void note_operand(const Graph& g, const BufferPlan& p, ValueId v, const Layout& seen) {
  const ValueId root = root_of(g, v);
  if (root == v) return;
  const Layout& made = g.meta(v).layout;
  ElementRead r{ElementRead::By::Place,
                "%" + std::to_string(v.v),
                made,
                g.meta(root).layout,
                made.sizes,
                {},
                {},
                p.place[root.v].layout,
                seen.strides};
  r.to.insert(r.to.begin(), seen.offset);
  for (std::size_t d = 0; d < made.sizes.size(); ++d) {
    r.at.emplace_back(made.sizes.size() + 1, Int(0));
    r.at.back()[d + 1] = 1;
  }
  note_read(*g.env, std::move(r));
}

/// What a loop kernel copies: stores of what stands in memory elsewhere, by itself.
std::vector<Copy> copies_of(const Graph& g, const BufferPlan& p, const Unit& u) {
  std::vector<Copy> out;
  auto stands = [&](ValueId v) { return p.place[root_of(g, v).v].buffer != ~0u; };
  for (const Unit::Store& s : u.stores) {
    const Item& it = p.items[s.item];
    if (it.kind == Item::Kind::Copy) {
      if (stands(it.from)) out.push_back({it.of, it.why, bytes_of(it.to.layout.sizes, it.to_dtype)});
    } else if (const Node& node = g.nodes[it.node];
               graph::is_copy(node.op) && node.keeps_self && stands(std::get<ValueId>(node.args[0]))) {
      const TensorMeta& m = g.meta(it.made);
      out.push_back({Copy::Of::Ours,
                     node.keeps_part ? "a part is read after its place is written"
                                     : "seen in a shape that its strides do not allow",
                     bytes_of(m.layout.sizes, m.dtype)});
    }
  }
  return out;
}

/// A kernel that changes elements of its first operand copies the rest, unless it lies over that.
std::vector<Copy> copies_of(const Graph& g, const Node& node, const std::vector<Operand>& operands) {
  const HostKernel* kernel = reference_kernels().find(node.op);
  if (!kernel || !kernel->over_self || graph::op(node.op).twin_of) return {};
  const Operand &self = operands[0], &result = operands.back();
  if (self.buffer == result.buffer && same_layout(self.layout, result.layout)) return {};
  const TensorMeta& m = g.meta(node.results[0]);
  const Int bytes = bytes_of(m.layout.sizes, m.dtype);
  if (node.keeps_self)
    return {Copy{Copy::Of::Ours, "elements are written where the old value cannot be overwritten", bytes}};
  return {Copy{Copy::Of::EagerToo, "a result of its own", bytes}};
}

void add_loop(Launch launch, BufferPlan& p, LaunchStyle style, std::vector<Launch>& out) {
  if (style == LaunchStyle::Gpu) {
    auto scratch = [&](DType dtype, Int bytes) { return p.add_buffer({Buffer::Kind::Temp, 0, dtype, bytes}); };
    std::vector<LoopLaunch> parts = split_reduction(std::get<LoopLaunch>(launch.what), launch.loc, scratch);
    for (LoopLaunch& made : parts) {
      Launch part = launch;
      part.name = made.kernel.name;
      part.what = std::move(made);
      launch.copies.clear();  // the first part's
      out.push_back(std::move(part));
    }
    if (!parts.empty()) return;
  }
  out.push_back(std::move(launch));
}

/// Have two views of one buffer an element in common, in the traced call?
bool overlap_now(const Layout& a, const Layout& b, DType dtype) {
  Storage somewhere{};
  somewhere.data = &somewhere;  // an address: nothing is read there
  TensorImpl numbers[2];
  for (int k = 0; k < 2; ++k) {
    const Layout& l = k ? b : a;
    numbers[k].storage = &somewhere;
    numbers[k].dtype = dtype;
    numbers[k].rank = static_cast<std::uint8_t>(l.dim());
    numbers[k].offset = l.offset.hint();
    for (int d = 0; d < l.dim(); ++d) {
      numbers[k].sizes[d] = l.sizes[static_cast<std::size_t>(d)].hint();
      numbers[k].strides[d] = l.strides[static_cast<std::size_t>(d)].hint();
    }
  }
  return overlaps(numbers[0], numbers[1]);
}

/// The kernel of a functional twin writes on the new values: what does not stand there yet is copied. What it reads is
/// as it was before: of what may lie under what it writes it reads a copy.
void copy_for_writes(const Graph& g, const Node& node, std::vector<Operand>& operands, BufferPlan& p, LaunchStyle style,
                     std::uint32_t n, std::vector<Launch>& out) {
  const std::vector<WrittenOperand> written = written_operands(node);
  auto copy = [&](const Operand& from, const Operand& to, Copy::Of of, const char* why) {
    Launch l{copy_loop(from, to), "copy", node.info.loc, false, {n}};
    l.copies = {Copy{of, why, bytes_of(to.layout.sizes, to.dtype)}};
    add_loop(std::move(l), p, style, out);
  };
  for (std::size_t k = 0; !written.empty() && k < written[0].result; ++k) {
    if (std::any_of(written.begin(), written.end(), [&](const WrittenOperand& w) { return w.argument == k; })) continue;
    for (const WrittenOperand& w : written) {
      Operand& read = operands[k];
      const Operand& whole = operands[w.result];
      if (read.buffer != whole.buffer) continue;
      const Layout part = w.view ? layout_of_view(g, *w.view, whole.layout, node.info.loc).value() : whole.layout;
      if (read.dtype == whole.dtype && known_disjoint(read.layout, part)) continue;
      const bool eager_too = overlap_now(read.layout, part, read.dtype);
      Operand to{p.add_buffer({Buffer::Kind::Temp, 0, read.dtype, bytes_of(read.layout.sizes, read.dtype)}), read.dtype,
                 contiguous_layout(read.layout.sizes), true};
      copy(read, to, eager_too ? Copy::Of::EagerToo : Copy::Of::Ours, "it is read while it is written");
      to.written = false;
      read = std::move(to);
    }
  }
  std::uint32_t copied = 0;  // results that are there already: views of one base have one
  for (const WrittenOperand& w : written) {
    if (w.result <= std::exchange(copied, std::max(copied, w.result))) continue;
    const Operand &from = operands[w.argument], &to = operands[w.result];
    if (from.buffer == to.buffer && same_layout(from.layout, to.layout)) continue;
    if (node.keeps_self)
      copy(from, to, Copy::Of::Ours, "an argument is written where the old value cannot be overwritten");
    else copy(from, to, Copy::Of::EagerToo, "a result of its own");
  }
}

void last_places(const Graph& g, BufferPlan& p, const Item& it, LaunchStyle style, std::vector<Launch>& out) {
  const Node& node = g.nodes[it.node];
  std::vector<Operand> indices;
  Ints extents;
  const auto form = scatter_form(g, node);
  for (const GatherForm::Index& i : form->indices) {
    indices.push_back(operand_at(g, p, i.value));
    extents.push_back(g.meta(node.results[0]).size(i.dim));
  }
  const std::string name = std::string(graph::op(node.op).name()) + "_last";
  const Operand last{it.to.buffer, DType::Int64, it.to.layout, true};
  auto scratch = [&](DType dtype, Int bytes) { return p.add_buffer({Buffer::Kind::Temp, 0, dtype, bytes}); };
  const std::size_t first = out.size();
  if (style == LaunchStyle::Gpu) {
    for (GpuLaunch& l : gpu_last_places(indices, extents, last, scratch))
      out.push_back({std::move(l), name, node.info.loc, false, {}});
  } else {
    const Int n = numel(it.to.layout.sizes);
    const Operand table{scratch(DType::Int64, 32 * n), DType::Int64, contiguous_layout({4 * n}), true};
    out.push_back(last_places_launch(std::move(indices), extents, last, table, node.info.loc, name));
  }
  for (std::size_t i = first; i < out.size(); ++i) out[i].nodes = {static_cast<std::uint32_t>(it.node)};
}

/// Launches of an item that is not part of a loop kernel; several for a device that takes several steps.
void native_launches(const Graph& g, BufferPlan& p, const Item& it, Mode mode, LaunchStyle style,
                     std::vector<Launch>& out, std::vector<Repeat>& repeats, LoweredRegions& regions) {
  const Node& node = g.nodes[it.node];
  const graph::OpDef& def = graph::op(node.op);
  std::string name(def.name());
  if (it.kind == Item::Kind::Last) return last_places(g, p, it, style, out);
  if (it.kind == Item::Kind::Check) {
    Launch l =
        check_index_launch(operand_at(g, p, it.from), it.extent, it.dim, it.wraps, node.info.loc, name + "_check");
    l.nodes = {static_cast<std::uint32_t>(it.node)};
    l.op = name;
    out.push_back(std::move(l));
    return;
  }
  std::vector<Operand> operands;
  graph::for_each_value(node, [&](ValueId v) {
    operands.push_back(operand_at(g, p, v));
    if (knobs().validate && g.env) note_operand(g, p, v, operands.back().layout);
  });
  for (ValueId r : node.results) {
    operands.push_back(operand_at(g, p, r));
    operands.back().written = true;
  }
  std::vector<std::uint32_t> nodes{static_cast<std::uint32_t>(it.node)};
  if (def.cls == OpClass::Control) {
    REPRISE_CHECK(style == LaunchStyle::Calls, "on a device a region is no launches of its own");
    return region_launches(g, nodes[0], operands, mode,
                           {[&](Buffer b) { return p.add_buffer(std::move(b)); }, out, repeats, &regions});
  }
  copy_for_writes(g, node, operands, p, style, nodes[0], out);
  std::vector<Copy> copies = copies_of(g, node, operands);
  auto scratch = [&](DType dtype, Int bytes) { return p.add_buffer({Buffer::Kind::Temp, 0, dtype, bytes}); };
  if (captured_kernels().find(node.op) && (style == LaunchStyle::Gpu || !reference_kernels().find(node.op))) {
    out.push_back({captured_launch(g, node, std::move(operands), scratch), name, node.info.loc,
                   def.effects.may_end_call(), std::move(nodes)});
    out.back().copies = std::move(copies);
    if (def.twin_of) out.back().op = graph::op(*def.twin_of).schema.name;
    return;
  }
  if (style == LaunchStyle::Gpu && !def.twin_of) {  // what is told of devices' kernels is told of the operator
    if (auto made = gpu_launches({g, node, operands, scratch})) {
      if (it.checked) std::erase_if(*made, [](const Launch& l) { return value_check(l).has_value(); });
      for (Launch& l : *made) {
        l.nodes = nodes;
        l.copies = std::exchange(copies, {});
        out.push_back(std::move(l));
      }
      return;
    }
  }
  NativeLaunch launch = def.cls == OpClass::Matmul      ? matmul_launch(g, node, std::move(operands))
                        : def.cls == OpClass::Attention ? attention_launch(g, node, std::move(operands))
                                                        : host_launch(g, node, std::move(operands));
  Launch made{std::move(launch), name, node.info.loc, def.effects.may_end_call(), std::move(nodes)};
  made.copies = std::move(copies);
  if (def.twin_of) made.op = graph::op(*def.twin_of).schema.name;
  if (out.empty() || out.back().in_region() || !join_linears(out.back(), made)) out.push_back(std::move(made));
}

/// Drops buffers nobody uses (their value was computed inside a kernel) and renumbers.
void drop_unused_buffers(Lowered& l) {
  std::vector<bool> used(l.buffers.size());
  for (std::size_t b = 0; b < l.buffers.size(); ++b)
    used[b] = l.buffers[b].kind != Buffer::Kind::Temp && l.buffers[b].kind != Buffer::Kind::Window;
  auto each = [&](auto&& f) {
    for (Launch& launch : l.launches) for_each_buffer(launch, f);
    for (Repeat& r : l.repeats) for_each_buffer(r, f);
  };
  each([&](std::uint32_t& b) { used[b] = true; });
  std::vector<std::uint32_t> to(l.buffers.size());
  std::vector<Buffer> kept;
  for (std::size_t b = 0; b < l.buffers.size(); ++b) {
    to[b] = static_cast<std::uint32_t>(kept.size());
    if (used[b]) kept.push_back(std::move(l.buffers[b]));
  }
  l.buffers = std::move(kept);
  each([&](std::uint32_t& b) { b = to[b]; });
  if (l.fault_record) l.fault_record = to[*l.fault_record];
  for (Lowered::Out& o : l.outputs) {
    if (o.buffer >= 0) o.buffer = static_cast<std::int32_t>(to[static_cast<std::size_t>(o.buffer)]);
  }
}

/// "#3-5 #8"
std::string text_of(std::vector<std::int32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string s;
  for (std::size_t i = 0, last = 0; i < numbers.size(); i = last + 1) {
    for (last = i; last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1;) ++last;
    s += (i ? " #" : "#") + std::to_string(numbers[i]);
    if (last > i) s += '-' + std::to_string(numbers[last]);
  }
  return s;
}
/// Of operators that are one launch: the calls that they are made of, and whose derivatives they compute.
std::string calls_of(const Graph& g, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::int32_t> own, forward;
  for (std::uint32_t n : nodes) {
    const graph::NodeInfo& info = g.nodes[n].info;
    if (info.sequence >= 0) own.push_back(info.sequence);
    if (info.forward_of >= 0) forward.push_back(info.forward_of);
  }
  return text_of(std::move(own)) + (forward.empty() ? "" : " of " + text_of(std::move(forward)));
}

/// Launches are called by the names that their operators have in common.
void name_launches(const Graph& g, Lowered& l) {
  for (Launch& launch : l.launches) launch.calls = calls_of(g, launch.nodes);
  // In a region scopes are known where it is lowered.
  auto is_region = [&](std::uint32_t n) { return graph::op(g.nodes[n].op).cls == OpClass::Control; };
  for (Launch& launch : l.launches)
    for (std::size_t i = 0; i < launch.nodes.size() && !(i == 0 && is_region(launch.nodes[0])); ++i) {
      const std::string* scope = g.nodes[launch.nodes[i]].info.scope;
      launch.scope = i ? NameScopes::common(launch.scope, scope) : scope;
    }
}

}  // namespace

std::optional<Mode> mode_named(std::string_view name) {
  if (name == "interpret") return Mode::Interpret;
  if (name == "no-fuse") return Mode::NoFuse;
  if (name == "full") return Mode::Full;
  return std::nullopt;
}

Lowered lower(const Graph& g, Mode mode, LaunchStyle style) {
  guards::LibraryScope operators;
  if (mode == Mode::Interpret) {
    Lowered out = lower_interpret(g);
    if (style != LaunchStyle::Calls) copy_into_inputs(g, out);
    else note_epilogue_copies(g, out);
    name_launches(g, out);
    return out;
  }
  BufferPlan plan = assign_buffers(g, in_loops, style == LaunchStyle::Calls);
  std::vector<Unit> units = fuse(g, plan, mode == Mode::Full);
  Lowered out;
  std::size_t last_to_fail = 0;
  LoweredRegions regions;
  for (const Unit& u : units) {
    if (u.loop) {
      Launch made = loop_launch(g, plan, u);
      made.copies = copies_of(g, plan, u);
      add_loop(std::move(made), plan, style, out.launches);
    } else {
      native_launches(g, plan, plan.items[u.items[0]], mode, style, out.launches, out.repeats, regions);
      if (plan.items[u.items[0]].may_fail) last_to_fail = out.launches.size() - 1;
    }
  }
  out.buffers = std::move(plan.buffers);
  out.outputs = std::move(plan.outputs);
  if (style == LaunchStyle::Calls && mode == Mode::Full) {
    join_sums(out, last_to_fail);
    join_fragments(out, last_to_fail);
  }
  if (style == LaunchStyle::Gpu && mode == Mode::Full) join_products(out, g.name, last_to_fail);
  if (style != LaunchStyle::Calls) copy_into_inputs(g, out);
  else note_epilogue_copies(g, out);
  if (style == LaunchStyle::Calls) keep_for_faults(g, out, last_to_fail);
  if (style == LaunchStyle::Gpu) {
    check_on_device(out);
    read_matrices_early(out);
    for (Launch& l : out.launches)
      if (auto* loop = std::get_if<LoopLaunch>(&l.what)) loop->kernel.narrow = fits_in_32_bits(loop->kernel, l.loc);
  }
  drop_unused_buffers(out);
  name_launches(g, out);
  return out;
}

}  // namespace reprise::kernels
