#pragma once
#include <string_view>

#include "graph/op.h"

namespace reprise::graph {

/// Reads a schema in ATen's language:
///
///   schema   = name "(" [argument {"," argument}] ")" "->" results         "*" among the arguments: what follows is
///   keyword-only name     = word ["::" word] ["." overload] argument = type word ["=" default] results  = "()" |
///   result | "(" result {"," result} ")"                 result = ("Tensor" | "Tensor[]") [word] type     = word
///   [alias] {"[" [length] "]" | "?"}                        the types that ops.def lists alias    = "(" [set {"|" set}
///   ["!"] ["->" set {"|" set}]] ")"           of tensors and lists of tensors; set = word | "*"
///
/// Defaults fit their types; names are unique; after a positional argument with a default none is without; a result
/// shares only sets that an argument names. Throws InvalidArgument with the column (from 1) of what does not fit.
Schema parse_schema(std::string_view text);

/// The value that an argument's default stands for; None where it has none. Borrows from `a`.
CallArg default_value(const ArgDef& a);

/// May the argument be left out or None?
bool accepts_none(ArgType);
std::string_view arg_type_name(ArgType);  ///< as schemas write it: "Tensor?", "SymInt[]"

}  // namespace reprise::graph
