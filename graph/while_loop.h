#pragma once
#include "graph/graph.h"

namespace reprise::graph {

/// reprise::while_loop(Region body, Tensor[] carried, Tensor[] others, SymInt turns) -> Tensor[]: runs `body` again and
/// again while the first carried tensor, a Bool without dimensions, is true. Its inputs: the carried state, `others`;
/// it gives the next state, and first in it whether there is another turn. Results: the last state. Where it would run
/// more often than `turns`, the call fails.
OpId while_loop_op();

/// Does the first carried tensor of a node that runs a region several times (turns_of) decide how often?
bool decides_turns(const Node&);

/// What such a loop throws that does not end.
[[noreturn]] void fail_unending(std::int64_t turns, SourceLoc);

}  // namespace reprise::graph
