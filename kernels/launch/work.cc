#include "kernels/launch/work.h"

#include <algorithm>
#include <bit>

#include "kernels/launch/product.h"
#include "kernels/loop/analysis.h"

namespace reprise::kernels {

namespace {

using Value = std::function<std::int64_t(const Int&)>;

Work of_loop(const LoopKernel& k, const Value& value) {
  const LoopAnalysis a = analyse(k);
  std::vector<std::int64_t> extents;
  for (const Int& e : k.extents) extents.push_back(value(e));
  auto points = [&](std::uint32_t dims) {
    std::int64_t n = 1;
    for (; dims; dims &= dims - 1) n *= extents[static_cast<std::size_t>(std::countr_zero(dims))];
    return n;
  };
  auto dims_of = [&](const Access& access) {
    std::uint32_t dims = 0;
    for (std::size_t d = 0; d < access.strides.size(); ++d)
      if (value(access.strides[d]) != 0) dims |= 1u << d;
    for (const Access::Gather& g : access.gathers) dims |= a.dims[g.node];
    return dims;
  };
  auto same = [&](const Access& x, const Access& y) {
    if (x.buffer != y.buffer || !x.gathers.empty() || !y.gathers.empty() || value(x.offset) != value(y.offset))
      return false;
    for (std::size_t d = 0; d < x.strides.size(); ++d)
      if (value(x.strides[d]) != value(y.strides[d])) return false;
    return true;
  };
  Work w;
  std::vector<const Access*> loaded;
  for (std::size_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    switch (n.kind) {
      case BodyNode::Kind::Load:
      case BodyNode::Kind::Store: {
        const Access& access = k.accesses[n.access];
        if (n.kind == BodyNode::Kind::Load) {
          bool again = false;
          for (const Access* l : loaded) again = again || same(*l, access);
          if (again) break;
          loaded.push_back(&access);
        }
        w.bytes += points(dims_of(access)) * item_size(k.buffers[access.buffer].dtype);
        break;
      }
      case BodyNode::Kind::Op:
        if (is_floating(n.dtype)) w.flops += points(a.dims[i]);
        break;
      case BodyNode::Kind::Reduce:
        if (is_floating(n.dtype)) w.flops += points(a.dims[n.a]);
        break;
      case BodyNode::Kind::Const:
      case BodyNode::Kind::Param:
      case BodyNode::Kind::Index:
      case BodyNode::Kind::Cast: break;
    }
  }
  return w;
}

std::int64_t elements(const Layout& l, const Value& value) {
  std::int64_t n = 1;
  for (std::size_t d = 0; d < l.sizes.size(); ++d)
    if (value(l.strides[d]) != 0) n *= value(l.sizes[d]);
  return n;
}

Work of_native(const Launch& launch, const NativeLaunch& n, const graph::Graph& g, const Value& value) {
  Work w;
  const std::size_t operands = n.operands.size() - (n.has_workspace ? 1 : 0);
  const ProductForm* of = launch.nodes.empty() ? nullptr : product_forms().find(g.nodes[launch.nodes[0]].op);
  // Of one A; what is computed of them may be one result.
  const auto products =
      static_cast<std::size_t>(std::count_if(launch.nodes.begin(), launch.nodes.end(), [&](std::uint32_t i) {
        return product_forms().find(g.nodes[i].op) != nullptr;
      }));
  for (std::size_t i = 0; i < operands; ++i) {
    // panels: the weight once more, and one of the two is read
    if (of && *of == ProductForm::Packed && i >= 2 && i % 2 == 0 && i <= 2 * products) continue;
    // its panels are read
    if (of && is_windows(*of) && i == 1 && g.nodes[launch.nodes[0]].args.size() > windows_args::kCount) continue;
    w.bytes += elements(n.operands[i].layout, value) * item_size(n.operands[i].dtype);
  }
  if (launch.nodes.empty() || n.n_results == 0 || n.operands.size() < 2 || n.operands[0].layout.sizes.empty()) return w;
  const auto size = [&](std::size_t operand, std::size_t from_last) {
    const Ints& s = n.operands[operand].layout.sizes;
    return s.size() < from_last ? std::int64_t{1} : value(s[s.size() - from_last]);
  };
  switch (graph::op(g.nodes[launch.nodes[0]].op).cls) {
    case graph::OpClass::Matmul:
      if (const ProductForm* form = product_forms().find(g.nodes[launch.nodes[0]].op); form && is_windows(*form)) {
        const Ints& weight = n.operands[1].layout.sizes;
        std::int64_t summed = 2;  // of each result
        for (std::size_t d = 1; d < weight.size(); ++d) summed *= value(weight[d]);
        w.flops = summed * elements(n.operands[n.first_result].layout, value);
        break;
      }
      for (std::size_t i = 0; i < std::max<std::size_t>(products, 1); ++i) {
        std::int64_t multiplied = 1;  // of one column
        for (const Int& s : n.operands[0].layout.sizes) multiplied *= value(s);
        // Packed ones of bytes are of the form Matrix else (operators/packed.cc).
        const bool rows =
            of && (*of == ProductForm::Rows || (*of == ProductForm::Packed && n.operands[1].dtype != DType::Int8));
        w.flops += 2 * multiplied * (rows ? size(*of == ProductForm::Packed ? 1 + 2 * i : 1 + i, 2) : size(1, 1));
      }
      break;
    case graph::OpClass::Attention: w.flops = 4 * elements(n.operands[0].layout, value) * size(1, 2); break;
    default: break;
  }
  return w;
}

}  // namespace

Work work_of(const Launch& launch, const graph::Graph& g, const Value& value) {
  if (const auto* loop = std::get_if<LoopLaunch>(&launch.what)) return of_loop(loop->kernel, value);
  if (const auto* native = std::get_if<NativeLaunch>(&launch.what)) return of_native(launch, *native, g, value);
  const GpuLaunch& gpu = std::get<GpuLaunch>(launch.what);
  Work w;
  if (gpu.product)
    w.flops = 2 * value(gpu.product->batch) * value(gpu.product->m) * value(gpu.product->n) * value(gpu.product->k);
  return w;
}

}  // namespace reprise::kernels
