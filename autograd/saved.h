#pragma once
#include <memory>
#include <optional>
#include <string>

#include "autograd/node.h"
#include "reprise/autograd.h"

namespace reprise::autograd {

/// A tensor that a node keeps. Its elements are those of the call: what was written since is found by the storage's
/// version. A node's own result is kept without its place on the tape, which would be a circle, and gets it back when
/// it is read.
class Saved {
 public:
  Saved() = default;
  static Saved input(const Tensor&);
  static Saved own_result(const Tensor&, std::uint32_t result);

  bool is_there() const { return there_; }
  /// Throws InvalidArgument, naming the node and its line, where it was written since, or let go.
  Tensor unpack(Node& of) const;
  void reset();

 private:
  explicit Saved(const Tensor&);
  Tensor tensor_;
  SavedTensorHooks::Packed packed_;
  std::shared_ptr<const std::function<Tensor(const SavedTensorHooks::Packed&)>> unpack_;
  Edge place_;  ///< of a packed input
  std::optional<std::uint32_t> own_;
  std::uint64_t version_ = 0;
  bool there_ = false, undefined_ = false;
};

}  // namespace reprise::autograd
