// Symbols whose numbers launches compute.
//
// Note [Sizes that depend on data]
// How many elements of a mask are set, or what a tensor's one element is (item), no call knows before a part of it has
// run. In a trace such a number is a *data symbol*: like the sizes of arguments it stands in sizes, bounds, strides and
// arithmetic, but it is no value of the call. What is known of it is an assumption (ShapeEnv::assume): its declared
// range (check_size), what its maker says (a count is at most the number of elements), and what operators require of it
// (a mask's count is the number of values that are put there). An assumption is known, and no guard: a replay asks it
// when the number is there, and a call of which it is not true is served eagerly, which knows the right error, or that
// there is none. A question that these decide is decided. One that they leave open would be a guard that nobody can
// check before the call: an operator's, whether something is empty, or of size 1, is taken to be answered no, another
// assumption; what the program itself asks is a branch on a value: the trace follows the side that this call takes
// (guards/data_decider.h, Note [Branches on values] in runtime/build/branches.h); any other ends the trace
// (Bail::asks_of_data) with the line that asked, and the function stays eager.
// Arithmetic of such numbers that may not fit 64 bits wraps, as the program's does (Note [Exact]), and asks nothing.
//
// In the graph an operator reprise::read_back (operators/read_back.cc) says of which tensor the symbol is the element.
// Behind the passes the graph is cut where such a number comes to be (runtime/build/stages.cc): stages, each a program
// of its own, that run one after the other. A stage before the last computes just what the next numbers need;
// everything else, all that writes to arguments with it, stands in the last one, where it fuses as if there were no
// stages. Between two of them the numbers are read, what was declared is checked, and they join the call's values: the
// next stage's recording is found by the sizes and numbers that it depends on, as any recording is, and made in
// microseconds where they are new. So no number is compiled for, and a call that fails on the way has changed nothing.
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "guards/data_decider.h"
#include "guards/shape_env_impl.h"

namespace reprise::guards {

Int ShapeEnv::new_data_symbol(std::string name, std::int64_t hint, std::int64_t lo, std::int64_t hi) {
  REPRISE_CHECK(!frozen_ && lo < hi && lo <= hint && hint <= hi);
  symbols_.push_back({nullptr, {UINT32_MAX, std::move(name)}, hint, lo, hi, 1, true});
  declared_.push_back({lo, hi, 1});
  symbols_.back().expr = make_interned(ExprKind::Symbol, static_cast<std::int64_t>(symbols_.size() - 1), {});
  return Int(symbols_.back().expr);
}

void ShapeEnv::place(const Expr* data_symbol, std::uint32_t word) {
  Symbol& s = symbols_[data_symbol->symbol()];
  REPRISE_CHECK(s.of_data && !frozen_);
  s.source.word = word;
}

bool ShapeEnv::of_data(const Expr* e) const { return Impl::node(e).of_data; }

void ShapeEnv::assume(const Expr* condition, bool always) {
  REPRISE_CHECK(!frozen_);
  if (prove(condition) == std::optional<bool>(true)) return;
  assumed_.push_back({condition, always});
  const Expr* said = simplify(condition);
  // what it would say of the call's own values is not known before it has been asked
  learn(of_data(said) ? said : condition);
  impl_->known_true.insert(condition);
}

namespace {
/// Is it asked whether something is empty, or is of size 1? Then what is not so.
std::optional<bool> usual_answer(const Expr* e) {
  auto small = [](const Expr* a) { return a->is_const() && (a->value() == 0 || a->value() == 1); };
  auto is_two = [](const Expr* a) { return a->is_const() && a->value() == 2; };
  const Expr *l = e->args()[0], *r = e->args().size() > 1 ? e->args()[1] : nullptr;
  switch (e->kind()) {
    case ExprKind::Eq:
    case ExprKind::Ne:
      if (small(l) || small(r)) return e->kind() == ExprKind::Ne;
      return std::nullopt;
    case ExprKind::Lt:
    case ExprKind::Le:
      if (small(l) || (e->kind() == ExprKind::Le && is_two(l))) return true;  // 1 < n is 2 <= n
      if (small(r) || (e->kind() == ExprKind::Lt && is_two(r))) return false;
      return std::nullopt;
    default: return std::nullopt;
  }
}
}  // namespace

bool ShapeEnv::leaves_open(const Expr* e) { return of_data(e) && !prove(e) && !usual_answer(e); }

bool ShapeEnv::decide_of_data(const Expr* e, SourceLoc where) {
  const std::optional<bool> usual = in_library() ? usual_answer(e) : std::nullopt;
  std::optional<bool> answer = usual;
  if (DataDecider* by = usual || in_library() ? nullptr : DataDeciderScope::of(*this))
    answer = by->decide(e, where ? where : impl_->asked);
  if (!answer) refuse_of_data(e, where);
  const Expr* args[] = {e};
  assume(*answer ? e : make(ExprKind::Not, args));
  return *answer;
}

namespace {
constinit thread_local DataDeciderScope* t_decider = nullptr;
}
DataDeciderScope::DataDeciderScope(const ShapeEnv& of, DataDecider* by)
    : of_(&of), by_(by), around_(std::exchange(t_decider, this)) {}
DataDeciderScope::~DataDeciderScope() { t_decider = around_; }
DataDecider* DataDeciderScope::of(const ShapeEnv& env) {
  for (const DataDeciderScope* s = t_decider; s; s = s->around_)
    if (s->of_ == &env) return s->by_;
  return nullptr;
}

void ShapeEnv::refuse_of_data(const Expr* asked, SourceLoc where, bool is_pin) const {
  const SourceLoc at = where ? where : impl_->asked;
  if (is_pin && !in_library()) bail(Bail::reads_value, "item", at);
  const ShowExpressions names;
  bail(Bail::asks_of_data, "compile", at, is_pin ? "the number " : "it must be known before the call whether ",
       to_string(asked), is_pin ? " must be known before the call, and" : ", which",
       " depends on data: say what is known of it with check_size, or the function runs eagerly");
}

}  // namespace reprise::guards
