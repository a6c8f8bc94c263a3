#pragma once
#include <cstdint>
#include <functional>

namespace reprise::device {

/// Threads the host device may use, the caller included. Default: REPRISE_THREADS or the machine's cores.
int num_threads();
void set_num_threads(int n);  ///< n >= 1; clamps to the machine's limit

using RangeFn = void (*)(void* ctx, std::int64_t begin, std::int64_t end);
/// Runs fn over [0, n) in chunks of at least `grain`, on oneTBB workers when it pays (n > grain and num_threads() > 1),
/// otherwise on the caller without touching TBB: so, too, in a child of a process that had used TBB when it forked. Chunks are disjoint and cover [0, n) exactly. fn must not throw.
void parallel_for(std::int64_t n, std::int64_t grain, RangeFn fn, void* ctx);

}  // namespace reprise::device
