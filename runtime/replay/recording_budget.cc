#include "runtime/replay/recording_budget.h"

#include <algorithm>

#include "base/mutex.h"
#include "runtime/replay/recording.h"

namespace reprise::runtime {

void RecordingBudget::join(RecordingCache& c) {
  const MutexLock lock(mu_);
  caches_.push_back(&c);
}

void RecordingBudget::leave(RecordingCache& c) noexcept {
  const MutexLock lock(mu_);
  std::erase(caches_, &c);
}

bool RecordingBudget::is_oldest(const RecordingCache& cache) const {
  const MutexLock lock(mu_);
  return std::all_of(caches_.begin(), caches_.end(),
                     [&](const RecordingCache* c) { return cache.oldest() <= c->oldest(); });
}

void RecordingBudget::trim() {
  const MutexLock lock(mu_);
  std::vector<RecordingCache*> candidates;  // made where there is something to drop
  while (count() > 1 && (count() > max_count || bytes() > max_bytes)) {
    if (candidates.empty()) candidates = caches_;
    auto oldest =
        std::min_element(candidates.begin(), candidates.end(),
                         [](const RecordingCache* a, const RecordingCache* b) { return a->oldest() < b->oldest(); });
    if (oldest == candidates.end() || (*oldest)->oldest() == RecordingCache::kNone) return;
    if (!(*oldest)->try_drop_oldest()) candidates.erase(oldest);
    if (candidates.empty()) return;
  }
}

}  // namespace reprise::runtime
