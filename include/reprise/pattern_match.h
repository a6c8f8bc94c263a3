#pragma once
#include <cstddef>
#include <functional>
#include <string>

#include "reprise/device.h"
#include "reprise/dtype.h"
#include "reprise/int.h"
#include "reprise/scalar.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What stands where a pattern's arguments stand: what a condition may ask before a match counts (reprise/patterns.h).
/// Tensors, Ints and Scalars are counted separately, in the order of the arguments' leaves. Sizes and numbers may be
/// symbolic: ask `(a % 8 == 0).known_true()`, which proves and adds no guard, and never use a comparison as a `bool`
/// here.
class PatternMatch {
 public:
  virtual DType dtype(std::size_t tensor) const = 0;
  virtual Device device(std::size_t tensor) const = 0;
  virtual const Ints& sizes(std::size_t tensor) const = 0;
  virtual Int integer(std::size_t i) const = 0;
  virtual Scalar number(std::size_t i) const = 0;

 protected:
  ~PatternMatch() = default;
};

/// "" where the match counts; else why it does not, as the log says it ("rows of 12 elements: 8 are wanted").
using PatternCondition = std::function<std::string(const PatternMatch&)>;

}  // namespace REPRISE_VISIBLE
