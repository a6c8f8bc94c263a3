#pragma once
#include <string>
#include <vector>

#include "runtime/call/call.h"

namespace reprise::detail {

/// A call that is traced to be kept, and not to be compiled (runtime/export). May be asked again: the function is
/// traced a second time where its inputs must be seen in another way.
class KeptTrace {
 public:
  /// Is walked over what the function has given.
  virtual LeafReader& results() = 0;
  /// The function has run, and its results have been read. Results that are added come before them.
  virtual void ran(Tracer&) = 0;
  /// They have been taken: more may be added behind them.
  virtual void ends(Tracer&) = 0;

 protected:
  ~KeptTrace() = default;
};

/// Runs the call's function in a trace. `names`: what its arguments are called. (runtime/front/call.cc)
void trace_kept(Tracer&, CallFrame&, const Call&, const std::vector<std::string>& names, KeptTrace&);

}  // namespace reprise::detail
