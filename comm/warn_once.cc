#include "comm/warn_once.h"

#include <mutex>
#include <set>

#include "base/log.h"

namespace reprise::comm {

void warn_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> told;
  const std::lock_guard lock(mutex);
  if (told.insert(text).second) logs::warn(text);
}

}  // namespace reprise::comm
