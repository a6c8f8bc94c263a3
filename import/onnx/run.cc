#include "base/bail.h"
#include "base/shown.h"
#include "import/onnx/core.h"
#include "reprise/name_scope.h"

namespace reprise::onnx {
namespace {

void run_function(const Node& node, Frame& outer) {
  const Function& f = *node.function;
  Frame frame{.program = f.body,
              .values = std::vector<Value>(f.body.constants.size()),
              .budget = outer.budget,
              .caller = &node,
              .outer = &outer};
  for (std::size_t i = 0; i < f.body.graph.in.size() && i < node.in.size(); ++i)
    if (node.in[i] >= 0) frame.values[static_cast<std::size_t>(f.body.graph.in[i])] = outer.at(node.in[i]);
  run_graph(f.body.graph, frame);
  for (std::size_t i = 0; i < node.out.size() && i < f.body.graph.out.size(); ++i)
    if (node.out[i] >= 0) outer.values[static_cast<std::size_t>(node.out[i])] = frame.at(f.body.graph.out[i]);
}

void run_node(const Node& node, Frame& frame) {
  if (node.function) return run_function(node, frame);
  Call call(node, frame);
  if (node.wraps) {
    node.row->run(call);
    Value& made = frame.values[static_cast<std::size_t>(node.out[0])];
    return void(made = cast_to_element(call, made.tensor, node.wraps, false));
  }
  if (node.row->fold && call.all_known() && node.row->fold(call)) return;
  node.row->run(call);
}

/// Names the node, instead of the importer's own line.
[[noreturn]] void rethrow_at(const Node& node, const Error& e) {
  if (e.code() == ErrorCode::Internal || e.message().find("(node '") != std::string::npos) throw;
  const std::string op = e.op().empty() ? node.data.op : e.op();
  std::string message = e.message() + " (node '" + shown(node.scope) + "', " + shown(node.data.op) +
                        (node.version ? " of set " + std::to_string(node.version) : "") + ")";
  if (const auto* bailed = dynamic_cast<const Bailed*>(&e))
    throw Bailed(bailed->reason(), op.c_str(), std::move(message), {});
  fail_text(e.code(), op.c_str(), {}, std::move(message));
}

}  // namespace

void Budget::exceeded() const {
  fail(ErrorCode::InvalidArgument, "onnx::Model", {}, "has run ", most,
       " nodes and turns of loops in one call, its limit (LoadOptions::max_steps)");
}

void run_graph(const Graph& graph, Frame& frame) {
  for (const Node& node : graph.nodes) {
    const NameScope scope{std::string_view(node.scope)};
    try {
      if (frame.budget) frame.budget->spend(1);
      run_node(node, frame);
    } catch (const Error& e) {
      rethrow_at(node, e);
    }
    for (int slot : node.dead) frame.values[static_cast<std::size_t>(slot)] = {};
  }
}

std::vector<Value> run_inner(const Graph& graph, Frame& frame, std::vector<Value> inputs) {
  for (int slot : graph.own) frame.values[static_cast<std::size_t>(slot)] = {};
  for (std::size_t i = 0; i < graph.in.size() && i < inputs.size(); ++i)
    frame.values[static_cast<std::size_t>(graph.in[i])] = std::move(inputs[i]);
  run_graph(graph, frame);
  std::vector<Value> results;
  for (int slot : graph.out) results.push_back(frame.at(slot));
  return results;
}

// Of all nodes of a process, as far as traces need to tell them apart. A node is larger than `which` times 8 bytes.
SourceLoc region_name(const Node& node, std::uint32_t which) {
  return {"ONNX", static_cast<std::uint32_t>(std::hash<const void*>()(&node) >> 3) + which};
}

}  // namespace reprise::onnx
