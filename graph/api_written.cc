// In-place forms, views and writes that are made of other operators, and functions that write their result into a
// tensor that is given.
#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/interpreter.h"
#include "graph/region_gradients.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"
#include "reprise/out.h"
#include "tensor/impl.h"

namespace reprise {

using graph::call1;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;

namespace {

bool same_sizes(const Ints& a, const Ints& b, SourceLoc loc, const char* why) {
  bool same = a.size() == b.size();
  for (std::size_t d = 0; same && d < a.size(); ++d) same = graph::ask(detail::compare_eq(a[d], b[d], loc), why);
  return same;
}

/// self becomes what `made` is, which is as large as self and of a dtype that may be written into self.
Tensor becomes(const Tensor& self, const Tensor& made, const char* op, SourceLoc loc) {
  const TensorMeta to = checked_meta(self, op, loc), from = checked_meta(made, op, loc);
  if (is_floating(from.dtype) && !is_floating(to.dtype))
    fail(ErrorCode::DTypeMismatch, op, loc, "a result of ", from.dtype, " cannot be written into a tensor of ",
         to.dtype);
  if (from.dim() != to.dim())
    fail(ErrorCode::ShapeMismatch, op, loc, "a result of sizes ", graph::sizes_text(from.layout.sizes),
         " cannot be written into a tensor of sizes ", graph::sizes_text(to.layout.sizes));
  for (int d = 0; d < to.dim(); ++d)
    if (!graph::same(from.size(d), to.size(d), loc, "in place: equal sizes"))
      fail(ErrorCode::ShapeMismatch, op, loc, "a result of sizes ", graph::sizes_text(from.layout.sizes),
           " cannot be written into a tensor of sizes ", graph::sizes_text(to.layout.sizes));
  return self.copy_(made, loc);
}

}  // namespace

Tensor detail::into(const Tensor& out, const Tensor& made, const char* op, SourceLoc loc) {
  const TensorMeta to = checked_meta(out, op, loc), from = checked_meta(made, op, loc);
  if (is_floating(from.dtype) && !is_floating(to.dtype))
    fail(ErrorCode::DTypeMismatch, op, loc, "a result of ", from.dtype, " cannot be written into 'out', which is ",
         to.dtype);
  if (!same_sizes(to.layout.sizes, from.layout.sizes, loc, "out: equal sizes")) out.resize_(from.layout.sizes, loc);
  return out.copy_(made, loc);
}

// ---- views

Tensor swapdims(const Tensor& self, Int dim0, Int dim1, SourceLoc loc) { return transpose(self, dim0, dim1, loc); }
Tensor mT(const Tensor& self, SourceLoc loc) {
  if (checked_meta(self, "mT", loc).dim() < 2)
    fail(ErrorCode::ShapeMismatch, "mT", loc, "needs at least 2 dimensions, got sizes ",
         graph::sizes_text(self.sizes()));
  return transpose(self, -2, -1, loc);
}

std::vector<Tensor> tensor_split(const Tensor& self, Int sections, Int dim, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "tensor_split", loc);
  if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "tensor_split", loc, "cannot be applied to a 0-dim tensor");
  const int d = wrapped(m, dim, "tensor_split", loc);
  const std::int64_t n = sections.value(loc);
  if (n < 1 || n > (std::int64_t{1} << 20))
    fail(ErrorCode::InvalidArgument, "tensor_split", loc, "sections must be between 1 and 2^20, got ", n);
  guards::LibraryScope operators;
  // The first size % n parts have one element more.
  const Int each = m.size(d) / Int(n), more = m.size(d) % Int(n);
  std::vector<Tensor> parts;
  Int at = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const Int size = each + Int::max(Int(0), Int::min(Int(1), more - Int(i)));
    parts.push_back(narrow(self, d, at, size, loc));
    at = at + size;
  }
  return parts;
}
std::vector<Tensor> tensor_split(const Tensor& self, IntArrayRef indices, Int dim, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "tensor_split", loc);
  if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "tensor_split", loc, "cannot be applied to a 0-dim tensor");
  const int d = wrapped(m, dim, "tensor_split", loc);
  std::vector<Tensor> parts;
  Int at = 0;
  for (Int i : indices) {
    parts.push_back(slice(self, d, at, i, 1, loc));
    at = i;
  }
  parts.push_back(slice(self, d, at, std::nullopt, 1, loc));
  return parts;
}
std::vector<Tensor> hsplit(const Tensor& self, Int sections, SourceLoc loc) {
  const int rank = checked_meta(self, "hsplit", loc).dim();
  if (rank < 1) fail(ErrorCode::ShapeMismatch, "hsplit", loc, "cannot be applied to a 0-dim tensor");
  const int d = rank == 1 ? 0 : 1;
  if (!graph::require(detail::compare_eq(self.size(d) % sections, 0, loc), "hsplit: divides evenly"))
    fail(ErrorCode::ShapeMismatch, "hsplit", loc, "size ", self.size(d), " is no multiple of ", sections);
  return tensor_split(self, sections, d, loc);
}
std::vector<Tensor> vsplit(const Tensor& self, Int sections, SourceLoc loc) {
  if (checked_meta(self, "vsplit", loc).dim() < 2)
    fail(ErrorCode::ShapeMismatch, "vsplit", loc, "needs at least 2 dimensions");
  if (!graph::require(detail::compare_eq(self.size(0) % sections, 0, loc), "vsplit: divides evenly"))
    fail(ErrorCode::ShapeMismatch, "vsplit", loc, "size ", self.size(0), " is no multiple of ", sections);
  return tensor_split(self, sections, 0, loc);
}

Tensor Tensor::swapdims_(Int dim0, Int dim1, SourceLoc loc) const { return transpose_(dim0, dim1, loc); }
Tensor Tensor::resize_as_(const Tensor& other, SourceLoc loc) const {
  return resize_(checked_meta(other, "resize_as_", loc).layout.sizes, loc);
}
Tensor Tensor::as_strided_(IntArrayRef size, IntArrayRef stride, std::optional<Int> storage_offset,
                           SourceLoc loc) const {
  return set_(reprise::as_strided(*this, size, stride, storage_offset, loc), loc);
}

// ---- writes

Tensor Tensor::clip_(const OptionalOperand& min, const OptionalOperand& max, SourceLoc loc) const {
  return clamp_(min, max, loc);
}
Tensor Tensor::nan_to_num_(std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf,
                           SourceLoc loc) const {
  return becomes(*this, reprise::nan_to_num(*this, nan, posinf, neginf, loc), "nan_to_num_", loc);
}
Tensor Tensor::tril_(Int diagonal, SourceLoc loc) const {
  return becomes(*this, named("tril_", [&] { return reprise::tril(*this, diagonal, loc); }), "tril_", loc);
}
Tensor Tensor::triu_(Int diagonal, SourceLoc loc) const {
  return becomes(*this, named("triu_", [&] { return reprise::triu(*this, diagonal, loc); }), "triu_", loc);
}
Tensor Tensor::cumsum_(Int dim, std::optional<DType> dtype, SourceLoc loc) const {
  const DType t = checked_meta(*this, "cumsum_", loc).dtype;
  if (dtype && *dtype != t)
    fail(ErrorCode::DTypeMismatch, "cumsum_", loc, "dtype is ", dtype_name(*dtype), ", and self, which is written, is ",
         dtype_name(t));
  return becomes(*this, named("cumsum_", [&] { return reprise::cumsum(*this, dim, t == kBool ? kInt64 : t, loc); }),
                 "cumsum_", loc);
}
Tensor Tensor::fill_diagonal_(Scalar value, SourceLoc loc) const {
  const TensorMeta m = checked_meta(*this, "fill_diagonal_", loc);
  if (m.dim() < 2)
    fail(ErrorCode::ShapeMismatch, "fill_diagonal_", loc, "needs at least 2 dimensions, got sizes ",
         graph::sizes_text(m.layout.sizes));
  for (int d = 1; d < m.dim() && m.dim() > 2; ++d)
    if (!graph::same(m.size(d), m.size(0), loc, "fill_diagonal_: equal sizes"))
      fail(ErrorCode::ShapeMismatch, "fill_diagonal_", loc, "all sizes of ", graph::sizes_text(m.layout.sizes),
           " must be equal");
  Tensor line = reprise::diagonal(*this, 0, 0, 1, loc);
  for (int d = 2; d < m.dim(); ++d) line = reprise::diagonal(line, 0, 0, line.dim() - 1, loc);
  line.fill_(value, loc);
  return *this;
}
Tensor Tensor::bernoulli_(double p, SourceLoc loc) const {
  if (!(p >= 0 && p <= 1))
    fail(ErrorCode::InvalidArgument, "bernoulli_", loc, "a probability is between 0 and 1, got ", p);
  const TensorMeta m = checked_meta(*this, "bernoulli_", loc);
  return copy_(reprise::lt(reprise::rand(m.layout.sizes, {kFloat32, m.device}, loc), p, loc), loc);
}
Tensor Tensor::bernoulli_(const Tensor& p, SourceLoc loc) const {
  const TensorMeta m = checked_meta(*this, "bernoulli_", loc);
  if (!is_floating(checked_meta(p, "bernoulli_", loc).dtype))
    fail(ErrorCode::DTypeMismatch, "bernoulli_", loc, "probabilities must be floats, got ", p.dtype());
  return becomes(*this, reprise::lt(reprise::rand(m.layout.sizes, {kFloat32, m.device}, loc), p, loc), "bernoulli_",
                 loc);
}

// Rows of `dim` become the value.
Tensor Tensor::index_fill_(Int dim, const Tensor& index, const Operand& value, SourceLoc loc) const {
  return named("index_fill_", [&] {
    const TensorMeta m = checked_meta(*this, "index_fill_", loc);
    std::vector<Tensor> list(static_cast<std::size_t>(wrapped(m, dim, "index_fill_", loc)) + 1);
    list.back() = index;
    Tensor one = value.tensor() ? *value.tensor() : full({}, value.number(), {m.dtype, m.device}, loc);
    if (one.dim() != 0)
      fail(ErrorCode::ShapeMismatch, "index_fill_", loc, "wants one value, got sizes ", graph::sizes_text(one.sizes()));
    if (m.dim() == 0)
      return reprise::unsqueeze(*this, 0, loc).index_put_(list, one.to(m.dtype, loc), false, loc), *this;
    if (graph::may_want_gradient(one)) {
      // The derivative of index_put counts an index as often as it is named; an element that was filled counts once.
      const auto d = list.size() - 1;
      Ints sizes(m.layout.sizes.size(), 1);
      sizes[d] = m.size(static_cast<int>(d));
      const Tensor no = zeros({sizes[d]}, {kBool, m.device}, loc), yes = ones({}, {kBool, m.device}, loc);
      return masked_fill_(reprise::index_put(no, {index}, yes, false, loc).view(sizes, loc), one.to(m.dtype, loc), loc);
    }
    return index_put_(list, one.to(m.dtype, loc), false, loc);
  });
}
Tensor index_fill(const Tensor& self, Int dim, const Tensor& index, const Operand& value, SourceLoc loc) {
  return clone(self, loc).index_fill_(dim, index, value, loc);
}

// source's elements in order, where mask holds.
Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source, SourceLoc loc) {
  return named("masked_scatter", [&] {
    const TensorMeta m = checked_meta(self, "masked_scatter", loc);
    if (checked_meta(mask, "masked_scatter", loc).dtype != kBool)
      fail(ErrorCode::DTypeMismatch, "masked_scatter", loc, "the mask must be bool, got ", mask.dtype());
    if (checked_meta(source, "masked_scatter", loc).dtype != m.dtype)
      fail(ErrorCode::DTypeMismatch, "masked_scatter", loc, "the source is ", source.dtype(), ", self ", m.dtype);
    guards::LibraryScope operators;
    const Int have = source.numel();
    const Ints sizes = graph::broadcast(m.layout.sizes, mask.sizes(), "masked_scatter", loc);
    Tensor wanted = expand(mask, sizes, loc).reshape({-1}, loc);
    Tensor place = sub(cumsum(wanted, 0, std::nullopt, loc), 1, 1, loc);  // among those that are wanted
    // What is not wanted looks at a place behind the last; more than there are look behind that, which is an error.
    place = where(wanted, add(place, to(ge(place, have, loc), kInt64, loc), 1, loc), have, loc);
    Tensor padded = cat({source.reshape({-1}, loc), zeros({1}, {m.dtype, m.device}, loc)}, 0, loc);
    return where(wanted, index_select(padded, 0, place, loc), expand(self, sizes, loc).reshape({-1}, loc), loc)
        .view(sizes, loc);
  });
}
Tensor Tensor::masked_scatter_(const Tensor& mask, const Tensor& source, SourceLoc loc) const {
  return becomes(*this, reprise::masked_scatter(*this, mask, source, loc), "masked_scatter_", loc);
}

// At places counted in row-major order.
Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate, SourceLoc loc) {
  return named("put", [&] {
    const TensorMeta m = checked_meta(self, "put", loc);
    Tensor flat =
        self.reshape({-1}, loc).index_put({index.reshape({-1}, loc)}, source.reshape({-1}, loc), accumulate, loc);
    return flat.view(m.layout.sizes, loc);
  });
}
Tensor Tensor::put_(const Tensor& index, const Tensor& source, bool accumulate, SourceLoc loc) const {
  if (!is_contiguous()) return becomes(*this, reprise::put(*this, index, source, accumulate, loc), "put_", loc);
  named("put_", [&] {
    return view({-1}, loc).index_put_({index.reshape({-1}, loc)}, source.reshape({-1}, loc), accumulate, loc);
  });
  return *this;
}

// Folded by index. The mean is a sum and a count, neither of which half types can hold for long: they count to 2048 at
// most.
Tensor scatter_reduce(const Tensor& self, Int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self, SourceLoc loc) {
  if (reduce != "mean")
    return call1(OpId::scatter_reduce, {arg(self), arg(dim), arg(index), arg(src), arg(reduce), arg(include_self)},
                 loc);
  const TensorMeta m = checked_meta(self, "scatter_reduce", loc), from = checked_meta(src, "scatter_reduce", loc);
  if (m.dtype == kBool) fail(ErrorCode::DTypeMismatch, "scatter_reduce", loc, "bools have no mean");
  const bool is_half = is_low_precision(m.dtype) && from.dtype == m.dtype;
  const Tensor first = is_half ? self.to(kFloat32, loc) : self, added = is_half ? src.to(kFloat32, loc) : src;
  Tensor sums =
      call1(OpId::scatter_reduce,
            {arg(first), arg(dim), arg(index), arg(added), arg(std::string_view("sum")), arg(include_self)}, loc);
  const TensorOptions counted{kInt64, m.device};
  Tensor counts = named("scatter_reduce", [&] {
    return scatter_add(full(m.layout.sizes, include_self ? 1 : 0, counted, loc), dim, index,
                       ones(from.layout.sizes, counted, loc), loc);
  });
  if (!include_self) counts = clamp_min(counts, 1, loc);
  return div(sums, counts, is_floating(m.dtype) ? "" : "floor", loc).to(m.dtype, loc);
}
Tensor Tensor::scatter_reduce(Int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                              bool include_self, SourceLoc loc) const {
  return reprise::scatter_reduce(*this, dim, index, src, reduce, include_self, loc);
}
Tensor Tensor::scatter_reduce_(Int dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                               bool include_self, SourceLoc loc) const {
  if (reduce == "mean")
    return becomes(*this, reprise::scatter_reduce(*this, dim, index, src, reduce, include_self, loc), "scatter_reduce_",
                   loc);
  return call1(OpId::scatter_reduce, {arg(*this), arg(dim), arg(index), arg(src), arg(reduce), arg(include_self)}, loc,
               true);
}

namespace {
/// A slice's index for each of its elements, as scatter wants it.
Tensor index_of_elements(const Tensor& self, Int dim, const Tensor& index, const Tensor& source,
                         std::string_view reduce, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc), from = checked_meta(source, op, loc),
                   at = checked_meta(index, op, loc);
  if (reduce == "sum")
    fail(ErrorCode::InvalidArgument, op, loc, "reduce is 'sum', expected prod, mean, amax or amin: index_add adds");
  const int d = wrapped(m, dim, op, loc);
  bool fits = at.dim() <= 1 && from.dim() == m.dim();
  for (int k = 0; fits && k < m.dim(); ++k)
    fits = graph::same(from.size(k), k == d ? (at.dim() ? at.size(0) : Int(1)) : m.size(k), loc,
                       "index: a source of these sizes");
  if (!fits)
    fail(ErrorCode::ShapeMismatch, op, loc, "along dimension ", d, " of sizes ", graph::sizes_text(m.layout.sizes),
         " an index of sizes ", graph::sizes_text(at.layout.sizes), " wants a slice for each, not a source of sizes ",
         graph::sizes_text(from.layout.sizes));
  if (m.dim() == 0) return index.reshape({}, loc);
  Ints sizes(from.layout.sizes.size(), 1);
  sizes[static_cast<std::size_t>(d)] = from.size(d);
  return index.view(sizes, loc).expand(from.layout.sizes, loc);
}
}  // namespace

Tensor index_reduce(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self, SourceLoc loc) {
  const Tensor at = index_of_elements(self, dim, index, source, reduce, "index_reduce", loc);
  return named("index_reduce", [&] { return scatter_reduce(self, dim, at, source, reduce, include_self, loc); });
}
Tensor Tensor::index_reduce(Int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                            bool include_self, SourceLoc loc) const {
  return reprise::index_reduce(*this, dim, index, source, reduce, include_self, loc);
}
Tensor Tensor::index_reduce_(Int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                             bool include_self, SourceLoc loc) const {
  const Tensor at = index_of_elements(*this, dim, index, source, reduce, "index_reduce_", loc);
  return named("index_reduce_", [&] { return scatter_reduce_(dim, at, source, reduce, include_self, loc); });
}

// ---- products

namespace {
/// beta * self, in the product's sizes, + alpha * product; without self where beta is 0, so that its NaNs do not count.
/// Half types are summed in float32 and rounded once.
Tensor scaled_sum(const char* op, const Tensor& given, const Tensor& product, Scalar beta, Scalar alpha,
                  SourceLoc loc) {
  const TensorMeta of = checked_meta(product, op, loc);
  for (const auto& [name, number] : {std::pair{"beta", beta}, std::pair{"alpha", alpha}})
    if (number.is_float() && !is_floating(of.dtype))
      fail(ErrorCode::DTypeMismatch, op, loc, "for ", dtype_name(of.dtype), " operands '", name,
           "' must not be a float, got ", number.str());
  auto is_one = [](const Scalar& s) { return !s.is_symbolic() && s.to_double() == 1; };
  const bool widens = is_low_precision(of.dtype) && checked_meta(given, op, loc).dtype == of.dtype;
  auto scaled = [&](const Tensor& t, const Scalar& by) {
    const Tensor x = widens ? to(t, kFloat32, loc) : t;
    return is_one(by) ? x : mul(x, by, loc);
  };
  auto rounded = [&](const Tensor& t) { return widens ? to(t, of.dtype, loc) : t; };
  const Tensor self = expand(given, product.sizes(), loc);
  if (graph::ask(detail::scalar_compare(detail::FloatCompare::Equal, beta, 0, loc),
                 "a product and a sum: is self read?"))
    return is_one(alpha) ? product : mul(product, alpha, loc);
  if (is_one(beta) && is_one(alpha)) return add(self, product, 1, loc);
  return rounded(add(scaled(self, beta), scaled(product, alpha), 1, loc));
}
}  // namespace

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha,
               SourceLoc loc) {
  return named("baddbmm", [&] { return scaled_sum("baddbmm", self, bmm(batch1, batch2, loc), beta, alpha, loc); });
}
Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha, SourceLoc loc) {
  return named("addmv", [&] { return scaled_sum("addmv", self, mv(mat, vec, loc), beta, alpha, loc); });
}
Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha, SourceLoc loc) {
  return named("addr", [&] { return scaled_sum("addr", self, outer(vec1, vec2, loc), beta, alpha, loc); });
}
Tensor Tensor::baddbmm_(const Tensor& batch1, const Tensor& batch2, Scalar beta, Scalar alpha, SourceLoc loc) const {
  return becomes(*this, reprise::baddbmm(*this, batch1, batch2, beta, alpha, loc), "baddbmm_", loc);
}
Tensor Tensor::addmv_(const Tensor& mat, const Tensor& vec, Scalar beta, Scalar alpha, SourceLoc loc) const {
  return becomes(*this, reprise::addmv(*this, mat, vec, beta, alpha, loc), "addmv_", loc);
}
Tensor Tensor::addr_(const Tensor& vec1, const Tensor& vec2, Scalar beta, Scalar alpha, SourceLoc loc) const {
  return becomes(*this, reprise::addr(*this, vec1, vec2, beta, alpha, loc), "addr_", loc);
}

// ---- results into a given tensor

Tensor add_out(const Tensor& out, const Operand& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return detail::into(out, add(self, other, alpha, loc), "add_out", loc);
}
Tensor sub_out(const Tensor& out, const Operand& self, const Operand& other, Scalar alpha, SourceLoc loc) {
  return detail::into(out, sub(self, other, alpha, loc), "sub_out", loc);
}
Tensor div_out(const Tensor& out, const Operand& self, const Operand& other, SourceLoc loc) {
  return detail::into(out, div(self, other, {}, loc), "div_out", loc);
}
Tensor mm_out(const Tensor& out, const Tensor& self, const Tensor& mat2, SourceLoc loc) {
  return detail::into(out, mm(self, mat2, loc), "mm_out", loc);
}
Tensor bmm_out(const Tensor& out, const Tensor& self, const Tensor& mat2, SourceLoc loc) {
  return detail::into(out, bmm(self, mat2, loc), "bmm_out", loc);
}
Tensor matmul_out(const Tensor& out, const Tensor& self, const Tensor& other, SourceLoc loc) {
  return detail::into(out, matmul(self, other, loc), "matmul_out", loc);
}
Tensor addmm_out(const Tensor& out, const Tensor& self, const Tensor& mat1, const Tensor& mat2, Scalar beta,
                 Scalar alpha, SourceLoc loc) {
  return detail::into(out, addmm(self, mat1, mat2, beta, alpha, loc), "addmm_out", loc);
}
Tensor cat_out(const Tensor& out, TensorArrayRef tensors, Int dim, SourceLoc loc) {
  return detail::into(out, cat(tensors, dim, loc), "cat_out", loc);
}
Tensor index_select_out(const Tensor& out, const Tensor& self, Int dim, const Tensor& index, SourceLoc loc) {
  return detail::into(out, index_select(self, dim, index, loc), "index_select_out", loc);
}
Tensor where_out(const Tensor& out, const Tensor& condition, const Operand& self, const Operand& other, SourceLoc loc) {
  return detail::into(out, where(condition, self, other, loc), "where_out", loc);
}

}  // namespace reprise
