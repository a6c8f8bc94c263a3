#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/counters.h"
#include "base/mutex.h"

namespace reprise::jit {

/// What the caches of this process have done together. Threads: any.
struct KernelCounts {
  std::atomic<std::int64_t> built{0}, hits{0}, build_us{0};
  static KernelCounts& all() {
    static constinit KernelCounts counts;
    return counts;
  }
  /// In memory, or on disk.
  static void found() {
    all().hits += 1;
    counters().kernel_cache_hits.add();
  }
  /// What `make` makes, counted as built.
  template <class Make>
  static auto timed(Make&& make) {
    const auto start = std::chrono::steady_clock::now();
    auto made = make();
    all().build_us +=
        std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start).count();
    all().built += 1;
    counters().kernel_compiles.add();
    return made;
  }
};

/// Kernels by content, one build for each: an entry is a future, so the first asker builds and the others wait. A
/// failed build leaves no entry. Threads: any.
template <class T>
class KernelCache {
 public:
  using Ptr = std::shared_ptr<const T>;
  explicit KernelCache(std::size_t most) : most_(most) {}

  /// `build` makes what `key` stands for, or finds it elsewhere, and counts it; what it throws passes through to
  /// everybody who waited.
  template <class Build>
  Ptr get(const std::string& key, Build&& build) {
    std::promise<Ptr> promise;
    std::shared_future<Ptr> future;
    {
      MutexLock lock(mu_);
      if (auto it = entries_.find(key); it != entries_.end()) {
        future = it->second;
        KernelCounts::found();
        lock.unlock();
        return future.get();
      }
      if (entries_.size() >= most_) drop_unused_locked();
      entries_.emplace(key, promise.get_future().share());
    }
    try {
      Ptr made = build();
      promise.set_value(made);
      return made;
    } catch (...) {
      {
        const MutexLock lock(mu_);
        entries_.erase(key);
      }
      promise.set_exception(std::current_exception());
      throw;
    }
  }

  /// Forgets what nobody else holds.
  void drop_unused() {
    const MutexLock lock(mu_);
    drop_unused_locked();
  }

 private:
  void drop_unused_locked() REPRISE_REQUIRES(mu_) {
    std::erase_if(entries_, [](const auto& e) {
      return e.second.wait_for(std::chrono::seconds(0)) == std::future_status::ready && e.second.get().use_count() == 1;
    });
  }
  const std::size_t most_;
  Mutex mu_;
  std::unordered_map<std::string, std::shared_future<Ptr>> entries_ REPRISE_GUARDED_BY(mu_);
};

}  // namespace reprise::jit
