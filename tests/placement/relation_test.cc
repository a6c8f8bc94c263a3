// Each way of each operator's relation, run on parts with the reference kernels, against the whole.
#include "passes/placement/relation.h"

#include <gtest/gtest.h>

#include <set>

#include "graph/interpreter.h"
#include "graph/text.h"
#include "tensor/impl.h"
#include "tests/ops/cases.h"
#include "tests/placement/ranks.h"

namespace reprise::test {
namespace {

using namespace passes::placement;
using graph::Graph;
using graph::NodeArg;
using graph::ValueId;

bool divides(const Placements& all, const std::vector<std::vector<std::int64_t>>& sizes, std::int64_t n) {
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i].is_shard() && sizes[i][static_cast<std::size_t>(all[i].dim())] % n) return false;
  return true;
}

std::string text_of(const Way& w) {
  std::string s = "(";
  for (std::size_t i = 0; i < w.operands.size(); ++i) s += (i ? ", " : "") + to_string(w.operands[i]);
  s += ") ->";
  for (const Placement& p : w.results) s += " " + to_string(p);
  return s;
}

/// Runs every way of the only node of `g`; gives how many were run beside the replicated one.
int run_ways(const Graph& g, const std::vector<Elements>& operands, std::mt19937& rng,
             std::set<std::string>* seen = nullptr) {
  const graph::Node& n = g.nodes.at(0);
  const Relation r = relation_of(g, n);
  EXPECT_EQ(r.ways.at(0).operands, Placements(operands.size()));
  const std::vector<Elements> want = call_node(n, n.args, operands);
  std::vector<std::vector<std::int64_t>> operand_sizes, result_sizes;
  for (const Elements& e : operands) operand_sizes.push_back(e.sizes);
  for (const Elements& e : want) result_sizes.push_back(e.sizes);
  int run = 0;
  for (const Way& w : r.ways) {
    for (const std::int64_t ranks : {2, 3}) {
      const MeshShape mesh({ranks});
      if (!divides(w.operands, operand_sizes, ranks) || !divides(w.results, result_sizes, ranks)) continue;
      std::vector<std::vector<Elements>> by_rank(static_cast<std::size_t>(ranks));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        std::vector<Elements> parts = take_apart(operands[i], {w.operands[i]}, mesh, rng);
        for (std::size_t k = 0; k < parts.size(); ++k) by_rank[k].push_back(std::move(parts[k]));
      }
      std::vector<std::vector<Elements>> made;
      try {
        made = call_on_ranks(g, n, by_rank, {w.results[0]}, mesh);
      } catch (const Error& e) {
        ADD_FAILURE() << graph::print(g) << text_of(w) << " on " << ranks << " ranks: " << e.what();
        continue;
      }
      for (std::size_t i = 0; i < want.size(); ++i) {
        std::vector<Elements> parts;
        for (const auto& of : made) parts.push_back(of.at(i));
        std::string why;
        const Elements got = put_together(parts, {w.results[i]}, mesh, why);
        if (why.empty()) why = difference(got, want[i]);
        EXPECT_EQ(why, "") << graph::print(g) << text_of(w) << " on " << ranks << " ranks, result " << i;
      }
      run += &w != &r.ways[0];
      if (seen) seen->insert(text_of(w));
    }
  }
  return run;
}

/// A graph of one node that is the case's call.
Graph graph_of(const OpCase& c, const std::vector<Tensor>& tensors) {
  Graph g;
  g.env = std::make_shared<guards::ShapeEnv>();
  std::vector<ValueId> values;
  for (const Tensor& t : tensors) {
    TensorMeta m;
    m.dtype = t.dtype();
    for (int d = 0; d < t.dim(); ++d) m.layout.sizes.push_back(t.impl()->sizes[d]);
    m.layout.strides = contiguous_strides(m.layout.sizes);
    values.push_back(g.add_input(m, "x" + std::to_string(values.size())));
  }
  std::size_t next = 0;
  std::vector<NodeArg> args;
  for (const OpArg& a : c.args)
    args.push_back(std::visit(
        [&](const auto& v) -> NodeArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, Tensor>) return v.defined() ? NodeArg(values.at(next++)) : NodeArg();
          else if constexpr (std::is_same_v<T, std::vector<Tensor>>) {
            std::vector<ValueId> list;
            for (const Tensor& t : v) list.push_back(t.defined() ? values.at(next++) : ValueId());
            return list;
          } else if constexpr (std::is_same_v<T, std::vector<Int>>) return Ints(v.begin(), v.end());
          else return v;
        },
        a));
  g.add(c.op, std::move(args));
  return g;
}

// The cases of the conformance suite, whatever operator has ways.
TEST(Relations, OfAllOperatorsHoldOnParts) {
  std::mt19937 rng(7);
  int known = 0, run = 0;
  for (std::size_t id = 0; id < graph::kBuiltinOps; ++id) {
    const graph::OpDef& op = graph::op(static_cast<graph::OpId>(id));
    if (op.cls == graph::OpClass::Transfer || op.cls == graph::OpClass::Control || op.cls == graph::OpClass::Random ||
        op.id == graph::OpId::set)  // no node
      continue;
    bool tells = false;
    int of_op = 0;
    for (const OpCase& c : cases_of(op.id)) {
      const std::vector<Tensor> tensors = tensors_of(c);
      const bool taken = std::all_of(tensors.begin(), tensors.end(), [](const Tensor& t) {
        return t.dtype() == DType::Float32 || t.dtype() == DType::Int64 || t.dtype() == DType::Bool;
      });
      if (!taken || ++of_op > 10) continue;
      try {
        const Graph g = graph_of(c, tensors);
        if (!relation_of(g, g.nodes[0]).known) continue;
        std::vector<Elements> operands;
        for (const Tensor& t : tensors) operands.push_back(elements_of(t));
        tells = true;
        run += run_ways(g, operands, rng);
      } catch (const Error& e) {  // not defined for the dtype
        EXPECT_TRUE(e.code() == ErrorCode::DTypeMismatch || e.code() == ErrorCode::ShapeMismatch) << e.what();
      }
      if (HasFailure()) return;
    }
    known += tells;
  }
  EXPECT_GT(known, 100);
  EXPECT_GT(run, 2000);
}

// Sizes that divide, several of a kind; the ways that must be there.
struct Case {
  const char* inputs;  ///< types, as in a graph's text
  const char* node;
  std::vector<std::string> ways;
};
const Case kCases[] = {
    {"f32[6, 12], f32[12, 18]", "mm(%0, %1)", {"(S(0), R) -> S(0)", "(R, S(1)) -> S(1)", "(S(1), S(0)) -> P"}},
    {"f32[6, 4, 12], f32[6, 12, 6]", "bmm(%0, %1)", {"(S(0), S(0)) -> S(0)", "(S(2), S(1)) -> P", "(P, R) -> P"}},
    {"f32[6, 4, 12], f32[18, 12], f32[18]",
     "linear(%0, %1, %2)",
     {"(S(0), R, R) -> S(0)", "(R, S(0), S(0)) -> S(2)", "(S(2), S(1), P) -> P", "(P, R, P) -> P"}},
    {"f32[6, 12], f32[18, 12]", "linear(%0, %1, None)", {"(S(1), S(1)) -> P"}},
    {"f32[6, 1, 6, 12], f32[6, 12, 18]",
     "matmul(%0, %1)",
     {"(S(0), R) -> S(0)", "(R, S(0)) -> S(1)", "(S(3), S(1)) -> P"}},
    {"f32[18], f32[6, 12], f32[12, 18]",
     "addmm(%0, %1, %2, 2, 1)",
     {"(S(0), R, S(1)) -> S(1)", "(P, S(1), S(0)) -> P"}},
    {"f32[6, 6, 4, 8], f32[6, 6, 12, 8], f32[6, 6, 12, 6]",
     "scaled_dot_product_attention(%0, %1, %2, None, 0.0, false, None, false)",
     {"(S(0), S(0), S(0)) -> S(0)", "(S(1), S(1), S(1)) -> S(1)", "(S(2), R, R) -> S(2)", "(R, R, S(3)) -> S(3)"}},
    {"f32[6, 12, 4, 8], f32[6, 6, 12, 8], f32[6, 6, 12, 6], f32[4, 12]",
     "scaled_dot_product_attention(%0, %1, %2, %3, 0.0, false, None, true)",
     {"(S(1), S(1), S(1), R) -> S(1)", "(S(2), R, R, S(0)) -> S(2)"}},
    {"f32[6, 6, 6, 8], f32[6, 6, 6, 8], f32[6, 6, 6, 6]",
     "scaled_dot_product_attention(%0, %1, %2, None, 0.0, true, None, false)",
     {"(S(0), S(0), S(0)) -> S(0)"}},
    {"f32[6, 12], f32[12]", "add(%0, %1, 1)", {"(S(0), R) -> S(0)", "(S(1), S(0)) -> S(1)", "(P, P) -> P"}},
    {"f32[6, 12], f32[6, 1]", "mul(%0, %1)", {"(S(0), S(0)) -> S(0)", "(S(1), R) -> S(1)", "(R, P) -> P"}},
    {"f32[6, 12]", "mean(%0, [1], true, None)", {"(S(0)) -> S(0)", "(S(1)) -> P(mean)", "(P) -> P"}},
    {"f32[6, 12, 6]", "sum(%0, [0, 2], false, None)", {"(S(1)) -> S(0)", "(S(0)) -> P", "(S(2)) -> P"}},
    {"f32[6, 12]", "amax(%0, [0], false)", {"(S(0)) -> P(max)", "(P(max)) -> P(max)"}},
    {"bool[6, 12]", "any(%0, [0], false)", {"(S(0)) -> P(max)", "(S(1)) -> S(0)"}},
    {"f32[6, 12]", "softmax(%0, -1, None)", {"(S(0)) -> S(0)"}},
    {"f32[6, 6, 12], f32[12], f32[12]", "layer_norm(%0, [12], %1, %2, 1e-05)", {"(S(1), R, R) -> S(1)"}},
    {"f32[6, 12]", "view(%0, [6, 6, 2])", {"(S(0)) -> S(0)", "(S(1)) -> S(1)", "(P(mean)) -> P(mean)"}},
    {"f32[6, 6, 12]", "view(%0, [36, 12])", {"(S(0)) -> S(0)", "(S(2)) -> S(1)"}},
    {"f32[1, 36]", "view(%0, [6, 1, 6])", {"(S(1)) -> S(0)"}},
    {"f32[6, 6, 12]", "permute(%0, [2, 0, 1])", {"(S(0)) -> S(1)", "(S(2)) -> S(0)", "(P) -> P"}},
    {"f32[6, 12]", "slice(%0, 1, 3, 9, 1)", {"(S(0)) -> S(0)"}},
    {"f32[6, 12, 6]", "select(%0, 1, 3)", {"(S(0)) -> S(0)", "(S(2)) -> S(1)"}},
    {"f32[6, 1]", "expand(%0, [6, 6, 12])", {"(S(0)) -> S(1)", "(R) -> S(0)", "(R) -> S(2)"}},
    {"f32[6, 6, 12]", "diagonal(%0, 0, 0, 1)", {"(S(2)) -> S(0)"}},
    {"f32[12, 6], i64[6, 6]", "embedding(%0, %1)", {"(S(1), R) -> S(2)", "(R, S(0)) -> S(0)", "(P, R) -> P"}},
    {"f32[6, 12], i64[6]", "index_select(%0, 0, %1)", {"(R, S(0)) -> S(0)", "(S(1), R) -> S(1)"}},
    {"f32[12, 6, 12], i64[6]",
     "index(%0, [None, %1])",
     {"(S(0), R) -> S(0)", "(R, S(0)) -> S(1)", "(S(2), R) -> S(2)"}},
    {"f32[12, 6, 12], i64[6, 1], i64[6]",
     "index(%0, [%1, None, %2])",
     {"(R, S(0), R) -> S(0)", "(R, R, S(0)) -> S(1)", "(S(1), R, R) -> S(2)"}},
    {"f32[12, 6], i64[6], f32[6, 6]",
     "index_put(%0, [%1], %2, true)",
     {"(S(1), R, S(1)) -> S(1)", "(P, S(0), S(0)) -> P", "(P, R, P) -> P"}},
    {"f32[12, 6], i64[6], f32[6, 6]", "index_put(%0, [%1], %2, false)", {"(S(1), R, S(1)) -> S(1)"}},
    {"f32[12, 6], i64[6], f32[6]", "index_put(%0, [%1], %2, true)", {"(S(1), R, S(0)) -> S(1)"}},
    {"f32[12, 6], i64[6, 6], f32[6, 6]",
     "scatter_add(%0, 0, %1, %2)",
     {"(S(1), S(1), S(1)) -> S(1)", "(P, S(0), S(0)) -> P"}},
    {"f32[12, 6], i64[6, 6]", "gather(%0, 0, %1)", {"(R, S(0)) -> S(0)", "(S(1), S(1)) -> S(1)"}},
    {"f32[6, 6], f32[6, 12]", "cat([%0, %1], 1)", {"(S(0), S(0)) -> S(0)", "(P, P) -> P"}},
    {"f32[6, 12], f32[6, 2]", "slice_scatter(%0, %1, 1, 4, 6, 1)", {"(S(0), S(0)) -> S(0)", "(P, P) -> P"}},
    {"f32[6, 12], f32[12]", "select_scatter(%0, %1, 0, 2)", {"(S(1), S(0)) -> S(1)"}},
    {"", "full([6, 12], 3, f32, 'cpu')", {"() -> S(0)", "() -> S(1)"}},
    {"f32[6, 12]", "cumsum(%0, 1, None)", {"(S(0)) -> S(0)", "(P) -> P"}},
    {"f32[6, 12]", "topk(%0, 3, 1, true, true)", {"(S(0)) -> S(0) S(0)"}},
};

TEST(Relations, HaveTheWaysThatTheirKindsPromise) {
  std::mt19937 rng(3);
  for (const Case& c : kCases) {
    std::string text = "graph f(", types = c.inputs;
    int number = 0;
    for (std::size_t at = 0; at < types.size(); ++number) {
      const std::size_t end = std::min(types.find("], ", at) + 1, types.size());
      text += (number ? ", %" : "%") + std::to_string(number) +
              " \"x\": " + types.substr(at, end ? end - at : std::string::npos);
      if (end == 0 || end == types.size()) at = types.size();
      else at = end + 2;
    }
    const bool two = std::string(c.node).starts_with("topk");
    std::string result = "%" + std::to_string(number);
    // The types of results follow from the shape rules: they are told by making the node.
    Graph g =
        graph::parse_unverified(text + ") {\n  " + result + (two ? ", %" + std::to_string(number + 1) : "") + " = " +
                                c.node + " : f32[]" + (two ? ", i64[]" : "") + "\n  return user " + result + "\n}\n");
    graph::Node node = g.nodes.at(0);
    Graph made = g;
    made.nodes.clear(), made.outputs.clear();
    made.values.resize(made.inputs.size());
    made.add(node.op, node.args);
    std::vector<Elements> operands;
    for (const ValueId v : operands_of(made.nodes[0]))
      operands.push_back(random_elements(made.meta(v).dtype, hints_of(made.meta(v).layout.sizes), rng));
    std::set<std::string> seen;
    run_ways(made, operands, rng, &seen);
    for (const std::string& w : c.ways) EXPECT_TRUE(seen.count(w)) << c.node << " lacks " << w;
  }
}

TEST(Relations, AreReplicatedAloneWhereNothingIsKnown) {
  const Graph g = graph::parse(
      "graph f(%0 \"x\": f32[4, 4]) {\n  %1 = as_strided(%0, [2, 2], [4, 1], 0) : f32[2, 2]{4, 1}\n  return user "
      "%1\n}\n");
  const Relation r = relation_of(g, g.nodes[0]);
  EXPECT_FALSE(r.known);
  EXPECT_EQ(r.ways.size(), 1u);
}

}  // namespace
}  // namespace reprise::test
