#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reprise::detail {

/// Machine code of a file (jit/engine/objects.h, CodeImage), at an address: instructions that nobody can write, and
/// behind them the table of what they call, which nobody can write either once it is filled.
class CodeMemory {
 public:
  CodeMemory() = default;
  /// Throws DamagedArchive for code that is no whole number of pages, NotArchived for a call of what entry_point() does
  /// not have, std::bad_alloc where the system gives no such memory.
  CodeMemory(std::string_view code, const std::vector<std::string>& calls);
  ~CodeMemory();
  CodeMemory(CodeMemory&& o) noexcept;
  CodeMemory& operator=(CodeMemory&&) noexcept;
  /// Throws DamagedArchive for one that is not in it.
  void* at(std::uint64_t offset) const;

 private:
  char* base_ = nullptr;
  std::size_t bytes_ = 0, code_ = 0;
};

}  // namespace reprise::detail
