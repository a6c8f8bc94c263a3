// Products with weights that stay as they are stored.
//
// A registered operator with a kernel on the host, and not tensor code alone: written as dequantize() and linear() the unpacked matrix stands in
// memory, four to eight times what is stored, and is written and read again in each call. The kernel unpacks a few rows where a thread's cache holds them. Where it
// is not (devices), the operator is its decomposition, which is that tensor code.
#include <algorithm>
#include <memory>
#include <new>

#include "base/errors.h"
#include "device/parallel.h"
#include "graph/shape_rules.h"
#include "import/gguf/unpack.h"
#include "reprise/library.h"
#include "reprise/ops.h"

namespace reprise::gguf {

namespace {

/// The sum of a[i] b[i] in kLanes interleaved sums, added up in order: the same whatever the compiler makes of it.
float dot(const float* a, const float* b, std::int64_t n) {
  constexpr int kLanes = 16;
  float sums[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int l = 0; l < kLanes; ++l) sums[l] += a[i + l] * b[i + l];
  float all = 0;
  for (int l = 0; l < kLanes; ++l) all += sums[l];
  for (; i < n; ++i) all += a[i] * b[i];
  return all;
}

/// y [m, n] = x [m, k] w^T, rows of w in blocks.
struct Product {
  Type type;
  const float* x;        ///< row by row
  const std::uint8_t* w; ///< of which each row stands in one piece
  std::int64_t w_stride, m, n, k, blocks_of_row;
  float* y;
};

/// Rows that are unpacked together: as many as fit beside a part of x.
std::int64_t rows_at_once(std::int64_t k) { return std::clamp<std::int64_t>((1 << 16) / std::max<std::int64_t>(k, 1), 1, 16); }

void some_rows(void* context, std::int64_t begin, std::int64_t end) {
  const Product& p = *static_cast<const Product*>(context);
  const std::int64_t step = rows_at_once(p.k);
  const std::unique_ptr<float[]> rows(new (std::nothrow) float[static_cast<std::size_t>(step * p.k)]);
  constexpr std::int64_t kBlock = 256;
  float one_block[kBlock];
  for (std::int64_t first = begin; first < end; first += step) {
    const std::int64_t count = std::min(step, end - first);
    if (!rows) {  // no memory: by blocks, in another order of sums
      const TypeFacts& f = *facts_of(p.type);
      for (std::int64_t r = first; r < first + count; ++r)
        for (std::int64_t i = 0; i < p.m; ++i) {
          float sum = 0;
          for (std::int64_t b = 0; b < p.blocks_of_row; ++b) {
            unpack(p.type, p.w + r * p.w_stride + b * f.bytes, 1, one_block);
            sum += dot(p.x + i * p.k + b * f.elements, one_block, f.elements);
          }
          p.y[i * p.n + r] = sum;
        }
      continue;
    }
    for (std::int64_t r = 0; r < count; ++r) unpack(p.type, p.w + (first + r) * p.w_stride, p.blocks_of_row, rows.get() + r * p.k);
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t r = 0; r < count; ++r) p.y[i * p.n + first + r] = dot(p.x + i * p.k, rows.get() + r * p.k, p.k);
  }
}

/// The elements row by row: those that are there, or a copy in `own`. Null where there is no memory for one.
template <class T>
const T* row_by_row(const TensorView& t, bool rows_are_enough, std::unique_ptr<T[]>& own) {
  if (t.contiguous() || (rows_are_enough && t.strides[1] == 1)) return t.as<const T>();
  own.reset(new (std::nothrow) T[static_cast<std::size_t>(t.numel())]);
  if (own)
    for (std::int64_t i = 0; i < t.sizes[0]; ++i)
      for (std::int64_t j = 0; j < t.sizes[1]; ++j) own[static_cast<std::size_t>(i * t.sizes[1] + j)] = t.as<const T>()[i * t.strides[0] + j * t.strides[1]];
  return own.get();
}

const TypeFacts* facts_by_name(std::string_view name) {
  for (const Type t : {Type::Q8_0, Type::Q4_0, Type::Q4_K, Type::Q6_K})
    if (name == facts_of(t)->name) return facts_of(t);
  return nullptr;
}

void host_kernel(const KernelCall& call) {
  const TensorView &x = call.tensor(0), &w = call.tensor(1), &y = call.result();
  const TypeFacts& f = *facts_by_name(call.text(3));
  std::unique_ptr<float[]> own_x;
  std::unique_ptr<std::uint8_t[]> own_w;
  Product p{f.type, row_by_row(x, false, own_x), row_by_row(w, true, own_w), 0, x.sizes[0], w.sizes[0], x.sizes[1], w.sizes[1] / f.bytes, y.as<float>()};
  if (!p.x || !p.w) {
    if (y.numel() == 0) return;
    return call.fail(ErrorCode::OutOfMemory, "no memory for a copy of an operand that does not stand row by row");
  }
  p.w_stride = own_w || w.contiguous() ? w.sizes[1] : w.strides[0];
  if (y.numel() == 0) return;
  constexpr std::int64_t kLeastWork = 1 << 16;  // elements of products, below which threads cost more than they give
  const std::int64_t each = std::max<std::int64_t>(p.k * (p.m + 4), 1);
  device::parallel_for(p.n, std::max<std::int64_t>(kLeastWork / each, rows_at_once(p.k)), some_rows, &p);
}

const Operator& product() {
  static const Operator& op = *new Operator(Library("gguf").define(
      {.schema = "gguf::linear(Tensor x, Tensor data, Tensor halves, str type) -> Tensor",
       .shape =
           [](ShapeCall& c) {
             const TypeFacts* f = facts_by_name(c.text(3));
             if (!f) c.fail(ErrorCode::InvalidArgument, "'" + std::string(c.text(3)) + "' is no type of blocks that is unpacked");
             if (c.dtype(0) != kFloat32 || c.dtype(1) != kUInt8 || c.dtype(2) != kFloat16) c.fail(ErrorCode::DTypeMismatch, "wants x of float32, data of uint8, halves of float16");
             if (c.dim(0) != 2 || c.dim(1) != 2 || c.dim(2) != 2) c.fail(ErrorCode::ShapeMismatch, "wants matrices");
             c.expect_equal(c.size(1, 1), c.size(2, 1) * 2, "a row's bytes and halves");
             c.expect_equal(c.size(1, 0), c.size(2, 0), "rows of bytes and of halves");
             c.expect_equal(c.size(0, 1), c.size(1, 1).value() / f->bytes * f->elements, "the columns of x and of the weight");
             c.result(kFloat32, {c.size(0, 0), c.size(1, 0)});
           },
       .cpu = host_kernel,
       .may_fail = true,
       .decomposition = [](Tensor x, Tensor data, Tensor halves, std::string type) { return reprise::linear(x, unpack(facts_by_name(type)->type, data, halves, {})); }}));
  return op;
}

}  // namespace

Ints Blocks::sizes() const {
  Ints all = data.sizes();
  if (const TypeFacts* f = facts_of(type); f && f->unpacked) all.back() = all.back().value() / f->bytes * f->elements;
  return all;
}
std::int64_t Blocks::bytes() const { return data.nbytes().value(); }

Tensor Blocks::dequantize(DType dtype, SourceLoc loc) const {
  if (!defined()) fail(ErrorCode::InvalidArgument, "gguf::Blocks::dequantize", loc, "undefined");
  return is_quantized(type) ? unpack(type, data, halves, loc).to(dtype, loc) : data.to(dtype, loc);
}

Tensor Blocks::rows(const Tensor& index, DType dtype, SourceLoc loc) const {
  if (!defined() || data.dim() != 2) fail(ErrorCode::ShapeMismatch, "gguf::Blocks::rows", loc, defined() ? "wants a matrix" : "undefined");
  const Tensor flat = index.reshape({-1}, loc);
  const Tensor found = is_quantized(type) ? unpack(type, index_select(data, 0, flat, loc), index_select(halves, 0, flat, loc), loc) : index_select(data, 0, flat, loc);
  Ints sizes = index.sizes();
  sizes.push_back(found.size(1));
  return found.to(dtype, loc).view(sizes, loc);
}

Blocks Blocks::to(Device device, SourceLoc loc) const {
  const Tensor there = data.to(device, loc);
  if (!halves.defined()) return {type, there, {}};
  return {type, there, bytes() > 0 ? there.view(kFloat16, loc) : halves.to(device, loc)};
}

Tensor linear(const Tensor& x, const Blocks& weight, const Tensor& bias, SourceLoc loc) {
  constexpr const char* op = "gguf::linear";
  if (!weight.defined() || !x.defined()) fail(ErrorCode::InvalidArgument, op, loc, weight.defined() ? "x is undefined" : "the weight is undefined");
  if (!is_floating(x.dtype()) || is_storage_only(x.dtype())) fail(ErrorCode::DTypeMismatch, op, loc, "x is ", x.dtype(), ", not a float");
  if (!is_quantized(weight.type)) return reprise::linear(x, weight.data.to(x.dtype(), loc), bias, loc);
  const Ints of_weight = weight.sizes();
  Ints sizes = x.sizes();
  if (of_weight.size() != 2 || sizes.empty() || !graph::same(sizes.back(), of_weight[1], loc, "gguf::linear: equal columns"))
    fail(ErrorCode::ShapeMismatch, op, loc, "x of sizes ", graph::sizes_text(sizes), " and a weight of sizes ", graph::sizes_text(of_weight));
  if (bias.defined() && (bias.dim() != 1 || !graph::same(bias.size(0), of_weight[0], loc, "gguf::linear: the bias' size")))
    fail(ErrorCode::ShapeMismatch, op, loc, "a bias of sizes ", graph::sizes_text(bias.sizes()), " and a weight of sizes ", graph::sizes_text(of_weight));
  Tensor y = product().at(loc, x.reshape({-1, of_weight[1]}, loc).to(kFloat32, loc), weight.data, weight.halves, type_name(weight.type));
  sizes.back() = of_weight[0];
  y = y.view(sizes, loc);
  if (bias.defined()) y = add(y, bias.to(kFloat32, loc), 1, loc);
  return y.to(x.dtype(), loc);
}

}  // namespace reprise::gguf
