#pragma once
#include "runtime/specialization.h"

namespace reprise::detail {

/// Is there a tensor with a dimension of size 0 or 1? Only then may a call fit a class of layouts that is not its own.
bool has_small_dims(const CallFrame&);

/// A call's frame as those of a specialization are that was compiled for other classes of layouts, where the call's tensors fit them
/// (Note [Layout classes]), or for other tensors where it uses none. While it lives, unless it is kept: then the frame is as its own again. One thread, one at a time.
class SeenAs {
 public:
  /// `others`: it may have other tensors where the specialization uses none; their values are then nobody else's, either.
  SeenAs(const Specialization&, CallFrame&, bool others = true);
  ~SeenAs();
  SeenAs(const SeenAs&) = delete;
  SeenAs& operator=(const SeenAs&) = delete;
  /// False: they do not fit, or the structure is the call's own.
  explicit operator bool() const { return seen_; }
  void keep() { seen_ = false; }

 private:
  CallFrame& frame_;
  bool seen_ = false;
};

}  // namespace reprise::detail
