#pragma once
#include "import/onnx/ml.h"

/// Ensembles of decision trees as tables: each step of all rows in all trees is one gather of the next nodes.
namespace reprise::onnx {

enum class Compare : std::uint8_t { Leq, Lt, Gte, Gt, Eq, Neq };
struct Branch {
  std::int64_t feature = 0;
  Compare compare = Compare::Leq;
  double threshold = 0;
  bool missing_is_true = false;              ///< a NaN goes to on_true
  std::int64_t on_true = -1, on_false = -1;  ///< a branch, or ~ of a leaf
};
struct Weight {
  std::int64_t target = 0;
  double weight = 0;
};
/// What a file says.
struct Forest {
  std::vector<Branch> branches{};
  std::vector<std::vector<Weight>> leaves{};
  std::vector<std::int64_t> roots{};  ///< a branch, or ~ of a leaf
  std::int64_t targets = 1;
};
enum class Aggregate : std::uint8_t { Average, Sum, Min, Max };

class Trees {
 public:
  /// Throws FileFormat where nodes make a cycle or lie outside of the tables, InvalidArgument past the limits.
  Trees(const Call&, Forest, Aggregate);

  /// The number of the leaf of each row in each tree.
  Tensor leaves(Call&, const Tensor& x) const;
  /// What its leaves say of each target, [n, targets]. Of x's dtype: float32 or float64.
  Tensor scores(const Tensor& leaves, DType) const;
  /// Whether a leaf of the row says something of each target: bools [n, targets], or [targets] where all rows agree.
  Tensor has_scores(const Tensor& leaves) const;
  enum class Scored : std::uint8_t { Never, Sometimes, Always };
  bool all_scored() const { return all_scored_; }
  Scored scored(std::int64_t target) const { return scored_[static_cast<std::size_t>(target)]; }
  std::int64_t targets() const { return targets_; }

 private:
  void check(const Call&, const Forest&);
  void make_branches(const Forest&);
  void make_leaves(const Call&, const Forest&);
  struct Spoken {
    std::map<std::int64_t, std::int64_t> times{};  ///< leaves by target
    std::int64_t leaves = 0;
  };
  std::optional<std::vector<Spoken>> spoken(const Forest&) const;
  void group(const Call&, const Forest&, const std::optional<std::vector<Spoken>>&);
  std::int64_t place(std::int64_t id) const { return id < 0 ? ~id : leaf_count_ + id; }  ///< leaves come first
  Tensor step(const Tensor& now, const Tensor& value, const Tensor& threshold) const;
  Tensor reduced(const Tensor& by_leaf, const Tensor& leaves, Aggregate) const;

  Aggregate aggregate_;
  std::int64_t targets_ = 1, leaf_count_ = 0, branch_count_ = 0, depth_ = 0, features_ = 0, trees_ = 0;
  std::vector<std::int64_t> roots_{};  ///< places; in groups of equal size, one for each target, where `grouped_`
  std::int64_t grouped_ = 0;           ///< trees of each target; 0: leaves have weights of all targets
  std::optional<Compare> compare_{};   ///< the one comparison of all branches, where no NaN is treated specially
  std::vector<Scored> scored_{};
  bool any_sometimes_ = false, all_scored_ = false;
  Tensor next_{};                                 ///< by place and the comparison's outcome
  Tensor feature_{}, first_{}, first_feature_{};  ///< by place, and of the roots
  struct Of {
    Tensor threshold{}, first_threshold{}, weight{};
  };
  Of single_{}, double_{};
  Tensor has_{};  ///< by leaf: 1 where it says something
};

}  // namespace reprise::onnx
