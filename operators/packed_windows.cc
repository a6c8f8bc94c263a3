#include "operators/packed_windows.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/errors.h"
#include "device/backend.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/cpu/convolution_rows.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"
#include "operators/convolution_layouts.h"
#include "operators/convolution_reference.h"
#include "operators/families.h"
#include "passes/rewrite.h"

namespace reprise::operators {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;
using namespace kernels::windows_args;

namespace {

void prepack_shape(graph::RuleCtx& c) {
  const TensorMeta& w = c.tensor(0);
  const std::int64_t vectors = c.constant_int(1);
  static_cast<void>(c.flag(2));
  if (w.dim() < 3 || (w.dtype != DType::Float32 && w.dtype != DType::Float64) || vectors < 1 || vectors > 4)
    fail(ErrorCode::Internal, "prepack_windows", c.loc,
         "wants a convolution's weight of Float32 or Float64, and 1 to 4 vectors");
  Int k = 1;
  for (int d = 1; d < w.dim(); ++d) k = k * w.size(d);
  c.result(w.dtype, {kernels::row_panel_elements(w.size(0), k, w.dtype, static_cast<int>(vectors))});
}

void packed_shape(graph::RuleCtx& c) {
  if (c.tensor(kCount).dtype != c.tensor(kWeight).dtype)
    fail(ErrorCode::Internal, "convolution_packed", c.loc, "wants panels of the weight's dtype");
  static_cast<void>(c.constant_int(kCount + 1)), static_cast<void>(c.flag(kCount + 2));
  graph::find_op("convolution")->shape(c);
}

void packed_last_shape(graph::RuleCtx& c) {
  packed_shape(c);
  result_with_channels_last(c);
}

constexpr const char* kArguments =
    "(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, bool transposed, int[] "
    "output_padding, int groups, Tensor panels, int vectors, bool by_places) -> Tensor";

}  // namespace

OpId prepack_windows_op() {
  static const OpId id =
      graph::register_op({.schema = "reprise::prepack_windows(Tensor weight, int vectors, bool by_places) -> Tensor",
                          .shape = prepack_shape},
                         {kernels::reference_kernels().fact({kernels::prepack_windows_kernel})});
  return id;
}

OpId convolution_packed_op() {
  static const OpId id = graph::register_op({.schema = std::string("reprise::convolution_packed") + kArguments,
                                             .cls = graph::OpClass::Matmul,
                                             .shape = packed_shape},
                                            {kernels::product_forms().fact(kernels::ProductForm::Windows),
                                             kernels::reference_kernels().fact({convolution_reference})});
  return id;
}

OpId convolution_last_packed_op() {
  static const OpId id = graph::register_op({.schema = std::string("reprise::convolution_last_packed") + kArguments,
                                             .cls = graph::OpClass::Matmul,
                                             .shape = packed_last_shape},
                                            {kernels::product_forms().fact(kernels::ProductForm::WindowsLast),
                                             kernels::reference_kernels().fact({convolution_last_reference})});
  return id;
}

void register_packed_windows() {
  prepack_windows_op();
  convolution_packed_op();
  convolution_last_packed_op();
}

bool pack_convolutions(graph::Graph& g, const std::vector<bool>& constant) {
  const graph::OpDef* convolution = graph::find_op("convolution");
  const OpId convolution_last = convolution_last_op();
  return passes::rewrite(
      g, [&](passes::Rewriter& rw, passes::Rewriter::Site& s) -> std::optional<std::vector<ValueId>> {
        const bool last = s.node.op == convolution_last;
        if ((s.node.op != convolution->id && !last) || !constant[std::get<ValueId>(s.node.args[kWeight]).v] ||
            constant[std::get<ValueId>(s.node.args[kInput]).v])
          return std::nullopt;
        const ValueId weight = std::get<ValueId>(s.args[kWeight]);
        if (!device::runs_host_code(s.result.device)) return std::nullopt;
        TensorMeta result = s.result;
        if (last) result.layout = kernels::with_channels_second(result.layout);
        const auto wanted =
            kernels::row_panels_wanted(rw.meta(std::get<ValueId>(s.args[kInput])), rw.meta(weight), result,
                                       std::get<Int>(s.node.args[kGroups]), std::get<bool>(s.node.args[kTransposed]));
        if (!wanted) return std::nullopt;
        const Int vectors = wanted->vectors;
        const ValueId panels = rw.emit(prepack_windows_op(), {weight, vectors, wanted->by_places});
        std::vector<NodeArg> args = s.args;
        args.insert(args.end(), {panels, vectors, wanted->by_places});
        return {{rw.emit(last ? convolution_last_packed_op() : convolution_packed_op(), std::move(args))}};
      });
}

}  // namespace reprise::operators
