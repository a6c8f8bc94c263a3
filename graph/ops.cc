#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/errors.h"
#include "base/fork.h"
#include "graph/functional_form.h"
#include "graph/op.h"
#include "graph/register_op.h"
#include "graph/schema.h"
#include "graph/shape_rules.h"
#include "graph/writers.h"

namespace reprise::graph {
namespace {

enum Flags : unsigned { kNone = 0, kInplace = 1, kMayFail = 2, kMoves = 4 };

struct Row {
  OpId id;
  const char* schema;
  OpClass cls;
  ShapeRule rule;
  unsigned flags;
};

constexpr Row kRows[] = {
#define REPRISE_OP(id, schema, cls, rule, flags) {OpId::id, schema, OpClass::cls, rules::rule, flags},
#include "graph/ops.def"
#undef REPRISE_OP
};
static_assert(std::size(kRows) == kBuiltinOps);

/// What a class asks of a schema.
void check_schema(const Schema& s, OpClass cls, bool inplace, Effects effects) {
  auto bad = [&](auto&&... what) {
    fail(ErrorCode::InvalidArgument, s.name.c_str(), {}, what..., ": \"", s.text, "\"");
  };
  if (s.args.empty()) bad("has no arguments");
  if (s.args.size() > kMaxArgs) bad("has ", s.args.size(), " arguments, more than ", kMaxArgs);
  if (s.n_results < 0 && cls != OpClass::Control) bad("gives a list of tensors, and nothing says how many");
  const Writes w = writes_of(s);
  const bool may_write = cls == OpClass::Reference || cls == OpClass::Transfer;
  if (!w.writes.empty() && !may_write)
    bad("writes '", s.args[w.writes[0]].name, "', as only operators of class Reference may");
  if (!w.writes.empty() && inplace)
    bad("writes '", s.args[w.writes[0]].name, "' and cannot have a twin that writes, too");
  if (s.n_results == 0 && !may_write) bad("must have results");
  if (s.n_results == 0 && w.writes.empty() && !effects.any()) bad("has no results, writes nothing and has no effect");
  bool shares = false;
  for (const ResultDef& r : s.results) shares = shares || (w.writes.empty() && r.alias && !r.alias->before.empty());
  if (shares != (cls == OpClass::View))
    bad(cls == OpClass::View ? "is a view, and no result shares an argument's alias set"
                             : "is no view, and a result is in an alias set");
  // Elementwise operators move with what they are fused into, and views happen nowhere.
  if (cls != OpClass::Reference && (effects.exit || effects.opaque || effects.lane))
    bad("has effects that only operators of class Reference may have");
  const ArgType first = s.args[0].type;
  if (inplace && first != ArgType::Tensor && first != ArgType::TensorOrScalar)
    bad("has a twin, and no tensor that it could write");
}

/// The table: built-in operators from the first use on, then what is registered. Operators stay where they are.
class Table {
 public:
  Table() {
    built_in_.reserve(kBuiltinOps);
    for (const Row& r : kRows)
      built_in_.push_back(make(r.id, parse_schema(r.schema), r.cls, r.rule, (r.flags & kInplace) != 0,
                               (r.flags & kMoves) != 0, {.may_fail = (r.flags & kMayFail) != 0}));
    for (OpDef& o : built_in_) {
      fill_defaults(o);
      by_name_.emplace(o.schema.name, &o);
    }
  }

  const OpDef& at(std::size_t i) const {
    if (i < kBuiltinOps) [[likely]]
      return built_in_[i];
    REPRISE_CHECK(i < count());
    return *(*chunks_[i / kChunk].load(std::memory_order_acquire))[i % kChunk];
  }
  std::size_t count() const { return count_.load(std::memory_order_acquire); }

  const OpDef* find(std::string_view name) const {
    if (auto it = by_name_.find(name); it != by_name_.end()) return it->second;
    for (const Named* n = bucket(name).load(std::memory_order_acquire); n; n = n->next)
      if (n->def->schema.name == name) return n->def;
    return nullptr;
  }

  OpId add(NewOp&& n, std::vector<OpFact> facts) {
    Schema schema = parse_schema(n.schema);
    const char* name = schema.name.c_str();
    if (!n.shape) fail(ErrorCode::InvalidArgument, name, {}, "has no shape rule");
    if (!schema.overload.empty())
      fail(ErrorCode::InvalidArgument, name, {}, "an operator is one of its name; overload '", schema.overload,
           "' needs a name of its own");
    check_schema(schema, n.cls, n.inplace, n.effects);
    if (!n.functional.empty())
      facts.push_back(functional_forms().fact(functional_form(schema, writes_of(schema), n.effects, n.functional)));
    for (std::size_t i = 0; i < facts.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        if (facts[i].column == facts[k].column)
          fail(ErrorCode::InvalidArgument, name, {}, "is told its ", facts[i].column->name(), " twice");

    std::unique_lock lock(mu_);  // released while the check runs, which the analysis cannot follow into the catch
    refuse_taken(schema.name);
    const std::size_t i = count_.load(std::memory_order_relaxed);
    if (i + 1 > UINT16_MAX)
      fail(ErrorCode::InvalidArgument, name, {}, "there is no room for more than ", UINT16_MAX, " operators");
    // All that may throw happens before anything is visible.
    const OpId id = static_cast<OpId>(i);
    std::vector<std::unique_ptr<OpDef>> defs;
    defs.push_back(std::make_unique<OpDef>(make(id, std::move(schema), n.cls, n.shape, n.inplace, n.moves, n.effects)));
    OpDef& writer = *defs[0];
    if (Writes w = writes_of(writer.schema); !w.writes.empty()) {
      const OpId twin = static_cast<OpId>(i + 1);
      defs.push_back(std::make_unique<OpDef>(
          make(twin, functional_schema(writer.schema, w), n.cls, rules::functional_twin, false, n.moves, n.effects)));
      defs[1]->twin_of = id;
      writer.functional = twin;
      writer.n_made = static_cast<int>(std::count(w.returns.begin(), w.returns.end(), -1));
      writer.writes = std::move(w.writes), writer.returns = std::move(w.returns);
    }
    const std::vector<const OpDef*> rows = add_rows(std::move(defs), facts);
    try {
      if (n.check) {
        lock.unlock();
        n.check(id);
        lock.lock();
        refuse_taken(rows[0]->schema.name);
      }
      add_names(rows);
    } catch (...) {
      if (!lock.owns_lock()) lock.lock();
      for (const OpFact& f : facts)
        for (const OpDef* row : rows) f.forget(row->id);
      throw;
    }
    return id;
  }

 private:
  static constexpr std::size_t kChunk = 256, kBuckets = 512;
  using Chunk = std::array<const OpDef*, kChunk>;
  struct Named {
    const OpDef* def;
    Named* next;
  };

  static OpDef make(OpId id, Schema schema, OpClass cls, ShapeRule rule, bool inplace, bool moves, Effects effects) {
    const int made = schema.n_results;
    return {id, cls,          std::move(schema), rule, inplace, moves || cls == OpClass::View, effects, {},
            {}, std::nullopt, std::nullopt,      made, {}};
  }
  void refuse_taken(const std::string& name) const {
    if (find(name)) fail(ErrorCode::InvalidArgument, name.c_str(), {}, "there is an operator of this name");
    if (name.ends_with('_'))
      if (const OpDef* o = find(std::string_view(name).substr(0, name.size() - 1)); o && o->has_inplace)
        fail(ErrorCode::InvalidArgument, name.c_str(), {}, "is the twin of '", o->schema.name, "'");
  }
  /// They get the next numbers, in order, and stay for good; facts are told of each. Nobody knows of the numbers yet.
  std::vector<const OpDef*> add_rows(std::vector<std::unique_ptr<OpDef>> defs, const std::vector<OpFact>& facts) {
    for (const std::unique_ptr<OpDef>& def : defs) {
      fill_defaults(*def);
      std::atomic<Chunk*>& chunk = chunks_[static_cast<std::size_t>(def->id) / kChunk];
      if (!chunk.load(std::memory_order_relaxed)) chunk.store(new Chunk{}, std::memory_order_release);
    }
    std::vector<const OpDef*> rows(defs.size());
    std::size_t told = 0;
    try {
      for (; told < facts.size() * defs.size(); ++told) facts[told / defs.size()].tell(defs[told % defs.size()]->id);
    } catch (...) {
      while (told-- > 0) facts[told / defs.size()].forget(defs[told % defs.size()]->id);
      throw;
    }
    for (std::size_t i = 0; i < defs.size(); ++i) {
      const auto at = static_cast<std::size_t>(defs[i]->id);
      rows[i] = (*chunks_[at / kChunk].load(std::memory_order_relaxed))[at % kChunk] = defs[i].release();
    }
    count_.store(static_cast<std::size_t>(rows.back()->id) + 1, std::memory_order_release);
    return rows;
  }
  /// Now everybody may find them.
  void add_names(const std::vector<const OpDef*>& rows) {
    std::vector<std::unique_ptr<Named>> names;
    for (const OpDef* row : rows) names.push_back(std::make_unique<Named>(Named{row, nullptr}));
    for (std::unique_ptr<Named>& name : names) {
      std::atomic<Named*>& first = bucket(name->def->schema.name);
      name->next = first.load(std::memory_order_relaxed);
      first.store(name.release(), std::memory_order_release);
    }
  }

  // Defaults borrow from the schema: filled in where it stays.
  static void fill_defaults(OpDef& o) {
    for (const ArgDef& a : o.schema.args) o.defaults.push_back(default_value(a));
  }
  std::atomic<Named*>& bucket(std::string_view name) const {
    return buckets_[std::hash<std::string_view>()(name) % kBuckets];
  }

  std::vector<OpDef> built_in_;
  std::unordered_map<std::string_view, const OpDef*> by_name_;  // built-in ones
  std::array<std::atomic<Chunk*>, 65536 / kChunk> chunks_{};
  mutable std::array<std::atomic<Named*>, kBuckets> buckets_{};  // registered ones; lists grow at their heads
  std::atomic<std::size_t> count_{kBuiltinOps};
  ForkMutex mu_;  // of those who register
};

Table& table() {
  static Table& t = *new Table;  // never destroyed: destructors of static objects may use tensors
  return t;
}

}  // namespace

const OpDef& op(OpId id) { return table().at(static_cast<std::size_t>(id)); }
const OpDef* find_op(std::string_view name) {
  if (const OpDef* o = table().find(name)) return o;
  if (name.find("::") != std::string_view::npos) return nullptr;  // a user's
  register_families();
  return table().find(name);
}
std::size_t op_count() { return table().count(); }

bool is_copy(OpId id) {
  const OpDef& o = op(id);
  return o.cls == OpClass::Pointwise && o.moves && o.schema.args.size() == 1;
}

OpId register_op(NewOp n, const std::vector<OpFact>& facts) { return table().add(std::move(n), facts); }

}  // namespace reprise::graph
