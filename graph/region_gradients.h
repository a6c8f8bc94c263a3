#pragma once
#include <atomic>

#include "tensor/impl.h"

namespace reprise::graph {

/// In a region that is traced (a branch of cond, a body of scan) the tape is aside: the region's node has a derivative
/// as a whole, and no tensor in it wants a gradient. Says of a tensor whether it is in a region into which one that
/// wants a gradient goes. Set by the runtime; null until a trace has run.
using InRegion = bool (*)(const TensorImpl&) noexcept;
extern constinit InRegion in_region_that_wants_gradients;

inline bool is_in_region_that_wants_gradients(const TensorImpl& t) {
  return (t.trace || (t.keys & kWrappedKey)) && in_region_that_wants_gradients && in_region_that_wants_gradients(t);
}
/// Where the caller has gradients off, arguments have no place on the trace's tape. Called before the traced function
/// reads the place of an argument or a captured tensor; bails if eager execution would give another answer.
using PlaceAsked = void (*)(const TensorImpl&, const char* what);
/// Of what a region's own derivative would leave out (a hook, a derivative of the program's): the call is eager.
/// Throws NotTraceable in such a region.
void refuse_in_region_that_wants_gradients(const TensorImpl& t, const char* what, SourceLoc);
/// Set by the first trace: before, nothing is traced that could be asked.
extern constinit std::atomic<PlaceAsked> place_asked;
inline void ask_place(const TensorImpl& t, const char* what) {
  if (const PlaceAsked ask = place_asked.load(std::memory_order_acquire)) ask(t, what);
}
/// Of an operator that computes in another way where somebody wants its derivative.
inline bool may_want_gradient(const Tensor& t) {
  return requires_grad(*t.impl()) || is_in_region_that_wants_gradients(*t.impl());
}

}  // namespace reprise::graph
