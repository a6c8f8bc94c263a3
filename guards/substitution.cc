#include "guards/substitution.h"

namespace reprise::guards {

void Substitution::bind(std::uint32_t symbol, Int value) {
  if (symbol >= bound_.size()) bound_.resize(symbol + 1);
  bound_[symbol] = value;
}

// Expressions of patterns are small, and shared parts few: no memo.
const Expr* Substitution::made(const Expr* e) const {
  if (e->is_const()) return to_->constant(e->value());
  if (e->kind() == ExprKind::Symbol) {
    if (is_bound(e->symbol())) return to_->of(*bound_[e->symbol()]);
    const Symbol& s = from_->symbols()[e->symbol()];
    return s.lo == s.hi ? to_->constant(s.lo) : nullptr;  // pinned: it is that number
  }
  std::vector<const Expr*> args;
  for (const Expr* a : e->args()) {
    args.push_back(made(a));
    if (!args.back()) return nullptr;
  }
  return to_->simplify(to_->make(e->kind(), args));
}

std::optional<Int> Substitution::of(Int i) const {
  if (!i.is_symbolic()) return i;
  const Expr* e = made(i.expr());
  return e ? std::optional(Int(e)) : std::nullopt;
}

bool Substitution::known(const Expr* condition) const {
  const Expr* e = made(condition);
  return e && to_->prove(e).value_or(false);
}

bool Substitution::require(const Expr* condition, SourceLoc where, const char* why) const {
  const Expr* e = made(condition);
  return e && to_->require(e, where, why);
}

}  // namespace reprise::guards
