#pragma once

namespace reprise::jit {

/// While it lives its thread may use LLVM. A process that ends destroys LLVM's static objects while other threads run:
/// those that are inside are waited for, and nobody enters any more (the constructor throws Internal; ended() in
/// jit/engine/code.h is true).
///
/// LLVM is built without exceptions: where it gets no memory the process ends. So as much as code for one kernel takes
/// must be there before (else OutOfMemory is thrown).
class InLlvm {
 public:
  InLlvm();
  ~InLlvm();
  static bool here() noexcept;  ///< is this thread inside?
  InLlvm(const InLlvm&) = delete;
  InLlvm& operator=(const InLlvm&) = delete;
};

}  // namespace reprise::jit
