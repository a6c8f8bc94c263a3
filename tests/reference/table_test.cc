#include "kernels/pointwise.h"
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

TEST(ReferenceTable, EveryOperatorThatComputesHasAKernel) {
  for (const graph::OpDef& d : graph::all_ops()) {
    bool view = d.cls == graph::OpClass::View;
    EXPECT_EQ(kernels::reference_kernel(d.id) == nullptr, view) << d.name();
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
