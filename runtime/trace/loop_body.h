#pragma once
#include <string>
#include <vector>

#include "reprise/tensor.h"
#include "runtime/trace/tracer.h"

namespace reprise::detail {

// What scan and while_loop have in common.

/// "float32 [3, 4]"
std::string shown_in_loop(const Tensor&);
bool same_sizes(const Tensor&, const Tensor&);

/// Throws ShapeMismatch where carried tensor `i`, as a turn makes it, is not as it was given. `devices`: these count.
void check_carried(const char* op, SourceLoc, std::size_t i, const Tensor& made, const Tensor& first,
                   bool devices = true);

/// What is no tensor in a loop's state: it stays as it was.
class StateWords {
 public:
  void add(std::uint64_t word) { words_.push_back(word); }
  void rewind() { next_ = 0; }
  /// Throws InvalidArgument.
  void compare(const char* op, SourceLoc, std::uint64_t word);
  static std::uint64_t word_of(const Int&);

 private:
  std::vector<std::uint64_t> words_;
  std::size_t next_ = 0;
};

/// Runs a body that Tracer::begin_body() has begun, off the tape, since the loop is one node of it. `body` leaves in
/// `made` what it gives. Bails where it throws, and abandons the region.
TracedBranch traced_body(Tracer&, std::size_t around, const char* op, SourceLoc, std::vector<Tensor>& inside,
                         std::vector<Tensor>& made, void (*body)(void*), void* ctx);

}  // namespace reprise::detail
