#include "kernels/plan/epilogue.h"

#include "base/errors.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

namespace {

/// The buffer of graph input `i`; added when no launch has named it yet.
std::uint32_t input_buffer(const graph::Graph& g, Lowered& l, std::uint32_t i) {
  for (std::uint32_t b = 0; b < l.buffers.size(); ++b)
    if (l.buffers[b].kind == Buffer::Kind::Input && l.buffers[b].index == i) return b;
  l.buffers.push_back({Buffer::Kind::Input, i, g.meta(g.inputs[i].value).dtype, 0});
  return static_cast<std::uint32_t>(l.buffers.size() - 1);
}

}  // namespace

LoopLaunch copy_loop(const Operand& source, const Operand& destination) {
  const Layout &from = source.layout, &to = destination.layout;
  const DType dtype = destination.dtype;
  LoopLaunch out;
  out.buffers = {source.buffer, destination.buffer};
  LoopKernel& k = out.kernel;
  k.name = "copy";
  k.extents = to.sizes;
  k.n_kept = to.dim();
  k.buffers = {{dtype, false}, {dtype, true}};
  Access read, write;
  read.buffer = 0;
  read.strides = from.strides;
  read.offset = from.offset;
  write.buffer = 1;
  write.strides = to.strides;
  write.offset = to.offset;
  k.accesses = {read, write};
  BodyNode load{BodyNode::Kind::Load}, store{BodyNode::Kind::Store};
  load.dtype = is_low_precision(dtype) ? DType::Float32 : dtype;
  load.access = 0;
  store.dtype = dtype;
  store.a = 0;
  store.access = 1;
  k.body = {load, store};
  verify(k);
  return out;
}

void copy_into_inputs(const graph::Graph& g, Lowered& l) {
  for (std::size_t i = 0; i < l.outputs.size(); ++i) {
    const graph::OutputSpec& spec = g.outputs[i];
    Lowered::Out& out = l.outputs[i];
    if (spec.kind != graph::OutputSpec::Kind::NewValueOfInput || out.in_place) continue;
    REPRISE_CHECK(out.buffer >= 0);
    std::uint32_t to = input_buffer(g, l, spec.source);
    const DType dtype = g.meta(g.inputs[spec.source].value).dtype;
    l.launches.push_back(
        {copy_loop({static_cast<std::uint32_t>(out.buffer), dtype, out.layout}, {to, dtype, out.target, true}),
         "epilogue_copy",
         {},
         false,
         {}});
    l.launches.back().copies = {Copy{Copy::Of::Ours, "an argument is written last", bytes_of(out.target.sizes, dtype)}};
  }
}

}  // namespace reprise::kernels
