#include "guards/general.h"

#include <algorithm>
#include <utility>

#include "guards/shape_env.h"

namespace reprise::guards {

namespace {
thread_local Generality t_generality;
thread_local Supposing* t_supposing = nullptr;
}  // namespace

GeneralScope::GeneralScope(Generality g) : before_(std::exchange(t_generality, g)) {}
GeneralScope::~GeneralScope() { t_generality = before_; }
const Generality& generality() { return t_generality; }

namespace {
bool names_stride(const ShapeEnv& env, const Expr* e) {
  if (e->kind() == ExprKind::Symbol)
    return env.symbols()[e->symbol()].source.name.find(".stride(") != std::string::npos;
  return std::any_of(e->args().begin(), e->args().end(), [&](const Expr* a) { return names_stride(env, a); });
}
}  // namespace
bool asks_strides(const ShapeEnv& env) {
  return std::any_of(env.guards().begin(), env.guards().end(),
                     [&](const Guard& g) { return names_stride(env, g.condition); });
}

Supposing::Supposing() : around_(std::exchange(t_supposing, this)) {}
Supposing::~Supposing() { t_supposing = around_; }
bool Supposing::ask() { return t_supposing && (t_supposing->asked_ = true); }

}  // namespace reprise::guards
