#pragma once
#include <functional>
#include <memory>

#include "reprise/autograd.h"

namespace reprise::autograd {

/// What SavedTensorHooks has set for a thread.
struct SavedHooks {
  /// of the same elements, off the tape and on it
  std::function<SavedTensorHooks::Packed(const Tensor& without_place, const Tensor&)> pack;
  std::shared_ptr<const std::function<Tensor(const SavedTensorHooks::Packed&)>> unpack;
  bool of_program = false;  ///< the program's: not those of checkpoint()
};
const SavedHooks* saved_hooks();
const SavedHooks* exchange_saved_hooks(const SavedHooks*);

}  // namespace reprise::autograd
