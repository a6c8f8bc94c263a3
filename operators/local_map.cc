// Functions of parts as functions of Sharded tensors.
#include <algorithm>
#include <map>
#include <mutex>
#include <thread>

#include "base/errors.h"
#include "base/line_text.h"
#include "graph/interpreter.h"
#include "operators/sharded.h"
#include "tensor/impl.h"

namespace reprise {

namespace detail {

class PureBody;

struct LocalMapRegion {
  LocalMapRegion(LocalMapOptions o, SourceLoc at) : options(std::move(o)), loc(at) {}
  const LocalMapOptions options;
  const SourceLoc loc;
  /// One for each thread, and always the same: functions that the body calls are compiled for whom they are seen by.
  PureBody& watcher() const;
  mutable std::mutex mutex;
  mutable std::map<std::thread::id, std::shared_ptr<PureBody>> watchers;

  /// "context_parallel (net.cc:41)"
  std::string named() const { return options.name + (loc ? " (" + line_text(loc) + ")" : ""); }
  template <class... P>
  [[noreturn]] void refuse(SourceLoc at, const P&... why) const {
    fail(ErrorCode::InvalidArgument, "local_map", at ? at : loc, named(), ": ", why...);
  }
};

/// While the body runs: sees that it changes nothing, and what its results show.
class PureBody final : public graph::Interpreter {
 public:
  explicit PureBody(const LocalMapRegion& region) : region_(region) {}

  /// Watches a call with these arguments, until it is destroyed.
  class Watch {
   public:
    Watch(PureBody& b, const std::vector<Tensor>& arguments) : b_(b) {
      b_.arguments_ = arguments.size(), b_.shown_ = arguments, b_.drawn_ = false;
    }
    ~Watch() { b_.shown_.clear(), b_.of_.clear(); }
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    PureBody& b_;
  };

  void call(const graph::OpCall& c, std::vector<Tensor>& results) override {
    if (drawn_ || c.op.cls == graph::OpClass::Random)
      region_.refuse(c.loc, "its body draws random numbers (", c.op.schema.name,
                     "), which would be the same on all ranks: draw them outside, and pass them");
    if (c.inplace) expect_own(c, 0);
    for (const std::uint32_t i : c.op.writes) expect_own(c, i);
    const std::size_t before = results.size();
    graph::forward(c, results);
    // Views of arguments, and views of these.
    if (c.op.cls == graph::OpClass::View && !c.inplace)
      if (const std::optional<std::size_t> of = shows(*std::get<const Tensor*>(c.args[0])))
        for (std::size_t i = before; i < results.size(); ++i) shown_.push_back(results[i]), of_.push_back(*of);
  }
  void mutate_metadata(const graph::OpCall& c) override {
    expect_own(c, 0);
    graph::forward_metadata(c);
  }
  // The call that takes them names its line.
  std::pair<Int, Int> next_random(Int) override {
    drawn_ = true;
    return {0, 0};
  }

  bool drawn() const { return drawn_; }
  /// The argument that this tensor is, or shows.
  std::optional<std::size_t> shows(const Tensor& t) const {
    for (std::size_t i = 0; i < shown_.size(); ++i)
      if (shown_[i].is_same(t)) return i < arguments_ ? i : of_[i - arguments_];
    return std::nullopt;
  }

 private:
  void expect_own(const graph::OpCall& c, std::size_t arg) const {
    const auto check = [&](const Tensor& t) {
      if (const std::optional<std::size_t> of = shows(t))
        region_.refuse(c.loc, "its body writes to argument ", *of, " (", c.op.schema.name, c.inplace ? "_" : "", ")");
    };
    if (auto* t = std::get_if<const Tensor*>(&c.args[arg]); t && *t) check(**t);
    if (auto* list = std::get_if<TensorArrayRef>(&c.args[arg]))
      for (const Tensor& t : *list) check(t);
  }
  const LocalMapRegion& region_;
  std::size_t arguments_ = 0;
  std::vector<Tensor> shown_;
  std::vector<std::size_t> of_;  // behind the arguments: whose view it is
  bool drawn_ = false;
};

PureBody& LocalMapRegion::watcher() const {
  const std::lock_guard lock(mutex);
  std::shared_ptr<PureBody>& w = watchers[std::this_thread::get_id()];
  if (!w) w = std::make_shared<PureBody>(*this);
  return *w;
}

}  // namespace detail

using detail::LocalMapRegion;

std::shared_ptr<LocalMapRegion> detail::make_local_map(LocalMapOptions options, SourceLoc loc) {
  auto region = std::make_shared<LocalMapRegion>(std::move(options), loc);
  if (const auto& mesh = region->options.mesh)
    for (const std::vector<Placements>* list : {&region->options.in, &region->options.out})
      for (const Placements& p : *list) operators::expect_placements(p, mesh->shape(), kMaxRank, "local_map", loc);
  return region;
}

std::vector<Tensor> detail::call_local_map(const LocalMapRegion& region, const std::vector<Tensor>& arguments,
                                           const LocalBody& body) {
  const LocalMapOptions& o = region.options;
  if (!o.mesh) return body(arguments);
  const DeviceMesh& mesh = *o.mesh;
  if (arguments.size() != o.in.size())
    region.refuse({}, arguments.size(), " arguments, and placements of ", o.in.size());
  // Along an axis where anything is cut, or is to be added up, ranks compute different things.
  std::vector<bool> active(static_cast<std::size_t>(mesh.axes()), false);
  for (const std::vector<Placements>* list : {&o.in, &o.out})
    for (const Placements& p : *list)
      for (std::size_t a = 0; a < p.size(); ++a) active[a] = active[a] || !p[a].is_replicate();

  // All are asked before the first is moved.
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].defined()) region.refuse({}, "argument ", i, " is undefined");
    const Sharded* const s = Sharded::of(arguments[i]);
    if (s && s->mesh_text != mesh.text())
      region.refuse({}, "argument ", i, " is of the mesh ", s->mesh_text, ", and its own is ", mesh.text());
    if (s && !o.redistribute_inputs && s->placements() != o.in[i])
      region.refuse({}, "argument ", i, " is ", to_string(s->placements()), ", and it takes ", to_string(o.in[i]),
                    " (redistribute_inputs is off)");
  }
  std::vector<Tensor> parts;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    Placements gradient = operators::gradient_placements(o.in[i]);
    for (std::size_t a = 0; a < gradient.size(); ++a)
      if (active[a] && o.in[i][a].is_replicate()) gradient[a] = Partial();
    parts.push_back(operators::to_parts(distribute(arguments[i], mesh, o.in[i], region.loc), gradient, region.loc));
  }

  PureBody& pure = region.watcher();
  const PureBody::Watch watch(pure, parts);
  std::vector<Tensor> results;
  std::vector<std::uint64_t> versions;
  if (!current_trace)
    for (const Tensor& t : parts) versions.push_back(t.version());
  {
    const graph::ModeScope scope(pure);
    results = body(parts);
  }
  // What a compiled function has written in a replay, nobody has seen before.
  for (std::size_t i = 0; i < versions.size() && !current_trace; ++i)
    if (parts[i].version() != versions[i]) region.refuse({}, "its body has written to argument ", i);
  if (pure.drawn()) region.refuse({}, "its body draws random numbers: draw them outside, and pass them");
  if (results.size() != o.out.size())
    region.refuse({}, "its body gives ", results.size(), " tensors, and placements are of ", o.out.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].defined()) region.refuse({}, "its body gives an undefined tensor, result ", i);
    if (const std::optional<std::size_t> of = pure.shows(results[i]))
      region.refuse({}, "result ", i, " of its body is argument ", *of, ", or a view of it: clone() it");
    for (std::size_t k = 0; k < i; ++k)
      if (results[k].is_same(results[i])) region.refuse({}, "results ", k, " and ", i, " of its body are one tensor");
    operators::expect_placements(o.out[i], mesh.shape(), results[i].dim(), "local_map", region.loc);
    results[i] = operators::of_parts(results[i], mesh, o.out[i], active, region.loc);
  }
  return results;
}

}  // namespace reprise
