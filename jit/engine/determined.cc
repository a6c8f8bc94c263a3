#include "jit/engine/determined.h"

#include <unordered_map>

#include "base/errors.h"
#include "base/fork.h"
#include "base/mutex.h"
#include "jit/engine/disk_cache.h"

namespace reprise::jit {

void check_determined(const std::string& key, const std::string& code) {
  static ForkMutex mutex;
  static auto* digests = new std::unordered_map<std::string, std::string>();  // by key
  const std::string now = digest(code);
  const MutexLock lock(mutex);
  const auto [at, is_new] = digests->emplace(key, now);
  if (!is_new && at->second != now)
    fail(ErrorCode::Internal, "jit", {}, "other code than before was emitted for the kernel\n", key);
}

}  // namespace reprise::jit
