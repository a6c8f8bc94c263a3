#pragma once
#include <cstdint>
#include <optional>

#include "reprise/dtype.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// Settings of the calling thread. Compiled functions behave as eagerly: one that depends on a setting is compiled for
/// each value that it is called under. Inside a compiled function scopes may be used; what
/// outlives the function's run (set_default_dtype, a scope that is kept) makes it run eagerly.

/// The dtype of floats where none is given: what zeros, rand and the like make, what a number with a point makes of a
/// tensor of integers, what exp and division give for integers. float32 unless set. Throws InvalidArgument for what is
/// no floating dtype, and for those for storage alone.
void set_default_dtype(DType);
DType get_default_dtype();
/// The same until the end of the scope.
class DefaultDTypeScope {
 public:
  explicit DefaultDTypeScope(DType);
  ~DefaultDTypeScope();
  DefaultDTypeScope(const DefaultDTypeScope&) = delete;
  DefaultDTypeScope& operator=(const DefaultDTypeScope&) = delete;

 private:
  const DType before_;
  const std::uint64_t own_before_;
};

/// While it lives, operators called on this thread cast their floating operands, as ATen's autocast does: products
/// (matmul, linear, attention) compute in `dtype`, what needs float32's digits or range (exp, log, pow, norms) in
/// float32, sums and softmax give float32 unless told otherwise, and cat and the like take the widest dtype that they
/// are given. float64 stays, and so do in-place calls. Scopes nest: with `enabled` false nothing is cast until the end
/// of that scope. A weight is cast at every call that uses it (once in a compiled function): casts are not kept. Throws
/// InvalidArgument for a dtype other than float16 and bfloat16.
class AutocastScope {
 public:
  explicit AutocastScope(DType dtype, bool enabled = true);
  ~AutocastScope();
  AutocastScope(const AutocastScope&) = delete;
  AutocastScope& operator=(const AutocastScope&) = delete;

 private:
  const void* const before_;
  const std::uint64_t word_before_, own_before_;
};
/// The dtype of the scope that this thread is in; nothing where autocast is off.
std::optional<DType> autocast_dtype();

}  // namespace REPRISE_VISIBLE
