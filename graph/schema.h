#pragma once
#include <string_view>

#include "graph/op.h"

namespace reprise::graph {

/// Reads one row's schema (the grammar stands at the head of ops.def). Throws Internal naming the row: rows are ours.
Schema parse_schema(std::string_view text);

/// May the argument be left out or None?
bool accepts_none(ArgType);
std::string_view arg_type_name(ArgType);   ///< as schemas write it: "Tensor?", "SymInt[]"

}  // namespace reprise::graph
