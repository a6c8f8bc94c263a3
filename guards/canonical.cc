// Building expressions: simplification and interning.
#include <numeric>

#include "base/errors.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

ShapeEnv::ShapeEnv() : impl_(std::make_unique<Impl>()) {}
ShapeEnv::~ShapeEnv() = default;

namespace {

using Args = std::vector<const Expr*>;

struct Maker {
  ShapeEnv& env;
  const std::function<const Expr*(ExprKind, std::int64_t, Args)>& intern;

  const Expr* constant(std::int64_t v) const { return intern(ExprKind::Const, v, {}); }
  const Expr* boolean(bool v) const { return constant(v ? 1 : 0); }

  const Expr* term(const Polynomial::Term& t) const {
    if (t.atoms.empty()) return constant(t.coefficient);
    if (t.coefficient == 1 && t.atoms.size() == 1) return t.atoms[0];
    Args args;
    if (t.coefficient != 1) args.push_back(constant(t.coefficient));
    args.insert(args.end(), t.atoms.begin(), t.atoms.end());
    return intern(ExprKind::Mul, 0, std::move(args));
  }
  const Expr* from(const Polynomial& p) const {
    if (p.terms.empty()) return constant(0);
    if (p.terms.size() == 1) return term(p.terms[0]);
    Args args;
    for (const Polynomial::Term& t : p.terms) args.push_back(term(t));
    return intern(ExprKind::Add, 0, std::move(args));
  }

  bool nonnegative(const Expr* e) const { return env.range_of(e).lo >= 0; }

  // a / b where b is one term that divides every term of a: nullptr if it does not.
  const Expr* exact(const Polynomial& a, const Polynomial::Term& b) const {
    Polynomial q;
    for (const Polynomial::Term& t : a.terms) {
      if (b.coefficient == 0 || t.coefficient % b.coefficient != 0) return nullptr;
      Monomial rest = t.atoms;
      for (const Expr* atom : b.atoms) {
        auto it = std::find(rest.begin(), rest.end(), atom);
        if (it == rest.end()) return nullptr;
        rest.erase(it);
      }
      q.add(rest, t.coefficient / b.coefficient);
    }
    return from(q);
  }

  const Expr* div(const Expr* a, const Expr* b) const {
    if (b->is_const() && b->value() == 1) return a;
    if (a->is_const() && a->value() == 0) return a;
    if (a->is_const() && b->is_const() && b->value() != 0) return constant(b->value() == -1 ? Polynomial::wrap_mul(a->value(), -1) : a->value() / b->value());
    Polynomial pa = polynomial_of(a), pb = polynomial_of(b);
    // x*k / k is x even where k is 0: the division is only ever evaluated where a guard has excluded that.
    if (pb.terms.size() == 1)
      if (const Expr* q = exact(pa, pb.terms[0])) return q;
    // (x / c) / d == x / (c*d) for positive constants; (q*c + r) / c == q + r / c where nothing is negative.
    if (b->is_const() && b->value() > 0) {
      if (a->kind() == ExprKind::Div && a->args()[1]->is_const() && a->args()[1]->value() > 0) {
        __int128 both = static_cast<__int128>(a->args()[1]->value()) * b->value();
        if (both <= INT64_MAX) return div(a->args()[0], constant(static_cast<std::int64_t>(both)));
      }
      Polynomial whole, rest;
      for (const Polynomial::Term& t : pa.terms) {
        std::int64_t q = t.atoms.empty() ? t.coefficient / b->value() : (t.coefficient % b->value() == 0 ? t.coefficient / b->value() : 0);
        whole.add(t.atoms, q);
        rest.add(t.atoms, t.coefficient - q * b->value());
      }
      if (!whole.terms.empty()) {
        const Expr *w = from(whole), *r = from(rest);
        if (nonnegative(w) && nonnegative(r)) {
          Polynomial sum = whole;
          sum.add(polynomial_of(div(r, b)), 1);
          return from(sum);
        }
      }
      ShapeEnv::Range range = env.range_of(a);
      if (range.lo >= 0 && range.hi < b->value()) return constant(0);
    }
    return intern(ExprKind::Div, 0, {a, b});
  }

  const Expr* mod(const Expr* a, const Expr* b) const {
    if (b->is_const() && (b->value() == 1 || b->value() == -1)) return constant(0);
    if (a->is_const() && a->value() == 0) return a;
    if (a->is_const() && b->is_const() && b->value() != 0) return constant(a->value() % b->value());
    Polynomial pa = polynomial_of(a), pb = polynomial_of(b);
    if (pb.terms.size() == 1 && exact(pa, pb.terms[0])) return constant(0);
    if (b->is_const() && b->value() > 0 && nonnegative(a)) {
      Polynomial rest;
      for (const Polynomial::Term& t : pa.terms) rest.add(t.atoms, t.coefficient % b->value());
      const Expr* r = from(rest);
      if (r != a && nonnegative(r)) return mod(r, b);
      if (env.range_of(a).hi < b->value()) return a;
    }
    return intern(ExprKind::Mod, 0, {a, b});
  }

  const Expr* extreme(ExprKind kind, const Expr* a, const Expr* b) const {
    if (a == b) return a;
    Polynomial d = polynomial_of(a);
    d.add(polynomial_of(b), -1);
    ShapeEnv::Range r = env.range_of(from(d));
    bool least = kind == ExprKind::Min;
    if (r.hi <= 0) return least ? a : b;
    if (r.lo >= 0) return least ? b : a;
    if (b->id() < a->id()) std::swap(a, b);
    return intern(kind, 0, {a, b});
  }

  // d <= 0, written without minus signs: "s0 < s1", "s0 <= 4", "2 <= s0".
  const Expr* at_most_zero(Polynomial d) const {
    std::int64_t g = d.content();
    if (g == 0) return boolean(d.constant() <= 0);
    if (g > 1) {
      // q*g + c <= 0  <=>  q <= floor(-c / g)
      std::int64_t c = d.constant(), up = c / g + (c % g > 0 ? 1 : 0);
      Polynomial reduced;
      for (const Polynomial::Term& t : d.terms)
        if (!t.atoms.empty()) reduced.add(t.atoms, t.coefficient / g);
      reduced.add(Monomial{}, up);
      d = reduced;
    }
    bool strict = d.constant() == 1;
    if (strict) d.add(Monomial{}, -1);
    auto [left, right] = sides(d);
    return intern(strict ? ExprKind::Lt : ExprKind::Le, 0, {left, right});
  }

  const Expr* equal_zero(ExprKind kind, Polynomial d) const {
    std::int64_t g = d.content();
    if (g == 0) return boolean((d.constant() == 0) == (kind == ExprKind::Eq));
    if (d.constant() % g != 0) return boolean(kind == ExprKind::Ne);
    std::int64_t sign = d.terms[0].coefficient < 0 ? -1 : 1;
    Polynomial reduced;
    for (const Polynomial::Term& t : d.terms) reduced.add(t.atoms, t.coefficient / g * sign);
    auto [left, right] = sides(reduced);
    return intern(kind, 0, {left, right});
  }

  std::pair<const Expr*, const Expr*> sides(const Polynomial& d) const {
    Polynomial left, right;
    for (const Polynomial::Term& t : d.terms) {
      if (t.coefficient > 0) left.terms.push_back(t);
      else right.add(t.atoms, Polynomial::wrap_mul(t.coefficient, -1));
    }
    return {from(left), from(right)};
  }

  const Expr* logical(ExprKind kind, const Expr* a, const Expr* b) const {
    bool absorbing = kind == ExprKind::Or;
    for (int i = 0; i < 2; ++i) {
      if (a->is_const()) return (a->value() != 0) == absorbing ? a : b;
      std::swap(a, b);
    }
    if (a == b) return a;
    if (b->id() < a->id()) std::swap(a, b);
    return intern(kind, 0, {a, b});
  }

  const Expr* negation(const Expr* a) const {
    switch (a->kind()) {
      case ExprKind::Const: return boolean(a->value() == 0);
      case ExprKind::Eq: return intern(ExprKind::Ne, 0, {a->args()[0], a->args()[1]});
      case ExprKind::Ne: return intern(ExprKind::Eq, 0, {a->args()[0], a->args()[1]});
      case ExprKind::Lt: case ExprKind::Le: {  // not (l < r) is r <= l, not (l <= r) is r < l
        Polynomial d = polynomial_of(a->args()[1]);
        d.add(polynomial_of(a->args()[0]), -1);
        if (a->kind() == ExprKind::Le) d.add(Monomial{}, 1);
        return at_most_zero(d);
      }
      case ExprKind::And: case ExprKind::Or:
        return logical(a->kind() == ExprKind::And ? ExprKind::Or : ExprKind::And, negation(a->args()[0]), negation(a->args()[1]));
      case ExprKind::Not: return a->args()[0];
      default: return intern(ExprKind::Not, 0, {a});
    }
  }
};

}  // namespace

const Expr* ShapeEnv::constant(std::int64_t v) { return make_interned(ExprKind::Const, v, {}); }

const Expr* ShapeEnv::of(Int i) { return i.is_symbolic() ? i.expr() : constant(i.hint()); }

const Expr* ShapeEnv::make_interned(ExprKind kind, std::int64_t value, std::vector<const Expr*> args) {
  std::uint64_t h = static_cast<std::uint64_t>(kind) * 0x9e3779b97f4a7c15ull ^ static_cast<std::uint64_t>(value);
  for (const Expr* a : args) h = (h ^ a->id()) * 0x9e3779b97f4a7c15ull + (h >> 31);
  // After freeze() other threads may print or explain: they may build expressions, one at a time.
  std::unique_lock lock(impl_->after_freeze, std::defer_lock);
  if (frozen_) lock.lock();
  auto [it, end] = impl_->table.equal_range(h);
  for (; it != end; ++it) {
    const Expr* e = it->second;
    if (e->kind() == kind && e->value() == value && std::equal(e->args().begin(), e->args().end(), args.begin(), args.end())) return e;
  }
  Expr e;
  e.kind_ = kind;
  e.value_ = value;
  e.id_ = static_cast<std::uint32_t>(impl_->exprs.size());
  e.env_ = this;
  if (!args.empty()) {
    impl_->arg_lists.push_back(std::move(args));
    e.args_ = impl_->arg_lists.back().data();
    e.n_args_ = static_cast<std::uint16_t>(impl_->arg_lists.back().size());
  }
  impl_->exprs.push_back(e);
  impl_->table.emplace(h, &impl_->exprs.back());
  return &impl_->exprs.back();
}

const Expr* ShapeEnv::make(ExprKind kind, std::span<const Expr* const> args) {
  std::function<const Expr*(ExprKind, std::int64_t, Args)> intern = [this](ExprKind k, std::int64_t v, Args a) { return make_interned(k, v, std::move(a)); };
  Maker m{*this, intern};
  auto difference = [&](std::int64_t extra) {
    Polynomial d = polynomial_of(args[0]);
    d.add(polynomial_of(args[1]), -1);
    d.add(Monomial{}, extra);
    return d;
  };
  switch (kind) {
    case ExprKind::Add: {
      Polynomial p;
      for (const Expr* a : args) p.add(polynomial_of(a), 1);
      return m.from(p);
    }
    case ExprKind::Mul: {
      Polynomial p;
      p.add(Monomial{}, 1);
      for (const Expr* a : args) p = p.times(polynomial_of(a));
      return m.from(p);
    }
    case ExprKind::Div: return m.div(args[0], args[1]);
    case ExprKind::Mod: return m.mod(args[0], args[1]);
    case ExprKind::Min: case ExprKind::Max: return m.extreme(kind, args[0], args[1]);
    case ExprKind::Eq: case ExprKind::Ne: return m.equal_zero(kind, difference(0));
    case ExprKind::Lt: return m.at_most_zero(difference(1));
    case ExprKind::Le: return m.at_most_zero(difference(0));
    case ExprKind::And: case ExprKind::Or: return m.logical(kind, args[0], args[1]);
    case ExprKind::Not: return m.negation(args[0]);
    case ExprKind::Const: case ExprKind::Symbol: break;
  }
  fail(ErrorCode::Internal, "", {}, "make() of a leaf");
}

Polynomial polynomial_of(const Expr* e) {
  Polynomial p;
  switch (e->kind()) {
    case ExprKind::Const: p.add(Monomial{}, e->value()); return p;
    case ExprKind::Add:
      for (const Expr* a : e->args()) p.add(polynomial_of(a), 1);
      return p;
    case ExprKind::Mul: {
      Polynomial::Term t{{}, 1};  // a Mul is [coefficient] atoms..., sorted
      for (const Expr* a : e->args()) {
        if (a->is_const()) t.coefficient = a->value();
        else t.atoms.push_back(a);
      }
      p.terms.push_back(std::move(t));
      return p;
    }
    default: p.terms.push_back({{e}, 1}); return p;
  }
}

}  // namespace reprise::guards
