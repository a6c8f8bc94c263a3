// How calls with Sharded tensors are served: which axis shards which dimensions, what moves before, what is whole.
#include "operators/sharded_rules.h"

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "comm/warn_once.h"
#include "graph/op.h"
#include "operators/mesh.h"

namespace reprise::operators {

bool ShardingRule::is_whole(int label) const { return std::find(whole.begin(), whole.end(), label) != whole.end(); }
std::optional<ReduceOp> ShardingRule::contraction(int label) const {
  for (const auto& [of, op] : contracted)
    if (of == label) return op;
  return std::nullopt;
}

std::vector<Tensor> tensors_of(WrapperCall& c) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < c.size(); ++i) {
    if (!c.has(i)) continue;
    if (c.is_tensor(i)) {
      if (c.tensor(i).defined()) all.push_back(c.tensor(i));
    } else if (c.op() == "cat" && i == 0) {
      for (const Tensor& t : c.tensors(i)) all.push_back(t);
    }
  }
  return all;
}

DeviceMesh mesh_of_call(WrapperCall& c, const std::vector<Tensor>& tensors) {
  const Sharded* first = nullptr;
  for (const Tensor& t : tensors) {
    const Sharded* s = Sharded::of(t);
    if (!s) continue;
    if (!first) first = s;
    if (s->mesh_text != first->mesh_text)
      fail(ErrorCode::InvalidArgument, std::string(c.op()).c_str(), c.loc(), "tensors of two meshes, ",
           first->mesh_text, " and ", s->mesh_text);
  }
  if (!first)
    fail(ErrorCode::InvalidArgument, std::string(c.op()).c_str(), c.loc(), "takes no lists of Sharded tensors");
  return first->mesh(c.loc());
}

namespace {

/// Plans axis after axis.
class Planner {
 public:
  Planner(const ShardingRule& rule, const std::vector<Tensor>& tensors, const DeviceMesh& mesh, bool inplace)
      : rule_(rule), tensors_(tensors), mesh_(mesh), inplace_(inplace) {
    for (const Tensor& t : tensors) {
      const Sharded* s = Sharded::of(t);
      now_.push_back(s ? s->placements() : replicated(mesh));
    }
    out_.operands.resize(tensors.size());
  }

  ShardingPlan run() {
    for (int a = 0; a < mesh_.axes(); ++a) axis(static_cast<std::size_t>(a));
    return std::move(out_);
  }

 private:
  void axis(std::size_t a) {
    const int label = chosen(a);
    const std::optional<ReduceOp> partial = label == kNoLabel ? kept_partial(a) : std::nullopt;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      Placement p = Replicate();
      if (const int d = dim_of(rule_.operands[i], label); label != kNoLabel && d >= 0) p = Shard(d);
      else if (partial && (rule_.partials != Partials::Bilinear || now_[i][a].is_partial())) p = Partial(*partial);
      out_.operands[i].push_back(p);
    }
    if (label != kNoLabel) {
      cut_[label] = factor(label) * mesh_.size(static_cast<int>(a));
      const int d = dim_of(rule_.result, label);
      out_.result.push_back(d >= 0 ? Shard(d) : Partial(*rule_.contraction(label)));
    } else {
      out_.result.push_back(partial ? Partial(*partial) : Replicate());
    }
  }

  static int dim_of(const Labels& labels, int label) {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? -1 : static_cast<int>(at - labels.begin());
  }
  std::int64_t factor(int label) const {
    const auto at = cut_.find(label);
    return at == cut_.end() ? 1 : at->second;
  }
  /// Can this axis cut all that has the label, into equal parts?
  bool may_shard(int label, std::size_t a) const {
    if (label == kNoLabel || rule_.is_whole(label)) return false;
    if (dim_of(rule_.result, label) < 0 && !rule_.contraction(label)) return false;
    const std::int64_t parts = factor(label) * mesh_.size(static_cast<int>(a));
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (const int d = dim_of(rule_.operands[i], label); d >= 0 && tensors_[i].size(d).hint() % parts != 0)
        return false;
    return true;
  }
  /// The label that the largest operands are sharded by along this axis: the smaller ones are moved. What is written in
  /// place stays where it is.
  int chosen(std::size_t a) const {
    if (inplace_) {
      const Placement p = now_[0][a];
      if (!p.is_shard()) return kNoLabel;
      const int label = rule_.operands[0][static_cast<std::size_t>(p.dim())];
      if (may_shard(label, a)) return label;
    }
    std::map<int, double> elements;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Placement p = now_[i][a];
      if (!p.is_shard()) continue;
      const int label = rule_.operands[i][static_cast<std::size_t>(p.dim())];
      if (may_shard(label, a)) elements[label] += static_cast<double>(tensors_[i].numel().hint());
    }
    int best = kNoLabel;
    for (const auto& [label, n] : elements)
      if (best == kNoLabel || n > elements[best]) best = label;
    return best;
  }
  /// The reduction that the result is still to undergo, if operands need not before.
  std::optional<ReduceOp> kept_partial(std::size_t a) const {
    std::size_t partial = 0, others = 0;
    std::optional<ReduceOp> op;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const Placement p = now_[i][a];
      if (p.is_shard()) return std::nullopt;
      if (!p.is_partial()) {
        ++others;
        continue;
      }
      if (op && *op != p.reduce()) return std::nullopt;
      if (rule_.partials == Partials::Bilinear && !(rule_.partial_operands >> i & 1)) return std::nullopt;
      op = p.reduce(), ++partial;
    }
    if (!op) return std::nullopt;
    const bool linear = *op == ReduceOp::Sum || *op == ReduceOp::Mean;
    switch (rule_.partials) {
      case Partials::None: return std::nullopt;
      case Partials::Moved: return op;
      case Partials::Linear: return linear ? op : std::nullopt;
      case Partials::Added: return linear && (others == 0 || !inplace_ || now_[0][a].is_partial()) ? op : std::nullopt;
      case Partials::Bilinear: return linear && partial == 1 ? op : std::nullopt;
    }
    return std::nullopt;
  }

  const ShardingRule& rule_;
  const std::vector<Tensor>& tensors_;
  const DeviceMesh& mesh_;
  const bool inplace_;
  std::vector<Placements> now_;
  std::map<int, std::int64_t> cut_;
  ShardingPlan out_;
};

/// Does a view of it that is made with these placements share no memory with it?
bool is_apart(const Tensor& x, const Placements& with) {
  const Sharded* s = Sharded::of(x);
  return s && (s->apart || s->placements() != with);
}

/// The handle that is written gets what was made of its part.
void write_back(const Tensor& handle, Part made, const DeviceMesh& mesh, const char* op, SourceLoc loc) {
  const Sharded& self = Sharded::from(handle, loc);
  expect_shared(self, op, loc);
  const Part at_home = moved(std::move(made), self.placements(), mesh, op, loc);
  if (!at_home.local.is_same(self.local)) self.local.copy_(at_home.local, loc);
}

}  // namespace

ShardingPlan plan(const ShardingRule& rule, const std::vector<Tensor>& tensors, const DeviceMesh& mesh, bool inplace) {
  return Planner(rule, tensors, mesh, inplace).run();
}

void answer(WrapperCall& c, const ShardingRule& rule, const OfParts& f) {
  const std::string op = std::string(c.op()) + (c.inplace() ? "_" : "");
  const std::vector<Tensor> tensors = tensors_of(c);
  const DeviceMesh mesh = mesh_of_call(c, tensors);
  const ShardingPlan p = plan(rule, tensors, mesh, c.inplace());
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    parts.push_back(moved(part_of_handle(tensors[i], mesh), p.operands[i], mesh, op.c_str(), c.loc()).local);
  std::size_t next = 0;
  std::vector<Tensor> made = f ? f(parts, p.result) : c.call([&](const Tensor&) { return parts[next++]; });
  if (c.inplace()) {
    if (is_sharded(c.tensor(0))) {
      write_back(c.tensor(0), {made[0], p.result}, mesh, op.c_str(), c.loc());
    } else {
      c.tensor(0).copy_(moved({made[0], p.result}, replicated(mesh), mesh, op.c_str(), c.loc()).local, c.loc());
    }
    return c.answer(c.tensor(0));
  }
  const bool apart = c.is_view() && is_apart(tensors[0], p.operands[0]);
  for (Tensor& t : made) t = handle_of({t, p.result}, mesh, c.loc(), apart);
  c.answer(std::move(made));
}

Ints part_sizes(const Ints& whole, const Placements& p, const MeshShape& mesh) {
  Ints sizes = whole;
  for (int a = 0; a < mesh.axes(); ++a)
    if (const Placement& one = p[static_cast<std::size_t>(a)]; one.is_shard()) {
      Int& n = sizes[static_cast<std::size_t>(one.dim())];
      n = n / mesh.size(a);
    }
  return sizes;
}

namespace {

/// The first rank says it for all.
void tell(WrapperCall& c, const DeviceMesh& mesh) {
  if (mesh.rank() != 0) return;
  std::string what;
  for (std::size_t i = 0; i < c.size(); ++i)
    if (c.is_tensor(i) && is_sharded(c.tensor(i)))
      what += (what.empty() ? "" : ", ") + to_string(placements_of(c.tensor(i)));
  comm::warn_once(std::string(c.op()) + " has no rule for shards: its operands (" + what +
                  ") are gathered whole on each rank (docs/sharding.md)");
}

/// Everything whole, on every rank.
void answer_whole(WrapperCall& c) {
  const graph::OpDef* def = graph::find_op(c.op());
  if (c.op() == "item" || (def && !def->writes.empty())) return unwrap(c);
  std::vector<Tensor> tensors;
  std::optional<DeviceMesh> mesh;
  const std::string op = std::string(c.op()) + (c.inplace() ? "_" : "");
  Tensor written;
  bool shards = false;
  std::vector<Tensor> made = c.call([&](const Tensor& t) {
    const Sharded* s = Sharded::of(t);
    if (!s) return t;
    if (!mesh) mesh = s->mesh(c.loc());
    if (s->mesh_text != mesh->text())
      fail(ErrorCode::InvalidArgument, op.c_str(), c.loc(), "tensors of two meshes, ", mesh->text(), " and ",
           s->mesh_text);
    if (!shards && s->placements() != replicated(*mesh)) shards = true, tell(c, *mesh);
    return plain(t, c.loc());
  });
  if (c.inplace()) {
    if (is_sharded(c.tensor(0))) write_back(c.tensor(0), {made[0], replicated(*mesh)}, *mesh, op.c_str(), c.loc());
    return c.answer(c.tensor(0));
  }
  for (Tensor& t : made)
    if (t.defined())
      t = handle_of({t, replicated(*mesh)}, *mesh, c.loc(), c.is_view() && is_apart(c.tensor(0), replicated(*mesh)));
  c.answer(std::move(made));
}

}  // namespace

}  // namespace reprise::operators

namespace reprise {

void Sharded::dispatch(WrapperCall& c) {
  c.otherwise([](WrapperCall& c) {
    using namespace operators;
    if (answer_view(c) || answer_product(c) || answer_row(c) || answer_pointwise(c)) return;
    answer_whole(c);
  });
}

}  // namespace reprise
