#pragma once
#include <cstdint>
#include <memory>

#include "base/fork.h"

namespace reprise::graph {

/// A seed, and how many numbers were taken (reprise/generator.h). The stream is a ring, so that a call which asks for
/// absurdly many and fails leaves no offset that others cannot count from.
struct RandomStream {
  std::int64_t seed = 0, offset = 0;  ///< guarded by random_mutex()
  static std::int64_t after(std::int64_t offset, std::int64_t count);
};
/// Of all streams: a ForkMutex is never destroyed, and programs' streams are.
ForkMutex& random_mutex();
/// Whom this thread's numbers come from: the process's, or a GeneratorScope's.
RandomStream& random_stream();
/// Null: the process's. Gives what was set before.
std::shared_ptr<RandomStream> exchange_random_stream(std::shared_ptr<RandomStream>);

}  // namespace reprise::graph
