#include "runtime/trace/function_bytes.h"

#include <algorithm>
#include <cstring>

namespace reprise::detail {

FunctionBytes::FunctionBytes(std::vector<FunctionSeen> seen, const Handles& handles) : seen_(std::move(seen)) {
  make_parts(handles);
}

void FunctionBytes::make_parts(const Handles& handles) {
  auto parts = std::make_unique<std::vector<Part>>();
  for (const FunctionSeen& f : seen_) {
    const char* const object = static_cast<const char*>(f.object.at);
    auto add = [&](const char* from, const char* to) {
      if (from < to) parts->push_back({from, f.bytes.data() + (from - object), static_cast<std::size_t>(to - from)});
    };
    const char *at = object, *end = object + f.object.size;
    for (auto h = handles.lower_bound(object); h != handles.end() && *h < end; ++h) {
      const char* handle = static_cast<const char*>(*h);
      add(at, handle);
      at = handle + sizeof(Tensor);
    }
    add(at, end);
  }
  const std::vector<Part>* now = parts.get();
  made_.push_back(std::move(parts));
  parts_.store(now, std::memory_order_release);
}

bool FunctionBytes::leave_out(const Handles& handles) {
  auto bytes = [](const std::vector<Part>& parts) {
    std::size_t n = 0;
    for (const Part& p : parts) n += p.size;
    return n;
  };
  const std::size_t before = bytes(*parts_.load(std::memory_order_relaxed));
  if (is_gone()) return false;
  std::size_t without = 0;
  for (const FunctionSeen& f : seen_) {
    const char* const object = static_cast<const char*>(f.object.at);
    without +=
        f.object.size - sizeof(Tensor) * static_cast<std::size_t>(std::distance(
                                             handles.lower_bound(object), handles.lower_bound(object + f.object.size)));
  }
  if (without == before) return false;
  make_parts(handles);
  return true;
}

bool FunctionBytes::is_gone() const {
  return std::any_of(seen_.begin(), seen_.end(), [](const FunctionSeen& f) { return f.owner.expired(); });
}

bool FunctionBytes::same() const {
  if (is_gone()) return false;
  for (const Part& p : *parts_.load(std::memory_order_acquire))
    if (std::memcmp(p.at, p.expected, p.size) != 0) return false;
  return true;
}

}  // namespace reprise::detail
