#pragma once
#include <vector>

#include "runtime/specialization.h"

namespace reprise::detail {

/// Is there a tensor with a dimension of size 0 or 1? Only then may a call fit a class of layouts that is not its own.
bool has_small_dims(const CallFrame&);

/// How calls of one structure but for layouts are seen where some of their tensors may have any strides (Note [Layout classes]).
struct StridesAside {
  struct Word { std::uint32_t at; unsigned ones; };
  std::vector<Word> any;                    ///< words of the structure that become such a tensor's (runtime::of_any_strides); none: it is not wanted
  std::vector<std::uint32_t> tensor_words;  ///< Specialization::tensor_words
  std::vector<std::size_t> between;         ///< by defined tensor: how many values stand before its own and after the previous one's
};

/// While it lives, unless it is kept, a call's frame as one that is seen so. One thread.
class AnyStrides {
 public:
  AnyStrides(CallFrame&, const StridesAside&);
  ~AnyStrides();
  AnyStrides(const AnyStrides&) = delete;
  AnyStrides& operator=(const AnyStrides&) = delete;
  void keep() { kept_ = true; }
  const std::vector<std::uint64_t>& words() const { return words_; }  ///< by defined tensor

 private:
  CallFrame& frame_;
  std::vector<std::uint64_t> words_;
  const FrameArray<std::uint64_t> structure_;
  const FrameArray<std::int64_t> values_;
  bool kept_ = false;
};

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
