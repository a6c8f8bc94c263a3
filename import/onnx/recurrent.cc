// Recurrent networks: in a trace a scan for each direction, for all numbers of turns; eagerly turn by turn.
#include <algorithm>
#include <array>
#include <optional>

#include "import/onnx/core.h"
#include "reprise/compile.h"
#include "reprise/regions.h"

namespace reprise::onnx {
namespace {

/// What all three share: inputs by direction, with the batch where the formulas have it.
struct Network {
  Tensor x;     ///< [turns, batch, input]
  Tensor w, r;  ///< weights by direction, [directions, gates * hidden, input or hidden]
  std::int64_t hidden = 0, directions = 1;
  Int turns;
  bool reverse = false;
  bool batch_first = false;
  Tensor mask;  ///< [turns, batch, 1]: is this turn one of the sequence? undefined: of all
  bool masked = false;
  double clip = 0;
  struct Activation {
    std::string name;  ///< in lower case
    double alpha = 0, beta = 0;
  };
  std::vector<Activation> activations;
};

/// What an activation takes of activation_alpha and activation_beta, and what stands there otherwise.
struct Parameters {
  const char* name;
  std::optional<double> alpha{}, beta{};
};
constexpr Parameters kActivations[] = {
    {"tanh"},
    {"sigmoid"},
    {"relu"},
    {"softsign"},
    {"softplus"},
    {"leakyrelu", 0.01},
    {"thresholdedrelu", 1.0},
    {"elu", 1.0},
    {"scaledtanh", 1.0, 1.0},
    {"hardsigmoid", 0.2, 0.5},
    {"affine", 1.0, 0.0},
};

/// Each takes the next alpha and beta if it has such a parameter; those without one leave it to the next.
std::vector<Network::Activation> activations_of(Call& c, std::vector<std::string> names) {
  std::vector<Network::Activation> made;
  const std::vector<double> alphas = c.floats("activation_alpha"), betas = c.floats("activation_beta");
  std::size_t alpha = 0, beta = 0;
  for (std::string& name : names) {
    const std::string given = name;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char ch) { return static_cast<char>(std::tolower(ch)); });
    const auto found = std::find_if(std::begin(kActivations), std::end(kActivations),
                                    [&](const Parameters& p) { return name == p.name; });
    if (found == std::end(kActivations)) c.bad("the activation '", given, "' is not known");
    Network::Activation a{.name = name};
    if (found->alpha) a.alpha = alpha < alphas.size() ? alphas[alpha++] : *found->alpha;
    if (found->beta) a.beta = beta < betas.size() ? betas[beta++] : *found->beta;
    made.push_back(std::move(a));
  }
  return made;
}

Tensor activation(const Network& n, std::size_t which, const Tensor& x) {
  const auto& [f, alpha, beta] = n.activations[which];
  if (f == "tanh") return tanh(x);
  if (f == "sigmoid") return sigmoid(x);
  if (f == "relu") return relu(x);
  if (f == "leakyrelu") return leaky_relu(x, alpha);
  if (f == "thresholdedrelu") return threshold(x, alpha, 0);
  if (f == "scaledtanh") return tanh(x * beta) * alpha;
  if (f == "hardsigmoid") return clamp(x * alpha + beta, 0, 1);
  if (f == "elu") return elu(x, alpha);
  if (f == "affine") return x * alpha + beta;
  return f == "softsign" ? softsign(x) : softplus(x);
}
Tensor clipped(const Network& n, const Tensor& x) { return n.clip > 0 ? clamp(x, -n.clip, n.clip) : x; }

/// The weights are the call's second and third inputs, if none are given.
Network network(Call& c, std::size_t gates, std::vector<std::string> activations, Tensor w = {}, Tensor r = {}) {
  Network n;
  n.w = w.defined() ? w : c.x(1), n.r = r.defined() ? r : c.x(2);
  if (n.w.dim() != 3 || n.r.dim() != 3)
    c.bad("has weights of ", n.w.dim(), " and ", n.r.dim(), " dimensions; wanted 3");
  n.batch_first = c.i("layout", 0) != 0;
  n.x = n.batch_first ? c.x(0).transpose(0, 1) : c.x(0);
  if (n.x.dim() != 3) c.bad("of ", n.x.dim(), " dimensions; wanted 3");
  const std::string direction = c.s("direction", "forward");
  if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
    c.bad("the direction is '", direction, "'; wanted forward, reverse or bidirectional");
  n.reverse = direction == "reverse", n.directions = direction == "bidirectional" ? 2 : 1;
  n.hidden = n.r.size(-1).value();
  if (const std::int64_t said = c.i("hidden_size", n.hidden); said != n.hidden)
    c.bad("has hidden_size ", said, ", and weights of ", n.hidden);
  n.turns = n.x.size(0);
  if (n.w.size(0) != n.directions) c.bad("has weights of ", n.w.size(0).hint(), " directions; wanted ", n.directions);
  if (n.w.size(1) != n.hidden * static_cast<std::int64_t>(gates))
    c.bad("has weights of ", n.w.size(1).hint(), " rows; wanted ", gates, " times ", n.hidden);
  n.clip = c.f("clip", 0);
  const Attribute* given = c.attribute("activations");
  const std::size_t each = activations.size();
  if (given && given->kind == Attribute::Kind::Strings) activations = given->strings;
  if (activations.size() < each)
    c.bad("has ", activations.size(), " activations; wanted ", each, " for each direction");
  while (activations.size() < each * static_cast<std::size_t>(n.directions))
    activations.push_back(activations[activations.size() - each]);
  n.activations = activations_of(c, std::move(activations));
  n.masked = c.has(4);
  if (n.masked) n.mask = (arange(n.turns).unsqueeze(1) < c.x(4).to(kInt64).unsqueeze(0)).unsqueeze(-1);
  return n;
}
Tensor initial(Call& c, const Network& n, int input, std::int64_t direction) {
  if (!c.has(input)) return zeros({n.x.size(1), n.hidden}, {.dtype = n.x.dtype()});
  return c.x(input).select(n.batch_first ? 1 : 0, direction);
}
/// [directions * k * hidden] as k rows of one direction.
Tensor row(const Tensor& t, std::int64_t direction, std::int64_t hidden, std::int64_t k) {
  return t.select(0, direction).slice(0, k * hidden, (k + 1) * hidden);
}

using State = std::vector<Tensor>;
/// Runs `turn(x, state, direction)` over each direction. state[0] is the output. `as_operator`: by scan.
template <class Turn>
void run_with(Call& c, const Network& n, const std::vector<int>& initials, Turn&& turn, bool as_operator) {
  std::vector<Tensor> outputs;  // by direction [turns, batch, hidden]
  std::vector<std::vector<Tensor>> last(initials.size());
  const auto one = [&](const Tensor& x, const Tensor& goes, State& state, std::int64_t d) {
    State next = turn(x, state, d);
    Tensor y = next[0];
    if (n.masked) {  // behind a sequence's end nothing happens
      for (std::size_t s = 0; s < state.size(); ++s) next[s] = where(goes, next[s], state[s]);
      y = where(goes, y, zeros_like(y));
    }
    state = std::move(next);
    return y;
  };
  for (std::int64_t d = 0; d < n.directions; ++d) {
    State state;
    for (int input : initials) state.push_back(initial(c, n, input, d));
    const bool back = n.reverse || d == 1;
    if (as_operator) {
      State xs{n.x};
      if (n.masked) xs.push_back(n.mask);
      for (Tensor& t : xs)
        if (back) t = t.flip({0});
      auto [end, y] = reprise::scan(
          [&](const State& s, const State& x) {
            State now = s;
            Tensor made = one(x[0], x.back(), now, d);
            return std::pair(std::move(now), std::move(made));
          },
          std::move(state), std::move(xs));
      outputs.push_back(back ? y.flip({0}) : y);
      state = std::move(end);
    } else {
      const std::int64_t turns = n.turns.value();
      if (turns > kMostTraced && reprise::detail::around().tracer)
        fail(ErrorCode::NotTraceable, c.op(), {}, "turns ", turns, " times: a trace holds each turn");
      std::vector<Tensor> rows(static_cast<std::size_t>(turns));
      for (std::int64_t i = 0; i < turns; ++i) {
        const std::int64_t t = back ? turns - 1 - i : i;
        rows[static_cast<std::size_t>(t)] = one(n.x.select(0, t), n.masked ? n.mask.select(0, t) : Tensor(), state, d);
      }
      outputs.push_back(rows.empty() ? zeros({0, n.x.size(1), n.hidden}, {.dtype = n.x.dtype()}) : stack(rows));
    }
    for (std::size_t s = 0; s < state.size(); ++s) last[s].push_back(state[s]);
  }
  const Tensor y = stack(outputs, 1);  // [turns, directions, batch, hidden]
  c.give(n.batch_first ? y.permute({2, 0, 1, 3}) : y, 0);
  for (std::size_t s = 0; s < last.size(); ++s) c.give(stack(last[s], n.batch_first ? 1 : 0), static_cast<int>(s) + 1);
}

template <class Turn>
void run(Call& c, const Network& n, const std::vector<int>& initials, Turn&& turn) {
  run_region(
      c, [&] { run_with(c, n, initials, turn, true); }, [&] { run_with(c, n, initials, turn, false); });
}

/// Products with the weights of all gates, and their biases.
struct Weights {
  Tensor w, r, wb, rb;
  bool biased = false;
};
Weights weights(Call& c, const Network& n, std::int64_t direction, std::int64_t rows) {
  Weights made{.w = n.w.select(0, direction), .r = n.r.select(0, direction), .wb = {}, .rb = {}, .biased = c.has(3)};
  if (made.biased) {
    const Tensor b = c.x(3).select(0, direction);
    made.wb = b.slice(0, 0, rows), made.rb = b.slice(0, rows, 2 * rows);
  }
  return made;
}
Tensor gate(const Tensor& t, std::int64_t k, std::int64_t hidden) { return t.slice(-1, k * hidden, (k + 1) * hidden); }

void rnn(Call& c) {
  const Network n = network(c, 1, {"Tanh"});
  run(c, n, {5}, [&](const Tensor& x, const State& s, std::int64_t d) {
    const Weights w = weights(c, n, d, n.hidden);
    Tensor sum = matmul(x, w.w.t()) + matmul(s[0], w.r.t());
    if (w.biased) sum = sum + w.wb + w.rb;
    return State{activation(n, static_cast<std::size_t>(d), clipped(n, sum))};
  });
}
void lstm_with(Call& c, const Network& n) {
  const bool couples = c.i("input_forget", 0) != 0;
  run(c, n, {5, 6}, [&](const Tensor& x, const State& s, std::int64_t d) {
    const Weights w = weights(c, n, d, 4 * n.hidden);
    Tensor sums = matmul(x, w.w.t()) + matmul(s[0], w.r.t());
    if (w.biased) sums = sums + w.wb + w.rb;
    const std::size_t f = 3 * static_cast<std::size_t>(d);
    const auto peeked = [&](std::int64_t k, std::int64_t of, const Tensor& cell) {
      return c.has(7) ? gate(sums, k, n.hidden) + row(c.x(7), d, n.hidden, of) * cell : gate(sums, k, n.hidden);
    };
    const Tensor in = activation(n, f, clipped(n, peeked(0, 0, s[1])));
    const Tensor forget = couples ? 1 - in : activation(n, f, clipped(n, peeked(2, 2, s[1])));
    const Tensor cell = forget * s[1] + in * activation(n, f + 1, clipped(n, gate(sums, 3, n.hidden)));
    const Tensor out = activation(n, f, clipped(n, peeked(1, 1, cell)));
    return State{out * activation(n, f + 2, cell), cell};
  });
}
void lstm(Call& c) { lstm_with(c, network(c, 4, {"Sigmoid", "Tanh", "Tanh"})); }
/// ONNX Runtime's: weights of bytes, [directions, input, gates * hidden], with a scale and a zero point for a direction
/// or each column. Products are computed in floats here, where ONNX Runtime rounds their inputs to bytes, too.
void quantized_lstm(Call& c) {
  const auto weight = [&](int input, int scale, int zero) {
    const auto beside = [&](const Tensor& t) {
      const Tensor x = t.to(kFloat32);
      return x.dim() == 0 ? x : x.dim() == 1 ? x.view({x.size(0), 1, 1}) : x.unsqueeze(1);
    };
    Tensor w = c.x(input).to(kFloat32);
    if (c.has(zero)) w = w - beside(c.x(zero));
    return (w * beside(c.x(scale))).transpose(1, 2);
  };
  lstm_with(c, network(c, 4, {"Sigmoid", "Tanh", "Tanh"}, weight(1, 8, 9), weight(2, 10, 11)));
}
void gru(Call& c) {
  const Network n = network(c, 3, {"Sigmoid", "Tanh"});
  const bool after = c.i("linear_before_reset", 0) != 0;
  run(c, n, {5}, [&](const Tensor& x, const State& s, std::int64_t d) {
    const std::int64_t h = n.hidden;
    const Weights w = weights(c, n, d, 3 * h);
    Tensor of_x = matmul(x, w.w.t());
    if (w.biased) of_x = of_x + w.wb;
    const auto of_state = [&](std::int64_t from, std::int64_t to, const Tensor& state) {
      const Tensor product = matmul(state, w.r.slice(0, from * h, to * h).t());
      return w.biased ? product + w.rb.slice(0, from * h, to * h) : product;
    };
    const std::size_t f = 2 * static_cast<std::size_t>(d);
    const Tensor both = activation(n, f, clipped(n, of_x.slice(-1, 0, 2 * h) + of_state(0, 2, s[0])));
    const Tensor z = gate(both, 0, h), r = gate(both, 1, h);
    const Tensor from_state = after ? r * of_state(2, 3, s[0]) : of_state(2, 3, r * s[0]);
    const Tensor fresh = activation(n, f + 1, clipped(n, gate(of_x, 2, h) + from_state));
    return State{(1 - z) * fresh + z * s[0]};
  });
}

constexpr Row kRecurrentRows[] = {
    {"DynamicQuantizeLSTM", 1, 0, quantized_lstm, 0, nullptr, false, "com.microsoft"},
    {"GRU", 3, 0, gru},
    {"LSTM", 1, 0, lstm},
    {"RNN", 1, 0, rnn},
};

}  // namespace

std::span<const Row> recurrent_rows() { return kRecurrentRows; }

}  // namespace reprise::onnx
