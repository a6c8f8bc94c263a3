#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "reprise/tensor.h"

namespace reprise::autograd {

struct Node;
struct Shadow;  // shadow.h
class Traced;

/// Whose result a tensor is: gradients of it go to `node`, as those of its result number `result`.
struct Edge {
  std::shared_ptr<Node> node;
  std::uint32_t result = 0;
  explicit operator bool() const { return node != nullptr; }
};

/// What a gradient of a result looks like.
struct ResultMeta {
  Ints sizes;
  DType dtype = DType::Float32;
  Device device;
};

/// Hooks of a node, or of a leaf. Any thread may register and remove; the engine copies the list before it calls.
struct HookList : std::enable_shared_from_this<HookList> {
  using OfTensor = std::function<Tensor(const Tensor&)>;
  using Before = std::function<void(std::vector<Tensor>&)>;
  using Behind = std::function<void(std::vector<Tensor>& given, const std::vector<Tensor>& taken)>;
  struct Hook {
    std::uint64_t id;
    std::uint32_t result;  ///< of OfTensor
    OfTensor of_tensor;    ///< one of the three is there
    Before before;
    Behind behind;
    bool last = false;  ///< after all others: it sees what they have made of a gradient
  };

  std::uint64_t add(Hook);
  void remove(std::uint64_t id);
  std::vector<Hook> all() const;

 private:
  mutable Mutex mu_;
  std::vector<Hook> hooks_ REPRISE_GUARDED_BY(mu_);  // in the order of registration, those that are `last` last
  std::uint64_t next_ REPRISE_GUARDED_BY(mu_) = 1;
};

/// Which of a node's gradients anybody will use, by `next`; null: all of which there is an edge.
using Needed = const std::vector<bool>*;

/// One call on the tape. Nodes own those that come behind them in backward; a tape of any length is taken apart without
/// recursion. Threads: made by one; walked by one at a time unless it keeps nothing (retained tapes may be walked by
/// several at once: nodes are only read).
struct Node : std::enable_shared_from_this<Node> {
  explicit Node(SourceLoc loc);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  virtual std::string name() const = 0;
  /// The gradients for `next`, undefined ones for zeros. `grads`: by result, undefined where nobody has asked.
  virtual std::vector<Tensor> apply(std::vector<Tensor> grads, Needed) = 0;
  /// What was kept for apply() goes: the tape is not walked again.
  virtual void release() {}
  /// Tells what it has kept, and what it is beside that (Note [Shadows of tapes]). False: it cannot.
  virtual bool tell(Shadow&) { return false; }
  /// One like it that keeps what stands there instead; its edges are the caller's to make.
  virtual std::shared_ptr<Node> copy(Traced&) const { return nullptr; }

  /// by tensor among the arguments, lists flattened; empty: no gradient is wanted of it
  std::vector<Edge> next;
  std::vector<ResultMeta> results;
  std::uint64_t sequence;  ///< later calls have larger ones: a node's are larger than those of all behind it
  SourceLoc loc;
  std::int32_t traced = -1;         ///< the number of the call in its trace (graph::NodeInfo::sequence); -1: none
  const void* in_trace;             ///< the trace that it was made in; null: none
  bool walked = false;              ///< by a walk that let go of what it kept
  bool walked_last = false;         ///< while apply() runs: no other walk follows, and what it keeps may go
  std::shared_ptr<HookList> hooks;  ///< null: none
  HookList& hook_list();            ///< makes it
};

/// Lets go of a node, not deeper in the stack than the outermost call that does so on this thread.
void let_go(std::shared_ptr<Node>&&) noexcept;

}  // namespace reprise::autograd
