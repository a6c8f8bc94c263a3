// Functions that are several operators.
#include "base/bail.h"
#include "base/errors.h"
#include "device/backend.h"
#include "device/device_memory.h"
#include "graph/api_args.h"
#include "graph/region_gradients.h"
#include "graph/shape_rules.h"
#include "guards/general.h"
#include "reprise/ops.h"
#include "tensor/impl.h"
#include "tensor/trace_questions.h"
#include "tensor/transfer.h"

namespace reprise {

using graph::call1;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using graph::api::wrapped;

namespace {

/// 0 that does not change the dtype it is chosen against.
Scalar zero_of(DType t) { return t == DType::Bool ? Scalar(false) : Scalar(0); }

/// Index tensors for index/index_put: `index` at `dim`, every dimension before it kept.
std::vector<Tensor> indices_at(int dim, const Tensor& index) {
  std::vector<Tensor> list(static_cast<std::size_t>(dim) + 1);
  list.back() = index;
  return list;
}

Tensor index_write(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, bool accumulate,
                   bool inplace, const char* op, SourceLoc loc) {
  TensorMeta m = checked_meta(self, op, loc);
  const int d = wrapped(m, dim, op, loc);
  if (m.dim() == 0) {  // a row of one element
    const Tensor made = index_write(unsqueeze(self, 0, loc), 0, reshape(index, {-1}, loc), reshape(source, {-1}, loc),
                                    accumulate, inplace, op, loc);
    return inplace ? self : squeeze(made, 0, loc);
  }
  // Each slice of source is for one index: nothing is broadcast.
  const TensorMeta from = checked_meta(source, op, loc), at = checked_meta(index, op, loc);
  bool fits = at.dim() <= 1 && from.dim() == m.dim();
  for (int k = 0; fits && k < m.dim(); ++k)
    fits = graph::same(from.size(k), k == d ? (at.dim() ? at.size(0) : Int(1)) : m.size(k), loc,
                       "index: a source of these sizes");
  if (m.dim() && !fits)
    fail(ErrorCode::ShapeMismatch, op, loc, "along dimension ", d, " of sizes ", graph::sizes_text(m.layout.sizes),
         " an index of sizes ", graph::sizes_text(at.layout.sizes), " wants a slice for each, not a source of sizes ",
         graph::sizes_text(from.layout.sizes));
  std::vector<Tensor> list = indices_at(d, index);
  return named(op, [&] {
    return call1(OpId::index_put, {arg(self), TensorArrayRef(list), arg(source), accumulate}, loc, inplace);
  });
}

/// Keeps where `keep` (of column index and row index + diagonal) holds.
Tensor triangle(const Tensor& self, Int diagonal, bool lower, const char* op, SourceLoc loc) {
  TensorMeta m = checked_meta(self, op, loc);
  if (m.dim() < 2)
    fail(ErrorCode::ShapeMismatch, op, loc, "needs at least 2 dimensions, got sizes ",
         graph::sizes_text(m.layout.sizes));
  TensorOptions o{kInt64, m.device};
  // No diagonal is further away than this; bounds beyond it may wrap.
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  diagonal = Int::max(Int::min(diagonal, kFar), -kFar);
  Tensor edge = unsqueeze(arange(diagonal, m.size(m.dim() - 2) + diagonal, 1, o, loc), 1, loc);
  Tensor column = arange(m.size(m.dim() - 1), o, loc);
  return where(lower ? le(column, edge, loc) : ge(column, edge, loc), self, zero_of(m.dtype), loc);
}

}  // namespace

// ---- pointwise

Tensor glu(const Tensor& self, Int dim, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "glu", loc);
  int d = wrapped(m, dim, "glu", loc);
  if (m.dim() == 0 || !graph::require(detail::compare_eq(m.size(d) % 2, 0, loc), "glu: even size")) {
    fail(ErrorCode::ShapeMismatch, "glu", loc, "dimension ", d, " of sizes ", graph::sizes_text(m.layout.sizes),
         " must be even");
  }
  const Operand given = self;
  graph::api::RoundedOnce once({&given}, "glu", loc);
  const Operand x = once(given);
  std::vector<Tensor> half = chunk(*x.tensor(), 2, d, loc);
  return once.result(mul(half[0], sigmoid(half[1], loc), loc));
}

Tensor dropout(const Tensor& self, double p, bool training, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "dropout", loc);
  if (!(p >= 0 && p <= 1)) fail(ErrorCode::InvalidArgument, "dropout", loc, "p must lie in [0, 1], got ", p);
  if (!training || p == 0) return self;
  if (p == 1) return mul(self, 0.0, loc);
  return where(ge(rand_like(self, {kFloat32, std::nullopt}, loc), p, loc), mul(self, 1 / (1 - p), loc),
               zero_of(m.dtype), loc);
}

Tensor clamp_min(const Tensor& self, const Operand& min, SourceLoc loc) { return clamp(self, min, std::nullopt, loc); }
Tensor clamp_max(const Tensor& self, const Operand& max, SourceLoc loc) { return clamp(self, std::nullopt, max, loc); }
Tensor Tensor::clamp_min_(const Operand& min, SourceLoc loc) const { return clamp_(min, std::nullopt, loc); }
Tensor Tensor::clamp_max_(const Operand& max, SourceLoc loc) const { return clamp_(std::nullopt, max, loc); }

Tensor to(const Tensor& self, DType dtype, SourceLoc loc) {
  if (checked_meta(self, "to", loc).dtype == dtype) return self;
  return call1(OpId::to, {arg(self), dtype}, loc);
}
Tensor type_as(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return to(self, checked_meta(other, "type_as", loc).dtype, loc);
}

Tensor contiguous(const Tensor& self, SourceLoc loc) {
  auto left_open = [&](TraceQuestions& trace) {
    const TensorMeta m = checked_meta(self, "contiguous", loc);
    bool asked, copies;
    {
      const guards::Supposing any;
      copies = !is_contiguous(m.layout);
      asked = any.asked();
    }
    return trace.leaves_copy_open(self, asked, copies);
  };
  if (TraceQuestions* trace = trace_questions(); trace && left_open(*trace)) {
    Tensor made = clone(self, loc);
    trace->copied_perhaps(self, made);
    return made;
  }
  return is_contiguous(checked_meta(self, "contiguous", loc).layout) ? self : clone(self, loc);
}

Tensor Tensor::fill_(const Operand& value, SourceLoc loc) const {
  return call1(OpId::fill, {arg(*this), arg(value)}, loc, true);
}
Tensor Tensor::zero_(SourceLoc loc) const { return fill_(0, loc); }

// ---- reductions, normalisation, products

namespace {
/// What stands at these places along dim: a gradient goes to them alone, where that of a greatest or least value would
/// be shared by its equals.
TensorPair at_places(const Tensor& self, Int dim, bool keepdim, const Tensor& places, SourceLoc loc) {
  const Tensor values = gather(self, dim, places, loc);
  if (keepdim) return {values, places};
  return {squeeze(values, dim, loc), squeeze(places, dim, loc)};
}
}  // namespace
TensorPair max(const Tensor& self, Int dim, bool keepdim, SourceLoc loc) {
  if (self.dim() > 0 && graph::may_want_gradient(self))
    return at_places(self, dim, keepdim, argmax(self, dim, true, loc), loc);
  return {amax(self, dim, keepdim, loc), argmax(self, dim, keepdim, loc)};
}
TensorPair min(const Tensor& self, Int dim, bool keepdim, SourceLoc loc) {
  if (self.dim() > 0 && graph::may_want_gradient(self))
    return at_places(self, dim, keepdim, argmin(self, dim, true, loc), loc);
  return {amin(self, dim, keepdim, loc), argmin(self, dim, keepdim, loc)};
}
Tensor max(const Tensor& self, SourceLoc loc) {
  return named("max", [&] { return amax(self, {}, false, loc); });
}
Tensor min(const Tensor& self, SourceLoc loc) {
  return named("min", [&] { return amin(self, {}, false, loc); });
}

Tensor rms_norm(const Tensor& input, const Tensor& weight, std::optional<double> eps, SourceLoc loc) {
  return rms_norm(input, checked_meta(weight, "rms_norm", loc).layout.sizes, weight, eps, loc);
}

Tensor mv(const Tensor& self, const Tensor& vec, SourceLoc loc) {
  if (checked_meta(self, "mv", loc).dim() != 2 || checked_meta(vec, "mv", loc).dim() != 1) {
    fail(ErrorCode::ShapeMismatch, "mv", loc, "wants a matrix and a vector, got sizes ",
         graph::sizes_text(self.sizes()), " and ", graph::sizes_text(vec.sizes()));
  }
  return named("mv", [&] { return matmul(self, vec, loc); });
}

Tensor dot(const Tensor& self, const Tensor& other, SourceLoc loc) {
  if (checked_meta(self, "dot", loc).dim() != 1 || checked_meta(other, "dot", loc).dim() != 1) {
    fail(ErrorCode::ShapeMismatch, "dot", loc, "wants two vectors, got sizes ", graph::sizes_text(self.sizes()),
         " and ", graph::sizes_text(other.sizes()));
  }
  return named("dot", [&] { return matmul(self, other, loc); });
}

Tensor outer(const Tensor& self, const Tensor& vec2, SourceLoc loc) {
  if (checked_meta(self, "outer", loc).dim() != 1 || checked_meta(vec2, "outer", loc).dim() != 1) {
    fail(ErrorCode::ShapeMismatch, "outer", loc, "wants two vectors, got sizes ", graph::sizes_text(self.sizes()),
         " and ", graph::sizes_text(vec2.sizes()));
  }
  return mul(unsqueeze(self, 1, loc), vec2, loc);
}

// ---- indexing, joining

Tensor index_copy(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, SourceLoc loc) {
  return index_write(self, dim, index, source, false, false, "index_copy", loc);
}
Tensor index_add(const Tensor& self, Int dim, const Tensor& index, const Tensor& source, SourceLoc loc) {
  return index_write(self, dim, index, source, true, false, "index_add", loc);
}
Tensor Tensor::index_copy_(Int dim, const Tensor& index, const Tensor& source, SourceLoc loc) const {
  return index_write(*this, dim, index, source, false, true, "index_copy_", loc);
}
Tensor Tensor::index_add_(Int dim, const Tensor& index, const Tensor& source, SourceLoc loc) const {
  return index_write(*this, dim, index, source, true, true, "index_add_", loc);
}

Tensor one_hot(const Tensor& self, Int num_classes, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "one_hot", loc);
  if (!is_integral(m.dtype))
    fail(ErrorCode::DTypeMismatch, "one_hot", loc, "indices must be integers, got ", dtype_name(m.dtype));
  if (graph::is_to_infer(num_classes, loc)) {
    if (graph::ask(detail::compare_eq(numel(m.layout.sizes), 0, loc), "one_hot: is there an index?"))
      fail(ErrorCode::InvalidArgument, "one_hot", loc, "num_classes is -1, and there is no index to infer it from");
    num_classes = amax(self, {}, false, loc).item(loc).to_int(loc) + 1;
  }
  // Looked up in the classes, so that an index that is none of them is found out where it is read.
  Ints sizes = m.layout.sizes;
  sizes.push_back(num_classes);
  if (num_classes.hint() >= 0) graph::check_sizes(sizes, item_size(kInt64), "one_hot", loc);
  Tensor classes = arange(num_classes, {kInt64, m.device}, loc);
  Tensor index = m.dtype == kInt32 || m.dtype == kInt64 ? self : to(self, kInt64, loc);
  Tensor own = named("one_hot", [&] { return embedding(unsqueeze(classes, 1, loc), index, loc); });
  return to(eq(own, classes, loc), kInt64, loc);
}

Tensor stack(TensorArrayRef tensors, Int dim, SourceLoc loc) {
  if (tensors.size() == 0) fail(ErrorCode::InvalidArgument, "stack", loc, "needs at least one tensor");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    TensorMeta m = checked_meta(t, "stack", loc), first = checked_meta(tensors[0], "stack", loc);
    bool equal = m.dim() == first.dim();
    for (int d = 0; equal && d < m.dim(); ++d) equal = graph::same(first.size(d), m.size(d), loc, "stack: equal sizes");
    if (!equal) {
      fail(ErrorCode::ShapeMismatch, "stack", loc, "sizes ", graph::sizes_text(first.layout.sizes), " and ",
           graph::sizes_text(m.layout.sizes), " differ");
    }
    parts.push_back(unsqueeze(t, dim, loc));
  }
  return cat(parts, dim, loc);
}

Tensor hstack(TensorArrayRef tensors, SourceLoc loc) {
  if (tensors.size() == 0) fail(ErrorCode::InvalidArgument, "hstack", loc, "needs at least one tensor");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) parts.push_back(checked_meta(t, "hstack", loc).dim() == 0 ? unsqueeze(t, 0, loc) : t);
  return cat(parts, checked_meta(parts[0], "hstack", loc).dim() == 1 ? 0 : 1, loc);
}

Tensor vstack(TensorArrayRef tensors, SourceLoc loc) {
  if (tensors.size() == 0) fail(ErrorCode::InvalidArgument, "vstack", loc, "needs at least one tensor");
  std::vector<Tensor> parts;
  for (const Tensor& t : tensors) {
    const int dim = checked_meta(t, "vstack", loc).dim();
    parts.push_back(dim == 0 ? view(t, {1, 1}, loc) : dim == 1 ? unsqueeze(t, 0, loc) : t);
  }
  return cat(parts, 0, loc);
}

Tensor pad(const Tensor& self, IntArrayRef pad, Scalar value, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "pad", loc);
  if (pad.size() % 2 != 0 || pad.size() / 2 > m.layout.sizes.size()) {
    fail(ErrorCode::InvalidArgument, "pad", loc, "wants (front, back) for up to ", m.dim(), " dimensions, got ",
         graph::sizes_text(pad.vec()));
  }
  guards::LibraryScope operators;
  Ints sizes = m.layout.sizes;
  Tensor inner = self, out;
  std::size_t padded = pad.size() / 2;
  std::vector<Int> front(sizes.size(), 0), kept(sizes.begin(), sizes.end());
  for (std::size_t i = 0; i < padded; ++i) {
    int d = m.dim() - 1 - static_cast<int>(i);
    Int before = pad[2 * i], after = pad[2 * i + 1];
    // Of what depends on data the numbers seen say nothing.
    using graph::depends_on_data;
    const bool seen = !depends_on_data(before) && !depends_on_data(after) && !depends_on_data(sizes[d]);
    if (std::int64_t n = 0; seen && (__builtin_add_overflow(before.hint(), after.hint(), &n) ||
                                     __builtin_add_overflow(n, sizes[d].hint(), &n)))
      fail(ErrorCode::InvalidArgument, "pad", loc, "padding ", before, " and ", after, " of dimension ", d, " of size ",
           sizes[d], " does not fit 63 bits");
    if (seen && (before.hint() < -sizes[d].hint() || after.hint() < -sizes[d].hint()))
      fail(ErrorCode::IndexOutOfRange, "pad", loc, before, " and ", after, " take more of dimension ", d,
           " than its size ", sizes[d]);
    sizes[d] = sizes[d] + before + after;
    Int crop = 0;
    if (!graph::ask(detail::compare_le(0, before, loc), "pad: adds in front")) {
      crop = -before;
      before = 0;
    }
    kept[d] = kept[d] - crop;
    if (!graph::ask(detail::compare_le(0, after, loc), "pad: adds behind")) kept[d] = kept[d] + after;
    front[d] = before;
    inner = named("pad", [&] { return narrow(inner, d, crop, kept[d], loc); });
  }
  out = named("pad", [&] { return full(sizes, value, {m.dtype, m.device}, loc); });
  Tensor middle = out;
  for (int d = 0; d < m.dim(); ++d) middle = narrow(middle, d, front[d], kept[d], loc);
  middle.copy_(inner, loc);
  return out;
}

Tensor argsort(const Tensor& self, Int dim, bool descending, SourceLoc loc) {
  return sort(self, dim, descending, loc).second;
}

// ---- rearranging

Tensor tril(const Tensor& self, Int diagonal, SourceLoc loc) { return triangle(self, diagonal, true, "tril", loc); }
Tensor triu(const Tensor& self, Int diagonal, SourceLoc loc) { return triangle(self, diagonal, false, "triu", loc); }

Tensor roll(const Tensor& self, IntArrayRef shifts, IntArrayRef dims, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "roll", loc);
  if (dims.empty() && shifts.size() == 1 && m.dim() != 1) {
    return view(roll(reshape(self, Ints{-1}, loc), shifts, Ints{0}, loc), m.layout.sizes, loc);
  }
  if (shifts.size() != (dims.empty() ? 1 : dims.size())) {
    fail(ErrorCode::InvalidArgument, "roll", loc, "got ", shifts.size(), " shifts for ", dims.size(), " dimensions");
  }
  guards::LibraryScope operators;
  Tensor out = self;
  for (std::size_t i = 0; i < shifts.size(); ++i) {
    int d = dims.empty() ? 0 : wrapped(m, dims[i], "roll", loc);
    if (m.dim() == 0) continue;
    Int n = m.size(d);
    if (graph::ask(detail::compare_eq(n, 0, loc), "roll: empty dimension")) continue;
    Int shift = (shifts[i] % n + n) % n;
    if (graph::is_plain(shift, 0)) continue;
    out = cat({narrow(out, d, n - shift, shift, loc), narrow(out, d, 0, n - shift, loc)}, d, loc);
  }
  return out.impl() == self.impl() ? clone(self, loc) : out;
}

namespace {

Tensor flip_dim(const Tensor& self, int d, Int n, Device device, SourceLoc loc) {
  return index_select(self, d, arange(n - 1, -1, -1, {kInt64, device}, loc), loc);
}

// Eagerly the indices are a tensor: of a long dimension it would be larger than what it turns around, so that goes by
// blocks.
Tensor flip_in_blocks(const Tensor& self, int d, std::int64_t n, std::int64_t block, Device device, SourceLoc loc) {
  Tensor out = empty_like(self, {}, loc);
  for (std::int64_t at = 0; at < n; at += block) {
    const std::int64_t end = std::min(n, at + block);
    out.slice(d, at, end, 1, loc)
        .copy_(flip_dim(self.slice(d, n - end, n - at, 1, loc), d, end - at, device, loc), loc);
  }
  return out;
}

}  // namespace

Tensor flip(const Tensor& self, IntArrayRef dims, SourceLoc loc) {
  constexpr std::int64_t kLong = std::int64_t{1} << 20;
  TensorMeta m = checked_meta(self, "flip", loc);
  guards::LibraryScope operators;
  Tensor out = self;
  std::uint32_t seen = 0;
  for (Int dim : dims) {
    int d = wrapped(m, dim, "flip", loc);
    if (m.dim() == 0) continue;
    if (seen & (1u << d))
      fail(ErrorCode::InvalidArgument, "flip", loc, "dimension ", d, " appears twice in ",
           graph::sizes_text(dims.vec()));
    seen |= 1u << d;
    const Int n = m.size(d);
    out = !current_trace && n.hint() > kLong ? flip_in_blocks(out, d, n.hint(), kLong, m.device, loc)
                                             : flip_dim(out, d, n, m.device, loc);
  }
  return out.impl() == self.impl() ? clone(self, loc) : out;
}

namespace {
void need_count(Int repeats, const char* op, SourceLoc loc) {
  if (!graph::require(detail::compare_le(0, repeats, loc), "repeat: how often"))
    fail(ErrorCode::InvalidArgument, op, loc, "cannot repeat ", repeats, " times");
}
[[noreturn]] void too_many(Int repeats, Int size, const char* op, SourceLoc loc) {
  fail(ErrorCode::InvalidArgument, op, loc, repeats, " repeats of size ", size,
       " hold more elements than 63 bits can count");
}
}  // namespace

Tensor repeat(const Tensor& self, IntArrayRef repeats, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "repeat", loc);
  if (repeats.size() < m.layout.sizes.size()) {
    fail(ErrorCode::ShapeMismatch, "repeat", loc, "got ", repeats.size(), " repeats for sizes ",
         graph::sizes_text(m.layout.sizes));
  }
  std::size_t lead = repeats.size() - m.layout.sizes.size();
  if (repeats.size() > kMaxRank)
    fail(ErrorCode::InvalidArgument, "repeat", loc, "got ", repeats.size(), " repeats; at most ", kMaxRank,
         " dimensions are supported");
  guards::LibraryScope operators;
  Tensor tiled = self;
  Ints expanded, sizes;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    Int r = repeats[i], n = i < lead ? Int(1) : m.size(static_cast<int>(i - lead));
    need_count(r, "repeat", loc);
    if (i >= lead && !graph::product_now({r, n})) too_many(r, n, "repeat", loc);
    sizes.push_back(i < lead ? r : r * n);
    if (i < lead || !graph::is_plain(r, 1)) {  // a new dimension in front of the repeated one
      tiled = unsqueeze(tiled, static_cast<int>(expanded.size()), loc);
      expanded.push_back(r);
    }
    if (i >= lead) expanded.push_back(n);
  }
  tiled = expand(tiled, expanded, loc);
  return view(clone(tiled, loc), sizes, loc);
}

Tensor repeat_interleave(const Tensor& self, Int repeats, Int dim, SourceLoc loc) {
  TensorMeta m = checked_meta(self, "repeat_interleave", loc);
  int d = wrapped(m, dim, "repeat_interleave", loc);
  if (m.dim() == 0) fail(ErrorCode::ShapeMismatch, "repeat_interleave", loc, "cannot be applied to a 0-dim tensor");
  need_count(repeats, "repeat_interleave", loc);
  if (!graph::product_now({m.size(d), repeats})) too_many(repeats, m.size(d), "repeat_interleave", loc);
  guards::LibraryScope operators;
  Ints expanded = m.layout.sizes, sizes = m.layout.sizes;
  expanded.insert(expanded.begin() + d + 1, repeats);
  sizes[d] = sizes[d] * repeats;
  return view(clone(expand(unsqueeze(self, d + 1, loc), expanded, loc), loc), sizes, loc);
}

}  // namespace reprise
