#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "operators/sharded.h"

/// How operators work on parts: told by labels. Each dimension of an operand has one; dimensions that go together have
/// the same, and a mesh axis shards one label, or none.
namespace reprise::operators {

/// The dimension of an operand that takes part in nothing (broadcast): it is not sharded.
inline constexpr int kNoLabel = -1;
using Labels = std::vector<int>;

/// 0, 1, ...
inline Labels in_order(int dims) {
  Labels l;
  for (int d = 0; d < dims; ++d) l.push_back(d);
  return l;
}
inline int from_front(const Int& dim, int dims) {
  const auto d = static_cast<int>(dim.hint());
  return d < 0 ? d + dims : d;
}

struct ShardingRule {
  /// What becomes of operands that are Partial along an axis.
  enum class Partials : std::uint8_t {
    None,      ///< they are added up before
    Moved,     ///< elements are moved: any reduction stays
    Linear,    ///< sums and means stay: of one operand
    Added,     ///< ... where all operands are
    Bilinear,  ///< ... of one operand, where the others are Replicate
  };
  std::vector<Labels> operands;  ///< of the call's defined tensors, in order
  Labels result;                 ///< of each result
  std::vector<int> whole;        ///< labels that are not sharded
  /// labels that the operator sums over, and how parts come together
  std::vector<std::pair<int, ReduceOp>> contracted = {};
  Partials partials = Partials::None;
  unsigned partial_operands = ~0u;  ///< Bilinear: which may be Partial, a bit each

  bool is_whole(int label) const;
  std::optional<ReduceOp> contraction(int label) const;
};

using Partials = ShardingRule::Partials;

/// The defined tensors of the call, lists taken apart, in order.
std::vector<Tensor> tensors_of(WrapperCall&);
/// The mesh of the first handle. Throws InvalidArgument for two meshes.
DeviceMesh mesh_of_call(WrapperCall&, const std::vector<Tensor>&);

/// Operands as the rule wants them, the result's placements.
struct ShardingPlan {
  std::vector<Placements> operands;
  Placements result;
};
ShardingPlan plan(const ShardingRule&, const std::vector<Tensor>&, const DeviceMesh&, bool inplace);
/// Answers the call by the rule. `f` makes the results of the parts of the operands and the result's placements; not
/// set: the operator itself.
using OfParts = std::function<std::vector<Tensor>(const std::vector<Tensor>& parts, const Placements& result)>;
void answer(WrapperCall&, const ShardingRule&, const OfParts& f = {});
/// Sizes of the part that a rank holds of a tensor of these sizes.
Ints part_sizes(const Ints& whole, const Placements&, const MeshShape&);

// Rules by kind; nothing where the operator is of none. sharded_pointwise.cc, sharded_products.cc, sharded_views.cc
bool answer_pointwise(WrapperCall&);
bool answer_product(WrapperCall&);
bool answer_row(WrapperCall&);  ///< reductions, softmax, norms, attention, embedding
bool answer_view(WrapperCall&);

}  // namespace reprise::operators
