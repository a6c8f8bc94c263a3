// Questions about expressions: bounds, divisors, and what must hold. Nothing here changes what is known.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "base/errors.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

using Range = ShapeEnv::Range;

std::int64_t ShapeEnv::evaluate_hint(const Expr* e) const {
  const ExprHint& h = Impl::node(e).hint;
  if (!h.defined) fail(ErrorCode::InvalidArgument, "Int", {}, "division by zero in ", to_string(e));
  return low_64_bits(h.value);
}

Range operator*(Range a, Range b) {
  // Only a lower end may be without limit below, only an upper end above; the highest number as a lower end is a
  // number.
  struct End {
    std::int64_t v;
    bool infinite;
  };
  auto mul = [](End x, End y) -> std::int64_t {
    if (x.v == 0 || y.v == 0) return 0;
    if (x.infinite || y.infinite) return (x.v < 0) != (y.v < 0) ? INT64_MIN : INT64_MAX;
    return saturate(static_cast<__int128>(x.v) * y.v);
  };
  const End al{a.lo, a.lo == INT64_MIN}, ah{a.hi, a.hi == INT64_MAX}, bl{b.lo, b.lo == INT64_MIN},
      bh{b.hi, b.hi == INT64_MAX};
  auto [lo, hi] = std::minmax({mul(al, bl), mul(al, bh), mul(ah, bl), mul(ah, bh)});
  return {lo, hi};
}

namespace {

bool finite(Range r) { return r.lo != INT64_MIN && r.hi != INT64_MAX; }
std::int64_t most(Range r) { return std::max(std::abs(r.lo), std::abs(r.hi)); }  // of a finite one

Range quotient_range(Range a, Range b) {
  if (b.lo <= 0) {  // the size of the quotient is at most that of the dividend; division by zero yields zero
    if (a.lo >= 0 && b.lo >= 0) return {0, a.hi};
    if (!finite(a)) return {INT64_MIN, INT64_MAX};
    return {-most(a), most(a)};
  }
  auto low = [](std::int64_t x, std::int64_t y) { return x == INT64_MIN ? x : x / y; };
  auto high = [](std::int64_t x, std::int64_t y) { return x == INT64_MAX ? x : x / y; };
  std::int64_t least = b.hi == INT64_MAX ? 0 : 1;  // an unbounded divisor brings every quotient down to zero
  std::int64_t lo = a.lo >= 0 ? (least ? low(a.lo, b.hi) : 0) : low(a.lo, b.lo);
  std::int64_t hi = a.hi >= 0 ? high(a.hi, b.lo) : (least ? high(a.hi, b.hi) : 0);
  return {lo, hi};
}

Range remainder_range(Range a, Range b) {
  if (b.lo == b.hi && b.lo != INT64_MIN && b.lo != 0 && finite(a) && most(a) < std::abs(b.lo)) return a;
  std::int64_t limit = finite(b) ? std::max<std::int64_t>(most(b) - 1, 0) : INT64_MAX;
  return {a.lo >= 0 ? 0 : limit == INT64_MAX ? a.lo : std::max(a.lo, -limit), a.hi <= 0 ? 0 : std::min(a.hi, limit)};
}

}  // namespace

Range ShapeEnv::range_of(const Expr* e) const {
  if (e->kind() == ExprKind::Const) return {e->value(), e->value()};
  if (e->kind() == ExprKind::Symbol) return {symbols_[e->symbol()].lo, symbols_[e->symbol()].hi};
  if (e->is_bool()) return {0, 1};
  std::vector<Impl::Bounds>& cache = impl_->bounds;
  if (e->id() < cache.size() && cache[e->id()].generation == impl_->generation)
    return {cache[e->id()].lo, cache[e->id()].hi};
  Range r{0, 0};
  auto arg = [&](std::size_t i) { return range_of(e->args()[i]); };
  switch (e->kind()) {
    case ExprKind::Add:
    case ExprKind::Mul: r = bounds(polynomial_of(e)); break;
    case ExprKind::Div: r = quotient_range(arg(0), arg(1)); break;
    case ExprKind::Mod: r = remainder_range(arg(0), arg(1)); break;
    case ExprKind::Min: r = {std::min(arg(0).lo, arg(1).lo), std::min(arg(0).hi, arg(1).hi)}; break;
    case ExprKind::Max: r = {std::max(arg(0).lo, arg(1).lo), std::max(arg(0).hi, arg(1).hi)}; break;
    default: r = {INT64_MIN, INT64_MAX}; break;
  }
  if (!frozen_) {  // after that, other threads read the cache
    if (cache.size() <= e->id()) cache.resize(impl_->exprs.size());
    cache[e->id()] = {impl_->generation, r.lo, r.hi};
  }
  return r;
}

namespace {

// Sizes of one tensor, each at most once: their product is at most what each of them is (Source::group).
bool of_one_group(const Monomial& atoms, const std::deque<Symbol>& symbols) {
  std::uint32_t group = 0;
  for (std::size_t i = 0; i < atoms.size(); ++i) {
    if (atoms[i]->kind() != ExprKind::Symbol || (i && atoms[i] == atoms[i - 1])) return false;
    const std::uint32_t its = symbols[atoms[i]->symbol()].source.group;
    if (its == 0 || (i && its != group)) return false;
    group = its;
  }
  return group != 0;
}

}  // namespace

Range ShapeEnv::bounds(const Polynomial& p) const {
  if (!p.exact) return {INT64_MIN, INT64_MAX};
  Range sum{0, 0};
  for (const Polynomial::Term& t : p.terms) {
    Range product{t.coefficient, t.coefficient};
    for (std::size_t i = 0; i < t.atoms.size(); ++i) {
      Range x = range_of(t.atoms[i]);
      if (i + 1 < t.atoms.size() && t.atoms[i + 1] == t.atoms[i]) {  // a square
        x = x * x;
        x.lo = std::max<std::int64_t>(x.lo, 0);
        ++i;
      }
      product = product * x;
    }
    if (t.atoms.size() > 1 && t.coefficient > 0 && of_one_group(t.atoms, symbols_))
      product.hi =
          std::min(product.hi,
                   (Range{t.coefficient, t.coefficient} * Range{0, symbols_[t.atoms[0]->symbol()].source.at_most}).hi);
    // A coefficient at the very end of the range is a number, not "unbounded".
    if (t.atoms.empty() && (t.coefficient == INT64_MIN || t.coefficient == INT64_MAX)) product = {INT64_MIN, INT64_MAX};
    sum = sum + product;
  }
  return sum;
}

// ---- divisors

namespace {

// The largest number known to divide every value of the polynomial without its constant; 0 if nothing is left.
std::int64_t divisor_of(const Polynomial& p, const std::deque<Symbol>& symbols, const auto& facts) {
  std::int64_t all = 0;
  for (const Polynomial::Term& t : p.terms) {
    if (t.atoms.empty()) continue;
    if (t.coefficient == INT64_MIN) return 1;
    std::int64_t d = std::abs(t.coefficient);
    for (const Expr* a : t.atoms) {
      std::int64_t m = a->kind() == ExprKind::Symbol ? symbols[a->symbol()].multiple_of : 1;
      if (auto f = facts.find(a); f != facts.end())
        for (std::int64_t by : f->second) m = std::max(m, by);
      std::int64_t product;
      if (!__builtin_mul_overflow(d, m, &product)) d = product;
    }
    all = std::gcd(all, d);
  }
  return all;
}

}  // namespace

bool ShapeEnv::divides(std::int64_t k, const Expr* e) const {
  if (k == 1) return true;
  if (auto it = impl_->divides.find(e); it != impl_->divides.end())
    for (std::int64_t by : it->second)
      if (by % k == 0) return true;
  Polynomial p = polynomial_of(e);
  return p.constant() % k == 0 && divisor_of(p, symbols_, impl_->divides) % k == 0;
}

bool ShapeEnv::known_multiple(const Expr* value, const Expr* of) {
  if (range_of(of).lo <= 0 && range_of(of).hi >= 0) {
    const Expr* zero[] = {of, constant(0)};
    if (!impl_->known_true.count(make(ExprKind::Ne, zero))) return false;
  }
  const Expr* args[] = {value, of};
  const Expr* rest = make(ExprKind::Mod, args);
  if (auto it = impl_->substitution.find(rest); it != impl_->substitution.end()) rest = it->second;
  return rest->is_const() && rest->value() == 0;
}

// ---- order

// Facts that the question being asked may still look at, and whether it may look at assumptions.
static thread_local int t_tries_left = 0;
static thread_local bool t_of_data = false;

bool ShapeEnv::at_most_zero(const Polynomial& d, int facts_left) const {
  if (!d.exact) return false;
  if (bounds(d).hi <= 0) return true;
  if (facts_left == 0) return false;
  // Of a quotient of what is not negative: k * (x / k) is at most x, and less than k below it.
  for (const Polynomial::Term& t : d.terms) {
    if (t.atoms.size() != 1 || t.atoms[0]->kind() != ExprKind::Div || t.coefficient == INT64_MIN || t_tries_left <= 0)
      continue;
    const Expr *x = t.atoms[0]->args()[0], *by = t.atoms[0]->args()[1];
    if (!by->is_const() || by->value() <= 0 || range_of(x).lo < 0) continue;
    const std::int64_t k = by->value(), times = t.coefficient / k + (t.coefficient > 0 && t.coefficient % k != 0);
    if (times == 0) continue;
    --t_tries_left;
    Polynomial more = d;  // at least as much, without the quotient
    more.add(t.atoms, -t.coefficient);
    more.add(polynomial_of(x), times);
    if (times < 0) more.add(Monomial{}, more.product(-times, k - 1));
    if (at_most_zero(more, facts_left - 1)) return true;
  }
  // What is a factor of all terms, and not negative.
  for (const Expr* factor : d.terms[0].atoms) {
    if (range_of(factor).lo < 0 || t_tries_left <= 0) continue;
    Polynomial rest;
    for (const Polynomial::Term& t : d.terms) {
      Monomial others = t.atoms;
      const auto at = std::find(others.begin(), others.end(), factor);
      if (at == others.end()) break;
      others.erase(at);
      rest.add(others, t.coefficient);
    }
    if (rest.terms.size() != d.terms.size()) continue;
    --t_tries_left;
    if (at_most_zero(rest, facts_left - 1)) return true;
  }
  // d = fact + rest with fact <= 0: enough that rest <= 0. Only facts that take away a term of d can help.
  for (const Polynomial::Term& t : d.terms) {
    if (t.atoms.empty()) continue;
    const auto with = impl_->with_term.find(Impl::hash_of(t));
    if (with == impl_->with_term.end()) continue;
    for (std::size_t i = with->second.size(); i-- > 0 && t_tries_left > 0;) {
      if (!t_of_data && impl_->assumed_order[with->second[i]]) continue;
      --t_tries_left;
      if (at_most_zero(d.minus(impl_->nonpositive[with->second[i]]), facts_left - 1)) return true;
    }
  }
  return false;
}

// left - right + extra <= 0 ?
std::optional<bool> ShapeEnv::prove_order(const Expr* left, const Expr* right, std::int64_t extra) const {
  constexpr int kFactsInAProof = 2, kMostTries = 64;
  Polynomial d = polynomial_of(left), r = polynomial_of(right), negated;
  std::int64_t ignored;
  if (__builtin_sub_overflow(d.constant(), r.constant(), &ignored) || __builtin_add_overflow(ignored, extra, &ignored))
    return std::nullopt;
  d.add(r, -1);
  d.add(Monomial{}, extra);
  negated.add(Monomial{}, 1);
  negated.add(d, -1);
  t_of_data = of_data(left) || of_data(right);
  t_tries_left = kMostTries;
  if (at_most_zero(d, kFactsInAProof)) return true;
  t_tries_left = kMostTries;
  if (at_most_zero(negated, kFactsInAProof)) return false;
  return std::nullopt;
}

std::optional<bool> ShapeEnv::prove(const Expr* e) {
  const std::optional<bool> known = prove_here(e);
  if (known && !frozen_ && impl_->claims_kept) claim({e, e->kind(), {}, constant(*known)});
  return known;
}

std::optional<bool> ShapeEnv::prove_here(const Expr* e) {
  if (impl_->known_true.count(e)) return true;
  e = simplify(e);
  if (e->is_const()) return e->value() != 0;
  if (impl_->known_true.count(e)) return true;
  const Expr* args[] = {e};
  if (impl_->known_true.count(make(ExprKind::Not, args))) return false;
  constexpr std::optional<bool> yes = true;
  switch (e->kind()) {
    case ExprKind::Lt: return prove_order(e->args()[0], e->args()[1], 1);
    case ExprKind::Le: {
      const Expr *l = e->args()[0], *r = e->args()[1];
      const std::optional<bool> known = prove_order(l, r, 0);
      if (known || !l->is_const() || l->value() > 0 || r->kind() != ExprKind::Div) return known;
      // A quotient of two that are not negative, or not positive, is not negative; nor is what division by zero gives.
      const Expr *a = r->args()[0], *zero = constant(0);
      const Range by = range_of(r->args()[1]);
      if ((by.lo >= 0 && prove_order(zero, a, 0) == yes) || (by.hi <= 0 && prove_order(a, zero, 0) == yes)) return true;
      return std::nullopt;
    }
    case ExprKind::Eq:
    case ExprKind::Ne: {
      const Expr *l = e->args()[0], *r = e->args()[1];
      bool is_eq = e->kind() == ExprKind::Eq;
      // x == min(x, y) is x <= y, and likewise of the maximum.
      for (const auto& [x, of] : {std::pair(l, r), std::pair(r, l)}) {
        if ((of->kind() != ExprKind::Min && of->kind() != ExprKind::Max) || (of->args()[0] != x && of->args()[1] != x))
          continue;
        const Expr* y = of->args()[of->args()[0] == x];
        if (const std::optional<bool> known = of->kind() == ExprKind::Min ? prove_order(x, y, 0) : prove_order(y, x, 0))
          return *known == is_eq;
      }
      // Strictly smaller or larger means different, and so does a remainder that cannot be.
      if (prove_order(l, r, 1) == yes || prove_order(r, l, 1) == yes) return !is_eq;
      if (prove_order(l, r, 0) == yes && prove_order(r, l, 0) == yes) return is_eq;
      Polynomial d = polynomial_of(l).minus(polynomial_of(r));
      std::int64_t k = d.exact ? divisor_of(d, symbols_, impl_->divides) : 0;
      if (k > 1 && d.constant() % k != 0) return !is_eq;
      return std::nullopt;
    }
    case ExprKind::And:
    case ExprKind::Or: {
      bool absorbing = e->kind() == ExprKind::Or;
      std::optional<bool> a = prove(e->args()[0]), b = prove(e->args()[1]);
      if (a == std::optional<bool>(absorbing) || b == std::optional<bool>(absorbing)) return absorbing;
      if (a && b) return !absorbing;
      return std::nullopt;
    }
    case ExprKind::Not:
      if (std::optional<bool> a = prove(e->args()[0])) return !*a;
      return std::nullopt;
    case ExprKind::FLt:
    case ExprKind::FLe:
    case ExprKind::FEq: return prove_float(e);
    case ExprKind::Fits:
      if (fits(e->args()[0])) return true;
      return std::nullopt;
    default: return std::nullopt;
  }
}

// What one comparison of two doubles says of the others. That one does not hold says nothing: they may be no numbers.
std::optional<bool> ShapeEnv::prove_float(const Expr* e) {
  const Expr *a = e->args()[0], *b = e->args()[1];
  auto known = [&](ExprKind kind, const Expr* x, const Expr* y) {
    const Expr* args[] = {x, y};
    return impl_->known_true.count(make(kind, args)) > 0;
  };
  const bool less = known(ExprKind::FLt, a, b), more = known(ExprKind::FLt, b, a);
  if (e->kind() == ExprKind::FEq) return less || more ? std::optional(false) : std::nullopt;
  const bool equal = known(ExprKind::FEq, a, b);
  if (e->kind() == ExprKind::FLe)
    return less || equal ? std::optional(true) : more ? std::optional(false) : std::nullopt;
  return more || equal || known(ExprKind::FLe, b, a) ? std::optional(false) : std::nullopt;
}

// An end of a range may stand for "further out", but for a symbol's.
bool ShapeEnv::fits(const Expr* e) const {
  if (e->kind() != ExprKind::Add && e->kind() != ExprKind::Mul && e->kind() != ExprKind::Div) return true;
  const Range r = range_of(e);
  return r.lo > INT64_MIN && r.hi < INT64_MAX;
}

}  // namespace reprise::guards
