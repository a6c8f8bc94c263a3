// Int and Bool where they are symbolic.
#include "reprise/int.h"

#include <ostream>
#include <utility>

#include "base/errors.h"
#include "guards/shape_env_impl.h"

namespace reprise {

using guards::Expr;
using guards::ExprKind;
using guards::ShapeEnv;

namespace {

[[noreturn]] void outlived(const char* what) {
  fail(ErrorCode::InvalidArgument, what, {},
       "a compiled function has left it in a variable of its surroundings, and its trace is over: return it, or take "
       "its value() inside the function");
}

ShapeEnv& env_of(const Expr* a, const Expr* b, const char* what) {
  ShapeEnv& env = (a ? a : b)->env();
  if (a && b && &a->env() != &b->env())
    fail(ErrorCode::InvalidArgument, what, {},
         "two of different traces meet: a compiled function has left one of them in a variable of its surroundings, "
         "which another call reads");
  return env;
}

const Expr* make(ExprKind kind, Int a, Int b) {
  ShapeEnv& env = env_of(a.expr(), b.expr(), "Int");
  const Expr* args[] = {env.simplify(env.of(a)), env.simplify(env.of(b))};
  return guards::bounded(env.simplify(env.make(kind, args)));
}

/// A sum or product of the program's own or of an operator's (Note [Exact]). Where its coefficients are too large to be
/// written down, the program's wraps; an operator's must be exact, and one side becomes a number.
Int result(ExprKind kind, Int a, Int b) {
  ShapeEnv& env = env_of(a.expr(), b.expr(), "Int");
  const Expr* args[] = {env.simplify(env.of(a)), env.simplify(env.of(b))};
  const Expr* e = env.make(kind, args);
  if (guards::in_library() && !env.frozen() && e->kind() == ExprKind::Wrap && e != args[0] && e != args[1]) {
    const Expr* number = args[0]->is_const() ? args[1] : args[0];
    const Int pinned = env.pin(number, {}, "pinned: too large to stay symbolic");
    const Int other(number == args[0] ? args[1] : args[0]);
    return kind == ExprKind::Add ? pinned + other : pinned * other;
  }
  return Int(guards::bounded(env.own(env.simplify(e))));
}

// A symbolic divisor that may be zero in another call is guarded against that.
std::int64_t checked_divisor(Int b) {
  if (b.hint() == 0) fail(ErrorCode::InvalidArgument, "Int", {}, "division by zero: the divisor is 0");
  if (Bool not_zero = b != 0; not_zero.is_symbolic()) b.living()->env().require(not_zero.expr(), {}, "divisor");
  return b.hint();
}

}  // namespace

Int::Int(const Expr* e) noexcept {
  if (e->is_const()) value_ = e->value();
  else expr_ = e, value_ = static_cast<std::int64_t>(e->env().serial());
}

const guards::Expr* Int::living() const {
  if (expr_ && !ShapeEnv::is_alive(u(*this))) outlived("Int");
  return expr_;
}

Int Int::add(Int a, Int b) { return a.living(), b.living(), result(ExprKind::Add, a, b); }

Int Int::sub(Int a, Int b) {
  a.living(), b.living();
  ShapeEnv& env = env_of(a.expr_, b.expr_, "Int");
  const Expr* what = env.simplify(env.of(b));
  const Expr* negate[] = {env.constant(-1), what};
  const Expr* negated = env.make(ExprKind::Mul, negate);
  // -2^63 has no counterpart: what stands for it is so modulo 2^64, and so is the sum.
  if ((what->is_const() && what->value() == INT64_MIN) ||
      (negated->kind() == ExprKind::Wrap && what->kind() != ExprKind::Wrap)) {
    const Expr *args[] = {env.simplify(env.of(a)), negated}, *sum[] = {env.make(ExprKind::Add, args)};
    return Int(env.make(ExprKind::Wrap, sum));
  }
  return a + Int(negated);  // either side may have become a number by now
}

Int Int::mul(Int a, Int b) {
  if (a.plain(b)) return Int(wrap(u(a) * u(b)));
  return a.living(), b.living(), result(ExprKind::Mul, a, b);
}

Int Int::div(Int a, Int b) {
  if (a.plain(b)) return Int(guards::quotient(a.value_, checked_divisor(b)));
  a.living(), b.living(), checked_divisor(b);
  return result(ExprKind::Div, a, b);
}

Int Int::mod(Int a, Int b) {
  if (a.plain(b)) return Int(guards::remainder(a.value_, checked_divisor(b)));
  a.living(), b.living(), checked_divisor(b);
  return Int(make(ExprKind::Mod, a, b));
}

Int Int::min(Int a, Int b) {
  return a.plain(b) ? Int(a.value_ < b.value_ ? a : b) : (a.living(), b.living(), Int(make(ExprKind::Min, a, b)));
}
Int Int::max(Int a, Int b) {
  return a.plain(b) ? Int(a.value_ < b.value_ ? b : a) : (a.living(), b.living(), Int(make(ExprKind::Max, a, b)));
}

Int Int::ceil_div_slow(Int a, Int b) {
  if (!a.plain(b)) {
    a.living(), b.living();
    // Rounding up and adding b - 1 are the same for a >= 0; below, the quotient is rounded up as it is.
    if (!static_cast<bool>(detail::compare_lt(0, b, {}))) return (a + b - 1) / b;
    if (!static_cast<bool>(detail::compare_le(0, a, {}))) return a / b;
    guards::LibraryScope exact;  // the sum may be more than 64 bits hold, the quotient is not
    const Int up = a + b;
    auto now = [](Int i) { return i.is_symbolic() ? Int(i.living()->env().simplify(i.expr())) : i; };
    a = now(a), b = now(b);  // the sum may have made numbers of them
    return a.plain(b) ? ceil_div(a, b) : (up - 1) / b;
  }
  return (a + b - 1) / b;
}

std::int64_t Int::pin(SourceLoc loc) const { return living()->env().pin(expr_, loc, "pinned to a number"); }
// Once its trace is over it has no number any more: the next call's is another.
std::int64_t Int::hint_slow() const {
  ShapeEnv& env = living()->env();
  if (env.frozen()) outlived("Int");
  return env.evaluate_hint(expr_);
}
namespace guards {
namespace {
thread_local int t_show_hints = 0;
}
namespace {
thread_local int t_library = 0;
}
LibraryScope::LibraryScope() { ++t_library; }
LibraryScope::~LibraryScope() { --t_library; }
bool in_library() { return t_library > 0; }

ShowHints::ShowHints() { ++t_show_hints; }
ShowHints::~ShowHints() { --t_show_hints; }
bool showing_hints() { return t_show_hints > 0; }
ShowExpressions::ShowExpressions() : before_(std::exchange(t_show_hints, 0)) {}
ShowExpressions::~ShowExpressions() { t_show_hints = before_; }
}  // namespace guards

std::string Int::str() const {
  return living() && guards::showing_hints() ? std::to_string(hint())
         : expr_                             ? guards::to_string(expr_)
                                             : std::to_string(value_);
}
std::ostream& operator<<(std::ostream& s, Int i) { return s << i.str(); }
std::ostream& operator<<(std::ostream& s, const Ints& all) {
  s << '[';
  for (std::size_t i = 0; i < all.size(); ++i) s << (i ? ", " : "") << all[i];
  return s << ']';
}

Bool::Bool(const Expr* e, SourceLoc loc) noexcept : loc_(loc) {
  if (e->is_const()) value_ = e->value() != 0;
  else expr_ = e, trace_ = static_cast<std::uint32_t>(e->env().serial());
}

const guards::Expr* Bool::living() const {
  if (expr_ && !ShapeEnv::is_alive(trace_)) outlived("Bool");
  return expr_;
}

bool Bool::decide() const { return living()->env().decide(expr_, loc_, "branch"); }
bool Bool::hint_slow() const {
  ShapeEnv& env = living()->env();
  if (env.frozen()) outlived("Bool");
  return env.evaluate_hint(expr_) != 0;
}
void assume(Bool condition, SourceLoc loc) {
  const bool of_data = condition.is_symbolic() && condition.living()->env().of_data(condition.expr());
  if (!of_data && !condition.hint())
    fail(ErrorCode::InvalidArgument, "assume", loc, "what the function assumes does not hold in this call",
         condition.is_symbolic() ? ": " + guards::to_string(condition.expr()) : "");
  if (condition.is_symbolic()) condition.living()->env().require(condition.expr(), loc, "assumed");
}
bool Bool::known_true() const { return living() ? expr_->env().prove(expr_) == std::optional<bool>(true) : value_; }

namespace {
Bool combine(ExprKind kind, Bool a, Bool b, bool absorbing) {
  if (!a.is_symbolic()) return a.hint() == absorbing ? a : b;
  if (!b.is_symbolic()) return b.hint() == absorbing ? b : a;
  const Expr* args[] = {a.living(), b.living()};
  return Bool(env_of(args[0], args[1], "Bool").make(kind, args), a.where());
}
}  // namespace

Bool operator&(Bool a, Bool b) { return combine(ExprKind::And, a, b, false); }
Bool operator|(Bool a, Bool b) { return combine(ExprKind::Or, a, b, true); }
Bool operator!(Bool a) {
  if (!a.is_symbolic()) return Bool(!a.hint());
  const Expr* args[] = {a.living()};
  return Bool(args[0]->env().make(ExprKind::Not, args), a.where());
}

namespace detail {

namespace {
bool are_numbers(Int a, Int b) { return !a.is_symbolic() && !b.is_symbolic(); }
Bool compare(ExprKind kind, Int a, Int b, SourceLoc loc) { return a.living(), b.living(), Bool(make(kind, a, b), loc); }
}  // namespace

Bool compare_eq(Int a, Int b, SourceLoc loc) {
  return are_numbers(a, b) ? Bool(plain_value(a) == plain_value(b)) : compare(ExprKind::Eq, a, b, loc);
}
Bool compare_lt(Int a, Int b, SourceLoc loc) {
  return are_numbers(a, b) ? Bool(plain_value(a) < plain_value(b)) : compare(ExprKind::Lt, a, b, loc);
}
Bool compare_le(Int a, Int b, SourceLoc loc) {
  return are_numbers(a, b) ? Bool(plain_value(a) <= plain_value(b)) : compare(ExprKind::Le, a, b, loc);
}

}  // namespace detail

}  // namespace reprise
