#pragma once
#include <memory>
#include <vector>

#include "autograd/call.h"
#include "autograd/derivative.h"
#include "autograd/saved.h"

namespace reprise::autograd {

/// An operator's call. Its derivative is the column's; one that has none throws when gradients come to it.
struct OpNode final : Node {
  explicit OpNode(std::shared_ptr<const Call> call)
      : Node(call->loc), call(std::move(call)), derivative(derivatives().find(this->call->op.id)) {}

  std::string name() const override { return call->name(); }
  std::vector<Tensor> apply(std::vector<Tensor> grads, Needed) override;
  void release() override;
  bool tell(Shadow&) override;
  std::shared_ptr<Node> copy(Traced&) const override;

  bool has_edge(int arg) const;
  /// Keeps what the rule declares, of those for which an argument wants a gradient. `tensors`: of the call.
  void save_inputs(std::span<const Tensor* const> tensors);
  void save_results(std::span<const Tensor> results);

  const std::shared_ptr<const Call> call;
  const Derivative* const derivative;
  std::vector<std::vector<Saved>> saved;  ///< by Derivative::saves
  Needed needed = nullptr;                ///< while apply() runs
};

}  // namespace reprise::autograd
