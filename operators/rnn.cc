// Recurrent networks. What is the same for all steps is a matrix product of all inputs; the steps themselves are one
// operator for a layer and a direction, so that a trace is as short for a long sequence as for a short one.
#include "reprise/rnn.h"

#include <cmath>
#include <optional>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/checks.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/rows.h"
#include "reprise/settings.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;

enum class Cell : std::uint8_t { Lstm, Gru, Tanh, Relu };
constexpr int gates_of(Cell c) { return c == Cell::Lstm ? 4 : c == Cell::Gru ? 3 : 1; }

/// Elements of a view, row by row.
template <class T>
std::vector<T> all_of(const TensorView& v) {
  std::vector<T> r;
  r.reserve(static_cast<std::size_t>(v.numel()));
  kernels::reference::for_each(
      v, [&](std::int64_t at) { r.push_back(static_cast<T>(kernels::reference::load_number(v, at))); });
  return r;
}

/// Sums in sixteen parts, which become vectors.
template <class T>
T dot(const T* a, const T* b, std::int64_t n) {
  T part[16] = {};
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16)
    for (int k = 0; k < 16; ++k) part[k] += a[i + k] * b[i + k];
  T sum = 0;
  for (T p : part) sum += p;
  for (; i < n; ++i) sum += a[i] * b[i];
  return sum;
}
template <class T>
T sigmoid_of(T x) {
  return 1 / (1 + std::exp(-x));
}

/// x [time, batch, gates * hidden], weight_hh, bias_hh, h_0 [batch, hidden], (c_0,) reverse -> outputs [time, batch,
/// hidden], h_n, (c_n)
template <Cell cell, class T>
void run_steps(const NativeArgs& a) {
  constexpr bool is_lstm = cell == Cell::Lstm;
  const TensorView &x = a.tensor(0), &out = a.result(0);
  const std::int64_t time = x.sizes[0], batch = x.sizes[1], hidden = out.sizes[2], width = x.sizes[2];
  const bool reverse = a.flag(is_lstm ? 5 : 4);
  const std::vector<T> w = all_of<T>(a.tensor(1)),
                       bias = a.has(2) ? all_of<T>(a.tensor(2)) : std::vector<T>(static_cast<std::size_t>(width));
  std::vector<T> h = all_of<T>(a.tensor(3)), c, in(static_cast<std::size_t>(batch * width)), pre(in.size());
  if constexpr (is_lstm) c = all_of<T>(a.tensor(4));
  std::vector<double> row(static_cast<std::size_t>(std::max(width, hidden)));
  for (std::int64_t step = 0; step < time; ++step) {
    const std::int64_t t = reverse ? time - 1 - step : step;
    for (std::int64_t b = 0; b < batch; ++b) {
      read_row(x, t * x.strides[0] + b * x.strides[1], x.strides[2], width, row.data());
      for (std::int64_t i = 0; i < width; ++i)
        in[static_cast<std::size_t>(b * width + i)] = static_cast<T>(row[static_cast<std::size_t>(i)]);
    }
    parallel(width, batch * hidden, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t r = begin; r < end; ++r)
        for (std::int64_t b = 0; b < batch; ++b)
          pre[static_cast<std::size_t>(b * width + r)] =
              bias[static_cast<std::size_t>(r)] + dot(w.data() + r * hidden, h.data() + b * hidden, hidden);
    });
    for (std::int64_t b = 0; b < batch; ++b) {
      const T *i = in.data() + b * width, *p = pre.data() + b * width;
      T* state = h.data() + b * hidden;
      for (std::int64_t k = 0; k < hidden; ++k) {
        if constexpr (is_lstm) {
          auto gate = [&](std::int64_t g) { return i[g * hidden + k] + p[g * hidden + k]; };
          T& kept = c[static_cast<std::size_t>(b * hidden + k)];
          kept = sigmoid_of(gate(1)) * kept + sigmoid_of(gate(0)) * std::tanh(gate(2));
          state[k] = sigmoid_of(gate(3)) * std::tanh(kept);
        } else if constexpr (cell == Cell::Gru) {
          const T reset = sigmoid_of(i[k] + p[k]), update = sigmoid_of(i[hidden + k] + p[hidden + k]),
                  fresh = std::tanh(i[2 * hidden + k] + reset * p[2 * hidden + k]);
          state[k] = fresh + update * (state[k] - fresh);
        } else {
          const T v = i[k] + p[k];
          state[k] = cell == Cell::Tanh ? std::tanh(v) : v <= 0 ? T(0) : v;  // NaN stays
        }
        row[static_cast<std::size_t>(k)] = static_cast<double>(state[k]);
      }
      write_row(out, t * out.strides[0] + b * out.strides[1], out.strides[2], hidden, row.data());
    }
  }
  auto write_state = [&](const TensorView& to, const std::vector<T>& state) {
    std::size_t i = 0;
    kernels::reference::for_each(to, [&](std::int64_t at) {
      kernels::reference::store(to, at, kernels::reference::Value::of(static_cast<double>(state[i++])));
    });
  };
  write_state(a.result(1), h);
  if constexpr (is_lstm) write_state(a.result(2), c);
}

template <Cell cell>
void steps_kernel(const NativeArgs& a) {
  if (a.tensor(0).dtype == DType::Float64) run_steps<cell, double>(a);
  else run_steps<cell, float>(a);
}

template <Cell cell>
void steps_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta &x = c.tensor(0), &w = c.tensor(1), &h = c.tensor(3);
  need_float(name, c.loc, x.dtype);
  bool fits = x.dim() == 3 && w.dim() == 2 && h.dim() == 2 &&
              graph::same(x.size(2), w.size(0), c.loc, "rnn: the gates") &&
              graph::same(x.size(1), h.size(0), c.loc, "rnn: the batch") &&
              graph::same(w.size(1), h.size(1), c.loc, "rnn: the hidden size") &&
              graph::same(w.size(0), w.size(1) * gates_of(cell), c.loc, "rnn: gates of the hidden size");
  for (int i : {2, 4}) {
    const TensorMeta* t = i == 2 || cell == Cell::Lstm ? c.optional_tensor(i) : nullptr;
    if (!fits || !t) continue;
    fits = i == 2 ? t->dim() == 1 && graph::same(t->size(0), w.size(0), c.loc, "rnn: the bias")
                  : t->dim() == 2 && graph::same(t->size(0), h.size(0), c.loc, "rnn: the batch") &&
                        graph::same(t->size(1), h.size(1), c.loc, "rnn: the hidden size");
  }
  if (!fits)
    fail(ErrorCode::ShapeMismatch, name, c.loc, "gates of sizes ", graph::sizes_text(x.layout.sizes), ", weight_hh ",
         graph::sizes_text(w.layout.sizes), " and hx ", graph::sizes_text(h.layout.sizes), " do not fit");
  for (const graph::RuleArg& argument : c.args)
    if (auto* t = std::get_if<const TensorMeta*>(&argument); t && *t && (*t)->dtype != x.dtype)
      fail(ErrorCode::DTypeMismatch, name, c.loc, "dtypes ", dtype_name(x.dtype), " and ", dtype_name((*t)->dtype),
           " differ; cast with to()");
  c.result(x.dtype, {x.size(0), x.size(1), h.size(1)});
  for (int i = cell == Cell::Lstm ? 2 : 1; i-- > 0;) c.result(x.dtype, h.layout.sizes);
}

template <Cell cell>
OpId steps_op() {
  using autograd::in, autograd::out;
  constexpr derivatives::Rule* kRule = cell == Cell::Lstm   ? derivatives::lstm_steps
                                       : cell == Cell::Gru  ? derivatives::gru_steps
                                       : cell == Cell::Tanh ? derivatives::rnn_tanh_steps
                                                            : derivatives::rnn_relu_steps;
  constexpr autograd::Saves kSaves = in(0) + in(1) + in(2) + in(3) + out(0);
  static const OpId id = graph::register_op(
      {.schema = cell == Cell::Lstm  ? "lstm_steps(Tensor gates, Tensor weight_hh, Tensor? bias_hh, Tensor h_0, Tensor "
                                       "c_0, bool reverse=False) -> (Tensor outputs, Tensor h_n, Tensor c_n)"
                 : cell == Cell::Gru ? "gru_steps(Tensor gates, Tensor weight_hh, Tensor? bias_hh, Tensor h_0, bool "
                                       "reverse=False) -> (Tensor outputs, Tensor h_n)"
                 : cell == Cell::Tanh ? "rnn_tanh_steps(Tensor gates, Tensor weight_hh, Tensor? bias_hh, Tensor h_0, "
                                        "bool reverse=False) -> (Tensor outputs, Tensor h_n)"
                                      : "rnn_relu_steps(Tensor gates, Tensor weight_hh, Tensor? bias_hh, Tensor h_0, "
                                        "bool reverse=False) -> (Tensor outputs, Tensor h_n)",
       .shape = steps_shape<cell>},
      {kernels::reference_kernels().fact({steps_kernel<cell>}),
       derivative(kRule, cell == Cell::Lstm ? kSaves + in(4) : kSaves)});
  return id;
}

// ---- the layers

struct Network {
  TensorArrayRef params;
  bool has_biases;
  std::int64_t layers;
  double dropout;  ///< 0 where nothing is trained
  bool bidirectional, batch_first;
};

/// Outputs and the states after the last step, of which an LSTM has two. Undefined states are zeros.
template <Cell cell>
std::vector<Tensor> run(const Tensor& input, std::vector<Tensor> states, const Network& n, const char* op,
                        SourceLoc loc) {
  // Autocast is of the layer as a whole: its products and its states have one dtype.
  if (const std::optional<DType> low = autocast_dtype()) {
    const AutocastScope done(*low, false);
    auto cast = [&](const Tensor& t) {
      return t.defined() && is_floating(t.dtype()) && t.dtype() != DType::Float64 ? to(t, *low, loc) : t;
    };
    for (Tensor& s : states) s = cast(s);
    std::vector<Tensor> params;
    for (const Tensor& p : n.params) params.push_back(cast(p));
    Network cast_network = n;
    cast_network.params = params;
    return run<cell>(cast(input), std::move(states), cast_network, op, loc);
  }
  const TensorMeta m = checked_meta(input, op, loc);
  const std::int64_t directions = n.bidirectional ? 2 : 1, each = n.has_biases ? 4 : 2;
  if (n.layers < 1 || n.layers > 1 << 16)
    fail(ErrorCode::InvalidArgument, op, loc, "num_layers must lie in [1, 65536], got ", n.layers);
  need_float(op, loc, m.dtype);
  if (m.dim() != 2 && m.dim() != 3)
    fail(ErrorCode::ShapeMismatch, op, loc, "input must have 2 or 3 dimensions, got sizes ",
         graph::sizes_text(m.layout.sizes));
  if (static_cast<std::int64_t>(n.params.size()) != n.layers * directions * each)
    fail(ErrorCode::InvalidArgument, op, loc, n.layers, " layers of ", directions, " directions have ",
         n.layers * directions * each, " weights", n.has_biases ? " and biases" : "", ", got ", n.params.size());
  const bool batched = m.dim() == 3;
  Tensor x = !batched ? unsqueeze(input, 1, loc) : n.batch_first ? transpose(input, 0, 1, loc) : input;
  if (!graph::require(detail::compare_lt(0, x.size(0), loc), "rnn: at least one step"))
    fail(ErrorCode::ShapeMismatch, op, loc, "input of sizes ", graph::sizes_text(m.layout.sizes), " has no steps");
  const Int batch = x.size(1);
  const TensorMeta w = checked_meta(n.params[1], op, loc);
  if (w.dim() != 2)
    fail(ErrorCode::ShapeMismatch, op, loc, "weight_hh must be a matrix, got sizes ",
         graph::sizes_text(w.layout.sizes));
  const Int hidden = w.size(1);
  for (Tensor& s : states) {
    if (!s.defined()) {
      s = zeros({n.layers * directions, batch, hidden}, {m.dtype, m.device}, loc);
      continue;
    }
    const TensorMeta given = checked_meta(s, op, loc);
    if (!batched && given.dim() == 2) s = unsqueeze(s, 1, loc);
    const TensorMeta t = checked_meta(s, op, loc);
    if (given.dim() != m.dim() || !graph::same(t.size(0), n.layers * directions, loc, "rnn: a state for each layer") ||
        !graph::same(t.size(1), batch, loc, "rnn: the batch") ||
        !graph::same(t.size(2), hidden, loc, "rnn: the hidden size"))
      fail(ErrorCode::ShapeMismatch, op, loc, "hx has sizes ", graph::sizes_text(given.layout.sizes), ", expected ",
           graph::sizes_text(batched ? Ints{n.layers * directions, batch, hidden}
                                     : Ints{n.layers * directions, hidden}));
  }
  std::vector<std::vector<Tensor>> last(states.size());
  std::size_t next = 0;
  for (std::int64_t layer = 0; layer < n.layers; ++layer) {
    if (layer > 0 && n.dropout > 0) x = dropout(x, n.dropout, true, loc);
    std::vector<Tensor> outputs;
    for (std::int64_t d = 0; d < directions; ++d, next += static_cast<std::size_t>(each)) {
      const Tensor bias_ih = n.has_biases ? n.params[next + 2] : Tensor(),
                   bias_hh = n.has_biases ? n.params[next + 3] : Tensor();
      const Tensor gates = linear(x, n.params[next], bias_ih, loc);
      const std::int64_t at = layer * directions + d;
      const Tensor h = select(states[0], 0, at, loc);
      std::vector<Tensor> r;
      if constexpr (cell == Cell::Lstm) {
        const Tensor c = select(states[1], 0, at, loc);
        r = graph::calln(steps_op<cell>(),
                         {arg(gates), arg(n.params[next + 1]), arg(bias_hh), arg(h), arg(c), arg(d == 1)}, loc);
      } else {
        r = graph::calln(steps_op<cell>(), {arg(gates), arg(n.params[next + 1]), arg(bias_hh), arg(h), arg(d == 1)},
                         loc);
      }
      outputs.push_back(r[0]);
      for (std::size_t s = 0; s < last.size(); ++s) last[s].push_back(r[s + 1]);
    }
    x = outputs.size() == 1 ? outputs[0] : cat(outputs, -1, loc);
  }
  std::vector<Tensor> results{!batched        ? squeeze(x, 1, loc)
                              : n.batch_first ? contiguous(transpose(x, 0, 1, loc), loc)
                                              : x};
  for (std::vector<Tensor>& s : last) {
    const Tensor all = stack(s, 0, loc);
    results.push_back(batched ? all : squeeze(all, 1, loc));
  }
  return results;
}

template <Cell cell>
TensorPair run_with_one_state(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases,
                              Int num_layers, double dropout, bool train, bool bidirectional, bool batch_first,
                              const char* op, SourceLoc loc) {
  if (!(dropout >= 0 && dropout <= 1))
    fail(ErrorCode::InvalidArgument, op, loc, "dropout must lie in [0, 1], got ", dropout);
  return named(op, [&] {
    return graph::api::pair(run<cell>(
        input, {hx}, {params, has_biases, num_layers.value(loc), train ? dropout : 0, bidirectional, batch_first}, op,
        loc));
  });
}

/// Both products with their biases, as chunks of the hidden size along the last dimension; in at least float32.
struct Products {
  std::vector<Tensor> of_input, of_state;
  Tensor state;
};
Products products(const Tensor& input, const Tensor& h, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                  const Tensor& b_hh, int gates, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(input, op, loc), s = checked_meta(h, op, loc), w = checked_meta(w_hh, op, loc);
  if (m.dim() < 1 || m.dim() > 2 || s.dim() != m.dim())
    fail(ErrorCode::ShapeMismatch, op, loc, "input of sizes ", graph::sizes_text(m.layout.sizes), " and hx of sizes ",
         graph::sizes_text(s.layout.sizes), " do not fit");
  if (w.dim() != 2 || !graph::same(w.size(0), w.size(1) * gates, loc, "rnn: gates of the hidden size"))
    fail(ErrorCode::ShapeMismatch, op, loc, "weight_hh has sizes ", graph::sizes_text(w.layout.sizes), ", expected [",
         gates, " * hidden, hidden]");
  auto wide = [&](const Tensor& t) { return is_low_precision(t.dtype()) ? to(t, kFloat32, loc) : t; };
  return {chunk(wide(linear(input, w_ih, b_ih, loc)), gates, -1, loc),
          chunk(wide(linear(h, w_hh, b_hh, loc)), gates, -1, loc), wide(h)};
}

Tensor simple_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                   const Tensor& b_hh, bool is_tanh, const char* op, SourceLoc loc) {
  return named(op, [&] {
    const Products p = products(input, hx, w_ih, w_hh, b_ih, b_hh, 1, op, loc);
    const Tensor v = add(p.of_input[0], p.of_state[0], 1, loc);
    return to(is_tanh ? tanh(v, loc) : relu(v, loc), hx.dtype(), loc);
  });
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> lstm(const Tensor& input, TensorArrayRef hx, TensorArrayRef params, bool has_biases,
                                        Int num_layers, double dropout, bool train, bool bidirectional,
                                        bool batch_first, SourceLoc loc) {
  if (hx.size() != 0 && hx.size() != 2)
    fail(ErrorCode::InvalidArgument, "lstm", loc, "hx is {h_0, c_0}, got ", hx.size(), " tensors");
  if (!(dropout >= 0 && dropout <= 1))
    fail(ErrorCode::InvalidArgument, "lstm", loc, "dropout must lie in [0, 1], got ", dropout);
  return named("lstm", [&] {
    const std::vector<Tensor> states = hx.size() ? std::vector<Tensor>{hx[0], hx[1]} : std::vector<Tensor>(2);
    std::vector<Tensor> r = run<Cell::Lstm>(
        input, states, {params, has_biases, num_layers.value(loc), train ? dropout : 0, bidirectional, batch_first},
        "lstm", loc);
    return std::tuple(r[0], r[1], r[2]);
  });
}
TensorPair gru(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases, Int num_layers,
               double dropout, bool train, bool bidirectional, bool batch_first, SourceLoc loc) {
  return run_with_one_state<Cell::Gru>(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
                                       batch_first, "gru", loc);
}
TensorPair rnn_tanh(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases, Int num_layers,
                    double dropout, bool train, bool bidirectional, bool batch_first, SourceLoc loc) {
  return run_with_one_state<Cell::Tanh>(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
                                        batch_first, "rnn_tanh", loc);
}
TensorPair rnn_relu(const Tensor& input, const Tensor& hx, TensorArrayRef params, bool has_biases, Int num_layers,
                    double dropout, bool train, bool bidirectional, bool batch_first, SourceLoc loc) {
  return run_with_one_state<Cell::Relu>(input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
                                        batch_first, "rnn_relu", loc);
}

TensorPair lstm_cell(const Tensor& input, TensorArrayRef hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh, SourceLoc loc) {
  if (hx.size() != 2) fail(ErrorCode::InvalidArgument, "lstm_cell", loc, "hx is {h, c}, got ", hx.size(), " tensors");
  return named("lstm_cell", [&]() -> TensorPair {
    const Products p = products(input, hx[0], w_ih, w_hh, b_ih, b_hh, 4, "lstm_cell", loc);
    auto gate = [&](std::size_t i) { return add(p.of_input[i], p.of_state[i], 1, loc); };
    const DType t = hx[0].dtype();
    const Tensor c =
        add(mul(sigmoid(gate(1), loc), hx[1], loc), mul(sigmoid(gate(0), loc), tanh(gate(2), loc), loc), 1, loc);
    return {to(mul(sigmoid(gate(3), loc), tanh(c, loc), loc), t, loc), to(c, t, loc)};
  });
}
Tensor gru_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                const Tensor& b_hh, SourceLoc loc) {
  return named("gru_cell", [&] {
    const Products p = products(input, hx, w_ih, w_hh, b_ih, b_hh, 3, "gru_cell", loc);
    const Tensor reset = sigmoid(add(p.of_input[0], p.of_state[0], 1, loc), loc),
                 update = sigmoid(add(p.of_input[1], p.of_state[1], 1, loc), loc);
    const Tensor fresh = tanh(add(p.of_input[2], mul(reset, p.of_state[2], loc), 1, loc), loc);
    return to(add(fresh, mul(update, sub(p.state, fresh, 1, loc), loc), 1, loc), hx.dtype(), loc);
  });
}
Tensor rnn_tanh_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh, SourceLoc loc) {
  return simple_cell(input, hx, w_ih, w_hh, b_ih, b_hh, true, "rnn_tanh_cell", loc);
}
Tensor rnn_relu_cell(const Tensor& input, const Tensor& hx, const Tensor& w_ih, const Tensor& w_hh, const Tensor& b_ih,
                     const Tensor& b_hh, SourceLoc loc) {
  return simple_cell(input, hx, w_ih, w_hh, b_ih, b_hh, false, "rnn_relu_cell", loc);
}

namespace operators {
void register_rnn() { steps_op<Cell::Lstm>(), steps_op<Cell::Gru>(), steps_op<Cell::Tanh>(), steps_op<Cell::Relu>(); }
}  // namespace operators

}  // namespace reprise
