#include <algorithm>
#include <cstring>

#include "tests/cuda_sim/module.h"
#include "tests/cuda_sim/stream.h"

using namespace sim;

namespace {

/// Puts what is wrong with an image where the caller asked for it.
void write_log(unsigned n, CUjit_option* options, void** values, const std::string& text) {
  char* buffer = nullptr;
  std::size_t size = 0;
  for (unsigned i = 0; i < n; ++i) {
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER) buffer = static_cast<char*>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<std::size_t>(values[i]);
  }
  if (!buffer || size == 0) return;
  const std::size_t length = std::min(size - 1, text.size());
  std::memcpy(buffer, text.data(), length);
  buffer[length] = 0;
}

template <class M>
std::shared_ptr<M> load(const void* image, unsigned n, CUjit_option* options, void** values) {
  require(image, CUDA_ERROR_INVALID_VALUE, "no image");
  require(std::memcmp(image, "\177ELF", 4) != 0, CUDA_ERROR_NOT_SUPPORTED,
          "a cubin: the simulator runs PTX with bitcode only");
  std::string_view text(static_cast<const char*>(image));
  if (text.starts_with(kMachineCode)) {
    const std::string own = std::to_string(settings().arch) + "\n";
    text.remove_prefix(kMachineCode.size());
    require(text.starts_with(own), CUDA_ERROR_NO_BINARY_FOR_GPU, "machine code of another architecture");
    text.remove_prefix(own.size());
  }
  auto m = std::make_shared<M>();
  try {
    load_image(*m, text.data());
  } catch (const Failure& e) {
    for (auto& [name, f] : m->functions) remove_handle(f->handle);
    write_log(n, options, values, e.what);
    throw;
  }
  add_handle(m);
  return m;
}

int attribute_of(const LoadedKernel& f, CUfunction_attribute a) {
  switch (a) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      return f.kernel.max_threads ? static_cast<int>(f.kernel.max_threads) : 1024;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: return f.code ? static_cast<int>(f.code->static_shared) : 0;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: return 32;  // not known: no ptxas here
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: return 90;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: return f.max_dynamic_shared;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return f.carveout;
    default: return 0;
  }
}
void set_attribute(LoadedKernel& f, CUfunction_attribute a, int v) {
  if (a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    const int most = (227 << 10) - (f.code ? static_cast<int>(f.code->static_shared) : 0);
    require(v >= 0 && v <= most, CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": ", v,
            " bytes of dynamic shared memory, at most ", most);
    f.max_dynamic_shared = v;
  } else if (a == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) {
    f.carveout = v;
  } else {
    fail(CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": attribute ", static_cast<int>(a), " cannot be set");
  }
}

std::shared_ptr<LoadedKernel> function_in(LoadedModule& m, const char* name) {
  auto it = m.functions.find(name);
  require(it != m.functions.end(), CUDA_ERROR_NOT_FOUND, "no kernel ", name, " in the module");
  return it->second;
}
void variable_in(const LoadedModule& m, const char* name, CUdeviceptr* p, std::size_t* bytes) {
  require(m.code && m.code->variables.count(name), CUDA_ERROR_NOT_FOUND, "no variable ", name, " in the module");
  const auto& v = m.code->variables.at(name);
  if (p) *p = v.address;
  if (bytes) *bytes = v.bytes;
}

}  // namespace

SIM_ENTRY cuModuleLoadData(CUmodule* m, const void* image) {
  return api(__func__, kContext, [&] { *m = as<CUmodule>(*load<LoadedModule>(image, 0, nullptr, nullptr)); });
}
SIM_ENTRY cuModuleLoadDataEx(CUmodule* m, const void* image, unsigned n, CUjit_option* options, void** values) {
  return api(__func__, kContext, [&] { *m = as<CUmodule>(*load<LoadedModule>(image, n, options, values)); });
}
SIM_ENTRY cuLinkCreate(unsigned, CUjit_option*, void**, CUlinkState* out) {
  return api(__func__, kContext, [&] {
    auto made = std::make_shared<Linking>();
    add_handle(made);
    *out = as<CUlinkState>(*made);
  });
}
SIM_ENTRY cuLinkAddData(CUlinkState h, CUjitInputType type, void* data, std::size_t bytes, const char*, unsigned,
                        CUjit_option*, void**) {
  return api(__func__, kContext, [&] {
    auto l = find<Linking>(h);
    require(type == CU_JIT_INPUT_PTX && l->code.empty(), CUDA_ERROR_NOT_SUPPORTED, "linking of anything but one text");
    const std::string_view text(static_cast<const char*>(data), bytes);
    require(!text.empty() && text.back() == 0, CUDA_ERROR_INVALID_PTX, "a text without its zero byte");
    LoadedModule probe;
    load_image(probe, text.data());
    for (auto& [name, f] : probe.functions) remove_handle(f->handle);
    l->code = std::string(kMachineCode) + std::to_string(settings().arch) + "\n" + text.data();
  });
}
SIM_ENTRY cuLinkComplete(CUlinkState h, void** code, std::size_t* bytes) {
  return api(__func__, kContext, [&] {
    auto l = find<Linking>(h);
    require(!l->code.empty(), CUDA_ERROR_INVALID_VALUE, "nothing to link");
    *code = l->code.data(), *bytes = l->code.size();
  });
}
SIM_ENTRY cuLinkDestroy(CUlinkState h) {
  return api(__func__, kAfterFailure, [&] { remove_handle(find<Linking>(h)->handle); });
}
SIM_ENTRY cuModuleUnload(CUmodule h) {
  return api(__func__, kAfterFailure, [&] {
    auto m = find<LoadedModule>(h);
    unload(*m);
  });
}
SIM_ENTRY cuModuleGetFunction(CUfunction* f, CUmodule m, const char* name) {
  return api(__func__, kContext, [&] { *f = as<CUfunction>(*function_in(*find<LoadedModule>(m), name)); });
}
SIM_ENTRY cuModuleGetGlobal(CUdeviceptr* p, std::size_t* bytes, CUmodule m, const char* name) {
  return api(__func__, kContext, [&] { variable_in(*find<LoadedModule>(m), name, p, bytes); });
}
SIM_ENTRY cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  return api(__func__, kNoContext, [&] { *mode = CU_MODULE_EAGER_LOADING; });
}

SIM_ENTRY cuLibraryLoadData(CUlibrary* l, const void* image, CUjit_option* options, void** values, unsigned n,
                            CUlibraryOption*, void**, unsigned) {
  return api(__func__, kContext, [&] { *l = as<CUlibrary>(*load<Library>(image, n, options, values)); });
}
SIM_ENTRY cuLibraryUnload(CUlibrary h) {
  return api(__func__, kAfterFailure, [&] {
    auto l = find<Library>(h);
    unload(*l);
  });
}
SIM_ENTRY cuLibraryGetKernel(CUkernel* k, CUlibrary l, const char* name) {
  return api(__func__, kContext, [&] {
    auto f = function_in(*find<Library>(l), name);
    if (!f->kernel_handle) {
      auto h = std::make_shared<KernelHandle>();
      h->function = f;
      add_handle(h);
      f->kernel_handle = h->handle;
    }
    *k = reinterpret_cast<CUkernel>(f->kernel_handle);
  });
}
SIM_ENTRY cuLibraryGetGlobal(CUdeviceptr* p, std::size_t* bytes, CUlibrary l, const char* name) {
  return api(__func__, kContext, [&] { variable_in(*find<Library>(l), name, p, bytes); });
}
SIM_ENTRY cuKernelGetFunction(CUfunction* f, CUkernel k) {
  return api(__func__, kContext, [&] { *f = as<CUfunction>(*find<KernelHandle>(k)->function); });
}
SIM_ENTRY cuKernelGetAttribute(int* v, CUfunction_attribute a, CUkernel k, CUdevice) {
  return api(__func__, kContext, [&] { *v = attribute_of(*find<KernelHandle>(k)->function, a); });
}
SIM_ENTRY cuKernelSetAttribute(CUfunction_attribute a, int v, CUkernel k, CUdevice) {
  return api(__func__, kContext, [&] { set_attribute(*find<KernelHandle>(k)->function, a, v); });
}
SIM_ENTRY cuKernelGetName(const char** name, CUkernel k) {
  return api(__func__, kContext, [&] { *name = find<KernelHandle>(k)->function->name.c_str(); });
}
SIM_ENTRY cuFuncGetAttribute(int* v, CUfunction_attribute a, CUfunction f) {
  return api(__func__, kContext, [&] { *v = attribute_of(*find_function(f), a); });
}
SIM_ENTRY cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
  return api(__func__, kContext, [&] { set_attribute(*find_function(f), a, v); });
}
SIM_ENTRY cuFuncSetCacheConfig(CUfunction f, CUfunc_cache) {
  return api(__func__, kContext, [&] { find_function(f); });
}
SIM_ENTRY cuFuncGetName(const char** name, CUfunction f) {
  return api(__func__, kContext, [&] { *name = find_function(f)->name.c_str(); });
}
SIM_ENTRY cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction h, int threads, std::size_t shared) {
  return api(__func__, kContext, [&] {
    auto f = find_function(h);
    require(threads > 0, CUDA_ERROR_INVALID_VALUE);
    const int warps = (threads + 31) / 32;
    // Registers are not known: threads, blocks and shared memory limit.
    *blocks = threads > 1024 ? 0 : std::min(32, 64 / warps);
    const std::size_t each = shared + (f->code ? f->code->static_shared : 0) + 1024;
    *blocks = std::min<int>(*blocks, static_cast<int>((228 << 10) / each));
  });
}
