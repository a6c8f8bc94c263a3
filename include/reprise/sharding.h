#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "reprise/communicator.h"
#include "reprise/placement.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"
#include "reprise/wrapper.h"

/// Programs whose tensors are spread over ranks. docs/sharding.md has examples. The model, and its names, are those of
/// PyTorch's DTensor: a Sharded tensor is one tensor of the whole program, and each rank holds a part of it.
///
/// All ranks make the same calls in the same order; what reads a Sharded tensor's elements (full_tensor, printing,
/// item) is such a call, too.
namespace reprise REPRISE_VISIBLE {

/// A mesh of the ranks of a world, and the groups of ranks along its axes. Copies are the same one.
class DeviceMesh {
 public:
  struct State;  // operators/mesh.h
  explicit DeviceMesh(std::shared_ptr<const State> s) : state_(std::move(s)) {}
  const MeshShape& shape() const;
  int axes() const { return shape().axes(); }
  std::int64_t size(int axis) const { return shape().size(axis); }
  int rank() const;                         ///< of this rank in the world
  std::int64_t coordinate(int axis) const;  ///< where this rank stands
  Communicator& group(int axis) const;      ///< the ranks that differ from this one along this axis alone
  Communicator& world() const;
  const std::string& text() const;  ///< `[dp=2, tp=4]`
  bool operator==(const DeviceMesh& o) const { return state_ == o.state_; }

 private:
  std::shared_ptr<const State> state_;
};

/// A mesh of all ranks of this thread's world (comm::world). No communication. Throws InvalidArgument unless the world
/// has as many ranks.
DeviceMesh init_device_mesh(std::vector<std::int64_t> sizes, std::vector<std::string> names = {},
                            SourceLoc loc = SourceLoc::current());
DeviceMesh init_device_mesh(const MeshShape& shape, SourceLoc loc = SourceLoc::current());

/// An axis by its number or by its name.
class MeshAxis {
 public:
  MeshAxis(int number) : number_(number) {}
  MeshAxis(const char* name) : name_(name) {}
  MeshAxis(const std::string& name) : name_(name) {}
  int in(const MeshShape&, const char* op, SourceLoc) const;  ///< throws InvalidArgument

 private:
  int number_ = -1;
  std::string name_;
};

// ---- collectives as operators: of what each rank holds, without a Sharded tensor around it
//
// In compiled functions they are nodes that keep the order of the program and are never merged, left out or moved past
// each other. Their derivatives are those of a function of all ranks' tensors whose gradient on each rank is its own
// part: all_reduce's sum is all_reduce of the gradients, all_gather's reduce_scatter.

/// The reduction of all ranks' x along the axis. Sum, Max, Min of numbers; Mean of floats.
Tensor all_reduce(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, ReduceOp op = ReduceOp::Sum,
                  SourceLoc loc = SourceLoc::current());
/// All ranks' x, joined along `dim`.
Tensor all_gather(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int dim = 0,
                  SourceLoc loc = SourceLoc::current());
/// This rank's part, along `dim`, of the reduction. Throws ShapeMismatch where parts would not be equal.
Tensor reduce_scatter(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int dim = 0,
                      ReduceOp op = ReduceOp::Sum, SourceLoc loc = SourceLoc::current());
/// x is cut along `split_dim`, a part for each rank; what all ranks have for this one is joined along `join_dim`.
Tensor all_to_all(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int split_dim = 0, Int join_dim = 0,
                  SourceLoc loc = SourceLoc::current());
/// x of the rank at `root` along the axis.
Tensor broadcast(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, int root = 0,
                 SourceLoc loc = SourceLoc::current());
/// Where this rank stands along the axis: int64, no dimensions, on the device of `like`. No communication.
Tensor mesh_coordinate(const Tensor& like, const DeviceMesh& mesh, const MeshAxis& axis,
                       SourceLoc loc = SourceLoc::current());
/// This rank's part of x along `dim`. No communication.
Tensor local_part(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int dim = 0,
                  SourceLoc loc = SourceLoc::current());

// ---- tensors of the whole program

/// A tensor whose parts lie on the ranks. Its handle has the sizes of the whole tensor.
///
/// Operators on handles work on the parts: pointwise ones, products, reductions, softmax, norms, attention, embedding,
/// views and joins keep shards where each rank can do its part, and add up later what they sum over a sharded dimension
/// (Partial). Where two operands disagree, the smaller is redistributed. Plain tensors among the arguments count as
/// Replicate. Any other operator takes all operands whole and gives a whole result, which the log tells
/// (`sharded_whole`).
///
/// A view for which shards must be moved (a row of a tensor whose rows are sharded) is a copy: writing to it throws
/// InvalidArgument, and it does not see what is written to the tensor later.
struct Sharded : Wrapper<Sharded> {
  Tensor local;
  std::string mesh_text, placements_text;
  bool apart = false;  ///< a view for which shards were moved: it shares no memory with what it is a view of
  REPRISE_FIELDS(Sharded, local, mesh_text, placements_text, apart)

  DeviceMesh mesh(SourceLoc loc = SourceLoc::current()) const;
  const Placements& placements() const;

  Looks looks() const;
  Tensor plain(SourceLoc) const;
  void store(const Tensor&, SourceLoc) const;
  static void dispatch(WrapperCall&);
};

bool is_sharded(const Tensor&) noexcept;
/// Throws InvalidArgument for a plain tensor.
const Placements& placements_of(const Tensor&, SourceLoc loc = SourceLoc::current());

/// x, which all ranks hold, as a Sharded tensor: each keeps its part. A Sharded x is redistributed. Dimensions that a
/// mesh axis shards must be multiples of its size, ShapeMismatch; InvalidArgument for more or fewer placements than the
/// mesh has axes, and for a dimension that x has not. Differentiable, as all below.
Tensor distribute(const Tensor& x, const DeviceMesh& mesh, const Placements& placements,
                  SourceLoc loc = SourceLoc::current());
/// A Sharded tensor; `local` is this rank's part. It does not communicate, and does not check that replicas are equal.
Tensor from_local(const Tensor& local, const DeviceMesh& mesh, const Placements& placements,
                  SourceLoc loc = SourceLoc::current());
/// The part that this rank holds. `gradient`: how gradients of the parts make the tensor's; else as its placements,
/// with Replicate for Partial. A Replicate tensor that ranks use in different ways wants Partial() there.
Tensor to_local(const Tensor& x, const Placements& gradient = {}, SourceLoc loc = SourceLoc::current());
/// The same tensor with other placements: any, of any.
Tensor redistribute(const Tensor& x, const Placements& placements, SourceLoc loc = SourceLoc::current());
/// All of it, on each rank, as a plain tensor. A plain x is itself.
Tensor full_tensor(const Tensor& x, SourceLoc loc = SourceLoc::current());

// ---- functions of parts

struct LocalMapOptions {
  std::string name = "local_map";             ///< what errors call it, with the line that made it
  std::optional<DeviceMesh> mesh = {};        ///< none: the function is its body
  std::vector<Placements> in = {}, out = {};  ///< of each tensor among arguments and results
  /// Sharded arguments of other placements are redistributed; else they are errors. Plain ones, which all ranks hold,
  /// are distributed either way.
  bool redistribute_inputs = false;
};

namespace detail {
struct LocalMapRegion;  // operators/local_map.cc
using LocalBody = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;
std::shared_ptr<LocalMapRegion> make_local_map(LocalMapOptions, SourceLoc);
std::vector<Tensor> call_local_map(const LocalMapRegion&, const std::vector<Tensor>&, const LocalBody&);

inline void append_tensors(std::vector<Tensor>& to, const Tensor& t) { to.push_back(t); }
inline void append_tensors(std::vector<Tensor>& to, const std::vector<Tensor>& all) {
  to.insert(to.end(), all.begin(), all.end());
}
template <class... T>
void append_tensors(std::vector<Tensor>& to, const std::tuple<T...>& all) {
  std::apply([&](const T&... t) { (to.push_back(t), ...); }, all);
}
template <class A, class B>
void append_tensors(std::vector<Tensor>& to, const std::pair<A, B>& all) {
  to.push_back(all.first), to.push_back(all.second);
}
template <class R>
R from_tensors(std::vector<Tensor> all) {
  if constexpr (std::is_same_v<R, Tensor>) return std::move(all.at(0));
  else if constexpr (std::is_same_v<R, std::vector<Tensor>>) return all;
  else return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return R(all.at(I)...);
    }
  (std::make_index_sequence<std::tuple_size_v<R>>());
}
}  // namespace detail

/// f, a function of tensors, which gives a tensor, a vector, a pair or a tuple of them, as a function of Sharded
/// tensors: it is called with the parts that a rank holds, of the placements `in`, and what it gives are parts of
/// results of the placements `out`. It may communicate. It computes results of its own and changes nothing:
/// InvalidArgument, with its name and both lines, where it writes to an argument (before that is written), gives an
/// argument or a view of one, or draws random numbers. Differentiable: gradients of arguments that are Replicate along
/// an axis on which ranks compute different things are Partial.
template <class F>
auto local_map(F f, LocalMapOptions options, SourceLoc loc = SourceLoc::current()) {
  auto region = detail::make_local_map(std::move(options), loc);
  return [f = std::move(f), region = std::move(region)](const auto&... args) {
    static_assert((std::is_convertible_v<decltype(args), const Tensor&> && ...), "arguments of local_map are tensors");
    using R =
        std::remove_cvref_t<std::invoke_result_t<const F&, std::conditional_t<true, const Tensor&, decltype(args)>...>>;
    const detail::LocalBody body = [&](const std::vector<Tensor>& parts) {
      std::vector<Tensor> results;
      [&]<std::size_t... I>(std::index_sequence<I...>) { detail::append_tensors(results, f(parts[I]...)); }
      (std::make_index_sequence<sizeof...(args)>());
      return results;
    };
    return detail::from_tensors<R>(detail::call_local_map(*region, {args...}, body));
  };
}

}  // namespace REPRISE_VISIBLE
