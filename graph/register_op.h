#pragma once
#include <functional>
#include <string>
#include <vector>

#include "graph/op_column.h"

namespace reprise::graph {

/// An operator that is not in ops.def.
struct NewOp {
  /// ATen's language; its name must be free (built-in operators' names and their twins' are taken)
  /// One that writes arguments, "(a!)", gets a functional twin: Note [Operators that write] in writers.h
  std::string schema;
  OpClass cls = OpClass::Reference;
  ShapeRule shape = nullptr;
  bool inplace = false;  ///< the twin `name_` exists
  bool moves = false;    ///< takes storage-only dtypes; views always do
  Effects effects = {};
  /// Of an operator that writes: the registered operator that computes what it writes, by name or by all of its schema
  /// (Note [Named functional forms] in functional_form.h). Empty: a derived twin alone stands for it.
  std::string functional = {};
  /// Called before its name is known to anybody; throws: nothing is registered, but its number is not used again. It
  /// may call the operator, and register others.
  std::function<void(OpId)> check = {};
};

/// Adds an operator with the facts that rooms need of its class. Its id is published last: other threads see all of it
/// or nothing, and graphs, eager calls and compiled functions may use it at once. Throws InvalidArgument, and nothing
/// is registered, for a schema that does not parse or does not fit the class, a name that is taken, a missing shape
/// rule, a column told twice.
OpId register_op(NewOp, const std::vector<OpFact>& facts = {});

/// Registers the library's own operators that are in no row of ops.def, those of the families of operators/ (where it
/// is defined), which else are registered when they are first called. find_op asks for it where it knows no operator of
/// a name. Any thread; again: nothing.
void register_families();

}  // namespace reprise::graph
