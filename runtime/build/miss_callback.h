#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "reprise/compile.h"

namespace reprise::detail {

/// Whom a function tells of its misses (set_miss_callback); its specializations have it, too. Threads: any.
class MissCallback {
 public:
  using Function = std::function<void(const Miss&)>;
  bool is_set() const { return set_.load(std::memory_order_relaxed); }
  void set(Function);
  /// Null where there is none, and on a thread that is in one: what it calls is not told.
  std::shared_ptr<const Function> get() const;

 private:
  std::atomic<bool> set_{false};
  mutable Mutex mu_;  // held while its thread is working
  std::shared_ptr<const Function> function_ REPRISE_GUARDED_BY(mu_);
};

/// What is to be told at the end of a call (Outputs::missed).
struct Missed {
  std::shared_ptr<const MissCallback::Function> whom;
  std::vector<Miss> all;
};
/// What cannot be noted for want of memory is not told.
void note_miss(Outputs&, const MissCallback&, Miss) noexcept;
/// While no lock is held.
void tell_miss(const MissCallback::Function&, const Miss&) noexcept;

}  // namespace reprise::detail
