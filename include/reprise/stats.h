#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// What one compiled function did so far. Bytes are bytes, times are nanoseconds.
struct Stats {
  std::int64_t calls = 0;
  std::int64_t compilations = 0;     ///< traces that became specializations
  std::int64_t specializations = 0;  ///< live now
  std::int64_t building = 0;         ///< compiled in the background now (OnMiss::ServeMeanwhile)
  std::int64_t replaced = 0;         ///< that made room for others (CompileOptions::max_specializations)
  /// beside the live ones: that serve no further call (a variable is gone, or replaced), but may still be in one
  std::int64_t retired = 0;
  /// code of those that are live or retired, for the host and for devices; some of it other functions share
  std::int64_t code_bytes = 0;
  std::int64_t recordings = 0;  ///< live now, with those of retired specializations
  std::int64_t recordings_made = 0;
  std::int64_t evictions = 0;  ///< recordings dropped to stay within the bounds
  std::int64_t replays = 0;
  std::int64_t eager_fallbacks = 0;  ///< calls served eagerly
  std::int64_t checks = 0;           ///< calls beside which the function was run (CompileOptions::check)
  std::int64_t recording_bytes = 0;  ///< of the live recordings (not the pool)
  std::int64_t pool_bytes = 0;       ///< the one pool that all recordings of the process share, as backed now
  /// of frozen tensors (docs/freezing.md), that calls of the live specializations find computed
  std::int64_t folded_values = 0;
  std::int64_t folded_bytes = 0;  ///< of those; other functions may share some
  /// Where the function branches on values of tensors (docs/branches.md).
  struct Branches {
    std::int64_t paths = 0;       ///< live specializations that rely on such a decision
    std::int64_t dispatches = 0;  ///< a decision was another one, and the path that has it was there
    std::int64_t traced = 0;      ///< it was not there, and was traced
  } branches;
  std::int64_t copied_bytes = 0;  ///< by launches and epilogues where eager copies nothing
  double dispatch_ns = 0;         ///< flattening, guards and lookup of a call: average over sampled calls
  /// Those by reason, the most frequent first; docs/logs.md lists the reasons.
  struct Fallback {
    const char* reason;
    std::int64_t calls;
  };
  std::vector<Fallback> fallbacks;
  /// What registered patterns (reprise/patterns.h) replaced in the specializations that are live, by name; the most
  /// first.
  struct Match {
    std::string pattern;
    std::int64_t matches;
  };
  std::vector<Match> matches;
  /// What launches have taken while the function was profiled (profile(true), REPRISE_PROFILE), of the specializations
  /// that are live; the longest first.
  struct Launch {
    std::string specialization;  ///< "attend/2"
    /// "rms_norm_mul"; "graph of 12 launches, the first: ..." on a device, where a graph is timed as a whole
    std::string name;
    std::string operators;  ///< those that it computes
    std::string line;       ///< of the first of them, "model.cc:41"
    std::int64_t calls = 0;
    std::int64_t ns = 0;     ///< of all calls, as are bytes and flops
    std::int64_t bytes = 0;  ///< of operands' elements that are touched, each once; 0: not known
    std::int64_t flops = 0;  ///< operations on floats; 0: not known
  };
  std::vector<Launch> launches;
  std::string last_fallback_reason;  ///< why the latest call was served eagerly; empty if none was
  /// The same of the backwards of the live specializations. Not part of the numbers above, but for `launches`; what is
  /// kept within budgets (recordings, code) is within those of the function.
  struct Backward {
    std::int64_t calls = 0, compilations = 0, specializations = 0, building = 0, code_bytes = 0;
    std::int64_t recordings = 0, recordings_made = 0, evictions = 0, recording_bytes = 0;
    std::int64_t replays = 0, eager_fallbacks = 0, checks = 0;
    /// gradients that came in with another layout than their results have, and were copied (CompiledFunction::seal)
    std::int64_t copied_tangents = 0;
  } backward;
};

/// The process's totals.
struct ProcessStats {
  std::int64_t kernels_compiled = 0;  ///< loop kernels and micro-kernels turned into machine code
  std::int64_t kernel_cache_hits = 0;
  std::int64_t traces = 0, replays = 0, recordings_made = 0, eager_calls = 0;
  std::int64_t library_products = 0;  ///< matrix products recorded as a device library's work (docs/cuda.md)
  std::int64_t product_captures = 0;  ///< captured from it: once for the same sizes and addresses
  std::int64_t product_updates = 0;   ///< nodes of recordings changed since such an address moved, or for other sizes
  std::int64_t pool_bytes = 0;
  std::int64_t result_bytes_live = 0, result_bytes_cached = 0;  ///< the caching allocator's
  std::int64_t bytes_released_early = 0;  ///< of saved tensors that went while their backward ran (docs/autograd.md)
};
ProcessStats stats();

/// Gives the pool's memory back to the system; the next recordings take what they need. No call may be running.
void release_pool();

int num_threads();
/// Results do not depend on it, nor on the floating-point state of the calling thread (traps, rounding mode, flushed
/// denormals): a call runs kernels under the library's own, and leaves the caller's as it was (docs/deployment.md).
/// Threads that kernels may use, the caller included; at most the machine has. Throws InvalidArgument below 1.
void set_num_threads(int n);
int default_num_threads();

/// "available" or why the device ("cpu", "cuda", "cuda:0") cannot be used here.
std::string why_unavailable(const std::string& device);

const char* version();

/// Logging, as REPRISE_LOG and REPRISE_LOG_FILE set it (docs/logs.md): comma-separated channels, and a file or "".
/// Throws InvalidArgument for a channel that is none, with those that there are; a file that cannot be written is a
/// warning.
void set_log(const std::string& channels, const std::string& file = "");

/// An event of the log (docs/logs.md lists them).
struct LogEvent {
  std::string_view channel;   ///< "recompiles"
  std::string_view event;     ///< "recompiled"
  std::string_view function;  ///< "attend/2"; empty where it is of none
  std::string_view text;      ///< as it would be printed
  std::string_view json;      ///< the line of REPRISE_LOG_FILE: all fields
};
/// Gives events of these channels (comma-separated, or "all") to a function of the program, beside what REPRISE_LOG and
/// REPRISE_LOG_FILE do; an empty one ends that. It is called on the thread that did what the event tells, one call at a
/// time, from within the library: it must call nothing of Reprise, and be quick. What it throws is dropped. Throws
/// InvalidArgument for a channel that is none.
void set_log_callback(std::function<void(const LogEvent&)> callback, const std::string& channels = "all");

/// A timeline for Perfetto, as REPRISE_TRACE writes it (docs/logs.md), from here on; "" ends it. What cannot be written
/// is a warning.
void set_timeline(const std::string& file);

}  // namespace REPRISE_VISIBLE
