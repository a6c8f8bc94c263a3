#pragma once
#include <functional>
#include <span>
#include <vector>

#include "jit/emit/emitter.h"
#include "jit/gpu/module.h"

namespace reprise::jit {

inline constexpr int kWarp = 32;  ///< threads that run in step

/// Helpers for kernels that run as blocks of threads. Everything is a scalar of one thread (lanes 0 of Emitter);
/// vectors exist only at memory. Positions inside a grid and a block are i32.
class GpuEmitter : public Emitter {
 public:
  using Value = llvm::Value;
  explicit GpuEmitter(GpuModule& m) : Emitter(m.cx), gpu(m) {}

  GpuModule& gpu;

  /// Makes the kernel: one pointer for each of `buffers` (aligned to its dtype), then `params` integers, of which those
  /// that are words (gpu.words) come first, behind the number of blocks (gpu.grid_word), in pointers' places; and
  /// stands in its body. `threads`: of a block, at most; the launch uses exactly gpu.block, which is set. `resident`:
  /// blocks that a processor must have registers for at once; left to itself, ptxas wants more than one and spills for
  /// it.
  void begin(std::span<const DType> buffers, int params, device::Dim3 threads, int resident = 1);
  /// With gpu.waits_later: here the kernel waits for what comes before it in its graph, and does nothing more after a
  /// fault. All threads come here.
  void wait_for_earlier();
  /// Returns from the kernel at the insertion point.
  void end();
  llvm::Function* kernel = nullptr;
  Value* buffer(std::size_t i) const { return buffers_[i]; }  ///< ptr addrspace(1) to its first byte
  Value* param(std::size_t i) const { return params_[i]; }    ///< i64

  // ---- where this thread is (axis 0: x, 1: y, 2: z)
  Value* thread(int axis = 0);
  Value* block(int axis = 0);
  Value* lane();  ///< in its warp, of threads numbered along x (blocks of one axis)
  Value* warp();  ///< of its block

  Value* i32(std::int64_t v) { return b.getInt32(static_cast<std::uint32_t>(v)); }
  Value* index64(Value* v) { return b.CreateZExt(v, b.getInt64Ty()); }  ///< of an i32 that is not negative

  /// Quotient and remainder of positions, both i32 or both i64: 0 <= a < 2^44, 0 < c. Those of i64 in 32 bits where
  /// they fit; no call of the assembler's division in 64 bits, around which registers would be spilled.
  struct Division {
    Value *quotient, *remainder;
  };
  Division divide(Value* a, Value* c);

  // ---- shared memory and synchronization
  /// Static shared memory of the block: ptr addrspace(3). Contents are undefined at the start.
  Value* shared_array(llvm::Type* element, std::uint64_t count, std::uint64_t align = 16);
  /// The block's dynamic shared memory (gpu.shared_bytes, or what the launch says).
  Value* dynamic_shared(std::uint64_t align = 16);
  /// Waits for all threads of the block; makes their writes to shared and global memory visible to each other.
  void barrier();

  // ---- between the threads of a warp, all of which must come here. Values of 1 to 64 bits, floats or pointers'
  // integers.
  Value* shuffle_xor(Value* v, Value* lane_mask);
  Value* shuffle_xor(Value* v, int lane_mask) { return shuffle_xor(v, i32(lane_mask)); }
  Value* shuffle_up(Value* v, int delta);
  Value* ballot(Value* condition);  ///< i32 with a bit for each lane

  using Combine = std::function<Value*(Value* a, Value* c)>;
  /// combine(a, c) of this thread's value and that of the lane whose number differs by `lane_mask` (i32, one bit), the
  /// lower lane's first: both get the same bits.
  Value* exchange(Value* v, Value* lane_mask, const Combine&);
  /// Over groups of `width` neighbouring lanes (a power of two up to 32); every lane gets the result, and the same
  /// bits.
  Value* warp_reduce(Value* v, const Combine&, int width = kWarp);
  /// Over a block of `threads` threads along x (a multiple of 32); every thread gets the result. Uses barriers: all
  /// threads come here; may be called again at once. `identity` is combined where there are fewer warps than lanes.
  Value* block_reduce(Value* v, Value* identity, const Combine&, int threads);

  // ---- memory
  /// `count` elements from `p` on (a power of two), as register values. `bytes`: what p is known to be aligned to;
  /// accesses are as wide as that and 16 bytes allow.
  llvm::SmallVector<Value*, 16> load_run(DType, Value* p, int count, int bytes);
  /// The elements of such an access, 16 bytes or fewer, as it is loaded: an integer or a vector of some.
  llvm::SmallVector<Value*, 16> elements_of(DType, Value* loaded);
  void store_run(DType, llvm::ArrayRef<Value*> values, Value* p, int bytes);
  /// One element; p aligned to it.
  Value* load_one(DType t, Value* p) { return load(t, p, 0, nullptr); }
  void store_one(DType t, Value* v, Value* p) { store(t, v, p, nullptr); }
  /// Asks for `bytes` (i32) from p on, both multiples of 16, to be brought into the second cache, which nothing waits
  /// for; from sm_90 on. It is no read: what others write meanwhile is seen by whoever reads it later.
  void prefetch(Value* p, Value* bytes);
  void prefetch(Value* p);                ///< the line of the cache around p
  static constexpr int kCacheLine = 128;  ///< bytes
  /// Is the address a multiple of `bytes`? (i1)
  Value* is_aligned(Value* p, int bytes);

  // ---- control. emit_loop and emit_if of jit/emit/emitter.h serve too, with i32 or i64 counters.
  /// then() or otherwise(); each returns the values that the results are chosen from.
  std::vector<Value*> choose(Value* condition, const std::function<std::vector<Value*>()>& then,
                             const std::function<std::vector<Value*>()>& otherwise);
  void if_else(Value* condition, const std::function<void()>& then, const std::function<void()>& otherwise) {
    emit_if(*this, condition, then, otherwise);
  }

  void instruction(const char* text);  ///< of PTX, that nothing may move past

 private:
  Value* special(llvm::Intrinsic::ID);
  void wait();  ///< for what comes before the kernel in its graph
  void leave_if(Value* condition, bool waits);
  void leave_after_fault();
  /// of a kernel that waits later: once for the block, at the beginning, for all of its threads
  void gather_cells();
  Value* shuffle(Value* v, llvm::Intrinsic::ID, Value* lane, int clamp);
  llvm::SmallVector<Value*, 8> words_of(Value* v);             // i32 parts of a value
  Value* of_words(llvm::ArrayRef<Value*> words, llvm::Type*);  // and back
  std::vector<Value*> buffers_, params_;
  /// with gpu.waits_later: what stands for each cell's value before the kernel has waited, and after it
  std::vector<llvm::LoadInst*> read_early_, read_late_;
  Value* record_ = nullptr;  // of faults, where the kernel is guarded
};

}  // namespace reprise::jit
