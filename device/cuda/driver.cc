#include "device/cuda/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <vector>

#include "base/errors.h"
#include "base/fork.h"
#include "base/knobs.h"
#include "base/log.h"

namespace reprise::device::cuda {

namespace {

#define REPRISE_TEXT(x) #x
#define REPRISE_NAME(x) REPRISE_TEXT(x)

struct Opened {
  Driver table;
  std::string problem;
  std::vector<std::string> device_problems;  // by index; empty: none
};

constexpr int kOldest = 75;  // sm_, of devices

std::string words(const Driver& d, CUresult r) {
  const char *name = nullptr, *text = nullptr;
  if (d.cuGetErrorName) d.cuGetErrorName(r, &name);
  if (d.cuGetErrorString) d.cuGetErrorString(r, &text);
  return (name ? name : "error " + std::to_string(static_cast<int>(r))) +
         std::string(text ? std::string(" (") + text + ")" : "");
}

/// Why this device cannot be used, though its driver can; empty: it can.
std::string problem_of(const Driver& d, int index) {
  CUdevice device = 0;
  char name[256] = {};
  int major = 0, minor = 0, maps = 0;
  CUresult r = d.cuDeviceGet(&device, index);
  if (r == CUDA_SUCCESS) r = d.cuDeviceGetName(name, sizeof name, device);
  for (auto [v, what] : {std::pair{&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR},
                         {&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR},
                         {&maps, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED}})
    if (r == CUDA_SUCCESS) r = d.cuDeviceGetAttribute(v, what, device);
  const std::string text = "CUDA device " + std::to_string(index) + (name[0] ? " (" + std::string(name) + ")" : "");
  if (r != CUDA_SUCCESS) return text + " does not say what it is: " + words(d, r);
  const int sm = major * 10 + minor;
  if (sm < kOldest)
    return text + " is of sm_" + std::to_string(sm) + "; sm_" + std::to_string(kOldest) + " or newer is needed";
  if (!maps)
    return text + " does not map memory piece by piece (virtual memory management), as the pool of temporaries needs";
  return "";
}

std::string open(Driver& d) {
  std::vector<std::string> names{"libcuda.so.1", "libcuda.so"};
  if (!knobs().cuda_driver.empty()) names = {knobs().cuda_driver};
  void* library = nullptr;
  std::string why;
  for (const std::string& name : names) {
    library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library) break;
    if (why.empty()) why = dlerror();
  }
  if (!library) return "no CUDA driver: " + why;
  std::string missing;
  auto find = [&](const char* name, bool needed) {
    void* p = dlsym(library, name);
    if (!p && needed && missing.empty()) missing = name;
    return p;
  };
#define REPRISE_CUDA_NEED(name) d.name = reinterpret_cast<decltype(d.name)>(find(REPRISE_NAME(name), true));
#define REPRISE_CUDA_MAY(name) d.name = reinterpret_cast<decltype(d.name)>(find(REPRISE_NAME(name), false));
#include "base/mutex.h"
#include "device/cuda/driver.def"
#undef REPRISE_CUDA_NEED
#undef REPRISE_CUDA_MAY
  if (!d.cuInit) return "the library found as CUDA driver has no cuInit";
  if (CUresult r = d.cuInit(0); r == CUDA_ERROR_STUB_LIBRARY)
    return "the library found as CUDA driver is the toolkit's stub, not a driver";
  else if (r == CUDA_ERROR_NO_DEVICE) return "there is no CUDA device";
  else if (r != CUDA_SUCCESS) return "the CUDA driver does not start: " + words(d, r);
  if (d.cuDriverGetVersion) d.cuDriverGetVersion(&d.version);
  if (!missing.empty())
    return "the CUDA driver is too old: it is of CUDA " + std::to_string(d.version / 1000) + "." +
           std::to_string(d.version % 1000 / 10) + ", and has no " + missing + "; CUDA 12.3 is needed";
  if (CUresult r = d.cuDeviceGetCount(&d.devices); r != CUDA_SUCCESS)
    return "the CUDA driver does not count its devices: " + words(d, r);
  if (d.devices == 0) return "there is no CUDA device";
  d.simulated = dlsym(library, "reprise_simulator") != nullptr;
  d.suballocate = reinterpret_cast<decltype(d.suballocate)>(dlsym(library, "reprise_simulator_suballocate"));
  return "";
}

// A driver that was started before a fork works in the parent alone.
std::atomic<bool> failed{false};
bool forked = false;  // written in a child while it has one thread

const Opened& opened() {
  static const Opened* o = [] {
    auto* made = new Opened;  // never destroyed: memory may be given back by static objects' destructors
    made->problem = open(made->table);
    for (int i = 0; made->problem.empty() && i < made->table.devices; ++i)
      made->device_problems.push_back(problem_of(made->table, i));
    static const InForkedChild unusable([] {
      forked = true;
      failed.store(true, std::memory_order_release);
    });
    return made;
  }();
  return *o;
}

// What made the context unusable; empty while it is well.
constinit ForkMutex failure_mu;
std::string failure REPRISE_GUARDED_BY(failure_mu);

bool is_final(CUresult r) {
  switch (r) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_EXTERNAL_DEVICE:
    case CUDA_ERROR_CONTEXT_IS_DESTROYED:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_UNKNOWN: return true;
    default: break;
  }
  // Later than the oldest cuda.h that this is compiled with: CUDA_ERROR_CONTAINED, CUDA_ERROR_TENSOR_MEMORY_LEAK.
  return static_cast<int>(r) == 226 || static_cast<int>(r) == 721;
}

}  // namespace

std::string name_of(CUresult r) {
  const char* name = nullptr;
  cu().cuGetErrorName(r, &name);
  return name ? name : std::to_string(static_cast<int>(r));
}
Driver& driver_table() { return const_cast<Opened&>(opened()).table; }
const Driver* driver() { return opened().problem.empty() ? &opened().table : nullptr; }
const std::string& driver_problem() { return opened().problem; }
const std::string& device_problem(int index) { return opened().device_problems.at(static_cast<std::size_t>(index)); }

void check_usable() {
  if (!failed.load(std::memory_order_acquire)) [[likely]]
    return;
  if (forked)
    fail(ErrorCode::DeviceFailed, "cuda", {},
         "this process was forked from one that had used CUDA, and the driver does not work in a child: fork before "
         "the first use of the device, or start another program (exec)");
  const MutexLock lock(failure_mu);
  fail(ErrorCode::DeviceFailed, "cuda", {},
       "the device failed earlier and cannot be used until the process starts again: ", failure);
}

void check(CUresult r, const char* doing, std::string_view kernel) {
  if (r == CUDA_SUCCESS) [[likely]]
    return;
  check_usable();
  std::string what = words(opened().table, r);
  const bool final = is_final(r);
  if (final) {
    const MutexLock lock(failure_mu);
    failure = what + " while " + doing + (kernel.empty() ? "" : " " + std::string(kernel));
    failed.store(true, std::memory_order_release);
  }
  fail(ErrorCode::DeviceFailed, "cuda", {}, doing, kernel.empty() ? "" : " ", kernel, ": ", what,
       final && kernel.empty() ? "; with REPRISE_CUDA_DEBUG=serial the kernel is named" : "");
}

void warn(CUresult r, const char* doing) noexcept {
  if (r == CUDA_SUCCESS || r == CUDA_ERROR_DEINITIALIZED || failed.load(std::memory_order_acquire)) return;
  try {
    logs::warn(std::string("cuda: ") + doing + ": " + words(opened().table, r));
  } catch (...) {  // no memory for the words: nothing can be said
  }
}

}  // namespace reprise::device::cuda
