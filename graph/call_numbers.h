#pragma once
#include <cstdint>

namespace reprise::graph {

/// Which call of a trace this thread is at, so that a derivative's nodes can say whose they are (NodeInfo::forward_of).
struct CallNumbers {
  std::int32_t latest = -1;      ///< of the running trace: the call that was recorded last; -1: none, or nobody traces
  std::int32_t forward_of = -1;  ///< set while a derivative runs: the call that it belongs to
};
inline constinit thread_local CallNumbers call_numbers;

}  // namespace reprise::graph
