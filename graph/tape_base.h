#pragma once
#include <cstdint>

#include "graph/op.h"

namespace reprise::graph {

/// How a result that is a view was made, as the tape goes on with it (Note [Views on the tape] in
/// runtime/trace/tape_views.h).
enum class ViewMade : std::uint8_t {
  Followed,            ///< by view operators that the tape replays
  GradientsOff,        ///< where gradients were off: nothing with a gradient is written through it
  GradientsOffPlaced,  ///< of a trace's result: likewise; what was written since gave it a place
  InFunction,          ///< by a custom Function, whose own derivative stands for it: likewise
};

/// Is what a view operator makes a tensor of its own on the tape?
inline bool leaves_tape(OpId view) { return view == OpId::detach; }

/// What an output that is an alias is a view of, on the tape: who is written when it is.
struct TapeBase {
  std::int32_t input = -1;   ///< the tensor that was given as this input; -1: one that the program made on the storage
  std::uint32_t number = 0;  ///< which of those: 0 the first, the storage's own; others are what detach() gave
  std::uint32_t steps = 0;   ///< how much of the output's recipe leads from its source to it
  bool written_since = false;  ///< the storage, since the view was made: its place is to be asked of its base
  friend bool operator==(const TapeBase&, const TapeBase&) = default;
};

}  // namespace reprise::graph
