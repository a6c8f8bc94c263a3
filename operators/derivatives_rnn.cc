// Derivatives of the steps of recurrent networks, through time: what all steps share are products of all of them at
// once; the states go back step by step, so that how many steps there are is a constant of a compilation.
#include "autograd/rule_parts.h"
#include "operators/derivatives.h"

namespace reprise::operators::derivatives {

using namespace autograd::rules;
using autograd::Backward;

namespace {

enum { kGates, kWeight, kBias, kFirst, kFirstCell };

struct Steps {
  Backward& b;
  SourceLoc loc;
  std::int64_t n;
  bool reverse;
  /// before: the state that each step begins with, [n, batch, hidden]. recurrent: weight times that, and the bias
  Tensor weight, before, recurrent;

  Steps(Backward& b, bool reverse)
      : b(b), loc(b.loc()), n(b.sizes(kGates)[0].value(loc)), reverse(reverse), weight(b.tensor(kWeight)) {
    const Tensor first = unsqueeze(b.tensor(kFirst), 0, loc), made = b.result(0);
    if (n == 0) before = made;
    else
      before = reverse ? cat({slice(made, 0, 1, n, 1, loc), first}, 0, loc)
                       : cat({first, slice(made, 0, 0, n - 1, 1, loc)}, 0, loc);
    recurrent = linear(before, weight, b.has(kBias) ? b.tensor(kBias) : Tensor(), loc);
  }
  /// The time of the i-th step that is made.
  std::int64_t at(std::int64_t i) const { return reverse ? n - 1 - i : i; }
  Tensor step(const Tensor& t, std::int64_t time) const { return select(t, 0, time, loc); }
  /// Gate k of all steps, or of one.
  Tensor gate(const Tensor& t, int k) const {
    const Int hidden = b.sizes(kWeight)[1];
    return narrow(t, -1, hidden * k, hidden, loc);
  }
  /// of_inputs, of_recurrent: by time, gradients of the gates' two parts.
  void give(const std::vector<Tensor>& of_inputs, const std::vector<Tensor>& of_recurrent, const Tensor& of_first) {
    b.give(kFirst, of_first);
    if (n == 0) return;
    b.give(kGates, stack(of_inputs, 0, loc));
    if (!b.wants(kWeight) && !b.wants(kBias)) return;
    const Tensor all = stack(of_recurrent, 0, loc), rows = reshape(all, {all.size(0) * all.size(1), all.size(2)}, loc);
    b.give(kBias, all);
    if (b.wants(kWeight))
      b.give(kWeight, mm(mT(rows, loc), reshape(before, {before.size(0) * before.size(1), before.size(2)}, loc), loc));
  }
};

void plain_steps(Backward& b, bool is_tanh) {
  Steps s(b, b.flag(4));
  const Tensor made = b.result(0), slope = is_tanh ? 1 - made * made : to(made > 0, made.dtype(), s.loc);
  std::vector<Tensor> given(static_cast<std::size_t>(s.n));
  Tensor h = b.grad(1);
  for (std::int64_t i = s.n; i-- > 0;) {
    const std::int64_t t = s.at(i);
    const Tensor of = (h + s.step(b.grad(0), t)) * s.step(slope, t);
    given[static_cast<std::size_t>(t)] = of, h = mm(of, s.weight, s.loc);
  }
  s.give(given, given, h);
}

}  // namespace

void rnn_tanh_steps(Backward& b) { plain_steps(b, true); }
void rnn_relu_steps(Backward& b) { plain_steps(b, false); }

void gru_steps(Backward& b) {
  Steps s(b, b.flag(4));
  const SourceLoc loc = s.loc;
  const Tensor x = b.tensor(kGates), p = s.recurrent;
  const Tensor reset = sigmoid(s.gate(x, 0) + s.gate(p, 0), loc), update = sigmoid(s.gate(x, 1) + s.gate(p, 1), loc),
               inner = s.gate(p, 2), fresh = tanh(s.gate(x, 2) + reset * inner, loc);
  // Of the state after a step: by the three gates, and by the state before it.
  const Tensor of_fresh = (1 - update) * (1 - fresh * fresh), of_update = (s.before - fresh) * update * (1 - update),
               of_reset = inner * reset * (1 - reset);
  std::vector<Tensor> of_inputs(static_cast<std::size_t>(s.n)), of_recurrent(of_inputs.size());
  Tensor h = b.grad(1);
  for (std::int64_t i = s.n; i-- > 0;) {
    const std::int64_t t = s.at(i);
    const Tensor g = h + s.step(b.grad(0), t), last = g * s.step(of_fresh, t), first = last * s.step(of_reset, t),
                 second = g * s.step(of_update, t);
    of_inputs[static_cast<std::size_t>(t)] = cat({first, second, last}, -1, loc);
    const Tensor back = cat({first, second, last * s.step(reset, t)}, -1, loc);
    of_recurrent[static_cast<std::size_t>(t)] = back, h = mm(back, s.weight, loc) + g * s.step(update, t);
  }
  s.give(of_inputs, of_recurrent, h);
}

void lstm_steps(Backward& b) {
  Steps s(b, b.flag(5));
  const SourceLoc loc = s.loc;
  const Tensor all = b.tensor(kGates) + s.recurrent;
  const Tensor in = sigmoid(s.gate(all, 0), loc), forget = sigmoid(s.gate(all, 1), loc),
               fresh = tanh(s.gate(all, 2), loc), out = sigmoid(s.gate(all, 3), loc);
  // The cells again: outputs alone are kept.
  std::vector<Tensor> before(static_cast<std::size_t>(s.n)), shown(before.size());
  Tensor c = b.tensor(kFirstCell);
  for (std::int64_t i = 0; i < s.n; ++i) {
    const std::int64_t t = s.at(i);
    before[static_cast<std::size_t>(t)] = c;
    c = s.step(forget, t) * c + s.step(in, t) * s.step(fresh, t);
    shown[static_cast<std::size_t>(t)] = tanh(c, loc);
  }
  const Tensor tanh_c = s.n ? stack(shown, 0, loc) : in;
  const Tensor of_in = fresh * in * (1 - in), of_forget = (s.n ? stack(before, 0, loc) : in) * forget * (1 - forget),
               of_fresh = in * (1 - fresh * fresh), of_out = tanh_c * out * (1 - out),
               of_cell = out * (1 - tanh_c * tanh_c);
  std::vector<Tensor> given(static_cast<std::size_t>(s.n));
  Tensor h = b.grad(1), cell = b.grad(2);
  for (std::int64_t i = s.n; i-- > 0;) {
    const std::int64_t t = s.at(i);
    const Tensor g = h + s.step(b.grad(0), t);
    cell = cell + g * s.step(of_cell, t);
    const Tensor of =
        cat({cell * s.step(of_in, t), cell * s.step(of_forget, t), cell * s.step(of_fresh, t), g * s.step(of_out, t)},
            -1, loc);
    given[static_cast<std::size_t>(t)] = of, h = mm(of, s.weight, loc), cell = cell * s.step(forget, t);
  }
  s.give(given, given, h);
  b.give(kFirstCell, cell);
}

}  // namespace reprise::operators::derivatives
