#include "base/shown.h"
#include "import/onnx/core.h"
#include "reprise/name_scope.h"

namespace reprise::onnx {
namespace {

void run_function(const Node& node, Frame& outer) {
  const Function& f = *node.function;
  Frame frame{.program = f.body, .values = std::vector<Value>(f.body.constants.size()), .caller = &node, .outer = &outer};
  for (std::size_t i = 0; i < f.body.graph.in.size() && i < node.in.size(); ++i)
    if (node.in[i] >= 0) frame.values[static_cast<std::size_t>(f.body.graph.in[i])] = outer.at(node.in[i]);
  run_graph(f.body.graph, frame);
  for (std::size_t i = 0; i < node.out.size() && i < f.body.graph.out.size(); ++i)
    if (node.out[i] >= 0) outer.values[static_cast<std::size_t>(node.out[i])] = frame.at(f.body.graph.out[i]);
}

void run_node(const Node& node, Frame& frame) {
  if (node.function) return run_function(node, frame);
  Call call(node, frame);
  if (node.row->fold && call.all_known() && node.row->fold(call)) return;
  node.row->run(call);
}

}  // namespace

void run_graph(const Graph& graph, Frame& frame) {
  for (const Node& node : graph.nodes) {
    const NameScope scope{std::string_view(node.scope)};
    try {
      run_node(node, frame);
    } catch (const Error& e) {
      // That a trace ends is no error of the node.
      const ErrorCode code = e.code();
      if (code == ErrorCode::NotTraceable || code == ErrorCode::Internal || code == ErrorCode::OutOfMemory || e.message().find("(node '") != std::string::npos) throw;
      fail_text(e.code(), e.op().empty() ? node.data.op.c_str() : e.op().c_str(), {}, e.message() + " (node '" + shown(node.scope) + "', " + node.data.op + ")");
    }
    for (int slot : node.dead) frame.values[static_cast<std::size_t>(slot)] = {};
  }
}

std::vector<Value> run_inner(const Graph& graph, Frame& frame, std::vector<Value> inputs) {
  for (int slot : graph.own) frame.values[static_cast<std::size_t>(slot)] = {};
  for (std::size_t i = 0; i < graph.in.size() && i < inputs.size(); ++i) frame.values[static_cast<std::size_t>(graph.in[i])] = std::move(inputs[i]);
  run_graph(graph, frame);
  std::vector<Value> results;
  for (int slot : graph.out) results.push_back(frame.at(slot));
  return results;
}

}  // namespace reprise::onnx
