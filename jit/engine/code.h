#pragma once
#include <cstdint>
#include <memory>
#include <string>

namespace reprise::jit {

/// Runs tasks [begin, end) of a loop kernel: `buffers` by kernel.buffers' order, `params` by runtime_params' order.
using LoopFn = void (*)(void* const* buffers, const std::int64_t* params, std::int64_t begin, std::int64_t end);

/// Finished machine code. Shared: the in-memory cache and every program that uses it hold a reference; the last one
/// gives the code's memory back.
class Code {
 public:
  virtual ~Code() = default;
  void* entry = nullptr;
  std::int64_t bytes = 0;  ///< of the object that was linked
  LoopFn loop() const { return reinterpret_cast<LoopFn>(entry); }
};
using CodePtr = std::shared_ptr<const Code>;

/// Is the process ending? What has code keeps it, but no more is made: compile() throws Internal.
bool ended();

/// Of all code that this process made or found, for the host and for other devices; `live`: the host's.
struct CacheStats {
  std::int64_t compiled, hits, live, compile_us;
};
CacheStats cache_stats();
/// Frees the code that nobody but the in-memory cache holds.
void drop_unused_code();
/// "znver4, avx512, 512-bit vectors"
std::string host_description();

}  // namespace reprise::jit
