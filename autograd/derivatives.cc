#include "autograd/derivative.h"

#include "autograd/rules.h"

namespace reprise::autograd {

namespace {
using graph::OpId;

constexpr graph::OpColumn<Derivative>::Row kRows[] = {
#define REPRISE_DERIVATIVE(op, rule, saves) {OpId::op, {rules::rule, saves}},
#define REPRISE_CONSTANT(op) {OpId::op, {}},
#include "autograd/derivatives.def"
#undef REPRISE_DERIVATIVE
#undef REPRISE_CONSTANT
};
constinit graph::OpColumn<Derivative> g_column("derivative", kRows);
}  // namespace

graph::OpColumn<Derivative>& derivatives() { return g_column; }

}  // namespace reprise::autograd
