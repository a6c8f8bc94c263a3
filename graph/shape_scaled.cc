// Products of quantized matrices: which dtypes and which scales go together.
#include "base/errors.h"
#include "graph/shape_rules.h"
#include "guards/expr.h"

namespace reprise::graph {
namespace {

const char* name(const RuleCtx& c) { return c.op.schema.name.c_str(); }
const std::string& argument(const RuleCtx& c, int i) { return c.op.schema.args[i].name; }

bool is_activation(DType t) { return t == DType::Float32 || t == DType::BFloat16 || t == DType::Float16; }

/// [m, k] and [k, n]: the sizes of the product.
Ints product_sizes(const RuleCtx& c) {
  for (int i : {0, 1})
    if (c.tensor(i).dim() != 2)
      fail(ErrorCode::ShapeMismatch, name(c), c.loc, "'", argument(c, i), "' must have 2 dimensions, got sizes ",
           sizes_text(c.tensor(i).layout.sizes));
  const TensorMeta &a = c.tensor(0), &b = c.tensor(1);
  if (!same(a.size(1), b.size(0), c.loc, "matrix product: equal inner sizes"))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "sizes ", sizes_text(a.layout.sizes), " and ",
         sizes_text(b.layout.sizes), ": the inner sizes differ");
  return {a.size(0), b.size(1)};
}

[[noreturn]] void wrong_pair(const RuleCtx& c, const char* wanted) {
  fail(ErrorCode::DTypeMismatch, name(c), c.loc, "'self' is ", dtype_name(c.tensor(0).dtype), " and 'mat2' is ",
       dtype_name(c.tensor(1).dtype), "; wanted ", wanted);
}

/// Is `size` 1 or one of the others? One condition for all of them, so that the same code serves sizes where two of
/// them meet (one row, a k of one block) and those where they do not.
bool one_or(Int size, std::initializer_list<Int> others, SourceLoc loc, const char* why) {
  guards::LibraryScope exact;
  bool plain = !size.is_symbolic(), found = is_plain(size, 1);
  for (const Int& o : others) plain = plain && !o.is_symbolic(), found = found || identical(size, o);
  if (plain || found) return found;
  Int product = size - 1;
  for (const Int& o : others) product = product * (size - o);
  return require(detail::compare_eq(product, 0, loc), why);
}

/// Along k: one scale, or one for each block. Along the operand's other dimension `lines`: one, one each, or (block >
/// 0) one for each block.
void check_scale(const RuleCtx& c, int arg, int k_dim, Int k, Int lines, Int block_k, Int block) {
  const TensorMeta& s = c.tensor(arg);
  if (s.dtype != DType::Float32)
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "'", argument(c, arg), "' is ", dtype_name(s.dtype),
         ", wanted float32");
  // A number of the host's would do for pointwise operators, whose kernels take it as an argument.
  if (s.device != c.tensor(0).device)
    fail(ErrorCode::DeviceMismatch, name(c), c.loc, "'self' is on ", c.tensor(0).device.str(), " and '",
         argument(c, arg), "' on ", s.device.str());
  if (s.dim() == 0) return;
  const Ints& sizes = s.layout.sizes;
  bool right = false;
  if (s.dim() == 1) {
    right = is_plain(sizes[0], 1) || require(detail::compare_eq(sizes[0], 1, c.loc), "scaled_mm: one scale");
  } else if (s.dim() == 2) {
    const Int other = sizes[static_cast<std::size_t>(1 - k_dim)], blocks = count_steps(k, block_k);
    right = one_or(sizes[static_cast<std::size_t>(k_dim)], {blocks}, c.loc, "scaled_mm: scales along k") &&
            (block.hint() > 0 ? one_or(other, {lines, count_steps(lines, block)}, c.loc, "scaled_mm: scales of columns")
                              : one_or(other, {lines}, c.loc, "scaled_mm: scales of rows"));
  }
  if (right) return;
  const char* operand = arg == 2 ? "self" : "mat2";
  const Ints& of = c.tensor(arg - 2).layout.sizes;
  if (arg == 2)
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "'scale_a' has sizes ", sizes_text(sizes), " and '", operand, "' ",
         sizes_text(of), ": wanted one element, or [m or 1, 1 or ceil(k / ", block_k.hint(), ")]");
  fail(ErrorCode::ShapeMismatch, name(c), c.loc, "'scale_b' has sizes ", sizes_text(sizes), " and '", operand, "' ",
       sizes_text(of), ": wanted one element, or [1 or ceil(k / ", block_k.hint(), "), n or 1 or ceil(n / ",
       block.hint(), ")]");
}

}  // namespace

namespace rules {

void int_mm(RuleCtx& c) {
  if (c.tensor(0).dtype != DType::Int8 || c.tensor(1).dtype != DType::Int8) wrong_pair(c, "int8 x int8");
  c.result(DType::Int32, product_sizes(c));
}

void scaled_mm(RuleCtx& c) {
  const DType a = c.tensor(0).dtype, b = c.tensor(1).dtype;
  const bool quantized = b == DType::Int8 || is_storage_only(b);
  if (!quantized ||
      !(is_activation(a) || (a == DType::Int8 && b == DType::Int8) || (is_storage_only(a) && is_storage_only(b))))
    wrong_pair(c, "int8 x int8, float8 x float8, or float32, bfloat16 or float16 x int8 or float8");
  const Ints sizes = product_sizes(c);
  const Int k = c.tensor(0).size(1);
  Int block_k = 128, block_n = 128;
  if (c.has(6)) {
    const Ints& block = c.ints(6);
    if (block.size() != 2 || block[0].value(c.loc) < 1 || block[1].value(c.loc) < 1)
      fail(ErrorCode::InvalidArgument, name(c), c.loc, "block must be two sizes above 0, along k and along n, got ",
           sizes_text(block));
    block_k = block[0].value(c.loc), block_n = block[1].value(c.loc);
  }
  check_scale(c, 2, 1, k, sizes[0], block_k, 0);
  check_scale(c, 3, 0, k, sizes[1], block_k, block_n);
  const TensorMeta* bias = c.optional_tensor(4);
  if (bias && !is_activation(bias->dtype))
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "'bias' is ", dtype_name(bias->dtype),
         ", wanted float32, bfloat16 or float16");
  if (bias && (bias->dim() != 1 || !same(bias->size(0), sizes[1], c.loc, "scaled_mm: size of bias")))
    fail(ErrorCode::ShapeMismatch, name(c), c.loc, "'bias' has sizes ", sizes_text(bias->layout.sizes), " and 'mat2' ",
         sizes_text(c.tensor(1).layout.sizes), ": wanted [n]");
  const DType out = c.dtype(5, bias ? bias->dtype : is_activation(a) ? a : DType::BFloat16);
  if (!is_activation(out))
    fail(ErrorCode::DTypeMismatch, name(c), c.loc, "out_dtype must be float32, bfloat16 or float16, got ",
         dtype_name(out));
  c.result(out, sizes);
}

}  // namespace rules
}  // namespace reprise::graph
