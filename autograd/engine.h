#pragma once
#include <vector>

#include "autograd/node.h"
#include "reprise/autograd.h"

namespace reprise::autograd {

/// One walk over the tape.
struct Walk {
  std::vector<Edge> roots;        ///< where gradients come in
  std::vector<Tensor> gradients;  ///< by root
  /// Not empty: the gradients that reach these are what is wanted, and nothing is added to any leaf's grad() but to
  /// those of `accumulate`.
  std::vector<Edge> captured;
  bool accumulate = false;  ///< leaves are added to: all, or those among `captured`
  bool retain_graph = false, create_graph = false;
  /// of a joint trace: what was made outside is where it ends, and hooks there are not called
  bool of_trace = false;
  SourceLoc loc;
};

/// Runs the nodes that come behind the roots, those called last first, each when all gradients of its results are
/// there: in an order that the tape alone decides. Gives the captured gradients, undefined ones where none came. Leaves
/// are added to when all nodes have run; what throws leaves them as they were. Threads: any number may walk at once.
std::vector<Tensor> walk(const Walk&);

// What a walk does at a node, in this order. Gradients are by result.
/// Hooks of results, then those of the leaf that it stands for.
void run_tensor_hooks(Node&, std::vector<Tensor>& grads, SourceLoc, bool of_leaf = true);
/// What Walk::captured gets of it.
Tensor captured_gradient(const Node&, std::uint32_t result, const std::vector<Tensor>& grads, SourceLoc);
void run_before_hooks(Node&, std::vector<Tensor>& grads);
/// Its derivative. used: by `next`. What it gives is as the tensors' gradients have to be.
std::vector<Tensor> apply(Node&, std::vector<Tensor> grads, const std::vector<bool>& used);
void run_hooks_behind(Node&, std::vector<Tensor>& given, const std::vector<Tensor>& taken);

/// AnomalyScope's state for this thread: 0, 1 (names the call), 2 (and looks at the numbers).
std::uint8_t anomaly();
std::uint8_t exchange_anomaly(std::uint8_t);
/// While it lives a walk looks at no numbers: around one that is traced, whose compiled form looks at them.
class NoNumbersYet {
 public:
  NoNumbersYet() : before_(anomaly()) { exchange_anomaly(before_ ? 1 : 0); }
  ~NoNumbersYet() { exchange_anomaly(before_); }
  NoNumbersYet(const NoNumbersYet&) = delete;
  NoNumbersYet& operator=(const NoNumbersYet&) = delete;

 private:
  const std::uint8_t before_;
};

}  // namespace reprise::autograd
