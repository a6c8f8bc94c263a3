// The table of the reference kernels, and launches of them.
#include "kernels/reference/reference.h"

#include "base/errors.h"
#include "base/float_state.h"
#include "graph/writers.h"
#include "kernels/launch/layout.h"
#include "kernels/reference/elements.h"
#include "kernels/reference/native_launches.h"
#include "kernels/reference/undeclared_writes.h"
#include "tensor/impl.h"

namespace reprise::kernels {

using graph::ArgType;
using graph::CallArg;
using graph::NodeArg;
using graph::OpClass;
using graph::OpColumn;
using graph::OpId;
using graph::ValueId;

namespace {

/// A pointwise operator's kernel: one function for all of them, which asks the column of meanings.
template <OpId Op>
void pointwise(const NativeArgs& a) {
  reference::pointwise(Op, a);
}

constinit OpColumn<HostKernel> g_column("reference kernel",
                                        {
#define REPRISE_ROW_Pointwise(id) {OpId::id, pointwise<OpId::id>},
#include "graph/op_rows.inc"
                                            {OpId::sum, reference::sum},
                                            {OpId::prod, reference::prod},
                                            {OpId::nansum, reference::nansum},
                                            {OpId::amax, reference::amax},
                                            {OpId::amin, reference::amin},
                                            {OpId::any, reference::any},
                                            {OpId::all, reference::all},
                                            {OpId::mean, reference::mean},
                                            {OpId::var, reference::variance},
                                            {OpId::std, reference::deviation},
                                            {OpId::logsumexp, reference::logsumexp},
                                            {OpId::norm, reference::norm},
                                            {OpId::argmax, reference::argmax},
                                            {OpId::argmin, reference::argmin},
                                            {OpId::cumsum, reference::cumsum},
                                            {OpId::softmax, reference::softmax},
                                            {OpId::log_softmax, reference::log_softmax},
                                            {OpId::layer_norm, reference::layer_norm},
                                            {OpId::rms_norm, reference::rms_norm},
                                            {OpId::mm, reference::batched_product},
                                            {OpId::bmm, reference::batched_product},
                                            {OpId::linear, reference::linear},
                                            {OpId::matmul, reference::matmul},
                                            {OpId::addmm, reference::addmm},
                                            {OpId::int_mm, reference::batched_product},
                                            {OpId::scaled_mm, reference::scaled_mm},
                                            {OpId::scaled_dot_product_attention, reference::attention},
                                            {OpId::embedding, reference::embedding},
                                            {OpId::index_select, reference::index_select},
                                            {OpId::gather, reference::gather},
                                            {OpId::index, reference::index},
                                            {OpId::scatter, {reference::scatter, true}},
                                            {OpId::scatter_add, {reference::scatter_add, true}},
                                            {OpId::scatter_reduce, {reference::scatter_reduce, true}},
                                            {OpId::index_put, {reference::index_put, true}},
                                            {OpId::cat, reference::cat},
                                            {OpId::slice_scatter, reference::slice_scatter},
                                            {OpId::select_scatter, reference::select_scatter},
                                            {OpId::diagonal_scatter, reference::diagonal_scatter},
                                            {OpId::as_strided_scatter, {reference::as_strided_scatter, false, true}},
                                            {OpId::full, reference::full},
                                            {OpId::arange, reference::arange},
                                            {OpId::rand, reference::rand},
                                            {OpId::randn, reference::randn},
                                            {OpId::multinomial, reference::multinomial},
                                            {OpId::topk, reference::topk},
                                            {OpId::sort, reference::sort},
                                        },
                                        [](const graph::OpDef& o) {
                                          return o.cls != OpClass::View && o.cls != OpClass::Transfer &&
                                                 o.cls != OpClass::Control;
                                        });

}  // namespace

OpColumn<HostKernel>& reference_kernels() { return g_column; }

NativeFn reference_kernel(OpId id) {
  const HostKernel* k = g_column.find(id);
  return k ? k->fn : nullptr;
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
    l_.args.push_back({NativeArg::Kind::IntList, here(l_.ints), static_cast<std::uint32_t>(v.size())});
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
      case ArgType::OptionalTensorOrScalar: return true;
      default: return false;
    }
  }

  void write(ArgType, std::monostate) { l_.args.push_back({}); }
  void write(ArgType, ValueId v) { v ? tensor_range(NativeArg::Kind::Tensor, 1) : l_.args.push_back({}); }
  void write(ArgType, const std::vector<ValueId>& list) {
    std::uint32_t n = 0;
    for (ValueId v : list) n += static_cast<bool>(v);
    tensor_range(NativeArg::Kind::TensorList, n);
  }
  void write(ArgType, const graph::ViewArg&) { tensor_range(NativeArg::Kind::Tensor, 1); }
  void write(ArgType, const graph::Region&) { fail(ErrorCode::Internal, "launch", {}, "no kernel takes a region"); }
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

std::vector<WrittenOperand> written_operands(const graph::Node& node) {
  const graph::OpDef& def = graph::op(node.op);
  std::vector<WrittenOperand> out;
  if (!def.twin_of) return out;
  std::uint32_t operand = 0, result = 0;
  for (std::size_t a = 0; a < node.args.size(); ++a) {
    const bool written = graph::is_written(graph::op(*def.twin_of), a);
    const auto* view = std::get_if<graph::ViewArg>(&node.args[a]);
    graph::for_each_value(node.args[a], [&](ValueId) {
      if (written) {
        auto same_base = std::find_if(out.begin(), out.end(), [&](const WrittenOperand& w) {
          return view && w.view && w.view->base == view->base;
        });
        out.push_back({operand, same_base == out.end() ? result++ : same_base->result, view});
      }
      ++operand;
    });
  }
  for (WrittenOperand& w : out) w.result += operand;
  return out;
}

namespace {
/// How many results are new values of what is written.
std::uint32_t new_values(const std::vector<WrittenOperand>& written) {
  std::uint32_t last = 0;
  for (const WrittenOperand& w : written) last = std::max(last, w.result);
  return written.empty() ? 0 : last + 1 - written[0].result;
}
/// As the kernel of an operator that writes takes them: the new values in the places of the arguments.
template <class T>
void put_written_in_place(std::vector<T>& operands, const std::vector<WrittenOperand>& written) {
  if (written.empty()) return;
  for (const WrittenOperand& w : written) operands[w.argument] = operands[w.result];
  const auto first = operands.begin() + static_cast<std::ptrdiff_t>(written[0].result);
  operands.erase(first, first + new_values(written));
}
}  // namespace

NativeLaunch reference_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  return native_launch(g_column.at(node.op).fn, g, node, std::move(operands));
}

NativeLaunch native_launch(NativeFn fn, const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  const graph::OpDef& def = graph::op(node.op);
  NativeLaunch l;
  l.fn = fn;
  ArgWriter write(l);
  for (std::size_t i = 0; i < node.args.size(); ++i) write(def.schema.args[i].type, node.args[i]);
  for (std::size_t i = 0; i < node.args.size(); ++i) {
    if (def.schema.args[i].type != ArgType::OptionalTensorList) continue;
    Ints there;
    for (ValueId v : std::get<std::vector<ValueId>>(node.args[i])) there.push_back(v ? 1 : 0);
    write.write_ints(there);
  }
  if (const HostKernel* host = g_column.find(node.op); host && host->self_layout) {
    const Layout& self = g.meta(std::get<ValueId>(node.args[0])).layout;
    Ints program = self.strides;
    program.push_back(self.offset);
    write.write_ints(program);
  }
  l.first_result = write.tensors();
  l.n_results = static_cast<std::uint32_t>(node.results.size());
  if (operands.size() != l.first_result + l.n_results)
    fail(ErrorCode::Internal, def.schema.name.c_str(), node.info.loc, "its launch needs ", l.first_result + l.n_results,
         " operands, got ", operands.size());
  l.operands = std::move(operands);
  for (std::size_t i = l.first_result; i < l.operands.size(); ++i) l.operands[i].written = true;
  const std::vector<WrittenOperand> written = written_operands(node);
  put_written_in_place(l.operands, written);
  for (const WrittenOperand& w : written) {
    l.operands[w.argument].kept = true;
    if (!w.view) continue;
    std::optional<Layout> part = layout_of_view(g, *w.view, l.operands[w.argument].layout, node.info.loc);
    REPRISE_CHECK(part.has_value(), " what is written stands where it has no such view");  // placement has asked
    l.operands[w.argument].layout = std::move(*part);
  }
  l.n_results -= new_values(written);
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
  const FloatState ours;
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
  const std::vector<WrittenOperand> written = written_operands(node);
  for (const WrittenOperand& w : written) {
    const Launch copy = copy_launch({}, {}, "", loc);
    const TensorView pair[] = {views[w.argument], views[w.result]};
    NativeArgs a{};
    a.tensors = pair;
    std::get<NativeLaunch>(copy.what).fn(a);
  }
  put_written_in_place(views, written);
  KernelFault fault;
  NativeArgs native{views.data(),   l.args.data(),    ints.data(),
                    numbers.data(), l.strings.data(), static_cast<std::uint32_t>(l.args.size()),
                    l.first_result, l.n_results,      nullptr,
                    &fault};
  std::optional<UndeclaredWrites> watch;
  if (const graph::OpDef& def = graph::op(graph::op(id).twin_of.value_or(id)); UndeclaredWrites::asked(def)) {
    std::vector<bool> may(views.size());
    for (const WrittenOperand& w : written) may[w.argument] = true;
    watch.emplace(native, std::move(may));
  }
  l.fn(native);
  if (std::string what = watch && !fault.failed ? watch->changed(graph::op(graph::op(id).twin_of.value_or(id))) : "";
      !what.empty())
    fault = {true, ErrorCode::InvalidArgument, std::move(what)};
  if (fault.failed)
    fail_text(fault.code, graph::op(graph::op(id).twin_of.value_or(id)).schema.name.c_str(), loc, fault.message);
  return results;
}

}  // namespace reprise::kernels
