#include "tests/gpu/machine_code.h"

#include <elf.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace reprise::test {

namespace {

struct Instruction {
  std::uint64_t low, high;
  enum Op : unsigned {
    Imma = 0x037,
    Hmma = 0x03c,
    Dmma = 0x03f,
    Mufu = 0x108,
    Bra = 0x147,
    Ldg = 0x181,
    Ldl = 0x183,
    Stg = 0x186,
    Stl = 0x187,
    Ldgsts = 0x1ae,
    Hgmma = 0x1f0,
    Igmma = 0x1f1,
    Qgmma = 0x1f3,
  };
  unsigned op() const { return static_cast<unsigned>(low & 0x1ff); }
  bool is_tensor() const { return op() == Imma || op() == Hmma || op() == Dmma || is_warpgroups(); }
  bool is_warpgroups() const { return op() == Hgmma || op() == Igmma || op() == Qgmma; }
  /// Products of 16 rows and 8 columns: a warp's part of a warpgroup's has so many as it has eights of columns.
  int products() const {
    if (op() == Hgmma || op() == Qgmma) return static_cast<int>(low >> 53 & 31) + 1;
    if (op() != Igmma) return is_tensor();
    const int number = static_cast<int>(low >> 53 & 63) / 3;  // of 8, 16, 24, 32, 48, 64, ... columns
    return number < 4 ? number + 1 : 2 * (number - 1);
  }
  int access_bytes() const {
    static constexpr std::array<int, 8> bytes{1, 1, 2, 2, 4, 8, 16, 16};
    return bytes[(high >> 9) & 7];
  }
  unsigned sets() const { return static_cast<unsigned>(high >> 46) & 7; }  ///< a barrier; 7: none
  unsigned waits() const { return static_cast<unsigned>(high >> 52) & 63; }
  /// Of a branch: instructions from the next one.
  std::int64_t offset() const {
    const auto upper = static_cast<std::int32_t>(low >> 32) >> 2;
    return (static_cast<std::int64_t>(upper) * 256 + static_cast<std::int64_t>((low >> 16) & 0xff)) / 4;
  }
};

template <class T>
bool take(const std::string& bytes, std::uint64_t at, T& out) {
  if (at > bytes.size() || bytes.size() - at < sizeof(T)) return false;
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return true;
}

std::vector<Instruction> code_of(const std::string& cubin, const std::string& entry) {
  Elf64_Ehdr file;
  if (!take(cubin, 0, file) || std::memcmp(file.e_ident, ELFMAG, SELFMAG) != 0) return {};
  Elf64_Shdr names;
  if (!take(cubin, file.e_shoff + std::uint64_t{file.e_shstrndx} * sizeof(Elf64_Shdr), names)) return {};
  for (unsigned i = 0; i < file.e_shnum; ++i) {
    Elf64_Shdr s;
    if (!take(cubin, file.e_shoff + i * sizeof(Elf64_Shdr), s)) return {};
    const std::uint64_t name = names.sh_offset + s.sh_name;
    if (name >= cubin.size() || cubin.compare(name, cubin.find('\0', name) - name, ".text." + entry) != 0) continue;
    std::vector<Instruction> out(s.sh_size / sizeof(Instruction));
    for (std::size_t k = 0; k < out.size(); ++k)
      if (!take(cubin, s.sh_offset + k * sizeof(Instruction), out[k])) return {};
    return out;
  }
  return {};
}

using Loop = std::pair<std::size_t, std::size_t>;  ///< [first, last] of what is repeated

std::vector<Loop> loops_of(const std::vector<Instruction>& code) {
  std::vector<Loop> all;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].op() != Instruction::Bra) continue;
    const std::int64_t to = static_cast<std::int64_t>(i) + 1 + code[i].offset();
    // The last instruction branches to itself, and padding follows it.
    if (to >= 0 && to < static_cast<std::int64_t>(i)) all.emplace_back(static_cast<std::size_t>(to), i);
  }
  return all;
}

/// Those of `loops` that have none of them inside.
std::vector<Loop> innermost(const std::vector<Loop>& loops) {
  std::vector<Loop> inner;
  for (const Loop& one : loops)
    if (std::none_of(loops.begin(), loops.end(),
                     [&](const Loop& o) { return o != one && o.first >= one.first && o.second <= one.second; }))
      inner.push_back(one);
  return inner;
}

MachineCode::Turn turn_of(const std::vector<Instruction>& code, std::size_t first, std::size_t last) {
  MachineCode::Turn t;
  t.instructions = static_cast<int>(last - first + 1);
  for (std::size_t i = first; i <= last; ++i) {
    const bool load = code[i].op() == Instruction::Ldg || code[i].op() == Instruction::Ldgsts;
    if (!load && code[i].op() != Instruction::Stg) continue;
    (load ? t.loaded : t.stored) += code[i].access_bytes();
    t.widest = std::max(t.widest, code[i].access_bytes());
  }
  return t;
}

}  // namespace

std::optional<MachineCode> read_machine_code(const std::string& cubin, const std::string& entry) {
  const std::vector<Instruction> code = code_of(cubin, entry);
  if (code.empty()) return std::nullopt;
  MachineCode m;
  m.instructions = static_cast<int>(code.size());
  std::array<int, 7> under_way{};
  for (const Instruction& i : code) {
    for (unsigned b = 0; b < 6; ++b)
      if (i.waits() >> b & 1) under_way[b] = 0;
    switch (i.op()) {
      case Instruction::Imma:
      case Instruction::Hmma:
      case Instruction::Dmma:
      case Instruction::Hgmma:
      case Instruction::Igmma:
      case Instruction::Qgmma: m.tensor += i.products(); break;
      case Instruction::Mufu: ++m.special; break;
      case Instruction::Ldl:
      case Instruction::Stl: ++m.local; break;
      case Instruction::Stg: m.store_bytes = std::max(m.store_bytes, i.access_bytes()); break;
      case Instruction::Ldgsts: ++m.copies, m.load_bytes = std::max(m.load_bytes, i.access_bytes()); break;
      case Instruction::Ldg: {
        m.load_bytes = std::max(m.load_bytes, i.access_bytes());
        if (i.sets() < 6) ++under_way[i.sets()];
        int now = 0;
        for (int n : under_way) now += n;
        m.in_flight = std::max(m.in_flight, now);
        break;
      }
    }
  }
  const std::vector<Loop> loops = loops_of(code), inner = innermost(loops);
  for (const auto& [first, last] : inner)
    if (const MachineCode::Turn t = turn_of(code, first, last); t.loaded + t.stored > 0) m.turns.push_back(t);
  std::vector<Loop> multiply;
  for (const Loop& l : loops)
    if (std::any_of(code.begin() + static_cast<std::ptrdiff_t>(l.first),
                    code.begin() + static_cast<std::ptrdiff_t>(l.second),
                    [](const Instruction& i) { return i.is_tensor(); }))
      multiply.push_back(l);
  for (const auto& [first, last] : innermost(multiply)) {
    MachineCode::TensorTurn t;
    for (std::size_t i = first; i <= last; ++i) {
      if (std::any_of(inner.begin(), inner.end(), [&](const Loop& o) {
            return o != Loop{first, last} && i >= o.first && i <= o.second;
          }))
        continue;
      t.by_warpgroups |= code[i].is_warpgroups();
      ++t.instructions, t.tensor += code[i].products(), t.special += code[i].op() == Instruction::Mufu;
    }
    m.tensor_turns.push_back(t);
  }
  if (std::none_of(m.turns.begin(), m.turns.end(),
                   [&](const auto& t) { return t.loaded > 0 && t.widest == m.load_bytes; })) {
    std::optional<std::size_t> first;
    std::size_t last = 0;
    for (std::size_t i = 0; i < code.size(); ++i) {
      const bool load = code[i].op() == Instruction::Ldg && code[i].access_bytes() == m.load_bytes;
      const bool store = code[i].op() == Instruction::Stg && code[i].access_bytes() == m.store_bytes;
      if (!load && !store) continue;
      if (!first) first = i;
      last = i;
    }
    if (first) m.turns.push_back(turn_of(code, *first, last));
    return m;
  }
  // Loops and straight code: a row that stays in registers, beside what walks over others again.
  std::vector<Instruction> outside;
  std::optional<std::size_t> first;
  std::size_t end = 0;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (std::any_of(loops.begin(), loops.end(), [&](const Loop& l) { return i >= l.first && i <= l.second; })) continue;
    outside.push_back(code[i]);
    const bool load = code[i].op() == Instruction::Ldg && code[i].access_bytes() == m.load_bytes;
    const bool store = code[i].op() == Instruction::Stg && code[i].access_bytes() == m.store_bytes;
    if (load && !first) first = outside.size() - 1;
    if (load || store) end = outside.size();
  }
  if (first && m.store_bytes == m.load_bytes) m.straight = turn_of(outside, *first, end - 1);
  return m;
}

}  // namespace reprise::test
