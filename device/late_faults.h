#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "device/backend.h"

/// Faults that calls have noted which did not wait for their end (CompileOptions::late_faults). The record of such a
/// call is copied to pinned memory in the order of its stream; the next call in that stream, or whoever waits for it,
/// throws what it says. In the order of the calls, each once: of several the first, and the next by what comes then. A
/// record's memory serves again when it has been read. Threads: any.
namespace reprise::device {

/// What is thrown: of an earlier call than the one that throws it, which may as well be called again.
class LateFault final : public Error {
 public:
  using Error::Error;
};

/// Knows what the records of some recording mean, and outlives it.
class FaultTeller {
 public:
  virtual ~FaultTeller() = default;
  /// Throws the LateFault of the fault that the record notes.
  [[noreturn]] virtual void tell(const std::int64_t* record) const = 0;
};

inline constexpr int kLateWords = 3;  ///< of a record; the first one is 0 where there is no fault

/// The work queued so far in the stream writes the record, on the device, and what comes later may write over it.
/// False: there is no pinned memory, nothing is noted.
bool note_late(Backend&, Stream&, const void* record, std::shared_ptr<const FaultTeller>);

extern std::atomic<std::int64_t> late_records;  ///< that nobody has read
/// For calls that begin, and for those that have waited for the stream: throws the first fault of its records that have
/// been written.
void throw_late_of(Stream&);
inline void throw_late(Stream& s) {
  if (late_records.load(std::memory_order_relaxed) != 0) [[unlikely]]
    throw_late_of(s);
}
/// The same for all streams of a device that was waited for.
void throw_late(Backend&);

}  // namespace reprise::device
