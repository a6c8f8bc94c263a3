#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/compile.h"
#include "reprise/kernel.h"
#include "reprise/visible.h"

/// A compiler of the program's own (CompileOptions::backend). Tracing, guards, functionalization, derivatives, the
/// epilogue and recordings stay Reprise's; what a graph computes is the program's. docs/custom_operators.md, "A
/// compiler of your own".
namespace reprise REPRISE_VISIBLE {

namespace graph {
class Graph;
}

/// One call of what a backend has made.
struct BackendCall {
  std::span<const TensorView> inputs;     ///< of the graph, in order; on the host, with any strides
  std::span<const TensorView> results;    ///< of its outputs, in order: row-major, not yet written
  std::span<const std::int64_t> numbers;  ///< BackendRequest::numbers
};
/// BackendFunction: computes the results. Several threads may call it at once. If it throws a std::exception,
/// the call runs eagerly, with arguments as before (reason `replay_throws`).

/// What a backend is asked to compile. It lives for the request only.
struct BackendRequest {
  std::string_view name;  ///< "f/0"; of a derivative "f/0 backward/0"
  /// Functional: values alone, inputs and outputs as `inputs` and `results` of a call. Its header, graph/graph.h, comes
  /// with the CMake target reprise::extend.
  const graph::Graph& graph;
  std::string text;  ///< the same, as docs/graph_text.md says
  /// The symbols that the text names, and other numbers that nodes take, with their values in the traced call.
  struct Number {
    std::string name;  ///< "s0"
    std::int64_t example;
    bool is_float;  ///< its 64 bits are a double's
  };
  std::vector<Number> numbers;
  std::vector<std::string> guards;  ///< what holds of them in every call: "s0 <= 128"
};

/// Backend: compiles a graph. Gives none for a graph that it leaves to Reprise. What it throws is logged under the
/// backend's function, and the call is served eagerly (reason `backend_failed`). On any thread, maybe on several at
/// once.

}  // namespace REPRISE_VISIBLE
