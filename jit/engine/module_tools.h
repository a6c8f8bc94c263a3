#pragma once
#include <string>
#include <string_view>

namespace llvm {
class LLVMContext;
class Module;
class TargetMachine;
}  // namespace llvm

namespace reprise::jit {

/// This thread's context. It collects types and constants of every kernel, so it is renewed now and then: nothing of it
/// may be kept over two compilations.
llvm::LLVMContext& thread_context();

std::string text_of(const llvm::Module&);
/// Runs code generation on `m`, which it changes.
std::string assembly_of(llvm::Module& m, llvm::TargetMachine&);
/// Throws Internal with the verifier's words, `key` and the module, when REPRISE_VERIFY asks for checks.
void check_module(const llvm::Module&, std::string_view key);
/// Writes $REPRISE_DUMP/<name>; nothing when the knob is empty.
void dump_file(const std::string& name, std::string_view text);

}  // namespace reprise::jit
