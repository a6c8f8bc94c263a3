// Boxes in pictures: which of those that overlap stay, and what is inside.
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/plan/columns.h"
#include "operators/families.h"
#include "operators/rows.h"
#include "reprise/selection.h"

namespace reprise {

using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;

namespace {

using namespace operators;
using kernels::reference::load_number;

struct Box {
  double x1, y1, x2, y2;
  double area() const { return (x2 - x1) * (y2 - y1); }
};
double shared(const Box& a, const Box& b) {
  return std::max(0.0, std::min(a.x2, b.x2) - std::max(a.x1, b.x1)) * std::max(0.0, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
}

// Best first; each that stays takes those that it overlaps. As many comparisons as boxes that stay, times boxes.
void nms_kernel(const NativeArgs& a) {
  const TensorView &boxes = a.tensor(0), &scores = a.tensor(1), &out = a.result(0), &count = a.result(1);
  const double limit = a.number(2).to_double();
  const std::int64_t n = boxes.sizes[0];
  std::vector<Box> box(static_cast<std::size_t>(n));
  std::vector<double> score(box.size());
  std::vector<std::int64_t> order(box.size()), kept;
  for (std::int64_t i = 0; i < n; ++i) {
    double v[4];
    read_row(boxes, i * boxes.strides[0], boxes.strides[1], 4, v);
    box[static_cast<std::size_t>(i)] = {v[0], v[1], v[2], v[3]};
  }
  read_row(scores, 0, scores.strides[0], n, score.data());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {  // NaN first, as sort has it descending
    const double p = score[static_cast<std::size_t>(i)], q = score[static_cast<std::size_t>(k)];
    return p > q || (std::isnan(p) && !std::isnan(q));
  });
  std::vector<bool> gone(box.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto at = static_cast<std::size_t>(order[i]);
    if (gone[at]) continue;
    kept.push_back(order[i]);
    for (std::size_t k = i + 1; k < order.size(); ++k) {
      const auto other = static_cast<std::size_t>(order[k]);
      const double both = shared(box[at], box[other]);
      if (!gone[other] && both / (box[at].area() + box[other].area() - both) > limit) gone[other] = true;
    }
  }
  const auto stay = static_cast<std::int64_t>(kept.size());
  kept.resize(box.size(), -1);
  write_row(out, 0, out.strides[0], n, kept.data());
  write_row(count, 0, 0, 1, &stay);
}

void nms_shape(graph::RuleCtx& c) {
  const TensorMeta &boxes = c.tensor(0), &scores = c.tensor(1);
  if (!is_floating(boxes.dtype) || boxes.dtype != scores.dtype) fail(ErrorCode::DTypeMismatch, "nms", c.loc, "wants floats of one dtype, got boxes of ", dtype_name(boxes.dtype), " and scores of ", dtype_name(scores.dtype));
  if (boxes.dim() != 2 || scores.dim() != 1 || !graph::same(boxes.size(1), 4, c.loc, "nms: boxes of four numbers") || !graph::same(boxes.size(0), scores.size(0), c.loc, "nms: a score for each box"))
    fail(ErrorCode::ShapeMismatch, "nms", c.loc, "wants boxes [n, 4] and scores [n], got sizes ", graph::sizes_text(boxes.layout.sizes), " and ", graph::sizes_text(scores.layout.sizes));
  c.result(DType::Int64, {boxes.size(0)});
  c.result(DType::Int64, {});
}

/// The bilinear mean of four pixels; nothing beyond one pixel outside.
double sample(const double* image, std::int64_t h, std::int64_t w, double y, double x) {
  if (!(y >= -1 && y <= static_cast<double>(h) && x >= -1 && x <= static_cast<double>(w)) || h == 0 || w == 0) return 0;
  y = std::max(y, 0.0), x = std::max(x, 0.0);
  std::int64_t top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x), bottom = top + 1, right = left + 1;
  if (top >= h - 1) top = bottom = h - 1, y = static_cast<double>(top);
  if (left >= w - 1) left = right = w - 1, x = static_cast<double>(left);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  return (1 - down) * ((1 - across) * image[top * w + left] + across * image[top * w + right]) + down * ((1 - across) * image[bottom * w + left] + across * image[bottom * w + right]);
}

void roi_align_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(0), &boxes = a.tensor(1), &out = a.result();
  const std::int64_t rows = out.sizes[2], columns = out.sizes[3], ratio = a.integer(5), h = x.sizes[2], w = x.sizes[3];
  const double scale = a.number(4).to_double(), shift = a.flag(6) ? 0.5 : 0;
  for (std::int64_t k = 0; k < boxes.sizes[0]; ++k)
    if (const double n = load_number(boxes, k * boxes.strides[0]); !(n >= 0 && n < static_cast<double>(x.sizes[0])))
      return kernels::reference::fault(a, ErrorCode::IndexOutOfRange, "box " + std::to_string(k) + " is of picture " + std::to_string(n) + ", and there are " + std::to_string(x.sizes[0]));
  bool finite = true;
  kernels::reference::for_each(boxes, [&](std::int64_t at) { finite = finite && std::isfinite(load_number(boxes, at)); });
  if (!finite || !std::isfinite(scale)) return kernels::reference::fault(a, ErrorCode::InvalidArgument, "a box, or spatial_scale, has a number that is not finite");
  constexpr double kMost = 65536;  // samples along a side of a cell
  bool bounded = static_cast<double>(ratio) <= kMost;
  for (std::int64_t k = 0; k < boxes.sizes[0]; ++k) {
    double box[5];
    read_row(boxes, k * boxes.strides[0], boxes.strides[1], 5, box);
    bounded = bounded && (ratio > 0 || ((box[3] - box[1]) * scale / static_cast<double>(columns) <= kMost && (box[4] - box[2]) * scale / static_cast<double>(rows) <= kMost));
  }
  if (!bounded) return kernels::reference::fault(a, ErrorCode::InvalidArgument, "a cell would have more than 65536 samples along a side");
  parallel(out.sizes[0] * out.sizes[1], rows * columns * 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> image(static_cast<std::size_t>(h * w)), made(static_cast<std::size_t>(columns));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t k = i / out.sizes[1], channel = i % out.sizes[1];
      double box[5];
      read_row(boxes, k * boxes.strides[0], boxes.strides[1], 5, box);
      const std::int64_t picture = static_cast<std::int64_t>(box[0]) * x.strides[0] + channel * x.strides[1];
      for (std::int64_t r = 0; r < h; ++r) read_row(x, picture + r * x.strides[2], x.strides[3], w, image.data() + r * w);
      const double left = box[1] * scale - shift, top = box[2] * scale - shift;
      double width = box[3] * scale - shift - left, height = box[4] * scale - shift - top;
      if (shift == 0) width = std::max(width, 1.0), height = std::max(height, 1.0);
      const double cell_h = height / static_cast<double>(rows), cell_w = width / static_cast<double>(columns);
      const std::int64_t down = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(cell_h)), across = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(cell_w));
      const double count = static_cast<double>(std::max<std::int64_t>(down * across, 1));
      for (std::int64_t r = 0; r < rows; ++r) {
        for (std::int64_t c = 0; c < columns; ++c) {
          double sum = 0;
          for (std::int64_t p = 0; p < down; ++p)
            for (std::int64_t q = 0; q < across; ++q)
              sum += sample(image.data(), h, w, top + (static_cast<double>(r) + (static_cast<double>(p) + 0.5) / static_cast<double>(down)) * cell_h,
                            left + (static_cast<double>(c) + (static_cast<double>(q) + 0.5) / static_cast<double>(across)) * cell_w);
          made[static_cast<std::size_t>(c)] = sum / count;
        }
        write_row(out, k * out.strides[0] + channel * out.strides[1] + r * out.strides[2], out.strides[3], columns, made.data());
      }
    }
  });
}

void roi_align_shape(graph::RuleCtx& c) {
  const TensorMeta &x = c.tensor(0), &boxes = c.tensor(1);
  if (!is_floating(x.dtype) || x.dtype != boxes.dtype) fail(ErrorCode::DTypeMismatch, "roi_align", c.loc, "wants floats of one dtype, got input of ", dtype_name(x.dtype), " and boxes of ", dtype_name(boxes.dtype));
  if (x.dim() != 4 || boxes.dim() != 2 || !graph::same(boxes.size(1), 5, c.loc, "roi_align: boxes of five numbers"))
    fail(ErrorCode::ShapeMismatch, "roi_align", c.loc, "wants input [n, c, h, w] and boxes [k, 5], got sizes ", graph::sizes_text(x.layout.sizes), " and ", graph::sizes_text(boxes.layout.sizes));
  for (int i : {2, 3})
    if (!graph::require(detail::compare_lt(0, c.integer(i), c.loc), "roi_align: at least one cell")) fail(ErrorCode::InvalidArgument, "roi_align", c.loc, c.op.schema.args[static_cast<std::size_t>(i)].name, " must be at least 1, got ", c.integer(i));
  c.result(x.dtype, {boxes.size(0), x.size(1), c.integer(2), c.integer(3)});
}

OpId nms_op() {
  static const OpId id = graph::register_op({.schema = "nms(Tensor boxes, Tensor scores, float iou_threshold) -> (Tensor indices, Tensor count)", .shape = nms_shape}, {kernels::reference_kernels().fact({nms_kernel})});
  return id;
}
OpId roi_align_op() {
  static const OpId id = graph::register_op(
      {.schema = "roi_align(Tensor input, Tensor boxes, SymInt output_h, SymInt output_w, float spatial_scale=1.0, SymInt sampling_ratio=-1, bool aligned=False) -> Tensor", .shape = roi_align_shape, .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({roi_align_kernel})});
  return id;
}

}  // namespace

TensorPair nms_padded(const Tensor& boxes, const Tensor& scores, double iou_threshold, SourceLoc loc) {
  return graph::api::pair(graph::calln(nms_op(), {arg(boxes), arg(scores), arg(iou_threshold)}, loc));
}
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, SourceLoc loc) {
  const TensorPair kept = nms_padded(boxes, scores, iou_threshold, loc);
  return named("nms", [&] { return narrow(kept.first, 0, 0, kept.second.item(loc).to_int(), loc); });
}
// Boxes of different classes are moved apart so far that they do not meet.
Tensor batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, double iou_threshold, SourceLoc loc) {
  return named("batched_nms", [&] {
    const TensorMeta m = checked_meta(boxes, "batched_nms", loc), of = checked_meta(idxs, "batched_nms", loc);
    if (of.dim() != 1 || m.dim() != 2 || !graph::same(of.size(0), m.size(0), loc, "batched_nms: a class for each box"))
      fail(ErrorCode::ShapeMismatch, "batched_nms", loc, "wants boxes [n, 4] and idxs [n], got sizes ", graph::sizes_text(m.layout.sizes), " and ", graph::sizes_text(of.layout.sizes));
    if (detail::compare_eq(m.size(0), 0, loc)) return nms(boxes, scores, iou_threshold, loc);
    const Tensor apart = mul(to(idxs, kFloat64, loc), add(sub(amax(boxes, {}, false, loc), amin(boxes, {}, false, loc), 1, loc), 1, 1, loc), loc);
    return nms(add(to(boxes, kFloat64, loc), unsqueeze(apart, 1, loc), 1, loc), to(scores, kFloat64, loc), iou_threshold, loc);
  });
}

Tensor roi_align(const Tensor& input, const Tensor& boxes, Int output_h, Int output_w, double spatial_scale, Int sampling_ratio, bool aligned, SourceLoc loc) {
  return graph::call1(roi_align_op(), {arg(input), arg(boxes), arg(output_h), arg(output_w), arg(spatial_scale), arg(sampling_ratio), arg(aligned)}, loc);
}

namespace operators {
void register_detection() { nms_op(), roi_align_op(); }
}  // namespace operators

}  // namespace reprise
