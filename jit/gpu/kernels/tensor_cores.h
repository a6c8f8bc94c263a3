#pragma once
#include "jit/gpu/kernels/code.h"

namespace reprise::jit {

/// Has a multiprocessor 227 KiB of shared memory for a block, as it has where deep learning is what it is made for, or
/// 99 (CUDA's programming guide, compute capabilities)?
bool has_roomy_multiprocessors(const std::string& arch);

/// A warp's tensor cores on matrices of Float16 or BFloat16, summed in Float32, or Int8, summed in Int32, or Float32 as
/// TF32, and what brings matrices there. All lanes of a warp come here together. How a matrix lies in registers (its
/// fragments) is told in PTX ISA, "Matrix fragments for mma.m16n8k16": with g = lane / 4 and t = lane % 4 a register of
/// an 8 x 8 matrix holds (g, 2t) and (g, 2t + 1). 16 x 16 are four such, the left ones first; 16 x 8 sums are (g, 2t),
/// (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1). Int8 (m16n8k32) lies likewise, with two elements where the others have
/// one; of TF32 (m16n8k8) one stands where they have two, its lowest 13 bits unread.
class TensorCores {
 public:
  TensorCores(GpuCode& g, DType t);
  /// Are there such, with copies past the registers, on this architecture?
  static bool there(int sm) { return sm >= 80; }
  /// And do they compute what this dtype means? (TF32 has less than Float32.)
  static bool serve(int sm, DType t) { return there(sm) && (t == DType::Float16 || t == DType::BFloat16); }

  /// Four 8 x 8 matrices of shared memory: lane 8 i + r names row r of matrix i, 16 aligned bytes. Transposed: columns
  /// become rows.
  Vs load(const V& row, bool transposed = false);
  /// 8 elements of global memory, 16 aligned bytes, as 4 registers.
  Vs read(const V& p);
  /// sums[from .. from + 3] += a b. a: 16 x 16 (of Int8 16 x 32), 4 registers; b: 16 x 8 (32 x 8), 2 registers, whose
  /// rows are its columns' neighbours (b transposed, as 8 x 8 matrices).
  void multiply_add(const Vs& a, const Vs& b, Vars& sums, std::size_t from);
  /// Two floats rounded to the dtype, side by side in a register.
  V pack(const V& low, const V& high);

  // ---- copies to shared memory that go past the registers. A thread sees what it asked for behind wait(); others
  // behind a barrier after that.
  /// 16 bytes, aligned on both sides.
  void copy(const V& to, const V& from);
  /// Where `real` is false zeros, but the address must be one that may be read.
  void copy(const V& to, const V& from, const V& real);
  /// Only the first `bytes` (i32, 0 to 16); zeros behind them.
  void copy_some(const V& to, const V& from, const V& bytes);
  /// Waits for all copies of this thread.
  void wait();
  /// What has been asked for since the last time is a group; and waits for all groups but the last `n`.
  void commit();
  void wait_for_all_but(int n);

  GpuCode& g;
  const DType t;
};

}  // namespace reprise::jit
