// What guards teach: narrower ranges, equalities to substitute, inequalities, divisors; and the taking of guards.
#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/log.h"
#include "guards/data_decider.h"
#include "guards/general.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

Int ShapeEnv::new_symbol(Source source, std::int64_t hint, std::int64_t lo, std::int64_t hi, std::int64_t multiple_of) {
  if (frozen_) fail(ErrorCode::InvalidArgument, "Int", {}, "a symbol is made after the trace ended");
  REPRISE_CHECK(multiple_of >= 1);
  if (hint < lo || hint > hi || hint % multiple_of != 0)
    fail(ErrorCode::InvalidArgument, "mark_dynamic", {}, source.name, " is ", hint,
         ", which is not what was declared of it: ", lo, " to ", hi, ", a multiple of ", multiple_of);
  REPRISE_CHECK(hint <= source.at_most);
  const std::int64_t most = std::min(hi, source.at_most);
  symbols_.push_back({nullptr, std::move(source), hint, lo, most, multiple_of});
  declared_.push_back({lo, hi, multiple_of});
  symbols_.back().expr = make_interned(ExprKind::Symbol, static_cast<std::int64_t>(symbols_.size() - 1), {});
  tighten(symbols_.back());
  return lo == hi ? Int(lo) : Int(symbols_.back().expr);
}

// ---- substitution

const Expr* ShapeEnv::simplify(const Expr* e) {
  if (e->is_const() || impl_->facts.empty()) return e;
  std::vector<Impl::Simplified>& cache = impl_->simplified;
  if (e->id() < cache.size() && cache[e->id()].generation == impl_->generation) return cache[e->id()].expr;
  // Very deep expressions stay as they are below some depth: right, only less simple.
  constexpr int kDeepest = 500;
  if (frozen_ || impl_->simplify_depth >= kDeepest) return e;
  ++impl_->simplify_depth;
  const Expr* made = simplify_here(e);
  --impl_->simplify_depth;
  if (impl_->claims_kept && made != e) claim({e, e->kind(), {}, made});
  if (cache.size() <= e->id()) cache.resize(impl_->exprs.size());
  cache[e->id()] = {impl_->generation, made};
  return made;
}

const Expr* ShapeEnv::simplify_here(const Expr* e) {
  const Expr* made = e;
  if (e->kind() != ExprKind::Symbol) {
    std::vector<const Expr*> args;
    for (const Expr* a : e->args()) args.push_back(simplify(a));
    // Made anew even of the same parts where ranges, narrower by now, may make another form of it.
    if (!Impl::node(e).plain || !std::equal(args.begin(), args.end(), e->args().begin())) made = make(e->kind(), args);
    // A coefficient that does not fit any more would leave the low bits alone.
    if ((e->kind() == ExprKind::Add || e->kind() == ExprKind::Mul) && made->kind() == ExprKind::Wrap &&
        std::find(args.begin(), args.end(), made) == args.end())
      made = e;
  }
  auto it = impl_->substitution.find(made);
  return it == impl_->substitution.end() ? made : simplify(it->second);
}

void ShapeEnv::substitute(const Expr* from, const Expr* to) {
  if (from == to || !impl_->substitution.emplace(from, to).second) return;
  ++impl_->generation;
  if (from->kind() == ExprKind::Symbol && !to->is_const() && !of_data(from)) {
    // What was known of the symbol holds for what replaces it, and the other way round.
    Symbol& s = symbols_[from->symbol()];
    auto at_most = [&](const Expr* a, const Expr* b) {
      const Expr* args[] = {a, b};
      learn(simplify(make(ExprKind::Le, args)));
    };
    Range r = range_of(to);
    if (s.lo > r.lo) at_most(constant(s.lo), to);
    if (s.hi < r.hi) at_most(to, constant(s.hi));
    s.lo = std::max(s.lo, r.lo);
    s.hi = std::min(s.hi, r.hi);
    if (s.multiple_of > 1) learn_multiple(to, s.multiple_of);
  }
  // Facts told in terms of the old expression, told anew.
  const auto with = impl_->facts_with.find(from);
  if (with == impl_->facts_with.end()) return;
  for (std::uint32_t i : std::vector<std::uint32_t>(with->second)) {
    const Expr* fact = impl_->facts[i];
    if (const Expr* again = simplify(fact); again != fact && of_data(again) == of_data(fact)) learn(again);
  }
}

void ShapeEnv::Impl::index_fact(const Expr* part, std::uint32_t fact) {
  if (part->is_const()) return;
  std::vector<std::uint32_t>& with = facts_with[part];
  if (!with.empty() && with.back() == fact) return;
  with.push_back(fact);
  for (const Expr* a : part->args()) index_fact(a, fact);
}

// ---- learning

void ShapeEnv::learn(const Expr* e) {
  if (e->is_const() || !impl_->known_true.insert(e).second) return;
  impl_->index_fact(e, static_cast<std::uint32_t>(impl_->facts.size()));
  impl_->facts.push_back(e);
  ++impl_->generation;
  // What a very long sum says of its parts helps nobody, and would be asked for each of them. It is known as it stands.
  constexpr std::size_t kMostTerms = 32;
  auto is_long = [](const Expr* a) { return a->kind() == ExprKind::Add && a->args().size() > kMostTerms; };
  if (std::any_of(e->args().begin(), e->args().end(), is_long)) return;
  switch (e->kind()) {
    case ExprKind::And:
      learn(e->args()[0]);
      learn(e->args()[1]);
      return;
    case ExprKind::Lt:
    case ExprKind::Le: return learn_order(e);
    case ExprKind::Eq: return learn_equal(e);
    case ExprKind::Ne:
      for (const Expr* a : e->args())
        if (a->kind() == ExprKind::Symbol) tighten(symbols_[a->symbol()]);
      return;
    default: return;
  }
}

void ShapeEnv::learn_order(const Expr* e) {
  Polynomial d = polynomial_of(e->args()[0]).minus(polynomial_of(e->args()[1]));
  if (e->kind() == ExprKind::Lt) d.add(Monomial{}, 1);
  if (!d.exact) return learn_bound(e);
  // k*s + rest <= 0 bounds s where the rest is bounded from below. Where the rest is a number, that is all the fact
  // says.
  bool said = false;
  for (const Polynomial::Term& t : d.terms) {
    if (t.atoms.size() != 1 || t.atoms[0]->kind() != ExprKind::Symbol || t.coefficient == INT64_MIN) continue;
    if (of_data(e) && !of_data(t.atoms[0])) continue;  // of the call's own it says nothing before it has been asked
    Polynomial rest = d;
    rest.add(t.atoms, Polynomial::wrap_mul(t.coefficient, -1));
    std::int64_t least = bounds(rest).lo, k = std::abs(t.coefficient);
    if (!rest.exact || least == INT64_MIN || least == INT64_MAX) continue;
    said = rest.terms.empty() || (rest.terms.size() == 1 && rest.terms[0].atoms.empty());
    std::int64_t most = -least, q = most / k - (most % k < 0);  // k*|s| <= most, rounded down
    Symbol& s = symbols_[t.atoms[0]->symbol()];
    if (t.coefficient > 0) s.hi = std::min(s.hi, q);
    else s.lo = std::max(s.lo, -q);
    tighten(s);
  }
  if (!said) impl_->remember_order(d, of_data(e));
}

void ShapeEnv::Impl::remember_order(const Polynomial& d, bool data) {
  const std::uint64_t key = hash_of(d);
  for (auto [it, end] = strictest.equal_range(key); it != end; ++it) {
    if (assumed_order[it->second] != data) continue;
    Polynomial& known = nonpositive[it->second];
    const Polynomial more = d.minus(known);
    if (!more.exact) continue;
    if (!more.terms.empty() && (more.terms.size() > 1 || !more.terms[0].atoms.empty())) continue;
    if (more.constant() > 0) known = d;
    return;
  }
  const auto at = static_cast<std::uint32_t>(nonpositive.size());
  nonpositive.push_back(d);
  assumed_order.push_back(data);
  strictest.emplace(key, at);
  for (const Polynomial::Term& t : d.terms)
    if (!t.atoms.empty()) with_term[hash_of(t)].push_back(at);
}

// What is left of a comparison whose difference 64 bits do not hold: the end of a symbol's range.
void ShapeEnv::learn_bound(const Expr* e) {
  const Expr *l = e->args()[0], *r = e->args()[1];
  const std::int64_t strict = e->kind() == ExprKind::Lt;
  if (l->kind() == ExprKind::Symbol && r->is_const() && r->value() > INT64_MIN) {
    Symbol& s = symbols_[l->symbol()];
    s.hi = std::min(s.hi, r->value() - strict);
    tighten(s);
  } else if (r->kind() == ExprKind::Symbol && l->is_const() && l->value() < INT64_MAX) {
    Symbol& s = symbols_[r->symbol()];
    s.lo = std::max(s.lo, l->value() + strict);
    tighten(s);
  }
}

void ShapeEnv::learn_multiple(const Expr* value, std::int64_t by) {
  constexpr std::size_t kMostDivisors = 32;
  if (std::vector<std::int64_t>& known = impl_->divides[value]; known.size() < kMostDivisors) known.push_back(by);
  ++impl_->generation;
  Polynomial p = polynomial_of(value);
  if (value->kind() == ExprKind::Symbol) {
    Symbol& s = symbols_[value->symbol()];
    __int128 both = static_cast<__int128>(s.multiple_of) / std::gcd(s.multiple_of, by) * by;
    if (both <= INT64_MAX) s.multiple_of = static_cast<std::int64_t>(both);
    tighten(s);
  } else if (p.terms.size() == 1 && p.terms[0].atoms.size() == 1 && p.terms[0].coefficient != 1) {
    std::int64_t rest = by / Polynomial::gcd(p.terms[0].coefficient, by);
    if (rest > 1) learn_multiple(p.terms[0].atoms[0], rest);
  }
}

void ShapeEnv::learn_equal(const Expr* e) {
  const Expr *l = e->args()[0], *r = e->args()[1];
  if (l->is_const()) std::swap(l, r);
  if (l->kind() == ExprKind::Mod && r->is_const() && r->value() == 0 && l->args()[1]->is_const()) {
    std::int64_t by = l->args()[1]->value();
    if (by != 0 && by != INT64_MIN) learn_multiple(l->args()[0], std::abs(by));
  }
  // Solve for the youngest symbol with coefficient one that stands nowhere else.
  auto parts = [](auto& self, const Expr* e, std::unordered_set<const Expr*>& out) -> void {
    if (!out.insert(e).second) return;
    for (const Expr* a : e->args()) self(self, a, out);
  };
  const bool data = of_data(e);
  Polynomial d = polynomial_of(l).minus(polynomial_of(r));
  if (!d.exact) {
    if (!data && r->is_const() && l->kind() != ExprKind::Add) substitute(l, r);
    return;
  }
  std::unordered_set<const Expr*> inside;  // what the atoms are made of; a symbol that stands alone is no part
  for (const Polynomial::Term& t : d.terms)
    for (const Expr* a : t.atoms)
      if (t.atoms.size() > 1 || a->kind() != ExprKind::Symbol) parts(parts, a, inside);
  const Expr* best = nullptr;
  std::int64_t sign = 0;
  for (const Polynomial::Term& t : d.terms) {
    if (t.atoms.size() != 1 || t.atoms[0]->kind() != ExprKind::Symbol || (t.coefficient != 1 && t.coefficient != -1))
      continue;
    const Expr* s = t.atoms[0];
    if (data && !of_data(s)) continue;
    if (!inside.count(s) && (!best || s->symbol() > best->symbol())) best = s, sign = t.coefficient;
  }
  // Of data also for a part that is no symbol (n / 2 == s0): no expression of the call's own is replaced.
  for (const Polynomial::Term& t : d.terms) {
    if (best || !data) break;
    if (t.atoms.size() != 1 || !of_data(t.atoms[0]) || (t.coefficient != 1 && t.coefficient != -1)) continue;
    std::unordered_set<const Expr*> others;
    for (const Polynomial::Term& u : d.terms)
      if (&u != &t)
        for (const Expr* a : u.atoms) parts(parts, a, others);
    if (!others.count(t.atoms[0])) best = t.atoms[0], sign = t.coefficient;
  }
  if (best) {
    Polynomial value;
    for (const Polynomial::Term& t : d.terms)
      if (!(t.atoms.size() == 1 && t.atoms[0] == best)) value.add(t.atoms, value.product(t.coefficient, -sign));
    if (value.exact) substitute(best, simplify(from(value)));
  } else if (data) {
    // 2 * n + 1 == s0, n * m == s0: nothing to replace, but each is at most the other.
    Polynomial negated;
    negated.add(d, -1);
    if (negated.exact) impl_->remember_order(d, true), impl_->remember_order(negated, true);
  } else if (r->is_const() && l->kind() != ExprKind::Add) {
    substitute(l, r);  // s0*s1 == 64, s0 % 8 == 0
  } else if (!r->is_const() && l->kind() != ExprKind::Add && r->kind() != ExprKind::Add) {
    if (l->id() < r->id()) std::swap(l, r);
    std::unordered_set<const Expr*> of_r;
    parts(parts, r, of_r);
    if (!of_r.count(l)) substitute(l, r);  // s0 / 4 == s1 / 4
  }
}

// Moves the ends of a symbol's range past values it cannot have; one value left makes it a constant.
void ShapeEnv::tighten(Symbol& s) {
  auto excluded = [&](std::int64_t v) {
    if (impl_->known_true.empty()) return false;
    const Expr* args[] = {s.expr, constant(v)};
    return impl_->known_true.count(make(ExprKind::Ne, args)) > 0;
  };
  // To the next multiple first, then from multiple to multiple.
  if (s.multiple_of > 1 && s.lo != INT64_MIN) {
    std::int64_t over = s.lo % s.multiple_of, up = over > 0 ? s.multiple_of - over : -over;
    if (s.lo <= INT64_MAX - up) s.lo += up;
  }
  if (s.multiple_of > 1 && s.hi != INT64_MAX) {
    std::int64_t over = s.hi % s.multiple_of, down = over < 0 ? s.multiple_of + over : over;
    if (s.hi >= INT64_MIN + down) s.hi -= down;
  }
  std::int64_t step = s.multiple_of;
  while (s.lo != INT64_MIN && s.lo < s.hi && s.lo <= INT64_MAX - step && excluded(s.lo)) s.lo += step;
  while (s.hi != INT64_MAX && s.lo < s.hi && s.hi >= INT64_MIN + step && excluded(s.hi)) s.hi -= step;
  ++impl_->generation;
  if (s.lo == s.hi) substitute(s.expr, constant(s.lo));
}

// ---- taking guards

bool ShapeEnv::decide(const Expr* e, SourceLoc where, const char* why) {
  if (where) impl_->asked = where;
  if (std::optional<bool> known = prove(e)) return *known;
  bool value = evaluate_hint(e) != 0;
  if (Supposing::ask()) return value;
  if (of_data(e)) return decide_of_data(e, where);
  const Expr* args[] = {e};
  record(value ? e : make(ExprKind::Not, args), where, why);
  return value;
}

bool ShapeEnv::require(const Expr* e, SourceLoc where, const char* why) {
  if (where) impl_->asked = where;
  if (std::optional<bool> known = prove(e)) return *known;
  if (!of_data(e) && evaluate_hint(e) == 0) return false;
  if (Supposing::ask()) return evaluate_hint(e) != 0;
  if (of_data(e)) return assume(e), true;
  record(e, where, why);
  return true;
}

std::int64_t ShapeEnv::pin(const Expr* e, SourceLoc where, const char* why) {
  e = simplify(e);
  if (e->is_const()) return e->value();
  std::int64_t v = evaluate_hint(e);
  if (Supposing::ask()) return v;
  if (of_data(e)) {
    DataDecider* const by = in_library() ? nullptr : DataDeciderScope::of(*this);
    const std::optional<std::int64_t> value = by ? by->value(e, where ? where : impl_->asked) : std::nullopt;
    if (!value) refuse_of_data(e, where, true);
    const Expr* equation[] = {e, constant(*value)};
    assume(make(ExprKind::Eq, equation));
    return *value;
  }
  const Expr* args[] = {e, constant(v)};
  const Expr* condition = make(ExprKind::Eq, args);
  if (prove(condition) != std::optional<bool>(true)) record(condition, where, why);
  return v;
}

void ShapeEnv::record(const Expr* condition, SourceLoc where, const char* why) {
  if (frozen_)
    fail(ErrorCode::InvalidArgument, "Int", where, "a compiled function has left ", to_string(condition),
         " in a variable of its surroundings, and its trace is over: return it, or take its value() inside the "
         "function");
  if (condition->kind() == ExprKind::And) {  // one check each, and each told by itself
    for (const Expr* part : condition->args())
      if (prove(part) != std::optional<bool>(true)) record(part, where, why);
    return;
  }
  guards_.push_back({condition, where, why});
  learn(simplify(condition));
  impl_->known_true.insert(condition);
  if (logs::on(logs::Channel::Guards)) {
    std::string text = to_string(condition);
    logs::event(logs::Event::guard, function, text + "  (" + why + ")",
                {{"condition", text}, {"why", why}, {"file", where.file ? where.file : ""}, {"line", where.line}});
  }
}

void ShapeEnv::keep_claims() { impl_->claims_kept = true; }

std::vector<Claim> ShapeEnv::take_claims() {
  impl_->claims_kept = false;
  return std::move(impl_->claims);
}

void ShapeEnv::claim(Claim c) {
  if (c.whole == c.result ||
      (!c.whole && c.kind == c.result->kind() &&
       std::equal(c.args.begin(), c.args.end(), c.result->args().begin(), c.result->args().end())))
    return;
  impl_->claims.push_back(std::move(c));
}

const Expr* ShapeEnv::own(const Expr* e) {
  if (frozen_ || in_library() || e->is_const()) return e;
  if (fits(e)) {
    if (impl_->claims_kept) claim({nullptr, ExprKind::Fits, {e}, constant(1)});
    return e;
  }
  const Expr* args[] = {e};
  if (!in_64_bits(Impl::node(e).hint.value) || of_data(e)) return make(ExprKind::Wrap, args);
  require(make(ExprKind::Fits, args), {}, "no overflow");
  return simplify(e);
}

void ShapeEnv::freeze() {
  // From here other threads ask: what they look up is made now, and nothing but the interning table changes any more.
  // (What is simple by the facts is found here, not where a pass happens to have asked for it.)
  for (std::size_t i = 0, n = impl_->exprs.size(); i < n; ++i) simplify(&impl_->exprs[i]);
  for (std::size_t i = 0; i < impl_->exprs.size(); ++i) range_of(&impl_->exprs[i]);
  frozen_ = true;
}

}  // namespace reprise::guards
