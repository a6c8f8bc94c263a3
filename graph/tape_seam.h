#pragma once
#include <atomic>

#include "graph/thread_state.h"

namespace reprise::graph {

class Interpreter;

/// Who answers calls of tensors with Key::Autograd. Null until somebody asks for gradients: programs that never do link
/// to no tape and pay for none.
extern constinit std::atomic<Interpreter*> tape;
/// What views are asked for beside their tensors' keys: from then on, the tape, which follows them (autograd/views.h).
extern constinit std::atomic<Keys> keys_of_views;

}  // namespace reprise::graph
