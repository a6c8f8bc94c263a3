// What is known: ranges, equalities, inequalities and divisibility learned from guards, and questions answered by them.
#include <numeric>

#include "base/errors.h"
#include "base/log.h"
#include "guards/shape_env_impl.h"

#include <nlohmann/json.hpp>

namespace reprise::guards {

Int ShapeEnv::new_symbol(Source source, std::int64_t hint, std::int64_t lo, std::int64_t hi, std::int64_t multiple_of) {
  REPRISE_CHECK(!frozen_, "a symbol is made after the trace ended");
  if (lo == hi) return Int(lo);
  const Expr* e = make_interned(ExprKind::Symbol, static_cast<std::int64_t>(symbols_.size()), {});
  symbols_.push_back({e, std::move(source), hint, lo, hi, multiple_of});
  declared_.push_back({lo, hi, multiple_of});
  return Int(e);
}

std::int64_t ShapeEnv::evaluate_hint(const Expr* e) const {
  auto arg = [&](std::size_t i) { return evaluate_hint(e->args()[i]); };
  switch (e->kind()) {
    case ExprKind::Const: return e->value();
    case ExprKind::Symbol: return symbols_[e->symbol()].hint;
    case ExprKind::Add: {
      std::int64_t v = 0;
      for (const Expr* a : e->args()) v = Polynomial::wrap_add(v, evaluate_hint(a));
      return v;
    }
    case ExprKind::Mul: {
      std::int64_t v = 1;
      for (const Expr* a : e->args()) v = Polynomial::wrap_mul(v, evaluate_hint(a));
      return v;
    }
    case ExprKind::Div: case ExprKind::Mod: {
      std::int64_t a = arg(0), b = arg(1);
      if (b == 0) fail(ErrorCode::InvalidArgument, "Int", {}, "division by zero: ", to_string(e->args()[1]), " is 0");
      if (b == -1) return e->kind() == ExprKind::Div ? Polynomial::wrap_mul(a, -1) : 0;
      return e->kind() == ExprKind::Div ? a / b : a % b;
    }
    case ExprKind::Min: return std::min(arg(0), arg(1));
    case ExprKind::Max: return std::max(arg(0), arg(1));
    case ExprKind::Eq: return arg(0) == arg(1);
    case ExprKind::Ne: return arg(0) != arg(1);
    case ExprKind::Lt: return arg(0) < arg(1);
    case ExprKind::Le: return arg(0) <= arg(1);
    case ExprKind::And: return arg(0) && arg(1);
    case ExprKind::Or: return arg(0) || arg(1);
    case ExprKind::Not: return !arg(0);
  }
  return 0;
}

ShapeEnv::Range ShapeEnv::range_of(const Expr* e) const {
  auto wide = [](std::int64_t v) { return static_cast<__int128>(v); };
  auto product = [&](Range a, Range b) {
    // An unbounded side stays unbounded unless the other is exactly zero.
    auto mul = [&](std::int64_t x, std::int64_t y) -> std::int64_t {
      if (x == 0 || y == 0) return 0;
      bool infinite = x == INT64_MIN || x == INT64_MAX || y == INT64_MIN || y == INT64_MAX;
      if (infinite) return (x < 0) != (y < 0) ? INT64_MIN : INT64_MAX;
      return saturate(wide(x) * y);
    };
    std::int64_t c[] = {mul(a.lo, b.lo), mul(a.lo, b.hi), mul(a.hi, b.lo), mul(a.hi, b.hi)};
    return Range{*std::min_element(c, c + 4), *std::max_element(c, c + 4)};
  };
  switch (e->kind()) {
    case ExprKind::Const: return {e->value(), e->value()};
    case ExprKind::Symbol: return {symbols_[e->symbol()].lo, symbols_[e->symbol()].hi};
    case ExprKind::Add: {
      Range r{0, 0};
      for (const Expr* a : e->args()) {
        Range x = range_of(a);
        r.lo = r.lo == INT64_MIN || x.lo == INT64_MIN ? INT64_MIN : saturate(wide(r.lo) + x.lo);
        r.hi = r.hi == INT64_MAX || x.hi == INT64_MAX ? INT64_MAX : saturate(wide(r.hi) + x.hi);
      }
      return r;
    }
    case ExprKind::Mul: {
      Range r{1, 1};
      const Expr* before = nullptr;
      for (const Expr* a : e->args()) {
        r = product(r, range_of(a));
        if (a == before && e->args().size() == 2) r.lo = std::max<std::int64_t>(r.lo, 0);  // a square
        before = a;
      }
      return r;
    }
    case ExprKind::Div: {
      Range a = range_of(e->args()[0]), b = range_of(e->args()[1]);
      if (b.lo <= 0) {  // guards exclude zero where this is used; the size of the quotient is at most that of the dividend
        if (a.lo >= 0 && b.lo >= 0) return {0, a.hi};
        return {INT64_MIN, INT64_MAX};
      }
      auto quotient = [](std::int64_t x, std::int64_t y) { return x == INT64_MIN || x == INT64_MAX ? x : (y == INT64_MAX ? 0 : x / y); };
      std::int64_t lo = a.lo >= 0 ? (b.hi == INT64_MAX ? 0 : quotient(a.lo, b.hi)) : quotient(a.lo, b.lo);
      std::int64_t hi = a.hi >= 0 ? quotient(a.hi, b.lo) : (b.hi == INT64_MAX ? 0 : quotient(a.hi, b.hi));
      return {lo, hi};
    }
    case ExprKind::Mod: {
      Range a = range_of(e->args()[0]), b = range_of(e->args()[1]);
      std::int64_t most = b.lo > INT64_MIN + 1 ? std::max(b.hi == INT64_MAX ? INT64_MAX : std::abs(b.hi), std::abs(b.lo)) : INT64_MAX;
      if (most != INT64_MAX && most > 0) --most;
      return {a.lo >= 0 ? 0 : (most == INT64_MAX ? INT64_MIN : -most), a.hi <= 0 ? 0 : std::min(a.hi, most)};
    }
    case ExprKind::Min: case ExprKind::Max: {
      Range a = range_of(e->args()[0]), b = range_of(e->args()[1]);
      return e->kind() == ExprKind::Min ? Range{std::min(a.lo, b.lo), std::min(a.hi, b.hi)} : Range{std::max(a.lo, b.lo), std::max(a.hi, b.hi)};
    }
    default: return {0, 1};
  }
}

bool ShapeEnv::divides(std::int64_t k, const Expr* e) const {
  if (k == 1) return true;
  for (const Impl::Divides& d : impl_->divides)
    if (d.value == e && d.by % k == 0) return true;
  for (const Polynomial::Term& t : polynomial_of(e).terms) {
    std::int64_t factor = std::gcd(t.coefficient, k);
    for (const Expr* a : t.atoms) {
      if (k / factor == 1) break;
      std::int64_t m = a->kind() == ExprKind::Symbol ? symbols_[a->symbol()].multiple_of : 1;
      for (const Impl::Divides& d : impl_->divides)
        if (d.value == a) m = std::lcm(m, d.by);
      factor *= std::gcd(m, k / factor);
    }
    if (factor % k != 0) return false;
  }
  return true;
}

const Expr* ShapeEnv::simplify(const Expr* e) {
  if (impl_->substitution.empty() || e->is_const() || frozen_) return e;
  if (auto it = impl_->simplified.find(e); it != impl_->simplified.end()) return it->second;
  const Expr* made = e;
  if (e->kind() == ExprKind::Symbol) {
    if (auto it = impl_->substitution.find(e); it != impl_->substitution.end()) made = simplify(it->second);
  } else {
    std::vector<const Expr*> args;
    bool changed = false;
    for (const Expr* a : e->args()) {
      args.push_back(simplify(a));
      changed = changed || args.back() != a;
    }
    if (changed) made = make(e->kind(), args);
  }
  impl_->simplified.emplace(e, made);
  return made;
}

// left - right + extra <= 0 ?
std::optional<bool> ShapeEnv::prove_at_most_zero(const Expr* left, const Expr* right, std::int64_t extra) {
  Polynomial d = polynomial_of(left);
  d.add(polynomial_of(right), -1);
  d.add(Monomial{}, extra);
  auto bounds = [&](const Polynomial& p) {
    Range r{0, 0};
    for (const Polynomial::Term& t : p.terms) {
      Range x{1, 1};
      const Expr* whole = t.atoms.empty() ? nullptr : t.atoms.size() == 1 ? t.atoms[0] : make_interned_product(t.atoms);
      if (whole) x = range_of(whole);
      auto scale = [&](std::int64_t v) {
        if (v == INT64_MIN || v == INT64_MAX) return (v < 0) != (t.coefficient < 0) ? INT64_MIN : INT64_MAX;
        return saturate(static_cast<__int128>(v) * t.coefficient);
      };
      std::int64_t a = scale(x.lo), b = scale(x.hi);
      if (a > b) std::swap(a, b);
      r.lo = r.lo == INT64_MIN || a == INT64_MIN ? INT64_MIN : saturate(static_cast<__int128>(r.lo) + a);
      r.hi = r.hi == INT64_MAX || b == INT64_MAX ? INT64_MAX : saturate(static_cast<__int128>(r.hi) + b);
    }
    return r;
  };
  Range r = bounds(d);
  if (r.hi <= 0) return true;
  if (r.lo > 0) return false;
  // d = fact + rest with fact <= 0: enough that rest <= 0. Likewise for the negation, 1 - d <= 0.
  Polynomial negated;
  negated.add(Monomial{}, 1);
  negated.add(d, -1);
  for (const Polynomial& fact : impl_->nonpositive) {
    Polynomial rest = d;
    rest.add(fact, -1);
    if (bounds(rest).hi <= 0) return true;
    rest = negated;
    rest.add(fact, -1);
    if (bounds(rest).hi <= 0) return false;
  }
  return std::nullopt;
}

const Expr* ShapeEnv::make_interned_product(const std::vector<const Expr*>& atoms) { return make_interned(ExprKind::Mul, 0, atoms); }

std::optional<bool> ShapeEnv::prove(const Expr* e) {
  e = simplify(e);
  if (e->is_const()) return e->value() != 0;
  if (frozen_) return std::nullopt;
  if (impl_->known_true.count(e)) return true;
  const Expr* not_arg[] = {e};
  if (impl_->known_true.count(make(ExprKind::Not, not_arg))) return false;
  switch (e->kind()) {
    case ExprKind::Lt: return prove_at_most_zero(e->args()[0], e->args()[1], 1);
    case ExprKind::Le: return prove_at_most_zero(e->args()[0], e->args()[1], 0);
    case ExprKind::Eq: case ExprKind::Ne: {
      const Expr *l = e->args()[0], *r = e->args()[1];
      bool is_eq = e->kind() == ExprKind::Eq;
      for (int i = 0; i < 2; ++i) {
        if (l->kind() == ExprKind::Mod && r->is_const() && r->value() == 0 && l->args()[1]->is_const() && l->args()[1]->value() > 0 &&
            divides(l->args()[1]->value(), l->args()[0]))
          return is_eq;
        std::swap(l, r);
      }
      // Strictly smaller or strictly larger means different.
      if (prove_at_most_zero(l, r, 1) == std::optional<bool>(true) || prove_at_most_zero(r, l, 1) == std::optional<bool>(true)) return !is_eq;
      if (prove_at_most_zero(l, r, 0) == std::optional<bool>(true) && prove_at_most_zero(r, l, 0) == std::optional<bool>(true)) return is_eq;
      return std::nullopt;
    }
    case ExprKind::And: case ExprKind::Or: {
      bool absorbing = e->kind() == ExprKind::Or;
      std::optional<bool> a = prove(e->args()[0]), b = prove(e->args()[1]);
      if (a == std::optional<bool>(absorbing) || b == std::optional<bool>(absorbing)) return absorbing;
      if (a && b) return !absorbing;
      return std::nullopt;
    }
    case ExprKind::Not:
      if (std::optional<bool> a = prove(e->args()[0])) return !*a;
      return std::nullopt;
    default: return std::nullopt;
  }
}

void ShapeEnv::learn(const Expr* e) {
  impl_->known_true.insert(e);
  switch (e->kind()) {
    case ExprKind::And:
      learn(e->args()[0]);
      learn(e->args()[1]);
      return;
    case ExprKind::Lt: case ExprKind::Le: {
      Polynomial d = polynomial_of(e->args()[0]);
      d.add(polynomial_of(e->args()[1]), -1);
      if (e->kind() == ExprKind::Lt) d.add(Monomial{}, 1);
      impl_->nonpositive.push_back(d);
      // One symbol alone: a bound. k*s + c <= 0.
      if (d.terms.size() <= 2 && d.terms[0].atoms.size() == 1 && d.terms[0].atoms[0]->kind() == ExprKind::Symbol &&
          (d.terms.size() == 1 || d.terms[1].atoms.empty())) {
        Symbol& s = symbols_[d.terms[0].atoms[0]->symbol()];
        std::int64_t k = d.terms[0].coefficient, c = d.constant();
        auto floor_div = [](std::int64_t a, std::int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); };
        if (k > 0) s.hi = std::min(s.hi, floor_div(-c, k));
        else s.lo = std::max(s.lo, -floor_div(-c, -k));
      }
      return;
    }
    case ExprKind::Ne: {
      const Expr *l = e->args()[0], *r = e->args()[1];
      if (r->kind() == ExprKind::Symbol) std::swap(l, r);
      if (l->kind() == ExprKind::Symbol && r->is_const()) {
        Symbol& s = symbols_[l->symbol()];
        if (s.lo == r->value()) ++s.lo;
        if (s.hi == r->value()) --s.hi;
      }
      return;
    }
    case ExprKind::Eq: {
      const Expr *l = e->args()[0], *r = e->args()[1];
      for (int i = 0; i < 2; ++i) {
        if (l->kind() == ExprKind::Mod && r->is_const() && r->value() == 0 && l->args()[1]->is_const() && l->args()[1]->value() > 0)
          impl_->divides.push_back({l->args()[0], l->args()[1]->value()});
        std::swap(l, r);
      }
      // Solve for the youngest symbol with coefficient one that stands nowhere else.
      Polynomial d = polynomial_of(l);
      d.add(polynomial_of(r), -1);
      const Expr* best = nullptr;
      std::int64_t sign = 0;
      for (const Polynomial::Term& t : d.terms) {
        if (t.atoms.size() != 1 || t.atoms[0]->kind() != ExprKind::Symbol || std::abs(t.coefficient) != 1) continue;
        const Expr* s = t.atoms[0];
        bool elsewhere = false;
        for (const Polynomial::Term& u : d.terms)
          for (const Expr* a : u.atoms) elsewhere = elsewhere || (&u != &t && mentions(a, s));
        if (!elsewhere && (!best || s->symbol() > best->symbol())) best = s, sign = t.coefficient;
      }
      if (!best) return;
      Polynomial value;
      for (const Polynomial::Term& t : d.terms)
        if (!(t.atoms.size() == 1 && t.atoms[0] == best)) value.add(t.atoms, -t.coefficient * sign);
      std::vector<const Expr*> terms;
      for (const Polynomial::Term& t : value.terms) {
        std::vector<const Expr*> factors{constant(t.coefficient)};
        factors.insert(factors.end(), t.atoms.begin(), t.atoms.end());
        terms.push_back(make(ExprKind::Mul, factors));
      }
      const Expr* to = terms.empty() ? constant(0) : make(ExprKind::Add, terms);
      // What was known of the symbol holds for what replaces it.
      Symbol& s = symbols_[best->symbol()];
      if (to->kind() == ExprKind::Symbol) {
        Symbol& other = symbols_[to->symbol()];
        other.lo = std::max(other.lo, s.lo);
        other.hi = std::min(other.hi, s.hi);
        other.multiple_of = std::lcm(other.multiple_of, s.multiple_of);
      } else if (!to->is_const()) {
        if (s.lo != INT64_MIN) impl_->nonpositive.push_back(bound(to, -1, s.lo));
        if (s.hi != INT64_MAX) impl_->nonpositive.push_back(bound(to, 1, -s.hi));
      }
      impl_->substitution[best] = to;
      impl_->simplified.clear();
      // Facts told in terms of the old symbol, told anew.
      std::vector<const Expr*> facts(impl_->known_true.begin(), impl_->known_true.end());
      for (const Expr* f : facts)
        if (f != e)
          if (const Expr* again = simplify(f); again != f && !again->is_const() && !impl_->known_true.count(again)) learn(again);
      return;
    }
    default: return;
  }
}

bool ShapeEnv::mentions(const Expr* e, const Expr* s) {
  if (e == s) return true;
  for (const Expr* a : e->args())
    if (mentions(a, s)) return true;
  return false;
}

Polynomial ShapeEnv::bound(const Expr* e, std::int64_t factor, std::int64_t c) {
  Polynomial p;
  p.add(polynomial_of(e), factor);
  p.add(Monomial{}, c);
  return p;
}

bool ShapeEnv::decide(const Expr* e, SourceLoc where, const char* why) {
  if (std::optional<bool> known = prove(e)) return *known;
  bool value = evaluate_hint(e) != 0;
  const Expr* args[] = {e};
  record(value ? e : make(ExprKind::Not, args), where, why);
  return value;
}

bool ShapeEnv::require(const Expr* e, SourceLoc where, const char* why) {
  if (std::optional<bool> known = prove(e)) return *known;
  if (evaluate_hint(e) == 0) return false;
  record(e, where, why);
  return true;
}

std::int64_t ShapeEnv::pin(const Expr* e, SourceLoc where, const char* why) {
  e = simplify(e);
  if (e->is_const()) return e->value();
  std::int64_t v = evaluate_hint(e);
  const Expr* args[] = {e, constant(v)};
  const Expr* condition = make(ExprKind::Eq, args);
  if (prove(condition) != std::optional<bool>(true)) record(condition, where, why);
  return v;
}

void ShapeEnv::record(const Expr* condition, SourceLoc where, const char* why) {
  REPRISE_CHECK(!frozen_, "a guard is added after the trace ended");
  guards_.push_back({condition, where, why});
  learn(simplify(condition));
  if (condition->kind() != ExprKind::Eq) impl_->known_true.insert(condition);
  if (log::on(log::Channel::Guards)) {
    std::string text = to_string(condition);
    log::event(log::Channel::Guards, "guard", "", text + "  (" + why + ")",
               {{"condition", text}, {"why", why}, {"file", where.file ? where.file : ""}, {"line", where.line}});
  }
}

void ShapeEnv::freeze() { frozen_ = true; }

}  // namespace reprise::guards
