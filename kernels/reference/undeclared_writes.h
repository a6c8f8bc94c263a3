#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Under REPRISE_VERIFY >= 1: does a registered operator's kernel write what its schema does not say? Sums of the
/// elements of all that it may only read are taken before it runs and compared after. (Results are memory that it is
/// given: none can be an argument's.)
class UndeclaredWrites {
 public:
  /// Is this operator asked? Built-in ones are tested (tests/reference); panels of packed products, which are read of
  /// many rows alone, need not be there.
  static bool asked(const graph::OpDef&);
  /// `args`: of one call on the host; `written`: by tensor, results and workspace behind them are. Borrows args' arrays
  /// until it is gone.
  UndeclaredWrites(const NativeArgs& args, std::vector<bool> written);
  /// What has changed, if anything: a message that names the argument.
  std::string changed(const graph::OpDef&) const;

 private:
  const NativeArgs& args_;
  std::vector<bool> written_;
  std::vector<std::uint64_t> sums_;
};

}  // namespace reprise::kernels
