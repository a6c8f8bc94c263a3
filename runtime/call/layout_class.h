#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tensor/impl.h"
#include "tensor/layout.h"

namespace reprise::runtime {

// Note [Layout classes]
// Code is compiled for a class of layouts, not for strides:
//   row-major   strides follow from the sizes;
//   dense       the same in another order of dimensions (a transposed weight, channels-last): strides follow from the
//   sizes and the
//               order, so that x.t() of such an argument is known to be row-major;
//   strided     strides are values of the call, as the sizes are. Of each dimension the class tells whether it is 1, 0
//   or another.
// Dimensions of size 0 and 1 fit any order and any stride. What their strides are says how the tensor was made, so the
// class that all strides fit exactly is taken first: the transpose of a batch of one is dense in the order in which
// that of a batch of seven is. Nevertheless a call may have another class only because of them, a slice of a batch of
// one, say, which is row-major. Such a call is looked at a second time, in the classes that something was compiled for
// (runtime/front/layout_canonicalization.h). A function that was called with many layouts, and looks at none, has code
// in the end that serves them all: for arguments that are strided, of any strides but where all have had a stride of 1
// (of_any_strides). It is slower, so the first layouts keep theirs, and it is asked last.
enum class LayoutClass : std::uint8_t { RowMajor = 0, Strided = 1, Dense = 2 };
enum class StrideClass : std::uint8_t { Other = 0, One = 1, Zero = 2 };

/// Dimensions, the outermost in memory first.
struct DimOrder {
  std::array<std::uint8_t, kMaxRank> dims;
  int rank = 0;
};

/// The structure word of a tensor: everything about it that code is compiled for. 0 is an undefined tensor.
///   bits 0-7 dtype + 1 | 8-11 rank | 12-13 LayoutClass | 14 more than kModestElements | 15 kWrappedWord
///   16-31 of a dense tensor the number of its order; of a strided one two bits a dim, its StrideClass | 32-47 device
/// Only a strided tensor has strides among the values of a call, after its sizes.
std::uint64_t structure_word(const TensorImpl&);

/// In words of calls: it has an interpreter of its own (wrap). structure_word() leaves it out.
constexpr std::uint64_t kWrappedWord = 1u << 15;
/// In words of captured tensors: it is the handle of that very wrapper (Captured::wrapper). No call has it.
constexpr std::uint64_t kCapturedHandle = std::uint64_t{1} << 48;

/// The bits of a word that may differ because of dimensions of size 0 and 1.
constexpr std::uint64_t kLayoutBits = std::uint64_t{0xffff} << 16 | std::uint64_t{3} << 12;

inline LayoutClass layout_class(std::uint64_t w) { return static_cast<LayoutClass>(w >> 12 & 3); }
constexpr std::uint64_t kStridesWord = 1 << 12;
inline bool has_strides(std::uint64_t w) { return w & kStridesWord; }
inline bool is_large_word(std::uint64_t w) { return w >> 14 & 1; }
inline int rank_of_word(std::uint64_t w) { return static_cast<int>(w >> 8 & 15); }
inline StrideClass stride_class(std::uint64_t w, int d) { return static_cast<StrideClass>(w >> (16 + 2 * d) & 3); }
/// In which dimensions tensors of this word have a stride of 1, a bit each; of row-major and dense ones as of elements.
unsigned ones_of(std::uint64_t w);
/// Of tensors that are no other but for their layout the word of one of any strides, but where they are `ones`. Of rank
/// 0 the word itself.
std::uint64_t of_any_strides(std::uint64_t w, unsigned ones);
/// Of a row-major or dense tensor.
DimOrder order_of(std::uint64_t w);
/// How many values stand for a tensor of this word.
inline std::size_t value_count(std::uint64_t w) {
  return w == 0 ? 0 : static_cast<std::size_t>(rank_of_word(w)) * (has_strides(w) ? 2 : 1);
}
/// "row-major", "dense in order [1, 0]", "strided [any, 1]".
std::string layout_name(std::uint64_t w);

/// Of most tensors all sizes together are known to be small, so that sums and products of them need no guard against
/// overflow; views that show one element many times (expand) may have any number of elements. Sizes of 0 count as 1. No
/// stride is larger either.
constexpr std::int64_t kModestElements = std::int64_t{1} << 44;

/// May code for this word, which differs from the tensor's own in kLayoutBits alone, serve it because of its dimensions
/// of size 0 and 1? Strides that follow from the sizes may then be others in such dimensions (has_strides_of), and so
/// may those that are 1 or 0 by their class, unless somebody is `shown` them. `general`: code for other strides serves
/// it in any case.
bool fits(const TensorImpl&, std::uint64_t w, bool shown, bool general = false);
/// Are its strides, also in dimensions of size 0 and 1, those that follow from its sizes in this row-major or dense
/// word?
bool has_strides_of(const TensorImpl&, std::uint64_t w);

/// Strides that follow from sizes in that order; `made` are those of sizes in row-major order (contiguous_strides,
/// say).
Ints strides_in(const DimOrder&, const Ints& sizes, Ints (*made)(const Ints&));

}  // namespace reprise::runtime
