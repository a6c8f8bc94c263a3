#include "runtime/export/code_memory.h"

#include <sys/mman.h>

#include <cstring>
#include <new>
#include <utility>

#include "base/archive.h"
#include "jit/engine/entry_points.h"
#include "jit/engine/objects.h"

namespace reprise::detail {

CodeMemory::CodeMemory(std::string_view code, const std::vector<std::string>& calls) {
  constexpr std::size_t kPage = jit::CodeImage::kPage;
  if (code.size() % kPage != 0) throw DamagedArchive();
  std::vector<void*> table;
  for (const std::string& name : calls) {
    table.push_back(jit::entry_point(name));
    if (!table.back()) throw NotArchived("its code calls '" + name + "', which this runtime does not have");
  }
  if (code.empty() && table.empty()) return;
  const std::size_t table_bytes = (table.size() * sizeof(void*) + kPage - 1) / kPage * kPage;
  void* const at = mmap(nullptr, code.size() + table_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  base_ = static_cast<char*>(at), bytes_ = code.size() + table_bytes, code_ = code.size();
  std::memcpy(base_, code.data(), code.size());
  if (!table.empty()) std::memcpy(base_ + code.size(), table.data(), table.size() * sizeof(void*));
  // All of it in one: the system's pages may be larger than ours, so that the table shares one with code.
  if (mprotect(base_, bytes_, PROT_READ | PROT_EXEC) != 0) {
    munmap(base_, bytes_);
    throw std::bad_alloc();
  }
  __builtin___clear_cache(base_, base_ + bytes_);
}

CodeMemory::~CodeMemory() {
  if (base_) munmap(base_, bytes_);
}
CodeMemory::CodeMemory(CodeMemory&& o) noexcept
    : base_(std::exchange(o.base_, nullptr)), bytes_(std::exchange(o.bytes_, 0)), code_(std::exchange(o.code_, 0)) {}
CodeMemory& CodeMemory::operator=(CodeMemory&& o) noexcept {
  std::swap(base_, o.base_), std::swap(bytes_, o.bytes_), std::swap(code_, o.code_);
  return *this;
}

void* CodeMemory::at(std::uint64_t offset) const {
  if (offset >= code_) throw DamagedArchive();
  return base_ + offset;
}

}  // namespace reprise::detail
