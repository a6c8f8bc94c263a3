#include "base/archive.h"

#include <mutex>
#include <unordered_set>

namespace reprise {

// As many as there are source files and phrases in programs: never freed, as what they stand for is not.
const char* ArchiveReader::keep_text(std::string_view text) {
  static std::mutex& mu = *new std::mutex;
  static auto& kept = *new std::unordered_set<std::string>;
  std::lock_guard lock(mu);
  return kept.emplace(text).first->c_str();
}

}  // namespace reprise
