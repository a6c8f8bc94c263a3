// Graphs inside graphs. A branch that is known when it comes to it is the only one that is run; loops are run as often
// as they say, so that a trace holds each turn: a number of turns that depends on sizes is a guard.
#include "import/onnx/core.h"
#include "reprise/compile.h"
#include "reprise/cond.h"

namespace reprise::onnx {
namespace {

Tensor tensor_of_value(Call& c, const Value& v) {
  if (v.has_tensor) return v.tensor;
  if (!v.numbers) c.bad("a sequence comes out of a branch that a tensor decides");
  return to_tensor(*v.numbers);
}

void branch(Call& c) {
  const Graph *then = c.graph("then_branch"), *otherwise = c.graph("else_branch");
  const Value& condition = c.value(0);
  const auto all = [&](std::vector<Value> made) {
    for (std::size_t i = 0; i < made.size(); ++i) c.give(std::move(made[i]), static_cast<int>(i));
  };
  if (condition.numbers) return all(run_inner(bool(c.scalar(0).to_int() != 0) ? *then : *otherwise, c.frame(), {}));
  const Tensor decides = c.x(0).reshape(IntArrayRef());
  if (!reprise::detail::around().tracer)
    return all(run_inner(decides.item<bool>() ? *then : *otherwise, c.frame(), {}));
  const auto run = [&](const Graph* g) {
    std::vector<Tensor> made;
    Frame own = c.frame();  // a branch assigns to no variable outside
    for (const Value& v : run_inner(*g, own, {})) made.push_back(tensor_of_value(c, v));
    return made;
  };
  const std::vector<Tensor> made = cond(
      decides, [&] { return run(then); }, [&] { return run(otherwise); });
  for (std::size_t i = 0; i < made.size(); ++i) c.give(made[i], static_cast<int>(i));
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

void loop(Call& c) {
  const Graph* body = c.graph("body");
  const std::int64_t most = c.has(0) ? c.scalar(0).to_int().value() : INT64_MAX;
  const std::size_t carried = static_cast<std::size_t>(std::max(c.inputs() - 2, 0));
  if (body->in.size() != carried + 2 || body->out.size() < carried + 1)
    c.bad("carries ", carried, " values, but its body takes ", body->in.size(), " and gives ", body->out.size());
  Value go = c.has(1) ? c.value(1) : Value(Numbers{.dtype = kBool, .values = {true}});
  std::vector<Value> state;
  for (std::size_t i = 0; i < carried; ++i) state.push_back(c.value(static_cast<int>(i) + 2));
  std::vector<std::vector<Tensor>> rows(body->out.size() - carried - 1);
  for (std::int64_t i = 0; i < most && holds(go); ++i) {
    turn(c, i);
    std::vector<Value> in{Numbers{.values = {i}}, go};
    in.insert(in.end(), state.begin(), state.end());
    std::vector<Value> made = run_inner(*body, c.frame(), std::move(in));
    go = std::move(made[0]);
    for (std::size_t s = 0; s < carried; ++s) state[s] = std::move(made[s + 1]);
    for (std::size_t r = 0; r < rows.size(); ++r) rows[r].push_back(tensor_of_value(c, made[carried + 1 + r]));
  }
  for (std::size_t s = 0; s < carried; ++s) c.give(state[s], static_cast<int>(s));
  for (std::size_t r = 0; r < rows.size(); ++r)
    c.give(rows[r].empty() ? empty({0}) : stack(rows[r]), static_cast<int>(carried + r));
}

void scan(Call& c) {
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
  const int first_axis = axis_of(c, in_axes[0], over[0].dim());
  const std::int64_t turns = over[0].size(first_axis).value();
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
    c.give(rows[r].empty() ? empty({0}) : stack(rows[r], axis_of(c, out_axes[r], rows[r][0].dim() + 1)),
           static_cast<int>(carried + r));
}

constexpr Row kControlRows[] = {
    {"If", 1, 0, branch},
    {"Loop", 1, 0, loop, 1 | 2},
    {"Scan", 9, 0, scan},
};

}  // namespace

std::span<const Row> control_rows() { return kControlRows; }

}  // namespace reprise::onnx
