#include "runtime/build/backend.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "base/mutex.h"
#include "graph/register_op.h"
#include "guards/guard_set.h"
#include "kernels/plan/columns.h"
#include "passes/registered.h"
#include "runtime/trace/graph_call.h"
#include "tensor/memory_order.h"

namespace reprise::runtime {

using detail::NumbersOf;
using graph::OpId;
using graph::OutputSpec;
using graph::ValueId;

struct BackendProgram {
  struct Result {
    DType dtype;
    Ints sizes;
  };
  ~BackendProgram();
  std::int64_t number = 0;
  std::string name;
  BackendFunction run;
  std::vector<Result> results;
  std::vector<const guards::Expr*> numbers;  ///< what `sizes`, and the graph's nodes, are computed of
  std::shared_ptr<guards::ShapeEnv> env;     ///< whose they are
};

namespace {

/// From numbers to programs that live.
struct Programs {
  Mutex mu;
  std::int64_t next REPRISE_GUARDED_BY(mu) = 1;
  std::map<std::int64_t, std::weak_ptr<const BackendProgram>> all REPRISE_GUARDED_BY(mu);

  static Programs& get() {
    static auto* programs = new Programs;  // never destroyed: functions of static variables go later
    return *programs;
  }
  std::shared_ptr<const BackendProgram> find(std::int64_t number) {
    const MutexLock lock(mu);
    const auto at = all.find(number);
    return at == all.end() ? nullptr : at->second.lock();
  }
  void add(const std::shared_ptr<BackendProgram>& p) {
    const MutexLock lock(mu);
    p->number = next++;
    all.emplace(p->number, p);
  }
  void remove(std::int64_t number) {
    const MutexLock lock(mu);
    all.erase(number);
  }
};

constexpr int kProgram = 0, kInputs = 1, kNumbers = 2;

void shape(graph::RuleCtx& c) {
  const auto program = Programs::get().find(c.constant_int(kProgram));
  if (!program) fail(ErrorCode::Internal, "backend", c.loc, "its program is gone");
  const NumbersOf numbers(program->numbers, c.ints(kNumbers));
  for (const BackendProgram::Result& r : program->results) {
    Ints sizes;
    for (const Int s : r.sizes) sizes.push_back(numbers(s));
    c.result(r.dtype, sizes);
  }
}

void run(const KernelCall& c) {
  const auto program = Programs::get().find(c.integer(kProgram));
  try {
    if (!program) throw Error(ErrorCode::Internal, "backend", "its program is gone", {});
    std::vector<TensorView> inputs;
    for (std::uint32_t i = 0; i < c.count(kInputs); ++i) inputs.push_back(c.tensor(kInputs, i));
    std::vector<std::int64_t> numbers;
    for (std::uint32_t i = 0; i < c.count(kNumbers); ++i) numbers.push_back(c.integer(kNumbers, i));
    program->run({inputs, {c.tensors + c.first_result, c.n_results}, numbers});
  } catch (const Error& e) {
    c.fail(e.code(), e.message());
  } catch (const std::exception& e) {
    c.fail(ErrorCode::InvalidArgument, "the backend of '" + program->name + "' throws: " + e.what());
  }
}

/// The operator of so many results.
OpId backend_op(std::size_t results) {
  static auto& mu = *new Mutex;
  static auto& made = *new std::map<std::size_t, OpId>;  // guarded by mu
  const MutexLock lock(mu);
  if (const auto known = made.find(results); known != made.end()) return known->second;
  std::string types = "Tensor";
  for (std::size_t i = 1; i < results; ++i) types += ", Tensor";
  if (results > 1) types = "(" + types + ")";
  const std::string name = "reprise::backend_" + std::to_string(results);
  const OpId id = graph::register_op({.schema = name + "(int program, Tensor[] inputs, SymInt[] numbers) -> " + types,
                                      .shape = shape,
                                      .moves = true,
                                      .effects = {.may_fail = true}},
                                     {kernels::reference_kernels().fact({run})});
  return made.emplace(results, id).first->second;
}

/// How a value lies that is dense in some order: in this one; empty: row by row. Null: no order is known.
std::optional<std::vector<int>> order_of(const Layout& l) {
  if (known_contiguous(l)) return std::vector<int>{};
  std::vector<int> order = memory_order(l.sizes, l.strides);
  Layout there;
  for (const int d : order)
    there.sizes.push_back(l.sizes[static_cast<std::size_t>(d)]),
        there.strides.push_back(l.strides[static_cast<std::size_t>(d)]);
  if (!known_contiguous(there)) return std::nullopt;
  return order;
}

/// The values that outputs are made of, each once, as outputs of their own that lie row by row.
struct Computed {
  std::vector<ValueId> values;           ///< of the graph that is asked for
  std::vector<std::vector<int>> orders;  ///< in which they lie there; empty: row by row
};
std::optional<Computed> computed_by(const graph::Graph& g) {
  Computed all;
  for (const OutputSpec& o : g.outputs) {
    if (!o.value || g.values[o.value.v].node < 0) continue;
    if (std::find(all.values.begin(), all.values.end(), o.value) != all.values.end()) continue;
    std::optional<std::vector<int>> order = order_of(g.meta(o.value).layout);
    if (!order) return std::nullopt;
    all.values.push_back(o.value), all.orders.push_back(std::move(*order));
  }
  return all;
}

/// What the backend sees: the same nodes, of which each computed value is an output.
graph::Graph asked_of(const graph::Graph& g, const Computed& computed) {
  graph::Graph asked = g;
  asked.metadata_mutations.clear();
  asked.outputs.clear();
  for (graph::InputSpec& i : asked.inputs) i.mutates_data = i.mutates_metadata = false;
  for (std::size_t i = 0; i < computed.values.size(); ++i) {
    OutputSpec o;
    o.value = computed.values[i];
    if (!computed.orders[i].empty()) o.value = asked.add(OpId::permute, {o.value, Permutation(computed.orders[i]).to});
    asked.outputs.push_back(std::move(o));
  }
  return asked;
}

/// Is there anything that only Reprise's own way carries out?
bool is_plain(const graph::Graph& g) {
  return std::none_of(g.nodes.begin(), g.nodes.end(), [](const graph::Node& n) {
    const graph::Effects e = graph::effects_of(n);
    return e.opaque || e.lane != 0 || std::any_of(n.args.begin(), n.args.end(), [](const graph::NodeArg& a) {
             return std::holds_alternative<graph::Region>(a) || std::holds_alternative<graph::ViewArg>(a);
           });
  });
}

}  // namespace

BackendProgram::~BackendProgram() { Programs::get().remove(number); }

std::shared_ptr<const BackendProgram> ask_backend(graph::Graph& g, const Backend& backend, const std::string& name) {
  passes::normalize_for_compose(g);
  if (g.nodes.empty() || !is_plain(g)) return nullptr;
  const std::optional<Computed> computed = computed_by(g);
  if (!computed || computed->values.empty()) return nullptr;
  const graph::Graph asked = asked_of(g, *computed);
  auto program = std::make_shared<BackendProgram>();
  program->name = name, program->env = g.env;
  program->numbers = NumbersOf::of(asked);
  for (const OutputSpec& o : asked.outputs) {
    const TensorMeta& m = asked.meta(o.value);
    program->results.push_back({m.dtype, m.layout.sizes});
    for (const Int s : m.layout.sizes) NumbersOf::add(s, program->numbers);
  }
  BackendRequest request{name, asked, graph::print(asked), {}, {}};
  for (const guards::Expr* e : program->numbers) {
    const bool is_float = std::any_of(g.numbers.begin(), g.numbers.end(), [&](const graph::NumberInput& n) {
      return n.kind == graph::NumberInput::Kind::Float && e->kind() == guards::ExprKind::Symbol &&
             n.symbol == e->symbol();
    });
    request.numbers.push_back({Int(e).str(), Int(e).hint(), is_float});
  }
  const guards::GuardSet guards(*g.env);
  for (std::uint32_t i = 0; i < guards.size(); ++i) request.guards.push_back(guards.text(i));
  try {
    program->run = backend(request);
  } catch (const std::exception& e) {
    bail(Bail::backend_failed, "compile", {}, "the backend throws: ", e.what());
  }
  if (!program->run) return nullptr;
  Programs::get().add(program);

  std::vector<ValueId> inputs;
  for (const graph::InputSpec& i : g.inputs) inputs.push_back(i.value);
  Ints numbers;
  for (const guards::Expr* e : program->numbers) numbers.push_back(Int(e));
  const std::vector<bool> none(g.nodes.size(), false);
  const std::vector<ValueId> before = [&] {
    std::vector<ValueId> of;
    for (const OutputSpec& o : g.outputs) of.push_back(o.value);
    return of;
  }();
  for (OutputSpec& o : g.outputs)
    if (o.value && g.values[o.value.v].node >= 0) o.value = {};
  g.erase_nodes(none);
  const ValueId first = g.add(backend_op(computed->values.size()), {Int(program->number), inputs, numbers});
  std::vector<ValueId> made;
  for (std::uint32_t i = 0; i < computed->values.size(); ++i) {
    ValueId v{first.v + i};
    if (!computed->orders[i].empty()) v = g.add(OpId::permute, {v, Permutation(computed->orders[i]).back});
    made.push_back(v);
  }
  for (std::size_t i = 0; i < g.outputs.size(); ++i)
    if (const auto at = std::find(computed->values.begin(), computed->values.end(), before[i]);
        at != computed->values.end())
      g.outputs[i].value = made[static_cast<std::size_t>(at - computed->values.begin())];
  g.compact();
  return program;
}

}  // namespace reprise::runtime
