#pragma once
#include <string>

#include "autograd/node.h"
#include "graph/interpreter.h"

namespace reprise::autograd {

/// From here on calls of tensors with Key::Autograd, and of views, come to the tape. Again: nothing.
void follow();

/// Is what is called on this thread written down? Whoever asks in a trace makes it depend on it.
bool gradients_are_on();

/// Where the storage was written last, as far as the tape has seen it: " at file:line", or nothing.
std::string last_write_text(const Tensor&);
void note_write(const Tensor&, SourceLoc);

/// In backward: tensors' calls go to the tape where gradients are on, whatever called us; autocast is off.
class EngineScope {
 public:
  explicit EngineScope(bool create_graph);
  ~EngineScope();
  EngineScope(const EngineScope&) = delete;
  EngineScope& operator=(const EngineScope&) = delete;

 private:
  const graph::ThreadState before_;
};

}  // namespace reprise::autograd
