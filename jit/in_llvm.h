#pragma once

namespace reprise::jit {

/// While it lives its thread may use LLVM. A process that ends destroys LLVM's static objects while other threads run: those that
/// are inside are waited for, and nobody enters any more (the constructor throws Internal; ended() in jit/jit.h is true).
class InLlvm {
 public:
  InLlvm();
  ~InLlvm();
  InLlvm(const InLlvm&) = delete;
  InLlvm& operator=(const InLlvm&) = delete;
};

}  // namespace reprise::jit
