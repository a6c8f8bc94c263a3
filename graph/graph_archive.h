#pragma once
#include <memory>
#include <string>

#include "graph/graph.h"
#include "guards/env_archive.h"

namespace reprise {
REPRISE_ARCHIVED(Device, type, index)
REPRISE_ARCHIVED(Layout, sizes, strides, offset)
REPRISE_ARCHIVED(TensorMeta, dtype, device, layout)
}  // namespace reprise

namespace reprise::graph {

REPRISE_ARCHIVED(ValueId, v)
REPRISE_ARCHIVED(ViewArg, base, steps)
REPRISE_ARCHIVED(ViewStep, op, args)
REPRISE_ARCHIVED(NodeInfo, loc, sequence, forward_of, scope)
REPRISE_ARCHIVED(Node, op, args, results, info, inplace, tied, keeps_self, keeps_part)
REPRISE_ARCHIVED(Value, meta, node, result, name)
REPRISE_ARCHIVED(InputSpec, value, kind, mutates_data, mutates_metadata, captured)
REPRISE_ARCHIVED(NumberInput, kind, symbol, name)
REPRISE_ARCHIVED(OutputSpec, kind, value, source, layout, grows, is_view, recipe, role, of)
REPRISE_ARCHIVED(MetadataMutation, input, layout, from_output, grows)

/// An archive with graphs of one environment, which have only operators of the library (names_registered).
class GraphWriter : public guards::ExprWriter {
 public:
  using ExprWriter::own;
  void own(const Graph&);
  void own(const Region& r) { own(*r); }
  void own(const std::string* scope) { text_at(scope, scope ? *scope : ""); }
  /// Numbers of operators that register themselves are of one process.
  void own(OpId);
};

class GraphReader : public guards::ExprReader {
 public:
  /// `env`: what the graphs get.
  GraphReader(std::string_view bytes, std::shared_ptr<guards::ShapeEnv> env)
      : ExprReader(bytes, *env), shared_(std::move(env)) {}
  using ExprReader::own;
  void own(Graph&);
  void own(Region&);
  void own(const std::string*& scope);
  void own(OpId&);

 private:
  std::shared_ptr<guards::ShapeEnv> shared_;
};

/// Does it, or a region in it, have an operator that the program has registered, of which other processes know nothing?
bool names_registered(const Graph&);

}  // namespace reprise::graph
