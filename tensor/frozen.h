#pragma once
#include <string>

#include "tensor/impl.h"

namespace reprise {

/// Raised by whatever may change what a call finds on frozen storages through tensors that it has seen before: a write
/// to one, one whose bytes go, a tensor on one that dies (another may get its address) or is made to show something
/// else. While it stands still, the same tensors show the same. (Note [Frozen tensors] in runtime/build/freeze.h.)
/// Threads: who hands a tensor to another thread synchronizes with it, as for the elements.
extern constinit std::atomic<std::uint64_t> frozen_changes;

/// For what is no write: a tensor on it dies or is made to show something else. Before that happens, or behind it on
/// the same thread. (A tensor that is moved onto a frozen storage has not been seen there: leaving is enough.)
inline void frozen_may_change(const Storage& s) noexcept {
  if (s.frozen.load(std::memory_order_relaxed)) [[unlikely]]
    frozen_changes.fetch_add(1, std::memory_order_acq_rel);
}
/// The elements were written.
inline void count_write(Storage& s) noexcept {
  s.version.fetch_add(1, std::memory_order_relaxed);
  frozen_may_change(s);
}

/// Its bytes were given back (reprise/discard.h), while tensors on it go on having sizes: those that read only what is
/// folded of it may be called with them.
inline bool is_discarded(const Storage& s) noexcept { return !s.data && s.bytes > 0 && !is_shape_only(s.device); }
extern constinit std::atomic<bool> any_discarded;
/// Of a frozen one, which is called `name` where it is read. Throws OutOfMemory, before anything has happened.
void discard_storage(Storage&, std::string name, SourceLoc by);
/// Throws StorageFreed.
[[noreturn]] void refuse_discarded(const TensorImpl&, std::string_view what, SourceLoc loc = {});

}  // namespace reprise
