#include "device/machine_code.h"

#include <atomic>

namespace reprise::device {

namespace {
constinit std::atomic<MachineCodeStore*> g_store{nullptr};
constinit std::atomic<bool> g_was_set{false};
}  // namespace

MachineCodeStore* exchange_machine_code_store(MachineCodeStore* s) noexcept {
  g_was_set.store(true);
  return g_store.exchange(s);
}
MachineCodeStore* machine_code_store() noexcept { return g_store.load(std::memory_order_acquire); }
void offer_machine_code_store(MachineCodeStore* s) noexcept {
  if (g_was_set.load(std::memory_order_relaxed) || g_was_set.exchange(true)) return;
  g_store.store(s, std::memory_order_release);
}

}  // namespace reprise::device
