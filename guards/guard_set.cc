#include "guards/guard_set.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "guards/shape_env_impl.h"

namespace reprise::guards {

namespace {

enum Kind : std::uint8_t { kEqual, kUnequal, kAtLeast, kAtMost, kSameWords, kDivisible, kGeneral };

void sources_in(const Expr* e, std::vector<Source>& out) {
  if (e->kind() == ExprKind::Symbol) {
    const Source& s = e->env().symbols()[e->symbol()].source;
    for (const Source& have : out)
      if (have.word == s.word) return;
    out.push_back(s);
    return;
  }
  for (const Expr* a : e->args()) sources_in(a, out);
}

const char* base_name(const char* path) {
  const char* slash = std::strrchr(path, '/');
  return slash ? slash + 1 : path;
}

std::string place(SourceLoc where, const std::string& why) {
  return where ? std::string(base_name(where.file)) + ":" + std::to_string(where.line) + " (" + why + ")" : why;
}

}  // namespace

GuardSet::GuardSet(ShapeEnv& env) {
  auto say = [&](const Expr* condition, const std::string& text, SourceLoc where, const char* why, const Expr* about) {
    Said s{text, why, where, {}};
    sources_in(condition ? condition : about, s.sources);
    for (Source& source : s.sources) {
      for (const Symbol& symbol : env.symbols())
        if (symbol.source.word == source.word) source.name += " (" + to_string(symbol.expr) + ", " + std::to_string(symbol.hint) + " when traced)";
    }
    said_.push_back(std::move(s));
    return static_cast<std::uint32_t>(said_.size() - 1);
  };

  // What mark_dynamic and friends declared. A size's own "at least zero" holds by nature.
  for (const Symbol& s : env.symbols()) {
    const ShapeEnv::Declared& d = env.declared_[s.expr->symbol()];
    std::string name = to_string(s.expr);
    if (d.lo > 0) checks_.push_back({kAtLeast, s.source.word, 0, d.lo, 0, say(nullptr, std::to_string(d.lo) + " <= " + name, {}, "declared", s.expr)});
    if (d.hi != INT64_MAX) checks_.push_back({kAtMost, s.source.word, 0, d.hi, 0, say(nullptr, name + " <= " + std::to_string(d.hi), {}, "declared", s.expr)});
    if (d.multiple_of > 1)
      checks_.push_back({kDivisible, s.source.word, 0, d.multiple_of, 0, say(nullptr, name + " % " + std::to_string(d.multiple_of) + " == 0", {}, "declared", s.expr)});
  }

  std::vector<Check> general;
  auto word = [](const Expr* e) { return e->env().symbols()[e->symbol()].source.word; };
  for (const Guard& g : env.guards()) {
    const Expr* e = g.condition;
    std::uint32_t id = say(e, to_string(e), g.where, g.why, nullptr);
    const Expr* l = e->args().size() == 2 ? e->args()[0] : nullptr;
    const Expr* r = l ? e->args()[1] : nullptr;
    bool symbol_left = l && l->kind() == ExprKind::Symbol, symbol_right = r && r->kind() == ExprKind::Symbol;
    auto simple = [&](Kind kind, const Expr* s, std::int64_t k) { checks_.push_back({kind, word(s), 0, k, 0, id}); };
    switch (e->kind()) {
      case ExprKind::Eq:
        if (symbol_left && symbol_right) { checks_.push_back({kSameWords, word(l), word(r), 0, 0, id}); continue; }
        if (symbol_left && r->is_const()) { simple(kEqual, l, r->value()); continue; }
        if (symbol_right && l->is_const()) { simple(kEqual, r, l->value()); continue; }
        if (l->kind() == ExprKind::Mod && r->is_const() && r->value() == 0 && l->args()[0]->kind() == ExprKind::Symbol && l->args()[1]->is_const() && l->args()[1]->value() > 0) {
          simple(kDivisible, l->args()[0], l->args()[1]->value());
          continue;
        }
        break;
      case ExprKind::Ne:
        if (symbol_left && r->is_const()) { simple(kUnequal, l, r->value()); continue; }
        if (symbol_right && l->is_const()) { simple(kUnequal, r, l->value()); continue; }
        break;
      case ExprKind::Le: case ExprKind::Lt: {
        std::int64_t strict = e->kind() == ExprKind::Lt;
        if (symbol_left && r->is_const()) { simple(kAtMost, l, r->value() - strict); continue; }
        if (symbol_right && l->is_const()) { simple(kAtLeast, r, l->value() + strict); continue; }
        break;
      }
      default: break;
    }
    general.push_back({kGeneral, general_.add(e), 0, 0, 0, id});
  }
  checks_.insert(checks_.end(), general.begin(), general.end());
}

std::optional<std::uint32_t> GuardSet::first_miss(const std::int64_t* w) const noexcept {
  constexpr std::size_t kOnStack = 256;
  std::int64_t on_stack[kOnStack];
  std::int64_t* slots = nullptr;
  static thread_local std::vector<std::int64_t> overflow;  // only for guard sets of more than 256 subexpressions
  for (const Check& c : checks_) {
    bool holds = true;
    switch (c.kind) {
      case kEqual: holds = w[c.a] == c.k; break;
      case kUnequal: holds = w[c.a] != c.k; break;
      case kAtLeast: holds = w[c.a] >= c.k; break;
      case kAtMost: holds = w[c.a] <= c.k; break;
      case kSameWords: holds = w[c.a] == w[c.b]; break;
      case kDivisible: holds = w[c.a] % c.k == 0; break;
      case kGeneral:
        if (!slots) {
          slots = on_stack;
          if (general_.size() > kOnStack) {
            if (overflow.size() < general_.size()) overflow.resize(general_.size());
            slots = overflow.data();
          }
          general_.evaluate(w, slots);
        }
        holds = slots[c.a] != 0;
        break;
    }
    if (!holds) return c.guard;
  }
  return std::nullopt;
}

std::size_t GuardSet::size() const { return checks_.size(); }

std::string GuardSet::explain(std::uint32_t miss, const std::int64_t* words) const {
  const Said& s = said_[miss];
  std::string out;
  for (const Source& source : s.sources) out += (out.empty() ? "" : ", ") + source.name + " is " + std::to_string(words[source.word]);
  return out + "; wanted " + s.condition + "; guard born at " + place(s.where, s.why);
}

std::string GuardSet::remedy(std::uint32_t miss) const {
  const Said& s = said_[miss];
  if (s.why == "declared") return "the call breaks what mark_dynamic or mark_static declared: pass such sizes, or declare less";
  if (s.why.rfind("pinned", 0) == 0) return "keep the value an Int (do not convert it to a C++ integer), and one compilation serves all";
  if (s.why == "broadcast") return "pass equal sizes, or state them with mark_dynamic(x, dim, {.min = 2})";
  if (s.why == "branch") return "the function branches on this: each side is a compilation of its own";
  return "sizes on the two sides of this condition need compilations of their own";
}

std::string GuardSet::text(std::uint32_t i) const {
  const Said& s = said_[checks_[i].guard];
  return s.condition + "  ; " + place(s.where, s.why);
}

std::vector<std::pair<std::uint32_t, std::int64_t>> GuardSet::constants() const {
  std::vector<std::pair<std::uint32_t, std::int64_t>> out;
  for (const Check& c : checks_)
    if (c.kind == kEqual) out.emplace_back(c.a, c.k);
  return out;
}

}  // namespace reprise::guards
