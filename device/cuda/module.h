#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mutex.h"
#include "device/backend.h"
#include "device/cuda/context.h"

namespace reprise::device::cuda {

/// Dynamic shared memory of a block that a kernel may have without asking for it.
inline constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;

/// Code, PTX or machine code, loaded in this thread's context. Throws DeviceFailed with the driver's words.
CUmodule load_module(const std::string& code, std::string_view kernel);

/// Modules that nobody runs any more. Each may still be in graphs that were destroyed while they ran, and the device is
/// waited for as a whole: once for many. Threads: any.
class Unloads {
 public:
  explicit Unloads(const Context& c) : context_(c) {}
  void add(CUmodule) noexcept;
  void now() noexcept;

 private:
  static constexpr std::size_t kAtOnce = 64;
  const Context& context_;
  Mutex mu_;
  std::vector<CUmodule> waiting_ REPRISE_GUARDED_BY(mu_);
};

/// A loaded kernel; unloads with the last reference. Recordings that run it hold one.
class CudaKernel final : public Kernel {
 public:
  CudaKernel(const Context&, Unloads&, ImagePtr);
  ~CudaKernel() override;
  Resources resources() const override;
  CUfunction function() const { return function_; }
  const Image& image() const { return *image_; }
  /// It may be launched while what is before it in a graph still runs, and waits for that (Note [Early launches] in
  /// jit/gpu/module.h).
  bool waits() const { return waits_; }

 private:
  const Context& context_;
  Unloads& unloads_;
  ImagePtr image_;
  bool waits_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
};

/// Equal images give one loaded kernel as long as somebody holds it. Any thread; a kernel that another thread loads now
/// is waited for.
class Kernels {
 public:
  explicit Kernels(const Context& c) : context_(c), unloads_(c) {}
  KernelPtr load(const ImagePtr&);
  /// Unloads what nobody holds.
  void trim() noexcept { unloads_.now(); }

 private:
  const Context& context_;
  Unloads unloads_;
  Mutex mu_;
  std::unordered_multimap<std::size_t, std::weak_ptr<const CudaKernel>> loaded_
      REPRISE_GUARDED_BY(mu_);  // by hash of the code
};

}  // namespace reprise::device::cuda
