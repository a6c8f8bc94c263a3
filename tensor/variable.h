#pragma once
#include <atomic>
#include <memory>

#include "tensor/impl.h"

namespace reprise {

/// A handle of the user's program (a local that a lambda captured by reference, a member, an element of a vector, a
/// global) that a traced function has read. A replay does not run the function, but must see the tensor that the
/// function would see now; so what the handle holds is followed from the trace on: assigning it, moving from it and
/// destroying it tell.
///
/// A tensor knows which watched handles hold it (TensorImpl::variables): to assign, move from or destroy a handle of
/// another tensor costs one load more. Of a tensor that a watched handle holds it takes the mutex, and so may
/// destroying an empty handle whose address resembles that of a watched empty one. Threads: links are guarded by one
/// mutex; `value` may be read at any time. Reading it while another thread assigns the handle is the race that calling
/// the function would be.
class Variable : public std::enable_shared_from_this<Variable> {
 public:
  Variable(const Tensor* at, TensorImpl* value);  ///< with the mutex held: use watch()
  ~Variable();
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

  /// What it holds: borrowed. Null: nothing, or the handle was destroyed.
  TensorImpl* value() const { return value_.load(std::memory_order_acquire); }
  bool is_gone() const { return !at_.load(std::memory_order_acquire); }
  /// Where it is; null once it was destroyed.
  Tensor* handle() const { return const_cast<Tensor*>(at_.load(std::memory_order_acquire)); }

 private:
  friend struct Variables;
  std::atomic<const Tensor*> at_;
  std::atomic<TensorImpl*> value_;
  Variable* next_ = nullptr;  // among those that hold the same tensor, or hold none
};

/// The variable at this handle, which is watched from now on.
std::shared_ptr<Variable> watch(const Tensor& handle);
/// Is it watched by somebody?
bool is_watched(const Tensor& handle);
/// Is it among the variables that live as long as the program, or the library that they are in?
bool is_static(const void* address);
/// Is it on this thread's stack, further from its end than `frame`?
bool is_on_stack_above(const void* address, const void* frame);
/// Is it in the calling thread's own copy of thread_local variables? Other threads have theirs elsewhere.
bool is_thread_local(const void* address);

/// Follows handles while a function runs eagerly. What a trace on the same thread follows meanwhile (TraceHook) is none
/// of it.
struct HandleHook {
  virtual ~HandleHook() = default;
  virtual void handle_made(const Tensor&, const Tensor& from) noexcept = 0;         ///< as a copy or by moving one
  virtual void handle_assigned(const Tensor& to, TensorImpl* before) noexcept = 0;  ///< or moved from; has happened
  virtual void handle_destroyed(const Tensor&) noexcept = 0;  ///< about to be; also one that holds nothing
};
/// Sets the calling thread's, and gives the one before. Null: none.
HandleHook* exchange_handle_hook(HandleHook*) noexcept;
/// RAII for it.
class HandleScope {
 public:
  explicit HandleScope(HandleHook*) noexcept;
  ~HandleScope();
  HandleScope(const HandleScope&) = delete;
  HandleScope& operator=(const HandleScope&) = delete;

 private:
  HandleHook* before_;
};

}  // namespace reprise
