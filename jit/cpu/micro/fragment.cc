// Fragments of products are loop kernels (Note [Fragments] in kernels/cpu/fragment.h).
#include "jit/cpu/loop/emitter.h"
#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::Fragment& code) {
  kernels::verify(code.kernel);
  LoopEmitter(cx, code.kernel, LoopUse::Fragment).run();
}

}  // namespace reprise::jit
