#pragma once
#include <string>

namespace reprise::jit {

/// Throws Internal where the cache key `key` was given with other code before in this process: a key must determine
/// the code. `code`: the module's text, and what a launch needs beside it. REPRISE_VERIFY=1 asks at every request for
/// a kernel, of the host or of a device. Threads: any.
void check_determined(const std::string& key, const std::string& code);

}  // namespace reprise::jit
