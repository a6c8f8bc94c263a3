#include "passes/functionalize.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/errors.h"
#include "base/knobs.h"
#include "graph/functional_form.h"
#include "graph/map_values.h"
#include "graph/parts.h"
#include "graph/shape_rules.h"
#include "graph/view_column.h"
#include "graph/writers.h"
#include "passes/registered.h"
#include "passes/view_chains.h"

namespace reprise::passes {

using graph::Graph;
using graph::Node;
using graph::NodeArg;
using graph::NodeInfo;
using graph::OpClass;
using graph::OpId;
using graph::OutputSpec;
using graph::PutBack;
using graph::ValueId;
using graph::ViewOf;

namespace {

/// Are its strides those of a tensor that is made with its sizes, also in dimensions of size 0 and 1?
bool is_as_made(const Layout& l) { return graph::identical(l.strides, graph::made_strides(l.sizes)); }

thread_local bool t_first_form = false;

class Functionalizer {
 public:
  Functionalizer(Graph traced, std::span<const TracedInput> facts)
      : in_(std::move(traced)), facts_(facts), of_(in_.values.size()), out_(made_.graph) {
    out_.name = in_.name;
    out_.env = in_.env;
    out_.numbers = in_.numbers;
    for (std::size_t i = 0; i < in_.inputs.size(); ++i) {
      const graph::Value& v = in_.values[in_.inputs[i].value.v];
      new_storage(in_.inputs[i].value, out_.add_input(v.meta, v.name, in_.inputs[i].kind, in_.inputs[i].captured),
                  static_cast<std::int32_t>(i));
      origins_.emplace(facts_[i].handle ? facts_[i].handle.v : in_.inputs[i].value.v, static_cast<std::uint32_t>(i));
    }
  }

  Functionalized run() {
    try {
      for (Node& n : in_.nodes) node(n);
      results();
      inputs_after();
    } catch (Functionalized::Wanted& w) {
      made_.wanted = std::move(w);
    }
    made_.bases.resize(out_.outputs.size());
    return std::move(made_);
  }

 private:
  struct Storage {
    ValueId base;                  ///< its current value
    std::uint64_t generation = 0;  ///< one more for each write
    std::int32_t input = -1;       ///< the input that it belongs to, or -1
  };
  /// A traced value.
  struct State {
    std::uint32_t storage = 0;
    ValueId value;  ///< in the functional graph; as of `generation` of the storage
    std::uint64_t generation = 0;
    std::uint64_t made = 0;  ///< a view: the storage's generation then
  };

  // ---- values
  const TensorMeta& seen(ValueId v) const { return in_.meta(v); }  ///< as the program sees it
  Storage& storage(ValueId v) { return storages_[of_[v.v].storage]; }
  bool is_current(ValueId v) { return of_[v.v].value && of_[v.v].generation == storage(v).generation; }
  void set(ValueId v, ValueId value) { of_[v.v].value = value, of_[v.v].generation = storage(v).generation; }

  void new_storage(ValueId v, ValueId base, std::int32_t input = -1) {
    of_[v.v] = {static_cast<std::uint32_t>(storages_.size()), base, 0};
    storages_.push_back({base, 0, input});
  }

  const Node* view_of(ValueId v) const { return passes::view_of(in_, v); }
  std::vector<ValueId> chain(ValueId v) const { return chain_of(in_, v); }

  ValueId contiguous(ValueId v, const NodeInfo& info) {
    if (known_contiguous(out_.meta(v).layout)) return v;
    v = out_.add(OpId::clone, {v}, info);
    out_.nodes.back().keeps_self = true;
    return v;
  }

  /// Adds a node whose results are known to have these metadata.
  ValueId add_as(OpId op, std::vector<NodeArg> args, const NodeInfo& info, const std::vector<ValueId>& traced_results) {
    std::vector<TensorMeta> metas;
    metas.reserve(traced_results.size());
    for (ValueId r : traced_results) metas.push_back(seen(r));
    return out_.append(op, std::move(args), std::move(metas), info);
  }

  ValueId replay_view(ValueId on, ValueId v) {
    const Node& n = *view_of(v);
    // It was possible on the strides that the user's tensor had; a value made by a write is laid out otherwise.
    const ViewOf of = graph::view_facts_of(n.op).of;
    const bool as_seen = graph::identical(out_.meta(on).layout, seen(operand(n)).layout);
    if (of == ViewOf::Storage ||
        (of == ViewOf::JoinedDims && !(as_seen && only_splits(seen(operand(n)).layout.sizes, seen(v).layout.sizes))))
      on = contiguous(on, n.info);
    std::vector<NodeArg> args = n.args;
    args[0] = on;
    if (of == ViewOf::Storage) {
      const Layout &place = seen(v).layout, &whole = out_.meta(on).layout;
      args[3] = place.offset;
      // All of it in order (a storage that grows).
      if (place.dim() == 1 && identical(place.strides[0], Int(1)) && identical(place.offset, Int(0)) &&
          identical(place.sizes[0], numel(whole.sizes)))
        return whole.dim() == 1 ? on : out_.add(OpId::view, {on, place.sizes}, n.info);
    } else if (graph::identical(out_.meta(on).layout, seen(operand(n)).layout)) {
      return add_as(n.op, std::move(args), n.info, n.results);
    }
    return out_.add(n.op, std::move(args), n.info);
  }

  /// Its current value: its chain replayed after writes.
  ValueId value(ValueId v) {
    if (is_current(v)) return of_[v.v].value;
    std::vector<ValueId> stale;
    const Node* n = nullptr;
    for (ValueId at = v;; at = operand(*n)) {
      stale.push_back(at);
      n = view_of(at);
      if (!n || graph::is_view_of_storage(n->op) || is_current(operand(*n))) break;
    }
    for (; !stale.empty(); stale.pop_back()) {
      const ValueId at = stale.back();
      n = view_of(at);
      set(at, !n ? storage(at).base
                 : replay_view(graph::is_view_of_storage(n->op) ? storage(at).base : value(operand(*n)), at));
    }
    return of_[v.v].value;
  }

  NodeArg value_of(NodeArg a) {
    graph::map_values(a, [&](ValueId v) { return value(v); });
    return a;
  }
  std::vector<NodeArg> values_of(std::vector<NodeArg> args) {
    for (NodeArg& a : args) a = value_of(std::move(a));
    return args;
  }

  // ---- storages of inputs
  const Layout& layout_of_input(std::int32_t i) const {
    return seen(in_.inputs[static_cast<std::size_t>(i)].value).layout;
  }
  /// Its elements, in order, are the storage's.
  bool shows_storage(const Storage& s) const { return s.input < 0 || known_contiguous(layout_of_input(s.input)); }
  /// Throws Wanted.
  [[noreturn]] void want(std::int32_t input, const char* op, SourceLoc loc, const char* why) const {
    throw Functionalized::Wanted{static_cast<std::uint32_t>(input), op, loc, why};
  }
  /// Places in the storage are named. An input shows only its own elements: they are the storage when it is row-major
  /// and covers it, as it then must at every call.
  void need_places(const Storage& s, SourceLoc loc) {
    if (s.input < 0) return;
    const TracedInput& of = facts_[static_cast<std::size_t>(s.input)];
    if (!of.covers_storage || !known_contiguous(layout_of_input(s.input)))
      want(s.input, "as_strided", loc, "as_strided of an argument that does not cover its storage row-major");
    const std::uint32_t i = static_cast<std::uint32_t>(s.input);
    std::vector<std::uint32_t>& list = made_.cover_storage;
    if (!of.is_storage && std::find(list.begin(), list.end(), i) == list.end()) list.push_back(i);
  }

  /// As it is before the call, to the last stride.
  Layout layout_of_handle(std::uint32_t i) {
    made_.strides_read.push_back(i);
    const TracedInput& fact = facts_[i];
    Layout l = fact.layout ? *fact.layout : seen(in_.inputs[i].value).layout;
    if (fact.strides_from_sizes) l.strides = graph::made_strides(l.sizes);
    return l;
  }
  /// What the caller gets to see of a value.
  Layout exact_layout(ValueId v) {
    ValueId from = v;
    for (const Node* n; !origins_.contains(from.v) && (n = view_of(from)) && !graph::is_view_of_storage(n->op);)
      from = operand(*n);
    Layout start;
    if (auto origin = origins_.find(from.v); origin != origins_.end()) {
      start = layout_of_handle(origin->second);
    } else {
      start = seen(from).layout;
      if (!view_of(from) && known_contiguous(start)) start.strides = graph::made_strides(start.sizes);
      from = {};
    }
    return replay_layout(in_, v, from, std::move(start), {});
  }

  // ---- nodes
  void node(Node& n) {
    if (n.inplace) return write(n);
    if (is_view(n)) {
      if (graph::is_view_of_storage(n.op)) need_places(storage(operand(n)), n.info.loc);
      of_[n.results[0].v].storage = of_[operand(n).v].storage;  // its value is made when it is read
      of_[n.results[0].v].made = storage(operand(n)).generation;
      return;
    }
    if (graph::is_scatter_in_storage(n.op)) return scatter_in_storage(n);
    if (const graph::FunctionalForm* form = in_.nodes.size() > 1 ? graph::functional_forms().find(n.op) : nullptr)
      return write_by_form(n, *form);
    if (graph::op(n.op).functional) return write_arguments(n);
    ValueId first = add_as(n.op, values_of(std::move(n.args)), n.info, n.results);
    for (std::uint32_t i = 0; i < n.results.size(); ++i) new_storage(n.results[i], {first.v + i});
  }

  void write(Node& n) {
    const ValueId self = operand(n);
    const graph::OpDef& def = graph::op(n.op);
    const bool is_update = def.cls == OpClass::Reference && def.has_inplace;
    ValueId made = out_.add(n.op, values_of(std::move(n.args)), n.info);
    out_.nodes.back().keeps_self = true;
    part_is_copied_ = n.op == OpId::copy;
    if (out_.meta(made).dtype != seen(self).dtype) made = out_.add(OpId::to, {made, seen(self).dtype}, n.info);
    write(self, made, n.info, is_update);
  }

  /// The functional twin gives the new values of the written arguments, then what the operator makes. See Note [Two
  /// forms of a write].
  void write_arguments(Node& n) {
    const graph::OpDef& def = graph::op(n.op);
    std::vector<std::vector<graph::ViewStep>> steps = steps_to_written(def, n.args);
    // What results are of: a storage that is written through views, or the traced value that is written itself.
    struct Result {
      std::int64_t storage;
      ValueId value;
    };
    std::vector<Result> written;
    std::vector<TensorMeta> metas;
    auto add = [&](Result r, TensorMeta m) {
      m.layout = {m.layout.sizes, contiguous_strides(m.layout.sizes), 0};
      written.push_back(r);
      metas.push_back(std::move(m));
    };
    std::vector<NodeArg> args(n.args.size());
    for (std::size_t i = 0; i < n.args.size(); ++i) {
      if (steps[i].empty()) {
        args[i] = value_of(n.args[i]);
        if (graph::is_written(def, i)) graph::for_each_value(n.args[i], [&](ValueId v) { add({-1, v}, seen(v)); });
        continue;
      }
      const std::int64_t at = of_[std::get<ValueId>(n.args[i]).v].storage;
      ValueId& base = storages_[static_cast<std::size_t>(at)].base;
      if (std::none_of(written.begin(), written.end(), [&](const Result& r) { return r.storage == at; })) {
        // Two storages may hold one value by now; what is written is one memory each.
        if (std::any_of(written.begin(), written.end(), [&](const Result& r) {
              return r.storage >= 0 && storages_[static_cast<std::size_t>(r.storage)].base == base;
            }))
          base = out_.add(OpId::clone, {base}, n.info);
        add({at, {}}, out_.meta(base));
      }
      args[i] = graph::ViewArg{base, std::move(steps[i])};
    }
    for (ValueId r : n.results) metas.push_back(seen(r));
    out_.append(def.functional.value(), std::move(args), std::move(metas), n.info);
    out_.nodes.back().keeps_self = true;
    const std::vector<ValueId> made = out_.nodes.back().results;
    for (std::size_t i = 0; i < written.size(); ++i) {
      if (written[i].storage < 0) {
        write(written[i].value, made[i], n.info);
        continue;
      }
      Storage& s = storages_[static_cast<std::size_t>(written[i].storage)];
      s.base = made[i];
      ++s.generation;
    }
    for (std::size_t i = 0; i < n.results.size(); ++i) new_storage(n.results[i], made[written.size() + i]);
  }

  /// Note [Named functional forms] in graph/functional_form.h.
  void write_by_form(Node& n, const graph::FunctionalForm& form) {
    const graph::OpDef &def = graph::op(n.op), &named = graph::op(form.op);
    std::vector<NodeArg> args;
    for (std::uint32_t i : form.args) args.push_back(value_of(n.args[i]));
    out_.add(form.op, std::move(args), n.info);
    out_.nodes.back().keeps_self = true;
    const std::vector<ValueId> made = out_.nodes.back().results;
    for (std::size_t i = 0; i < def.writes.size(); ++i) {
      const TensorMeta &is = out_.meta(made[i]), &wanted = seen(std::get<ValueId>(n.args[def.writes[i]]));
      bool fits = is.dtype == wanted.dtype && is.device == wanted.device && is.dim() == wanted.dim();
      for (int d = 0; fits && d < is.dim(); ++d)
        fits = graph::same(is.size(d), wanted.size(d), n.info.loc, "functional form: equal sizes");
      if (!fits)
        fail(ErrorCode::ShapeMismatch, def.schema.name.c_str(), n.info.loc, "its functional form '", named.schema.name,
             "' gives ", is.dtype, " ", graph::sizes_text(is.layout.sizes), " for '",
             def.schema.args[def.writes[i]].name, "', which is ", wanted.dtype, " ",
             graph::sizes_text(wanted.layout.sizes));
    }
    for (std::size_t i = 0; i < def.writes.size(); ++i)
      write(std::get<ValueId>(n.args[def.writes[i]]), made[i], n.info);
    for (std::size_t i = 0; i < n.results.size(); ++i) new_storage(n.results[i], made[def.writes.size() + i]);
  }

  /// By argument: the views through which its storage is written, in the second form. Empty: it is read, or written in
  /// the first form. A storage is written in one form: as a whole beside an empty part of it, in the first.
  std::vector<std::vector<graph::ViewStep>> steps_to_written(const graph::OpDef& def,
                                                             const std::vector<NodeArg>& args) {
    std::vector<std::vector<graph::ViewStep>> steps(args.size());
    if (knobs().writers == "values" || t_first_form || is_sought(def)) return steps;
    std::vector<std::uint32_t> as_values;
    for (std::uint32_t i : def.writes) {
      if (auto* v = std::get_if<ValueId>(&args[i])) steps[i] = steps_to(*v);
      if (steps[i].empty()) graph::for_each_value(args[i], [&](ValueId v) { as_values.push_back(of_[v.v].storage); });
    }
    for (std::uint32_t i : def.writes)
      if (auto* v = std::get_if<ValueId>(&args[i]);
          v && std::find(as_values.begin(), as_values.end(), of_[v->v].storage) != as_values.end())
        steps[i].clear();
    return steps;
  }
  /// Does a registered pattern seek its twin?
  static bool is_sought(const graph::OpDef& def) {
    const std::shared_ptr<const Registered> all = registered();
    if (!all) return false;
    auto has = [&](const PatternGraphs& p) {
      return std::any_of(p.pattern.nodes.begin(), p.pattern.nodes.end(),
                         [&](const Node& n) { return n.op == *def.functional; });
    };
    return std::any_of(all->patterns.begin(), all->patterns.end(),
                       [&](const auto& p) { return std::any_of(p->graphs.begin(), p->graphs.end(), has); });
  }
  /// The views that lead from its storage to v, if all of them are possible where the storage's value stands row by
  /// row; else none.
  std::vector<graph::ViewStep> steps_to(ValueId v) {
    std::vector<graph::ViewStep> steps;
    const Ints& sizes = out_.meta(storage(v).base).layout.sizes;
    Layout at{sizes, contiguous_strides(sizes), 0};
    for (ValueId view : chain(v)) {
      const Node& n = *view_of(view);
      const graph::ViewFacts& facts = graph::view_facts_of(n.op);
      graph::ViewStep step{n.op, {n.args.begin() + 1, n.args.end()}};
      bool alone = true;
      for (const NodeArg& a : step.args) graph::for_each_value(a, [&](ValueId) { alone = false; });
      if (!alone || facts.back == PutBack::Nowhere) return {};
      if (facts.of == ViewOf::Storage) {
        step.args.back() = seen(view).layout.offset;
        at = seen(view).layout;
      } else if (graph::identical(at, seen(operand(n)).layout)) {
        at = seen(view).layout;
      } else if (facts.of == ViewOf::JoinedDims && !known_contiguous(at) &&
                 !only_splits(seen(operand(n)).layout.sizes, seen(view).layout.sizes)) {
        return {};
      } else {
        graph::NodeRuleArgs rest(in_, n.args);
        std::vector<graph::RuleArg> args(rest.args().begin(), rest.args().end());
        TensorMeta self = seen(operand(n));
        self.layout = at;
        args[0] = &self;
        at = graph::apply_view(graph::op(n.op), args, self.layout, n.info.loc);
      }
      steps.push_back(std::move(step));
    }
    return steps;
  }

  /// `is_update`: value is the old one but for some elements, which its kernel changes where they stand.
  void write(ValueId v, ValueId value, const NodeInfo& info, bool is_update = false) {
    if (!graph::identical(out_.meta(value).layout.sizes, seen(v).layout.sizes))
      value = out_.add(OpId::expand, {value, seen(v).layout.sizes}, info);
    const std::vector<ValueId> views = chain(v);
    const ValueId base = names_places(views) || is_part_of_another_shape(v, views, is_update)
                             ? put_in_places(v, value, info)
                             : put_back(views, value, info);
    Storage& s = storage(v);
    s.base = base;
    ++s.generation;
    for (auto [view, now] : written_) set(view, now);
    written_.clear();
    set(v, views.empty() ? base : value);
  }

  /// A view that as_strided made, or part of an expanded one, has no inverse but the places of its elements in the
  /// storage.
  bool names_places(const std::vector<ValueId>& views) const {
    return std::any_of(views.begin(), views.end(), [&](ValueId v) {
      const Node& n = *view_of(v);
      const PutBack back = graph::view_facts_of(n.op).back;
      return back == PutBack::Places ||
             (back == PutBack::Repeats && numel(seen(v).layout.sizes) != numel(seen(operand(n)).layout.sizes));
    });
  }
  /// A part of what is seen in another shape or order: the inverses would make all of the storage anew, in that order
  /// and then in its own, where only the part is written. Of a part of a part they would make the part around it, and
  /// parts beside it wait for one another. Its places are few and known, where the storage stands row by row. So are
  /// those of an update of all of it.
  bool is_part_of_another_shape(ValueId v, const std::vector<ValueId>& views, bool is_update) {
    auto cuts = [&](ValueId x) { return graph::scatter_of_view(view_of(x)->op).has_value(); };
    const auto other = std::find_if_not(views.begin(), views.end(), cuts);
    const bool nested = std::count_if(views.begin(), other, cuts) > 1;
    const bool moved = is_update && std::any_of(other, views.end(), [&](ValueId x) {
                         const PutBack back = graph::view_facts_of(view_of(x)->op).back;
                         return back == PutBack::Permute || back == PutBack::Reshape;
                       });
    if ((!nested && !moved && std::none_of(other, views.end(), cuts)) || !shows_storage(storage(v))) return false;
    const Layout &base = out_.meta(storage(v).base).layout, &l = seen(v).layout;
    return known_contiguous(base) && identical(base.offset, Int(0)) && graph::known_apart(l.sizes, l.strides);
  }
  ValueId put_in_places(ValueId v, ValueId value, const NodeInfo& info) {
    const Storage& s = storage(v);
    if (!shows_storage(s)) want(s.input, "write", info.loc, "a write to a part of an expanded tensor");
    const Layout& l = seen(v).layout;
    value = out_.add(OpId::as_strided_scatter, {contiguous(s.base, info), value, l.sizes, l.strides, l.offset}, info);
    note_write();
    return value;
  }
  /// The last node is a join that stands for a write.
  void note_write() {
    out_.nodes.back().keeps_self = true;
    out_.nodes.back().keeps_part = !std::exchange(part_is_copied_, false);  // the part of a join around it is that join
  }
  ValueId put_back(const std::vector<ValueId>& views, ValueId now, const NodeInfo& info) {
    for (std::size_t i = views.size(); i-- > 0;) {
      const Node& n = *view_of(views[i]);
      now = put_back(n, now, info);
      written_.emplace_back(operand(n), now);
    }
    return now;
  }

  /// The value of n's operand that shows `now` through n.
  ValueId put_back(const Node& n, ValueId now, const NodeInfo& info) {
    const graph::ViewFacts& facts = graph::view_facts_of(n.op);
    switch (facts.back) {
      case PutBack::Same: return now;
      case PutBack::Reshape:
      case PutBack::Repeats: return out_.add(OpId::view, {contiguous(now, info), seen(operand(n)).layout.sizes}, info);
      case PutBack::Permute: {
        const Ints& dims = std::get<Ints>(n.args[1]);
        Ints inverse(dims.size(), 0);
        for (std::size_t d = 0; d < dims.size(); ++d) {
          std::int64_t to = dims[d].value(info.loc);
          inverse[static_cast<std::size_t>(to < 0 ? to + static_cast<std::int64_t>(dims.size()) : to)] =
              static_cast<std::int64_t>(d);
        }
        return out_.add(OpId::permute, {now, inverse}, info);
      }
      case PutBack::Scatter: {
        // What the view cut out is as large as what it cut from says: the rule would ask the trace's questions once
        // more.
        const ValueId whole = value(operand(n));
        std::vector<NodeArg> args{whole, now};
        args.insert(args.end(), n.args.begin() + 1, n.args.end());
        TensorMeta made = out_.meta(whole);
        made.layout.offset = 0;
        made.layout.strides = contiguous_strides(made.layout.sizes);
        const ValueId joined = out_.append(facts.scatter.value(), std::move(args), {std::move(made)}, info);
        note_write();
        return joined;
      }
      case PutBack::Places:   // put_in_places
      case PutBack::Nowhere:  // the tracer refuses it
        break;
    }
    fail(ErrorCode::Internal, graph::op(n.op).schema.name.c_str(), info.loc, "a write through it has no inverse");
  }

  /// as_strided_scatter names places in self's storage: the storage with the part in its place, seen as self is.
  void scatter_in_storage(const Node& n) {
    const ValueId self = operand(n);
    need_places(storage(self), n.info.loc);
    std::vector<NodeArg> args = values_of(n.args);
    if (std::holds_alternative<std::monostate>(args[4])) args[4] = seen(self).layout.offset;
    args[0] = contiguous(storage(self).base, n.info);
    ValueId v = out_.add(n.op, std::move(args), n.info);
    const std::vector<ValueId> views = chain(self);
    for (ValueId view : views) v = replay_view(v, view);
    new_storage(n.results[0], views.empty() ? v : out_.add(OpId::clone, {v}, n.info));
  }

  // ---- outputs
  /// The output of which everything that shows a storage is a view.
  std::uint32_t storage_output(std::uint32_t of) {
    storage_outputs_.resize(storages_.size(), -1);
    std::int32_t& at = storage_outputs_[of];
    if (at < 0) {
      OutputSpec base;
      base.kind = OutputSpec::Kind::Intermediate;
      base.value = contiguous(storages_[of].base, {});
      at = static_cast<std::int32_t>(out_.outputs.size());
      out_.outputs.push_back(std::move(base));
    }
    return static_cast<std::uint32_t>(at);
  }
  OutputSpec alias(ValueId v) {
    OutputSpec o;
    o.layout = exact_layout(v);
    const std::int32_t input = storage(v).input;
    o.kind = input >= 0 ? OutputSpec::Kind::AliasOfInput : OutputSpec::Kind::AliasOfOutput;
    o.source = input >= 0 ? static_cast<std::uint32_t>(input) : storage_output(of_[v.v].storage);
    for (ValueId view : chain(v)) {
      const Node& n = *view_of(view);
      graph::ViewStep step{n.op, {n.args.begin() + 1, n.args.end()}};
      if (graph::is_view_of_storage(n.op)) step.args.back() = seen(view).layout.offset;
      o.recipe.push_back(std::move(step));
    }
    return o;
  }

  /// Who is written, on the tape, when `v` is: the argument or the detached tensor that it is a view of, or else what
  /// the storage was made as.
  graph::TapeBase base_of(ValueId v, const OutputSpec& o) {
    std::uint32_t views = 0;
    const auto steps = [&] {
      return static_cast<std::uint32_t>(o.recipe.size()) - std::min(views, static_cast<std::uint32_t>(o.recipe.size()));
    };
    for (ValueId at = v;; ++views) {
      if (const auto handle = handles_after_.find(at.v); handle != handles_after_.end())
        return {static_cast<std::int32_t>(handle->second), 0, steps()};
      const Node* n = view_of(at);
      if (!n) return {-1, 0, steps()};
      if (graph::leaves_tape(n->op)) {
        std::vector<ValueId>& all = detached_[of_[at.v].storage];
        const auto known = std::find(all.begin(), all.end(), at);
        const auto number = static_cast<std::uint32_t>(known - all.begin()) + 1;
        if (known == all.end()) all.push_back(at);
        return {-1, number, steps()};
      }
      at = operand(*n);
    }
  }

  /// What the caller gets. A storage that several tensors show, of which the caller has the handles, is one output, of
  /// which all are views.
  void results() {
    handles_.resize(in_.inputs.size());
    std::vector<std::uint32_t> shown(storages_.size(), 0);
    for (const OutputSpec& o : in_.outputs) {
      ++shown[of_[o.value.v].storage];
      if (o.kind == OutputSpec::Kind::HandleOfInput) handles_[o.source] = {o.value, o.grows};
    }
    for (std::uint32_t i = 0; i < in_.inputs.size(); ++i) {
      const ValueId now = handles_[i].value ? handles_[i].value : facts_[i].handle;
      if (now) handles_after_.emplace(now.v, i);
      else if (!facts_[i].is_storage && facts_[i].storage < 0) handles_after_.emplace(in_.inputs[i].value.v, i);
    }
    for (const OutputSpec& traced : in_.outputs) {
      if (traced.kind != OutputSpec::Kind::User) continue;
      const ValueId v = traced.value;
      OutputSpec o;
      if (storage(v).input < 0 && shown[of_[v.v].storage] == 1 && (!view_of(v) || is_as_made(exact_layout(v)))) {
        // A lone view of an intermediate needs no storage that others share. Written through a transposed view, a
        // contiguous tensor is a transposed value.
        o.value = contiguous(value(v), {});
        o.is_view = view_of(v) != nullptr;
      } else {
        o = alias(v);  // adds the storage's output first
        made_.bases.resize(out_.outputs.size() + 1);
        made_.bases.back() = base_of(v, o);
        made_.bases.back().written_since = view_of(v) && of_[v.v].made != storage(v).generation;
      }
      o.role = traced.role, o.of = traced.of;
      made_.outputs.push_back(static_cast<std::int32_t>(out_.outputs.size()));
      out_.outputs.push_back(std::move(o));
    }
  }

  /// Inputs that were written, and those whose handles are another view now.
  void inputs_after() {
    for (std::uint32_t i = 0; i < in_.inputs.size(); ++i) {
      const ValueId input = in_.inputs[i].value;
      if (storage(input).base != out_.inputs[i].value) {
        out_.inputs[i].mutates_data = true;
        OutputSpec o;
        o.kind = OutputSpec::Kind::NewValueOfInput;
        o.source = i;
        o.value = storage(input).base;
        out_.outputs.push_back(std::move(o));
      }
      const auto [now, grows] = handles_[i];
      if (!now) continue;
      const TracedInput& fact = facts_[i];
      const Layout before = layout_of_handle(i);
      const bool moved = of_[now.v].storage != (fact.storage >= 0 ? static_cast<std::uint32_t>(fact.storage) : i);
      graph::MetadataMutation m{i, exact_layout(now), -1};
      if (!moved && graph::identical(m.layout, before)) continue;
      out_.inputs[i].mutates_metadata = true;
      if (moved) {
        if (storage(now).input < 0 && storage(now).generation > 0) made_.written_anew.push_back(i);
        OutputSpec o = alias(now);
        m.from_output = static_cast<std::int32_t>(out_.outputs.size());
        m.grows = grows;
        out_.outputs.push_back(std::move(o));
      } else {
        m.layout.offset = m.layout.offset - before.offset;
      }
      out_.metadata_mutations.push_back(std::move(m));
    }
  }

  Graph in_;
  std::span<const TracedInput> facts_;
  std::vector<State> of_;          ///< by traced value
  std::vector<Storage> storages_;  ///< those of inputs first
  bool part_is_copied_ = false;    ///< by the write at hand: it is copy_
  /// what the write at hand makes of the views that it goes through
  std::vector<std::pair<ValueId, ValueId>> written_;
  /// inputs by the value that their handles have before the call
  std::unordered_map<std::uint32_t, std::uint32_t> origins_;
  struct Handle {
    ValueId value;
    bool grows = false;
  };
  /// by input: what its handle is at the end, if another view
  std::vector<Handle> handles_;
  std::unordered_map<std::uint32_t, std::uint32_t>
      handles_after_;  ///< inputs by the value that their handles have after the call
  std::unordered_map<std::uint32_t, std::vector<ValueId>>
      detached_;                               ///< by storage: what detach() gave that results are views of
  std::vector<std::int32_t> storage_outputs_;  ///< by storage
  Functionalized made_;
  Graph& out_;
};

}  // namespace

FirstFormScope::FirstFormScope() : before_(std::exchange(t_first_form, true)) {}
FirstFormScope::~FirstFormScope() { t_first_form = before_; }

Functionalized functionalize(Graph traced, std::span<const TracedInput> inputs) {
  REPRISE_CHECK(traced.form == graph::Form::Traced && inputs.size() == traced.inputs.size());
  if (knobs().verify >= 1) graph::verify(traced, "trace");
  const bool only_values = std::none_of(traced.nodes.begin(), traced.nodes.end(), [](const Node& n) {
    return n.inplace || is_view(n) || graph::is_scatter_in_storage(n.op) || graph::op(n.op).functional.has_value();
  });
  std::vector<bool> taken(traced.values.size());
  auto is_first = [&](ValueId v) { return taken[v.v] ? false : taken[v.v] = true; };
  const bool own_results = std::all_of(traced.outputs.begin(), traced.outputs.end(), [&](const OutputSpec& o) {
    return o.kind == OutputSpec::Kind::User && traced.values[o.value.v].node >= 0 && is_first(o.value);
  });
  if (!only_values || !own_results) return Functionalizer(std::move(traced), inputs).run();
  Functionalized made;
  for (std::size_t i = 0; i < traced.outputs.size(); ++i) made.outputs.push_back(static_cast<std::int32_t>(i));
  made.graph = std::move(traced);
  made.graph.form = graph::Form::Functional;
  return made;
}

}  // namespace reprise::passes
