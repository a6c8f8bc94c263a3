#pragma once
#include "reprise/scalar.h"
#include "reprise/tensor.h"

namespace reprise {

/// What a trace on this thread answers of tensors beside their sizes. The answer becomes part of what the compilation
/// admits; where it cannot, these throw Error(NotTraceable). A TraceHook is one as well (runtime/trace/tracer.h).
struct TraceQuestions {
  virtual ~TraceQuestions() = default;
  /// Of defined tensors, traced or met by the trace.
  virtual bool are_same(const Tensor& a, const Tensor& b) = 0;
  virtual bool share_storage(const Tensor& a, const Tensor& b) = 0;
  virtual Int storage_offset_of(const Tensor&) = 0;
  /// Its strides are about to decide something.
  virtual void strides_decide(const Tensor&) = 0;
  /// Of `self` a copy is wanted where strides do not do: may it be left open whether it is one? `asked`: calls differ
  /// in it; `copies`: this one does. Where it may, a copy is made, and copied_perhaps() told.
  virtual bool leaves_copy_open(const Tensor& self, bool asked, bool copies) = 0;
  virtual void copied_perhaps(const Tensor& self, const Tensor& made) = 0;
  /// The one element of a traced tensor: a number that depends on data.
  virtual Scalar element_of(const Tensor&, SourceLoc) = 0;
};

/// Null: nothing is traced on this thread.
TraceQuestions* trace_questions();

}  // namespace reprise
