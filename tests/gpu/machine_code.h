#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace reprise::test {

/// What machine code of sm_75 to sm_90 shows of itself without a disassembler: instructions of 16 bytes, of which the
/// lowest 9 bits say the operation, and the highest which of a thread's six barriers for late results are set and
/// waited for.
struct MachineCode {
  int instructions = 0;
  /// products of the tensor cores, of 16 rows and 8 columns: HMMA, IMMA, DMMA, and those that HGMMA, IGMMA, QGMMA have
  /// for a warp
  int tensor = 0;
  int special = 0;                      ///< of the special-function unit: MUFU
  int copies = 0;                       ///< from global to shared memory past the registers: LDGSTS
  int local = 0;                        ///< accesses to local memory: spills, or arrays that are indexed
  int load_bytes = 0, store_bytes = 0;  ///< the widest access to global memory
  int in_flight = 0;  ///< the most loads of global memory that are under way before the first is waited for
  /// What a thread does over and over: innermost loops that touch global memory; and, where no loop makes the widest
  /// loads, what stands between the first of those and the last.
  struct Turn {
    int instructions = 0, loaded = 0, stored = 0, widest = 0;  ///< bytes
  };
  /// what stands in no loop, between the first and the last of the widest accesses there, where loops make such
  /// accesses, too
  std::optional<Turn> straight;
  std::vector<Turn> turns;
  /// Of a loop that multiplies on tensor cores, without loops inside it that do not.
  struct TensorTurn {
    int instructions = 0, tensor = 0, special = 0;
    bool by_warpgroups = false;
  };
  std::vector<TensorTurn> tensor_turns;
};

/// Of the function `entry` in a cubin; nothing where there is no such code, or of another architecture.
std::optional<MachineCode> read_machine_code(const std::string& cubin, const std::string& entry);

}  // namespace reprise::test
