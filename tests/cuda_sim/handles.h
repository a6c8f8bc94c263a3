#pragma once
#include <cstdint>
#include <memory>

#include "tests/cuda_sim/api.h"

/// Handles are numbers that are never given out twice, so that the use of a destroyed object is always noticed.
namespace sim {

enum class Kind : std::uint8_t {
  Context = 1,
  Stream,
  Event,
  Module,
  Function,
  Library,
  Kernel,
  Graph,
  Node,
  Exec,
  Pool,
  Physical,
  Link
};
const char* kind_name(Kind);

struct Object {
  explicit Object(Kind k) : kind(k) {}
  virtual ~Object() = default;
  const Kind kind;
  std::uint64_t handle = 0;
};

/// Gives `o` its handle.
void add_handle(const std::shared_ptr<Object>& o);
void remove_handle(std::uint64_t);
/// Fails with CUDA_ERROR_INVALID_HANDLE, saying whether the object was destroyed, is of another kind, or never was.
std::shared_ptr<Object> find_handle(std::uint64_t handle, Kind);
std::shared_ptr<Object> find_handle_or_null(std::uint64_t handle);
std::uint64_t live_handles();

template <class T, class H>
std::shared_ptr<T> find(H handle) {
  return std::static_pointer_cast<T>(find_handle(reinterpret_cast<std::uint64_t>(handle), T::kKind));
}
template <class H>
H as(const Object& o) {
  return reinterpret_cast<H>(o.handle);
}

}  // namespace sim
