#include "operators/packed.h"

#include "base/errors.h"
#include "device/backend.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/packed.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"
#include "operators/families.h"
#include "passes/rewrite.h"

namespace reprise::operators {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

namespace {

void prepack_shape(graph::RuleCtx& c) {
  const TensorMeta& w = c.tensor(0);
  const std::optional<kernels::PanelForm> form = kernels::panel_form(w.dtype);
  if (w.dim() != 2 || !form)
    fail(ErrorCode::Internal, "prepack", c.loc, "wants a matrix of a dtype whose products read panels");
  c.result(w.dtype, {kernels::panel_elements(w.size(0), w.size(1), *form)});
}

void packed_shape(graph::RuleCtx& c) {
  const TensorMeta &in = c.tensor(0), &w = c.tensor(1);
  if (in.dim() == 0 || w.dim() != 2 || in.dtype != w.dtype || c.tensor(2).dtype != w.dtype)
    fail(ErrorCode::Internal, "linear_packed", c.loc, "wants what linear does, and panels");
  Ints sizes = in.layout.sizes;
  sizes.back() = w.size(0);
  static_cast<void>(c.constant_int(3));
  c.result(in.dtype, sizes);
}

void int_packed_shape(graph::RuleCtx& c) {
  const TensorMeta &a = c.tensor(0), &b = c.tensor(1);
  if (a.dim() != 2 || b.dim() != 2 || a.dtype != DType::Int8 || b.dtype != DType::Int8 ||
      c.tensor(2).dtype != DType::Int8)
    fail(ErrorCode::Internal, "int_mm_packed", c.loc, "wants what int_mm does, and panels");
  static_cast<void>(c.constant_int(3));
  c.result(DType::Int32, {a.size(0), b.size(1)});
}

/// They read the weight.
template <OpId of, std::uint32_t count>
void packed_reference(const kernels::NativeArgs& args) {
  const kernels::NativeArg first[] = {args.args[0], args.args[1], {}};
  kernels::NativeArgs call = args;
  call.args = first, call.n_args = count;
  kernels::reference_kernel(of)(call);
}

Int rows_of(const TensorMeta& input) {
  Int rows = 1;
  for (int d = 0; d + 1 < input.dim(); ++d) rows = rows * input.size(d);
  return rows;
}

/// Panels are whole: those of a very narrow or flat weight are much larger than that.
bool is_worth(std::int64_t n, std::int64_t k, const kernels::PanelForm& form) {
  constexpr std::int64_t kSmall = 8192;
  const std::int64_t panels = kernels::panel_elements(n, k, form);
  return panels <= kSmall || panels / 2 < n * k;
}

/// Up to how many rows are panels not read? along_k: elements of a column of B are side by side, so that dots read
/// them.
std::int64_t read_from(DType t, bool along_k, const kernels::PanelForm& form) {
  if (t == DType::Int8) return along_k ? kernels::kGemvRows : 0;
  // Halves that are widened: dots do so as they multiply, tiles before that, which few rows do not make up for.
  const bool widened = t != kernels::acc_dtype(t) && form.group == 1;
  return along_k && widened ? kernels::kDotRows : kernels::kGemvRows;
}

/// int_mm where no panels are read: with elements of a weight's column side by side few rows take dots, and many pack
/// no slower.
std::optional<std::vector<ValueId>> turned_weight(passes::Rewriter& rw, passes::Rewriter::Site& s) {
  const ValueId weight = std::get<ValueId>(s.args[1]);
  const Layout& l = rw.meta(weight).layout;
  if (kernels::is_number(l.strides[0], 1) || !device::runs_host_code(s.result.device) ||
      rw.meta(std::get<ValueId>(s.args[0])).dtype != DType::Int8)
    return std::nullopt;
  const ValueId lines = rw.emit(OpId::clone, {rw.emit(OpId::permute, {weight, Ints{1, 0}})});
  return {{rw.emit(OpId::int_mm, {s.args[0], rw.emit(OpId::permute, {lines, Ints{1, 0}})})}};
}

bool is_known_up_to(Int i, std::int64_t most) { return !i.is_symbolic() && i.hint() <= most; }

}  // namespace

OpId prepack_op() {
  static const OpId id =
      graph::register_op({.schema = "reprise::prepack(Tensor weight) -> Tensor", .shape = prepack_shape},
                         {kernels::reference_kernels().fact({kernels::prepack_kernel})});
  return id;
}

OpId linear_packed_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::linear_packed(Tensor input, Tensor weight, Tensor panels, int from) -> Tensor",
       .cls = graph::OpClass::Matmul,
       .shape = packed_shape},
      {kernels::product_forms().fact(kernels::ProductForm::Packed),
       kernels::reference_kernels().fact({packed_reference<OpId::linear, 3>})});
  return id;
}

OpId int_mm_packed_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::int_mm_packed(Tensor self, Tensor mat2, Tensor panels, int from) -> Tensor",
       .cls = graph::OpClass::Matmul,
       .shape = int_packed_shape},
      {kernels::product_forms().fact(kernels::ProductForm::Packed),
       kernels::reference_kernels().fact({packed_reference<OpId::int_mm, 2>})});
  return id;
}

void register_packed() {
  prepack_op();
  linear_packed_op();
  int_mm_packed_op();
}

bool pack_products(graph::Graph& g, const std::vector<bool>& constant) {
  const OpId prepack = prepack_op(), packed = linear_packed_op(), int_packed = int_mm_packed_op();
  return passes::rewrite(
      g, [&](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
        const kernels::ProductForm* form =
            graph::op(s.node.op).cls == graph::OpClass::Matmul ? kernels::product_forms().find(s.node.op) : nullptr;
        const bool linear = form && *form == kernels::ProductForm::Rows;
        if (!linear && !(form && *form == kernels::ProductForm::Matrix)) return std::nullopt;
        if (linear && std::get_if<ValueId>(&s.node.args[2])) return std::nullopt;
        if (!constant[std::get<ValueId>(s.node.args[1]).v] || constant[std::get<ValueId>(s.node.args[0]).v])
          return std::nullopt;
        const ValueId input = std::get<ValueId>(s.args[0]);
        const ValueId weight = std::get<ValueId>(s.args[1]);
        const DType t = rw.meta(weight).dtype;
        const bool integers = !linear && t == DType::Int8 && s.result.dtype == DType::Int32;
        if (integers && !kernels::reads_panels(t)) return turned_weight(rw, s);
        const std::optional<kernels::PanelForm> panel = kernels::panel_form(t);
        if (!panel || !kernels::reads_panels(t) || rw.meta(input).dtype != t ||
            (!integers && (s.result.dtype != t || !is_floating(t))) || !device::runs_host_code(s.result.device))
          return std::nullopt;
        // Which products read panels, multiply() in kernels/cpu/matmul_product.cc decides: these are among them.
        const Layout& l = rw.meta(weight).layout;
        const Int rows = rows_of(rw.meta(input)), n = l.sizes[linear ? 0 : 1], k = l.sizes[linear ? 1 : 0];
        const std::int64_t from = read_from(t, kernels::is_number(l.strides[linear ? 1 : 0], 1), *panel);
        if (is_known_up_to(rows, from) || n.hint() <= kernels::kGemvRows || is_known_up_to(k, 0)) return std::nullopt;
        if (!is_worth(n.hint(), k.hint(), *panel)) return std::nullopt;
        const ValueId by_rows = linear ? weight : rw.emit(OpId::permute, {weight, Ints{1, 0}}),
                      panels = rw.emit(prepack, {by_rows});
        if (integers) return {{rw.emit(int_packed, {input, weight, panels, Int(from)})}};
        return {{rw.emit(packed, {input, by_rows, panels, Int(from)})}};
      });
}

std::vector<std::optional<PanelReader>> readers_of_panels(const graph::Graph& g) {
  const OpId packed = linear_packed_op(), int_packed = int_mm_packed_op();
  std::vector<std::optional<PanelReader>> readers(g.values.size());
  std::vector<int> uses(g.values.size());
  for (const graph::Node& n : g.nodes) {
    graph::for_each_value(n, [&](ValueId v) { ++uses[v.v]; });
    if (n.op == packed || n.op == int_packed)
      readers[std::get<ValueId>(n.args[2]).v] = {rows_of(g.meta(std::get<ValueId>(n.args[0]))),
                                                 std::get<Int>(n.args[3]).hint()};
  }
  for (std::size_t v = 0; v < readers.size(); ++v)
    if (uses[v] != 1) readers[v].reset();
  return readers;
}

std::optional<PanelReader> reader_of_few_rows(const graph::Graph& g, const graph::Node& n, ValueId v) {
  if (n.op != linear_packed_op() || std::get<ValueId>(n.args[1]).v != v.v) return std::nullopt;
  int uses = 0;
  graph::for_each_value(n, [&](ValueId u) { uses += u.v == v.v; });
  if (uses != 1) return std::nullopt;
  return PanelReader{rows_of(g.meta(std::get<ValueId>(n.args[0]))), std::get<Int>(n.args[3]).hint()};
}

}  // namespace reprise::operators
