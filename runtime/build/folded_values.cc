#include "runtime/build/folded_values.h"

#include <algorithm>
#include <new>

#include "tensor/frozen.h"

namespace reprise::runtime {

void FoldedTable::forget(std::uint64_t storage) noexcept {
  std::vector<std::shared_ptr<Entry>> gone;  // destroyed without the lock
  {
    const MutexLock lock(mu_);
    kept_.erase(storage);
    stood_.erase(storage);
    const auto keys = of_storage_.find(storage);
    if (keys == of_storage_.end()) return;
    try {
      gone.reserve(keys->second.size());
    } catch (const std::bad_alloc&) {  // then they go with the lock held
    }
    for (const std::string& key : keys->second)
      if (const auto e = entries_.find(key); e != entries_.end()) {
        for (std::uint64_t other : e->second->storages)
          if (const auto of = of_storage_.find(other); other != storage && of != of_storage_.end())
            of->second.erase(key);
        if (gone.size() < gone.capacity()) gone.push_back(std::move(e->second));
        entries_.erase(e);
      }
    of_storage_.erase(storage);
  }
  // Sets may still name the values, which no call can ask for any more: their bytes go now.
  for (const std::shared_ptr<Entry>& e : gone)
    if (e && e->values) e->values->bytes = 0, e->values->all.clear();
}

void FoldedTable::drop_unused(std::vector<std::shared_ptr<Entry>>& gone) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    bool unused = it->second.use_count() == 1;
    if (unused && !kept_.empty())
      for (std::uint64_t s : it->second->storages) unused = unused && !kept_.count(s);
    if (unused) {
      const MutexLock lock(it->second->mu);
      unused = !it->second->values || it->second->values.use_count() == 1;
    }
    if (!unused) {
      ++it;
      continue;
    }
    gone.push_back(it->second);
    for (std::uint64_t s : it->second->storages)
      if (const auto of = of_storage_.find(s); of != of_storage_.end()) of->second.erase(it->first);
    it = entries_.erase(it);
  }
  most_ = std::max(kMost, 2 * entries_.size());
}

// Never destroyed: tensors of static variables die after it would.
FoldedTable& folded_table() {
  static FoldedTable& t = *[] {
    auto* made = new FoldedTable;
    frozen_storage_dies.store([](std::uint64_t storage) noexcept { folded_table().forget(storage); },
                              std::memory_order_release);
    return made;
  }();
  return t;
}

}  // namespace reprise::runtime
