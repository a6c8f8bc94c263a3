#include "tensor/wrapped.h"

namespace reprise {

constinit std::atomic<Tensor (*)(const Tensor&, SourceLoc)> plain_of_wrapper{nullptr};
constinit std::atomic<std::string (*)(const Tensor&)> name_of_wrapper{nullptr};
constinit std::atomic<std::uint64_t (*)(const TensorImpl&)> version_of_wrapper{nullptr};

Storage* new_storage_nowhere(Device device, std::int64_t bytes) {
  static std::atomic<std::uintptr_t> next{kNowhere};
  constexpr std::uintptr_t kPage = 4096, kMost = std::uintptr_t{1} << 45;
  const auto size = static_cast<std::uintptr_t>(bytes < 0 ? 0 : bytes);
  auto* s = new Storage;
  s->device = device;
  s->bytes = bytes;
  // What is larger than any memory may overlap another such handle: nothing is written through either.
  const std::uintptr_t room = (size < kMost ? size : kMost) / kPage * kPage + kPage;
  s->data = reinterpret_cast<void*>(kNowhere | (next.fetch_add(room, std::memory_order_relaxed) & (kNowhere - 1)));
  s->deleter = [](void*) {};
  return s;
}

}  // namespace reprise
