#include "kernels/cpu/attention.h"

#include <exception>

#include "base/errors.h"
#include "kernels/cpu/attention_call.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/launch/named.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {
namespace {

/// `t`, or a row-major copy of it when its last dim is strided.
struct Rows {
  explicit Rows(const TensorView& t)
      : copy(t.sizes[t.rank - 1] > 1 && t.strides[t.rank - 1] != 1 ? t.numel() * item_size(t.dtype) : 0), view(t) {
    if (!copy.get()) return;
    row_major();
    compact(t, copy.get());
  }
  /// The same for a result: filled, then copied out.
  struct Uninitialised {};
  Rows(const TensorView& t, Uninitialised)
      : copy(t.sizes[t.rank - 1] > 1 && t.strides[t.rank - 1] != 1 ? t.numel() * item_size(t.dtype) : 0), view(t) {
    if (copy.get()) row_major();
  }
  void row_major() {
    std::int64_t stride = 1;
    for (int d = view.rank - 1; d >= 0; --d) view.strides[d] = stride, stride *= view.sizes[d];
    view.data = copy.get();
  }
  Scratch copy;
  TensorView view;
};

void attention_kernel(const NativeArgs& args) {
  try {
    const TensorView* mask = args.has(3) ? &args.tensor(3) : nullptr;
    const TensorView& out = args.result();
    if (out.numel() == 0) return;
    Rows q(args.tensors[0]), k(args.tensors[1]), v(args.tensors[2]), o(out, Rows::Uninitialised{});
    AttentionCall(args, q.view, k.view, v.view, mask, o.view).run();
    if (o.copy.get()) scatter(o.copy.get(), out);
  } catch (const Error& e) {
    *args.fault = {true, e.code(), e.message()};
  } catch (const std::exception& e) {
    *args.fault = {true, ErrorCode::OutOfMemory, e.what()};
  }
}

}  // namespace

NativeLaunch attention_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  DType dtype = operands.back().dtype;
  const auto* dropout = std::get_if<Scalar>(&node.args[4]);
  if (dtype == DType::Float64 || (dropout && dropout->to_double() != 0))
    return reference_launch(g, node, std::move(operands));
  NativeLaunch out;
  out.fn = attention_kernel;
  bool masked = operands.size() == 5;
  for (std::uint32_t i = 0; i < 3; ++i) out.args.push_back({NativeArg::Kind::Tensor, i, 1});
  out.args.push_back(masked ? NativeArg{NativeArg::Kind::Tensor, 3, 1} : NativeArg{});
  auto flag = [&](std::size_t i) { return std::holds_alternative<bool>(node.args[i]) && std::get<bool>(node.args[i]); };
  const auto* scale = std::get_if<Scalar>(&node.args[6]);
  int bits = micro_vector_bits();
  out.ints = {bits, flag(5) ? 1 : 0, flag(7) ? 1 : 0, scale ? 1 : 0};
  if (scale) out.numbers = {*scale};
  out.micro = attention_specs(bits, dtype, masked ? &operands[3].dtype : nullptr);
  operands.back().written = true;
  out.first_result = static_cast<std::uint32_t>(operands.size() - 1);
  out.n_results = 1;
  out.operands = std::move(operands);
  return out;
}

NativeFn named::attention() { return attention_kernel; }

}  // namespace reprise::kernels
