#include <array>
#include <memory>
#include <mutex>

#include "base/errors.h"
#include "base/knobs.h"
#include "base/mutex.h"
#include "device/cuda/allocator.h"
#include "device/cuda/blaslt.h"
#include "device/cuda/captures.h"
#include "device/cuda/cuda.h"
#include "device/cuda/graph.h"
#include "device/cuda/module.h"
#include "device/cuda/pinned.h"
#include "device/cuda/queue.h"
#include "device/cuda/range.h"
#include "device/cuda/staging.h"
#include "device/host_accounts.h"

namespace reprise::device {

namespace {

using namespace cuda;

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int index)
      : context_(index), allocator_(context_), pinned_(context_), staging_(context_, pinned_), blocks_(context_),
        kernels_(context_), captures_(context_), products_(context_), default_(context_, 0) {
    std::string how = knobs().cuda_pointers;
    if (how != "block" && how != "nodes")
      fail(ErrorCode::InvalidArgument, "REPRISE_CUDA_POINTERS", {}, "\"", how, "\" is neither block nor nodes");
    indirect_ = how == "block";
    runs_serially();  // throws where that makes no sense
  }

  std::string description() const override {
    return context_.name + ", sm_" + std::to_string(context_.major * 10 + context_.minor) + ", " +
           std::to_string(context_.processors) + " processors, " + bytes_text(context_.total_bytes) +
           ", driver of CUDA " + std::to_string(cu().version / 1000) + "." + std::to_string(cu().version % 1000 / 10);
  }
  CodeTarget target() const override {
    // The newest architecture that code is made for; newer devices load it, too.
    const int own = context_.major * 10 + context_.minor, sm = std::min(own, 90);
    return {
        .arch = "sm_" + std::to_string(sm), .indirect = indirect_, .warpgroups = own == 90, .with_ir = cu().simulated};
  }

  void* allocate(std::int64_t bytes) override {
    return allocator_.allocate(bytes, stream(), range_bytes_ + graph_bytes_);
  }
  void deallocate(void* p, std::int64_t) noexcept override {
    CudaStream* under = nullptr;
    try {
      under = &stream();
    } catch (...) {  // the thread's stream is gone
    }
    allocator_.free(p, under);
  }
  std::unique_ptr<MemoryRange> reserve(std::int64_t bytes) override {
    return std::make_unique<Range>(context_, bytes, range_bytes_);
  }
  MemoryStats memory() override {
    context_.enter();
    Allocator::Stats a = allocator_.stats();
    std::size_t free_bytes = 0, total = 0;
    check(cu().cuMemGetInfo(&free_bytes, &total), "measuring memory");
    return {a.live,
            a.cached,
            a.peak,
            range_bytes_,
            graph_bytes_,
            static_cast<std::int64_t>(free_bytes),
            static_cast<std::int64_t>(total)};
  }
  void trim() override {
    kernels_.trim();
    allocator_.trim();
  }
  void set_limit(std::int64_t bytes) override { allocator_.set_limit(bytes); }
  void synchronize() override {
    context_.enter();
    check(context_.synchronize(), "waiting for the device");
  }

  Stream& current_stream() override { return stream(); }
  void set_current_stream(Stream* s) override { cuda::set_current_stream(context_, static_cast<CudaStream*>(s)); }
  std::unique_ptr<Stream> new_stream(int priority) override { return std::make_unique<CudaStream>(context_, priority); }

  // When the driver has read memory that is not page-locked it says of calls alone that wait.
  void copy_from_host(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    if (bytes <= Staging::kMost && staging_.to_device(address(to), from, bytes, static_cast<CudaStream&>(s))) return;
    context_.enter();
    check(cu().cuMemcpyHtoDAsync(address(to), from, static_cast<std::size_t>(bytes), handle(s)),
          "copying to the device");
    check(cu().cuStreamSynchronize(handle(s)), "copying to the device");
  }
  void copy_to_host(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    if (bytes <= Staging::kMost && staging_.to_host(to, address(from), bytes, static_cast<CudaStream&>(s))) return;
    context_.enter();
    check(cu().cuMemcpyDtoHAsync(to, address(from), static_cast<std::size_t>(bytes), handle(s)), "copying to the host");
    check(cu().cuStreamSynchronize(handle(s)), "copying to the host");
  }
  void copy(void* to, const void* from, std::int64_t bytes, Stream& s) override {
    context_.enter();
    check(cu().cuMemcpyDtoDAsync(address(to), address(from), static_cast<std::size_t>(bytes), handle(s)),
          "copying on the device");
  }

  void* allocate_pinned(std::int64_t bytes) override { return pinned_.allocate(bytes); }
  void deallocate_pinned(void* p) noexcept override { pinned_.free(p); }
  void copy_from_pinned(void* to, const void* pinned, std::int64_t bytes, Stream& s) override {
    context_.enter();
    check(cu().cuMemcpyHtoDAsync(address(to), pinned, static_cast<std::size_t>(bytes), handle(s)),
          "copying to the device");
    pinned_.used(pinned, static_cast<CudaStream&>(s));
  }
  void copy_to_pinned(void* pinned, const void* from, std::int64_t bytes, Stream& s) override {
    context_.enter();
    check(cu().cuMemcpyDtoHAsync(pinned, address(from), static_cast<std::size_t>(bytes), handle(s)),
          "copying to the host");
    pinned_.used(pinned, static_cast<CudaStream&>(s));
  }
  void order_after(void* native, Stream& producer) override {
    context_.enter();
    CUevent event = nullptr;
    check(cu().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
    CUresult r = cu().cuEventRecord(event, handle(producer));
    if (r == CUDA_SUCCESS) r = cu().cuStreamWaitEvent(static_cast<CUstream>(native), event, 0);
    warn(cu().cuEventDestroy(event), "destroying an event");  // the driver keeps it for who waits
    check(r, "ordering another library's stream");
  }

  KernelPtr load(const ImagePtr& image) override { return kernels_.load(image); }
  std::unique_ptr<Graph> new_graph(std::uint32_t cells) override {
    return std::make_unique<CudaGraph>(
        GraphHome{context_, blocks_, captures_, indirect_, graph_bytes_, sizes_, starts_early(),
                  knobs().cuda_captures == "flat", indirect_ ? upload() : nullptr},
        cells);
  }

  std::optional<CapturedWork> product(const Product& p, std::string_view name) override {
    return products_.work(p, name);
  }
  std::string product_library() override { return products_.description(); }

 private:
  bool starts_early() const {
    return knobs().cuda_early == "on" && context_.major >= 9 && cu().version >= 12030 && cu().cuGraphAddDependencies_v2;
  }
  CudaStream& stream() { return cuda::current_stream(context_, default_); }
  static CUdeviceptr address(const void* p) { return reinterpret_cast<CUdeviceptr>(p); }
  static CUstream handle(Stream& s) { return static_cast<CudaStream&>(s).handle(); }
  KernelPtr upload() {
    std::call_once(upload_once_, [this] { upload_ = kernels_.load(upload_image()); });
    return upload_;
  }

  Context context_;
  Allocator allocator_;
  PinnedMemory pinned_;
  Staging staging_;
  CellBlocks blocks_;
  Kernels kernels_;
  Captures captures_;
  Products products_;
  CudaStream default_;
  bool indirect_ = true;
  GraphSizes sizes_;
  std::once_flag upload_once_;
  KernelPtr upload_;
  std::atomic<std::int64_t> range_bytes_{0}, graph_bytes_{0};
};

}  // namespace

std::string why_no_cuda(int index) {
  if (!driver()) return driver_problem();
  if (index >= driver()->devices)
    return "there " + (driver()->devices == 1 ? std::string("is one CUDA device")
                                              : "are " + std::to_string(driver()->devices) + " CUDA devices");
  return device_problem(index);
}

Backend& cuda_backend(int index) {
  static Mutex mu;
  // guarded by mu; never destroyed: tensors may outlive static objects
  static auto* made = new std::array<std::unique_ptr<CudaBackend>, 256>;
  const MutexLock lock(mu);
  std::unique_ptr<CudaBackend>& b = (*made)[static_cast<std::size_t>(index)];
  if (!b) b = std::make_unique<CudaBackend>(index);
  return *b;
}

}  // namespace reprise::device
