#pragma once
#include <cstdint>
#include <vector>

#include "base/words.h"
#include "reprise/flatten.h"
#include "runtime/call/layout_class.h"
#include "tensor/impl.h"

namespace reprise::runtime {

using detail::CallFrame;
using detail::FrameArray;

/// Appends a concrete tensor; an undefined one (null) leaves a word of structure alone. Throws InvalidArgument for one
/// of a finished trace, StorageFreed for a released one.
void add_tensor(CallFrame&, const TensorImpl*);
/// The same of one that fits this word (Note [Layout classes]), with the values of that.
void add_tensor_as(CallFrame&, const TensorImpl&, std::uint64_t word);

/// a == b of what has just been written.
[[gnu::always_inline]] inline bool same_words(const FrameArray<std::uint64_t>& a, const FrameArray<std::uint64_t>& b) {
  return a.size() == b.size() && words_same(a.data(), b.data(), a.size());
}

/// CallFrame::hash of a frame with that structure.
std::uint64_t hash_of(const FrameArray<std::uint64_t>& structure);
/// A hash of a frame's structure that is the same where words differ in kLayoutBits alone.
std::uint64_t hash_beside_layouts(const FrameArray<std::uint64_t>& structure);
/// Nor does it depend on these words, but for whether they are 0.
std::uint64_t hash_beside_layouts(const FrameArray<std::uint64_t>& structure, const std::vector<std::uint32_t>& but);

}  // namespace reprise::runtime
