#pragma once
#include <cstdint>
#include <functional>
#include <string>

#include "jit/engine/code.h"

namespace llvm {
class LLVMContext;
class Module;
}  // namespace llvm

namespace reprise::jit {

/// What the machine that code is made for can do: device::cpu_info() in LLVM's words. Other machines (jit/gpu/module.h)
/// have the defaults.
struct Host {
  std::string cpu, features;  ///< LLVM's names
  int vector_bits = 128;      ///< widest vectors the CPU computes in
  bool avx512 = false;        ///< F, BW, DQ and VL: masks are cheap and every element width has masked memory access
  /// functions of this process stand for these instructions (jit/engine/emulated.h)
  bool emulates_bf16 = false, emulates_amx = false;
  /// has instructions that multiply and add and round once; else a function does it, lane by lane
  bool fuses = true;
  bool rounds_to_bfloat16 = false;  ///< in one instruction that keeps subnormals
  bool approximates = false;        ///< has instructions for 2^x and 1/x, right to about an ulp (NVPTX)
  bool runtime_calls = true;        ///< code may call functions of this process; else a library inside its module
};
/// As the knobs have it now. Throws InvalidArgument where REPRISE_CPU asks for what there is not. What is returned
/// stays.
const Host& host();

/// How hard code generation tries. Fast: a third of the time, right for code that waits for memory; Full: everything
/// with values carried around loops (fast register allocation would spill them at each turn).
enum class Effort : std::uint8_t { Fast, Full };

/// What an emitter fills: a module with one external function named `entry`. Lives during one compilation, on one
/// thread.
struct EmitContext {
  llvm::LLVMContext& context;
  llvm::Module& module;
  const Host& host;
  const char* entry;
  Effort effort = Effort::Full;
};
using EmitFn = std::function<void(EmitContext&)>;

/// Finds `key` in the process's cache or emits, compiles and links it. Any thread; a key that another thread compiles
/// right now is waited for. `key` must determine the code (with code_key() and the host, which are added). An exception
/// of `emit` passes through and leaves nothing in the cache. `label`: what it does, for profilers and dumps
/// ("rms_norm_mul"); code that several kernels share has that of the first.
CodePtr compile_module(std::string key, const EmitFn& emit, std::string_view label = {});

/// The IR that `emit` builds, as text.
std::string ir_text(const EmitFn& emit);
/// The assembly of it for another machine than this one, which need not be able to run it.
std::string assembly_text(const EmitFn& emit, const Host&);

/// C functions that generated code may call by name (jit/engine/runtime_calls.cc), beside the process's own symbols.
struct RuntimeCall {
  const char* name;
  void* address;
};
const std::vector<RuntimeCall>& runtime_calls();

}  // namespace reprise::jit
