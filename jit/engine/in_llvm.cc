#include "jit/engine/in_llvm.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>

#include "base/errors.h"
#include "jit/engine/code.h"

namespace reprise::jit {
namespace {

constinit std::atomic<bool> has_ended{false}, held{false};
constinit std::atomic<int> inside{0};
constinit thread_local int depth = 0;
constinit std::atomic<std::uint64_t> entered{0}, left{0};

void wait_until_left() {
  for (int ms = 0; inside.load() > 0 && ms < 20'000; ++ms) usleep(1000);
}

void end() {
  has_ended.store(true);
  wait_until_left();
}

// LLVM makes some of its static objects when it first needs them: they go before whatever was registered earlier. So
// end() is registered before the first use and again after some of the later ones. What is made amid a first use goes
// before it all the same; but exit() begins with the thread_local objects of its thread, and the one that loads the
// library is nearly always the one that ends the process. If it is its thread alone that ends, nobody is held for long.
constinit thread_local bool is_loader = false;  // and it ends: what its static objects' destructors ask for is served
struct Loader {
  bool here = false;
  ~Loader() {
    if (!here) return;
    is_loader = true;
    held.store(true);
    wait_until_left();
  }
};
thread_local Loader loader;
[[maybe_unused]] const bool loaded = loader.here = true;

void wait_while_held() {
  for (int ms = 0; held.load() && !ended() && ms < 500; ++ms) usleep(1000);
  held.store(false);
}

}  // namespace

bool InLlvm::here() noexcept { return depth > 0; }

InLlvm::InLlvm() {
  // Addresses alone: what is limited is nearly always these (ulimit -v, strict accounting).
  constexpr std::size_t kHeadroom = std::size_t{16} << 20;
  void* room = depth ? nullptr : mmap(nullptr, kHeadroom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED)
    fail(ErrorCode::OutOfMemory, "jit", {}, "no memory to make code: ", kHeadroom >> 20, " MiB are wanted for it");
  if (room) munmap(room, kHeadroom);
  if (entered.fetch_add(1, std::memory_order_relaxed) == 0) std::atexit(end);
  for (;;) {
    inside.fetch_add(1);
    if (depth || (!ended() && (is_loader || !held.load()))) {
      ++depth;
      return;
    }
    inside.fetch_sub(1);
    if (ended()) fail(ErrorCode::Internal, "jit", {}, "the process is ending: no code is made any more");
    wait_while_held();
  }
}
InLlvm::~InLlvm() {
  --depth;
  const std::uint64_t n = left.fetch_add(1, std::memory_order_relaxed) + 1;
  if ((n & (n - 1)) == 0 && !ended()) std::atexit(end);
  inside.fetch_sub(1);
}

bool ended() { return has_ended.load(); }

}  // namespace reprise::jit
