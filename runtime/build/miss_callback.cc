#include "runtime/build/miss_callback.h"

#include <exception>

#include "base/epochs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {
thread_local bool t_telling = false;
}

void MissCallback::set(Function f) {
  // then the one before: it goes behind the lock
  std::shared_ptr<const Function> next = f ? std::make_shared<const Function>(std::move(f)) : nullptr;
  epochs::Working working;
  const MutexLock lock(mu_);
  set_.store(next != nullptr, std::memory_order_relaxed);
  function_.swap(next);
}

std::shared_ptr<const MissCallback::Function> MissCallback::get() const {
  if (t_telling || !is_set()) return nullptr;
  epochs::Working working;
  const MutexLock lock(mu_);
  return function_;
}

void note_miss(Outputs& outputs, const MissCallback& callback, Miss miss) noexcept {
  try {
    if (!outputs.missed) {
      std::shared_ptr<const MissCallback::Function> whom = callback.get();
      if (!whom) return;
      outputs.missed = new Missed{std::move(whom), {}};
    }
    outputs.missed->all.push_back(std::move(miss));
  } catch (const std::bad_alloc&) {
  }
}

void tell_miss(const MissCallback::Function& callback, const Miss& miss) noexcept {
  auto warn = [&](const char* what) noexcept {
    try {
      logs::warn("the callback for misses of " + miss.function + " has thrown: " + what);
    } catch (const std::exception&) {  // there is no memory to say so
    }
  };
  t_telling = true;
  try {
    callback(miss);
  } catch (const std::exception& e) {
    warn(e.what());
  } catch (...) {
    warn("what is no std::exception");
  }
  t_telling = false;
}

Outputs::~Outputs() {
  for (TensorImpl* t : tensors)
    if (t) release(t);
  if (reading) epochs::end(epochs::mine());
  if (!missed) [[likely]]
    return;
  const std::unique_ptr<const Missed> told(missed);
  for (const Miss& m : told->all) tell_miss(*told->whom, m);
}

}  // namespace reprise::detail
