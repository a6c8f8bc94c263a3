#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "autograd/state.h"
#include "reprise/autograd.h"
#include "tensor/variable.h"

namespace reprise::autograd {

/// What a trace does to the places of real tensors on the tape: a trace that is over has done nothing, so that each is
/// put back. One for each trace, on its thread.
class TraceTape {
 public:
  TraceTape();
  ~TraceTape();
  TraceTape(const TraceTape&) = delete;
  TraceTape& operator=(const TraceTape&) = delete;

  /// Before the state of a real tensor is changed.
  void note(const Tensor&);
  /// Real tensors whose place has been changed since, in the order of the first change.
  const std::vector<Tensor>& changed() const { return changed_; }

  /// An argument that wants a gradient.
  struct Input {
    std::uint32_t input;
    Tensor traced;
    Edge edge;          ///< where it begins
    Tensor base;        ///< of one that is a view on the caller's tape: stands for its base there
    Edge edge_of_base;  ///< where that begins
  };
  void add_input(Input i) { inputs_.push_back(std::move(i)); }
  const Input* input(std::uint32_t number) const;
  /// The argument for whose base this tensor stands; null: for none.
  const TensorImpl* argument_on(const TensorImpl* base) const;
  /// Where a real tensor stood before the trace changed that.
  Edge edge_before(const Tensor&) const;
  /// Has anything been written down of traced tensors, or set of their places, or has the tape been walked?
  bool recorded = false;
  /// That it has, in this thread's trace, if there is one.
  static void note_recorded() {
    if (TraceTape* t = current()) t->recorded = true;
  }
  /// Puts everything back; nothing is noted from here on.
  void end();

  /// What checkpoint() says of the results of the calls from `first` to `last` (graph::NodeInfo::sequence).
  struct CheckpointOf {
    std::int32_t first, last;
    CheckpointRule rule;
  };
  void note_checkpoint(CheckpointOf c) { checkpoints_.push_back(std::move(c)); }
  std::vector<CheckpointOf> take_checkpoints() { return std::move(checkpoints_); }

  /// Of this thread's running trace; null: nobody traces.
  static TraceTape* current();

 private:
  struct Before {
    bool known;  ///< had it a state?
    bool wants;
    Edge made_by;
    std::optional<ViewOf> view;
    bool unfollowed;
  };
  std::vector<Input> inputs_;
  std::vector<Tensor> changed_;
  std::vector<Before> before_;                             // of changed_
  std::unordered_map<const TensorImpl*, std::size_t> at_;  // in changed_
  std::vector<CheckpointOf> checkpoints_;                  // inner ones before those around them
  TraceTape* const outer_;
};

/// Before a hook is registered: bails on a node that was there before this thread's trace, where the hook stays.
void check_hooked_in_trace(const Node&, const char* op, SourceLoc);

/// While it lives, handles that the tape copies and drops are not what the function does that is traced
/// (reprise::TraceHook), or followed (HandleHook).
class Aside {
 public:
  Aside();
  ~Aside();
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  /// Set by the runtime (runtime/trace/tracer.h): tells the tracer whether the function is running, and returns what it
  /// was before. Null until a trace has run.
  static bool (*function_runs)(bool) noexcept;

 private:
  bool before_ = false;
  HandleHook* handles_;
};

}  // namespace reprise::autograd
