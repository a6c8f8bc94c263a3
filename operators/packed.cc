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
  if (w.dim() != 2 || (w.dtype != DType::Float32 && w.dtype != DType::Float64)) fail(ErrorCode::Internal, "prepack", c.loc, "wants a matrix of Float32 or Float64");
  c.result(w.dtype, {kernels::panel_elements(w.size(0), w.size(1), w.dtype)});
}

void packed_shape(graph::RuleCtx& c) {
  const TensorMeta &in = c.tensor(0), &w = c.tensor(1);
  if (in.dim() == 0 || w.dim() != 2 || in.dtype != w.dtype || c.tensor(2).dtype != w.dtype) fail(ErrorCode::Internal, "linear_packed", c.loc, "wants what linear does, and panels");
  Ints sizes = in.layout.sizes;
  sizes.back() = w.size(0);
  static_cast<void>(c.constant_int(3));
  c.result(in.dtype, sizes);
}

/// It reads the weight.
void packed_reference(const kernels::NativeArgs& args) {
  const kernels::NativeArg of_linear[] = {args.args[0], args.args[1], {}};
  kernels::NativeArgs linear = args;
  linear.args = of_linear, linear.n_args = 3;
  kernels::reference_kernel(OpId::linear)(linear);
}

Int rows_of(const TensorMeta& input) {
  Int rows = 1;
  for (int d = 0; d + 1 < input.dim(); ++d) rows = rows * input.size(d);
  return rows;
}

/// Panels are whole: those of a very narrow or flat weight are much larger than that.
bool is_worth(std::int64_t n, std::int64_t k, DType t) {
  constexpr std::int64_t kSmall = 8192;
  const std::int64_t panels = kernels::panel_elements(n, k, t);
  return panels <= kSmall || panels / 2 < n * k;
}

bool is_known_up_to(Int i, std::int64_t most) { return !i.is_symbolic() && i.hint() <= most; }

}  // namespace

OpId prepack_op() {
  static const OpId id = graph::register_op({.schema = "reprise::prepack(Tensor weight) -> Tensor", .shape = prepack_shape}, {kernels::reference_kernels().fact({kernels::prepack_kernel})});
  return id;
}

OpId linear_packed_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::linear_packed(Tensor input, Tensor weight, Tensor panels, int from) -> Tensor", .cls = graph::OpClass::Matmul, .shape = packed_shape},
      {kernels::product_forms().fact(kernels::ProductForm::Packed), kernels::reference_kernels().fact({packed_reference})});
  return id;
}

void register_packed() {
  prepack_op();
  linear_packed_op();
}

bool pack_products(graph::Graph& g, const std::vector<bool>& constant) {
  const OpId prepack = prepack_op(), packed = linear_packed_op();
  return passes::rewrite(g, [&](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
    const kernels::ProductForm* form = graph::op(s.node.op).cls == graph::OpClass::Matmul ? kernels::product_forms().find(s.node.op) : nullptr;
    const bool linear = form && *form == kernels::ProductForm::Rows;
    if (!linear && !(form && *form == kernels::ProductForm::Matrix)) return std::nullopt;
    if (linear && std::get_if<ValueId>(&s.node.args[2])) return std::nullopt;
    if (!constant[std::get<ValueId>(s.node.args[1]).v] || constant[std::get<ValueId>(s.node.args[0]).v]) return std::nullopt;
    const ValueId input = std::get<ValueId>(s.args[0]);
    ValueId weight = std::get<ValueId>(s.args[1]);
    const DType t = s.result.dtype;
    if ((t != DType::Float32 && t != DType::Float64) || rw.meta(input).dtype != t || rw.meta(weight).dtype != t || !device::runs_host_code(s.result.device)) return std::nullopt;
    // Which products read panels, multiply() in kernels/cpu/matmul_product.cc decides: these are among them.
    const Layout& l = rw.meta(weight).layout;
    const Int rows = rows_of(rw.meta(input)), n = l.sizes[linear ? 0 : 1], k = l.sizes[linear ? 1 : 0];
    const std::int64_t from = kernels::kGemvRows;
    if (is_known_up_to(rows, from) || is_known_up_to(n, kernels::kGemvRows) || is_known_up_to(k, 0)) return std::nullopt;
    if (!is_worth(n.hint(), k.hint(), t)) return std::nullopt;
    if (!linear) weight = rw.emit(OpId::permute, {weight, Ints{1, 0}});
    const ValueId panels = rw.emit(prepack, {weight});
    return {{rw.emit(packed, {input, weight, panels, Int(from)})}};
  });
}

std::vector<std::optional<PanelReader>> readers_of_panels(const graph::Graph& g) {
  const OpId packed = linear_packed_op();
  std::vector<std::optional<PanelReader>> readers(g.values.size());
  std::vector<int> uses(g.values.size());
  for (const graph::Node& n : g.nodes) {
    graph::for_each_value(n, [&](ValueId v) { ++uses[v.v]; });
    if (n.op == packed) readers[std::get<ValueId>(n.args[2]).v] = {rows_of(g.meta(std::get<ValueId>(n.args[0]))), std::get<Int>(n.args[3]).hint()};
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
