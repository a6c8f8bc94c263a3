#pragma once
#include <cstdint>
#include <functional>

#include "device/backend.h"
#include "device/cuda/context.h"

namespace reprise::device::cuda {

/// A stream that does not wait for the legacy default stream.
class CudaStream final : public Stream {
 public:
  CudaStream(const Context&, int priority);
  ~CudaStream() override;  ///< returns at once; the driver ends what is queued
  CudaStream(const CudaStream&) = delete;
  void synchronize() override;
  bool idle() override;
  void* native() const override { return handle_; }
  std::uint64_t id() const override { return id_; }
  CUstream handle() const { return handle_; }

 private:
  const Context& context_;
  CUstream handle_ = nullptr;
  std::uint64_t id_;
};

/// The calling thread's stream on the device of `context`: `fallback` unless one was set. Throws InvalidArgument when
/// the one that was set has been destroyed.
CudaStream& current_stream(const Context& context, CudaStream& fallback);
void set_current_stream(const Context&, CudaStream*);
/// f(stream of that id) while it cannot be destroyed; false when it has been.
bool with_stream(std::uint64_t id, const std::function<void(CudaStream&)>& f);

}  // namespace reprise::device::cuda
