#include "graph/view_column.h"
#include "kernels/plan/columns.h"
#include "kernels/plan/index_bounds.h"
#include "passes/decompose_builder.h"
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

TEST(ReferenceTable, EveryOperatorThatComputesHasAKernel) {
  for (const graph::OpDef& d : graph::all_ops()) {
    if (static_cast<std::size_t>(d.id) >= graph::kBuiltinOps) continue;
    bool moves = d.cls == graph::OpClass::View || d.cls == graph::OpClass::Transfer || d.cls == graph::OpClass::Control;
    EXPECT_EQ(kernels::reference_kernel(d.id) == nullptr, moves) << d.name();
  }
}

// Every column has the facts of the operators that need them, and each says which those are.
TEST(OpColumns, AreTotal) {
  std::vector<const graph::OpColumnBase*> columns = kernels::op_columns();
  columns.push_back(&passes::decompositions());
  columns.push_back(&graph::view_facts());
  for (const graph::OpColumnBase* c : columns) {
    int needed = 0;
    for (const graph::OpDef& d : graph::all_ops()) {
      if (static_cast<std::size_t>(d.id) >= graph::kBuiltinOps) continue;
      needed += c->needed_by(d);
      EXPECT_TRUE(c->has(d.id) || !c->needed_by(d)) << d.name() << ": " << c->name();
    }
    // No operator needs these: what has no kernel for devices runs on the host, what has neither kernel nor launch of
    // the host's own there has its reference kernel, what names no places is not laid over others', of what has no
    // bound nothing is known.
    const bool optional = c == &kernels::gpu_rules() || c == &kernels::host_kernels() ||
                          c == &kernels::host_launches() || c == &kernels::place_rules() ||
                          c == &kernels::index_bound_rules() || c == &kernels::captured_kernels();
    EXPECT_TRUE(needed > 0 || optional) << c->name();
  }
}

// What is costly to compute again is said of an operator; what its formula consists of agrees.
TEST(OpColumns, CostlyFormulasAreThoseWithFunctions) {
  for (const graph::OpDef& d : graph::all_ops()) {
    if (d.cls != graph::OpClass::Pointwise || static_cast<std::size_t>(d.id) >= graph::kBuiltinOps) continue;
    kernels::LoopKernel k;
    kernels::BodyBuilder b(k);
    std::vector<kernels::PointwiseArg> args;
    TensorMeta m;
    m.dtype = d.name().starts_with("bitwise") ? DType::Int64 : DType::Float32;
    for (const graph::ArgDef& a : d.schema.args) {
      using T = graph::ArgType;
      const bool tensor = a.type == T::Tensor || a.type == T::TensorOrScalar || a.type == T::OptionalTensorOrScalar;
      if (tensor) {
        args.push_back({&m, b.constant(Scalar(1.0), m.dtype)});
      } else if (a.type == T::Scalar) {
        args.push_back({Scalar(1.0), ~0u});
      } else if (a.type == T::Str) {
        args.push_back({std::string_view("none"), ~0u});
      } else {
        args.push_back({std::monostate{}, ~0u});
      }
    }
    kernels::emit_pointwise(b, d.id, args, m.dtype);
    bool function = false;
    for (const kernels::BodyNode& n : k.body)
      function = function || (n.kind == kernels::BodyNode::Kind::Op && kernels::is_function(n.op));
    EXPECT_EQ(kernels::is_costly(d.id), function) << d.name();
  }
}

TEST(ReferenceTable, SaysHowEachIsComputed) {
  for (const graph::OpDef& d : graph::all_ops()) EXPECT_FALSE(kernels::list_computed_by(d.id).empty()) << d.name();
  EXPECT_EQ(kernels::list_computed_by(OpId::silu), "fused loop kernel");
  EXPECT_EQ(kernels::list_computed_by(OpId::mm), "matrix product");
  EXPECT_EQ(kernels::list_computed_by(OpId::topk), "reference kernel");
  EXPECT_EQ(kernels::list_computed_by(OpId::permute), "view: no kernel");
  EXPECT_EQ(kernels::list_computed_by(OpId::slice_scatter), "fused loop kernels, one for each part");
  EXPECT_EQ(kernels::list_computed_by(OpId::as_strided_scatter), "reference kernel");
}

TEST(ReferenceLaunch, RefusesAWrongNumberOfOperands) {
  graph::Graph g;
  TensorMeta m;
  m.layout = {Ints{2}, Ints{1}, 0};
  graph::ValueId x = g.add_input(m, "x");
  g.add(OpId::exp, {x});
  Error e = error_of([&] { kernels::reference_launch(g, g.nodes[0], std::vector<kernels::Operand>(3)); });
  EXPECT_EQ(e.code(), ErrorCode::Internal);
  EXPECT_EQ(e.op(), "exp");
}

TEST(ReferenceLaunch, KeepsSchemaOrderAndMissingElements) {
  graph::Graph g;
  TensorMeta m;
  m.layout = {Ints{3, 4}, Ints{4, 1}, 0};
  graph::ValueId x = g.add_input(m, "x");
  TensorMeta im;
  im.dtype = DType::Int64;
  im.layout = {Ints{2}, Ints{1}, 0};
  graph::ValueId i = g.add_input(im, "i");
  g.add(OpId::index, {x, std::vector<graph::ValueId>{{}, i}});
  kernels::NativeLaunch l = kernels::reference_launch(g, g.nodes[0], std::vector<kernels::Operand>(3));
  EXPECT_EQ(l.first_result, 2u);
  EXPECT_EQ(l.n_results, 1u);
  EXPECT_EQ(l.args[1].count, 1u);
  ASSERT_EQ(l.args.back().count, 2u);
  EXPECT_EQ(l.ints[l.args.back().first].value(), 0);
  EXPECT_EQ(l.ints[l.args.back().first + 1].value(), 1);
  EXPECT_TRUE(l.operands[2].written);
}

}  // namespace
}  // namespace reprise::test
