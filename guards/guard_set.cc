#include "guards/guard_set.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "base/bail.h"
#include "base/errors.h"
#include "guards/shape_env_impl.h"
#include "reprise/scalar.h"

namespace reprise::guards {

namespace {

constexpr std::size_t kSlots = 2048;    // of the array on first_miss's stack: what the longest guard may take
constexpr std::size_t kTogether = 256;  // slots of a program that several guards share

std::uint32_t word(const Expr* symbol) { return symbol->env().symbols()[symbol->symbol()].source.word; }
bool is_symbol(const Expr* e) { return e->kind() == ExprKind::Symbol; }

template <class F>
void each_symbol(const Expr* e, const F& f) {
  if (is_symbol(e)) f(e);
  for (const Expr* a : e->args()) each_symbol(a, f);
}

bool divides_by_symbol(const Expr* e) {
  if ((e->kind() == ExprKind::Div || e->kind() == ExprKind::Mod) && !e->args()[1]->is_const()) return true;
  return std::any_of(e->args().begin(), e->args().end(), divides_by_symbol);
}

// Sizes and strides are never negative, whoever passes them.
bool is_size(const std::string& source) {
  return source.ends_with(')') &&
         (source.rfind(".size(") != std::string::npos || source.rfind(".stride(") != std::string::npos);
}

// An expression of one environment in another that has the same symbols.
class Copier {
 public:
  explicit Copier(ShapeEnv& to, std::vector<const Expr*> symbols) : to_(to), symbols_(std::move(symbols)) {}
  const Expr* operator()(const Expr* e) {
    if (e->is_const()) return to_.constant(e->value());
    if (is_symbol(e)) return symbols_[e->symbol()];
    if (auto it = done_.find(e); it != done_.end()) return it->second;
    std::vector<const Expr*> args;
    for (const Expr* a : e->args()) args.push_back((*this)(a));
    return done_[e] = to_.make(e->kind(), args);
  }

 private:
  ShapeEnv& to_;
  std::vector<const Expr*> symbols_;
  std::unordered_map<const Expr*, const Expr*> done_;
};

}  // namespace

struct GuardSet::Candidate {
  const Expr* condition;
  SourceLoc where;
  std::string why;
  bool needed = true;
};

/// What was declared of symbols, then the guards, oldest first.
struct GuardSet::Candidates {
  Candidates(ShapeEnv& env, std::uint32_t words);
  std::vector<Candidate> all;
  std::size_t declared = 0;  // the first so many
  ShapeEnv told;             // knows the candidates that are kept, and nothing else
  std::vector<const Expr*> told_symbols;
};

GuardSet::Candidates::Candidates(ShapeEnv& env, std::uint32_t words) {
  for (const Symbol& s : env.symbols()) {
    const ShapeEnv::Declared& d = env.declared(s);
    told.new_symbol(s.source, s.hint, d.lo, d.hi, d.multiple_of);
    told_symbols.push_back(told.symbols().back().expr);
    if (s.source.word >= words || s.of_data) continue;
    auto declare = [&](ExprKind kind, const Expr* a, const Expr* b) {
      const Expr* args[] = {a, b};
      // Made in `told`, because env may be frozen by now.
      all.push_back({told.make(kind, args), {}, "declared"});
    };
    const Expr* t = told_symbols.back();
    if (d.lo == d.hi) {
      declare(ExprKind::Eq, t, told.constant(d.lo));
      continue;
    }
    if (d.lo > 0 || (d.lo > INT64_MIN && !is_size(s.source.name))) declare(ExprKind::Le, told.constant(d.lo), t);
    if (d.hi < s.source.at_most) declare(ExprKind::Le, t, told.constant(d.hi));
    if (d.multiple_of > 1) {
      std::vector<const Expr*> args{t, told.constant(d.multiple_of)};
      all.push_back(
          {told.make_interned(ExprKind::Eq, 0, {told.make_interned(ExprKind::Mod, 0, args), told.constant(0)}),
           {},
           "declared"});
    }
  }
  declared = all.size();
  for (const Guard& g : env.guards()) {
    bool known = true;
    if (words != UINT32_MAX) each_symbol(g.condition, [&](const Expr* s) { known = known && word(s) < words; });
    if (known) all.push_back({g.condition, g.where, g.why});
  }
}

GuardSet::GuardSet(ShapeEnv& env, std::uint32_t words) {
  Candidates c(env, words);
  find_needed(env, c);
  take_needed(env, c);
}

GuardSet::GuardSet(ShapeEnv& env, const std::vector<std::uint32_t>& kept) {
  Candidates c(env, UINT32_MAX);
  for (Candidate& a : c.all) a.needed = false;
  for (std::uint32_t i : kept) {
    REPRISE_CHECK(i < c.all.size());
    c.all[i].needed = true;
  }
  take_needed(env, c);
}

void GuardSet::find_needed(ShapeEnv& env, Candidates& candidates) {
  std::vector<Candidate>& all = candidates.all;
  ShapeEnv& told = candidates.told;
  Copier copy(told, candidates.told_symbols);
  // A guard that the others imply is dropped. Equalities are told first, then bounds from the strictest on, then the
  // newest of the rest, which tend to be stricter. Conditions that divide by a symbol come last and oldest first: only
  // once the guards that make their divisors nonzero are in may anything be concluded from them.
  auto turn = [&](std::size_t i) {
    auto age = static_cast<std::int64_t>(i);
    Check c;
    if (divides_by_symbol(all[i].condition)) return std::tuple(5, age, age);
    // That arithmetic does not overflow mostly follows from what the program asks of its results.
    constexpr std::int64_t kFar = std::int64_t{1} << 48;
    if (all[i].condition->kind() == ExprKind::Fits) return std::tuple(7, -age, age);
    if (!simple(all[i].condition, c)) return std::tuple(4, -age, age);
    switch (c.kind) {
      case kEqual: return std::tuple(0, -age, age);
      case kSameWords: return std::tuple(1, -age, age);
      case kAtLeast: return std::tuple(c.k <= -kFar ? 6 : 2, ~c.k, age);
      case kAtMost: return std::tuple(c.k >= kFar ? 6 : 3, c.k, age);
      default: return std::tuple(4, -age, age);
    }
  };
  std::vector<std::tuple<int, std::int64_t, std::int64_t>> order;
  for (std::size_t i = candidates.declared; i < all.size(); ++i) order.push_back(turn(i));
  std::sort(order.begin(), order.end());
  for (const auto& told_when : order) {
    const auto i = static_cast<std::size_t>(std::get<2>(told_when));
    const Expr* e = copy(all[i].condition);
    all[i].needed = told.prove(e) != std::optional<bool>(true);
    if (all[i].needed) told.learn(told.simplify(e));
  }
  // A bound of one word may follow from conditions on several, which were told after it. Nothing is concluded from
  // those that divide by a symbol.
  constexpr std::size_t kMostBounds = 8, kMostToTell = 256;  // all are told once more for each
  std::unordered_set<const Expr*> among_several;
  bool divides = false;
  Check unused;
  for (const Candidate& a : all) {
    if (!a.needed || simple(a.condition, unused)) continue;
    divides = divides || divides_by_symbol(a.condition);
    each_symbol(a.condition, [&](const Expr* s) { among_several.insert(s); });
  }
  std::vector<std::size_t> bounds;
  for (const auto& told_when : order) {
    const auto i = static_cast<std::size_t>(std::get<2>(told_when));
    Check c;
    if (divides || order.size() > kMostToTell || bounds.size() == kMostBounds || !all[i].needed ||
        !simple(all[i].condition, c) || (c.kind != kAtLeast && c.kind != kAtMost))
      continue;
    const auto& sides = all[i].condition->args();
    if (among_several.count(sides[is_symbol(sides[0]) ? 0 : 1])) bounds.push_back(i);
  }
  for (const std::size_t bound : bounds) {
    ShapeEnv others;
    std::vector<const Expr*> symbols;
    for (const Symbol& s : env.symbols()) {
      const ShapeEnv::Declared& d = env.declared(s);
      others.new_symbol(s.source, s.hint, d.lo, d.hi, d.multiple_of);
      symbols.push_back(others.symbols().back().expr);
    }
    Copier copy_to(others, std::move(symbols));
    for (const auto& told_when : order)
      if (const auto i = static_cast<std::size_t>(std::get<2>(told_when)); all[i].needed && i != bound)
        others.learn(others.simplify(copy_to(all[i].condition)));
    all[bound].needed = others.prove(copy_to(all[bound].condition)) != std::optional<bool>(true);
  }
  // Of several checks of one word only the strictest says something.
  auto alone = [&](const Candidate& c, Check& out) {
    return c.needed && simple(c.condition, out) && out.kind != kSameWords;
  };
  struct Strictest {
    bool equal = false;
    Candidate *least = nullptr, *most = nullptr;
    std::int64_t at_least = 0, at_most = 0;
  };
  std::unordered_map<std::uint32_t, Strictest> of_word;
  for (Candidate& a : all) {
    Check x;
    if (!alone(a, x)) continue;
    Strictest& s = of_word[x.a];
    if (x.kind == kEqual) s.equal = true;
    if (x.kind == kAtLeast && (!s.least || x.k > s.at_least)) s.least = &a, s.at_least = x.k;
    if (x.kind == kAtMost && (!s.most || x.k < s.at_most)) s.most = &a, s.at_most = x.k;
  }
  for (Candidate& a : all) {
    Check x;
    if (!alone(a, x)) continue;
    const Strictest& s = of_word[x.a];
    a.needed =
        x.kind == kEqual || (!s.equal && (x.kind != kAtLeast || s.least == &a) && (x.kind != kAtMost || s.most == &a));
  }
}

// Cheap checks first; the order among them is that of the trace.
void GuardSet::take_needed(ShapeEnv& env, const Candidates& candidates) {
  Check c;
  for (const bool cheap : {true, false})
    for (const Candidate& a : candidates.all)
      if (a.needed && simple(a.condition, c) == cheap) take(env, a);
  for (std::uint32_t i = 0; i < candidates.all.size(); ++i)
    if (candidates.all[i].needed) kept_.push_back(i);
  find_blocks();
}

// A condition on one word, or that two are equal.
bool GuardSet::simple(const Expr* e, Check& out) {
  if (e->args().size() != 2) return false;
  const Expr *l = e->args()[0], *r = e->args()[1];
  auto set = [&](CheckKind kind, const Expr* s, std::int64_t k) {
    out = {kind, word(s), 0, k};
    return true;
  };
  std::int64_t strict = e->kind() == ExprKind::Lt;
  if (e->kind() == ExprKind::Le || e->kind() == ExprKind::Lt) {
    if (is_symbol(l) && r->is_const() && r->value() > INT64_MIN) return set(kAtMost, l, r->value() - strict);
    if (is_symbol(r) && l->is_const() && l->value() < INT64_MAX) return set(kAtLeast, r, l->value() + strict);
    return false;
  }
  if (e->kind() != ExprKind::Eq && e->kind() != ExprKind::Ne) return false;
  bool equal = e->kind() == ExprKind::Eq;
  if (l->is_const()) std::swap(l, r);
  if (is_symbol(l) && r->is_const()) return set(equal ? kEqual : kUnequal, l, r->value());
  if (!equal) return false;
  if (is_symbol(l) && is_symbol(r)) {
    out = {kSameWords, word(l), word(r), 0};
    return true;
  }
  if (l->kind() != ExprKind::Mod || !r->is_const() || r->value() != 0) return false;
  const Expr *s = l->args()[0], *by = l->args()[1];
  if (!is_symbol(s) || !by->is_const() || by->value() <= 0) return false;
  bool power_of_two = (by->value() & (by->value() - 1)) == 0;
  return set(power_of_two ? kLowBitsZero : kDivisible, s, power_of_two ? by->value() - 1 : by->value());
}

void GuardSet::take(ShapeEnv& env, const Candidate& c) {
  Check check;
  if (!simple(c.condition, check)) {
    if (general_.empty()) general_.emplace_back();
    // What does not fit the array of first_miss any more goes to a program of its own.
    ExprProgram longer = general_.back();
    std::uint32_t slot = longer.add(c.condition);
    if (longer.size() > kTogether && general_.back().size() > 0) {
      longer = ExprProgram();
      slot = longer.add(c.condition);
      general_.emplace_back();
    }
    if (longer.size() > kSlots)
      bail(Bail::long_guard, "", c.where, "a guard of ", longer.size(), " operations; ", kSlots, " are the most");
    general_.back() = std::move(longer);
    check = {kGeneral, slot, static_cast<std::uint32_t>(general_.size() - 1), 0};
  }
  Said said{to_string(c.condition), c.why, c.where, {}};
  std::unordered_set<const Expr*> names;  // a sum may be of thousands
  each_symbol(c.condition, [&](const Expr* e) {
    const Symbol& s = env.symbols()[e->symbol()];
    if (names.insert(s.expr).second) said.symbols.push_back({s.source.word, to_string(s.expr), s.source.name, s.hint});
  });
  checks_.push_back(check);
  said_.push_back(std::move(said));
}

// Of all but general ones.
bool GuardSet::holds(const Check& c, const std::int64_t* w) noexcept {
  switch (c.kind) {
    case kEqual: return w[c.a] == c.k;
    case kUnequal: return w[c.a] != c.k;
    case kAtLeast: return w[c.a] >= c.k;
    case kAtMost: return w[c.a] <= c.k;
    case kSameWords: return w[c.a] == w[c.b];
    case kDivisible: return w[c.a] % c.k == 0;
    default: return (w[c.a] & c.k) == 0;
  }
}

// Note [Blocks of words]
//
// Sizes of tensors stand beside each other in a call, and so do those that a program wants to be equal, or constants. A
// word that is to be equal to others is compared with one of them: with the one as far before it as that of the word
// before, if there is such a one. The sizes of many tensors of one shape are thus compared with themselves, moved by
// one tensor. Such a block is one comparison of memory. Machine code for each set of guards would save some fifty
// instructions a call where the blocks are short, and cost more where they are long.
void GuardSet::find_blocks() {
  // words that are asked to be others, by classes; the least word of one is its root
  std::map<std::uint32_t, std::uint32_t> parent;
  auto root = [&](std::uint32_t w) {
    auto it = parent.emplace(w, w).first;
    while (it->first != it->second) {
      it->second = parent.at(it->second);
      it = parent.find(it->second);
    }
    return it->first;
  };
  std::vector<std::pair<std::uint32_t, std::int64_t>> equal;
  for (std::uint32_t i = 0; i < checks_.size(); ++i) {
    const Check& c = checks_[i];
    if (c.kind == kGeneral) {
      conditions_.push_back(i);
    } else if (c.kind == kEqual) {
      equal.emplace_back(c.a, c.k);
    } else if (c.kind == kSameWords) {
      const std::uint32_t a = root(c.a), b = root(c.b);
      parent[std::max(a, b)] = std::min(a, b);
    } else {
      rest_.push_back(c);
    }
  }
  std::size_t head = 0;  // of the latest block
  auto begin = [&](std::uint32_t word) { head = blocks_.size(), blocks_.push_back(word); };
  std::int64_t longest = 0;
  auto count_one = [&] { longest = std::max(longest, (blocks_[head] += std::int64_t{1} << 32) >> 32); };
  auto word_behind = [&] {
    return static_cast<std::uint32_t>(blocks_[head]) + static_cast<std::uint32_t>(blocks_[head] >> 32);
  };
  std::sort(equal.begin(), equal.end());
  for (const auto& [word, number] : equal) {
    if (equal_ == 0 || word_behind() != word) begin(word), ++equal_;
    count_one();
    blocks_.push_back(number);
  }
  std::unordered_map<std::uint32_t, std::uint32_t> latest;  // of each class
  // how far before the latest word is the one that it is compared with
  std::uint32_t before = 0;
  for (const auto& entry : parent) {
    const std::uint32_t word = entry.first, its = root(word);
    const auto [of_class, first] = latest.emplace(its, word);
    if (first) continue;
    const auto at = before && before <= word ? parent.find(word - before) : parent.end();
    const bool goes_on = at != parent.end() && root(at->first) == its;
    if (!goes_on) before = word - of_class->second;
    if (!goes_on || word_behind() != word) begin(word), blocks_.push_back(word - before), ++same_;
    count_one();
    of_class->second = word;
  }
  std::stable_sort(rest_.begin(), rest_.end(), [](const Check& a, const Check& b) { return a.kind < b.kind; });
  more_ = !rest_.empty() || !conditions_.empty() || longest > static_cast<std::int64_t>(kFewWords);
}

bool GuardSet::more_hold(const std::int64_t* w) const noexcept {
  if (!blocks_hold(w, [](const std::int64_t* a, const std::int64_t* b, std::size_t n) { return words_same(a, b, n); }))
    return false;
  for (const Check& c : rest_)
    if (!holds(c, w)) return false;
  return conditions_.empty() || !first_condition(w);
}

std::optional<std::uint32_t> GuardSet::first_condition(const std::int64_t* w) const noexcept {
  std::int64_t slots[kSlots];
  std::uint32_t evaluated = 0;  // programs whose results are, or were, in slots
  for (const std::uint32_t i : conditions_) {
    const Check& c = checks_[i];
    if (c.b == evaluated) general_[evaluated++].evaluate_conditions(w, slots);
    if (slots[c.a] == 0) return i;
  }
  return std::nullopt;
}

std::optional<std::uint32_t> GuardSet::first_miss(const std::int64_t* w) const noexcept {
  if (hold(w)) return std::nullopt;
  for (std::uint32_t i = 0; i < checks_.size(); ++i)
    if (checks_[i].kind != kGeneral && !holds(checks_[i], w)) return i;
  return first_condition(w);
}

GuardSet::Distance GuardSet::distance(const std::int64_t* w) const {
  std::int64_t slots[kSlots];
  std::uint32_t evaluated = 0;
  Distance d;
  for (std::size_t i = 0; i < checks_.size(); ++i) {
    const Check& c = checks_[i];
    if (c.kind == kGeneral) {
      if (d.guards) continue;  // it may rely on those before it
      if (c.b == evaluated) general_[evaluated++].evaluate_conditions(w, slots);
      if (slots[c.a] != 0) continue;
    } else if (holds(c, w)) {
      continue;
    }
    ++d.guards;
    for (const Seen& s : said_[i].symbols)
      d.values += std::abs(static_cast<double>(w[s.word]) - static_cast<double>(s.hint));
  }
  return d;
}

std::size_t GuardSet::size() const { return checks_.size(); }

std::vector<GuardSet::WordRange> GuardSet::word_ranges(std::size_t most) const {
  std::vector<WordRange> out;
  std::unordered_map<std::uint32_t, std::size_t> at;
  for (const Check& c : checks_) {
    if (c.kind != kEqual && c.kind != kAtLeast && c.kind != kAtMost) continue;
    if (most-- == 0) break;
    const auto [it, first] = at.emplace(c.a, out.size());
    if (first) out.push_back({c.a, INT64_MIN, INT64_MAX});
    WordRange& r = out[it->second];
    if (c.kind != kAtMost) r.lo = std::max(r.lo, c.k);
    if (c.kind != kAtLeast) r.hi = std::min(r.hi, c.k);
  }
  std::erase_if(out, [](const WordRange& r) { return r.lo > r.hi; });  // admits nothing; admits() says why
  return out;
}

// ---- for people

namespace {

std::string place(SourceLoc where) {
  const char* slash = std::strrchr(where.file, '/');
  return std::string(slash ? slash + 1 : where.file) + ":" + std::to_string(where.line);
}

// "scale .bits" is a double, given as its bits.
constexpr std::string_view kBits = " .bits";
std::string without_bits(const std::string& source) {
  return source.ends_with(kBits) ? source.substr(0, source.size() - kBits.size()) : source;
}
std::string shown(const std::string& source, std::int64_t word) {
  return source.ends_with(kBits) ? Scalar(std::bit_cast<double>(word)).str() : std::to_string(word);
}

}  // namespace

GuardSet::Told GuardSet::told(std::uint32_t miss, const std::int64_t* words) const {
  const Said& s = said_[miss];
  Told t;
  t.wanted = s.condition;
  std::string where;
  for (const Seen& symbol : s.symbols) {
    const std::string name = without_bits(symbol.name), bits = std::to_string(symbol.hint);
    if (const std::size_t at = t.wanted.find(bits); name != symbol.name && at != std::string::npos)
      t.wanted.replace(at, bits.size(), shown(symbol.name, symbol.hint));
    t.names += (t.names.empty() ? "" : ", ") + name;
    t.seen += (t.seen.empty() ? "" : ", ") + shown(symbol.name, words[symbol.word]);
    where += (where.empty() ? " where " : ", ") + symbol.symbol + " = " + name + " (" +
             shown(symbol.name, symbol.hint) + " when traced)";
  }
  t.wanted += where;
  if (s.where) t.line = place(s.where);
  return t;
}

std::string GuardSet::explain(std::uint32_t miss, const std::int64_t* words) const {
  const Said& s = said_[miss];
  std::string seen;
  for (const Seen& symbol : s.symbols)
    seen += (seen.empty() ? "" : ", ") + without_bits(symbol.name) + " is " + shown(symbol.name, words[symbol.word]);
  std::string born = s.where               ? "guard born at " + place(s.where) + " (" + s.why + ")"
                     : s.why == "declared" ? "declared by the caller"
                                           : "guard: " + s.why;
  return seen + "; wanted " + told(miss, words).wanted + "; " + born;
}

std::string GuardSet::remedy(std::uint32_t miss) const {
  const Said& s = said_[miss];
  const Check& c = checks_[miss];
  if (s.why == "declared") return "pass sizes that keep what was declared (" + s.condition + "), or declare less";
  if (s.why.find("the length of the list") != std::string::npos)
    return "each length is a compilation of its own: take what is needed with select() or narrow(), or work on the "
           "whole tensor";
  if (s.why.rfind("pinned:", 0) == 0)
    return "compute such numbers outside of the function and pass them as reprise::Int";
  if (s.why.rfind("pinned", 0) == 0)
    return s.symbols.size() == 1 && s.symbols[0].name.ends_with(kBits)
               ? "keep the number a Scalar or a Float (arithmetic and comparisons may stay): converted to a C++ double "
                 "it becomes a constant, and each value is a compilation of its own"
               : "keep the value an Int (and what is computed of it in floating point a Float, as 1.0 / "
                 "reprise::sqrt(n)): converted to a C++ number it becomes a constant, and each value is a compilation "
                 "of its own";
  if (s.why == "mark_static")
    return "mark_static makes each size a compilation of its own; without it the size stays symbolic";
  if (s.why == "divisor")
    return "a call that divides by zero fails; pass another value than 0 for " + s.symbols[0].name;
  // What mark_dynamic states of a dimension a call that fails here does not keep: to state it would only be another
  // error.
  const std::string& name = s.symbols[0].name;
  if (s.why == "assumed") return "the function assumes it, and throws where it does not hold";
  const std::string own = "each side is a compilation of its own";
  if (c.kind == kDivisible || c.kind == kLowBitsZero)
    return "pad " + name + " to a multiple of " + std::to_string(c.kind == kDivisible ? c.k : c.k + 1) +
           " before the call; else " + own;
  if (s.why.rfind("broadcast", 0) == 0 && c.kind != kSameWords)
    return "where one of equal sizes is 1 it is broadcast, which is a compilation of its own: expand() it before the "
           "call to have one";
  if (c.kind == kSameWords) return "pass equal sizes; else " + own;
  if (s.why == "branch")
    return "the function branches on this, and " + own + ", made once: where() or cond() instead of the branch has one";
  return "keep " + name + " so that this holds; else " + own + ", made once";
}

std::string GuardSet::text(std::uint32_t i) const {
  const Said& s = said_[i];
  return s.condition + "  ; " + s.why + (s.where ? ", " + place(s.where) : "");
}

}  // namespace reprise::guards
