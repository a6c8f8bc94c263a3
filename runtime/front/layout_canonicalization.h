#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "runtime/build/specialization.h"

namespace reprise::detail {

/// Canonical form of calls that differ only in tensor layout, where some tensors may have any strides (Note [Layout
/// classes]).
struct StridesAside {
  struct Word {
    std::uint32_t at;
    unsigned ones;
  };
  /// words of the structure that become such a tensor's (runtime::of_any_strides); none: it is not wanted
  std::vector<Word> any;
  std::vector<std::uint32_t> tensor_words;  ///< Specialization::tensor_words
  /// by defined tensor: how many values stand before its own and after the previous one's
  std::vector<std::size_t> between;
};

/// RAII: presents the frame under the canonical layout; restored on destruction unless keep() was called. One thread.
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

/// How frames of one structure become frames of a specialization's, where the tensors fit that one's classes of layouts
/// (Note [Layout classes]), or are others where it uses none. Immutable.
class Recast {
 public:
  /// None: the structures are the same, or differ in more than that.
  static std::optional<Recast> of(const Specialization&, const FrameArray<std::uint64_t>& own);
  /// Do the tensors of this call, which has the structure `own`, fit?
  bool fits(const CallFrame&) const;

 private:
  friend class SeenAs;
  explicit Recast(const Specialization& to) : to_(&to) {}
  struct Fit {
    std::uint32_t tensor;
    std::uint64_t word;
    bool shown;
  };
  /// Of the new values, in order: some of the call's own, then some strides of a tensor, then zeros; how many of the
  /// own ones nobody asks for after that.
  struct Piece {
    std::uint32_t own = 0, tensor = 0, strides = 0, zeros = 0, skipped = 0;
  };
  const Specialization* to_;
  std::vector<Fit> fits_;
  std::vector<Piece> values_;  ///< none: they stay as they are
  std::size_t made_ = 0;       ///< how many there are up to the last tensor's
};

/// A call's frame as those of a specialization are (Recast). While it lives, unless it is kept: then the frame is as
/// its own again. One thread, one at a time.
class SeenAs {
 public:
  SeenAs(const Specialization&, CallFrame&);
  SeenAs(const Recast&, CallFrame&);
  ~SeenAs();
  SeenAs(const SeenAs&) = delete;
  SeenAs& operator=(const SeenAs&) = delete;
  /// False: they do not fit, or the structure is the call's own.
  explicit operator bool() const { return seen_; }
  void keep() { seen_ = false; }

 private:
  void apply(const Recast&);
  CallFrame& frame_;
  bool seen_ = false, moved_ = false;  ///< moved_: the values are others
};

}  // namespace reprise::detail
