#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/visible.h"

/// Where the parts of a tensor lie on a mesh of ranks: one Placement for each axis of the mesh. The forms, and their
/// texts, are those of PyTorch's DTensor: `S(0)S(1)R` is sharded by dimension 0 along the first axis, by dimension 1
/// along the second, and replicated along the third.
namespace reprise REPRISE_VISIBLE {

/// What joins the parts of a Partial tensor, and what a reduction among ranks computes.
enum class ReduceOp : std::uint8_t { Sum, Mean, Max, Min };

/// How a tensor lies along one axis of a mesh.
class Placement {
 public:
  enum class Kind : std::uint8_t {
    Replicate,  ///< each rank holds all of it
    Shard,      ///< each rank holds an equal slice of dim()
    Partial,    ///< each rank holds a value of the whole shape; reduce() of them is the tensor
  };

  Placement() = default;  ///< Replicate
  Kind kind() const { return kind_; }
  bool is_replicate() const { return kind_ == Kind::Replicate; }
  bool is_shard() const { return kind_ == Kind::Shard; }
  bool is_shard(int dim) const { return kind_ == Kind::Shard && dim_ == dim; }
  bool is_partial() const { return kind_ == Kind::Partial; }
  int dim() const { return dim_; }             ///< of a Shard; -1 for others
  ReduceOp reduce() const { return reduce_; }  ///< of a Partial; Sum for others
  bool operator==(const Placement&) const = default;

 private:
  friend Placement Shard(int dim);
  friend Placement Partial(ReduceOp op);

  Kind kind_ = Kind::Replicate;
  ReduceOp reduce_ = ReduceOp::Sum;
  int dim_ = -1;
};

inline Placement Replicate() { return {}; }
/// `dim` counts from 0: a placement does not know the rank of its tensor. Throws InvalidArgument where it is negative.
Placement Shard(int dim);
Placement Partial(ReduceOp op = ReduceOp::Sum);

/// One for each axis of a mesh.
using Placements = std::vector<Placement>;

/// `R`, `S(1)`, `P`, and `P(max)` for reductions other than the sum; of a list, one behind another.
std::string to_string(ReduceOp);
std::string to_string(const Placement&);
std::string to_string(const Placements&);
/// The inverse of to_string(). Throws InvalidArgument that quotes the text and names the place in it.
Placements parse_placements(std::string_view);

/// The shape of a mesh: how many ranks lie along each axis, and what the axes are called. Rank r stands at the
/// coordinates that row-major order gives it.
class MeshShape {
 public:
  MeshShape() = default;  ///< no axes: one rank
  /// Names are "0", "1", ... where none are given. Throws InvalidArgument for sizes below 1, a product above 2^31 - 1,
  /// more or fewer names than sizes, names that are empty or stand twice.
  explicit MeshShape(std::vector<std::int64_t> sizes, std::vector<std::string> names = {});

  int axes() const { return static_cast<int>(sizes_.size()); }
  std::int64_t size(int axis) const { return sizes_.at(static_cast<std::size_t>(axis)); }
  const std::vector<std::int64_t>& sizes() const { return sizes_; }
  const std::vector<std::string>& names() const { return names_; }
  const std::string& name(int axis) const { return names_.at(static_cast<std::size_t>(axis)); }
  int axis(std::string_view name) const;  ///< throws InvalidArgument where no axis has this name
  std::int64_t ranks() const;             ///< the product of the sizes
  std::vector<std::int64_t> coordinates(std::int64_t rank) const;
  std::int64_t rank(const std::vector<std::int64_t>& coordinates) const;
  bool operator==(const MeshShape&) const = default;

 private:
  std::vector<std::int64_t> sizes_;
  std::vector<std::string> names_;
};

std::string to_string(const MeshShape&);  ///< `[dp=2, tp=4]`
MeshShape parse_mesh_shape(std::string_view);

}  // namespace REPRISE_VISIBLE
