#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "reprise/visible.h"

/// Streams of random numbers of a program's own.
namespace reprise REPRISE_VISIBLE {

namespace graph {
struct RandomStream;  // graph/random_stream.h
}

/// A stream of random numbers: a seed, and how many numbers were taken. Every number drawn is a function of these two
/// (Philox: J. Salmon et al., Parallel random numbers: as easy as 1, 2, 3, 2011), on the host as on devices, eagerly as
/// compiled: a recording reads them as its last two numbers, and draws on from where the stream stands at each call.
/// Copies are the same stream. Threads: any may draw; each call takes its numbers at once.
class Generator {
 public:
  explicit Generator(std::uint64_t seed = 0);
  void manual_seed(std::uint64_t seed);  ///< and back to the beginning
  std::uint64_t seed() const;
  std::int64_t offset() const;           ///< numbers taken so far
  void set_offset(std::int64_t offset);  ///< throws InvalidArgument below 0
  /// Of a copy that goes on by itself from where this one stands.
  Generator clone() const;

 private:
  friend class GeneratorScope;
  std::shared_ptr<graph::RandomStream> stream_;
};

/// While it lives, what this thread draws comes from `generator` in place of the process's own (manual_seed): rand,
/// randn, dropout, multinomial and the like, also in compiled functions, which it makes no others of. Inside a compiled
/// function it would be the trace's alone: the scope stands around the call. Throws NotTraceable there.
class GeneratorScope {
 public:
  explicit GeneratorScope(const Generator& generator);
  ~GeneratorScope();
  GeneratorScope(const GeneratorScope&) = delete;
  GeneratorScope& operator=(const GeneratorScope&) = delete;

 private:
  std::shared_ptr<graph::RandomStream> stream_, before_;
};

}  // namespace REPRISE_VISIBLE
