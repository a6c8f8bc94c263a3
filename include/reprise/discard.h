#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "reprise/parameter.h"

namespace reprise REPRISE_VISIBLE {

struct DiscardOptions {
  /// Calls of few rows will come (a decoder's): they read weights that stand in panels as they stand, so those are
  /// kept.
  bool few_rows = true;
};

namespace detail {
std::int64_t discard(const std::vector<Tensor>&, const DiscardOptions&, SourceLoc);
struct Discarded {
  std::vector<Tensor> all;
  void tensor(const Tensor& t) {
    if (t.defined()) all.push_back(t);
  }
  void integer(const Int&) {}
  void number(const Scalar&) {}
  void constant(std::uint64_t, ConstantKind) {}
  void text(std::string_view) {}
};
}  // namespace detail

/// Gives back the memory of frozen tensors (a tensor, or anything that holds some) that compiled functions no longer
/// read: all that they need of them is folded (panels, casts), and stays. Call it when the functions have been called,
/// or warm_up() has; nobody reads the tensors meanwhile, nor views or exports (to_dlpack) of them: a storage goes
/// whole. Returns the bytes that were given back. A tensor that some function still reads directly, or that none has
/// folded, is kept.
///
/// Sizes, strides and dtype of a discarded tensor can be asked, and it can be given to compiled functions that read
/// only what is folded of it. Whoever needs its elements (operators, item(), save_safetensors, another function or a
/// call of fewer rows that reads it as it stands) gets StorageFreed, with its name and the line of this call. It cannot
/// be undone; another tensor may be assigned. docs/freezing.md.
template <class T>
std::int64_t discard(const T& value, const DiscardOptions& options = {}, SourceLoc loc = SourceLoc::current()) {
  detail::Discarded found;
  detail::walk(value, found);
  return detail::discard(found.all, options, loc);
}

}  // namespace REPRISE_VISIBLE
