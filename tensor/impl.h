#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/bail.h"
#include "reprise/tensor.h"
#include "tensor/layout.h"

namespace reprise {

namespace graph {
class Interpreter;
}

/// Counted bytes on a device. `data` is null when empty or released.
/// Threads: the counts are atomic; everything else is as safe as the elements are.
struct Storage {
  std::atomic<std::int32_t> refs{1};
  Device device;
  bool released = false;  ///< release_storage() ran: use throws StorageFreed
  void* data = nullptr;
  std::int64_t bytes = 0;
  std::atomic<std::uint64_t> version{0};  ///< one more for every in-place write
  Device pinned;                          ///< a device that copies from and to this host memory by itself; else cpu
  std::function<void(void*)> deleter;     ///< of from_blob; else null and the caching allocator owns `data`
  /// Declared not to change (reprise/parameter.h): a number of its own, which no other storage ever has; 0: it is not.
  std::atomic<std::uint64_t> frozen{0};
};
/// Declares it; again: nothing.
void freeze_storage(Storage&) noexcept;
/// Told the number of a frozen storage whose bytes go, before its memory can be another's. Null: nobody keeps anything
/// of such a one. It throws nothing.
extern constinit std::atomic<void (*)(std::uint64_t) noexcept> frozen_storage_dies;
/// Two storages of one device exchange their bytes: what is on the one is on the other's. Nobody else uses them
/// meanwhile.
void swap_bytes(Storage&, Storage&) noexcept;
void retain(Storage*) noexcept;
void release(Storage*) noexcept;  ///< (tensor/storage.cc) frees at zero: deleter, or back to the allocator
Storage* new_pinned_storage(Device device, std::int64_t bytes);  ///< on the host, for copies that `device` makes
Storage* new_storage(Device, std::int64_t bytes);  ///< from device's caching allocator; throws OutOfMemory

/// What mark_dynamic or mark_static said of one dimension.
struct DimMark {
  std::int64_t min = 0, max = INT64_MAX, multiple_of = 1;
  bool is_static = false;
  bool recompiles = false;  ///< what a call outside of it is: another compilation, or an error
  SourceLoc where{};        ///< who said it
};
struct DimMarks {
  DimMark dims[kMaxRank];
  std::uint8_t set = 0;  ///< bit d: dims[d] counts
};

// What a tensor carries of graph::Key (graph/thread_state.h), which tensors know nothing else of.
inline constexpr std::uint8_t kTracedKey = 1, kWrappedKey = 4, kAutogradKey = 8;

/// What the tape keeps of a tensor (autograd/state.h derives from it).
struct AutogradState {
  virtual ~AutogradState() = default;
  virtual bool requires_grad() const = 0;
};

/// What few tensors have.
struct TensorNotes {
  DimMarks marks;
  std::shared_ptr<graph::Interpreter> wrapper;  ///< of one with kWrappedKey: who answers its calls
  std::unique_ptr<AutogradState> autograd;      ///< of one with kAutogradKey: where it stands on the tape
};

/// One view. Concrete tensors keep plain numbers in fixed arrays, so that filling a call signature is a copy;
/// a traced tensor (`trace` set) has no storage, and its layout is symbolic and lives in the trace's record.
struct TensorImpl {
  std::atomic<std::int32_t> refs{1};
  DType dtype = DType::Float32;
  Device device;
  std::uint8_t rank : 4 = 0;
  /// which interpreters its calls are for beside the thread's: kTracedKey, kWrappedKey, kAutogradKey
  std::uint8_t keys : 4 = 0;
  /// What compiled code is chosen by (runtime/call/call_frame.h), once somebody has asked; 0: not known, as it is of
  /// one that is traced. Whoever changes dtype, rank, sizes or strides sets it to 0. (It stands beside the sizes: what
  /// a call compares lies together.)
  mutable std::atomic<std::uint64_t> structure_word{0};
  std::int64_t sizes[kMaxRank] = {};
  Storage* storage = nullptr;  ///< owned reference
  std::int64_t offset = 0;     ///< elements
  std::int64_t strides[kMaxRank] = {};
  struct TracedTensor* trace = nullptr;  ///< owned; runtime/trace/tracer.h defines it. Null for a real tensor
  TensorNotes* notes = nullptr;          ///< owned; null unless marked, wrapped or known to the tape
  /// watched handles that hold it (tensor/variable.h), linked by them
  std::atomic<class Variable*> variables{nullptr};
  bool is_view = false;  ///< made by a view operator: others may be on its storage

  /// The first element's address; of a view of nothing, whose offset may be any number, one that is not to be read.
  char* data() const {
    return reinterpret_cast<char*>(reinterpret_cast<std::uintptr_t>(storage->data) +
                                   static_cast<std::uintptr_t>(offset) * static_cast<std::uintptr_t>(item_size(dtype)));
  }
  std::int64_t numel() const {
    std::uint64_t n = 1;  // beside a size of 0, others may be anything
    for (int i = 0; i < rank; ++i) n *= static_cast<std::uint64_t>(sizes[i]);
    return static_cast<std::int64_t>(n);
  }
};

/// What a traced tensor must answer to tensor/ (which cannot see the runtime). runtime/trace/tracer.h derives from it.
struct TracedTensor {
  virtual ~TracedTensor() = default;
  virtual const TensorMeta& meta() const = 0;
  /// The same for a program that asks for strides: those of dimensions of size 0 and 1, too, are what eager would give.
  virtual const TensorMeta& meta_with_strides(SourceLoc) const { return meta(); }
  /// Throws Error(NotTraceable) naming what was read and where.
  [[noreturn]] virtual void reads_value(const char* what, SourceLoc loc) const = 0;
  virtual const void* storage_id() const = 0;  ///< equal for views of one storage
  /// as Storage::version: how often its storage was written so far, in the trace
  virtual std::uint64_t writes() const = 0;
  /// Its handle has other sizes: for the tape as a write.
  virtual void count_write() const = 0;
  /// is it an argument, or captured, as the function was given it?
  virtual bool is_input() const = 0;
  /// does the trace still run (on another thread, if this one traces nothing)?
  virtual bool is_live() const = 0;
};

/// What a trace on this thread wants to know of real tensors (runtime/trace/tracer.h derives from it).
struct TraceHook {
  virtual ~TraceHook() = default;
  /// Throws Error(NotTraceable) for what was called.
  [[noreturn]] virtual void not_traceable(Bail, const char* what, SourceLoc) = 0;
  /// A real tensor as the trace sees it: it becomes an implicit input.
  virtual const TracedTensor& traced_of_captured(const Tensor&) = 0;
  /// How often the trace has written to a real tensor so far, which is written when all has gone well.
  virtual std::uint64_t writes_of(const TensorImpl&) const noexcept { return 0; }
  // What is done to handles (tensor/variable.cc).
  virtual void handle_read(const Tensor& from) noexcept = 0;                        ///< of a real tensor: it is copied
  virtual void handle_made(const Tensor&, const Tensor& from) noexcept = 0;         ///< as a copy or by moving one
  virtual void handle_asked(const Tensor&) noexcept = 0;                            ///< whether it holds a tensor
  virtual void handle_assigned(const Tensor& to, TensorImpl* before) noexcept = 0;  ///< or moved from; has happened
  /// about to be; also one that holds nothing
  virtual void handle_destroyed(const Tensor&) noexcept = 0;
  // What the function derives: for its signature alone.
  virtual void note_loss(const Tensor&) {}
  virtual void note_gradient(const Tensor& gradient, const Tensor& of) {
    static_cast<void>(gradient), static_cast<void>(of);
  }
};
/// Null: nobody traces on this thread.
extern constinit thread_local TraceHook* current_trace;
/// RAII for current_trace.
class TraceScope {
 public:
  explicit TraceScope(TraceHook*);
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;

 private:
  TraceHook* before_;
};

/// For functions that make tensors of host memory: what they hold may differ at the next call.
inline void not_while_traced(const char* what, SourceLoc loc = {}) {
  if (current_trace) current_trace->not_traceable(Bail::makes_from_host, what, loc);
}

/// Has it no bytes, since its device has none (reprise/shape_only.h)?
constexpr bool is_shape_only(Device d) { return d.type == DeviceType::ShapeOnly; }
/// Has there ever been such a tensor? Where there has not, none need be asked.
extern constinit std::atomic<bool> any_shape_only;

/// Does the tape follow it?
inline bool requires_grad(const TensorImpl& t) { return (t.keys & kAutogradKey) && t.notes->autograd->requires_grad(); }

/// New impl with one reference.
TensorImpl* new_impl(DType, Device, const std::int64_t* sizes, const std::int64_t* strides, int rank,
                     std::int64_t offset, Storage* storage /* takes over one reference */);
TensorImpl* new_traced_impl(TracedTensor* owned);
TensorMeta meta_of(const Tensor&);  ///< either kind
/// The impl of a defined tensor; throws InvalidArgument naming `what` for an undefined one.
TensorImpl& defined_impl(const Tensor&, const char* what, SourceLoc loc = {});
/// The storage whose bytes are about to be touched. Throws InvalidArgument (undefined), NotTraceable (a traced tensor
/// has no bytes; `what` is what was read) or StorageFreed. Everything that follows `TensorImpl::data` asks this first.
Storage& checked_storage(const Tensor&, const char* what, SourceLoc loc = {});
/// The same for a tensor known to be concrete.
/// Has release_storage() ever run? Where it has not, no tensor need be asked.
extern constinit std::atomic<bool> any_released;
void check_not_released(const TensorImpl&, const char* what, SourceLoc loc = {});
/// Uninitialised, contiguous, from the caching allocator. For kernels' results.
Tensor empty_concrete(const std::int64_t* sizes, int rank, DType, Device);

/// Bytes from the first byte of a view's first element to one past the last byte of its last; 0 when it has none.
std::int64_t byte_extent(const TensorImpl&);
/// Exact for strided sets of bytes: do two views touch a common byte? (tensor/overlap.cc) Compares address ranges
/// first; only ranges that intersect pay for the exact test. Bounded work: past its budget it answers true (may
/// overlap).
bool overlaps(const TensorImpl& a, const TensorImpl& b);
/// Does one view reach some element twice (an expanded tensor)?
bool overlaps_itself(const TensorImpl& a);

}  // namespace reprise
