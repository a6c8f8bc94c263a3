#pragma once
#include <utility>
#include <vector>

#include "reprise/compile.h"

namespace reprise::detail {

// Note [Given arguments]
// What a backward has saved is needed until the last launch that reads it, and the walk needs it no longer than the
// backward does. A caller that owns such arguments alone gives them to the call: a replay that is worth it
// (runtime/replay/boxed.h) lets each go behind the last launch that reads it, makes results and temporaries right
// before the first launch that writes them, and so has the bytes of the former for the latter. A call that is served in
// another way leaves them, and they go with their owner, as they do where somebody else holds them, too.

/// The first tensors of a call, in the order of its frame.
struct Given {
  const std::vector<Tensor>& tensors;
  /// Called once the call is bound to run: whoever else holds them for the caller alone lets go. May be null.
  void (*begins)(void*) = nullptr;
  void* ctx = nullptr;
};

/// Calls a compiled function whose first argument is what it is given.
struct GivingCall {
  template <class F, class... A>
  static auto call(const CompiledFunction<F>& f, const Given& given, const A&... args) {
    using R = result_of<F&, const A&...>;
    const Around outer = around();
    if (outer.inside) return R(f(args...));
    CallFrame& frame = begin_frame(*f.state_);
    flatten_arguments(frame, args...);
    void* const at[] = {address_of(args)..., nullptr};
    Outputs outputs;
    outputs.given = &given;
    ResultRoom<R> room;
    const Specialization* s =
        serve(*f.state_, frame, {call_form<F, R, const A&...>, f.function_, at, room.bytes}, outputs);
    return s ? result_of_replay<R>(*s, outputs) : take_result<R>(room.bytes);
  }
};

}  // namespace reprise::detail
