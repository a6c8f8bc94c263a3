#pragma once
#include <string>

#include "jit/gpu/kernels/code.h"

namespace reprise::jit {

/// The tensor cores of sm_90 as four warps use them together, a warpgroup: 64 rows times up to 256 columns, multiplied
/// past the registers out of shared memory while the warps go on (PTX ISA, "Asynchronous warpgroup level matrix
/// instructions": wgmma). Twice what mma.sync does at a time; no other architecture has them, not even newer ones, so
/// the module that uses them is made for sm_90a. Sums lie as those of TensorCores do: warp w has rows 16 w .. 16 w
/// + 15.
///
/// Products of shared memory are of another proxy: what threads have put there, publish() shows to them before the
/// barrier behind which they are asked for.
class WarpgroupCores {
 public:
  static constexpr int kWarps = 4, kRows = 64, kMostColumns = 256;
  /// Of a matrix in shared memory eight lines of this many bytes stand together, at a multiple of kPattern bytes, and
  /// runs of 16 bytes of a line are exchanged by the line's number (the "128-byte swizzle"), so that neither copies nor
  /// products ask one bank twice.
  static constexpr int kLineBytes = 128, kPattern = 8 * kLineBytes;

  WarpgroupCores(GpuCode& g, DType t) : WarpgroupCores(g, t, t) {}
  /// Of Float8 the sides may be of two dtypes.
  WarpgroupCores(GpuCode& g, DType a, DType b);
  /// Are there such for this dtype?
  static bool serve(const device::CodeTarget& target, DType t) {
    return target.warpgroups &&
           (item_size(t) == 1 ? t != DType::UInt8 && t != DType::Bool
                              : t == DType::Float16 || t == DType::BFloat16 || t == DType::Float32);
  }
  /// Elements of k that one product takes: 32 bytes.
  static int depth(DType t) { return 32 / static_cast<int>(item_size(t)); }

  /// How lines (rows of a, columns of b) stand in shared memory: Deep, each is kLineBytes of neighbours along k; Wide
  /// (16 bits only), each k has kLineBytes of neighbouring lines, and `group` bytes on are the next so many lines.
  enum class Lie : std::uint8_t { Deep, Wide };
  /// Where run `at` of 16 bytes of a line stands, in elements of t; of longer lines each kLineBytes have a group of
  /// their own, of `lines` lines (0: lines are no longer).
  static V place(const V& line, const V& at, DType t, int lines) {
    constexpr int runs = kLineBytes / 16;
    const int size = static_cast<int>(item_size(t)), in_line = kLineBytes / size;
    V in_group = ((at % runs) ^ (line & 7)) * (16 / size) + line * in_line;
    return lines ? in_group + at / runs * (lines * in_line) : in_group;
  }
  struct Matrix {
    V descriptor;  ///< i64
    Lie lie;
  };
  Matrix matrix(const V& p, Lie lie, int group);
  /// The matrix `bytes` on in shared memory: a multiple of 32 within a line that is Deep, of kPattern otherwise.
  Matrix beyond(const Matrix& m, int bytes) { return {m.descriptor + std::int64_t{bytes >> 4}, m.lie}; }

  /// What threads of this block have written to shared memory is what products behind the next barrier see.
  static void publish(GpuCode& g);
  /// Registers are as products asked for from here on find them.
  void begin();
  /// What becomes of sums that were there.
  enum class To : std::uint8_t { Sums, Nothing };
  /// sums += a b (To::Nothing: sums = a b), `columns` of them; whoever reads sums waits first.
  void multiply_add(const Matrix& a, const Matrix& b, int columns, Vars& sums, To to = To::Sums);
  /// The left side in registers, as TensorCores has it: four, which stay as they are until somebody has waited.
  void multiply_add(const Vs& a, const Matrix& b, int columns, Vars& sums, To to = To::Sums);
  /// What has been asked for since the last time is a group.
  void commit();
  /// Waits for all groups but the last `n`. `sums` are what the program reads or changes next, `floats` what left sides
  /// are made of next: they pass through, so that nothing of it comes before.
  void wait(int n, Vars& sums);
  void wait(int n, Vars& sums, Vars& floats);

 private:
  void product(const std::vector<llvm::Value*>& a, const std::string& a_text, bool a_by_k, const Matrix& b, int columns,
               Vars& sums, To to);

  GpuCode& g;
  const DType t, other;  ///< of the sides
};

}  // namespace reprise::jit
