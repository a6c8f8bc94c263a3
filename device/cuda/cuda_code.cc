// Users' kernels as text (reprise/cuda_code.h).
#include "reprise/cuda_code.h"
#include "base/mutex.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/errors.h"
#include "device/cuda/module.h"
#include "device/cuda/nvrtc.h"

namespace reprise {

using device::cuda::check;
using device::cuda::cu;

struct CudaCode::State {
  State(std::string t, std::vector<std::string> o) : text(std::move(t)), options(std::move(o)) {}

  const std::string text;
  const std::vector<std::string> options;
  // held while code is compiled, too: who needs it waits
  Mutex mu;
  std::map<CUcontext, CUmodule> modules REPRISE_GUARDED_BY(mu);
  std::map<std::pair<CUcontext, std::string>, CUfunction> functions REPRISE_GUARDED_BY(mu);
  std::map<CUfunction, std::uint32_t> shared REPRISE_GUARDED_BY(mu);  // dynamic shared memory that was asked for

  bool is_ptx() const {
    return text.find(".version") != std::string::npos && text.find(".target") != std::string::npos &&
           text.find("__global__") == std::string::npos;
  }

  /// Of this thread's context, with so much shared memory.
  CUfunction function(const std::string& entry, std::uint32_t shared_bytes) {
    CUcontext context = nullptr;
    check(cu().cuCtxGetCurrent(&context), "asking for the context");
    if (!context) fail(ErrorCode::DeviceUnavailable, "cuda", {}, "this thread has no context of a CUDA device");
    const MutexLock lock(mu);
    auto at = functions.find({context, entry});
    if (at == functions.end()) {
      CUfunction made = nullptr;
      const CUresult r = cu().cuModuleGetFunction(&made, module(context), entry.c_str());
      if (r == CUDA_ERROR_NOT_FOUND)
        fail(ErrorCode::InvalidArgument, "cuda", {}, "there is no kernel '", entry,
             "' in the code (kernels are extern \"C\")");
      check(r, "preparing kernel", entry);
      at = functions.emplace(std::pair(context, entry), made).first;
    }
    if (std::uint32_t& asked = shared[at->second];
        shared_bytes > std::max<std::uint32_t>(asked, device::cuda::kSharedWithoutAsking)) {
      check(cu().cuFuncSetAttribute(at->second, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                    static_cast<int>(shared_bytes)),
            "asking for shared memory of kernel", entry);
      asked = shared_bytes;
    }
    return at->second;
  }

 private:
  CUmodule module(CUcontext context) REPRISE_REQUIRES(mu) {
    auto it = modules.find(context);
    if (it == modules.end())
      it = modules.emplace(context, device::cuda::load_module(is_ptx() ? text : compiled(), "CudaCode")).first;
    return it->second;
  }
  std::string compiled() const {
    CUdevice device = 0;
    int major = 0, minor = 0;
    check(cu().cuCtxGetDevice(&device), "asking for the device");
    check(cu().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device),
          "asking for the architecture");
    check(cu().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device),
          "asking for the architecture");
    return device::cuda::compile_cuda(text, "sm_" + std::to_string(major) + std::to_string(minor), options);
  }
};

CudaCode::CudaCode(std::string text, std::vector<std::string> options)
    : state_(std::make_shared<State>(std::move(text), std::move(options))) {}

void CudaCode::queue(const KernelCall& call, const char* entry, const Launch& how, void** args) const noexcept {
  const auto& [g, b, shared_bytes] = how;
  try {
    if (!call.stream)
      fail(ErrorCode::DeviceUnavailable, "cuda", {}, "kernel '", entry,
           "' runs on CUDA devices, and the operator has no kernel for the host");
    if (!device::cuda::driver()) fail(ErrorCode::DeviceUnavailable, "cuda", {}, device::cuda::driver_problem());
    const CUfunction f = state_->function(entry, shared_bytes);
    if (!g.x || !g.y || !g.z) return;
    check(cu().cuLaunchKernel(f, g.x, g.y, g.z, b.x, b.y, b.z, shared_bytes, static_cast<CUstream>(call.stream), args,
                              nullptr),
          "queueing kernel", entry);
  } catch (const Error& e) {
    call.fail(e.code(), e.message());
  } catch (const std::exception& e) {
    call.fail(ErrorCode::Internal, e.what());
  }
}

}  // namespace reprise
