// Composites: what passes/decompose makes of them, each primitive run by its reference kernel, against their own.
#include "passes/pass.h"
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using graph::Graph;
using graph::NodeArg;
using graph::ValueId;

Tensor with_layout(const Tensor& base, const Layout& l) {
  std::vector<std::int64_t> sizes, strides;
  for (Int s : l.sizes) sizes.push_back(s.value());
  for (Int s : l.strides) strides.push_back(s.value());
  Storage* storage = base.impl()->storage;
  retain(storage);
  return Tensor::adopt(new_impl(base.dtype(), Device::cpu(), sizes.data(), strides.data(),
                                static_cast<int>(sizes.size()), l.offset.value(), storage));
}

/// Runs a graph of concrete sizes node by node.
std::vector<Tensor> run(const Graph& g, const std::vector<Tensor>& inputs) {
  std::vector<Tensor> value(g.values.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) value[g.inputs[i].value.v] = inputs[i];
  for (const graph::Node& n : g.nodes) {
    const graph::OpDef& def = graph::op(n.op);
    if (def.cls == graph::OpClass::View) {
      const Tensor& base = value[std::get<ValueId>(n.args[0]).v];
      graph::NodeRuleArgs args(g, n.args);
      value[n.results[0].v] = with_layout(base, graph::apply_view(def, args.args(), meta_of(base).layout, {}));
      continue;
    }
    std::vector<CallArg> args;
    std::vector<std::vector<Tensor>> lists;
    lists.reserve(n.args.size());
    for (const NodeArg& a : n.args) {
      args.push_back(std::visit(
          [&](const auto& v) -> CallArg {
            using T = std::decay_t<decltype(v)>;
            if constexpr (std::is_same_v<T, ValueId>) {
              return &value[v.v];
            } else if constexpr (std::is_same_v<T, std::vector<ValueId>>) {
              lists.emplace_back();
              for (ValueId x : v) lists.back().push_back(x ? value[x.v] : Tensor());
              return TensorArrayRef(lists.back());
            } else if constexpr (std::is_same_v<T, Ints>) {
              return IntArrayRef(v);
            } else if constexpr (std::is_same_v<T, std::string>) {
              return std::string_view(v);
            } else if constexpr (std::is_same_v<T, graph::ViewArg> || std::is_same_v<T, graph::Region>) {
              ADD_FAILURE() << "no composite takes one";
              return std::monostate{};
            } else {
              return v;
            }
          },
          a));
    }
    std::vector<Tensor> made = reference_call(n.op, args);
    for (std::size_t r = 0; r < made.size(); ++r) value[n.results[r].v] = made[r];
  }
  std::vector<Tensor> out;
  for (const graph::OutputSpec& o : g.outputs) out.push_back(value[o.value.v]);
  return out;
}

/// `args`: tensors as graph inputs, the others as they are.
void check(OpId op, const std::vector<CallArg>& args, double relative = 2e-6, double absolute = 2e-6) {
  std::string name(graph::op(op).name());
  Tensor want = call(op, args);
  Graph g;
  std::vector<Tensor> inputs;
  std::vector<NodeArg> node_args;
  for (const CallArg& a : args) {
    node_args.push_back(std::visit(
        [&](const auto& v) -> NodeArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, const Tensor*>) {
            inputs.push_back(*v);
            return g.add_input(meta_of(*v), "x" + std::to_string(inputs.size()));
          } else if constexpr (std::is_same_v<T, IntArrayRef>) {
            return v.vec();
          } else if constexpr (std::is_same_v<T, TensorArrayRef> || std::is_same_v<T, std::string_view>) {
            ADD_FAILURE() << "not needed here";
            return std::monostate{};
          } else {
            return v;
          }
        },
        a));
  }
  graph::OutputSpec result;
  result.value = g.add(op, std::move(node_args));
  g.outputs.push_back(result);
  EXPECT_TRUE(passes::run_passes("decompose", g).at(0).changed) << name;
  for (const graph::Node& n : g.nodes)
    EXPECT_NE(graph::op(n.op).cls, graph::OpClass::Composite) << name << " still has " << graph::op(n.op).name();
  Tensor got = run(g, inputs)[0];
  ASSERT_EQ(got.dtype(), want.dtype()) << name;
  ASSERT_EQ(sizes_of(got), sizes_of(want)) << name;
  double loose = want.dtype() == DType::Float16 ? 2e-3 : want.dtype() == DType::BFloat16 ? 1.6e-2 : 0;
  expect_near(got, values(want), std::max(relative, loose), std::max(absolute, loose), name);
}

struct Composites : testing::TestWithParam<DType> {
  std::mt19937 rng{7};
  Tensor of(std::vector<Int> sizes) { return random_tensor(rng, GetParam(), std::move(sizes)); }
};

TEST_P(Composites, Reductions) {
  Tensor x = of({3, 4, 5}), s = of({}), t = transposed_memory(of({4, 6}));
  Ints middle{1}, two{0, -1}, last{-1}, none{};
  for (bool keepdim : {false, true}) {
    for (const Ints& dims : {middle, two, last, none}) {
      IntArrayRef d(dims);
      check(OpId::mean, {&x, d, keepdim, kNone});
      check(OpId::var, {&x, d, Scalar(1), keepdim});
      check(OpId::std, {&x, d, Scalar(0.5), keepdim});
      check(OpId::logsumexp, {&x, d, keepdim});
      for (Scalar p : {Scalar(2), Scalar(1), Scalar(0), Scalar(kInf), Scalar(-kInf), Scalar(3.0)})
        check(OpId::norm, {&x, p, d, keepdim});
    }
    check(OpId::mean, {&s, kNone, keepdim, kNone});
    check(OpId::mean, {&t, IntArrayRef(last), keepdim, kNone});
    check(OpId::var, {&t, kNone, Scalar(0), keepdim});
  }
  check(OpId::mean, {&x, kNone, false, DType::Float64});
}

TEST_P(Composites, SpecialValues) {
  Ints last{-1};
  Tensor x = make_as(GetParam(), {1, kInf, -kInf, -kInf, kNan, 2, kInf, kInf}, {4, 2});
  check(OpId::logsumexp, {&x, IntArrayRef(last), false});
  check(OpId::softmax, {&x, Int(1), kNone});
  check(OpId::log_softmax, {&x, Int(1), kNone});
  check(OpId::norm, {&x, Scalar(kInf), IntArrayRef(last), false});
  Tensor none = make_as(GetParam(), {}, {2, 0});
  check(OpId::logsumexp, {&none, IntArrayRef(last), false});
  check(OpId::softmax, {&none, Int(1), kNone});
  check(OpId::mean, {&none, IntArrayRef(last), false, kNone});
  check(OpId::var, {&none, IntArrayRef(last), Scalar(1), false});
  Tensor one = make_as(GetParam(), {3}, {1});
  check(OpId::var, {&one, kNone, Scalar(1), false});
  check(OpId::std, {&one, kNone, Scalar(3), false});
}

TEST_P(Composites, Normalisations) {
  Tensor x = of({2, 3, 8}), w = of({8}), b = of({8}), s = of({}), t = transposed_memory(of({4, 6}));
  Ints shape{8}, pair{3, 8}, six{6};
  for (std::int64_t dim : {0, 1, -1}) {
    check(OpId::softmax, {&x, Int(dim), kNone});
    check(OpId::log_softmax, {&x, Int(dim), DType::Float32}, 4e-6, 4e-6);
  }
  check(OpId::softmax, {&s, Int(0), kNone});
  check(OpId::softmax, {&t, Int(0), kNone});
  check(OpId::layer_norm, {&x, IntArrayRef(shape), &w, &b, Scalar(1e-5)}, 1e-5, 1e-5);
  check(OpId::layer_norm, {&x, IntArrayRef(pair), kNone, kNone, Scalar(1e-5)}, 1e-5, 1e-5);
  check(OpId::layer_norm, {&t, IntArrayRef(six), kNone, kNone, Scalar(1e-5)}, 1e-5, 1e-5);
  check(OpId::rms_norm, {&x, IntArrayRef(shape), &w, Scalar(1e-6)}, 1e-5, 1e-5);
  check(OpId::rms_norm, {&x, IntArrayRef(shape), kNone, kNone}, 1e-5, 1e-5);
}

TEST_P(Composites, Products) {
  Tensor m = of({3, 4}), n = of({4, 5}), v = of({4}), batch = of({2, 1, 3, 4}), other = of({6, 4, 5}), w = of({5, 4}),
         bias = of({5}), c = of({1, 5});
  auto near = [](OpId op, std::vector<CallArg> a) { check(op, a, 1e-5, 1e-5); };
  near(OpId::matmul, {&m, &n});
  near(OpId::matmul, {&v, &n});
  near(OpId::matmul, {&m, &v});
  near(OpId::matmul, {&v, &v});
  near(OpId::matmul, {&batch, &n});
  near(OpId::matmul, {&batch, &other});
  near(OpId::matmul, {&batch, &v});
  near(OpId::matmul, {&v, &other});
  Tensor tm = transposed_memory(m);
  near(OpId::matmul, {&tm, &n});
  near(OpId::addmm, {&c, &m, &n, Scalar(0.5), Scalar(2)});
  near(OpId::addmm, {&bias, &m, &n, Scalar(1), Scalar(1)});
  near(OpId::addmm, {&bias, &m, &n, Scalar(0), Scalar(1)});
  near(OpId::linear, {&batch, &w, &bias});
  near(OpId::linear, {&v, &w, &bias});
}

INSTANTIATE_TEST_SUITE_P(DTypes, Composites,
                         testing::Values(DType::Float32, DType::Float64, DType::Float16, DType::BFloat16),
                         [](const auto& i) { return std::string(dtype_name(i.param)); });

}  // namespace
}  // namespace reprise::test
