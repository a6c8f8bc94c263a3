// The table of the reference kernels, and launches of them.
#include "kernels/reference.h"

#include "base/errors.h"
#include "kernels/reference/elements.h"
#include "tensor/impl.h"

namespace reprise::kernels {

using graph::ArgType;
using graph::CallArg;
using graph::NodeArg;
using graph::OpClass;
using graph::OpId;
using graph::ValueId;

namespace {

/// A family's function as the kernel of one operator.
template <void (*Family)(OpId, const NativeArgs&), OpId Op>
void of(const NativeArgs& a) {
  Family(Op, a);
}

template <OpId Op>
constexpr NativeFn reduction = of<reference::reduction, Op>;

constexpr NativeFn kPointwise[] = {
#define REPRISE_OP(name, ...) of<reference::pointwise, OpId::name>,
#include "graph/ops.def"
#undef REPRISE_OP
};

}  // namespace

NativeFn reference_kernel(OpId id) {
  OpClass cls = graph::op(id).cls;
  if (cls == OpClass::Pointwise) return kPointwise[static_cast<std::size_t>(id)];
  if (cls == OpClass::View) return nullptr;
  switch (id) {
    case OpId::sum:
      return reduction<OpId::sum>;
    case OpId::prod:
      return reduction<OpId::prod>;
    case OpId::amax:
      return reduction<OpId::amax>;
    case OpId::amin:
      return reduction<OpId::amin>;
    case OpId::any:
      return reduction<OpId::any>;
    case OpId::all:
      return reduction<OpId::all>;
    case OpId::mean:
      return reduction<OpId::mean>;
    case OpId::var:
      return reduction<OpId::var>;
    case OpId::std:
      return reduction<OpId::std>;
    case OpId::logsumexp:
      return reduction<OpId::logsumexp>;
    case OpId::norm:
      return reduction<OpId::norm>;
    case OpId::argmax:
      return of<reference::arg_reduction, OpId::argmax>;
    case OpId::argmin:
      return of<reference::arg_reduction, OpId::argmin>;
    case OpId::cumsum:
      return reference::cumsum;
    case OpId::softmax:
      return of<reference::softmax, OpId::softmax>;
    case OpId::log_softmax:
      return of<reference::softmax, OpId::log_softmax>;
    case OpId::layer_norm:
      return reference::layer_norm;
    case OpId::rms_norm:
      return reference::rms_norm;
    case OpId::mm:
      return of<reference::matrix_product, OpId::mm>;
    case OpId::bmm:
      return of<reference::matrix_product, OpId::bmm>;
    case OpId::linear:
      return of<reference::matrix_product, OpId::linear>;
    case OpId::matmul:
      return of<reference::matrix_product, OpId::matmul>;
    case OpId::addmm:
      return of<reference::matrix_product, OpId::addmm>;
    case OpId::scaled_dot_product_attention:
      return reference::attention;
    case OpId::embedding:
      return reference::embedding;
    case OpId::index_select:
      return reference::index_select;
    case OpId::gather:
      return reference::gather;
    case OpId::index:
      return reference::index;
    case OpId::scatter:
      return of<reference::scatter, OpId::scatter>;
    case OpId::scatter_add:
      return of<reference::scatter, OpId::scatter_add>;
    case OpId::index_put:
      return reference::index_put;
    case OpId::cat:
      return reference::cat;
    case OpId::slice_scatter:
      return of<reference::view_scatter, OpId::slice_scatter>;
    case OpId::select_scatter:
      return of<reference::view_scatter, OpId::select_scatter>;
    case OpId::diagonal_scatter:
      return of<reference::view_scatter, OpId::diagonal_scatter>;
    case OpId::as_strided_scatter:
      return of<reference::view_scatter, OpId::as_strided_scatter>;
    case OpId::full:
      return reference::full;
    case OpId::arange:
      return reference::arange;
    case OpId::rand:
      return of<reference::random, OpId::rand>;
    case OpId::randn:
      return of<reference::random, OpId::randn>;
    case OpId::multinomial:
      return reference::multinomial;
    case OpId::topk:
      return reference::topk;
    case OpId::sort:
      return reference::sort;
    default:
      return nullptr;  // a new row without a kernel: tests/reference finds it
  }
}

namespace {

/// Fills a launch's argument arrays, in schema order.
class ArgWriter {
 public:
  explicit ArgWriter(NativeLaunch& l) : l_(l) {}
  std::uint32_t tensors() const { return tensors_; }

  void operator()(ArgType type, const NodeArg& a) {
    std::visit([&](const auto& v) { write(type, v); }, a);
  }
  void write_ints(const Ints& v) {
    l_.args.push_back({NativeArg::Kind::Ints, here(l_.ints), static_cast<std::uint32_t>(v.size())});
    l_.ints.insert(l_.ints.end(), v.begin(), v.end());
  }

 private:
  template <class V>
  static std::uint32_t here(const V& v) {
    return static_cast<std::uint32_t>(v.size());
  }
  void one_int(NativeArg::Kind kind, Int v) {
    l_.args.push_back({kind, here(l_.ints), 1});
    l_.ints.push_back(v);
  }
  void tensor_range(NativeArg::Kind kind, std::uint32_t n) {
    l_.args.push_back({kind, tensors_, n});
    tensors_ += n;
  }
  static bool is_number(ArgType t) {
    switch (t) {
      case ArgType::Scalar:
      case ArgType::OptionalScalar:
      case ArgType::Float:
      case ArgType::OptionalFloat:
      case ArgType::TensorOrScalar:
      case ArgType::OptionalTensorOrScalar:
        return true;
      default:
        return false;
    }
  }

  void write(ArgType, std::monostate) { l_.args.push_back({}); }
  void write(ArgType, ValueId v) { v ? tensor_range(NativeArg::Kind::Tensor, 1) : l_.args.push_back({}); }
  void write(ArgType, const std::vector<ValueId>& list) {
    std::uint32_t n = 0;
    for (ValueId v : list) n += static_cast<bool>(v);
    tensor_range(NativeArg::Kind::TensorList, n);
  }
  void write(ArgType t, Int v) { is_number(t) ? write(t, Scalar(v)) : one_int(NativeArg::Kind::Int, v); }
  void write(ArgType, const Ints& v) { write_ints(v); }
  void write(ArgType, const Scalar& s) {
    if (s.kind() == Scalar::Kind::Bool) return one_int(NativeArg::Kind::Bool, s.to_int());
    l_.args.push_back({NativeArg::Kind::Number, here(l_.numbers), 1});
    l_.numbers.push_back(s);
  }
  void write(ArgType, bool v) { one_int(NativeArg::Kind::Bool, v ? 1 : 0); }
  void write(ArgType, DType v) { one_int(NativeArg::Kind::DType, static_cast<int>(v)); }
  void write(ArgType, const std::string& v) {
    l_.args.push_back({NativeArg::Kind::Str, here(l_.strings), 1});
    l_.strings.push_back(v);
  }

  NativeLaunch& l_;
  std::uint32_t tensors_ = 0;
};

}  // namespace

NativeLaunch reference_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  const graph::OpDef& def = graph::op(node.op);
  NativeLaunch l;
  l.fn = reference_kernel(node.op);
  if (!l.fn) fail(ErrorCode::Internal, def.schema.name.c_str(), node.loc, "has no reference kernel");
  ArgWriter write(l);
  for (std::size_t i = 0; i < node.args.size(); ++i) write(def.schema.args[i].type, node.args[i]);
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if (def.schema.args[i].type != ArgType::OptionalTensorList) continue;
    Ints there;
    for (ValueId v : std::get<std::vector<ValueId>>(node.args[i])) there.push_back(v ? 1 : 0);
    write.write_ints(there);
  }
  if (node.op == OpId::as_strided_scatter) {
    const Layout& self = g.meta(std::get<ValueId>(node.args[0])).layout;
    Ints program = self.strides;
    program.push_back(self.offset);
    write.write_ints(program);
  }
  l.first_result = write.tensors();
  l.n_results = static_cast<std::uint32_t>(node.results.size());
  if (operands.size() != l.first_result + l.n_results)
    fail(ErrorCode::Internal, def.schema.name.c_str(), node.loc, "its launch needs ", l.first_result + l.n_results,
         " operands, got ", operands.size());
  l.operands = std::move(operands);
  for (std::size_t i = l.first_result; i < l.operands.size(); ++i) l.operands[i].written = true;
  return l;
}

namespace {

TensorView view_of(const Tensor& t) {
  const TensorImpl& i = *t.impl();
  TensorView v;
  v.data = i.storage && i.storage->data ? i.data() : nullptr;
  v.dtype = i.dtype;
  v.rank = i.rank;
  for (int d = 0; d < i.rank; ++d) v.sizes[d] = i.sizes[d], v.strides[d] = i.strides[d];
  return v;
}

/// One call as a graph of one node.
struct OneNode {
  graph::Graph g;
  std::vector<const Tensor*> inputs;

  ValueId input(const Tensor& t) {
    inputs.push_back(&t);
    return g.add_input(meta_of(t), "arg" + std::to_string(inputs.size()));
  }
  NodeArg arg(const CallArg& a) {
    return std::visit(
        [&](const auto& v) -> NodeArg {
          using T = std::decay_t<decltype(v)>;
          if constexpr (std::is_same_v<T, const Tensor*>) {
            return v && v->defined() ? NodeArg(input(*v)) : NodeArg(std::monostate{});
          } else if constexpr (std::is_same_v<T, TensorArrayRef>) {
            std::vector<ValueId> list;
            for (const Tensor& t : v) list.push_back(t.defined() ? input(t) : ValueId{});
            return list;
          } else if constexpr (std::is_same_v<T, IntArrayRef>) {
            return v.vec();
          } else if constexpr (std::is_same_v<T, std::string_view>) {
            return std::string(v);
          } else {
            return v;
          }
        },
        a);
  }
};

}  // namespace

std::vector<Tensor> reference_call(OpId id, std::span<const CallArg> args, SourceLoc loc) {
  OneNode one;
  std::vector<NodeArg> node_args;
  for (const CallArg& a : args) node_args.push_back(one.arg(a));
  one.g.add(id, std::move(node_args), loc);
  const graph::Node& node = one.g.nodes.back();

  std::vector<TensorView> views;
  for (const Tensor* t : one.inputs) views.push_back(view_of(*t));
  std::vector<Tensor> results;
  for (ValueId r : node.results) {
    const TensorMeta& m = one.g.meta(r);
    std::int64_t sizes[kMaxRank];
    for (int d = 0; d < m.dim(); ++d) sizes[d] = m.size(d).value();
    results.push_back(empty_concrete(sizes, m.dim(), m.dtype, Device::cpu()));
    views.push_back(view_of(results.back()));
  }

  NativeLaunch l = reference_launch(one.g, node, std::vector<Operand>(views.size()));
  std::vector<std::int64_t> ints;
  for (Int i : l.ints) ints.push_back(i.value());
  std::vector<Number> numbers;
  for (const Scalar& s : l.numbers)
    numbers.push_back(s.is_float() ? Number{true, s.to_double(), 0} : Number{false, 0, s.to_int().value()});
  KernelFault fault;
  NativeArgs native{views.data(),   l.args.data(),    ints.data(),
                    numbers.data(), l.strings.data(), static_cast<std::uint32_t>(l.args.size()),
                    l.first_result, l.n_results,      nullptr,
                    &fault};
  l.fn(native);
  if (fault.failed) fail_text(fault.code, graph::op(id).schema.name.c_str(), loc, fault.message);
  return results;
}

}  // namespace reprise::kernels
