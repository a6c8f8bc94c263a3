#pragma once
#include <string>
#include <vector>

#include "graph/graph.h"
#include "runtime/trace/tracer.h"

namespace reprise::runtime {

/// Who needs a number of data to be known: "mm has it as a size", and where.
struct ReadFor {
  std::string text;
  SourceLoc loc;
};

/// Rewrites a functional graph so that fewer of its numbers of data have to be read (Note [Numbers that nobody reads]);
/// `also`: what else depends on them than the graph. By number: who needs it; of those that the graph does not name any
/// more the text is empty.
std::vector<ReadFor> leave_unread(graph::Graph&, const std::vector<detail::DataNumber>&, const std::vector<Int>& also);

}  // namespace reprise::runtime
