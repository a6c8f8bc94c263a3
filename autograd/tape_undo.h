#pragma once
#include <memory>
#include <unordered_set>
#include <vector>

#include "autograd/state.h"

namespace reprise::autograd {

/// What a function that runs eagerly does to places of tensors on the tape, to leaves' gradients and to hooks. Unless
/// committed, destruction puts it back. Of this thread; they nest.
class TapeUndo {
 public:
  TapeUndo();
  ~TapeUndo();
  TapeUndo(const TapeUndo&) = delete;
  TapeUndo& operator=(const TapeUndo&) = delete;
  void commit() { changed_.clear(), noted_.clear(), hooks_.clear(); }

  /// Before the tape's state of a tensor is changed, or made.
  static void note(const Tensor&);
  /// A hook was registered.
  static void note_hook(HookList&, std::uint64_t id);

 private:
  struct Changed {
    Tensor tensor;
    std::unique_ptr<State> before;  ///< null: it had none
    Tensor retained;                ///< what Kept held
  };
  struct Hook {
    std::weak_ptr<HookList> list;
    std::uint64_t id;
  };
  void put_back(Changed&);

  std::vector<Changed> changed_;
  std::unordered_set<const TensorImpl*> noted_;  // those of changed_
  std::vector<Hook> hooks_;
  TapeUndo* const outer_;
};

}  // namespace reprise::autograd
