#include "kernels/cpu/matmul.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/errors.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/convolution_rows.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/scaled.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/named.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {
namespace {

/// Dims [0, n) of `v` as one dim: its size and stride. False when no single stride reaches all.
bool collapse(const TensorView& v, int n, std::int64_t& size, std::int64_t& stride) {
  size = 1, stride = 0;
  for (int d = n - 1; d >= 0; --d) {
    if (v.sizes[d] == 1) continue;
    if (size == 1) stride = v.strides[d];
    else if (v.strides[d] != stride * size) return false;
    size *= v.sizes[d];
  }
  return true;
}

constexpr std::uint32_t kMostTogether = 8;  // products of one launch
static_assert(kMostTogether <= Fragment::kMostProducts);
constexpr std::int64_t kLargeProduct = std::int64_t{64} << 20;  // multiplications, from which on it is parallel inside

std::int64_t stride_of(const TensorView& v, int d) { return v.strides[d]; }

MatmulKernels kernels_of(const NativeArgs& args) {
  return matmul_kernels(static_cast<int>(args.ints[0]), static_cast<unsigned>(args.ints[1]), args.micro);
}

/// A product whose result has any strides: straight into it, or by way of a row-major copy.
template <class Run>
void into(const TensorView& c, Run&& run) {
  int last = c.rank - 1;
  std::int64_t rows, stride;
  if ((c.strides[last] == 1 || c.sizes[last] <= 1) && collapse(c, last, rows, stride)) return run(c.data, stride);
  Scratch copy(c.numel() * item_size(c.dtype));
  run(copy.get(), c.sizes[last]);
  scatter(copy.get(), c);
}

/// What is added, with the strides of the result; null: nothing. The third of a launch's integers says it.
const char* summand(const NativeArgs& args) {
  switch (static_cast<Sum>(args.ints[2])) {
    case Sum::None: return nullptr;
    case Sum::Apart: return args.tensors[args.first_result - 1].data;
    case Sum::InPlace: return args.result().data;
  }
  return nullptr;
}

ProductCall linear_product(const TensorView& x, const TensorView& w) {
  return {
      x.dtype,         x.dtype,         1,       w.sizes[0], w.sizes[1], x.data, 0, stride_of(x, x.rank - 1), w.data,
      stride_of(w, 1), stride_of(w, 0), nullptr, 0};
}

/// The panels of a product of so many rows; null: it has none. `from`: the fourth of a launch's integers, below 0 of
/// one without.
const char* panels_for(std::int64_t rows, std::int64_t from, const TensorView* weight) {
  return from >= 0 && rows > from ? weight[1].data : nullptr;
}

/// `w`: with its panels behind it, where it has any.
void linear_into(const MatmulKernels& f, const TensorView& x, const TensorView* weight, std::int64_t from,
                 const TensorView& y, const char* sum) {
  if (y.numel() == 0) return;
  const TensorView& w = *weight;
  ProductCall p = linear_product(x, w);
  p.sum = sum;
  into(y, [&](char* c, std::int64_t c_row) {
    p.c = c, p.c_row = c_row;
    if (collapse(x, x.rank - 1, p.m, p.a_row)) {
      p.panels = panels_for(p.m, from, weight);
      return multiply(f, p);
    }
    DType acc = acc_dtype(x.dtype);
    Scratch rows(x.numel() * item_size(acc));
    gather(x, acc, rows.get());
    p.m = p.k ? x.numel() / p.k : y.numel() / p.n;
    p.a = rows.get(), p.a_dtype = acc, p.a_row = p.k, p.a_col = 1;
    p.panels = panels_for(p.m, from, weight);
    multiply(f, p);
  });
}

/// Operands as below, then what the fragment reads, then the results.
void linear_fragment(const NativeArgs& args, const MatmulKernels& f) {
  const Fragment fragment(args);
  const TensorView &x = args.tensors[0], *w = args.tensors + 1;
  const std::int64_t from = args.ints[3], step = from < 0 ? 1 : 2, k = w->sizes[1];
  if (args.result().numel() == 0) return;
  ProductCall all[kMostTogether];
  std::int64_t m, a_row;
  const bool plain = collapse(x, x.rank - 1, m, a_row);
  if (!plain) {
    m = 1;
    for (int d = 0; d < x.rank - 1; ++d) m *= x.sizes[d];
  }
  const DType acc = acc_dtype(x.dtype);
  const Scratch rows(plain ? 0 : x.numel() * item_size(acc));
  if (!plain) gather(x, acc, rows.get());
  for (std::int64_t i = 0; i < fragment.products(); ++i) {
    ProductCall& p = all[i] = linear_product(x, w[i * step]);
    p.m = m, p.a_row = a_row;
    if (!plain) p.a = rows.get(), p.a_dtype = acc, p.a_row = k, p.a_col = 1;
    p.panels = panels_for(m, from, w + i * step);
    const Block c = fragment.place(i);
    p.c = c.data, p.c_row = c.row;
  }
  multiply(f, {all, static_cast<std::size_t>(fragment.products())}, fragment);
}

/// Operands: x, the weights, each with its panels behind it where it has any, the results.
void linear_kernel(const NativeArgs& args) {
  reporting(args, [&] {
    const MatmulKernels f = kernels_of(args);
    if (args.ints[Fragment::kInts] > 0) return linear_fragment(args, f);
    const TensorView& x = args.tensors[0];
    const TensorView *w = args.tensors + 1, *y = &args.result();
    const std::int64_t from = args.ints[3], step = from < 0 ? 1 : 2;
    if (args.n_results == 1) return linear_into(f, x, w, from, y[0], summand(args));
    std::int64_t m, a_row;
    ProductCall all[kMostTogether];
    bool plain = collapse(x, x.rank - 1, m, a_row);
    for (std::uint32_t i = 0; plain && i < args.n_results; ++i) {
      all[i] = linear_product(x, w[i * step]);
      all[i].m = m, all[i].a_row = a_row, all[i].c = y[i].data;
      all[i].panels = panels_for(m, from, w + i * step);
      std::int64_t rows, last = y[i].rank - 1;
      plain = y[i].numel() > 0 && y[i].strides[last] == 1 && collapse(y[i], static_cast<int>(last), rows, all[i].c_row);
    }
    if (plain) return multiply(f, {all, args.n_results});
    for (std::uint32_t i = 0; i < args.n_results; ++i) linear_into(f, x, w + i * step, from, y[i], nullptr);
  });
}

/// Operands: a, b, what the fragment reads, the results.
void bmm_fragment(const NativeArgs& args, const MatmulKernels& f) {
  const Fragment fragment(args);
  if (args.result().numel() == 0) return;
  const TensorView &a = args.tensors[0], &b = args.tensors[1];
  const int r = a.rank - 2;
  const std::int64_t batch = r ? a.sizes[0] : 1, m = a.sizes[r], k = a.sizes[r + 1], n = b.sizes[r + 1];
  Steps steps{r ? a.strides[0] : 0, r ? b.strides[0] : 0, 0};
  const Block c = fragment.place(0, batch, m, steps.c);
  const ProductCall whole{a.dtype,
                          a.dtype,
                          m,
                          n,
                          k,
                          a.data,
                          stride_of(a, r),
                          stride_of(a, r + 1),
                          b.data,
                          stride_of(b, r),
                          stride_of(b, r + 1),
                          c.data,
                          c.row};
  auto some = [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      ProductCall p = whole;
      const std::int64_t size = item_size(p.dtype);
      p.a += i * steps.a * size, p.b += i * steps.b * size;
      if (p.c) p.c += i * steps.c * size;
      multiply(f, {&p, 1}, fragment, i * m);
    }
  };
  const std::int64_t fmas = m * n * (k + fragment.cost());
  if (batch < 2 || m * n * k > kLargeProduct) return some(0, batch);
  if (multiply_batch(f, whole, batch, steps, &fragment)) return;
  parallel(batch, std::max<std::int64_t>(1, (std::int64_t{1} << 20) / (fmas + 1)), some);
}

/// mm is a bmm of one.
void bmm_kernel(const NativeArgs& args) {
  reporting(args, [&] {
    MatmulKernels f = kernels_of(args);
    if (args.ints[Fragment::kInts] > 0) return bmm_fragment(args, f);
    const TensorView &a = args.tensors[0], &b = args.tensors[1], &c = args.result();
    if (c.numel() == 0) return;
    const char* sum = summand(args);
    int r = c.rank - 2;
    std::int64_t batch = r ? c.sizes[0] : 1, size = item_size(c.dtype);
    const std::int64_t a_step = r ? a.strides[0] : 0, b_step = r ? b.strides[0] : 0, c_step = r ? c.strides[0] : 0;
    ProductCall whole{c.dtype,        c.dtype,         c.sizes[r],          c.sizes[r + 1],
                      a.sizes[r + 1], a.data,          stride_of(a, r),     stride_of(a, r + 1),
                      b.data,         stride_of(b, r), stride_of(b, r + 1), c.data,
                      c.strides[r]};
    whole.sum = sum;
    auto one = [&](std::int64_t i) {
      TensorView ci = c;
      ci.rank = 2;
      for (int d = 0; d < 2; ++d) ci.sizes[d] = c.sizes[r + d], ci.strides[d] = c.strides[r + d];
      ci.data += i * c_step * size;
      ProductCall p = whole;
      p.a += i * a_step * size, p.b += i * b_step * size;
      into(ci, [&](char* out, std::int64_t row) {
        p.c = out, p.c_row = row, p.sum = sum ? sum + (ci.data - c.data) : nullptr;
        multiply(f, p);
      });
    };
    std::int64_t fmas = c.sizes[r] * c.sizes[r + 1] * a.sizes[r + 1];
    if (batch < 2 || fmas > kLargeProduct) {
      for (std::int64_t i = 0; i < batch; ++i) one(i);
      return;
    }
    const bool plain = c.strides[r + 1] == 1 || c.sizes[r + 1] == 1;
    if (plain && multiply_batch(f, whole, batch, {a_step, b_step, c_step})) return;
    parallel(batch, std::max<std::int64_t>(1, (std::int64_t{1} << 20) / (fmas + 1)),
             [&](std::int64_t begin, std::int64_t end) {
               reporting(args, [&] {
                 for (std::int64_t i = begin; i < end; ++i) one(i);
               });
             });
  });
}

bool surely(Int v, std::int64_t k) { return !v.is_symbolic() && v.hint() == k; }

/// The slots that the operands' known sizes and strides leave possible; the run-time choice of multiply() stays within
/// them. `panels_from`: of products with panels, up to how many rows they are not read; else below 0.
unsigned needed_kernels(const std::vector<Operand>& operands, bool linear, std::int64_t panels_from) {
  using K = MatmulKernels;
  auto bit = [](K::Slot s) { return 1u << s; };
  const Layout &a = operands[0].layout, &b = operands[1].layout, &c = operands.back().layout;
  const DType dtype = operands.back().dtype;
  const bool half = dtype != acc_dtype(dtype);
  int r = b.dim() - 2;
  Int k_stride = b.strides[r + (linear ? 1 : 0)], n_stride = b.strides[r + (linear ? 0 : 1)];
  Int n = c.sizes[c.dim() - 1];
  std::int64_t m = 1;
  bool m_known = true;
  for (int d = linear ? 0 : c.dim() - 2; d < c.dim() - 1; ++d)
    m_known = m_known && !c.sizes[d].is_symbolic(), m *= c.sizes[d].hint();
  bool rows = surely(k_stride, 1), columns = surely(n_stride, 1) && !rows, a_rows = surely(a.strides[a.dim() - 1], 1);
  const Int& k = a.sizes[a.dim() - 1];
  const bool packed = panels_from >= 0;  // those have more rows than dots take, or may have
  const std::int64_t most =
      packed ? panels_from : dot_rows(dtype, k.is_symbolic() ? std::numeric_limits<std::int64_t>::max() : k.hint());
  if (rows && m_known && !packed && m <= dot_rows(dtype, k.is_symbolic() ? 0 : k.hint())) {
    return bit(K::kDot1) | (m > 1 ? bit(K::kDot4) : 0) | (half ? bit(K::kConvertIn) : 0);
  }
  if (columns && m_known && m <= kGemvRows) {
    return bit(K::kSum1) | (m == kGemvRows ? bit(K::kSum4) : 0) | (half ? bit(K::kConvertIn) | bit(K::kConvertOut) : 0);
  }
  const LowForm low = dtype == DType::BFloat16 ? low_form(micro_vector_bits(), DType::BFloat16) : LowForm::None;
  unsigned which = 0;
  if (low != LowForm::None) {
    which = bit(low == LowForm::Amx ? K::kLowAmx : K::kLowPairs) | bit(K::kConvertOut);
    if (!rows) which |= bit(K::kInterleave);
    if (!columns) which |= bit(K::kTurn);
  } else {
    which = kGemmSlots;
    if (!columns || !a_rows) which |= bit(K::kTranspose);
    if (half || !rows) which |= bit(K::kConvertIn);
  }
  if (m_known && m > most && !n.is_symbolic() && n.hint() > kGemvRows) return which;
  if (half) which |= bit(K::kConvertIn);
  if (!columns || a_rows) which |= bit(K::kDot1);  // a matrix times a column reads A's rows
  if (!columns) which |= bit(K::kDot4);
  if (!rows) which |= bit(K::kSum1) | bit(K::kSum4);
  if (half && !rows) which |= bit(K::kConvertOut);
  return which;
}

}  // namespace

namespace {

bool is_row_by_row(const Layout& l) { return same_layout(l, contiguous_layout(l.sizes)); }

}  // namespace

NativeLaunch matmul_launch(const graph::Graph& g, const graph::Node& node, std::vector<Operand> operands) {
  if (product_forms().at(node.op) == ProductForm::Windows) return convolution_launch(g, node, std::move(operands));
  if (product_forms().at(node.op) == ProductForm::WindowsLast) {  // its kernel is told of strides alone
    operands.back().layout = with_channels_second(operands.back().layout);
    return convolution_launch(g, node, std::move(operands));
  }
  const bool packed = product_forms().at(node.op) == ProductForm::Packed;
  bool linear = packed || product_forms().at(node.op) == ProductForm::Rows;
  DType dtype = operands.back().dtype;
  const bool widening = (packed || product_forms().at(node.op) == ProductForm::Matrix) && operands[0].dtype != dtype;
  if (widening || product_forms().at(node.op) == ProductForm::Scaled)
    return scaled_launch(g, node, std::move(operands));
  if (dtype == DType::Bool || operands.size() != (packed ? 4 : 3))
    return reference_launch(g, node, std::move(operands));
  NativeLaunch out;
  out.fn = linear ? linear_kernel : bmm_kernel;
  for (std::uint32_t i = 0; i < (packed ? 3 : 2); ++i) out.args.push_back({NativeArg::Kind::Tensor, i, 1});
  if (linear && !packed) out.args.push_back({});

  int bits = micro_vector_bits();
  const Int from = packed ? std::get<Int>(node.args[3]) : Int(-1);
  unsigned which = needed_kernels(operands, linear, from.hint());
  out.ints = {bits, static_cast<std::int64_t>(which), static_cast<std::int64_t>(Sum::None), from, 0};
  out.micro = matmul_specs(bits, dtype, which);
  operands.back().written = true;
  out.operands = std::move(operands);
  out.first_result = packed ? 3 : 2;
  out.n_results = 1;
  return out;
}

bool join_linears(Launch& first, const Launch& second) {
  auto* a = std::get_if<NativeLaunch>(&first.what);
  const auto* b = std::get_if<NativeLaunch>(&second.what);
  if (!a || !b || a->fn != linear_kernel || b->fn != linear_kernel) return false;
  if (b->n_results != 1 || a->n_results == kMostTogether || a->micro != b->micro) return false;
  if (!std::equal(a->ints.begin(), a->ints.end(), b->ints.begin(), same_number)) return false;
  const Operand &x = a->operands[0], &same = b->operands[0];
  if (x.buffer != same.buffer || x.dtype != same.dtype || !same_layout(x.layout, same.layout)) return false;
  // What the first one writes is no operand of the second; nor the other way round.
  for (std::uint32_t i = 0; i < a->n_results; ++i)
    for (std::uint32_t j = 1; j < b->first_result; ++j)
      if (a->operands[a->first_result + i].buffer == b->operands[j].buffer) return false;
  for (std::uint32_t i = 0; i < a->first_result; ++i)
    if (a->operands[i].buffer == b->operands[b->first_result].buffer) return false;

  a->operands.insert(a->operands.begin() + a->first_result, b->operands.begin() + 1,
                     b->operands.begin() + b->first_result);
  a->operands.push_back(b->operands[b->first_result]);
  a->first_result += b->first_result - 1, ++a->n_results;
  if (first.op.empty()) first.op = first.name;
  first.name += "_" + second.name;
  first.nodes.insert(first.nodes.end(), second.nodes.begin(), second.nodes.end());
  return true;
}

namespace {

/// What a loop kernel stores: what it reads, something else it reads added to that where `other` is set, and none below
/// 0 if relu.
struct Ending {
  std::uint32_t read, other = ~0u, store;  ///< accesses
  bool relu = false;
};
std::optional<Ending> ending_of(const LoopKernel& k) {
  using Kind = BodyNode::Kind;
  std::size_t seen = 1;
  auto node = [&](std::uint32_t i) -> const BodyNode& { return ++seen, k.body[i]; };
  const BodyNode& store = k.body.back();
  if (store.kind != Kind::Store || store.b != ~0u || static_cast<std::size_t>(k.n_kept) != k.extents.size())
    return std::nullopt;
  const BodyNode* value = &node(store.a);
  Ending e{.read = 0, .store = store.access};
  auto op = [](const BodyNode& n, ScalarOp op) { return n.kind == Kind::Op && n.op == op; };
  if (op(*value, ScalarOp::Max)) {
    const BodyNode &x = node(value->a), &y = node(value->b);
    const bool first = x.kind == Kind::Const;
    const BodyNode& zero = first ? x : y;
    if (zero.kind != Kind::Const || zero.fimm != 0) return std::nullopt;
    value = first ? &y : &x, e.relu = true;
  }
  if (op(*value, ScalarOp::Add)) {
    const BodyNode &x = node(value->a), &y = node(value->b);
    if (x.kind != Kind::Load || y.kind != Kind::Load) return std::nullopt;
    e.read = x.access, e.other = y.access;
  } else if (value->kind == Kind::Load) {
    e.read = value->access;
  } else {
    return std::nullopt;
  }
  if (seen != k.body.size() || (e.other == ~0u && !e.relu)) return std::nullopt;
  return e;
}

/// Where its integers say what is added; null: to this product nothing can be.
Int* sum_of(NativeLaunch& p) {
  if (p.fn == linear_kernel || p.fn == bmm_kernel) return is_number(p.ints[Fragment::kInts], 0) ? &p.ints[2] : nullptr;
  if (!is_convolution(p)) return nullptr;
  Int* const own = &p.ints[p.args.back().first];
  return is_number(own[convolution_ints::kFragment], 0) ? &own[convolution_ints::kSum] : nullptr;
}

}  // namespace

bool takes_fragment(const Launch& l) {
  const auto* p = std::get_if<NativeLaunch>(&l.what);
  if (!p) return false;
  const bool rows = is_rows_convolution(*p);
  if (!rows && p->fn != linear_kernel && p->fn != bmm_kernel) return false;
  const Int* own = rows ? &p->ints[p->args.back().first] : nullptr;
  return is_number(own ? own[convolution_ints::kSum] : p->ints[2], static_cast<std::int64_t>(Sum::None)) &&
         is_number(own ? own[convolution_ints::kFragment] : p->ints[Fragment::kInts], 0);
}

bool join_sum(Launch& product, const Launch& sum) {
  auto* p = std::get_if<NativeLaunch>(&product.what);
  const auto* s = std::get_if<LoopLaunch>(&sum.what);
  if (!p || !s || p->n_results != 1 || !sum_of(*p) || !is_number(*sum_of(*p), static_cast<std::int64_t>(Sum::None)))
    return false;
  const LoopKernel& k = s->kernel;
  const Operand made = p->operands.back();
  const std::optional<Ending> ending = ending_of(k);
  if (!ending || made.dtype != acc_dtype(made.dtype) || (ending->relu && !is_convolution(*p))) return false;
  if (ending->relu && !is_number(p->ints[p->args.back().first + convolution_ints::kRelu], 0)) return false;
  const Access *read = &k.accesses[ending->read], *other = ending->other == ~0u ? nullptr : &k.accesses[ending->other],
               &to = k.accesses[ending->store];
  if (other && s->buffers[read->buffer] != made.buffer) std::swap(read, other);
  if (s->buffers[read->buffer] != made.buffer ||
      !(is_row_by_row(made.layout) || (is_convolution(*p) && is_row_by_row(with_channels_last(made.layout)))) ||
      !is_number(read->offset, 0))
    return false;
  if (!same_number(numel(k.extents), numel(made.layout.sizes))) return false;
  for (const Access* a : {read, other ? other : read, &to})
    if (k.buffers[a->buffer].dtype != made.dtype || !a->gathers.empty() || !same_numbers(a->strides, read->strides))
      return false;
  auto operand = [&](const Access& a, bool written) {
    Operand o{s->buffers[a.buffer], made.dtype, made.layout, written};
    o.layout.offset = a.offset;
    return o;
  };
  p->operands.pop_back();
  if (other) {
    p->operands.push_back(operand(*other, false));
    ++p->first_result;
    *sum_of(*p) = static_cast<std::int64_t>(Sum::Apart);
  }
  p->operands.push_back(operand(to, true));
  if (ending->relu) p->ints[p->args.back().first + convolution_ints::kRelu] = 1;
  if (product.op.empty()) product.op = product.name;
  product.name += "_" + sum.name;
  product.nodes.insert(product.nodes.end(), sum.nodes.begin(), sum.nodes.end());
  return true;
}

void sum_in_place(Launch& product) {
  auto& p = std::get<NativeLaunch>(product.what);
  p.operands.erase(p.operands.begin() + --p.first_result);
  p.operands.back().kept = true;
  *sum_of(p) = static_cast<std::int64_t>(Sum::InPlace);
}

NativeFn named::linear() { return linear_kernel; }
NativeFn named::bmm() { return bmm_kernel; }

}  // namespace reprise::kernels
