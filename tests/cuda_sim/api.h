#pragma once
#include <cuda.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>

#include "tests/cuda_sim/control.h"

/// What every entry point shares: one lock, injected failures, the failed state of the context, counters.
namespace sim {

template <class... A>
std::string cat(const A&... a) {
  std::ostringstream s;
  ((void)(s << a), ...);
  return s.str();
}
std::string hex(std::uint64_t v);

/// Ends an entry point with this result. `what` is printed (REPRISE_SIM_TRACE, or always when `loud`).
struct Failure {
  CUresult result;
  std::string what;
};
template <class... A>
[[noreturn]] void fail(CUresult r, const A&... what) {
  throw Failure{r, cat(what...)};
}
template <class Condition, class... A>
void require(const Condition& ok, CUresult r, const A&... what) {
  if (!ok) fail(r, what...);
}
const char* result_name(CUresult);

enum class Order { Forward, Reverse, Random };
struct Settings {
  Order order = Order::Forward;
  std::uint64_t seed = 1;
  bool async = false, checks = true, trace = false;
  std::uint64_t memory = std::uint64_t{2} << 30;
  int devices = 1;
  int driver_version = 13000;
  int arch = 90;
  std::uint64_t granularity = std::uint64_t{2} << 20;  ///< of physical memory
  bool has_pools = true, has_mapping = true;
  bool has_swizzle = true;  ///< matrices of warpgroups lie as PTX says
};
/// Read from the environment when the library is loaded. Under the lock.
Settings& settings();
std::uint64_t random_number();  ///< of the sequence that settings().seed starts

/// Held by every entry point while it runs; execution of kernels included. Released while a host function runs.
std::recursive_mutex& lock();

reprise_simulator_counters& counters();

/// A check found an error: prints the line once, keeps it, and makes the context fail from now on.
void report_error(CUresult sticky, const std::string& line);
CUresult sticky_error();

enum EntryFlags : unsigned {
  kContext = 0,       ///< needs cuInit and a current context, fails when the context has failed
  kNoContext = 1,     ///< works without a current context
  kNoInit = 2,        ///< works before cuInit
  kAfterFailure = 4,  ///< works in a failed context
};

namespace detail {
CUresult enter(const char* entry, unsigned flags);
CUresult leave(const char* entry, CUresult, const std::string& what);
}  // namespace detail

/// Body of an entry point. `f` returns nothing, or a CUresult for what is not a failure (CUDA_ERROR_NOT_READY).
template <class F>
CUresult api(const char* entry, unsigned flags, F&& f) {
  std::lock_guard hold(lock());
  if (CUresult r = detail::enter(entry, flags); r != CUDA_SUCCESS) return detail::leave(entry, r, "");
  try {
    if constexpr (std::is_void_v<decltype(f())>) {
      f();
      return detail::leave(entry, CUDA_SUCCESS, "");
    } else {
      return detail::leave(entry, f(), "");
    }
  } catch (const Failure& e) {
    return detail::leave(entry, e.result, e.what);
  } catch (const std::bad_alloc&) {
    return detail::leave(entry, CUDA_ERROR_OUT_OF_MEMORY, "the simulator itself is out of memory");
  }
}

}  // namespace sim

#define SIM_ENTRY extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI
