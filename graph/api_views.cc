// Functions that are a view in another spelling, a view or a copy (reshape), or several views.
#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "guards/general.h"
#include "guards/shape_env.h"
#include "reprise/ops.h"
#include "tensor/impl.h"
#include "tensor/trace_questions.h"

namespace reprise {

using graph::call1;
using graph::call_metadata;
using graph::OpId;
using graph::require;
using graph::same;
using graph::sizes_text;
using graph::api::arg;
using graph::api::checked_meta;

namespace {

/// A list is as long at every call. `why`: static.
std::int64_t length_of_list(Int n, const char* why, SourceLoc loc) {
  return n.is_symbolic() ? n.living()->env().pin(n.expr(), loc, why) : n.value(loc);
}

int wrap(Int d, int rank, const char* op, SourceLoc loc) { return wrap_dim(d.value(loc), rank, op, loc); }

/// 0, 1, ... with a and b exchanged.
Ints swapped(int rank, Int a, Int b, const char* op, SourceLoc loc) {
  int i = wrap(a, rank, op, loc), j = wrap(b, rank, op, loc);
  Ints dims;
  for (int d = 0; d < rank; ++d) dims.push_back(d);
  if (rank) std::swap(dims[i], dims[j]);
  return dims;
}

/// Each part is a tensor of its own; a view may have any size.
void check_count(std::int64_t parts, int dim, Int size, const char* op, SourceLoc loc) {
  constexpr std::int64_t kMost = 1 << 20;
  if (parts > kMost)
    fail(ErrorCode::InvalidArgument, op, loc, parts, " parts of dimension ", dim, " of size ", size, "; at most ",
         kMost, " are made");
}

Ints transposed_matrix(const Tensor& self, const char* op, SourceLoc loc) {
  int rank = checked_meta(self, op, loc).dim();
  if (rank > 2)
    fail(ErrorCode::ShapeMismatch, op, loc, "wants at most 2 dimensions, got sizes ", sizes_text(self.sizes()));
  return rank == 2 ? Ints{1, 0} : rank == 1 ? Ints{0} : Ints{};
}

}  // namespace

Tensor reshape(const Tensor& self, IntArrayRef shape, SourceLoc loc) {
  guards::LibraryScope operators;
  TensorMeta m = checked_meta(self, "reshape", loc);
  Ints sizes = graph::infer_size(m.layout.sizes, shape.vec(), loc, "reshape");
  if (TraceQuestions* trace = trace_questions()) {
    bool asked, copies;
    {
      const guards::Supposing any;
      copies = !graph::view_strides(m.layout, sizes, loc);
      asked = any.asked();
    }
    if (trace->leaves_copy_open(self, asked, copies)) {
      Tensor made = view(clone(self, loc), sizes, loc);
      trace->copied_perhaps(self, made);
      return made;
    }
  }
  return view(graph::view_strides(m.layout, sizes, loc) ? self : clone(self, loc), sizes, loc);
}

Tensor view_as(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return view(self, checked_meta(other, "view_as", loc).layout.sizes, loc);
}
Tensor reshape_as(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return reshape(self, checked_meta(other, "reshape_as", loc).layout.sizes, loc);
}

Tensor flatten(const Tensor& self, Int start_dim, Int end_dim, SourceLoc loc) {
  Ints in = checked_meta(self, "flatten", loc).layout.sizes, sizes;
  int rank = static_cast<int>(in.size());
  int start = wrap(start_dim, rank, "flatten", loc), end = wrap(end_dim, rank, "flatten", loc);
  if (start > end)
    fail(ErrorCode::InvalidArgument, "flatten", loc, "start_dim ", start_dim, " comes after end_dim ", end_dim);
  if (rank == 0) return reshape(self, Ints{1}, loc);
  if (start == end) return self;
  guards::LibraryScope operators;
  Int joined = 1;
  for (int d = start; d <= end; ++d) joined = joined * in[d];
  if (!graph::product_now(Ints(in.begin() + start, in.begin() + end + 1)))
    fail(ErrorCode::InvalidArgument, "flatten", loc, "dimensions ", start, " to ", end, " of sizes ", sizes_text(in),
         " hold more elements than 63 bits can count");
  for (int d = 0; d < rank; ++d) {
    if (d < start || d > end) sizes.push_back(in[d]);
    if (d == start) sizes.push_back(joined);
  }
  return reshape(self, sizes, loc);
}

Tensor unflatten(const Tensor& self, Int dim, IntArrayRef sizes, SourceLoc loc) {
  Ints in = checked_meta(self, "unflatten", loc).layout.sizes, out;
  int at = wrap(dim, static_cast<int>(in.size()), "unflatten", loc);
  if (in.empty()) fail(ErrorCode::ShapeMismatch, "unflatten", loc, "cannot be applied to a 0-dim tensor");
  guards::LibraryScope operators;
  Ints parts = graph::infer_size(Ints{in[at]}, sizes.vec(), loc, "unflatten");
  for (int d = 0; d < static_cast<int>(in.size()); ++d) {
    if (d == at) {
      out.append(parts.begin(), parts.end());
    } else {
      out.push_back(in[d]);
    }
  }
  return view(self, out, loc);
}

Tensor transpose(const Tensor& self, Int dim0, Int dim1, SourceLoc loc) {
  return permute(self, swapped(checked_meta(self, "transpose", loc).dim(), dim0, dim1, "transpose", loc), loc);
}
Tensor swapaxes(const Tensor& self, Int dim0, Int dim1, SourceLoc loc) { return transpose(self, dim0, dim1, loc); }
Tensor t(const Tensor& self, SourceLoc loc) { return permute(self, transposed_matrix(self, "t", loc), loc); }

Tensor movedim(const Tensor& self, Int source, Int destination, SourceLoc loc) {
  int rank = checked_meta(self, "movedim", loc).dim();
  int from = wrap(source, rank, "movedim", loc), to = wrap(destination, rank, "movedim", loc);
  Ints dims;
  for (int d = 0; d < rank; ++d) {
    if (d != from) dims.push_back(d);
  }
  if (rank) dims.insert(dims.begin() + to, Int(from));
  return permute(self, dims, loc);
}

Tensor narrow(const Tensor& self, Int dim, Int start, Int length, SourceLoc loc) {
  Ints sizes = checked_meta(self, "narrow", loc).layout.sizes;
  if (sizes.empty()) fail(ErrorCode::ShapeMismatch, "narrow", loc, "cannot be applied to a 0-dim tensor");
  int d = wrap(dim, static_cast<int>(sizes.size()), "narrow", loc);
  guards::LibraryScope operators;
  // Of what depends on data the number seen says nothing.
  auto beyond = [](Int n, Int size) {
    return !graph::depends_on_data(n) && !graph::depends_on_data(size) && n.hint() > size.hint();
  };
  if (!graph::ask(detail::compare_le(0, start, loc), "narrow: start counts from the front")) start = start + sizes[d];
  if (!require(detail::compare_le(0, length, loc), "narrow: length not negative") ||
      !require(detail::compare_le(0, start, loc), "narrow: start within the size") || beyond(start, sizes[d]) ||
      beyond(length, sizes[d]) ||  // their sum may wrap
      !require(detail::compare_le(start + length, sizes[d], loc), "narrow: end within the size")) {
    fail(ErrorCode::IndexOutOfRange, "narrow", loc, "start ", start, " and length ", length,
         " are out of range for dimension ", d, " of sizes ", sizes_text(sizes));
  }
  return slice(self, d, start, start + length, 1, loc);
}

Tensor expand_as(const Tensor& self, const Tensor& other, SourceLoc loc) {
  return expand(self, checked_meta(other, "expand_as", loc).layout.sizes, loc);
}
Tensor broadcast_to(const Tensor& self, IntArrayRef size, SourceLoc loc) { return expand(self, size, loc); }

Tensor unfold(const Tensor& self, Int dimension, Int size, Int step, SourceLoc loc) {
  Layout in = checked_meta(self, "unfold", loc).layout;
  in.strides = self.strides();
  const bool is_number = in.dim() == 0;  // one window of at most one element
  if (is_number) in.sizes = {1}, in.strides = {1};
  int d = wrap(dimension, in.dim(), "unfold", loc);
  if (!require(detail::compare_lt(0, step, loc), "unfold: positive step") ||
      !require(detail::compare_le(0, size, loc), "unfold: size not negative") ||
      !require(detail::compare_le(size, in.sizes[d], loc), "unfold: size within the dimension")) {
    fail(ErrorCode::InvalidArgument, "unfold", loc, "size ", size, " and step ", step, " do not fit dimension ", d,
         " of sizes ", sizes_text(in.sizes));
  }
  if (is_number) return as_strided(self, Ints{size}, Ints{1}, std::nullopt, loc);
  guards::LibraryScope operators;
  Layout out = in;
  out.sizes[d] = (in.sizes[d] - size) / step + 1;
  // A step that leads beyond all memory makes one window, whose stride is of no use.
  if (graph::product_fits(in.strides[d], step, "unfold: the windows' stride fits"))
    out.strides[d] = in.strides[d] * step;
  out.sizes.push_back(size);
  out.strides.push_back(in.strides[d]);
  return as_strided(self, out.sizes, out.strides, std::nullopt, loc);
}

std::vector<Tensor> split_with_sizes(const Tensor& self, IntArrayRef split_sizes, Int dim, SourceLoc loc) {
  Ints sizes = checked_meta(self, "split", loc).layout.sizes;
  if (sizes.empty()) fail(ErrorCode::ShapeMismatch, "split", loc, "cannot be applied to a 0-dim tensor");
  int d = wrap(dim, static_cast<int>(sizes.size()), "split", loc);
  guards::LibraryScope operators;
  Int total = 0;
  std::int64_t now = 0;
  bool fits = true;
  for (Int s : split_sizes) {
    total = total + s;
    fits = graph::depends_on_data(s) || (!__builtin_add_overflow(now, s.hint(), &now) && fits);
  }
  if (!fits || !same(total, sizes[d], loc, "split: sizes add up")) {
    fail(ErrorCode::ShapeMismatch, "split", loc, "sizes ", sizes_text(split_sizes.vec()), " do not add up to size ",
         sizes[d], " of dimension ", d);
  }
  std::vector<Tensor> parts;
  Int at = 0;
  for (Int s : split_sizes) {
    parts.push_back(narrow(self, d, at, s, loc));
    at = at + s;
  }
  return parts;
}

std::vector<Tensor> split(const Tensor& self, Int split_size, Int dim, SourceLoc loc) {
  Ints sizes = checked_meta(self, "split", loc).layout.sizes;
  if (sizes.empty()) fail(ErrorCode::ShapeMismatch, "split", loc, "cannot be applied to a 0-dim tensor");
  int d = wrap(dim, static_cast<int>(sizes.size()), "split", loc);
  if (!require(detail::compare_lt(0, split_size, loc), "split: positive size")) {
    // Nothing is one part of nothing.
    if (require(detail::compare_eq(split_size, 0, loc), "split: into parts of nothing") &&
        require(detail::compare_eq(sizes[d], 0, loc), "split: of nothing"))
      return {slice(self, d, 0, 0, 1, loc)};
    fail(ErrorCode::InvalidArgument, "split", loc, "split_size must be positive, got ", split_size);
  }
  guards::LibraryScope operators;
  std::int64_t count = std::max<std::int64_t>(
      1,
      length_of_list(graph::count_steps(sizes[d], split_size), "pinned: the length of the list that split gives", loc));
  check_count(count, d, sizes[d], "split", loc);
  Ints parts;
  for (std::int64_t i = 0; i + 1 < count; ++i) parts.push_back(split_size);
  parts.push_back(sizes[d] - Int(count - 1) * split_size);
  return split_with_sizes(self, parts, d, loc);
}

std::vector<Tensor> chunk(const Tensor& self, Int chunks, Int dim, SourceLoc loc) {
  Ints sizes = checked_meta(self, "chunk", loc).layout.sizes;
  if (sizes.empty()) fail(ErrorCode::ShapeMismatch, "chunk", loc, "cannot be applied to a 0-dim tensor");
  int d = wrap(dim, static_cast<int>(sizes.size()), "chunk", loc);
  std::int64_t n = chunks.value(loc);
  if (n < 1) fail(ErrorCode::InvalidArgument, "chunk", loc, "chunks must be positive, got ", n);
  guards::LibraryScope operators;
  if (!graph::depends_on_data(sizes[d]) && sizes[d].hint() % n == 0)
    check_count(n, d, sizes[d], "chunk", loc);  // of size 0, too
  // Parts of one size are the common case, and then how many there are does not depend on the size.
  if (require(detail::compare_eq(sizes[d] % Int(n), 0, loc), "chunk: divides evenly")) {
    Ints parts(static_cast<std::size_t>(n), sizes[d] / Int(n));
    return split_with_sizes(self, parts, d, loc);
  }
  return split(self, graph::count_steps(sizes[d], n), d, loc);
}

std::vector<Tensor> unbind(const Tensor& self, Int dim, SourceLoc loc) {
  Ints sizes = checked_meta(self, "unbind", loc).layout.sizes;
  if (sizes.empty()) fail(ErrorCode::ShapeMismatch, "unbind", loc, "cannot be applied to a 0-dim tensor");
  int d = wrap(dim, static_cast<int>(sizes.size()), "unbind", loc);
  std::vector<Tensor> parts;
  const std::int64_t n = length_of_list(sizes[d], "pinned: the length of the list that unbind gives", loc);
  check_count(n, d, sizes[d], "unbind", loc);
  for (std::int64_t i = 0; i < n; ++i) parts.push_back(select(self, d, i, loc));
  return parts;
}

// ---- another dtype

// A view that no graph has: a storage has one dtype there.
Tensor detail::view_as_dtype(const Tensor& self, DType dtype, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "view", loc);
  if (m.dtype == dtype) return alias(self, loc);
  if (self.impl()->trace || current_trace)
    bail(Bail::two_dtypes, "view", loc, "sees ", m.dtype, " as ", dtype,
         " while it is traced: make such a view outside, or convert with to()");
  if (self.impl()->keys & kWrappedKey)
    fail(ErrorCode::InvalidArgument, "view", loc, "a tensor with an interpreter of its own (wrap) is seen as ", dtype);
  check_not_released(*self.impl(), "view", loc);
  TensorImpl made;
  made.rank = self.impl()->rank;
  std::copy(std::begin(self.impl()->sizes), std::end(self.impl()->sizes), made.sizes);
  std::copy(std::begin(self.impl()->strides), std::end(self.impl()->strides), made.strides);
  made.offset = self.impl()->offset;
  const std::int64_t from = item_size(m.dtype), to = item_size(dtype);
  if (from != to) {
    const int last = made.rank - 1;
    auto refuse = [&](const auto&... what) {
      fail(ErrorCode::ShapeMismatch, "view", loc, m.dtype, " ", sizes_text(m.layout.sizes), " is not seen as ", dtype,
           ": ", what...);
    };
    if (made.rank == 0) refuse("it has no dimension whose size could change");
    if (made.strides[last] != 1) refuse("elements of its last dimension stand ", made.strides[last], " apart");
    // All that is counted in elements, but the last stride. Of more than 63 bits of them there is no memory.
    auto scaled = [&](std::int64_t& n, const char* what) {
      if (to > from && n % (to / from)) refuse(what, n, " is no multiple of ", to / from);
      if (to > from) n /= to / from;
      else if (__builtin_mul_overflow(n, from / to, &n)) refuse(what, "is too large");
    };
    scaled(made.sizes[last], "its last size ");
    for (int d = 0; d < last; ++d) scaled(made.strides[d], "its stride ");
    scaled(made.offset, "its offset ");
  }
  Storage* storage = self.impl()->storage;
  if (made.numel() > 0 && reinterpret_cast<std::uintptr_t>(storage->data) % static_cast<std::uintptr_t>(to))
    fail(ErrorCode::InvalidArgument, "view", loc, "its memory is not aligned for ", dtype);
  retain(storage);
  return Tensor::adopt(new_impl(dtype, m.device, made.sizes, made.strides, made.rank, made.offset, storage));
}

// ---- changing metadata in place

Tensor Tensor::transpose_(Int dim0, Int dim1, SourceLoc loc) const {
  call_metadata(OpId::permute,
                {arg(*this), swapped(checked_meta(*this, "transpose_", loc).dim(), dim0, dim1, "transpose_", loc)},
                loc);
  return *this;
}
Tensor Tensor::swapaxes_(Int dim0, Int dim1, SourceLoc loc) const { return transpose_(dim0, dim1, loc); }
Tensor Tensor::t_(SourceLoc loc) const {
  call_metadata(OpId::permute, {arg(*this), transposed_matrix(*this, "t_", loc)}, loc);
  return *this;
}
Tensor Tensor::squeeze_(const OptionalDims& dim, SourceLoc loc) const {
  call_metadata(OpId::squeeze, {arg(*this), arg(dim)}, loc);
  return *this;
}
Tensor Tensor::unsqueeze_(Int dim, SourceLoc loc) const {
  call_metadata(OpId::unsqueeze, {arg(*this), dim}, loc);
  return *this;
}
Tensor Tensor::resize_(IntArrayRef size, SourceLoc loc) const {
  Ints sizes = size.vec();
  const TensorMeta m = checked_meta(*this, "resize_", loc);
  for (const Int& s : sizes)
    if (!s.is_symbolic() && s.hint() < 0)
      fail(ErrorCode::InvalidArgument, "resize_", loc, "negative size in ", graph::sizes_text(sizes));
  graph::check_sizes(sizes, item_size(m.dtype), "resize_", loc);
  bool as_it_is = m.dim() == static_cast<int>(sizes.size());
  for (std::size_t d = 0; as_it_is && d < sizes.size(); ++d)
    as_it_is = graph::ask(detail::compare_eq(m.layout.sizes[d], sizes[d], loc), "resize_: the same sizes");
  if (as_it_is) return *this;
  // the strides tell
  for (std::size_t d = 1; d < sizes.size(); ++d)
    graph::ask(detail::compare_eq(sizes[d], 0, loc), "resize_: a size of 0");
  Ints strides = graph::made_strides(sizes);
  call_metadata(OpId::as_strided, {arg(*this), IntArrayRef(sizes), IntArrayRef(strides)}, loc);
  return *this;
}
Tensor Tensor::set_(const Tensor& source, SourceLoc loc) const {
  call_metadata(OpId::set, {arg(*this), arg(source)}, loc);
  return *this;
}

}  // namespace reprise
