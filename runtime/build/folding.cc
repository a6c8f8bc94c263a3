#include "runtime/build/folding.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/knobs.h"
#include "graph/shape_rules.h"
#include "operators/packed.h"
#include "operators/packed_windows.h"
#include "passes/freeze.h"
#include "passes/pass.h"
#include "runtime/replay/program.h"

namespace reprise::runtime {

/// Of these inputs of a functional graph those that nothing reads, or only products of panels where they have few rows.
/// Views of one are it.
static std::vector<SparedInput> spared_inputs(const graph::Graph& g, const std::vector<bool>& asked) {
  constexpr std::uint32_t kNone = ~0u;
  std::vector<std::uint32_t> shown(g.values.size(), kNone);  // by value: the input that it shows
  std::vector<bool> spared = asked;
  for (std::uint32_t i = 0; i < asked.size(); ++i)
    if (asked[i]) shown[g.inputs[i].value.v] = i;
  std::vector<std::vector<std::uint32_t>> results(g.nodes.size());
  for (std::uint32_t v = 0; v < g.values.size(); ++v)
    if (g.values[v].node >= 0) results[static_cast<std::size_t>(g.values[v].node)].push_back(v);
  std::vector<SparedInput> few;
  for (std::size_t k = 0; k < g.nodes.size(); ++k) {
    const graph::Node& n = g.nodes[k];
    const bool view = graph::op(n.op).cls == graph::OpClass::View;
    graph::for_each_value(n, [&](graph::ValueId v) {
      const std::uint32_t input = shown[v.v];
      if (input == kNone) return;
      if (view) {
        for (std::uint32_t r : results[k]) shown[r] = input;
        return;
      }
      const std::optional<operators::PanelReader> reader = operators::reader_of_few_rows(g, n, v);
      if (reader && !graph::depends_on_data(reader->rows)) few.push_back({input, reader->rows, reader->unread_up_to});
      else spared[input] = false;
    });
  }
  for (const graph::OutputSpec& o : g.outputs)
    if (o.kind != graph::OutputSpec::Kind::AliasOfInput && o.kind != graph::OutputSpec::Kind::AliasOfOutput &&
        shown[o.value.v] != kNone)
      spared[shown[o.value.v]] = false;
  std::vector<SparedInput> out;
  for (std::uint32_t i = 0; i < asked.size(); ++i)
    if (asked[i] && spared[i]) out.push_back({i, 0, -1});
  for (SparedInput& f : few)
    if (spared[f.input]) out.push_back(std::move(f));
  return out;
}

FoldedParts fold_frozen(graph::Graph& g, const detail::Traced& t, kernels::Mode mode) {
  FoldedParts out;
  out.mode = static_cast<std::int32_t>(mode);
  auto name = [&](std::uint32_t i) { return g.values[g.inputs[i].value.v].name; };
  for (std::uint32_t i : t.frozen_written) out.written.push_back(name(i));
  graph::Graph functional = g;  // what is asked of memory is asked anew of each part
  functional.form = graph::Form::Functional;
  for (graph::Node& n : functional.nodes) n.tied.clear();
  if (mode == kernels::Mode::Full) {
    operators::pack_products(functional, passes::of_frozen_alone(functional, t.frozen));
    operators::pack_convolutions(functional, passes::of_frozen_alone(functional, t.frozen));
  }
  std::optional<passes::SplitFrozen> split = passes::split_frozen(functional, t.frozen);
  std::vector<bool> is_read(g.inputs.size());
  const auto find_spared = [&](const graph::Graph& rest) {
    std::vector<bool> asked(is_read.size()), spared(is_read.size());
    for (std::uint32_t i : t.frozen) asked[i] = true;
    out.spared = spared_inputs(rest, asked);
    for (const SparedInput& i : out.spared) spared[i.input] = true;
    std::copy_if(t.frozen.begin(), t.frozen.end(), std::back_inserter(out.stands),
                 [&](std::uint32_t i) { return !is_read[i] && !spared[i]; });
  };
  if (!split) {
    find_spared(functional);
    return out;
  }
  std::size_t input = g.inputs.size();
  const auto readers = operators::readers_of_panels(split->rest);
  for (passes::FrozenPart& p : split->parts) {
    FoldedPart f{std::move(p.graph), {}, std::move(p.inputs)};
    for (std::uint32_t i : f.inputs) is_read[i] = true;
    for (const graph::Node& n : f.graph.nodes)
      out.packed += n.op == operators::prepack_op() || n.op == operators::prepack_windows_op();
    bool panels_alone = true;
    std::optional<operators::PanelReader> reader;
    for (std::size_t o = 0; o < f.graph.outputs.size(); ++o, ++input) {
      const std::optional<operators::PanelReader>& r = readers[split->rest.inputs[input].value.v];
      panels_alone = panels_alone && r && f.graph.outputs.size() == 1;
      reader = r;
    }
    // What depends on data is not known yet when values are asked for: those panels are always made.
    if (panels_alone && !graph::depends_on_data(reader->rows))
      f.rows = reader->rows, f.unread_up_to = reader->unread_up_to;
    passes::reinplace(f.graph);
    if (knobs().verify >= 1) graph::verify(f.graph, "split_frozen");
    f.lowered = lower_graph(f.graph, mode);
    out.parts.push_back(std::move(f));
  }
  for (std::uint32_t i = 0; i < is_read.size(); ++i) {
    if (!is_read[i]) continue;
    out.frozen.push_back(name(i));
    if (t.freezes_captured && g.inputs[i].captured) out.declares.push_back(i);
  }
  find_spared(split->rest);
  g = std::move(split->rest);
  passes::reinplace(g);
  if (knobs().verify >= 1) graph::verify(g, "split_frozen");
  return out;
}

}  // namespace reprise::runtime
