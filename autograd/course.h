#pragma once
#include <unordered_map>
#include <vector>

#include "autograd/engine.h"

namespace reprise::autograd {

/// The nodes that a walk comes by, each behind all that give it gradients, those called last first: an order that the
/// tape alone decides.
class Course {
 public:
  struct Stop {
    std::shared_ptr<Node> node;
    bool needed = false;                  ///< somebody wants what comes of it
    std::vector<std::uint32_t> captured;  ///< which of Walk::captured are gradients of it
  };
  explicit Course(const Walk&);

  std::vector<Stop> stops;
  std::size_t at(const Node& n) const { return at_.at(&n); }
  /// Is what goes along this edge of anybody's use?
  bool uses(const Edge& e) const;
  /// By `next` of a node.
  std::vector<bool> used_of(const Node&) const;

 private:
  std::unordered_map<const Node*, std::size_t> at_;
};

/// Is it where a joint trace ends (Walk::of_trace)?
bool is_outside(const Walk&, const Node&);

}  // namespace reprise::autograd
