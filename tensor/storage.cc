#include <algorithm>
#include <exception>
#include <limits>
#include <memory>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/mutex.h"
#include "device/backend.h"
#include "device/device_memory.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"
#include "tensor/release_bytes.h"
#include "tensor/wrapped.h"

namespace reprise {
namespace {

/// Gives the bytes back: to whoever lent them, or to the allocator. The storage may live on, empty.
void free_bytes(Storage& s) noexcept {
  void* data = std::exchange(s.data, nullptr);
  if (!s.deleter) {
    if (data) device::deallocate(s.device, data, s.bytes);
    return;
  }
  std::function<void(void*)> deleter = std::exchange(s.deleter, nullptr);
  try {
    deleter(data);
  } catch (const std::exception& e) {
    logs::warn(std::string("the deleter of a tensor's memory threw: ") + e.what());
  } catch (...) {
    logs::warn("the deleter of a tensor's memory threw");
  }
}

void forget_discarded(std::uint64_t number) noexcept;

void frozen_dies(std::uint64_t number) noexcept {
  frozen_changes.fetch_add(1, std::memory_order_acq_rel);
  forget_discarded(number);
  if (auto* told = frozen_storage_dies.load(std::memory_order_acquire)) told(number);
}

}  // namespace

constinit std::atomic<void (*)(std::uint64_t) noexcept> frozen_storage_dies{nullptr};

constinit std::atomic<std::uint64_t> frozen_changes{1};

void freeze_storage(Storage& s) noexcept {
  static constinit std::atomic<std::uint64_t> g_numbers{0};
  std::uint64_t none = 0;
  if (!s.frozen.load(std::memory_order_relaxed))
    s.frozen.compare_exchange_strong(none, g_numbers.fetch_add(1, std::memory_order_relaxed) + 1,
                                     std::memory_order_relaxed);
}

void swap_bytes(Storage& a, Storage& b) noexcept {
  std::swap(a.data, b.data);
  std::swap(a.bytes, b.bytes);
  std::swap(a.pinned, b.pinned);
  a.deleter.swap(b.deleter);
}

void retain(Storage* s) noexcept { s->refs.fetch_add(1, std::memory_order_relaxed); }
void release(Storage* s) noexcept {
  if (s->refs.load(std::memory_order_acquire) != 1 && s->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (const std::uint64_t number = s->frozen.load(std::memory_order_relaxed)) [[unlikely]]
    frozen_dies(number);
  free_bytes(*s);
  delete s;
}

Storage* new_storage(Device device, std::int64_t bytes) {
  std::unique_ptr<Storage> s(new Storage);
  s->device = device;
  if (is_shape_only(device)) {
    any_shape_only.store(true, std::memory_order_relaxed);
  } else if (bytes) s->data = device::allocate(device, bytes);
  else device::require_available(device, "allocate");
  s->bytes = bytes;
  return s.release();
}

Storage* new_pinned_storage(Device device, std::int64_t bytes) {
  std::unique_ptr<Storage> s(new Storage);
  device::Backend& backend = device::backend(device, "pin_memory");
  s->pinned = device;
  s->deleter = [&backend](void* p) { backend.deallocate_pinned(p); };
  s->data = backend.allocate_pinned(std::max<std::int64_t>(bytes, 1));
  s->bytes = bytes;
  return s.release();
}

void detail::retain(TensorImpl* t) noexcept { t->refs.fetch_add(1, std::memory_order_relaxed); }
void detail::release(TensorImpl* t) noexcept {
  // The only holder needs no locked instruction: nobody else can raise the count meanwhile.
  if (t->refs.load(std::memory_order_acquire) != 1 && t->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (t->storage) frozen_may_change(*t->storage), reprise::release(t->storage);
  delete t->trace;
  delete t->notes;
  delete t;
}

TensorImpl* new_impl(DType dtype, Device device, const std::int64_t* sizes, const std::int64_t* strides, int rank,
                     std::int64_t offset, Storage* storage) {
  TensorImpl* t = new (std::nothrow) TensorImpl;
  if (!t) {
    if (storage) release(storage);  // it was given
    throw std::bad_alloc();
  }
  t->dtype = dtype;
  t->device = device;
  t->rank = static_cast<std::uint8_t>(rank);
  for (int i = 0; i < rank; ++i) t->sizes[i] = sizes[i], t->strides[i] = strides[i];
  t->offset = offset;
  t->storage = storage;
  return t;
}

TensorImpl* new_traced_impl(TracedTensor* owned) {
  std::unique_ptr<TracedTensor> keep(owned);
  TensorImpl* t = new TensorImpl;
  t->trace = keep.release();
  t->keys = kTracedKey;
  t->dtype = owned->meta().dtype;
  t->device = owned->meta().device;
  t->rank = static_cast<std::uint8_t>(owned->meta().dim());
  return t;
}

Tensor empty_concrete(const std::int64_t* sizes, int rank, DType dtype, Device device) {
  if (rank > kMaxRank)
    fail(ErrorCode::InvalidArgument, "empty", {}, "a tensor has at most ", kMaxRank, " dimensions, not ", rank);
  std::int64_t strides[kMaxRank], step = 1, bytes = item_size(dtype);
  bool overflow = false, none = false;
  for (int i = rank - 1; i >= 0; --i) {
    if (sizes[i] < 0)
      fail(ErrorCode::InvalidArgument, "empty", {}, "size ", sizes[i], " of dimension ", i, " is negative");
    strides[i] = step;
    if (sizes[i] == 0) {
      none = true;
    } else {
      overflow |= __builtin_mul_overflow(step, sizes[i], &step);
      overflow |= __builtin_mul_overflow(bytes, sizes[i], &bytes);
    }
  }
  if (overflow && !none)
    fail(ErrorCode::OutOfMemory, "empty", {}, "the number of bytes of the sizes does not fit 63 bits");
  Storage* s = new_storage(device, none ? 0 : bytes);
  return Tensor::adopt(new_impl(dtype, device, sizes, strides, rank, 0, s));
}

TensorImpl& defined_impl(const Tensor& t, const char* what, SourceLoc loc) {
  if (!t.defined()) [[unlikely]]
    fail(ErrorCode::InvalidArgument, what, loc, "the tensor is undefined");
  return *t.impl();
}

constinit std::atomic<bool> any_released{false};
constinit std::atomic<bool> any_shape_only{false};

constinit std::atomic<bool> any_discarded{false};

namespace {
struct DiscardedNames {
  ForkMutex mu;
  std::unordered_map<std::uint64_t, std::pair<std::string, SourceLoc>> by_number
      REPRISE_GUARDED_BY(mu);  // of those that live
};
// Never destroyed: tensors of static variables die after it would.
DiscardedNames& discarded_names() {
  static auto* names = new DiscardedNames;
  return *names;
}
void forget_discarded(std::uint64_t number) noexcept {
  if (!any_discarded.load(std::memory_order_relaxed)) return;
  const MutexLock lock(discarded_names().mu);
  discarded_names().by_number.erase(number);
}
}  // namespace

void discard_storage(Storage& s, std::string name, SourceLoc by) {
  {
    const MutexLock lock(discarded_names().mu);
    discarded_names().by_number[s.frozen.load(std::memory_order_relaxed)] = {std::move(name), by};
  }
  any_discarded.store(true, std::memory_order_relaxed);
  frozen_may_change(s);
  free_bytes(s);
}

void refuse_discarded(const TensorImpl& t, std::string_view what, SourceLoc loc) {
  std::pair<std::string, SourceLoc> told;
  {
    const MutexLock lock(discarded_names().mu);
    told = discarded_names().by_number[t.storage->frozen.load(std::memory_order_relaxed)];
  }
  fail(ErrorCode::StorageFreed, std::string(what).c_str(), loc, "the elements of '", told.first, "' (", t.numel(),
       " of ", t.dtype, ") were discarded at ", told.second ? told.second.file : "?", ":", told.second.line,
       ": what compiled functions had folded of them is all that is left");
}

void check_not_released(const TensorImpl& t, const char* what, SourceLoc loc) {
  if (is_discarded(*t.storage)) [[unlikely]]
    refuse_discarded(t, what, loc);
  if (t.storage->released) [[unlikely]]
    fail(ErrorCode::StorageFreed, what, loc, "the storage of a tensor of ", t.numel(), " elements of ", t.dtype,
         " was released");
}

[[noreturn, gnu::noinline, gnu::cold]] static void refuse_wrapper(const Tensor& t, const char* what, SourceLoc loc) {
  fail(ErrorCode::InvalidArgument, what, loc, "the tensor is a wrapper (", name_of_wrapper.load()(t),
       "), which has no bytes of its own: use plain() of it, or its inner tensors");
}

Storage& checked_storage(const Tensor& t, const char* what, SourceLoc loc) {
  TensorImpl& impl = defined_impl(t, what, loc);
  if (impl.keys & (kTracedKey | kWrappedKey)) [[unlikely]] {
    if (impl.trace) impl.trace->reads_value(what, loc);
    if (has_no_bytes(impl)) refuse_wrapper(t, what, loc);
  }
  if (current_trace) [[unlikely]]
    current_trace->not_traceable(Bail::reads_value, what, loc);
  if (is_shape_only(impl.device)) [[unlikely]]
    fail(ErrorCode::InvalidArgument, what, loc, "the tensor is shape-only (", impl.numel(), " elements of ", impl.dtype,
         "): it has sizes and no elements");
  check_not_released(impl, what, loc);
  return *impl.storage;
}

void release_bytes(Storage& s) noexcept {
  s.released = true;
  free_bytes(s);
  s.bytes = 0;
}

void Tensor::release_storage() {
  Storage& s = checked_storage(*this, "release_storage");
  s.released = true;
  any_released.store(true, std::memory_order_relaxed);
  if (const std::uint64_t number = s.frozen.load(std::memory_order_relaxed)) frozen_dies(number);
  free_bytes(s);
  s.bytes = 0;
}

}  // namespace reprise
