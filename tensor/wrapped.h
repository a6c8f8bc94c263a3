#pragma once
#include <cstdint>

#include "tensor/impl.h"

/// Handles of wrapper tensors (reprise/wrapper.h) as the room of tensors knows them: they have sizes and no bytes.
namespace reprise {

/// Their storages are at addresses that no machine has: each its own range, so that no two overlap, and who follows one
/// by mistake faults.
inline constexpr std::uintptr_t kNowhere = std::uintptr_t{1} << 62;
Storage* new_storage_nowhere(Device, std::int64_t bytes);

/// Is it such a handle, outside of a trace?
inline bool has_no_bytes(const TensorImpl& t) noexcept {
  return (t.keys & kWrappedKey) && t.storage && (reinterpret_cast<std::uintptr_t>(t.storage->data) & kNowhere);
}
/// What it means as a plain tensor. Null: there has never been one. (graph/wrapper.cc)
extern constinit std::atomic<Tensor (*)(const Tensor&, SourceLoc)> plain_of_wrapper;
/// The name of its class.
extern constinit std::atomic<std::string (*)(const Tensor&)> name_of_wrapper;
/// Its version and those of its inner tensors, added up.
extern constinit std::atomic<std::uint64_t (*)(const TensorImpl&)> version_of_wrapper;
/// The tensor itself, or what it means.
inline Tensor with_bytes(const Tensor& t, SourceLoc loc) {
  return t.impl() && has_no_bytes(*t.impl()) ? plain_of_wrapper.load()(t, loc) : t;
}

}  // namespace reprise
