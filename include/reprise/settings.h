#pragma once
#include <cstdint>

#include "reprise/dtype.h"

namespace reprise {

/// What is set for a thread, and for that thread alone. Compiled functions do what they would do eagerly: one that depends on a setting is
/// compiled for each value that it is called under, one that does not is not. Inside a compiled function scopes may be used; what
/// outlives the function's run (set_default_dtype, a scope that is kept) makes it run eagerly.

/// The dtype of floats where none is given: what zeros, rand and the like make, what a number with a point makes of a tensor of
/// integers, what exp and division give for integers. float32 unless set.
/// Throws InvalidArgument for what is no floating dtype, and for those for storage alone.
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

}  // namespace reprise
