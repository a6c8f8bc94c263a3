#include "device/cuda/module.h"

#include <functional>
#include <new>

#include "base/errors.h"
#include "base/mutex.h"
#include "device/cuda/assemble.h"

namespace reprise::device::cuda {

CUmodule load_module(const std::string& code, std::string_view kernel) {
  char errors[4096] = {};
  CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {errors, reinterpret_cast<void*>(sizeof errors)};
  CUmodule module = nullptr;
  if (CUresult r = cu().cuModuleLoadDataEx(&module, code.c_str(), 2, options, values); r != CUDA_SUCCESS) {
    check_usable();
    const char* name = nullptr;
    cu().cuGetErrorName(r, &name);
    fail(ErrorCode::DeviceFailed, "cuda", {}, "the driver refuses the code of kernel ", kernel, " (",
         name ? name : "unknown error", ")", errors[0] ? ": " : "", errors);
  }
  return module;
}

CudaKernel::CudaKernel(const Context& c, Unloads& unloads, ImagePtr image)
    : context_(c), unloads_(unloads), image_(std::move(image)),
      waits_(image_->code.find("griddepcontrol.wait") != std::string::npos) {
  c.enter();
  module_ = load_kernel(c, *image_);
  CUresult r = cu().cuModuleGetFunction(&function_, module_, image_->entry.c_str());
  if (r == CUDA_SUCCESS && image_->shared_bytes > kSharedWithoutAsking)
    r = cu().cuFuncSetAttribute(function_, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                static_cast<int>(image_->shared_bytes));
  if (r != CUDA_SUCCESS) {
    warn(cu().cuModuleUnload(module_), "unloading a kernel");
    check(r, "preparing kernel", image_->entry);
  }
}

CudaKernel::~CudaKernel() { unloads_.add(module_); }

void Unloads::add(CUmodule module) noexcept {
  bool many = false;
  try {
    const MutexLock lock(mu_);
    waiting_.push_back(module);
    many = waiting_.size() >= kAtOnce;
  } catch (const std::bad_alloc&) {
    context_.enter_quietly();
    warn(context_.synchronize(), "waiting for the device");
    warn(cu().cuModuleUnload(module), "unloading a kernel");
  }
  if (many) now();
}

void Unloads::now() noexcept {
  std::vector<CUmodule> all;
  {
    const MutexLock lock(mu_);
    all.swap(waiting_);
  }
  if (all.empty()) return;
  context_.enter_quietly();
  warn(context_.synchronize(), "waiting for the device");
  for (CUmodule module : all) warn(cu().cuModuleUnload(module), "unloading a kernel");
}

Kernel::Resources CudaKernel::resources() const {
  context_.enter();
  auto attribute = [&](CUfunction_attribute a) {
    int v = 0;
    check(cu().cuFuncGetAttribute(&v, a, function_), "asking about kernel", image_->entry);
    return v;
  };
  return {attribute(CU_FUNC_ATTRIBUTE_NUM_REGS), attribute(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES),
          attribute(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), attribute(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)};
}

KernelPtr Kernels::load(const ImagePtr& image) {
  const std::size_t hash = std::hash<std::string>()(image->code);
  const MutexLock lock(mu_);
  auto [it, end] = loaded_.equal_range(hash);
  while (it != end) {
    std::shared_ptr<const CudaKernel> k = it->second.lock();
    if (k && k->image().entry == image->entry && k->image().code == image->code) return k;
    it = k ? std::next(it) : loaded_.erase(it);
  }
  auto made = std::make_shared<const CudaKernel>(context_, unloads_, image);
  loaded_.emplace(hash, made);
  return made;
}

}  // namespace reprise::device::cuda
