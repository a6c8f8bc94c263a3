// Where random numbers come from: the process's stream, a program's own, and logs that let a part of a program draw the
// same again.
#include "graph/random_stream.h"

#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "base/mutex.h"
#include "base/thread_object.h"
#include "graph/interpreter.h"
#include "graph/random_log.h"
#include "reprise/generator.h"
#include "tensor/impl.h"

namespace reprise::graph {

namespace {
constinit thread_local RandomLog* t_log = nullptr;
/// GeneratorScope's, of a thread; null: the process's.
constinit thread_local RandomStream* t_stream = nullptr;
RandomStream& of_process() {
  static auto* s = new RandomStream;  // never destroyed: other static objects' destructors may draw
  return *s;
}
struct Held {};
std::shared_ptr<RandomStream>& held() { return thread_object<std::shared_ptr<RandomStream>, Held>(); }
}  // namespace

ForkMutex& random_mutex() {
  static constinit ForkMutex mu;
  return mu;
}

RandomLogScope::RandomLogScope(RandomLog& log) : before_(std::exchange(t_log, &log)) {}
RandomLogScope::~RandomLogScope() { t_log = before_; }
RandomLog* RandomLogScope::current() { return t_log; }

std::int64_t RandomStream::after(std::int64_t offset, std::int64_t count) {
  constexpr std::uint64_t kRing = std::uint64_t{1} << 62;
  return static_cast<std::int64_t>((static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(count)) % kRing);
}

RandomStream& random_stream() { return t_stream ? *t_stream : of_process(); }
std::shared_ptr<RandomStream> exchange_random_stream(std::shared_ptr<RandomStream> s) {
  t_stream = s.get();
  return std::exchange(held(), std::move(s));
}

void seed_generator(std::uint64_t seed) {
  RandomStream& s = random_stream();
  const MutexLock lock(random_mutex());
  s.seed = static_cast<std::int64_t>(seed);
  s.offset = 0;
}

std::pair<std::int64_t, std::int64_t> take_random(std::int64_t count) {
  RandomStream& s = random_stream();
  const MutexLock lock(random_mutex());
  std::pair<std::int64_t, std::int64_t> r{s.seed, s.offset};
  s.offset = RandomStream::after(s.offset, count);
  return r;
}

void give_back_random(std::int64_t offset, std::int64_t count) noexcept {
  RandomStream& s = random_stream();
  const MutexLock lock(random_mutex());
  if (s.offset == RandomStream::after(offset, count)) s.offset = offset;
}

}  // namespace reprise::graph

namespace reprise {

Generator::Generator(std::uint64_t seed) : stream_(std::make_shared<graph::RandomStream>()) {
  stream_->seed = static_cast<std::int64_t>(seed);
}
void Generator::manual_seed(std::uint64_t seed) {
  const MutexLock lock(graph::random_mutex());
  stream_->seed = static_cast<std::int64_t>(seed), stream_->offset = 0;
}
std::uint64_t Generator::seed() const {
  const MutexLock lock(graph::random_mutex());
  return static_cast<std::uint64_t>(stream_->seed);
}
std::int64_t Generator::offset() const {
  const MutexLock lock(graph::random_mutex());
  return stream_->offset;
}
void Generator::set_offset(std::int64_t offset) {
  if (offset < 0)
    fail(ErrorCode::InvalidArgument, "Generator", {}, "an offset of ", offset,
         ": so many numbers cannot have been taken");
  const MutexLock lock(graph::random_mutex());
  stream_->offset = graph::RandomStream::after(0, offset);
}
Generator Generator::clone() const {
  Generator g;
  const MutexLock lock(graph::random_mutex());
  g.stream_->seed = stream_->seed, g.stream_->offset = stream_->offset;
  return g;
}

GeneratorScope::GeneratorScope(const Generator& generator) : stream_(generator.stream_) {
  if (current_trace) current_trace->not_traceable(Bail::seeds_generator, "GeneratorScope", {});
  before_ = graph::exchange_random_stream(stream_);
}
GeneratorScope::~GeneratorScope() { graph::exchange_random_stream(std::move(before_)); }

}  // namespace reprise
