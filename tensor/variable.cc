#include "tensor/variable.h"

#include <link.h>
#include <pthread.h>

#include <algorithm>
#include <utility>

#include "base/fork.h"
#include "base/mutex.h"

namespace reprise {

constinit std::atomic<int> detail::empty_variables{0}, detail::traces{0};

/// The lists that variables are in: one of each tensor; those that hold none by where they are, because handles that
/// hold nothing come and go all the time, and models have many that stay empty (biases that are not there).
struct Variables {
  static constinit ForkMutex mu;
  static constexpr int kEmptyBits = 10;
  static constinit std::atomic<Variable*> empty[1 << kEmptyBits];

  /// Changed under the mutex; read without it only to see that there is none.
  static std::atomic<Variable*>& list_of(TensorImpl* value, const Tensor* at) {
    return value ? value->variables
                 : empty[reinterpret_cast<std::uintptr_t>(at) / sizeof(Tensor) * 0x9e3779b97f4a7c15u >>
                         (64 - kEmptyBits)];
  }
  static void link(Variable& v, TensorImpl* value) {
    v.value_.store(value, std::memory_order_release);
    v.next_ = list_of(value, v.at_.load(std::memory_order_relaxed)).exchange(&v, std::memory_order_acq_rel);
    if (!value) detail::empty_variables.fetch_add(1, std::memory_order_relaxed);
  }
  static void unlink(Variable& v) {
    TensorImpl* value = v.value_.load(std::memory_order_relaxed);
    std::atomic<Variable*>& first = list_of(value, v.at_.load(std::memory_order_relaxed));
    if (first.load(std::memory_order_relaxed) == &v) {
      first.store(v.next_, std::memory_order_release);
    } else {
      Variable* before = first.load(std::memory_order_relaxed);
      while (before->next_ != &v) before = before->next_;
      before->next_ = v.next_;
    }
    if (!value) detail::empty_variables.fetch_sub(1, std::memory_order_relaxed);
  }
  /// Of those that hold `value`, the ones at this handle: usually one, two while one of them is being destroyed.
  template <class F>
  static void for_each_at(const Tensor* at, TensorImpl* value, F&& f) {
    for (Variable* v = list_of(value, at).load(std::memory_order_relaxed); v;) {
      Variable* next = v->next_;
      if (v->at_.load(std::memory_order_relaxed) == at) f(*v);
      v = next;
    }
  }
  static void holds(const Tensor* at, TensorImpl* before, TensorImpl* now) {
    if (before == now) return;
    const MutexLock lock(mu);
    for_each_at(at, before, [&](Variable& v) {
      unlink(v);
      link(v, now);
    });
  }
  static void gone(const Tensor* at, TensorImpl* value) {
    const MutexLock lock(mu);
    for_each_at(at, value, [&](Variable& v) {
      unlink(v);
      v.at_.store(nullptr, std::memory_order_release);
      v.value_.store(nullptr, std::memory_order_release);
    });
  }
};
constinit ForkMutex Variables::mu;
constinit std::atomic<Variable*> Variables::empty[1 << kEmptyBits]{};

Variable::Variable(const Tensor* at, TensorImpl* value) : at_(at), value_(nullptr) { Variables::link(*this, value); }

Variable::~Variable() {
  const MutexLock lock(Variables::mu);
  if (at_.load(std::memory_order_relaxed)) Variables::unlink(*this);
}

std::shared_ptr<Variable> watch(const Tensor& handle) {
  const MutexLock lock(Variables::mu);
  std::shared_ptr<Variable> known;
  Variables::for_each_at(&handle, handle.impl(), [&](Variable& v) {
    if (!known) known = v.weak_from_this().lock();
  });
  // (A variable whose last owner is gone waits for the mutex in its destructor: it is no longer `known`.)
  return known ? known : std::make_shared<Variable>(&handle, handle.impl());
}

bool is_watched(const Tensor& handle) {
  const MutexLock lock(Variables::mu);
  bool watched = false;
  Variables::for_each_at(&handle, handle.impl(), [&](Variable&) { watched = true; });
  return watched;
}

bool is_static(const void* address) {
  auto within = [](dl_phdr_info* module, std::size_t, void* address) -> int {
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = module->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_W)) continue;
      const auto begin = static_cast<std::uintptr_t>(module->dlpi_addr) + segment.p_vaddr,
                 at = reinterpret_cast<std::uintptr_t>(address);
      if (begin <= at && at < begin + segment.p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(within, const_cast<void*>(address)) != 0;
}

bool is_on_stack_above(const void* address, const void* frame) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return false;
  void* lowest = nullptr;
  std::size_t size = 0;
  pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  const auto begin = reinterpret_cast<std::uintptr_t>(lowest), now = reinterpret_cast<std::uintptr_t>(frame),
             at = reinterpret_cast<std::uintptr_t>(address);
  return begin <= now && now < at && at < begin + size;
}

bool is_thread_local(const void* address) {
  auto within = [](dl_phdr_info* module, std::size_t, void* address) -> int {
    for (int i = 0; i < module->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = module->dlpi_phdr[i];
      if (segment.p_type != PT_TLS || !module->dlpi_tls_data) continue;
      const auto begin = reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data),
                 at = reinterpret_cast<std::uintptr_t>(address);
      if (begin <= at && at < begin + segment.p_memsz) return 1;
    }
    return 0;
  };
  return dl_iterate_phdr(within, const_cast<void*>(address)) != 0;
}

namespace detail {

namespace {
constinit thread_local HandleHook* t_handles = nullptr;
/// The hooks of all scopes that this thread is in, the innermost last. Work that is set aside has no t_handles, but the
/// handles that it destroys may be known to any of these. Scopes nested deeper than that follow nothing.
struct Hooks {
  static constexpr int kMost = 32;
  HandleHook* of[kMost];
  int n;
};
constinit thread_local Hooks t_hooks{};

/// f(hook) for each: what a function does inside another is the outer one's doing, too.
template <class F>
void for_each_hook(F f) noexcept {
  for (int i = 0; i < std::min(t_hooks.n, Hooks::kMost); ++i) f(*t_hooks.of[i]);
}
/// Somebody follows handles, on this or another thread.
bool is_followed() { return traces.load(std::memory_order_relaxed) != 0; }
}  // namespace

TensorImpl* copied(const Tensor& from, const Tensor& to) noexcept {
  TensorImpl* t = from.impl();
  retain(t);
  if (is_followed()) [[unlikely]] {
    if (current_trace) {
      if (!t->trace) current_trace->handle_read(from);
      current_trace->handle_made(to, from);
    } else if (t_handles && !t->trace) {
      for_each_hook([&](HandleHook& h) { h.handle_made(to, from); });
    }
  }
  return t;
}

void asked(const Tensor& handle) noexcept {
  if (current_trace) current_trace->handle_asked(handle);
}

void moved(const Tensor& from, const Tensor& to) noexcept {
  TensorImpl* t = to.impl();
  if (t->variables.load(std::memory_order_acquire)) [[unlikely]]
    Variables::holds(&from, t, nullptr);
  if (!is_followed()) [[likely]]
    return;
  if (current_trace) {
    current_trace->handle_assigned(from, t);
    current_trace->handle_made(to, from);
  } else if (t_handles) {
    for_each_hook([&](HandleHook& h) { h.handle_assigned(from, t), h.handle_made(to, from); });
  }
}

void assigned(const Tensor& to, TensorImpl* before) noexcept {
  if ((before || empty_variables.load(std::memory_order_relaxed)) &&
      Variables::list_of(before, &to).load(std::memory_order_acquire)) [[unlikely]]
    Variables::holds(&to, before, to.impl());
  if (is_followed()) [[unlikely]] {
    if (current_trace) current_trace->handle_assigned(to, before);
    else if (t_handles) for_each_hook([&](HandleHook& h) { h.handle_assigned(to, before); });
  }
  if (before) release(before);
}

void destroyed(const Tensor& handle) noexcept {
  TensorImpl* t = handle.impl();
  if (is_followed()) [[unlikely]] {
    if (current_trace) current_trace->handle_destroyed(handle);
    for_each_hook([&](HandleHook& h) { h.handle_destroyed(handle); });
  }
  if (Variables::list_of(t, &handle).load(std::memory_order_acquire)) [[unlikely]]
    Variables::gone(&handle, t);
  if (t) release(t);
}

namespace {
void follow(int more) noexcept {
  empty_variables.fetch_add(more, std::memory_order_relaxed);
  traces.fetch_add(more, std::memory_order_relaxed);
}
}  // namespace

}  // namespace detail

HandleHook* exchange_handle_hook(HandleHook* hook) noexcept { return std::exchange(detail::t_handles, hook); }
HandleScope::HandleScope(HandleHook* hook) noexcept : before_(exchange_handle_hook(hook)) {
  if (hook && detail::t_hooks.n++ < detail::Hooks::kMost) detail::t_hooks.of[detail::t_hooks.n - 1] = hook;
  detail::follow(1);
}
HandleScope::~HandleScope() {
  if (exchange_handle_hook(before_)) --detail::t_hooks.n;  // its own, which scopes inside have put back
  detail::follow(-1);
}

TraceScope::TraceScope(TraceHook* hook) : before_(std::exchange(current_trace, hook)) { detail::follow(1); }
TraceScope::~TraceScope() {
  current_trace = before_;
  detail::follow(-1);
}

}  // namespace reprise
