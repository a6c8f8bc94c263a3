#include "jit/emit.h"

namespace reprise::jit {

llvm::Value* Emitter::math_f32(kernels::ScalarOp, llvm::Value*, llvm::Value*) { return nullptr; }

}  // namespace reprise::jit
