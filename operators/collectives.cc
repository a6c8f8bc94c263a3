// Collectives of a mesh as operators. Each works on a leading dimension of ranks; what joins or cuts other dimensions
// stands around it as ordinary operators, which fuse with their surroundings.
#include <cstring>
#include <utility>

#include "base/errors.h"
#include "base/line_text.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/mesh.h"
#include "reprise/ops.h"
#include "reprise/sharding.h"

namespace reprise {

using graph::OpId;
using graph::RuleCtx;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;

namespace {

using Kind = Communicator::Kind;
using kernels::NativeArgs;
using kernels::TensorView;

// Arguments: Tensor self, str mesh, int axis, then the operator's own, last the line as text.
constexpr int kMesh = 1, kAxis = 2, kOwn = 3;

// One order for all of a program's collectives: ranks meet in it, whatever the axis.
constexpr std::uint8_t kLane = 255;
constexpr graph::Effects kEffects{.may_fail = true, .opaque = true, .lane = kLane};

/// f(address) for each element of the view, row by row.
template <class F>
void for_each_element(const TensorView& v, F&& f, int d = 0, std::int64_t at = 0) {
  if (d == v.rank) return f(v.data + at * item_size(v.dtype));
  for (std::int64_t i = 0; i < v.sizes[d]; ++i) for_each_element(v, f, d + 1, at + i * v.strides[d]);
}

/// The elements of a view, row by row: where they stand, or copied.
class Rows {
 public:
  explicit Rows(const TensorView& v) : view_(v), item_(static_cast<std::size_t>(item_size(v.dtype))) {
    if (!v.contiguous()) copy_.resize(static_cast<std::size_t>(v.numel()) * item_);
  }
  char* data() { return copy_.empty() ? view_.data : copy_.data(); }
  void read() {
    char* to = copy_.data();
    if (to) for_each_element(view_, [&](char* at) { std::memcpy(std::exchange(to, to + item_), at, item_); });
  }
  void write() {
    const char* from = copy_.data();
    if (from) for_each_element(view_, [&](char* at) { std::memcpy(at, std::exchange(from, from + item_), item_); });
  }

 private:
  const TensorView& view_;
  const std::size_t item_;
  std::vector<char> copy_;
};

ReduceOp reduce_of(std::string_view name, const char* op, SourceLoc loc) {
  for (const ReduceOp r : {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min})
    if (name == to_string(r)) return r;
  fail(ErrorCode::InvalidArgument, op, loc, "reduction '", name, "', and there are sum, mean, max and min");
}

/// The call of a kernel: what it does not know by itself is filled in.
void communicate(const NativeArgs& a, Communicator::Call c, int line) {
  const char* const op = "collective";
  try {
    Communicator& group =
        *operators::mesh_of(a.text(kMesh), op, {})->groups.at(static_cast<std::size_t>(a.integer(kAxis)));
    // A result may be a part of what it is joined into.
    Rows in(a.tensor(0)), out(a.result());
    in.read();
    const std::string where(a.text(line));
    c.in = in.data(), c.out = out.data(), c.dtype = a.tensor(0).dtype, c.where = where.c_str();
    group.call(c);
    out.write();
  } catch (const Error& e) {
    a.fail(e.code(), e.message());
  } catch (const std::exception& e) {
    a.fail(ErrorCode::DeviceFailed, e.what());
  }
}

std::int64_t axis_size(RuleCtx& c) {
  const char* const op = c.op.schema.name.c_str();
  const MeshShape& mesh = operators::mesh_shape_of(c.str(kMesh));
  const std::int64_t axis = c.constant_int(kAxis);
  if (axis < 0 || axis >= mesh.axes())
    fail(ErrorCode::InvalidArgument, op, c.loc, "axis ", axis, " of the mesh ", c.str(kMesh));
  return mesh.size(static_cast<int>(axis));
}

void expect_reducible(RuleCtx& c, int at) {
  const char* const op = c.op.schema.name.c_str();
  const DType t = c.tensor(0).dtype;
  const ReduceOp r = reduce_of(c.str(at), op, c.loc);
  const bool fits =
      !is_storage_only(t) && (r != ReduceOp::Mean || is_floating(t)) && (r != ReduceOp::Sum || t != kBool);
  if (!fits) fail(ErrorCode::DTypeMismatch, op, c.loc, "no ", to_string(r), " of ", dtype_name(t), " elements");
}

/// [k, ...]: a row for each rank.
void expect_rows(RuleCtx& c, std::int64_t k) {
  const TensorMeta& x = c.tensor(0);
  if (x.dim() < 1 || !graph::same(x.size(0), k, c.loc, "a row for each rank"))
    fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc, "wants a row for each of ", k, " ranks, got sizes ",
         graph::sizes_text(x.layout.sizes));
}

void all_reduce_shape(RuleCtx& c) {
  axis_size(c), expect_reducible(c, kOwn);
  c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}
void all_reduce_kernel(const NativeArgs& a) {
  communicate(a,
              {.kind = Kind::AllReduce, .n = a.result().numel(), .reduce = reduce_of(a.text(kOwn), "all_reduce", {})},
              kOwn + 1);
}

OpId all_reduce_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::all_reduce(Tensor self, str mesh, int axis, str op='sum', str line='') -> Tensor",
       .shape = all_reduce_shape,
       .effects = kEffects},
      {kernels::reference_kernels().fact({all_reduce_kernel}),
       operators::derivative(operators::derivatives::all_reduce, autograd::kNothing)});
  return id;
}
/// By max or min, whose derivative reads operand and result: sums keep nothing.
OpId all_extreme_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::all_extreme(Tensor self, str mesh, int axis, str op='max', str line='') -> Tensor",
       .shape = all_reduce_shape,
       .effects = kEffects},
      {kernels::reference_kernels().fact({all_reduce_kernel}),
       operators::derivative(operators::derivatives::all_extreme, autograd::in(0) + autograd::out(0))});
  return id;
}

/// [...] -> [k, ...]
OpId all_gather_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::all_gather(Tensor self, str mesh, int axis, str line='') -> Tensor",
       .shape =
           [](RuleCtx& c) {
             Ints sizes{axis_size(c)};
             for (const Int& n : c.tensor(0).layout.sizes) sizes.push_back(n);
             c.result(c.tensor(0).dtype, sizes);
           },
       .moves = true,
       .effects = kEffects},
      {kernels::reference_kernels().fact(
           {[](const NativeArgs& a) { communicate(a, {.kind = Kind::AllGather, .n = a.tensor(0).numel()}, kOwn); }}),
       operators::derivative(operators::derivatives::all_gather, autograd::kNothing)});
  return id;
}

/// [k, ...] -> [...]
OpId reduce_scatter_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::reduce_scatter(Tensor self, str mesh, int axis, str op='sum', str line='') -> Tensor",
       .shape =
           [](RuleCtx& c) {
             expect_rows(c, axis_size(c)), expect_reducible(c, kOwn);
             Ints sizes = c.tensor(0).layout.sizes;
             sizes.erase(sizes.begin());
             c.result(c.tensor(0).dtype, sizes);
           },
       .effects = kEffects},
      {kernels::reference_kernels().fact({[](const NativeArgs& a) {
         communicate(a,
                     {.kind = Kind::ReduceScatter,
                      .n = a.result().numel(),
                      .reduce = reduce_of(a.text(kOwn), "reduce_scatter", {})},
                     kOwn + 1);
       }}),
       operators::derivative(operators::derivatives::reduce_scatter, autograd::kNothing)});
  return id;
}

/// [k, ...] -> [k, ...]
OpId all_to_all_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::all_to_all(Tensor self, str mesh, int axis, str line='') -> Tensor",
       .shape =
           [](RuleCtx& c) {
             expect_rows(c, axis_size(c));
             c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
           },
       .moves = true,
       .effects = kEffects},
      {kernels::reference_kernels().fact({[](const NativeArgs& a) {
         const TensorView& x = a.tensor(0);
         communicate(a, {.kind = Kind::AllToAll, .n = x.sizes[0] ? x.numel() / x.sizes[0] : 0}, kOwn);
       }}),
       operators::derivative(operators::derivatives::all_to_all, autograd::kNothing)});
  return id;
}

OpId broadcast_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::broadcast(Tensor self, str mesh, int axis, int root=0, str line='') -> Tensor",
       .shape =
           [](RuleCtx& c) {
             const std::int64_t k = axis_size(c), root = c.constant_int(kOwn);
             if (root < 0 || root >= k)
               fail(ErrorCode::InvalidArgument, "broadcast", c.loc, "root ", root, " of ", k, " ranks");
             c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
           },
       .moves = true,
       .effects = kEffects},
      {kernels::reference_kernels().fact({[](const NativeArgs& a) {
         communicate(a, {.kind = Kind::Broadcast, .n = a.result().numel(), .root = static_cast<int>(a.integer(kOwn))},
                     kOwn + 1);
       }}),
       operators::derivative(operators::derivatives::mesh_broadcast, autograd::kNothing)});
  return id;
}

// Not of a lane, since it meets nobody; but no constant, since ranks may share code.
OpId mesh_coordinate_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::mesh_coordinate(Tensor self, str mesh, int axis) -> Tensor",
       .shape =
           [](RuleCtx& c) {
             axis_size(c);
             c.result(kInt64, {});
           },
       .moves = true,
       .effects = {.may_fail = true, .opaque = true}},
      {kernels::reference_kernels().fact({[](const NativeArgs& a) {
         try {
           const auto& mesh = *operators::mesh_of(a.text(kMesh), "mesh_coordinate", {});
           *a.result().as<std::int64_t>() = mesh.groups.at(static_cast<std::size_t>(a.integer(kAxis)))->rank();
         } catch (const Error& e) {
           a.fail(e.code(), e.message());
         }
       }}),
       operators::constant()});
  return id;
}

Tensor coordinate_of(const Tensor& like, std::string_view mesh, Int axis, SourceLoc loc) {
  return graph::call1(mesh_coordinate_op(), {arg(like), arg(mesh), arg(axis)}, loc);
}

/// One of the operators above, with the arguments that all have.
template <class... A>
Tensor call(OpId op, const Tensor& x, std::string_view mesh, Int axis, SourceLoc loc, const A&... own) {
  // The file without its folders: graphs, and what is kept of them on disk, are the same in every checkout.
  std::string line = line_text(loc);
  line.erase(0, line.rfind('/') + 1);
  return graph::call1(op, {arg(x), arg(mesh), arg(axis), arg(own)..., arg(std::string_view(line))}, loc);
}

/// x with dimension `dim` of k * n elements as dimensions [k, ..., n, ...].
Tensor cut(const Tensor& x, int dim, std::int64_t k, const char* op, SourceLoc loc) {
  Ints sizes = x.sizes();
  const auto at = sizes.begin() + dim;
  const Int n = *at;
  if (!graph::require(detail::compare_eq(n % k, 0, loc), "an equal part for each rank"))
    fail(ErrorCode::ShapeMismatch, op, loc, "dimension ", dim, " of sizes ", graph::sizes_text(x.sizes()),
         " has no equal parts for ", k, " ranks");
  *at = n / k;
  sizes.insert(sizes.begin() + dim, Int(k));
  const Tensor parts = reshape(x, sizes, loc);
  return dim == 0 ? parts : movedim(parts, dim, 0, loc);
}

/// The inverse: [k, ..., n, ...] with k in front of n.
Tensor joined(const Tensor& x, int dim, SourceLoc loc) {
  Ints sizes = x.sizes();
  const Int k = sizes[0];
  sizes.erase(sizes.begin());
  sizes[static_cast<std::size_t>(dim)] = sizes[static_cast<std::size_t>(dim)] * k;
  return reshape(dim == 0 ? x : movedim(x, 0, dim, loc), sizes, loc);
}

int dim_of(const Tensor& x, Int dim, const char* op, SourceLoc loc) {
  return wrapped(checked_meta(x, op, loc), dim, op, loc);
}

}  // namespace

namespace operators {

Tensor gathered(const Tensor& x, const DeviceMesh& mesh, int axis, int dim, SourceLoc loc) {
  return joined(call(all_gather_op(), x, mesh.text(), axis, loc), dim, loc);
}
Tensor scattered(const Tensor& x, const DeviceMesh& mesh, int axis, int dim, ReduceOp op, SourceLoc loc) {
  const std::string name = to_string(op);
  return call(reduce_scatter_op(), cut(x, dim, mesh.size(axis), "reduce_scatter", loc), mesh.text(), axis, loc,
              std::string_view(name));
}
Tensor exchanged(const Tensor& x, const DeviceMesh& mesh, int axis, int split, int join, SourceLoc loc) {
  return joined(call(all_to_all_op(), cut(x, split, mesh.size(axis), "all_to_all", loc), mesh.text(), axis, loc), join,
                loc);
}
Tensor part_of(const Tensor& x, const DeviceMesh& mesh, int axis, int dim, SourceLoc loc) {
  const Tensor parts = cut(x, dim, mesh.size(axis), "local_part", loc);
  const Tensor here = coordinate_of(x, mesh.text(), axis, loc).reshape({1}, loc);
  return index_select(parts, 0, here, loc).select(0, 0, loc);
}

void register_collectives() {
  for (const OpId id :
       {all_reduce_op(), all_gather_op(), reduce_scatter_op(), all_to_all_op(), broadcast_op(), mesh_coordinate_op()})
    static_cast<void>(id);
}

namespace derivatives {

void all_reduce(autograd::Backward& b) {
  const std::string op(b.text(kOwn));
  if (op != "sum" && op != "mean")
    fail(ErrorCode::InvalidArgument, "all_reduce", b.loc(), "the derivative of a reduction by ", op,
         " is that of reprise::all_extreme");
  b.give(0, call(all_reduce_op(), b.grad(), b.text(kMesh), b.integer(kAxis), b.loc(), std::string_view(op)));
}
void all_extreme(autograd::Backward& b) {
  // Shared among the ranks whose element is the extreme.
  const Tensor is = eq(b.tensor(0), b.result(), b.loc()).to(b.grad().dtype(), b.loc());
  const auto sum = [&](const Tensor& t) {
    return call(all_reduce_op(), t, b.text(kMesh), b.integer(kAxis), b.loc(), std::string_view("sum"));
  };
  b.give(0, mul(is, div(sum(b.grad()), sum(is), {}, b.loc()), b.loc()));
}
void all_gather(autograd::Backward& b) {
  b.give(0, call(reduce_scatter_op(), b.grad(), b.text(kMesh), b.integer(kAxis), b.loc(), std::string_view("sum")));
}
void reduce_scatter(autograd::Backward& b) {
  const std::string op(b.text(kOwn));
  if (op != "sum" && op != "mean")
    fail(ErrorCode::InvalidArgument, "reduce_scatter", b.loc(), "the derivative of a reduction by ", op,
         " is not defined");
  Tensor g = call(all_gather_op(), b.grad(), b.text(kMesh), b.integer(kAxis), b.loc());
  if (op == "mean") g = div(g, g.size(0), {}, b.loc());
  b.give(0, g);
}
void all_to_all(autograd::Backward& b) {
  b.give(0, call(all_to_all_op(), b.grad(), b.text(kMesh), b.integer(kAxis), b.loc()));
}
void mesh_broadcast(autograd::Backward& b) {
  const Tensor g = call(all_reduce_op(), b.grad(), b.text(kMesh), b.integer(kAxis), b.loc(), std::string_view("sum"));
  const Tensor here = coordinate_of(g, b.text(kMesh), b.integer(kAxis), b.loc());
  b.give(0, where(eq(here, b.integer(kOwn), b.loc()), g, 0, b.loc()));
}

}  // namespace derivatives

}  // namespace operators

// ---- the public functions

Tensor all_reduce(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, ReduceOp op, SourceLoc loc) {
  return named("all_reduce", [&] {
    const std::string name = to_string(op);
    const bool adds = op == ReduceOp::Sum || op == ReduceOp::Mean;
    return call(adds ? all_reduce_op() : all_extreme_op(), x, mesh.text(), axis.in(mesh.shape(), "all_reduce", loc),
                loc, std::string_view(name));
  });
}
Tensor all_gather(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int dim, SourceLoc loc) {
  return named("all_gather", [&] {
    const int d = dim_of(x, dim, "all_gather", loc);
    return operators::gathered(x, mesh, axis.in(mesh.shape(), "all_gather", loc), d, loc);
  });
}
Tensor reduce_scatter(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int dim, ReduceOp op,
                      SourceLoc loc) {
  return named("reduce_scatter", [&] {
    const int d = dim_of(x, dim, "reduce_scatter", loc);
    return operators::scattered(x, mesh, axis.in(mesh.shape(), "reduce_scatter", loc), d, op, loc);
  });
}
Tensor all_to_all(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int split_dim, Int join_dim,
                  SourceLoc loc) {
  return named("all_to_all", [&] {
    const int split = dim_of(x, split_dim, "all_to_all", loc), join = dim_of(x, join_dim, "all_to_all", loc);
    return operators::exchanged(x, mesh, axis.in(mesh.shape(), "all_to_all", loc), split, join, loc);
  });
}
Tensor broadcast(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, int root, SourceLoc loc) {
  return named("broadcast", [&] {
    return call(broadcast_op(), x, mesh.text(), axis.in(mesh.shape(), "broadcast", loc), loc, Int(root));
  });
}
Tensor mesh_coordinate(const Tensor& like, const DeviceMesh& mesh, const MeshAxis& axis, SourceLoc loc) {
  return named("mesh_coordinate",
               [&] { return coordinate_of(like, mesh.text(), axis.in(mesh.shape(), "mesh_coordinate", loc), loc); });
}
Tensor local_part(const Tensor& x, const DeviceMesh& mesh, const MeshAxis& axis, Int dim, SourceLoc loc) {
  return named("local_part", [&] {
    const int d = dim_of(x, dim, "local_part", loc);
    return operators::part_of(x, mesh, axis.in(mesh.shape(), "local_part", loc), d, loc);
  });
}

}  // namespace reprise
