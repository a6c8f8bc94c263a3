#pragma once
#include <memory>
#include <string>

#include "graph/graph.h"
#include "reprise/backend.h"

namespace reprise::runtime {

// Note [Backends]
//
// A backend gets the functional graph of a call, once sizes that are equal have one
// name and what does nothing is gone, and gives a function. The graph that goes on to
// lowering has one node, `reprise::backend_2(program, inputs, numbers) -> (Tensor, Tensor)`, whose kernel calls that
// function; inputs, outputs and what they say of writes and aliases are the graph's. So guards, recordings, the
// epilogue and the tape know nothing of it. Derivatives are compiled functions themselves and ask the same backend.
//
// The node names its program by number. Whoever holds the specialization holds the program (BackendProgram); the table
// from numbers to programs does not.

/// What a backend has made of one graph. Immutable; any thread.
struct BackendProgram;

/// Asks the backend; where it takes the graph, makes it a graph of one node. Null: the graph is as it was. Bails
/// (backend_failed) if the backend throws.
std::shared_ptr<const BackendProgram> ask_backend(graph::Graph&, const Backend&, const std::string& name);

}  // namespace reprise::runtime
