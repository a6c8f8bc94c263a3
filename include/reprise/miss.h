#pragma once
#include <cstdint>
#include <string>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// A call that found something not ready for it (CompiledFunction::set_miss_callback). Texts are those of the log and
/// of explain().
struct Miss {
  enum class Kind : std::uint8_t {
    /// nothing admitted it, and a specialization was made (with OnMiss::ServeMeanwhile perhaps after it)
    Compiled,
    Recorded,       ///< a specialization did, and a recording of it was made for these sizes
    ServedEagerly,  ///< the function itself served it; one for each that stats().eager_fallbacks counts
  };
  Kind kind = Kind::Compiled;
  std::string function = {};  ///< CompileOptions::name
  /// "attend/2": what was made, or whose recording; empty where a call was served eagerly
  std::string specialization = {};
  std::string nearest = {};  ///< "attend/0": what came closest to admitting the call; empty: nothing was there
  /// How the call differs from that ("x.size(0) is 8, was 4"); the sizes that are new; or why it was served eagerly.
  std::string reason = {};
  std::string fallback = {};  ///< of one served eagerly: its row in docs/logs.md ("reads_value"); else empty
  /// "x .size(0)", "weights.layers[0].wq": what differs; empty where it is none of the arguments
  std::string argument = {};
  std::string seen = {}, expected = {};  ///< "8", "4"; of a guard its condition is what is expected
  std::string line = {};    ///< "model.cc:41": what asked for it, or could not be traced; empty: nobody knows
  std::string remedy = {};  ///< what would have helped; empty: nothing is known to
  double ms = 0;            ///< that it took: to trace and compile, or to record. 0 where nothing was tried
};

/// What CompiledFunction::warm_up has made.
struct WarmedUp {
  std::string specialization = {};  ///< "attend/2", which serves such calls
  bool compiled = false;            ///< it was made now
  bool recorded = false;            ///< a recording of it was made now, for these sizes
};

}  // namespace REPRISE_VISIBLE
