// The account of copies: what is copied where eager copies nothing.
#include "kernels/launch/launch.h"
#include "kernels/launch/layout.h"

namespace reprise::kernels {

Int copied_beyond_eager(const Lowered& l) {
  Int bytes = 0;
  for (const Launch& launch : l.launches)
    for (const Copy& c : launch.copies)
      if (c.of == Copy::Of::Ours) bytes = bytes + c.bytes;
  for (const Lowered::Out& o : l.outputs) bytes = bytes + o.copied;
  return bytes;
}

void note_epilogue_copies(const graph::Graph& g, Lowered& l) {
  for (std::size_t i = 0; i < l.outputs.size(); ++i) {
    const graph::OutputSpec& spec = g.outputs[i];
    Lowered::Out& out = l.outputs[i];
    if (spec.kind == graph::OutputSpec::Kind::NewValueOfInput && !out.in_place)
      out.copied = bytes_of(out.target.sizes, g.meta(g.inputs[spec.source].value).dtype);
  }
}

}  // namespace reprise::kernels
