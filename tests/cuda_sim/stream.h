#pragma once
#include <deque>
#include <memory>
#include <vector>

#include "tests/cuda_sim/race.h"
#include "tests/cuda_sim/work.h"

/// Streams and events. Work runs when it is enqueued, or (deferred mode) when something waits for it or at a random
/// later call.
namespace sim {

struct Capture;  // capture.h

struct Stream : Object {
  static constexpr Kind kKind = Kind::Stream;
  Stream() : Object(kKind) {}
  struct Need {
    std::shared_ptr<Stream> stream;
    std::uint64_t number;
  };
  struct Op {
    std::uint64_t number;
    WorkPtr work;
    std::vector<Need> after;
    std::shared_ptr<const Clock> clock;  ///< what comes before it, and itself; where races are looked for
  };
  bool blocking = true;  ///< waits for the default stream and it for this one
  unsigned flags = 0;
  int priority = 0;
  std::deque<Op> queue;
  std::uint64_t enqueued = 0, done = 0;
  std::vector<Need> waits;  ///< for the next op
  std::uint32_t line = 0;   ///< of clocks: streams that ever were have one each
  Clock clock;              ///< of what is enqueued
  bool busy = false;        ///< its front op is running (a host function, without the lock)
  std::shared_ptr<Capture> capture;
};

struct Event : Object {
  static constexpr Kind kKind = Kind::Event;
  Event() : Object(kKind) {}
  unsigned flags = 0;
  std::shared_ptr<Stream> stream;  ///< of the latest record; null: never recorded
  std::uint64_t number = 0;
  Clock clock;  ///< what it comes after
  std::shared_ptr<std::int64_t> time_ns = std::make_shared<std::int64_t>(0);
  std::shared_ptr<Capture> capture;     ///< recorded in a capturing stream
  std::vector<std::uint64_t> captured;  ///< nodes
};

/// The stream of a handle: 0 and CU_STREAM_LEGACY are the default stream.
std::shared_ptr<Stream> stream_of(CUstream);
std::shared_ptr<Stream> default_stream();
void add_stream(const std::shared_ptr<Stream>&);

/// Adds to the stream's work, or to the graph it captures into.
void submit(Stream&, const std::shared_ptr<Stream>&, WorkPtr);
inline void submit(const std::shared_ptr<Stream>& s, Work w) {
  submit(*s, s, std::make_shared<const Work>(std::move(w)));
}
/// For what waits for its own end: runs now, after what is before it.
void submit_and_wait(const std::shared_ptr<Stream>& s, Work w);

void run_until(const std::shared_ptr<Stream>&, std::uint64_t number);
void drain(const std::shared_ptr<Stream>&);
void drain_everything();
void make_some_progress();
bool has_current_context();
bool anything_captures();
/// Work that has not run yet and has an address in [base, base + bytes) among its parameters; empty when there is none.
std::string queued_use(std::uint64_t base, std::uint64_t bytes);

}  // namespace sim
