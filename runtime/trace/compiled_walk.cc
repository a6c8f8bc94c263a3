// Walks over the tape as compiled functions (CompiledAutograd, Note [Shadows of tapes] in autograd/shadow.h).
#include <map>

#include "autograd/shadow.h"
#include "base/mutex.h"
#include "reprise/autograd.h"
#include "runtime/call/given.h"

namespace reprise {

namespace {

/// The segment that is being called: what a trace of it walks. Of one thread.
constinit thread_local const autograd::Segment* t_segment = nullptr;

struct SegmentFunction {
  std::vector<Tensor> operator()(const std::vector<Tensor>& tensors, const std::vector<Int>& ints,
                                 const std::vector<Scalar>& numbers) const {
    autograd::Traced traced(tensors, ints, numbers);
    return autograd::walk_copy(*t_segment, traced);
  }
};

}  // namespace

struct CompiledAutograd::Impl {
  using Compiled = CompiledFunction<SegmentFunction>;
  Mutex mu;
  std::map<std::vector<std::uint64_t>, std::shared_ptr<Compiled>> of REPRISE_GUARDED_BY(mu);
  Counts counts REPRISE_GUARDED_BY(mu);
  autograd::Through through = [this](const autograd::Walk& w) { return run(w); };

  std::optional<std::vector<Tensor>> run(const autograd::Walk& w) {
    const bool eager = w.create_graph || autograd::anomaly();
    {
      const MutexLock lock(mu);
      ++(eager ? counts.eager : counts.walks);
    }
    if (eager) return std::nullopt;
    return autograd::walk_by_segments(w, [this](autograd::Segment& s) { return call(s); });
  }

  std::vector<Tensor> call(const autograd::Segment& s) {
    std::shared_ptr<Compiled> f;
    {
      const MutexLock lock(mu);
      auto& at = of[s.of.key];
      if (!at)
        at = std::make_shared<Compiled>(
            SegmentFunction{}, CompileOptions{.name = "backward", .arguments = {"tensors", "ints", "numbers"}});
      f = at;
    }
    struct Back {
      const autograd::Segment* was;
      ~Back() { t_segment = was; }
    } back{std::exchange(t_segment, &s)};
    const NoGradScope off;
    if (!s.last) return (*f)(s.of.tensors, s.of.ints, s.of.numbers);
    const detail::Given given{s.of.tensors,
                              [](void* segment) {
                                for (const auto& n : static_cast<const autograd::Segment*>(segment)->nodes)
                                  n->release();
                              },
                              const_cast<autograd::Segment*>(&s)};
    return detail::GivingCall::call(*f, given, s.of.tensors, s.of.ints, s.of.numbers);
  }
};

CompiledAutograd::CompiledAutograd() : impl_(std::make_unique<Impl>()) {}
CompiledAutograd::~CompiledAutograd() = default;
CompiledAutograd::Scope CompiledAutograd::enable() { return Scope(&impl_->through); }
CompiledAutograd::Scope::Scope(const void* through)
    : before_(autograd::exchange_through(static_cast<const autograd::Through*>(through))) {}
CompiledAutograd::Scope::~Scope() { autograd::exchange_through(static_cast<const autograd::Through*>(before_)); }

CompiledAutograd::Counts CompiledAutograd::counts() const {
  const MutexLock lock(impl_->mu);
  Counts c = impl_->counts;
  c.shadows = static_cast<std::int64_t>(impl_->of.size());
  for (const auto& [key, f] : impl_->of) c.compilations += f->stats().compilations;
  return c;
}

}  // namespace reprise
