#pragma once
#include <cstdint>
#include <unordered_set>

#include "runtime/build/specialization.h"

namespace reprise::detail {

/// Bytes of code of several specializations: machine code of the host, and what devices are given (text, which the
/// driver makes code of). What kernels of the same content share counts once.
class CodeCount {
 public:
  void add(const Specialization& s) {
    s.for_each_stage([&](const runtime::Program& p, const runtime::RecordingCache&) {
      for (const jit::CodePtr& made : p.code)
        if (seen_.insert(made.get()).second) bytes_ += made->bytes;
      for (const runtime::Program::GpuStep& step : p.gpu_steps)
        if (step.image && seen_.insert(step.image.get()).second)
          bytes_ += static_cast<std::int64_t>(step.image->code.size());
    });
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  std::unordered_set<const void*> seen_;
  std::int64_t bytes_ = 0;
};

}  // namespace reprise::detail
