#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "kernels/launch/work.h"
#include "reprise/stats.h"

namespace reprise::runtime {

struct Program;

/// What the launches of one program take, summed up while somebody wants to know: a function's profile(true), or
/// REPRISE_PROFILE. On devices a graph is timed as a whole, and the calling thread waits for it. Threads: any.
class Profile {
 public:
  ~Profile() { set(false, 0); }
  bool on() const { return on_.load(std::memory_order_relaxed); }
  /// Off, the sums stay.
  void set(bool on, std::size_t launches);
  /// Launch `launch` has run once; on a device, the graph of so many that begins with it.
  void add(std::size_t launch, std::int64_t ns, const kernels::Work&, std::uint32_t in_graph = 0) noexcept;
  /// Of what has run, by launch. `specialization`: its name.
  std::vector<Stats::Launch> launches(const Program&, const std::string& specialization) const;

 private:
  struct Sums {
    std::atomic<std::int64_t> calls{0}, ns{0}, bytes{0}, flops{0};
    std::atomic<std::uint32_t> in_graph{0};
  };
  std::atomic<bool> on_{false};
  std::atomic<std::vector<Sums>*> sums_{nullptr};  // made once, when first switched on
  std::unique_ptr<std::vector<Sums>> owned_;       // guarded by mu
};

/// Bytes a second that this machine copies with all its threads, read and written bytes both counted. Measured once,
/// when first asked for.
double copy_rate();

/// A table of them, those that took most time first, at most `rows`: a line each, and one for the rest.
std::string print_launches(std::vector<Stats::Launch>, std::size_t rows);

}  // namespace reprise::runtime
