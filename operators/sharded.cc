// Tensors of which each rank holds a part: how they are made, moved and read.
#include "operators/sharded.h"

#include <memory>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "operators/mesh.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise {

using operators::Part;

namespace operators {

Placements replicated(const DeviceMesh& mesh) { return Placements(static_cast<std::size_t>(mesh.axes())); }

Placements gradient_placements(Placements p) {
  for (Placement& one : p)
    if (one.is_partial()) one = Replicate();
  return p;
}

void expect_placements(const Placements& p, const MeshShape& mesh, int dims, const char* op, SourceLoc loc) {
  if (p.size() != static_cast<std::size_t>(mesh.axes()))
    fail(ErrorCode::InvalidArgument, op, loc, p.size(), " placements, ", to_string(p), ", for the ", mesh.axes(),
         " axes of the mesh ", to_string(mesh));
  for (const Placement& one : p)
    if (one.is_shard() && one.dim() >= dims)
      fail(ErrorCode::InvalidArgument, op, loc, "placements ", to_string(p), " of a tensor of ", dims, " dimensions");
}

Part part_of_handle(const Tensor& t, const DeviceMesh& mesh) {
  if (const Sharded* s = Sharded::of(t)) return {s->local, s->placements()};
  return {t, replicated(mesh)};
}

void expect_shared(const Sharded& s, const char* op, SourceLoc loc) {
  if (s.apart)
    fail(ErrorCode::InvalidArgument, op, loc, "writes to a view for which shards were moved (", s.placements_text,
         " now): it shares no memory with its tensor; write to the whole tensor, or to a clone()");
}

Tensor handle_of(Part p, const DeviceMesh& mesh, SourceLoc loc, bool apart) {
  Sharded s;
  s.apart = apart;
  s.local = std::move(p.local), s.mesh_text = mesh.text(), s.placements_text = to_string(p.placements);
  return s.tensor(loc);
}

namespace {

/// Moves one part from axis to axis.
class Mover {
 public:
  Mover(Part& at, const Placements& to, const DeviceMesh& mesh, const char* op, SourceLoc loc)
      : at_(at), to_(to), mesh_(mesh), op_(op), loc_(loc) {}

  // Where several axes shard one dimension, the first cuts it first. So an axis may get or lose a shard only while no
  // later axis shards the same dimension: shards go from the last axis to the first, and come from the first to the
  // last.
  void run() {
    for (int a = mesh_.axes(); a-- > 0;)
      if (at_.placements[index(a)].is_shard() && !stays(a)) leave(a);
    for (int a = 0; a < mesh_.axes(); ++a)
      if (at_.placements[index(a)] != to_[index(a)]) enter(a);
  }

 private:
  static std::size_t index(int axis) { return static_cast<std::size_t>(axis); }
  bool shards(const Placements& p, int axis, int dim) const { return p[index(axis)].is_shard(dim); }

  bool stays(int axis) const {
    const Placement p = at_.placements[index(axis)];
    if (to_[index(axis)] != p) return false;
    for (int before = 0; before < axis; ++before)
      if (shards(at_.placements, before, p.dim()) != shards(to_, before, p.dim())) return false;
    return true;
  }
  /// May this axis shard the dimension now, with all that comes after?
  bool may_shard(int axis, int dim) const {
    for (int a = 0; a < mesh_.axes(); ++a) {
      const bool now = shards(at_.placements, a, dim), then = shards(to_, a, dim);
      if (a > axis && now) return false;
      if (a < axis && now != then) return false;
    }
    return true;
  }
  void leave(int axis) {
    const int dim = at_.placements[index(axis)].dim();
    const Placement to = to_[index(axis)];
    if (to.is_shard() && to.dim() != dim && may_shard(axis, to.dim())) {
      expect_even(axis, to.dim());
      at_.local = exchanged(at_.local, mesh_, axis, to.dim(), dim, loc_);
      at_.placements[index(axis)] = to;
      return;
    }
    at_.local = gathered(at_.local, mesh_, axis, dim, loc_);
    at_.placements[index(axis)] = Replicate();
  }
  void enter(int axis) {
    Placement& now = at_.placements[index(axis)];
    const Placement to = to_[index(axis)];
    if (now.is_partial()) {
      const ReduceOp op = now.reduce();
      if (to.is_shard()) {
        expect_even(axis, to.dim());
        at_.local = scattered(at_.local, mesh_, axis, to.dim(), op, loc_);
        now = to;
        return;
      }
      at_.local = all_reduce(at_.local, mesh_, axis, op, loc_);
      now = Replicate();
    }
    if (to.is_shard()) {
      expect_even(axis, to.dim());
      at_.local = part_of(at_.local, mesh_, axis, to.dim(), loc_);
    } else if (to.is_partial() && to.reduce() == ReduceOp::Sum) {
      const Tensor here = mesh_coordinate(at_.local, mesh_, axis, loc_);
      at_.local = where(eq(here, 0, loc_), at_.local, zeros_like(at_.local, {}, loc_), loc_);
    }
    now = to;
  }
  void expect_even(int axis, int dim) const {
    const Int n = at_.local.size(dim, loc_);
    const std::int64_t k = mesh_.size(axis);
    if (!graph::require(detail::compare_eq(n % k, 0, loc_), "an equal shard for each rank"))
      fail(ErrorCode::ShapeMismatch, op_, loc_, "uneven shards: dimension ", dim, ", of which a rank holds ", n,
           ", is no multiple of the ", k, " ranks of axis '", mesh_.shape().name(axis), "' of the mesh ", mesh_.text(),
           " (", to_string(at_.placements), " -> ", to_string(to_), ")");
  }

  Part& at_;
  const Placements& to_;
  const DeviceMesh& mesh_;
  const char* op_;
  SourceLoc loc_;
};

}  // namespace

Part moved(Part from, const Placements& to, const DeviceMesh& mesh, const char* op, SourceLoc loc) {
  Mover(from, to, mesh, op, loc).run();
  return from;
}

// ---- on the tape

namespace {

/// What a derivative of a change between parts and tensors knows.
struct Change {
  DeviceMesh mesh;
  Placements gradient;        ///< of what was changed
  std::vector<double> share;  ///< of a part's gradient, by axis
  SourceLoc loc;
};
const Change& change_of(FunctionContext& c) { return *static_cast<const Change*>(c.more.get()); }

/// f(x), whose gradient `back` makes.
template <class F>
Tensor on_tape(const char* name, const Tensor& x, Change change, detail::FunctionBackward back, F&& f) {
  if (!is_grad_enabled() || !x.requires_grad()) return f();
  const SourceLoc loc = change.loc;
  return detail::call_function(
      name, {x},
      [&](FunctionContext& c) -> std::vector<Tensor> {
        c.set_materialize_grads(false);
        c.more = std::make_shared<Change>(std::move(change));
        return {f()};
      },
      back, loc)[0];
}

std::vector<Tensor> none_or(const std::vector<Tensor>& grads, const std::function<Tensor(const Tensor&)>& f) {
  return {grads[0].defined() ? f(grads[0]) : Tensor()};
}

/// Of a tensor that was distributed or redistributed.
std::vector<Tensor> back_to_placements(FunctionContext& c, std::vector<Tensor> grads) {
  const Change& k = change_of(c);
  return none_or(grads, [&](const Tensor& g) { return distribute(g, k.mesh, k.gradient, k.loc); });
}
std::vector<Tensor> back_to_whole(FunctionContext& c, std::vector<Tensor> grads) {
  return none_or(grads, [&](const Tensor& g) { return full_tensor(g, change_of(c).loc); });
}
/// Of parts that became a tensor: each gets its part.
std::vector<Tensor> back_to_parts(FunctionContext& c, std::vector<Tensor> grads) {
  const Change& k = change_of(c);
  return none_or(grads, [&](const Tensor& g) {
    double share = 1;
    for (const double s : k.share) share *= s;
    const Tensor part = to_parts(distribute(g, k.mesh, k.gradient, k.loc), k.gradient, k.loc);
    return share == 1 ? part : mul(part, share, k.loc);
  });
}
/// Of a tensor that was taken for its parts.
std::vector<Tensor> back_of_parts(FunctionContext& c, std::vector<Tensor> grads) {
  const Change& k = change_of(c);
  return none_or(grads, [&](const Tensor& g) {
    return of_parts(g, k.mesh, k.gradient, std::vector<bool>(k.gradient.size()), k.loc);
  });
}

}  // namespace

Tensor to_parts(const Tensor& x, const Placements& gradient, SourceLoc loc) {
  const Sharded& s = Sharded::from(x, loc);
  // (A handle of its own: what the caller makes of it is not made of the wrapper's inner tensor.)
  return on_tape("to_local", x, {s.mesh(loc), gradient, {}, loc}, back_of_parts, [&] { return alias(s.local, loc); });
}

Tensor of_parts(const Tensor& local, const DeviceMesh& mesh, const Placements& p, const std::vector<bool>& active,
                SourceLoc loc) {
  Change change{mesh, gradient_placements(p), {}, loc};
  for (int a = 0; a < mesh.axes(); ++a) {
    const Placement& one = p[static_cast<std::size_t>(a)];
    if (one.is_partial() && one.reduce() != ReduceOp::Sum && one.reduce() != ReduceOp::Mean && local.requires_grad())
      fail(ErrorCode::InvalidArgument, "from_local", loc, "the derivative of parts of ", to_string(one),
           " is not defined");
    const bool mean = one.is_partial() && one.reduce() == ReduceOp::Mean;
    if (mean || (one.is_replicate() && active[static_cast<std::size_t>(a)]))
      change.share.push_back(1.0 / static_cast<double>(mesh.size(a)));
  }
  return on_tape("from_local", local, std::move(change), back_to_parts, [&] {
    return handle_of({local.requires_grad() ? detach(local, loc) : local, p}, mesh, loc);
  });
}

}  // namespace operators

// ---- Sharded

DeviceMesh Sharded::mesh(SourceLoc loc) const { return DeviceMesh(operators::mesh_of(mesh_text, "Sharded", loc)); }
const Placements& Sharded::placements() const { return operators::placements_of_text(placements_text); }

Looks Sharded::looks() const {
  const MeshShape& shape = operators::mesh_shape_of(mesh_text);
  Ints sizes = local.sizes();
  const Placements& p = placements();
  for (int a = 0; a < shape.axes(); ++a)
    if (const Placement& one = p[static_cast<std::size_t>(a)]; one.is_shard()) {
      Int& n = sizes[static_cast<std::size_t>(one.dim())];
      n = n * shape.size(a);
    }
  return {sizes, local.dtype()};
}

Tensor Sharded::plain(SourceLoc loc) const {
  const DeviceMesh m = mesh(loc);
  return operators::moved({local, placements()}, operators::replicated(m), m, "full_tensor", loc).local;
}

void Sharded::store(const Tensor& value, SourceLoc loc) const {
  operators::expect_shared(*this, "copy_", loc);
  const DeviceMesh m = mesh(loc);
  local.copy_(operators::moved({value, operators::replicated(m)}, placements(), m, "copy_", loc).local, loc);
}

bool is_sharded(const Tensor& t) noexcept { return Sharded::of(t) != nullptr; }
const Placements& placements_of(const Tensor& t, SourceLoc loc) { return Sharded::from(t, loc).placements(); }

Tensor distribute(const Tensor& x, const DeviceMesh& mesh, const Placements& placements, SourceLoc loc) {
  const char* const op = "distribute";
  if (!x.defined()) fail(ErrorCode::InvalidArgument, op, loc, "an undefined tensor");
  operators::expect_placements(placements, mesh.shape(), x.dim(), op, loc);
  if (const Sharded* s = Sharded::of(x)) {
    if (s->mesh_text != mesh.text())
      fail(ErrorCode::InvalidArgument, op, loc, "a tensor of the mesh ", s->mesh_text, " for the mesh ", mesh.text());
    if (s->placements() == placements) return x;
    return operators::on_tape(
        op, x, {mesh, operators::gradient_placements(s->placements()), {}, loc}, operators::back_to_placements, [&] {
          Part p{s->local, s->placements()};
          return operators::handle_of(operators::moved(std::move(p), placements, mesh, op, loc), mesh, loc);
        });
  }
  return operators::on_tape(op, x, {mesh, {}, {}, loc}, operators::back_to_whole, [&] {
    const Tensor whole = x.requires_grad() ? detach(x, loc) : x;
    Part p{whole, operators::replicated(mesh)};
    return operators::handle_of(operators::moved(std::move(p), placements, mesh, op, loc), mesh, loc);
  });
}

Tensor from_local(const Tensor& local, const DeviceMesh& mesh, const Placements& placements, SourceLoc loc) {
  if (!local.defined() || is_wrapper(local))
    fail(ErrorCode::InvalidArgument, "from_local", loc, "wants a plain tensor");
  operators::expect_placements(placements, mesh.shape(), local.dim(), "from_local", loc);
  return operators::of_parts(local, mesh, placements, std::vector<bool>(placements.size()), loc);
}

Tensor to_local(const Tensor& x, const Placements& gradient, SourceLoc loc) {
  const Sharded& s = Sharded::from(x, loc);
  if (!gradient.empty()) operators::expect_placements(gradient, s.mesh(loc).shape(), x.dim(), "to_local", loc);
  return operators::to_parts(x, gradient.empty() ? operators::gradient_placements(s.placements()) : gradient, loc);
}

Tensor redistribute(const Tensor& x, const Placements& placements, SourceLoc loc) {
  return distribute(x, Sharded::from(x, loc).mesh(loc), placements, loc);
}

Tensor full_tensor(const Tensor& x, SourceLoc loc) {
  const Sharded* const s = Sharded::of(x);
  if (!s) return x;
  const DeviceMesh mesh = s->mesh(loc);
  return operators::on_tape(
      "full_tensor", x, {mesh, operators::gradient_placements(s->placements()), {}, loc}, operators::back_to_placements,
      [&] {
        Part p{s->local, s->placements()};
        Tensor whole = operators::moved(std::move(p), operators::replicated(mesh), mesh, "full_tensor", loc).local;
        return whole.is_same(s->local) ? alias(whole, loc) : whole;
      });
}

}  // namespace reprise
