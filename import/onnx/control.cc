// Graphs inside graphs. A branch that is known when it comes to it is the only one that is run. In a trace a branch on
// a tensor is one operator (cond), and so is a loop (scan, while_loop), for all numbers of turns. Where the branches
// give other sizes the trace follows the one that is taken, which is a decision on a value (docs/branches.md). Where
// the body of a loop cannot be a graph of its own (its state changes its sizes or is a sequence, it computes sizes of
// the number of its turn) the trace holds each turn, as often as the loop says: a number of turns that depends on sizes
// is a guard then.
#include <algorithm>

#include "base/bail.h"
#include "import/onnx/core.h"
#include "operators/data_sizes.h"
#include "reprise/compile.h"
#include "reprise/cond.h"
#include "reprise/regions.h"
#include "reprise/shape_only.h"
#include "reprise/while_loop.h"

namespace reprise::onnx {
namespace {

Tensor tensor_of_value(Call& c, const Value& v) {
  if (v.has_tensor) return v.tensor;
  if (v.numbers) return to_tensor(*v.numbers);
  const char* text = "a sequence goes into a graph inside, or comes out of one, that takes and gives tensors alone";
  if (reprise::detail::around().tracer) bail(Bail::branch_throws, c.op(), {}, text);
  c.bad(text);
}

/// Is a body run for its shapes alone, since its loop turns no time?
bool by_shapes() { return !reprise::detail::around().tracer && is_shape_only(empty({})); }

/// Of a branch on a tensor that has no element: both give the same sizes, as cond wants it.
void check_alike(Call& c, const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 0; same && i < a.size(); ++i) {
    same = a[i].dtype() == b[i].dtype() && a[i].dim() == b[i].dim();
    for (int d = 0; same && d < a[i].dim(); ++d) same = bool(a[i].size(d) == b[i].size(d));
  }
  if (!same) c.bad("its branches give other sizes");
}

void branch(Call& c) {
  const Graph *then = c.graph("then_branch"), *otherwise = c.graph("else_branch");
  const Value& condition = c.value(0);
  const auto all = [&](std::vector<Value> made) {
    for (std::size_t i = 0; i < made.size(); ++i) c.give(std::move(made[i]), static_cast<int>(i));
  };
  if (condition.numbers) return all(run_inner(bool(c.scalar(0).to_int() != 0) ? *then : *otherwise, c.frame(), {}));
  const Tensor decides = c.x(0).reshape(IntArrayRef());
  const auto run = [&](const Graph* g) {
    std::vector<Tensor> made;
    Frame own = c.frame();  // a branch assigns to no variable outside
    for (const Value& v : run_inner(*g, own, {})) made.push_back(tensor_of_value(c, v));
    return made;
  };
  run_region(
      c,
      [&] {
        const std::vector<Tensor> made = cond(
            decides, [&] { return run(then); }, [&] { return run(otherwise); });
        for (std::size_t i = 0; i < made.size(); ++i) c.give(made[i], static_cast<int>(i));
      },
      [&] {
        if (by_shapes()) check_alike(c, run(then), run(otherwise));
        all(run_inner(decides.item<bool>() ? *then : *otherwise, c.frame(), {}));
      });
}

/// Is it true? A tensor's element is read.
bool holds(const Value& v) {
  if (v.numbers && v.numbers->values.size() == 1) return bool(v.numbers->values[0].to_int() != 0);
  return v.tensor.item<bool>();
}

void turn(Call& c, std::int64_t i) {
  c.spend(1);
  if (i >= kMostTraced && reprise::detail::around().tracer)
    fail(ErrorCode::NotTraceable, c.op(), {}, "turns more than ", kMostTraced, " times: a trace holds each turn");
}

bool is_true(const Value& v) {
  if (!v.numbers || v.numbers->values.size() != 1) return false;
  const Int n = v.numbers->values[0].to_int();
  return !n.is_symbolic() && n.hint() != 0;
}
/// Does the body always ask for another turn? Its condition is then a constant, or the one that it was given.
bool goes_on(Call& c, const Graph& body) {
  int slot = body.out[0];
  for (std::size_t i = body.nodes.size(); i-- > 0 && slot != body.in[1];) {
    const Node& n = body.nodes[i];
    if (std::find(n.out.begin(), n.out.end(), slot) == n.out.end()) continue;
    if (!n.row || std::string_view(n.row->name) != "Identity") return false;
    slot = n.in[0];
  }
  const auto at = static_cast<std::size_t>(slot);
  return slot == body.in[1] || (at < c.frame().program.constants.size() && is_true(c.frame().program.constants[at]));
}

using Tensors = std::vector<Tensor>;

/// One turn as a part of an operator: tensors in, tensors out.
class Turn {
 public:
  Turn(Call& c, const Graph& body) : c_(c), body_(body) {}
  std::vector<Value> values(std::vector<Value> in) const {
    Frame own = c_.frame();  // a body assigns to no variable outside
    return run_inner(body_, own, std::move(in));
  }
  Tensor tensor(const Value& v) const { return tensor_of_value(c_, v); }

 private:
  Call& c_;
  const Graph& body_;
};

/// What is stacked of a loop that turns no time: no rows along `axis`, of the file's sizes; 0 where it has none.
Tensor declared_rows(Call& c, const ValueInfo& v, std::int64_t axis = 0) {
  Ints sizes;
  for (const Dimension& d : v.dims) sizes.push_back(std::max<std::int64_t>(d.size, 0));
  const int rank = static_cast<int>(sizes.size()) + 1;
  if (rank > kMaxRank) c.bad("stacks ", rank, " dimensions; at most ", kMaxRank, " are supported");
  sizes.insert(sizes.begin() + axis_of(c, axis, rank), 0);
  return empty(sizes, {.dtype = dtype_of_element(v.element).value_or(kFloat32)});
}
/// A loop that turns no time: `as_operator` is a scan, which finds the sizes of its rows by shapes, eagerly and in a
/// trace; `declared` gives those of the file where there can be no scan.
template <class AsOperator, class Declared>
void run_no_turn(Call& c, AsOperator&& as_operator, Declared&& declared) {
  if (reprise::detail::around().tracer) return run_region(c, as_operator, declared, 1);
  try {
    as_operator();
  } catch (const Error& e) {
    if (e.code() == ErrorCode::Internal) throw;
    declared();
  }
}

/// Its turns are those of a scan: the last state and the stacked rows.
std::pair<Tensors, Tensors> loop_scan(const Turn& turn, const Tensors& state, Int turns) {
  return reprise::scan(
      [&](const Tensors& s, const Tensor& i) {
        std::vector<Value> in{i, Numbers{.dtype = kBool, .values = {true}}};
        in.insert(in.end(), s.begin(), s.end());
        const std::vector<Value> made = turn.values(std::move(in));
        Tensors next, given;
        for (std::size_t k = 1; k < made.size(); ++k) (k <= s.size() ? next : given).push_back(turn.tensor(made[k]));
        return std::pair(std::move(next), std::move(given));
      },
      state, arange(turns));
}
/// The rows of no turn, of the sizes that the first turn would give.
Tensors rows_of_none(const Turn& turn, const std::vector<Value>& state) {
  return reprise::scan(
             [&](const Tensors& none, const Tensor&) {
               std::vector<Value> in{Numbers{.values = {0}}, Numbers{.dtype = kBool, .values = {true}}};
               in.insert(in.end(), state.begin(), state.end());
               const std::vector<Value> made = turn.values(std::move(in));
               Tensors given;
               for (std::size_t k = state.size() + 1; k < made.size(); ++k) given.push_back(turn.tensor(made[k]));
               return std::pair(none, std::move(given));
             },
             Tensors(), arange(0))
      .second;
}

/// Inside a trace. One whose body always goes on is a scan over the numbers of its turns; one whose state alone is
/// wanted is a while_loop; of others the turns are counted first.
void loop_operator(Call& c, const Graph& body, std::size_t carried) {
  const Turn turn(c, body);
  const std::size_t rows = body.out.size() - carried - 1;
  const Value first = c.has(1) ? c.value(1) : Value(Numbers{.dtype = kBool, .values = {true}});
  Tensors state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(turn.tensor(c.value(static_cast<int>(i) + 2)));
  const auto give = [&](const Tensors& last, const Tensors& stacked) {
    for (std::size_t s = 0; s < carried; ++s) c.give(last[s], static_cast<int>(s));
    for (std::size_t r = 0; r < rows; ++r) c.give(stacked[r], static_cast<int>(carried + r));
  };
  const auto scanned = [&](Int turns) {
    const auto [last, stacked] = loop_scan(turn, state, turns);
    give(last, stacked);
  };
  if (is_true(first) && c.has(0) && goes_on(c, body)) return scanned(Int::max(c.scalar(0).to_int(), 0));
  // The state: how many turns there have been, what the body says, and its own.
  state.insert(state.begin(), {zeros({}, {.dtype = kInt64}), turn.tensor(first).reshape(IntArrayRef())});
  const Int most = c.has(0) ? c.scalar(0).to_int() : Int(c.steps_left());
  const Tensors last = while_loop([&](const Tensors& s) { return c.has(0) ? s[1] & (s[0] < Scalar(most)) : s[1]; },
                                  [&](const Tensors& s) {
                                    const std::vector<Value> made = turn.values(std::vector<Value>(s.begin(), s.end()));
                                    Tensors next{s[0] + 1, turn.tensor(made[0]).reshape(IntArrayRef())};
                                    for (std::size_t k = 1; k <= carried; ++k) next.push_back(turn.tensor(made[k]));
                                    return next;
                                  },
                                  state, most);
  if (rows == 0) return give(Tensors(last.begin() + 2, last.end()), {});
  state.erase(state.begin(), state.begin() + 2);
  scanned(reprise::operators::counted(last[0].item(), most, {}));
}

void loop_turns(Call& c) {
  const Graph* body = c.graph("body");
  const std::int64_t most = c.has(0) ? c.scalar(0).to_int().value() : INT64_MAX;
  const std::size_t carried = static_cast<std::size_t>(std::max(c.inputs() - 2, 0));
  if (body->in.size() != carried + 2 || body->out.size() < carried + 1)
    c.bad("carries ", carried, " values, but its body takes ", body->in.size(), " and gives ", body->out.size());
  Value go = c.has(1) ? c.value(1) : Value(Numbers{.dtype = kBool, .values = {true}});
  std::vector<Value> state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(c.value(static_cast<int>(i) + 2));
  std::vector<std::vector<Tensor>> rows(body->out.size() - carried - 1);
  if (most > 0 && !rows.empty() && !go.numbers && by_shapes()) c.bad("how many rows it gives depends on data");
  std::int64_t i = 0;
  for (; i < most && holds(go); ++i) {
    turn(c, i);
    std::vector<Value> in{Numbers{.values = {i}}, go};
    in.insert(in.end(), state.begin(), state.end());
    std::vector<Value> made = run_inner(*body, c.frame(), std::move(in));
    go = std::move(made[0]);
    for (std::size_t s = 0; s < carried; ++s) state[s] = std::move(made[s + 1]);
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(tensor_of_value(c, made[carried + 1 + r]));
  }
  for (std::size_t s = 0; s < carried; ++s) c.give(state[s], static_cast<int>(s));
  Tensors made;
  for (const Tensors& r : rows)
    if (i > 0) made.push_back(stack(r));
  if (i == 0 && !rows.empty())
    run_no_turn(
        c, [&] { made = rows_of_none(Turn(c, *body), state); },
        [&] {
          for (std::size_t r = carried + 1; r < body->out.size(); ++r)
            made.push_back(declared_rows(c, body->declared[r]));
        });
  for (std::size_t r = 0; r < rows.size(); ++r) c.give(made[r], static_cast<int>(carried + r));
}

void scan_with(Call& c, bool as_operator) {
  const Graph* body = c.graph("body");
  const std::int64_t given = c.i("num_scan_inputs", 0);
  if (given < 1 || given > c.inputs()) c.bad("has num_scan_inputs ", given, " of ", c.inputs(), " inputs");
  const std::size_t scanned = static_cast<std::size_t>(given), carried = static_cast<std::size_t>(c.inputs()) - scanned;
  if (body->in.size() != carried + scanned || body->out.size() < carried)
    c.bad("its body takes ", body->in.size(), " values and gives ", body->out.size());
  const std::size_t outputs = body->out.size() - carried;
  const auto directions = [&](const char* name, std::size_t n) {
    std::vector<std::int64_t> d = c.list(name, std::vector<std::int64_t>(n, 0));
    if (d.size() != n) c.bad("has ", d.size(), " ", name, " for ", n);
    return d;
  };
  const auto in_way = directions("scan_input_directions", scanned), in_axes = directions("scan_input_axes", scanned);
  const auto out_way = directions("scan_output_directions", outputs),
             out_axes = directions("scan_output_axes", outputs);
  std::vector<Value> state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(c.value(static_cast<int>(i)));
  std::vector<Tensor> over;
  for (std::size_t i = 0; i < scanned; ++i) over.push_back(c.x(static_cast<int>(carried + i)));
  if (as_operator) {
    const Turn one(c, *body);
    Tensors xs, first;
    for (std::size_t i = 0; i < scanned; ++i) {
      xs.push_back(over[i].movedim({axis_of(c, in_axes[i], over[i].dim())}, {0}));
      if (in_way[i]) xs.back() = xs.back().flip({0});
    }
    for (const Value& v : state) first.push_back(one.tensor(v));
    auto [last, made] = reprise::scan(
        [&](const Tensors& s, const Tensors& x) {
          std::vector<Value> in(s.begin(), s.end());
          in.insert(in.end(), x.begin(), x.end());
          const std::vector<Value> all = one.values(std::move(in));
          Tensors next, given;
          for (std::size_t k = 0; k < all.size(); ++k) (k < carried ? next : given).push_back(one.tensor(all[k]));
          return std::pair(std::move(next), std::move(given));
        },
        first, xs);
    for (std::size_t s = 0; s < carried; ++s) c.give(last[s], static_cast<int>(s));
    for (std::size_t r = 0; r < outputs; ++r) {
      const Tensor rows = out_way[r] ? made[r].flip({0}) : made[r];
      c.give(rows.movedim({0}, {axis_of(c, out_axes[r], rows.dim())}), static_cast<int>(carried + r));
    }
    return;
  }
  const int first_axis = axis_of(c, in_axes[0], over[0].dim());
  const std::int64_t turns = over[0].size(first_axis).value();
  if (turns == 0)
    return run_no_turn(
        c, [&] { scan_with(c, true); },
        [&] {
          for (std::size_t s = 0; s < carried; ++s) c.give(state[s], static_cast<int>(s));
          for (std::size_t r = 0; r < outputs; ++r)
            c.give(declared_rows(c, body->declared[carried + r], out_axes[r]), static_cast<int>(carried + r));
        });
  std::vector<std::vector<Tensor>> rows(outputs);
  for (std::int64_t t = 0; t < turns; ++t) {
    turn(c, t);
    std::vector<Value> in = state;
    for (std::size_t i = 0; i < scanned; ++i)
      in.push_back(over[i].select(axis_of(c, in_axes[i], over[i].dim()), in_way[i] ? turns - 1 - t : t));
    std::vector<Value> made = run_inner(*body, c.frame(), std::move(in));
    for (std::size_t s = 0; s < carried; ++s) state[s] = std::move(made[s]);
    for (std::size_t r = 0; r < outputs; ++r)
      rows[r].insert(out_way[r] ? rows[r].begin() : rows[r].end(), tensor_of_value(c, made[carried + r]));
  }
  for (std::size_t s = 0; s < carried; ++s) c.give(state[s], static_cast<int>(s));
  for (std::size_t r = 0; r < outputs; ++r)
    c.give(stack(rows[r], axis_of(c, out_axes[r], rows[r][0].dim() + 1)), static_cast<int>(carried + r));
}

void scan(Call& c) {
  run_region(
      c, [&] { scan_with(c, true); }, [&] { scan_with(c, false); });
}

void loop(Call& c) {
  const Graph* body = c.graph("body");
  const std::size_t carried = static_cast<std::size_t>(std::max(c.inputs() - 2, 0));
  const bool fits = body->in.size() == carried + 2 && body->out.size() >= carried + 1;  // else the other one says so
  if (fits)
    run_region(
        c, [&] { loop_operator(c, *body, carried); }, [&] { loop_turns(c); });
  else loop_turns(c);
}

constexpr Row kControlRows[] = {
    {"If", 1, 0, branch},
    {"Loop", 1, 0, loop, 1 | 2},
    {"Scan", 9, 0, scan},
};

}  // namespace

std::span<const Row> control_rows() { return kControlRows; }

}  // namespace reprise::onnx
