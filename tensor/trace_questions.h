#pragma once
#include "reprise/tensor.h"

namespace reprise {

/// What a trace on this thread answers of tensors beside their sizes. The answer becomes part of what the compilation admits; where it
/// cannot, these throw Error(NotTraceable). A TraceHook is one as well (runtime/tracer.h).
struct TraceQuestions {
  virtual ~TraceQuestions() = default;
  /// Of defined tensors, traced or met by the trace.
  virtual bool are_same(const Tensor& a, const Tensor& b) = 0;
  virtual bool share_storage(const Tensor& a, const Tensor& b) = 0;
  virtual Int storage_offset_of(const Tensor&) = 0;
};

}  // namespace reprise
