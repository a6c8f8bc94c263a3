#pragma once
#include <memory>
#include <span>

#include "graph/interpreter.h"
#include "reprise/wrapper.h"
#include "tensor/impl.h"

namespace reprise::graph {

// Note [Wrapper tensors]
// A handle of a wrapper is a tensor whose interpreter (Key::Wrapper) holds the value of the user's class. It stands
// below the tape, which knows the handle (requires_grad, hooks, saved tensors), and above the trace, which knows inner
// tensors alone. It has sizes and a storage without bytes (tensor/wrapped.h), whose version counts writes.
//
// In a trace a handle is a traced tensor that nothing reads: an input, where it is an argument or captured, or `empty`,
// which dead-code elimination takes away. The tape follows it as any tensor, so gradients, saved tensors and the cut of
// joint graphs need to know nothing of wrappers: what a derivative computes with a saved handle goes through dispatch
// again and reads inner tensors.
//
// In a frame (runtime/call/call_frame.cc) the handle's word and sizes come first, then the class, then the fields as a
// struct has them. A replay gives the inner tensors of its results; handles are made of them afterwards
// (runtime/trace/result_wrappers.h).

/// What answers the calls of a wrapper's handles: immutable.
class WrapperState final : public Interpreter {
 public:
  WrapperState(const detail::WrapperType& type, std::shared_ptr<void> value)
      : Interpreter(Key::Wrapper), type(type), value(std::move(value)) {}

  void call(const OpCall&, std::vector<Tensor>& results) override;
  void mutate_metadata(const OpCall&) override;

  const detail::WrapperType& type;
  const std::shared_ptr<void> value;  ///< of the user's class
};

/// Is a handle's result another handle of its value, whatever the class (alias, detach)?
bool keeps_value(const OpDef&);
/// Null: it is no wrapper's handle.
const WrapperState* state_of_wrapper(const TensorImpl&) noexcept;
inline const WrapperState* state_of_wrapper(const Tensor& t) noexcept {
  return t.impl() ? state_of_wrapper(*t.impl()) : nullptr;
}
/// Makes a handle of a tensor that nobody else has.
void make_handle(TensorImpl&, std::shared_ptr<WrapperState>);
/// Storage::version, or the writes of a trace, with those of inner tensors.
std::uint64_t version_with_inner(const TensorImpl&);
/// f(tensor) for each defined tensor of the value, in order.
void for_each_inner(const WrapperState&, const std::function<void(const Tensor&)>& f);

}  // namespace reprise::graph
