// Walks over the tape as compiled functions (CompiledAutograd, Note [Shadows of tapes] in autograd/shadow.h).
#include <map>
#include <mutex>

#include "autograd/shadow.h"
#include "autograd/state.h"
#include "reprise/autograd.h"
#include "reprise/compile.h"

namespace reprise {

namespace {

/// The walk that is being called: what a trace of it walks. Of one thread.
struct Current {
  const autograd::Walk* walk = nullptr;
  const autograd::WalkShadow* shadow = nullptr;
};
constinit thread_local Current t_current;

struct WalkFunction {
  std::vector<Tensor> operator()(const std::vector<Tensor>& tensors, const std::vector<Int>& ints, const std::vector<Scalar>& numbers) const {
    autograd::Traced traced(tensors, ints, numbers);
    return autograd::walk_copy(*t_current.walk, *t_current.shadow, traced);
  }
};

}  // namespace

struct CompiledAutograd::Impl {
  std::mutex mu;
  std::map<std::vector<std::uint64_t>, std::shared_ptr<CompiledFunction<WalkFunction>>> of;  // guarded by mu
  Counts counts;                                                                               // guarded by mu
  autograd::Through through = [this](const autograd::Walk& w) { return run(w); };

  std::optional<std::vector<Tensor>> run(const autograd::Walk& w) {
    const std::unique_ptr<autograd::WalkShadow> shadow = autograd::shadow_of(w);
    std::shared_ptr<CompiledFunction<WalkFunction>> f;
    {
      std::lock_guard lock(mu);
      if (!shadow) {
        ++counts.eager;
        return std::nullopt;
      }
      ++counts.walks;
      auto& at = of[shadow->of.key];
      if (!at) at = std::make_shared<CompiledFunction<WalkFunction>>(WalkFunction{}, CompileOptions{.name = "backward", .arguments = {"tensors", "ints", "numbers"}});
      f = at;
    }
    const Current before = std::exchange(t_current, {&w, shadow.get()});
    struct Back {
      const Current& was;
      ~Back() { t_current = was; }
    } back{before};
    std::vector<Tensor> made;
    {
      const NoGradScope off;
      made = (*f)(shadow->of.tensors, shadow->of.ints, shadow->of.numbers);
    }
    shadow->of.tensors.clear();
    if (!w.retain_graph)
      for (const auto& n : shadow->nodes) n->release();
    if (w.accumulate)
      for (std::size_t i = 0; i < made.size(); ++i)
        if (made[i].defined()) static_cast<autograd::AccumulateGrad&>(*shadow->wanted[i].node).add(std::move(made[i]), false);
    return made;
  }
};

CompiledAutograd::CompiledAutograd() : impl_(std::make_unique<Impl>()) {}
CompiledAutograd::~CompiledAutograd() = default;
CompiledAutograd::Scope CompiledAutograd::enable() { return Scope(&impl_->through); }
CompiledAutograd::Scope::Scope(const void* through) : before_(autograd::exchange_through(static_cast<const autograd::Through*>(through))) {}
CompiledAutograd::Scope::~Scope() { autograd::exchange_through(static_cast<const autograd::Through*>(before_)); }

CompiledAutograd::Counts CompiledAutograd::counts() const {
  std::lock_guard lock(impl_->mu);
  Counts c = impl_->counts;
  c.shadows = static_cast<std::int64_t>(impl_->of.size());
  for (const auto& [key, f] : impl_->of) c.compilations += f->stats().compilations;
  return c;
}

}  // namespace reprise
