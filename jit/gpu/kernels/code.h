#pragma once
#include <functional>
#include <vector>

#include "jit/emit/writer.h"
#include "jit/gpu/emitter.h"
#include "kernels/launch/fields.h"

namespace reprise::jit {

/// What a kernel's arguments are to its code (kernels/gpu/kernels.h): values, and pointers that know their dtype.
struct InCode {
  using Number = V;
  struct Source : V {
    DType dtype = DType::Float32;
  };
  using Target = Source;
};

/// Writes one kernel of one-dimensional blocks and grid: what CUDA C++ would say, as calls that emit LLVM IR. No inline
/// assembly but what the simulator of the driver knows, so that it can run the same module. Barriers must stand where
/// all threads of the block come.
class GpuCode : public GpuEmitter, public Writer {
 public:
  /// Stands in the body of a kernel that takes `args`, which have their shape and are given their values here.
  /// `threads`: of a block; `resident`: as in begin.
  template <class Args>
  GpuCode(GpuModule& m, Args& args, int threads, int resident = 1)
      : GpuEmitter(m), Writer(static_cast<Emitter&>(*this)) {
    std::vector<InCode::Source*> buffers;
    std::vector<V*> numbers;
    kernels::for_each_leaf("", args, [&](const std::string&, auto& leaf) {
      if constexpr (requires { leaf.dtype; }) buffers.push_back(&leaf);
      else numbers.push_back(&leaf);
    });
    start(buffers, numbers, threads, resident);
  }
  /// Ends the function and makes registers of its variables. Nothing may be emitted after it.
  void finish();

  V tid;               ///< i32, in the block
  V lane_id, warp_id;  ///< i32
  V block_id;          ///< i64

  using Writer::i32;
  using Writer::i64;
  using Writer::multiply_add;
  V constant(DType t, double x) { return wrap(V(x).as(register_type(t))); }  ///< of the register type
  V convert(DType from, DType to, const V& x) { return wrap(cast(from, to, x.v)); }
  using Writer::var;
  Var var(DType t, double initial) { return var(constant(t, initial)); }

  // ---- memory, global or shared; indices are in elements of `t`, i32 or i64
  V at(DType t, const V& p, const V& index);
  V read(DType t, const V& p, const V& index = 0) { return wrap(load(t, at(t, p, index).v, 0, nullptr)); }
  void write(DType t, const V& p, const V& index, const V& x) {
    store(t, x.as(register_type(t)), at(t, p, index).v, nullptr);
  }
  /// `n` neighbours (a power of two) at p, which is aligned to all of them or 16 bytes.
  Vs read_run(DType t, const V& p, int n);
  void write_run(DType t, const V& p, const Vs& x);
  /// 16 aligned bytes at p as they lie in memory (elements_of makes elements of them), and such that are all 0.
  V read_raw(const V& p) { return wrap(b.CreateAlignedLoad(raw_type(), p.v, llvm::Align(16))); }
  V raw_zeros() { return wrap(llvm::Constant::getNullValue(raw_type())); }
  V aligned(const V& p, int bytes) { return wrap(is_aligned(p.v, bytes)); }
  /// An array of the block, in elements of `t`, aligned to 16 bytes.
  V shared(DType t, std::int64_t n) { return wrap(shared_array(memory_type(t), static_cast<std::uint64_t>(n))); }

  // ---- between lanes, all of which come here
  V from_xor(const V& x, int mask) { return wrap(shuffle_xor(x.v, mask)); }
  V from_below(const V& x, int distance) { return wrap(shuffle_up(x.v, distance)); }  ///< the lowest keep their own
  V votes(const V& condition) { return wrap(ballot(condition.v)); }
  V sum_lanes(const V& x, int width = kWarp);  ///< groups of `width` lanes; every lane gets the sum
  V max_lanes(const V& x, int width = kWarp);
  // ---- between blocks
  /// What this thread has written is seen by whoever sees what it writes later; what it reads later is at least as new
  /// as what it has read.
  void fence();
  /// p[index] += x, of an integer that is not narrower than 32 bits; what was there before.
  V add_atomically(const V& p, const V& index, const V& x);

  V count_bits(const V& x) { return wrap(b.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, x.v)); }

 private:
  llvm::Type* raw_type() { return llvm::FixedVectorType::get(b.getInt32Ty(), 4); }
  void start(const std::vector<InCode::Source*>& buffers, const std::vector<V*>& numbers, int threads, int resident);
};

}  // namespace reprise::jit
