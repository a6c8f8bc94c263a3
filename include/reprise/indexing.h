#pragma once
// What stands between the brackets of `x.index({Slice(1, 3), None, "...", 0, mask})`. Included by reprise/tensor.h.
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "reprise/int.h"
#include "reprise/source_location.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

namespace indexing {

/// A new dimension of size 1; in a Slice a bound that is left out.
inline constexpr std::nullopt_t None = std::nullopt;
/// As many ":" as there are dimensions that nothing else is for; "..." is the same.
struct EllipsisIndexType {};
inline constexpr EllipsisIndexType Ellipsis{};

/// start:stop:step, with the bounds of Tensor::slice. Slice() is ":".
struct Slice {
  std::optional<Int> start, stop;
  Int step = 1;
  Slice(std::optional<Int> first = std::nullopt, std::optional<Int> end = std::nullopt,
        std::optional<Int> by = std::nullopt)
      : start(first), stop(end), step(by.value_or(1)) {}
};

}  // namespace indexing

namespace detail {
[[noreturn]] void no_such_index(std::string_view text, SourceLoc loc);  ///< throws InvalidArgument
}

/// One index: a number, a Slice, None, Ellipsis (or "..."), or a tensor: of integers, or a mask (bool), which indexes
/// as many dimensions as it has. An undefined tensor is ":".
class TensorIndex {
 public:
  enum class Kind : std::uint8_t { None, Ellipsis, Number, Slice, Tensor };
  TensorIndex() : kind_(Kind::Slice) {}
  TensorIndex(std::nullopt_t) : kind_(Kind::None) {}
  TensorIndex(indexing::EllipsisIndexType) : kind_(Kind::Ellipsis) {}
  TensorIndex(const char* text, SourceLoc loc = SourceLoc::current()) : kind_(Kind::Ellipsis) {
    if (std::string_view(text) != "...") detail::no_such_index(text, loc);
  }
  template <IntegralNumber T>
  TensorIndex(T i) : kind_(Kind::Number), slice_(Int(i)) {}
  TensorIndex(Int i) : kind_(Kind::Number), slice_(i) {}
  template <std::same_as<bool> T>
  TensorIndex(T) = delete;  // a mask of no dimension would be a dimension of size 0 or 1: say which with slice()
  TensorIndex(const indexing::Slice& s) : kind_(Kind::Slice), slice_(s) {}
  TensorIndex(const Tensor& t) : kind_(Kind::Tensor), tensor_(t) {}

  Kind kind() const { return kind_; }
  Int number() const { return *slice_.start; }
  const indexing::Slice& slice() const { return slice_; }
  const Tensor& tensor() const { return tensor_; }

 private:
  Kind kind_;
  indexing::Slice slice_;  ///< of a number its start
  Tensor tensor_;
};

/// Views by numbers, Slice, None and Ellipsis; where tensors are among them, the elements that they say (`index` of
/// reprise/ops.h), a copy.
inline Tensor index(const Tensor& self, std::initializer_list<TensorIndex> indices,
                    SourceLoc loc = SourceLoc::current()) {
  return self.index(indices, loc);
}
/// What `index` shows becomes `value` (broadcast), or is added to. By one mask and a value that broadcasts along it
/// nothing is counted: it is a choice.
inline Tensor index_put_(const Tensor& self, std::initializer_list<TensorIndex> indices, const Operand& value,
                         bool accumulate = false, SourceLoc loc = SourceLoc::current()) {
  return self.index_put_(std::span<const TensorIndex>(indices.begin(), indices.size()), value, accumulate, loc);
}

}  // namespace REPRISE_VISIBLE
