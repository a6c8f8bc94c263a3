#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/cuda_sim/handles.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/stream.h"

/// The driver, its one device, contexts.
namespace sim {

namespace {

struct Context : Object {
  static constexpr Kind kKind = Kind::Context;
  Context() : Object(kKind) {}
};
struct Primary {
  std::shared_ptr<Context> context;
  int references = 0;
  unsigned flags = 0;
};
Primary& primary() {
  static Primary* p = new Primary;
  return *p;
}

thread_local std::vector<std::uint64_t> t_contexts;

struct ResultName {
  CUresult result;
  const char *name, *text;
};
constexpr ResultName kResults[] = {
    {CUDA_SUCCESS, "CUDA_SUCCESS", "no error"},
    {CUDA_ERROR_INVALID_VALUE, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
    {CUDA_ERROR_OUT_OF_MEMORY, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {CUDA_ERROR_NOT_INITIALIZED, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {CUDA_ERROR_DEINITIALIZED, "CUDA_ERROR_DEINITIALIZED", "driver shutting down"},
    {CUDA_ERROR_STUB_LIBRARY, "CUDA_ERROR_STUB_LIBRARY", "CUDA driver is a stub library"},
    {CUDA_ERROR_NO_DEVICE, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {CUDA_ERROR_INVALID_DEVICE, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
    {CUDA_ERROR_INVALID_IMAGE, "CUDA_ERROR_INVALID_IMAGE", "device kernel image is invalid"},
    {CUDA_ERROR_INVALID_CONTEXT, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {CUDA_ERROR_NO_BINARY_FOR_GPU, "CUDA_ERROR_NO_BINARY_FOR_GPU",
     "no kernel image is available for execution on the device"},
    {CUDA_ERROR_INVALID_PTX, "CUDA_ERROR_INVALID_PTX", "a PTX JIT compilation failed"},
    {CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION",
     "the provided PTX was compiled with an unsupported toolchain."},
    {CUDA_ERROR_INVALID_HANDLE, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"},
    {CUDA_ERROR_NOT_FOUND, "CUDA_ERROR_NOT_FOUND", "named symbol not found"},
    {CUDA_ERROR_NOT_READY, "CUDA_ERROR_NOT_READY", "device not ready"},
    {CUDA_ERROR_ILLEGAL_ADDRESS, "CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"},
    {CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES",
     "too many resources requested for launch"},
    {CUDA_ERROR_LAUNCH_TIMEOUT, "CUDA_ERROR_LAUNCH_TIMEOUT", "the launch timed out and was terminated"},
    {CUDA_ERROR_MISALIGNED_ADDRESS, "CUDA_ERROR_MISALIGNED_ADDRESS", "misaligned address"},
    {CUDA_ERROR_LAUNCH_FAILED, "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
    {CUDA_ERROR_NOT_PERMITTED, "CUDA_ERROR_NOT_PERMITTED", "operation not permitted"},
    {CUDA_ERROR_NOT_SUPPORTED, "CUDA_ERROR_NOT_SUPPORTED", "operation not supported"},
    {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED",
     "operation not permitted when stream is capturing"},
    {CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "CUDA_ERROR_STREAM_CAPTURE_INVALIDATED",
     "operation failed due to a previous error during capture"},
    {CUDA_ERROR_STREAM_CAPTURE_MERGE, "CUDA_ERROR_STREAM_CAPTURE_MERGE",
     "operation would result in a merge of separate capture sequences"},
    {CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "CUDA_ERROR_STREAM_CAPTURE_UNJOINED", "capturing stream has unjoined work"},
    {CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "CUDA_ERROR_STREAM_CAPTURE_IMPLICIT",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, "CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE",
     "the graph update was not performed because it included changes which violated constraints specific to "
     "instantiated graph update"},
    {CUDA_ERROR_ECC_UNCORRECTABLE, "CUDA_ERROR_ECC_UNCORRECTABLE", "uncorrectable ECC error encountered"},
    {CUDA_ERROR_UNKNOWN, "CUDA_ERROR_UNKNOWN", "unknown error"},
};
const ResultName* find_result(CUresult r) {
  for (const ResultName& n : kResults)
    if (n.result == r) return &n;
  return nullptr;
}

int attribute(CUdevice_attribute a) {
  switch (a) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return 1024;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 2147483647;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return 49152;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return 227 << 10;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return 228 << 10;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return 1024;
    case CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY: return 65536;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return 65536;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1980000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return 3201000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return 6144;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return 132;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return 2048;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return 32;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return 50 << 20;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return settings().arch / 10;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return settings().arch % 10;
    case CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT: return 512;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 3;
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH: return 1;
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED: return settings().has_mapping;
    case CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED: return settings().has_pools;
    default: return 0;
  }
}

void require_device(CUdevice d) { require(d == 0, CUDA_ERROR_INVALID_DEVICE, "device ", d, " of 1"); }

}  // namespace

const char* result_name(CUresult r) {
  const ResultName* n = find_result(r);
  return n ? n->name : "CUDA_ERROR_?";
}

bool has_current_context() {
  return !t_contexts.empty() && primary().context && t_contexts.back() == primary().context->handle;
}

}  // namespace sim

using namespace sim;

SIM_ENTRY cuInit(unsigned flags) {
  return api(__func__, kNoInit, [&] {
    require(flags == 0, CUDA_ERROR_INVALID_VALUE);
    require(settings().devices > 0, CUDA_ERROR_NO_DEVICE);
  });
}
SIM_ENTRY cuDriverGetVersion(int* version) {
  return api(__func__, kNoInit, [&] { *version = settings().driver_version; });
}
SIM_ENTRY cuGetErrorName(CUresult r, const char** name) {
  const ResultName* n = find_result(r);
  *name = n ? n->name : nullptr;
  return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM_ENTRY cuGetErrorString(CUresult r, const char** text) {
  const ResultName* n = find_result(r);
  *text = n ? n->text : nullptr;
  return n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM_ENTRY cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t,
                           CUdriverProcAddressQueryResult* status) {
  return api(__func__, kNoInit | kNoContext, [&] {
    require(symbol && function, CUDA_ERROR_INVALID_VALUE);
    Dl_info self{};
    dladdr(&reprise_simulator, &self);
    static void* library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    *function = nullptr;
    for (const char* suffix : {"_v4", "_v3", "_v2", ""})
      if (!*function && library) *function = dlsym(library, cat(symbol, suffix).c_str());
    const bool found = *function && version <= settings().driver_version;
    if (status) *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    require(found || status, CUDA_ERROR_NOT_FOUND, symbol, " is not simulated");
    if (!found) *function = nullptr, std::fprintf(stderr, "cuda simulator: %s is not simulated\n", symbol);
  });
}

SIM_ENTRY cuDeviceGetCount(int* n) {
  return api(__func__, kNoContext | kAfterFailure, [&] { *n = settings().devices; });
}
SIM_ENTRY cuDeviceGet(CUdevice* d, int ordinal) {
  return api(__func__, kNoContext | kAfterFailure, [&] { require_device(ordinal), *d = ordinal; });
}
SIM_ENTRY cuDeviceGetName(char* name, int length, CUdevice d) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    require_device(d);
    std::snprintf(name, static_cast<std::size_t>(length), "Simulated CUDA device");
  });
}
SIM_ENTRY cuDeviceGetUuid(CUuuid* id, CUdevice d) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    require_device(d);
    std::memset(id, 0x5a, sizeof *id);
  });
}
SIM_ENTRY cuDeviceTotalMem(std::size_t* bytes, CUdevice d) {
  return api(__func__, kNoContext | kAfterFailure, [&] { require_device(d), *bytes = settings().memory; });
}
SIM_ENTRY cuDeviceGetAttribute(int* value, CUdevice_attribute a, CUdevice d) {
  return api(__func__, kNoContext | kAfterFailure, [&] { require_device(d), *value = attribute(a); });
}
SIM_ENTRY cuDeviceGetPCIBusId(char* text, int length, CUdevice d) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    require_device(d);
    std::snprintf(text, static_cast<std::size_t>(length), "0000:00:00.0");
  });
}

SIM_ENTRY cuDevicePrimaryCtxRetain(CUcontext* c, CUdevice d) {
  return api(__func__, kNoContext, [&] {
    require_device(d);
    if (!primary().context) add_handle(primary().context = std::make_shared<Context>());
    ++primary().references;
    *c = as<CUcontext>(*primary().context);
  });
}
SIM_ENTRY cuDevicePrimaryCtxRelease(CUdevice d) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    require_device(d);
    require(primary().references > 0, CUDA_ERROR_INVALID_CONTEXT, "released more often than retained");
    if (--primary().references) return;
    drain_everything();
    remove_handle(primary().context->handle);
    primary().context.reset();
  });
}
SIM_ENTRY cuDevicePrimaryCtxSetFlags(CUdevice d, unsigned flags) {
  return api(__func__, kNoContext, [&] { require_device(d), primary().flags = flags; });
}
SIM_ENTRY cuDevicePrimaryCtxGetState(CUdevice d, unsigned* flags, int* active) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    require_device(d);
    if (flags) *flags = primary().flags;
    if (active) *active = primary().context != nullptr;
  });
}
SIM_ENTRY cuCtxSetCurrent(CUcontext c) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    if (!t_contexts.empty()) t_contexts.pop_back();
    if (!c) return;
    find<Context>(c);
    t_contexts.push_back(reinterpret_cast<std::uint64_t>(c));
  });
}
SIM_ENTRY cuCtxGetCurrent(CUcontext* c) {
  return api(__func__, kNoContext | kAfterFailure,
             [&] { *c = t_contexts.empty() ? nullptr : reinterpret_cast<CUcontext>(t_contexts.back()); });
}
SIM_ENTRY cuCtxPushCurrent(CUcontext c) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    find<Context>(c);
    t_contexts.push_back(reinterpret_cast<std::uint64_t>(c));
  });
}
SIM_ENTRY cuCtxPopCurrent(CUcontext* c) {
  return api(__func__, kNoContext | kAfterFailure, [&] {
    require(!t_contexts.empty(), CUDA_ERROR_INVALID_CONTEXT);
    if (c) *c = reinterpret_cast<CUcontext>(t_contexts.back());
    t_contexts.pop_back();
  });
}
SIM_ENTRY cuCtxGetDevice(CUdevice* d) {
  return api(__func__, kAfterFailure, [&] { *d = 0; });
}
#undef cuCtxSynchronize
SIM_ENTRY cuCtxSynchronize() {
  return api(__func__, kContext, [&]() -> CUresult {
    require(!anything_captures(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "cuCtxSynchronize during a capture");
    drain_everything();
    return sticky_error();
  });
}
SIM_ENTRY cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return api(__func__, kContext, [&] {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
  });
}
SIM_ENTRY cuCtxGetLimit(std::size_t* value, CUlimit) {
  return api(__func__, kContext, [&] { *value = 1024; });
}
SIM_ENTRY cuCtxSetLimit(CUlimit, std::size_t) {
  return api(__func__, kContext, [] {});
}
SIM_ENTRY cuCtxSetCacheConfig(CUfunc_cache) {
  return api(__func__, kContext, [] {});
}
