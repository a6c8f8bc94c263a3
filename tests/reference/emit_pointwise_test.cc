// Every pointwise operator, over dtypes and kinds of operands: the loop kernel that emit_pointwise writes, run by the
// loop interpreter, against the reference kernel.
#include <functional>

#include "kernels/loop/ir.h"
#include "kernels/loop/pointwise.h"
#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using graph::ArgType;
using graph::OpClass;
using kernels::BodyBuilder;
using kernels::LoopKernel;
using kernels::PointwiseArg;

/// The operator as a loop kernel of its own, run by kernels::interpret.
Tensor by_loop(OpId op, const std::vector<CallArg>& args, const Tensor& like) {
  LoopKernel k;
  k.extents = like.sizes();
  k.n_kept = like.dim();
  BodyBuilder b(k);
  std::vector<TensorMeta> metas(args.size());
  std::vector<PointwiseArg> pointwise(args.size());
  std::vector<void*> buffers;
  for (std::size_t i = 0; i < args.size(); ++i) {
    std::visit(
        [&](const auto& v) {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, const Tensor*>) {
            metas[i] = meta_of(*v);
            kernels::Access access;
            access.buffer = b.buffer(v->dtype());
            buffers.push_back(v->impl()->storage->data ? v->impl()->data() : nullptr);
            int missing = like.dim() - v->dim();
            for (int d = 0; d < like.dim(); ++d)
              access.strides.push_back(
                  d < missing || v->impl()->sizes[d - missing] == 1 ? Int(0) : Int(v->impl()->strides[d - missing]));
            pointwise[i] = {&metas[i], b.load(access)};
          } else if constexpr (!std::is_same_v<T, TensorArrayRef> && !std::is_same_v<T, IntArrayRef>) {
            pointwise[i].value = v;
          }
        },
        args[i]);
  }
  Tensor out = empty_concrete(like.impl()->sizes, like.dim(), like.dtype(), Device::cpu());
  kernels::Access to;
  to.buffer = b.buffer(out.dtype());
  buffers.push_back(out.impl()->data());
  for (Int s : out.strides()) to.strides.push_back(s);
  std::uint32_t value = kernels::emit_pointwise(b, op, pointwise, out.dtype());
  EXPECT_EQ(b.dtype(value), is_low_precision(out.dtype()) ? DType::Float32 : out.dtype());
  b.store(to, value);
  kernels::verify(k);
  std::vector<std::int64_t> params;
  for (Int p : kernels::runtime_params(k)) params.push_back(p.value());
  kernels::interpret(k, buffers.data(), params.data());
  return out;
}

double tolerance(DType t) {
  switch (t) {
    case DType::Float64: return 1e-12;
    case DType::Float16: return 2e-3;
    case DType::BFloat16: return 1.6e-2;
    default: return 4e-6;
  }
}

void expect_equal(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.dtype(), want.dtype()) << what;
  if (!is_floating(want.dtype())) {
    EXPECT_EQ(longs(got), longs(want)) << what;
    return;
  }
  expect_near(values(got), values(want), tolerance(want.dtype()), tolerance(want.dtype()), what);
}

std::string describe(const CallArg& a) {
  if (auto* t = std::get_if<const Tensor*>(&a))
    return std::string(dtype_short_name((*t)->dtype())) + "[" + std::to_string((*t)->dim()) + "d]";
  if (auto* s = std::get_if<Scalar>(&a)) return s->str();
  if (auto* s = std::get_if<std::string_view>(&a)) return "'" + std::string(*s) + "'";
  if (auto* d = std::get_if<DType>(&a)) return std::string(dtype_short_name(*d));
  return "None";
}

/// Operands of a dtype: a matrix with the numbers that go wrong among the others, a row, a 0-dim tensor.
struct Operands {
  Tensor matrix, row, zero_dim;
  Operands(DType t, unsigned seed) {
    std::mt19937 rng(seed);
    std::uniform_real_distribution<double> u(-4, 4);
    std::vector<double> v{0.0, -0.0, 1, -1, 0.5, -0.5, 2, 3, -3, 2.5};
    if (is_floating(t)) v.insert(v.end(), {kNan, kInf, -kInf});
    while (v.size() < 35) v.push_back(is_floating(t) ? u(rng) : std::round(u(rng)));
    std::shuffle(v.begin(), v.end(), rng);
    matrix = make_as(t, v, {5, 7});
    row = make_as(t, {v.begin() + 3, v.begin() + 10}, {7});
    zero_dim = make_as(t, {1.5}, {});
  }
};

/// Numbers to try for an argument that is not an operand.
std::vector<CallArg> numbers_for(const std::string& name) {
  if (name == "alpha" || name == "value" || name == "beta") return {Scalar(1), Scalar(2), Scalar(0.7)};
  if (name == "eps") return {kNone, Scalar(0.1)};
  if (name == "min_val") return {Scalar(-1), Scalar(-0.3)};
  if (name == "max_val") return {Scalar(2)};
  if (name == "threshold") return {Scalar(1), Scalar(0.1)};
  return {Scalar(1), Scalar(0.3)};
}

/// What arguments of one kind may be; `operands` lives as long as the run.
std::vector<CallArg> choices(const graph::ArgDef& a, const std::vector<std::unique_ptr<Operands>>& operands,
                             DType first, std::size_t position) {
  auto of = [&](DType t) -> const Operands& {
    return *operands[static_cast<std::size_t>(t) + (position ? kDTypeCount : 0)];
  };
  switch (a.type) {
    case ArgType::Tensor:
      if (a.name == "condition" || a.name == "mask") return {&of(DType::Bool).matrix};
      if (a.name == "src")
        return {&of(first).row, &of(DType::Float32).matrix, &of(DType::Int64).zero_dim, &of(DType::Float16).row};
      if (position == 0) return {&of(first).matrix};
      return {&of(first).row, &of(first).matrix};
    case ArgType::TensorOrScalar:
    case ArgType::OptionalTensorOrScalar: {
      std::vector<CallArg> r{&of(first).matrix};
      if (position == 0) return r;
      r.insert(r.end(), {&of(first).row, &of(DType::Int64).row, &of(DType::Float32).matrix, &of(DType::Float16).row,
                         &of(DType::Bool).row, &of(DType::Float64).zero_dim, &of(DType::Int32).zero_dim, Scalar(2),
                         Scalar(-1), Scalar(0.5), Scalar(0.1), Scalar(true)});
      if (a.type == ArgType::OptionalTensorOrScalar) r.push_back(kNone);
      return r;
    }
    case ArgType::Scalar:
    case ArgType::Float:
    case ArgType::OptionalFloat: return numbers_for(a.name);
    case ArgType::OptionalStr: return {kNone, std::string_view("floor"), std::string_view("trunc")};
    case ArgType::Str: return {std::string_view("none"), std::string_view("tanh")};
    case ArgType::DType: {
      std::vector<CallArg> r;
      for (int t = 0; t < kDTypeCount; ++t) r.push_back(static_cast<DType>(t));
      return r;
    }
    default: ADD_FAILURE() << "no choices for argument " << a.name; return {};
  }
}

class EmitPointwise : public testing::TestWithParam<OpId> {};

TEST_P(EmitPointwise, AgreesWithReference) {
  const graph::OpDef& def = graph::op(GetParam());
  std::vector<std::unique_ptr<Operands>> operands;  // two sets, so that x op x is not all that is tried
  for (int set = 0; set < 2; ++set)
    for (int t = 0; t < kDTypeCount; ++t)
      operands.push_back(std::make_unique<Operands>(static_cast<DType>(t), static_cast<unsigned>(set * 100 + t)));
  int tried = 0;
  for (int t = 0; t < kDTypeCount; ++t) {
    if (is_storage_only(static_cast<DType>(t)) && !def.moves) continue;
    std::vector<std::vector<CallArg>> all;
    for (std::size_t i = 0; i < def.schema.args.size(); ++i)
      all.push_back(choices(def.schema.args[i], operands, static_cast<DType>(t), i));
    std::vector<CallArg> args(all.size());
    std::function<void(std::size_t)> each = [&](std::size_t i) {
      if (i < all.size()) {
        for (const CallArg& a : all[i]) {
          args[i] = a;
          each(i + 1);
        }
        return;
      }
      std::string what = std::string(def.name()) + "(";
      for (const CallArg& a : args) what += describe(a) + " ";
      Tensor want;
      try {
        want = call(def.id, args);
      } catch (const Error& e) {  // the shape rule refuses these dtypes
        ASSERT_TRUE(e.code() == ErrorCode::DTypeMismatch || e.code() == ErrorCode::InvalidArgument ||
                    e.code() == ErrorCode::ShapeMismatch)
            << what << e.what();
        return;
      }
      ++tried;
      expect_equal(by_loop(def.id, args, want), want, what + ")");
    };
    each(0);
  }
  EXPECT_GE(tried, 4) << "too few combinations were admitted";
}

std::vector<OpId> pointwise_ops() {
  std::vector<OpId> r;
  for (const graph::OpDef& d : graph::all_ops())
    if (d.cls == OpClass::Pointwise) r.push_back(d.id);
  return r;
}
INSTANTIATE_TEST_SUITE_P(All, EmitPointwise, testing::ValuesIn(pointwise_ops()),
                         [](const auto& i) { return std::string(graph::op(i.param).name()); });

}  // namespace
}  // namespace reprise::test
