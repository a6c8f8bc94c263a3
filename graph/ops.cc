#include <unordered_map>

#include "base/errors.h"
#include "graph/op.h"
#include "graph/schema.h"
#include "graph/shape_rules.h"

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

struct Table {
  std::vector<OpDef> ops;
  std::unordered_map<std::string_view, const OpDef*> by_name;
  Table() {
    ops.reserve(std::size(kRows));
    for (const Row& r : kRows) {
      ops.push_back(
          {r.id, r.cls, parse_schema(r.schema), r.rule, (r.flags & kInplace) != 0, (r.flags & kMoves) != 0 || r.cls == OpClass::View, (r.flags & kMayFail) != 0});
    }
    for (const OpDef& o : ops) by_name.emplace(o.schema.name, &o);
  }
};

const Table& table() {
  static const Table& t = *new Table;  // never destroyed: destructors of static objects may use tensors
  return t;
}

}  // namespace

const OpDef& op(OpId id) { return table().ops[static_cast<std::size_t>(id)]; }

const OpDef* find_op(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second;
}

std::span<const OpDef> all_ops() { return table().ops; }

}  // namespace reprise::graph
