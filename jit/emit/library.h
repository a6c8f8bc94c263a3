#pragma once
#include <string>

namespace llvm {
class Function;
class Type;
}  // namespace llvm

namespace reprise::jit {

struct EmitContext;

/// A scalar function of `arity` operands of `type` that the module carries itself, made at the first call: what takes
/// the place of the runtime's functions (jit/engine/runtime_calls.cc, by the same names) in code that cannot call the
/// process. Throws Internal for a name that is not there.
llvm::Function* library_function(EmitContext&, const std::string& name, llvm::Type* type, int arity);

}  // namespace reprise::jit
