/// What is computed once of frozen tensors, for the whole process (Note [Frozen tensors] in runtime/build/freeze.h).
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/fork.h"
#include "base/mutex.h"
#include "reprise/tensor.h"
#include "tensor/impl.h"

namespace reprise::runtime {

/// What a value was made of: a place in a storage, with what was there.
struct FrozenSource {
  std::uint64_t storage = 0, version = 0;  // storage: Storage::frozen
  std::int64_t offset = 0;
  friend bool operator==(const FrozenSource&, const FrozenSource&) = default;
};
inline FrozenSource source_of(const TensorImpl& t) {
  return {t.storage->frozen.load(std::memory_order_relaxed), t.storage->version.load(std::memory_order_relaxed),
          t.offset};
}

/// 0: it is not frozen, or undefined.
inline std::uint64_t frozen_number(const TensorImpl* t) {
  return t && t->storage ? t->storage->frozen.load(std::memory_order_relaxed) : 0;
}

/// What a part gives.
struct FoldedValues {
  std::vector<Tensor> all;             // empty once an input's storage has died
  std::atomic<std::int64_t> bytes{0};  // of them
};

/// The process's values.
class FoldedTable {
  struct Entry {
    std::set<std::uint64_t> storages;
    Mutex mu;
    std::vector<FrozenSource> sources REPRISE_GUARDED_BY(mu);  // as are the values until the storage dies
    std::shared_ptr<FoldedValues> values;
  };

 public:
  /// The values under this key, whose inputs are `sources`; of another version, or not there, they are made: by one
  /// thread, while others wait for it.
  template <class F>
  std::shared_ptr<const FoldedValues> get(const std::string& key, const std::vector<FrozenSource>& sources, F&& make) {
    std::shared_ptr<Entry> entry;
    std::vector<std::shared_ptr<Entry>> gone;  // destroyed without the lock
    {
      const MutexLock lock(mu_);
      if (const auto found = entries_.find(key); found != entries_.end()) {
        entry = found->second;
      } else {
        if (entries_.size() >= most_) drop_unused(gone);
        entry = std::make_shared<Entry>();
        for (const FrozenSource& s : sources) entry->storages.insert(s.storage);
        for (std::uint64_t s : entry->storages) of_storage_[s].insert(key);  // a key without an entry does no harm
        entries_.emplace(key, entry);
      }
    }
    const MutexLock lock(entry->mu);
    if (entry->values && entry->sources == sources) return entry->values;
    std::shared_ptr<FoldedValues> made = make();
    entry->sources = sources;
    return entry->values = std::move(made);
  }
  /// What was made of a storage is all that is left of it.
  void keep(std::uint64_t storage) {
    const MutexLock lock(mu_);
    kept_.insert(storage);
  }
  /// A storage that calls read as it stands, where no set tells it.
  void stand(std::uint64_t storage) {
    const MutexLock lock(mu_);
    stood_.insert(storage);
  }
  bool stands(std::uint64_t storage) const {
    const MutexLock lock(mu_);
    return stood_.count(storage) != 0;
  }
  /// What was made of a storage goes: nobody who could ask for it holds that any more.
  void forget(std::uint64_t storage) noexcept;

 private:
  static constexpr std::size_t kMost = 4096;
  /// Of all that no function's latest calls take and nobody makes, moves what there is to `gone`.
  void drop_unused(std::vector<std::shared_ptr<Entry>>& gone) REPRISE_REQUIRES(mu_);

  mutable ForkMutex mu_;
  std::unordered_set<std::uint64_t> kept_ REPRISE_GUARDED_BY(mu_), stood_ REPRISE_GUARDED_BY(mu_);
  std::size_t most_ REPRISE_GUARDED_BY(mu_) = kMost;  // with so many entries the unused are dropped
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries_ REPRISE_GUARDED_BY(mu_);
  std::unordered_map<std::uint64_t, std::unordered_set<std::string>> of_storage_ REPRISE_GUARDED_BY(mu_);  // keys
};

FoldedTable& folded_table();  ///< The one of the process.

}  // namespace reprise::runtime
