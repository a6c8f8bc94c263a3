#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/cuda_sim/handles.h"

/// Loaded images and their kernels.
namespace sim {

struct Parameter {
  std::uint32_t offset = 0, bytes = 8;
};  ///< within the parameter buffer

struct SharedVariable {
  std::string name;
  std::uint64_t address = 0, bytes = 0;  ///< in the shared window
};

/// Host code of a module.
struct Code {
  virtual ~Code() = default;
  /// Runs one thread of the kernel with `params` (one pointer for each parameter).
  using Entry = void (*)(void* const* params);
  struct Kernel {
    Entry entry = nullptr;
    std::vector<std::uint32_t> param_bytes;
    std::uint32_t max_threads = 0;          ///< launch bound; 0: none
    std::uint32_t required[3] = {0, 0, 0};  ///< reqntid; 0: none
  };
  std::map<std::string, Kernel> kernels;
  struct Variable {
    std::uint64_t address = 0, bytes = 0;
  };
  std::map<std::string, Variable> variables;
  std::vector<SharedVariable> shared;
  std::uint64_t static_shared = 0;  ///< as a device would lay it out
  std::uint64_t dynamic_base = 0;   ///< where dynamic shared memory starts in the window
  bool cooperates = false;          ///< threads wait for each other: each needs a stack of its own
  std::string bitcode;              ///< as it came, for messages
};

/// Compiles bitcode for the host. Fails with CUDA_ERROR_INVALID_PTX and the reason.
std::shared_ptr<Code> compile_bitcode(const std::string& bitcode);
/// The n-th instruction (counted as sites are) of the module, as text.
std::string instruction_text(const std::string& bitcode, std::uint32_t site);

struct LoadedModule;

struct LoadedKernel : Object {
  static constexpr Kind kKind = Kind::Function;
  LoadedKernel() : Object(kKind) {}
  std::string name;
  std::shared_ptr<const Code> code;  ///< null: done by `native`
  Code::Kernel kernel;
  void (*native)(const char* params, std::uint64_t bytes) = nullptr;
  void (*stand_in)(void* data) = nullptr;  ///< of a library's stand-in (control.h); `data` is a copy of the parameters
  std::vector<Parameter> params;
  std::uint32_t param_bytes = 0;               ///< of the buffer
  std::int32_t max_dynamic_shared = 48 << 10;  ///< CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
  std::int32_t carveout = -1;
  bool unloaded = false;
  std::uint64_t kernel_handle = 0;  ///< of its CUkernel, when it came from a library
};

/// A module or a library.
struct LoadedModule : Object {
  static constexpr Kind kKind = Kind::Module;
  explicit LoadedModule(Kind k = Kind::Module) : Object(k) {}
  std::map<std::string, std::shared_ptr<LoadedKernel>> functions;
  std::shared_ptr<const Code> code;
};
struct Library : LoadedModule {
  static constexpr Kind kKind = Kind::Library;
  Library() : LoadedModule(kKind) {}
};
/// What is being linked: its "machine code" is the text behind the architecture's name, which is all that a device
/// minds.
struct Linking : Object {
  static constexpr Kind kKind = Kind::Link;
  Linking() : Object(kKind) {}
  std::string code;
};
inline constexpr std::string_view kMachineCode = "\177simulated machine code of sm_";
/// CUkernel: another handle of a function.
struct KernelHandle : Object {
  static constexpr Kind kKind = Kind::Kernel;
  KernelHandle() : Object(kKind) {}
  std::shared_ptr<LoadedKernel> function;
};

/// Reads PTX text (and the bitcode in its last lines) into `m`. Throws Failure naming what is wrong with the image.
void load_image(LoadedModule& m, const std::string& image);
void unload(LoadedModule& m);
/// The kernel that stands for a library's, with so many bytes of parameters: one of a library that was loaded, with a
/// CUkernel's handle.
std::shared_ptr<LoadedKernel> stand_in_kernel(void (*run)(void* data), std::size_t bytes);
/// From a CUfunction or a CUkernel.
std::shared_ptr<LoadedKernel> find_function(const void* handle);

}  // namespace sim
