#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/archive.h"
#include "guards/guard_set.h"
#include "runtime/replay/program.h"

namespace reprise::runtime {

/// Programs of the host without their graph, as bytes for other processes and builds: what a replay needs, and nothing
/// else. docs/export_format.md lists the fields; kCodeVersion is the version of that list. Code has numbers, kernels
/// have names (kernels/cpu/named_kernels.h).
inline constexpr std::uint32_t kCodeVersion = 2;

class ProgramWriter : public ArchiveWriter {
 public:
  /// `entries`: where code begins, and its number.
  explicit ProgramWriter(std::map<const void*, std::uint32_t> entries) : entries_(std::move(entries)) {}
  void own(const guards::ExprProgram&);
  void own(const guards::GuardSet&);
  void own(jit::LoopFn);
  void own(void* micro);
  void own(const Program::NativeStep&);
  void own(const SourceLoc&);
  /// Throws NotArchived, naming the launch and its line: a device's program, sizes of arguments that change, a kernel
  /// that has no name.
  void own(const Program&);

 private:
  std::map<const void*, std::uint32_t> entries_;
};

/// Throws DamagedArchive for what a program cannot be: each number is checked against what it counts.
class ProgramReader : public ArchiveReader {
 public:
  /// `words`: how many values a call has; `entries`: by number.
  ProgramReader(std::string_view bytes, std::size_t words, std::vector<void*> entries)
      : ArchiveReader(bytes), words(words), entries_(std::move(entries)) {}
  std::size_t words;
  void set_entries(std::vector<void*> entries) { entries_ = std::move(entries); }
  void own(guards::ExprProgram&);
  void own(guards::GuardSet&);
  void own(jit::LoopFn&);
  void own(void*& micro);
  void own(Program::NativeStep&);
  void own(SourceLoc&);
  void own(Program&);

 private:
  std::vector<void*> entries_;
};

}  // namespace reprise::runtime
