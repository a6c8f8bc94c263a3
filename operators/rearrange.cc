// What stands around images, and their elements rearranged: padding by modes and columns of windows are nodes of
// graphs, the shuffles are views and a copy.
#include <array>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/spatial.h"
#include "reprise/ops.h"
#include "reprise/vision.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using operators::Steps;
using operators::V;
using passes::Build;

namespace {

// ---- padding. A mode says which element stands at a place that counts on beyond the image.

struct Mode {
  V (*element)(Build&, V at, Int size, Int front, Int back);  ///< of int64 [places] that may lie outside [0, size)
  Int (*most)(Int size);                                      ///< how much may be added on a side
  const char* most_text;
};
constexpr Mode kModes[] = {
    {[](Build& b, V at, Int size, Int, Int) {  // mirrored at 0, then at size - 1
       const V mirrored = b.unary(OpId::abs, at);
       return b.sub(b.emit(OpId::full, {Ints{}, Scalar(size - 1), DType::Int64, b.meta(at).device.str()}),
                    b.unary(OpId::abs, b.sub(mirrored, Scalar(size - 1))));
     },
     [](Int size) { return size - 1; }, "less than the size"},
    {[](Build& b, V at, Int size, Int, Int) {
       return b.emit(OpId::clamp, {at, Scalar(0), Scalar(size - 1)});
     },
     nullptr, ""},
    {[](Build& b, V at, Int size, Int front, Int back) {  // what is cropped is gone before the rest goes round
       const Int before = Int::min(front, 0), left = size + before + Int::min(back, 0);
       if (graph::is_plain(before, 0)) return b.emit(OpId::remainder, {at, Scalar(left)});
       return b.sub(b.emit(OpId::remainder, {b.add(at, Scalar(before)), Scalar(left)}), Scalar(before));
     },
     [](Int size) { return size; }, "at most the size"},
};

void pad_shape_of(graph::RuleCtx& c, const Mode& mode) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta& x = c.tensor(0);
  const Ints& padding = c.ints(1);
  const std::size_t n = padding.size() / 2;
  if (padding.size() % 2 || n < 1 || n > 3)
    fail(ErrorCode::InvalidArgument, name, c.loc, "wants (front, back) for one to three dimensions, got ",
         graph::sizes_text(padding));
  if (x.dim() < static_cast<int>(n) + 1)
    fail(ErrorCode::ShapeMismatch, name, c.loc, "wants at least ", n + 1, " dimensions, got sizes ",
         graph::sizes_text(x.layout.sizes));
  Ints sizes = x.layout.sizes;
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t d = sizes.size() - 1 - i;
    const Int size = sizes[d];
    Int front = padding[2 * i], back = padding[2 * i + 1];
    // Where a side crops, both are constants of the compilation: of what is added alone sums of sizes are known to be
    // no less than these.
    for (Int side : {front, back})
      if (!graph::ask(detail::compare_le(0, side, c.loc), "padding: adds elements"))
        front = front.value(c.loc), back = back.value(c.loc);
    if (!graph::require(detail::compare_lt(0, size, c.loc), "padding: there are elements"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "dimension ", d, " of sizes ", graph::sizes_text(x.layout.sizes),
           " has no elements");
    if (mode.most)
      for (Int side : {front, back})
        if (!graph::require(detail::compare_le(side, mode.most(size), c.loc), "padding: not more than there is"))
          fail(ErrorCode::InvalidArgument, name, c.loc, "padding ", side, " of dimension ", d, " of sizes ",
               graph::sizes_text(x.layout.sizes), " must be ", mode.most_text);
    sizes[d] = size + front + back;
    if (!graph::require(detail::compare_lt(0, sizes[d], c.loc), "padding: elements are left"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "padding ", front, " and ", back, " leaves nothing of dimension ", d,
           " of sizes ", graph::sizes_text(x.layout.sizes));
  }
  c.result(x.dtype, sizes);
}

template <int kMode>
void pad_shape(graph::RuleCtx& c) {
  pad_shape_of(c, kModes[kMode]);
}

template <int kMode>
V decompose_pad(Build& b, DType) {
  const V x = b.tensor(0);
  const Ints& padding = b.ints(1);
  const int rank = b.dim(x);
  const std::size_t n = padding.size() / 2;
  std::vector<V> indices(static_cast<std::size_t>(rank));
  for (std::size_t i = 0; i < n; ++i) {
    const Int size = b.sizes(x)[static_cast<std::size_t>(rank) - 1 - i], front = padding[2 * i],
              back = padding[2 * i + 1];
    V at = operators::positions(b, x, size + front + back);
    if (!graph::is_plain(front, 0)) at = b.sub(at, Scalar(front));
    if (!graph::is_plain(front, 0) || !graph::is_plain(back, 0)) at = kModes[kMode].element(b, at, size, front, back);
    Ints beside{b.sizes(at)[0]};
    for (std::size_t k = 0; k < i; ++k) beside.push_back(1);
    indices[static_cast<std::size_t>(rank) - 1 - i] = b.emit(OpId::view, {at, beside});
  }
  return operators::taken(b, x, indices);
}

template <int kMode>
OpId pad_op() {
  static constexpr const char* kNames[] = {"reflection_pad", "replication_pad", "circular_pad"};
  static constexpr operators::derivatives::Rule* kRules[] = {operators::derivatives::reflection_pad,
                                                             operators::derivatives::replication_pad,
                                                             operators::derivatives::circular_pad};
  static const OpId id =
      graph::register_op({.schema = std::string(kNames[kMode]) + "(Tensor self, SymInt[] padding) -> Tensor",
                          .cls = graph::OpClass::Composite,
                          .shape = pad_shape<kMode>,
                          .moves = true},
                         {passes::decompositions().fact({decompose_pad<kMode>}),
                          operators::derivative(kRules[kMode], autograd::kNothing)});
  return id;
}
enum { kReflect, kReplicate, kCircular };

Tensor pad_dims(const char* name, OpId op, int n, const Tensor& self, IntArrayRef padding, SourceLoc loc) {
  const Ints all = operators::per_dim(padding, 2 * n, name, "padding", loc);
  const TensorMeta m = checked_meta(self, name, loc);
  if (m.dim() != n + 1 && m.dim() != n + 2)
    fail(ErrorCode::ShapeMismatch, name, loc, "wants ", n + 2, " dimensions, or ", n + 1,
         " without a batch, got sizes ", graph::sizes_text(m.layout.sizes));
  return named(name, [&] { return graph::call1(op, {arg(self), arg(IntArrayRef(all))}, loc); });
}

// ---- columns of windows

enum Column { kImage, kKernel, kDilation, kPadding, kStride };  // of im2col; col2im has output_size first

std::vector<Steps> steps_of(const Ints& kernel, const Ints& dilation, const Ints& stride, SourceLoc loc) {
  std::vector<Steps> all;
  for (std::size_t i = 0; i < kernel.size(); ++i)
    all.push_back({kernel[i].value(loc), stride[i].value(loc), dilation[i].value(loc)});
  return all;
}
/// The windows that fit an image of these sizes; checks the numbers.
Ints window_counts(graph::RuleCtx& c, const Ints& sizes, int first) {
  const char* name = c.op.schema.name.c_str();
  const Ints &kernel = c.ints(first), &dilation = c.ints(first + 1), &padding = c.ints(first + 2),
             &stride = c.ints(first + 3);
  for (const Ints* list : {&kernel, &dilation, &padding, &stride})
    if (list->size() != 2)
      fail(ErrorCode::InvalidArgument, name, c.loc, "wants two numbers each, got ", graph::sizes_text(*list));
  const std::vector<Steps> steps = steps_of(kernel, dilation, stride, c.loc);
  Ints counts;
  for (std::size_t i = 0; i < 2; ++i) {
    if (steps[i].kernel < 1 || steps[i].stride < 1 || steps[i].dilation < 1 || padding[i].value(c.loc) < 0)
      fail(ErrorCode::InvalidArgument, name, c.loc,
           "kernel size, stride and dilation must be positive, padding not negative: got ", steps[i].kernel, ", ",
           steps[i].stride, ", ", steps[i].dilation, " and ", padding[i]);
    const Int room = sizes[i] + 2 * padding[i];
    if (!graph::require(detail::compare_le(steps[i].reach(), room, c.loc), "windows: one fits"))
      fail(ErrorCode::ShapeMismatch, name, c.loc, "a window that reaches over ", steps[i].reach(),
           " elements does not fit an image of sizes ", graph::sizes_text(sizes), " with ", padding[i],
           " on both sides");
    counts.push_back(operators::windows(room, steps[i]));
  }
  return counts;
}

void im2col_shape(graph::RuleCtx& c) {
  const TensorMeta& x = c.tensor(kImage);
  if (x.dim() != 4)
    fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc, "wants an image [n, c, h, w], got sizes ",
         graph::sizes_text(x.layout.sizes));
  const Ints counts = window_counts(c, Ints{x.size(2), x.size(3)}, kKernel);
  c.result(x.dtype, {x.size(0), x.size(1) * (c.ints(kKernel)[0] * c.ints(kKernel)[1]), counts[0] * counts[1]});
}
V decompose_im2col(Build& b, DType) {
  const V x = b.tensor(kImage);
  const std::vector<Steps> steps = steps_of(b.ints(kKernel), b.ints(kDilation), b.ints(kStride), b.loc());
  const V seen =
      operators::window_view(b, operators::padded(b, x, b.ints(kPadding), b.ints(kPadding), Scalar(0)), steps);
  const Ints& s = b.sizes(seen);
  const Ints made{s[0], s[1] * (s[4] * s[5]), s[2] * s[3]};
  return b.reshape(b.emit(OpId::permute, {seen, Ints{0, 1, 4, 5, 2, 3}}), made);
}
OpId im2col_op() {
  static const OpId id = graph::register_op(
      {.schema = "im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
       .cls = graph::OpClass::Composite,
       .shape = im2col_shape},
      {passes::decompositions().fact({decompose_im2col}),
       operators::derivative(operators::derivatives::im2col, autograd::kNothing)});
  return id;
}

void col2im_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  const TensorMeta& x = c.tensor(0);
  const Ints& out = c.ints(1);
  if (x.dim() != 3 || out.size() != 2)
    fail(ErrorCode::ShapeMismatch, name, c.loc,
         "wants columns [n, c * places, windows] and two output sizes, got sizes ", graph::sizes_text(x.layout.sizes),
         " and ", graph::sizes_text(out));
  const Ints counts = window_counts(c, out, 2);
  const Int places = c.ints(2)[0] * c.ints(2)[1];
  if (!graph::require(detail::compare_eq(x.size(1) % places, 0, c.loc), "col2im: channels of all places"))
    fail(ErrorCode::ShapeMismatch, name, c.loc, x.size(1), " rows are no multiple of a window's ", places, " places");
  if (!graph::same(x.size(2), counts[0] * counts[1], c.loc, "col2im: a column for each window"))
    fail(ErrorCode::ShapeMismatch, name, c.loc, "an image of sizes ", graph::sizes_text(out), " has ",
         counts[0] * counts[1], " windows, not ", x.size(2));
  c.result(x.dtype, {x.size(0), x.size(1) / places, out[0], out[1]});
}
V decompose_col2im(Build& b, DType result) {
  const V x = b.to(b.tensor(0), Build::accumulator(result));
  const Ints &out = b.ints(1), &padding = b.ints(4);
  const std::vector<Steps> steps = steps_of(b.ints(2), b.ints(3), b.ints(5), b.loc());
  Ints sizes{b.sizes(x)[0], b.sizes(x)[1] / operators::places(steps)}, given = sizes;
  for (const Steps& s : steps) given.push_back(s.kernel);
  for (std::size_t i = 0; i < 2; ++i)
    sizes.push_back(out[i] + 2 * padding[i]), given.push_back(operators::windows(sizes[i + 2], steps[i]));
  V sum = operators::added_up(b, b.reshape(x, given), steps, sizes);
  for (std::size_t i = 0; i < 2; ++i)
    if (!graph::is_plain(padding[i], 0))
      sum = operators::slice(b, sum, static_cast<int>(i) + 2, padding[i], padding[i] + out[i]);
  return b.to(sum, result);
}
OpId col2im_op() {
  static const OpId id =
      graph::register_op({.schema = "col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, "
                                    "int[2] padding, int[2] stride) -> Tensor",
                          .cls = graph::OpClass::Composite,
                          .shape = col2im_shape},
                         {passes::decompositions().fact({decompose_col2im}),
                          operators::derivative(operators::derivatives::col2im, autograd::kNothing)});
  return id;
}

}  // namespace

namespace detail {
Tensor pad_by_mode(const Tensor& self, IntArrayRef pad, std::string_view mode, std::optional<double> value,
                   SourceLoc loc) {
  if (mode == "constant") return reprise::pad(self, pad, value ? Scalar(*value) : Scalar(0), loc);
  OpId (*op)() = mode == "reflect"     ? pad_op<kReflect>
                 : mode == "replicate" ? pad_op<kReplicate>
                 : mode == "circular"  ? pad_op<kCircular>
                                       : nullptr;
  if (!op)
    fail(ErrorCode::InvalidArgument, "pad", loc, "mode is '", mode,
         "', expected constant, reflect, replicate or circular");
  if (value && *value != 0) fail(ErrorCode::InvalidArgument, "pad", loc, "mode '", mode, "' takes no value");
  return named("pad", [&] { return graph::call1(op(), {arg(self), arg(pad)}, loc); });
}
}  // namespace detail

#define REPRISE_PADS(n)                                                                     \
  Tensor reflection_pad##n##d(const Tensor& self, IntArrayRef padding, SourceLoc loc) {     \
    return pad_dims("reflection_pad" #n "d", pad_op<kReflect>(), n, self, padding, loc);    \
  }                                                                                         \
  Tensor replication_pad##n##d(const Tensor& self, IntArrayRef padding, SourceLoc loc) {    \
    return pad_dims("replication_pad" #n "d", pad_op<kReplicate>(), n, self, padding, loc); \
  }
REPRISE_PADS(1)
REPRISE_PADS(2)
REPRISE_PADS(3)
#undef REPRISE_PADS

namespace {
/// The factor of a shuffle, at least 1, and the sizes before the last three dimensions.
std::int64_t shuffle_factor(const TensorMeta& m, Int factor, const char* name, SourceLoc loc) {
  const std::int64_t r = factor.value(loc);
  if (r < 1) fail(ErrorCode::InvalidArgument, name, loc, "the factor must be positive, got ", r);
  if (m.dim() < 3)
    fail(ErrorCode::ShapeMismatch, name, loc, "wants [..., c, h, w], got sizes ", graph::sizes_text(m.layout.sizes));
  return r;
}
Ints before_images(const TensorMeta& m) { return Ints(m.layout.sizes.begin(), m.layout.sizes.end() - 3); }
Int images(const TensorMeta& m) { return numel(before_images(m)); }
Ints joined(Ints a, std::initializer_list<Int> b) {
  for (Int i : b) a.push_back(i);
  return a;
}
void need_multiple(Int size, std::int64_t of, const TensorMeta& m, const char* name, SourceLoc loc) {
  if (!graph::require(detail::compare_eq(size % of, 0, loc), "shuffle: a multiple"))
    fail(ErrorCode::ShapeMismatch, name, loc, size, " of sizes ", graph::sizes_text(m.layout.sizes),
         " is no multiple of ", of);
}
}  // namespace

namespace {
/// A copy also where a view would do, as in ATen: by a factor of 1, of images of one element.
Tensor copied_as(const Tensor& turned, const Ints& sizes, SourceLoc loc) {
  return view(clone(turned, loc), sizes, loc);
}
}  // namespace

Tensor pixel_shuffle(const Tensor& self, Int upscale_factor, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "pixel_shuffle", loc);
  const std::int64_t r = shuffle_factor(m, upscale_factor, "pixel_shuffle", loc);
  const Int c = m.size(m.dim() - 3), h = m.size(m.dim() - 2), w = m.size(m.dim() - 1);
  need_multiple(c, r * r, m, "pixel_shuffle", loc);
  const Tensor rows = reshape(self, {images(m), c / (r * r), r, r, h, w}, loc);
  Ints lead = before_images(m);
  return named("pixel_shuffle", [&] {
    return copied_as(permute(rows, {0, 1, 4, 2, 5, 3}, loc), joined(lead, {c / (r * r), h * r, w * r}), loc);
  });
}

Tensor pixel_unshuffle(const Tensor& self, Int downscale_factor, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "pixel_unshuffle", loc);
  const std::int64_t r = shuffle_factor(m, downscale_factor, "pixel_unshuffle", loc);
  const Int c = m.size(m.dim() - 3), h = m.size(m.dim() - 2), w = m.size(m.dim() - 1);
  need_multiple(h, r, m, "pixel_unshuffle", loc), need_multiple(w, r, m, "pixel_unshuffle", loc);
  const Tensor rows = reshape(self, {images(m), c, h / r, r, w / r, r}, loc);
  Ints lead = before_images(m);
  return named("pixel_unshuffle", [&] {
    return copied_as(permute(rows, {0, 1, 3, 5, 2, 4}, loc), joined(lead, {c * (r * r), h / r, w / r}), loc);
  });
}

Tensor channel_shuffle(const Tensor& self, Int groups, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, "channel_shuffle", loc);
  const std::int64_t g = shuffle_factor(m, groups, "channel_shuffle", loc);
  need_multiple(m.size(1), g, m, "channel_shuffle", loc);
  const Tensor rows =
      reshape(self, {m.size(0), g, m.size(1) / g, numel(Ints(m.layout.sizes.begin() + 2, m.layout.sizes.end()))}, loc);
  return named("channel_shuffle", [&] { return copied_as(permute(rows, {0, 2, 1, 3}, loc), m.layout.sizes, loc); });
}

Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation, IntArrayRef padding,
              IntArrayRef stride, SourceLoc loc) {
  const operators::Batch batch = operators::with_batch(self, 2, "im2col", loc);
  auto list = [&](IntArrayRef given, const char* what) { return operators::per_dim(given, 2, "im2col", what, loc); };
  const Ints kernel = list(kernel_size, "kernel_size"), spread = list(dilation, "dilation"),
             around = list(padding, "padding"), step = list(stride, "stride");
  return batch.result(graph::call1(im2col_op(),
                                   {arg(batch.image), arg(IntArrayRef(kernel)), arg(IntArrayRef(spread)),
                                    arg(IntArrayRef(around)), arg(IntArrayRef(step))},
                                   loc),
                      loc);
}

Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation,
              IntArrayRef padding, IntArrayRef stride, SourceLoc loc) {
  const operators::Batch batch = operators::with_batch(self, 1, "col2im", loc);
  auto list = [&](IntArrayRef given, const char* what) { return operators::per_dim(given, 2, "col2im", what, loc); };
  const Ints out = list(output_size, "output_size"), kernel = list(kernel_size, "kernel_size"),
             spread = list(dilation, "dilation"), around = list(padding, "padding"), step = list(stride, "stride");
  return batch.result(graph::call1(col2im_op(),
                                   {arg(batch.image), arg(IntArrayRef(out)), arg(IntArrayRef(kernel)),
                                    arg(IntArrayRef(spread)), arg(IntArrayRef(around)), arg(IntArrayRef(step))},
                                   loc),
                      loc);
}

namespace operators {
void register_rearrange() {
  for (OpId (*op)() : {pad_op<kReflect>, pad_op<kReplicate>, pad_op<kCircular>, im2col_op, col2im_op})
    static_cast<void>(op());
}
}  // namespace operators

}  // namespace reprise
