#include "base/archive.h"

#include <mutex>
#include <unordered_set>

#include "base/mutex.h"

namespace reprise {

// As many as there are source files and phrases in programs: never freed, as what they stand for is not.
const char* ArchiveReader::keep_text(std::string_view text) {
  static Mutex& mu = *new Mutex;
  static auto& kept = *new std::unordered_set<std::string>;
  const MutexLock lock(mu);
  return kept.emplace(text).first->c_str();
}

}  // namespace reprise
