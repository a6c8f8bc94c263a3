#include "validate/terms.h"

#include <algorithm>
#include <optional>

#include "guards/float_math.h"

namespace reprise::validate {

using guards::Expr;
using guards::ExprKind;
using guards::ExprProgram;
using guards::GuardSet;

namespace {

Wide plus(Wide a, Wide b) {
  Wide r;
  if (__builtin_add_overflow(a, b, &r)) throw Unsupported{"a number of more than 128 bits"};
  return r;
}
Wide times(Wide a, Wide b) {
  Wide r;
  if (__builtin_mul_overflow(a, b, &r)) throw Unsupported{"a number of more than 128 bits"};
  return r;
}

constexpr Wide kLeast = INT64_MIN, kMost = INT64_MAX;

// Ends of ranges: kNone and beyond is no bound.
Wide end_plus(Wide a, Wide b) {
  if (a <= -Bounds::kNone || b <= -Bounds::kNone) return -Bounds::kNone;
  if (a >= Bounds::kNone || b >= Bounds::kNone) return Bounds::kNone;
  return std::clamp(a + b, -Bounds::kNone, Bounds::kNone);
}
Wide end_times(Wide a, Wide b) {
  if (a == 0 || b == 0) return 0;
  Wide r;
  const bool negative = (a < 0) != (b < 0);
  if (a <= -Bounds::kNone || a >= Bounds::kNone || b <= -Bounds::kNone || b >= Bounds::kNone ||
      __builtin_mul_overflow(a, b, &r))
    return negative ? -Bounds::kNone : Bounds::kNone;
  return std::clamp(r, -Bounds::kNone, Bounds::kNone);
}
Bounds operator*(Bounds a, Bounds b) {
  const auto [lo, hi] =
      std::minmax({end_times(a.lo, b.lo), end_times(a.lo, b.hi), end_times(a.hi, b.lo), end_times(a.hi, b.hi)});
  return {lo, hi};
}

}  // namespace

std::string to_string(Wide v) {
  if (v == 0) return "0";
  const bool negative = v < 0;
  std::string s;
  for (; v != 0; v /= 10) s.push_back(static_cast<char>('0' + static_cast<int>(v % 10 < 0 ? -(v % 10) : v % 10)));
  if (negative) s.push_back('-');
  std::reverse(s.begin(), s.end());
  return s;
}

// ---- polynomials

void Poly::add(const std::vector<AtomId>& m, Wide c) {
  if (c == 0) return;
  auto [it, is_new] = terms.try_emplace(m, c);
  if (is_new) return;
  it->second = plus(it->second, c);
  if (it->second == 0) terms.erase(it);
}
Wide Poly::constant() const {
  const auto it = terms.find({});
  return it == terms.end() ? 0 : it->second;
}
Poly operator+(const Poly& a, const Poly& b) {
  Poly out = a;
  for (const auto& [m, c] : b.terms) out.add(m, c);
  return out;
}
Poly operator-(const Poly& a, const Poly& b) {
  Poly out = a;
  for (const auto& [m, c] : b.terms) out.add(m, -c);
  return out;
}
Poly operator*(const Poly& a, const Poly& b) {
  if (a.terms.size() * b.terms.size() > 4096) throw Unsupported{"a product of long sums"};
  Poly out;
  for (const auto& [m, c] : a.terms)
    for (const auto& [n, d] : b.terms) {
      std::vector<AtomId> both;
      std::merge(m.begin(), m.end(), n.begin(), n.end(), std::back_inserter(both));
      out.add(both, times(c, d));
    }
  return out;
}

// ---- formulas

FormulaPtr truth(bool v) {
  static const FormulaPtr yes = std::make_shared<const Formula>(Formula{Formula::Kind::True}),
                          no = std::make_shared<const Formula>(Formula{Formula::Kind::False});
  return v ? yes : no;
}

namespace {
// The greatest number that divides all coefficients but the constant.
Wide content(const Poly& p) {
  Wide g = 0;
  for (const auto& [m, c] : p.terms) {
    if (m.empty()) continue;
    Wide a = g, b = c < 0 ? -c : c;
    while (b != 0) std::swap(a %= b, b);
    g = a;
  }
  return g;
}
Poly divided(const Poly& p, Wide g, Wide constant) {
  Poly out;
  for (const auto& [m, c] : p.terms)
    if (!m.empty()) out.add(m, c / g);
  out.add({}, constant);
  return out;
}
}  // namespace

FormulaPtr at_most_zero(Poly p) {
  if (p.is_constant()) return truth(p.constant() <= 0);
  if (const Wide g = content(p); g > 1) {
    const Wide c = p.constant();
    p = divided(p, g, c / g + (c % g > 0));
  }
  return std::make_shared<const Formula>(Formula{Formula::Kind::AtMostZero, std::move(p)});
}
FormulaPtr is_zero(Poly p) {
  if (p.is_constant()) return truth(p.constant() == 0);
  const Wide g = content(p), c = p.constant();
  if (c % g != 0) return truth(false);
  p = divided(p, p.terms.rbegin()->second < 0 ? -g : g, p.terms.rbegin()->second < 0 ? -(c / g) : c / g);
  return std::make_shared<const Formula>(Formula{Formula::Kind::IsZero, std::move(p)});
}
bool equal(const Formula& a, const Formula& b) {
  if (&a == &b) return true;
  if (a.kind != b.kind || a.what != b.what || !(a.p == b.p) || !(a.q == b.q)) return false;
  if ((a.a == nullptr) != (b.a == nullptr) || (b.b == nullptr) != (a.b == nullptr)) return false;
  return (!a.a || equal(*a.a, *b.a)) && (!a.b || equal(*a.b, *b.b));
}
bool Before::operator()(const FormulaPtr& x, const FormulaPtr& y) const {
  if (x == y) return false;
  if (!x || !y) return !x;
  if (x->kind != y->kind) return x->kind < y->kind;
  if (x->what != y->what) return x->what < y->what;
  if (!(x->p == y->p)) return x->p < y->p;
  if (!(x->q == y->q)) return x->q < y->q;
  if ((*this)(x->a, y->a)) return true;
  return !(*this)(y->a, x->a) && (*this)(x->b, y->b);
}
FormulaPtr both(FormulaPtr a, FormulaPtr b) {
  if (a->kind == Formula::Kind::False || b->kind == Formula::Kind::True || equal(*a, *b)) return a;
  if (b->kind == Formula::Kind::False || a->kind == Formula::Kind::True) return b;
  return std::make_shared<const Formula>(Formula{Formula::Kind::And, {}, {}, 0, std::move(a), std::move(b)});
}
FormulaPtr either(FormulaPtr a, FormulaPtr b) {
  if (a->kind == Formula::Kind::True || b->kind == Formula::Kind::False || equal(*a, *b)) return a;
  if (b->kind == Formula::Kind::True || a->kind == Formula::Kind::False) return b;
  return std::make_shared<const Formula>(Formula{Formula::Kind::Or, {}, {}, 0, std::move(a), std::move(b)});
}
FormulaPtr negation(const FormulaPtr& f) {
  switch (f->kind) {
    case Formula::Kind::True: return truth(false);
    case Formula::Kind::False: return truth(true);
    case Formula::Kind::AtMostZero: return at_most_zero(Poly(1) - f->p);
    case Formula::Kind::And: return either(negation(f->a), negation(f->b));
    case Formula::Kind::Or: return both(negation(f->a), negation(f->b));
    case Formula::Kind::Not: return f->a;
    default: return std::make_shared<const Formula>(Formula{Formula::Kind::Not, {}, {}, 0, f});
  }
}

// ---- what is known

void Terms::bound(std::uint32_t word, Wide lo, Wide hi) {
  Bounds& b = bounds_.try_emplace(word, Bounds{kLeast, kMost}).first->second;
  b.lo = std::max(b.lo, lo), b.hi = std::min(b.hi, hi);
}
void Terms::equal(std::uint32_t word, const Poly& other) {
  const Poly p = again(other);
  equal_[word] = p;
  for (auto& [w, value] : equal_) value = again(value);
  meaning_.clear(), programs_.clear();  // what was written down has the word
  if (p.terms.size() != 1 || p.terms.begin()->second != 1 || p.terms.begin()->first.size() != 1) return;
  const Atom& a = atom(p.terms.begin()->first[0]);
  if (a.kind != Atom::Kind::Word) return;
  if (const auto known = bounds_.find(word); known != bounds_.end()) bound(a.what, known->second.lo, known->second.hi);
  for (Group& g : groups_) std::replace(g.words.begin(), g.words.end(), word, a.what);
}

void Terms::divisible(std::uint32_t word, Wide by) {
  const Poly now = this->word(word);
  if (by <= 1 || now.terms.size() != 1 || now.terms.begin()->first.size() != 1) return;
  const Atom& a = atom(now.terms.begin()->first[0]);
  if (a.kind != Atom::Kind::Word) return;
  // x times a.what is divided by `by`
  Wide x = now.terms.begin()->second < 0 ? -now.terms.begin()->second : now.terms.begin()->second, y = by;
  while (y != 0) std::swap(x %= y, y);
  const Wide rest = by / x;
  if (rest == 1) return;
  const Bounds b = bounds_of(now.terms.begin()->first[0]);
  const std::uint32_t of = a.what, made = made_++;
  bound(made,
        b.lo <= -Bounds::kNone ? b.lo
        : b.lo >= 0            ? (b.lo + rest - 1) / rest
                               : b.lo / rest,
        b.hi >= Bounds::kNone ? b.hi
        : b.hi >= 0           ? b.hi / rest
                              : (b.hi - rest + 1) / rest);
  equal(of, this->word(made) * Poly(rest));
}

Poly Terms::again(const Poly& p) {
  Poly out;
  for (const auto& [m, c] : p.terms) {
    Poly product(c);
    for (AtomId i : m) {
      const Atom a = atom(i);
      switch (a.kind) {
        case Atom::Kind::Word: product = product * word(a.what); break;
        case Atom::Kind::Div: product = product * div(again(a.a), again(a.b)); break;
        case Atom::Kind::Mod: product = product * mod(again(a.a), again(a.b)); break;
        case Atom::Kind::Min: product = product * extreme(true, again(a.a), again(a.b)); break;
        case Atom::Kind::Max: product = product * extreme(false, again(a.a), again(a.b)); break;
        case Atom::Kind::Wrap: product = product * wrap(again(a.a)); break;
        case Atom::Kind::Float: product = product * float_of(a.what, again(a.a), again(a.b)); break;
      }
    }
    out = out + product;
  }
  return out;
}

FormulaPtr Terms::again(const FormulaPtr& f) {
  switch (f->kind) {
    case Formula::Kind::AtMostZero: return at_most_zero(again(f->p));
    case Formula::Kind::IsZero: return is_zero(again(f->p));
    case Formula::Kind::And: return both(again(f->a), again(f->b));
    case Formula::Kind::Or: return either(again(f->a), again(f->b));
    case Formula::Kind::Not: return negation(again(f->a));
    case Formula::Kind::Float: return float_condition(static_cast<ExprKind>(f->what), again(f->p), again(f->q));
    default: return f;
  }
}
void Terms::group(const std::vector<std::uint32_t>& words, Wide at_most) { groups_.push_back({words, at_most}); }
std::optional<Poly> Terms::equal_to(std::uint32_t w) const {
  const auto it = equal_.find(w);
  return it == equal_.end() ? std::nullopt : std::optional<Poly>(it->second);
}

AtomId Terms::intern(Atom a) {
  auto [it, is_new] = ids_.try_emplace(std::move(a), static_cast<AtomId>(atoms_.size()));
  if (is_new) atoms_.push_back(&it->first);
  return it->second;
}

Poly Terms::word(std::uint32_t w) {
  if (const auto it = equal_.find(w); it != equal_.end()) return it->second;
  return atom_of({Atom::Kind::Word, w, {}, {}});
}

Bounds Terms::bounds_of(AtomId i) const {
  const Atom& a = *atoms_[i];
  switch (a.kind) {
    case Atom::Kind::Word: {
      const auto it = bounds_.find(a.what);
      Bounds b = it == bounds_.end() ? Bounds{kLeast, kMost} : it->second;
      if (const auto more = at_least.find(a.what); more != at_least.end()) b.lo = std::max(b.lo, more->second);
      return b;
    }
    case Atom::Kind::Div: {
      const Bounds x = bounds(a.a), y = bounds(a.b);
      if (y.lo >= 1) {  // more is divided, more comes out; what is divided by more is nearer to 0
        auto by = [](Wide n, Wide d) {
          return n <= -Bounds::kNone || n >= Bounds::kNone ? n : d >= Bounds::kNone ? Wide{0} : n / d;
        };
        return {by(x.lo, x.lo >= 0 ? y.hi : y.lo), by(x.hi, x.hi >= 0 ? y.lo : y.hi)};
      }
      if (y.lo >= 0) return {std::min<Wide>(x.lo, 0), std::max<Wide>(x.hi, 0)};
      const Wide far = std::max(x.lo < 0 ? -x.lo : x.lo, x.hi < 0 ? -x.hi : x.hi);
      return {-far, far};
    }
    case Atom::Kind::Mod: {
      const Bounds x = bounds(a.a);
      return {std::min<Wide>(x.lo, 0), std::max<Wide>(x.hi, 0)};
    }
    case Atom::Kind::Min: {
      const Bounds x = bounds(a.a), y = bounds(a.b);
      return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
    }
    case Atom::Kind::Max: {
      const Bounds x = bounds(a.a), y = bounds(a.b);
      return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
    }
    default: return {kLeast, kMost};
  }
}

Bounds Terms::bounds(const Poly& p) const {
  Bounds sum{0, 0};
  for (const auto& [m, c] : p.terms) {
    Bounds product{c, c};
    std::vector<AtomId> rest = m;
    // Sizes of one tensor, each once, are together no more than its elements.
    for (const Group& g : groups_) {
      std::vector<std::size_t> of;
      std::vector<std::uint32_t> left = g.words;
      for (std::size_t i = 0; i < rest.size(); ++i) {
        const Atom& a = *atoms_[rest[i]];
        const auto at = a.kind == Atom::Kind::Word ? std::find(left.begin(), left.end(), a.what) : left.end();
        if (at != left.end()) of.push_back(i), left.erase(at);
      }
      if (of.size() < 2) continue;
      Bounds at{1, 1};
      for (std::size_t k = of.size(); k-- > 0;) {
        at = at * bounds_of(rest[of[k]]);
        rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(of[k]));
      }
      at.lo = std::max<Wide>(at.lo, 0), at.hi = std::min(at.hi, g.at_most);
      product = product * at;
    }
    for (std::size_t i = 0; i < rest.size(); ++i) {
      Bounds x = bounds_of(rest[i]);
      if (i + 1 < rest.size() && rest[i + 1] == rest[i]) {
        x = x * x;
        x.lo = std::max<Wide>(x.lo, 0);
        ++i;
      }
      product = product * x;
    }
    sum = {end_plus(sum.lo, product.lo), end_plus(sum.hi, product.hi)};
  }
  return sum;
}

// Every atom is written as its least value and what it is more: where no coefficient is negative then, nothing is.
bool Terms::nonnegative(const Poly& p) const {
  if (bounds(p).lo >= 0) return true;
  Poly shifted;
  std::map<AtomId, Wide> least;
  for (const auto& [m, c] : p.terms)
    for (AtomId a : m)
      if (!least.count(a)) {
        const Wide lo = bounds_of(a).lo;
        if (lo <= -Bounds::kNone) return false;
        least[a] = lo;
      }
  try {
    for (const auto& [m, c] : p.terms) {
      Poly product(c);
      for (AtomId a : m) {
        Poly x(least[a]);
        x.add({a}, 1);
        product = product * x;
      }
      shifted = shifted + product;
    }
  } catch (const Unsupported&) {
    return false;
  }
  return std::all_of(shifted.terms.begin(), shifted.terms.end(), [](const auto& t) { return t.second >= 0; });
}

std::optional<Poly> Terms::without_quotients(const Poly& p) const {
  Poly out;
  for (const auto& [m, c] : p.terms) {
    const bool may_grow = c > 0 && std::all_of(m.begin(), m.end(), [&](AtomId a) { return bounds_of(a).lo >= 0; });
    Wide times = c;
    Poly product(1);
    for (AtomId i : m) {
      const Atom& a = atom(i);
      Poly x;
      x.add({i}, 1);
      // k * c * (y / c) is at most k * y; (y + c - 1) / c at most y, and y / c at most y, of what is not negative.
      if (may_grow && a.kind == Atom::Kind::Div && a.b.is_constant() && a.b.constant() > 0 &&
          times % a.b.constant() == 0 && nonnegative(a.a)) {
        times /= a.b.constant();
        x = a.a;
      } else if (may_grow && a.kind == Atom::Kind::Div && a.b.is_constant() && a.b.constant() > 0) {
        const Wide k = a.a.constant(), up = std::clamp<Wide>(k, 0, a.b.constant() - 1);
        if (const Poly y = a.a - Poly(up); nonnegative(y)) x = y;
        else if (nonnegative(a.a)) x = a.a;
      } else if (may_grow && a.kind == Atom::Kind::Div && nonnegative(a.a) && nonnegative(a.b)) {
        x = a.a;
      }
      product = product * x;
    }
    out = out + product * Poly(times);
  }
  return out;
}

Poly Terms::without_minima(const Poly& p, bool first) const {
  Poly out;
  for (const auto& [m, c] : p.terms) {
    const bool may_grow = c > 0 && std::all_of(m.begin(), m.end(), [&](AtomId a) { return bounds_of(a).lo >= 0; });
    Poly product(c);
    for (AtomId i : m) {
      const Atom& a = atom(i);
      Poly x;
      x.add({i}, 1);
      product = product * (may_grow && a.kind == Atom::Kind::Min ? first ? a.a : a.b : x);
    }
    out = out + product;
  }
  return out;
}

// ---- writing down

Poly Terms::div(const Poly& a, const Poly& b) {
  if (b.is_constant() && b.constant() == 1) return a;
  if (a.terms.empty()) return a;
  if (b.is_constant() && b.constant() == 0) return Poly(0);
  if (a.is_constant() && b.is_constant()) return Poly(a.constant() / b.constant());
  const bool never_zero = b.is_constant() || nonnegative(b - Poly(1)) || nonnegative(Poly(-1) - b);
  if (never_zero) {
    // A multiple of it: of one term every term of a is, or a is b some times.
    if (b.terms.size() == 1) {
      const auto& [m, c] = *b.terms.begin();
      Poly q;
      bool exact = true;
      for (const auto& [n, d] : a.terms) {
        exact = d % c == 0 && std::includes(n.begin(), n.end(), m.begin(), m.end());
        if (!exact) break;
        std::vector<AtomId> rest;
        std::set_difference(n.begin(), n.end(), m.begin(), m.end(), std::back_inserter(rest));
        q.add(rest, d / c);
      }
      if (exact) return q;
    } else if (const auto& [n, d] = *a.terms.rbegin(); d % b.terms.rbegin()->second == 0) {
      const auto& m = b.terms.rbegin()->first;
      if (std::includes(n.begin(), n.end(), m.begin(), m.end())) {
        std::vector<AtomId> rest;
        std::set_difference(n.begin(), n.end(), m.begin(), m.end(), std::back_inserter(rest));
        Poly q;
        q.add(rest, d / b.terms.rbegin()->second);
        if (q * b == a) return q;
      }
    }
  }
  if (b.is_constant() && b.constant() > 0) {
    const Wide by = b.constant();
    Poly whole, rest;
    for (const auto& [m, c] : a.terms) {
      const Wide q = m.empty() || c % by == 0 ? c / by : 0;
      whole.add(m, q);
      rest.add(m, c - q * by);
    }
    if (!whole.terms.empty() && nonnegative(whole) && nonnegative(rest)) return whole + div(rest, b);
    if (a.terms.size() == 1 && a.terms.begin()->second == 1 && a.terms.begin()->first.size() == 1) {
      const Atom& inner = atom(a.terms.begin()->first[0]);
      if (inner.kind == Atom::Kind::Div && inner.b.is_constant() && inner.b.constant() > 0)
        return div(inner.a, Poly(times(inner.b.constant(), by)));
    }
  }
  if (never_zero && nonnegative(a) && nonnegative(b - a - Poly(1))) return Poly(0);
  return atom_of({Atom::Kind::Div, 0, a, b});
}

std::optional<Poly> Terms::coarser(AtomId coarse, AtomId fine) const {
  const Atom &x = atom(coarse), &y = atom(fine);
  if (coarse == fine || x.kind != Atom::Kind::Div || y.kind != Atom::Kind::Div || !(x.a == y.a) ||
      y.b.terms.size() != 1)
    return std::nullopt;
  const auto& [m, c] = *y.b.terms.begin();
  Poly k;
  for (const auto& [n, d] : x.b.terms) {
    if (d % c != 0 || !std::includes(n.begin(), n.end(), m.begin(), m.end())) return std::nullopt;
    std::vector<AtomId> rest;
    std::set_difference(n.begin(), n.end(), m.begin(), m.end(), std::back_inserter(rest));
    k.add(rest, d / c);
  }
  if (!nonnegative(x.a) || !nonnegative(y.b - Poly(1)) || !nonnegative(k - Poly(1))) return std::nullopt;
  return k;
}

Poly Terms::mod(const Poly& a, const Poly& b) {
  if (b.is_constant() && b.constant() == 0) return Poly(0);
  if (b.is_constant() || nonnegative(b - Poly(1)) || nonnegative(Poly(-1) - b)) return a - b * div(a, b);
  return atom_of({Atom::Kind::Mod, 0, a, b});
}

Poly Terms::extreme(bool least, const Poly& a, const Poly& b) {
  if (a == b) return a;
  if (nonnegative(b - a)) return least ? a : b;
  if (nonnegative(a - b)) return least ? b : a;
  return b < a ? atom_of({least ? Atom::Kind::Min : Atom::Kind::Max, 0, b, a})
               : atom_of({least ? Atom::Kind::Min : Atom::Kind::Max, 0, a, b});
}

FormulaPtr Terms::fits(const Poly& p) const {
  const Bounds b = bounds(p);
  if (b.lo >= kLeast && b.hi <= kMost) return truth(true);
  return both(at_most_zero(Poly(kLeast) - p), at_most_zero(p - Poly(kMost)));
}

Poly Terms::wrap(const Poly& p) {
  if (p.is_constant()) return Poly(static_cast<std::int64_t>(static_cast<std::uint64_t>(p.constant())));
  if (fits(p)->kind == Formula::Kind::True) return p;
  return atom_of({Atom::Kind::Wrap, 0, p, {}});
}

Poly Terms::number(const Meaning& m) {
  if (!m.number) {
    if (m.condition->kind == Formula::Kind::True) return Poly(1);
    if (m.condition->kind == Formula::Kind::False) return Poly(0);
    throw Unsupported{"a condition in place of a number"};
  }
  return *m.number;
}
FormulaPtr Terms::condition(const Meaning& m) { return m.number ? negation(is_zero(*m.number)) : m.condition; }

namespace {

Meaning meaning(Poly p) { return {std::move(p), nullptr}; }
Meaning meaning(FormulaPtr f) { return {std::nullopt, std::move(f)}; }

/// What an operation on numbers gives; nothing where an operand is none.
std::optional<std::int64_t> float_number(ExprKind k, const Poly& a, const Poly& b) {
  auto fits = [](const Poly& p) { return p.is_constant() && p.constant() >= INT64_MIN && p.constant() <= INT64_MAX; };
  if (!fits(a) || !fits(b)) return std::nullopt;
  return guards::float_value(k, static_cast<std::int64_t>(a.constant()), static_cast<std::int64_t>(b.constant()));
}

}  // namespace

// Of doubles nothing is known but which operation it is, or what it gives for numbers.
Poly Terms::float_of(std::uint32_t kind, Poly a, Poly b) {
  if (const auto v = float_number(static_cast<ExprKind>(kind), a, b)) return Poly(*v);
  return atom_of({Atom::Kind::Float, kind, std::move(a), std::move(b)});
}

// Equality has no sides.
FormulaPtr Terms::float_condition(ExprKind k, Poly a, Poly b) {
  if (const auto v = float_number(k, a, b)) return is_zero(Poly(*v ? 0 : 1));
  if (k == ExprKind::FEq && b < a) std::swap(a, b);
  return std::make_shared<const Formula>(
      Formula{Formula::Kind::Float, std::move(a), std::move(b), static_cast<std::uint32_t>(k)});
}

Meaning Terms::of(ExprKind kind, const std::vector<const Expr*>& args) {
  auto n = [&](std::size_t i) { return number(of(args[i])); };
  auto c = [&](std::size_t i) { return condition(of(args[i])); };
  switch (kind) {
    case ExprKind::Add: {
      Poly sum;
      for (std::size_t i = 0; i < args.size(); ++i) sum = sum + n(i);
      return meaning(sum);
    }
    case ExprKind::Mul: {
      Poly product(1);
      for (std::size_t i = 0; i < args.size(); ++i) product = product * n(i);
      return meaning(product);
    }
    case ExprKind::Div: return meaning(div(n(0), n(1)));
    case ExprKind::Mod: return meaning(mod(n(0), n(1)));
    case ExprKind::Min: return meaning(extreme(true, n(0), n(1)));
    case ExprKind::Max: return meaning(extreme(false, n(0), n(1)));
    case ExprKind::Wrap: return meaning(wrap(n(0)));
    case ExprKind::Fits: return meaning(fits(n(0)));
    case ExprKind::Eq: return meaning(is_zero(n(0) - n(1)));
    case ExprKind::Ne: return meaning(negation(is_zero(n(0) - n(1))));
    case ExprKind::Lt: return meaning(at_most_zero(n(0) - n(1) + Poly(1)));
    case ExprKind::Le: return meaning(at_most_zero(n(0) - n(1)));
    case ExprKind::And: return meaning(both(c(0), c(1)));
    case ExprKind::Or: return meaning(either(c(0), c(1)));
    case ExprKind::Not: return meaning(negation(c(0)));
    case ExprKind::FLt:
    case ExprKind::FLe:
    case ExprKind::FEq: return meaning(float_condition(kind, n(0), n(1)));
    case ExprKind::Const:
    case ExprKind::Symbol: break;
    default: return meaning(float_of(static_cast<std::uint32_t>(kind), n(0), args.size() > 1 ? n(1) : Poly()));
  }
  throw Unsupported{"a leaf with operands"};
}

Meaning Terms::of(const Expr* e) {
  if (e->is_const()) return meaning(Poly(e->value()));
  if (auto it = meaning_.find(e); it != meaning_.end()) return it->second;
  Meaning m = e->kind() == ExprKind::Symbol ? meaning(word(e->env().symbols()[e->symbol()].source.word))
                                            : of(e->kind(), {e->args().begin(), e->args().end()});
  meaning_.emplace(e, m);
  return m;
}

std::vector<Meaning> Terms::of(const ExprProgram& program) {
  std::vector<Meaning> slots(program.size());
  for (const ExprProgram::Op& op : program.ops()) {
    auto n = [&](std::uint32_t s) { return number(slots[s]); };
    auto c = [&](std::uint32_t s) { return condition(slots[s]); };
    Meaning& out = slots[op.dst];
    switch (op.code) {
      case ExprProgram::kConst: out = meaning(Poly(op.imm)); break;
      case ExprProgram::kWord: out = meaning(word(op.a)); break;
      case ExprProgram::kAdd: out = meaning(n(op.a) + n(op.b)); break;
      case ExprProgram::kMul: out = meaning(n(op.a) * n(op.b)); break;
      case ExprProgram::kMulAddImm: out = meaning(n(op.a) * Poly(op.imm) + n(op.b)); break;
      case ExprProgram::kMulImm: out = meaning(n(op.a) * Poly(op.imm)); break;
      case ExprProgram::kAddImm: out = meaning(n(op.a) + Poly(op.imm)); break;
      case ExprProgram::kDiv: out = meaning(div(n(op.a), n(op.b))); break;
      case ExprProgram::kMod: out = meaning(mod(n(op.a), n(op.b))); break;
      case ExprProgram::kMin: out = meaning(extreme(true, n(op.a), n(op.b))); break;
      case ExprProgram::kMax: out = meaning(extreme(false, n(op.a), n(op.b))); break;
      case ExprProgram::kEq: out = meaning(is_zero(n(op.a) - n(op.b))); break;
      case ExprProgram::kNe: out = meaning(negation(is_zero(n(op.a) - n(op.b)))); break;
      case ExprProgram::kLt: out = meaning(at_most_zero(n(op.a) - n(op.b) + Poly(1))); break;
      case ExprProgram::kLe: out = meaning(at_most_zero(n(op.a) - n(op.b))); break;
      case ExprProgram::kAnd: out = meaning(both(c(op.a), c(op.b))); break;
      case ExprProgram::kOr: out = meaning(either(c(op.a), c(op.b))); break;
      case ExprProgram::kNot: out = meaning(negation(c(op.a))); break;
      case ExprProgram::kFits: out = meaning(fits(n(op.a))); break;
      case ExprProgram::kQuietAdd: out = meaning(wrap(wrap(n(op.a)) + wrap(n(op.b)))); break;
      case ExprProgram::kQuietMul: out = meaning(wrap(wrap(n(op.a)) * wrap(n(op.b)))); break;
      case ExprProgram::kFloat: {
        const auto kind = static_cast<ExprKind>(op.imm);
        const bool one = kind == ExprKind::Real || (kind >= ExprKind::FSqrt && kind <= ExprKind::FCeil);
        if (kind >= ExprKind::FLt) out = meaning(float_condition(kind, n(op.a), n(op.b)));
        else out = meaning(float_of(static_cast<std::uint32_t>(kind), n(op.a), one ? Poly() : n(op.b)));
        break;
      }
      default: throw Unsupported{"an operation of a program"};
    }
  }
  return slots;
}

// A general check holds where its slot is not 0, and where a number on the way does not fit 128 bits it does not hold:
// what passes has been computed exactly.
FormulaPtr Terms::condition(const GuardSet& set, const GuardSet::Check& c) {
  switch (c.kind) {
    case GuardSet::kEqual: return is_zero(word(c.a) - Poly(c.k));
    case GuardSet::kUnequal: return negation(is_zero(word(c.a) - Poly(c.k)));
    case GuardSet::kAtLeast: return at_most_zero(Poly(c.k) - word(c.a));
    case GuardSet::kAtMost: return at_most_zero(word(c.a) - Poly(c.k));
    case GuardSet::kSameWords: return is_zero(word(c.a) - word(c.b));
    case GuardSet::kDivisible: return is_zero(mod(word(c.a), Poly(c.k)));
    // k is one less than a power of two: the low bits are 0 where that divides it, also of a negative number.
    case GuardSet::kLowBitsZero: return is_zero(mod(word(c.a), Poly(Wide{c.k} + 1)));
    default: break;
  }
  std::vector<Meaning>& slots = programs_[{&set.programs()[c.b], 0}];
  if (slots.empty()) slots = of(set.programs()[c.b]);
  return condition(slots[c.a]);
}

// ---- text

std::string Terms::text(const Poly& p) const {
  if (p.terms.empty()) return "0";
  std::string s;
  for (auto it = p.terms.rbegin(); it != p.terms.rend(); ++it) {
    const auto& [m, c] = *it;
    const bool negative = c < 0;
    s += s.empty() ? (negative ? "-" : "") : (negative ? " - " : " + ");
    const Wide n = negative ? -c : c;
    if (n != 1 || m.empty()) s += to_string(n);
    for (std::size_t i = 0; i < m.size(); ++i) {
      if (i || n != 1) s += "*";
      const Atom& a = atom(m[i]);
      switch (a.kind) {
        case Atom::Kind::Word: s += (a.what < kMadeWords ? "w" : "v") + std::to_string(a.what % kMadeWords); break;
        case Atom::Kind::Div: s += "((" + text(a.a) + ") / (" + text(a.b) + "))"; break;
        case Atom::Kind::Mod: s += "((" + text(a.a) + ") % (" + text(a.b) + "))"; break;
        case Atom::Kind::Min: s += "min(" + text(a.a) + ", " + text(a.b) + ")"; break;
        case Atom::Kind::Max: s += "max(" + text(a.a) + ", " + text(a.b) + ")"; break;
        case Atom::Kind::Wrap: s += "wrap(" + text(a.a) + ")"; break;
        case Atom::Kind::Float: s += "f" + std::to_string(a.what) + "(" + text(a.a) + ", " + text(a.b) + ")"; break;
      }
    }
  }
  return s;
}

std::string Terms::text(const Formula& f) const {
  switch (f.kind) {
    case Formula::Kind::True: return "true";
    case Formula::Kind::False: return "false";
    case Formula::Kind::AtMostZero: return text(f.p) + " <= 0";
    case Formula::Kind::IsZero: return text(f.p) + " == 0";
    case Formula::Kind::And: return "(" + text(*f.a) + " and " + text(*f.b) + ")";
    case Formula::Kind::Or: return "(" + text(*f.a) + " or " + text(*f.b) + ")";
    case Formula::Kind::Not: return "not (" + text(*f.a) + ")";
    case Formula::Kind::Float: return "f" + std::to_string(f.what) + "(" + text(f.p) + ", " + text(f.q) + ")";
  }
  return "";
}

}  // namespace reprise::validate
