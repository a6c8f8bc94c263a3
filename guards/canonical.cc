// Building expressions: simplification and interning.
#include <atomic>
#include <cstdlib>
#include <unordered_set>

#include "base/bail.h"
#include "base/errors.h"
#include "base/mutex.h"
#include "guards/float_math.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

namespace {

// Which traces are still there: an Int that a function has left somewhere may outlive its own.
struct Living {
  Mutex mu;
  std::unordered_set<std::uint64_t> serials;
  std::atomic<std::uint64_t> deaths{0};
  static Living& get() {
    static Living* l = new Living;  // never destroyed: specializations may be among static objects
    return *l;
  }
};

std::uint64_t new_serial() {
  static std::atomic<std::uint64_t> next{1};
  Living& l = Living::get();
  const MutexLock lock(l.mu);
  return *l.serials.insert(next++).first;
}

}  // namespace

ShapeEnv::ShapeEnv() : impl_(std::make_unique<Impl>()), serial_(new_serial()) {}
ShapeEnv::~ShapeEnv() {
  Living& l = Living::get();
  const MutexLock lock(l.mu);
  l.serials.erase(serial_);
  l.deaths.fetch_add(1, std::memory_order_release);
}

bool ShapeEnv::is_alive(std::uint64_t serial) {
  thread_local std::uint64_t known = 0, deaths = 0;  // the last that was asked for, and how many had died by then
  Living& l = Living::get();
  if (const std::uint64_t now = l.deaths.load(std::memory_order_acquire); known == serial && deaths == now) return true;
  const MutexLock lock(l.mu);
  if (l.serials.count(serial) == 0) return false;
  known = serial, deaths = l.deaths.load(std::memory_order_relaxed);
  return true;
}

using Args = std::vector<const Expr*>;

/// The rewriting rules. Each keeps the value of the expression wherever the declared ranges and the guards taken so far
/// hold.
struct Maker {
  ShapeEnv& env;

  const Expr* intern(ExprKind k, std::int64_t v, Args a) const { return env.make_interned(k, v, std::move(a)); }
  const Expr* constant(std::int64_t v) const { return env.constant(v); }
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
  // Of what a sum or a product came to: where a coefficient does not fit, its low bits are all that is known, and where
  // the value fits they are the value.
  const Expr* value(const Polynomial& p) const {
    const Expr* e = from(p);
    return p.exact || e->is_const() ? e : intern(ExprKind::Wrap, 0, {e});
  }

  // A sum and one term more, which it has not yet and which nothing cancels: how lists of sizes are added up. Null
  // where it is not that.
  const Expr* with_term(const Expr* sum, const Expr* t) const {
    const bool one = t->kind() == ExprKind::Symbol || t->kind() == ExprKind::Mul || (t->is_const() && t->value() != 0);
    if (!one || sum->kind() != ExprKind::Add || !ShapeEnv::Impl::node(sum).plain || !ShapeEnv::Impl::node(t).plain)
      return nullptr;
    auto atoms = [](const Expr* const& e) -> std::span<const Expr* const> {
      if (e->is_const()) return {};
      return e->kind() == ExprKind::Mul ? e->args().subspan(e->args()[0]->is_const()) : std::span(&e, 1);
    };
    auto at = std::lower_bound(
        sum->args().begin(), sum->args().end(), t,
        [&](const Expr* const& a, const Expr* const& b) { return Polynomial::before(atoms(a), atoms(b)); });
    if (at != sum->args().end() && std::ranges::equal(atoms(*at), atoms(t))) return nullptr;
    Args args;
    args.reserve(sum->args().size() + 1);
    args.insert(args.end(), sum->args().begin(), at);
    args.push_back(t);
    args.insert(args.end(), at, sum->args().end());
    return intern(ExprKind::Add, 0, std::move(args));
  }

  // a / b * b is a where b is known to divide a.
  Polynomial undo_divisions(Polynomial p) const {
    for (int turns = 0; turns < 16; ++turns) {
      bool changed = false;
      for (std::size_t i = 0; i < p.terms.size() && !changed; ++i)
        for (std::size_t j = 0; j < p.terms[i].atoms.size() && !changed; ++j) {
          const Expr* d = p.terms[i].atoms[j];
          if (d->kind() != ExprKind::Div) continue;
          Polynomial::Term rest = p.terms[i];
          rest.atoms.erase(rest.atoms.begin() + static_cast<std::ptrdiff_t>(j));
          Polynomial by = polynomial_of(d->args()[1]), around;
          around.terms.push_back(rest);
          if (by.terms.size() != 1) continue;
          std::optional<Polynomial> left = exact(around, by.terms[0]);
          if (!left || !env.known_multiple(d->args()[0], d->args()[1])) continue;
          Polynomial undone = p;
          undone.terms.erase(undone.terms.begin() + static_cast<std::ptrdiff_t>(i));
          undone.add(left->times(polynomial_of(d->args()[0])), 1);
          if (!undone.exact) continue;
          p = std::move(undone);
          changed = true;
        }
      if (!changed) break;
    }
    return p;
  }

  // Sums multiply out; a product that would become very long stays a product of sums, which only costs canonicity.
  const Expr* product(std::span<const Expr* const> args) const {
    constexpr std::size_t kMostTerms = 64;
    Polynomial p;
    p.add(Monomial{}, 1);
    for (const Expr* a : args) {
      Polynomial q = polynomial_of(a);
      if (p.terms.size() * q.terms.size() > kMostTerms) {
        Monomial sums{from(p), a};
        std::sort(sums.begin(), sums.end(), [](const Expr* x, const Expr* y) { return x->id() < y->id(); });
        p.terms.clear();
        p.add(sums, 1);
      } else {
        p = p.times(q);
      }
    }
    return value(undo_divisions(std::move(p)));
  }

  bool nonnegative(const Expr* e) const { return env.range_of(e).lo >= 0; }

  // a / b where b is one term that divides every term of a.
  static std::optional<Polynomial> exact(const Polynomial& a, const Polynomial::Term& b) {
    Polynomial q;
    for (const Polynomial::Term& t : a.terms) {
      if (b.coefficient == 0 || (b.coefficient == -1 && t.coefficient == INT64_MIN) ||
          remainder(t.coefficient, b.coefficient) != 0)
        return std::nullopt;
      Monomial rest = t.atoms;
      for (const Expr* atom : b.atoms) {
        auto it = std::find(rest.begin(), rest.end(), atom);
        if (it == rest.end()) return std::nullopt;
        rest.erase(it);
      }
      q.add(rest, quotient(t.coefficient, b.coefficient));
    }
    return q;
  }

  const Expr* div(const Expr* a, const Expr* b) const {
    if (b->is_const() && b->value() == 1) return a;
    if (a->is_const() && a->value() == 0) return a;
    if (a->is_const() && b->is_const() && b->value() != 0) return constant(quotient(a->value(), b->value()));
    Polynomial pa = polynomial_of(a), pb = polynomial_of(b);
    // x*k / k is x even where k is 0: the division is only ever evaluated where a guard has excluded that.
    if (pb.terms.size() == 1)
      if (std::optional<Polynomial> q = exact(pa, pb.terms[0])) return from(*q);
    // (x / c) / d == x / (c*d) for positive constants; (q*c + r) / c == q + r / c where nothing is negative.
    if (b->is_const() && b->value() > 0) {
      if (a->kind() == ExprKind::Div && a->args()[1]->is_const() && a->args()[1]->value() > 0) {
        __int128 both = static_cast<__int128>(a->args()[1]->value()) * b->value();
        if (both <= INT64_MAX) return div(a->args()[0], constant(static_cast<std::int64_t>(both)));
      }
      Polynomial whole, rest;
      for (const Polynomial::Term& t : pa.terms) {
        std::int64_t q = t.atoms.empty() ? t.coefficient / b->value()
                                         : (t.coefficient % b->value() == 0 ? t.coefficient / b->value() : 0);
        whole.add(t.atoms, q);
        rest.add(t.atoms, t.coefficient - q * b->value());
      }
      if (!whole.terms.empty()) {
        const Expr *w = from(whole), *r = from(rest);
        if (nonnegative(w) && nonnegative(r)) {
          Polynomial sum = whole;
          sum.add(polynomial_of(div(r, b)), 1);
          if (sum.exact) return from(sum);
        }
      }
      ShapeEnv::Range range = env.range_of(a);
      if (range.lo >= 0 && range.hi < b->value()) return constant(0);
    }
    return intern(ExprKind::Div, 0, {a, b});
  }

  const Expr* mod(const Expr* a, const Expr* b) const {
    if (b->is_const() && (b->value() == 1 || b->value() == -1)) return constant(0);
    if (b->is_const() && b->value() != INT64_MIN && b->value() != 0 && env.divides(std::abs(b->value()), a))
      return constant(0);
    if (a->is_const() && a->value() == 0) return a;
    if (a->is_const() && b->is_const() && b->value() != 0) return constant(remainder(a->value(), b->value()));
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

  // Minima of minima are one list, without those that another member makes needless.
  const Expr* extreme(ExprKind kind, const Expr* a, const Expr* b) const {
    Args members, kept;
    flatten(kind, a, members);
    flatten(kind, b, members);
    bool least = kind == ExprKind::Min;
    for (const Expr* m : members) {
      bool needless = false;
      std::erase_if(kept, [&](const Expr* k) {
        if (needless) return false;
        if (at_most(least ? k : m, least ? m : k)) return !(needless = true);
        return at_most(least ? m : k, least ? k : m);
      });
      if (!needless) kept.push_back(m);
    }
    return fold(kind, kept);
  }
  bool at_most(const Expr* a, const Expr* b) const {
    if (a == b || (a->is_const() && a->value() == INT64_MIN) || (b->is_const() && b->value() == INT64_MAX)) return true;
    return env.bounds(polynomial_of(a).minus(polynomial_of(b))).hi <= 0;
  }
  static void flatten(ExprKind kind, const Expr* e, Args& out) {
    if (e->kind() != kind) return out.push_back(e);
    for (const Expr* a : e->args()) flatten(kind, a, out);
  }
  // A number comes last: whether it was met before the symbols is no part of what is said.
  const Expr* fold(ExprKind kind, Args& members) const {
    std::sort(members.begin(), members.end(), [](const Expr* x, const Expr* y) {
      return std::pair(x->is_const(), x->id()) < std::pair(y->is_const(), y->id());
    });
    const Expr* e = members[0];
    for (std::size_t i = 1; i < members.size(); ++i) e = intern(kind, 0, {e, members[i]});
    return e;
  }

  // Nothing can be moved to the other side where 64 bits do not hold the sum.
  static bool movable(const Polynomial& d) {
    return d.exact && std::none_of(d.terms.begin(), d.terms.end(),
                                   [](const Polynomial::Term& t) { return t.coefficient == INT64_MIN; });
  }
  const Expr* as_written(ExprKind kind, const Expr* a, const Expr* b) const {
    if (a->is_const() && b->is_const()) {
      const std::int64_t x = a->value(), y = b->value();
      return boolean(kind == ExprKind::Eq   ? x == y
                     : kind == ExprKind::Ne ? x != y
                     : kind == ExprKind::Lt ? x < y
                                            : x <= y);
    }
    const bool symmetric = kind == ExprKind::Eq || kind == ExprKind::Ne;
    if (symmetric && (a->is_const() || (!b->is_const() && b->id() < a->id()))) std::swap(a, b);
    return intern(kind, 0, {a, b});
  }
  const Expr* compare(ExprKind kind, const Expr* a, const Expr* b) const {
    const bool symmetric = kind == ExprKind::Eq || kind == ExprKind::Ne;
    Polynomial d = polynomial_of(a).minus(polynomial_of(b));
    if (kind == ExprKind::Lt) d.add(Monomial{}, 1);
    if (!movable(d)) return as_written(kind, a, b);
    return symmetric ? equal_zero(kind, d) : at_most_zero(std::move(d));
  }

  // MIN <= c*x + k <= MAX are bounds of x; of more than one term it is a question of its own.
  const Expr* fits(const Expr* e) const {
    if (env.fits(e)) return boolean(true);
    if (e->kind() == ExprKind::Div) return intern(ExprKind::Fits, 0, {e});  // -2^63 / -1
    Polynomial p = polynomial_of(e);
    Polynomial::Term t = p.terms[0];
    if (p.terms.size() > 2 || (p.terms.size() == 2 && !p.terms[1].atoms.empty()) || t.atoms.size() != 1)
      return intern(ExprKind::Fits, 0, {e});
    const __int128 k = p.constant(), c = t.coefficient;
    __int128 low = INT64_MIN - k, high = INT64_MAX - k;
    if (c < 0) std::swap(low, high);
    auto down = [&](__int128 v) { return v / c - ((v % c != 0) && ((v < 0) != (c < 0))); };
    auto end = [](__int128 v) { return saturate(v); };
    const Expr *x = t.atoms[0], *least = constant(end(-down(-low))), *most = constant(end(down(high)));
    return logical(ExprKind::And, order(least, x), order(x, most));
  }
  const Expr* order(const Expr* a, const Expr* b) const {
    if ((a->is_const() && a->value() == INT64_MIN) || (b->is_const() && b->value() == INT64_MAX)) return boolean(true);
    return compare(ExprKind::Le, a, b);
  }

  // d <= 0, written without minus signs: "s0 < s1", "s0 <= 4", "2 <= s0". But a constant alone has a side of its own
  // ("-4 <= s0"), so that a comparison with a number holds up to the ends of 64 bits, where a sum would wrap.
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
    const std::int64_t c = d.constant();
    if (c != 0 && c != INT64_MIN && std::all_of(d.terms.begin(), d.terms.end(), [&](const Polynomial::Term& t) {
          return (t.coefficient > 0) == (c > 0);
        })) {
      Polynomial rest = d;
      rest.add(Monomial{}, -c);
      auto [positive, negative] = sides(rest);
      left = c > 0 ? positive : constant(c), right = c > 0 ? constant(-c) : negative;
    }
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
      else right.add(t.atoms, -t.coefficient);
    }
    return {from(left), from(right)};
  }

  const Expr* logical(ExprKind kind, const Expr* a, const Expr* b) const {
    bool absorbing = kind == ExprKind::Or;
    Args members, kept;
    flatten(kind, a, members);
    flatten(kind, b, members);
    for (const Expr* m : members) {
      if (m->is_const()) {
        if ((m->value() != 0) == absorbing) return boolean(absorbing);
        continue;
      }
      if (std::find(kept.begin(), kept.end(), negation(m)) != kept.end()) return boolean(absorbing);
      if (std::find(kept.begin(), kept.end(), m) == kept.end()) kept.push_back(m);
    }
    return kept.empty() ? boolean(!absorbing) : fold(kind, kept);
  }

  const Expr* of_floats(ExprKind kind, std::span<const Expr* const> args) const {
    if (std::all_of(args.begin(), args.end(), [](const Expr* a) { return a->is_const(); }))
      return constant(float_value(kind, args[0]->value(), args[args.size() - 1]->value()));
    Args in(args.begin(), args.end());
    if (kind == ExprKind::FEq && in[0]->id() > in[1]->id()) std::swap(in[0], in[1]);
    return intern(kind, 0, std::move(in));
  }

  const Expr* negation(const Expr* a) const {
    switch (a->kind()) {
      case ExprKind::Const: return boolean(a->value() == 0);
      case ExprKind::Eq: return intern(ExprKind::Ne, 0, {a->args()[0], a->args()[1]});
      case ExprKind::Ne: return intern(ExprKind::Eq, 0, {a->args()[0], a->args()[1]});
      case ExprKind::Lt:
      case ExprKind::Le: {  // not (l < r) is r <= l, not (l <= r) is r < l
        return compare(a->kind() == ExprKind::Le ? ExprKind::Lt : ExprKind::Le, a->args()[1], a->args()[0]);
      }
      case ExprKind::And:
      case ExprKind::Or:
        return logical(a->kind() == ExprKind::And ? ExprKind::Or : ExprKind::And, negation(a->args()[0]),
                       negation(a->args()[1]));
      case ExprKind::Not: return a->args()[0];
      default: return intern(ExprKind::Not, 0, {a});
    }
  }

  // A program may compute with sizes for as long as it likes: past a bound the number that an expression has in the
  // call being traced takes its place, so that neither the trace nor the text of a guard grows without limit.
  const Expr* bounded(const Expr* e) const {
    constexpr std::uint32_t kLongest = 512;        // operations and operands, as the text has them
    constexpr std::uint32_t kLongestGuard = 1000;  // a guard is evaluated in one piece (GuardSet)
    constexpr std::size_t kFewSymbols = 8;
    const ShapeEnv::Impl::Node& n = ShapeEnv::Impl::node(e);
    if (n.length <= kLongest || env.frozen_ || e->is_bool() || !n.hint.defined || !in_64_bits(n.hint.value)) return e;
    // Where few numbers decide the value, it hardly ever is the same for others of them: those are pinned, which is
    // said in a line and checked at once.
    constexpr const char* kWhy = "pinned: a number computed from it grew past 512 operations";
    const auto value = static_cast<std::int64_t>(n.hint.value);
    const SourceLoc where = env.impl_->asked;
    std::unordered_set<const Expr*> seen;
    Args symbols;
    collect_symbols(e, seen, symbols);
    if (symbols.size() <= kFewSymbols || n.length > kLongestGuard) {
      for (const Expr* s : symbols) env.pin(s, where, kWhy);
    } else {
      env.pin(e, where, kWhy);
    }
    return constant(value);
  }
  static void collect_symbols(const Expr* e, std::unordered_set<const Expr*>& seen, Args& out) {
    if (!seen.insert(e).second) return;
    if (e->kind() == ExprKind::Symbol) out.push_back(e);
    for (const Expr* a : e->args()) collect_symbols(a, seen, out);
  }
};

const Expr* bounded(const Expr* e) { return Maker{e->env()}.bounded(e); }

const Expr* ShapeEnv::constant(std::int64_t v) { return make_interned(ExprKind::Const, v, {}); }

const Expr* ShapeEnv::of(Int i) { return i.is_symbolic() ? i.expr() : constant(i.hint()); }

// Hints are computed as expressions are made: asking for one costs nothing however deep the expression is.
ExprHint ShapeEnv::hint_of(const Expr& e) const {
  if (e.kind() == ExprKind::Const) return {e.value(), true};
  if (e.kind() == ExprKind::Symbol) return {symbols_[e.symbol()].hint, true};
  for (const Expr* a : e.args())
    if (!Impl::node(a).hint.defined) return {0, false};
  auto arg = [&](std::size_t i) { return Impl::node(e.args()[i]).hint.value; };
  __int128 v = e.kind() == ExprKind::Mul;
  switch (e.kind()) {
    case ExprKind::Add:
      for (std::size_t i = 0; i < e.args().size(); ++i) __builtin_add_overflow(v, arg(i), &v);
      return {v, true};
    case ExprKind::Mul:
      for (std::size_t i = 0; i < e.args().size(); ++i) __builtin_mul_overflow(v, arg(i), &v);
      return {v, true};
    case ExprKind::Div: return {arg(1) == 0 ? 0 : arg(0) / arg(1), arg(1) != 0};
    case ExprKind::Mod: return {arg(1) == 0 ? 0 : arg(0) % arg(1), arg(1) != 0};
    case ExprKind::Wrap: return {low_64_bits(arg(0)), true};
    case ExprKind::Fits: return {in_64_bits(arg(0)), true};
    case ExprKind::Real:
    case ExprKind::FAdd:
    case ExprKind::FSub:
    case ExprKind::FMul:
    case ExprKind::FDiv:
    case ExprKind::FPow:
    case ExprKind::FMin:
    case ExprKind::FMax:
    case ExprKind::FSqrt:
    case ExprKind::FExp:
    case ExprKind::FLog:
    case ExprKind::FAbs:
    case ExprKind::FFloor:
    case ExprKind::FCeil:
    case ExprKind::FLt:
    case ExprKind::FLe:
    case ExprKind::FEq:
      return {float_value(e.kind(), low_64_bits(arg(0)), low_64_bits(arg(e.args().size() - 1))), true};
    case ExprKind::Min: return {std::min(arg(0), arg(1)), true};
    case ExprKind::Max: return {std::max(arg(0), arg(1)), true};
    case ExprKind::Eq: return {arg(0) == arg(1), true};
    case ExprKind::Ne: return {arg(0) != arg(1), true};
    case ExprKind::Lt: return {arg(0) < arg(1), true};
    case ExprKind::Le: return {arg(0) <= arg(1), true};
    case ExprKind::And: return {arg(0) && arg(1), true};
    case ExprKind::Or: return {arg(0) || arg(1), true};
    default: return {!arg(0), true};
  }
}

const Expr* ShapeEnv::make_interned(ExprKind kind, std::int64_t value, std::vector<const Expr*> args) {
  std::uint64_t h = static_cast<std::uint64_t>(kind) * 0x9e3779b97f4a7c15ull ^ static_cast<std::uint64_t>(value);
  for (const Expr* a : args) h = (h ^ a->id()) * 0x9e3779b97f4a7c15ull + (h >> 31);
  // After freeze() other threads may print or explain: they may build expressions, one at a time.
  std::unique_lock lock(impl_->after_freeze, std::defer_lock);
  if (frozen_) lock.lock();
  const Expr* known = impl_->table.find(h, [&](const Expr* e) {
    return e->kind() == kind && e->value() == value &&
           std::equal(e->args().begin(), e->args().end(), args.begin(), args.end());
  });
  if (known) return known;
  REPRISE_CHECK(args.size() <= UINT16_MAX, "an expression has more than 65535 terms");
  constexpr std::uint16_t kDeepest = 2000;
  std::uint16_t depth = 0;
  std::uint64_t length = 1;
  bool of_data = kind == ExprKind::Symbol && symbols_[static_cast<std::size_t>(value)].of_data;
  bool plain = kind == ExprKind::Const || kind == ExprKind::Symbol || kind == ExprKind::Add || kind == ExprKind::Mul;
  for (const Expr* a : args) {
    depth = std::max<std::uint16_t>(depth, Impl::node(a).depth + 1);
    length += Impl::node(a).length;
    plain = plain && Impl::node(a).plain;
    of_data = of_data || Impl::node(a).of_data;
  }
  if (depth > kDeepest)
    bail(Bail::deep_integer, "Int", {}, "an integer is computed from sizes in more than ", kDeepest,
         " dependent steps");
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
  impl_->exprs.push_back(
      {e, hint_of(e), depth, static_cast<std::uint32_t>(std::min<std::uint64_t>(length, UINT32_MAX)), of_data, plain});
  impl_->table.add(h, &impl_->exprs.back());
  return &impl_->exprs.back();
}

const Expr* ShapeEnv::from(const Polynomial& p) { return Maker{*this}.from(p); }

const Expr* ShapeEnv::make(ExprKind kind, std::span<const Expr* const> args) {
  if (frozen_ || args.size() > 2) {
    const Expr* result = make_here(kind, args);
    if (!frozen_ && impl_->claims_kept) claim({nullptr, kind, {args.begin(), args.end()}, result});
    return result;
  }
  const Expr *a = args[0], *b = args.size() == 2 ? args[1] : nullptr;
  std::size_t at = (a->id() * 31u + (b ? b->id() : 0) * 1009u + static_cast<unsigned>(kind) * 97u) % impl_->made.size();
  Impl::Made& cached = impl_->made[at];
  if (cached.generation == impl_->generation && cached.kind == kind && cached.a == a && cached.b == b)
    return cached.result;
  const Expr* result = make_here(kind, args);
  if (impl_->claims_kept) claim({nullptr, kind, {args.begin(), args.end()}, result});
  impl_->made[at] = {impl_->generation, kind, a, b, result};
  return result;
}

const Expr* ShapeEnv::make_here(ExprKind kind, std::span<const Expr* const> args) {
  Maker m{*this};
  auto is = [&](std::size_t i, std::int64_t v) { return args[i]->is_const() && args[i]->value() == v; };
  switch (kind) {
    case ExprKind::Add: {
      if (args.size() == 2)
        if (const Expr* sum = m.with_term(args[0], args[1])) return sum;
      if (args.size() == 2)
        if (const Expr* sum = m.with_term(args[1], args[0])) return sum;
      Polynomial p = polynomial_of(args[0]);
      for (const Expr* a : args.subspan(1)) p.add(polynomial_of(a), 1);
      return m.value(m.undo_divisions(std::move(p)));
    }
    case ExprKind::Mul: return m.product(args);
    case ExprKind::Div: return m.div(args[0], args[1]);
    case ExprKind::Mod: return m.mod(args[0], args[1]);
    case ExprKind::Min:
    case ExprKind::Max: return m.extreme(kind, args[0], args[1]);
    case ExprKind::Wrap: return args[0]->is_const() || fits(args[0]) ? args[0] : m.intern(kind, 0, {args[0]});
    case ExprKind::Fits: return m.fits(args[0]);
    case ExprKind::Eq:
    case ExprKind::Ne: return m.compare(kind, args[0], args[1]);
    // The ends of the range ("up to INT64_MAX" means no limit) would not survive being moved to the other side.
    case ExprKind::Lt:
      if ((is(0, INT64_MAX) && fits(args[1])) || (is(1, INT64_MIN) && fits(args[0]))) return m.boolean(false);
      return m.compare(kind, args[0], args[1]);
    case ExprKind::Le:
      if ((is(0, INT64_MIN) && fits(args[1])) || (is(1, INT64_MAX) && fits(args[0]))) return m.boolean(true);
      return m.compare(kind, args[0], args[1]);
    case ExprKind::And:
    case ExprKind::Or: return m.logical(kind, args[0], args[1]);
    case ExprKind::Not: return m.negation(args[0]);
    case ExprKind::Const:
    case ExprKind::Symbol: break;
    default: return m.of_floats(kind, args);
  }
  fail(ErrorCode::Internal, "", {}, "make() of a leaf");
}

Polynomial polynomial_of(const Expr* e) {
  auto term = [](const Expr* a) -> Polynomial::Term {
    if (a->is_const()) return {{}, a->value()};
    if (a->kind() != ExprKind::Mul) return {{a}, 1};
    Polynomial::Term t{{}, 1};  // a Mul is [coefficient] atoms..., sorted
    for (const Expr* b : a->args()) {
      if (b->is_const()) t.coefficient = b->value();
      else t.atoms.push_back(b);
    }
    return t;
  };
  Polynomial p;
  if (e->kind() == ExprKind::Add) {  // its terms stand in the order of a polynomial's
    p.terms.reserve(e->args().size() + 1);
    for (const Expr* a : e->args()) p.terms.push_back(term(a));
  } else if (!e->is_const() || e->value() != 0) {
    p.terms.push_back(term(e));
  }
  return p;
}

}  // namespace reprise::guards
