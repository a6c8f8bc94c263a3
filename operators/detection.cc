// Boxes in pictures: which of those that overlap stay, and what is inside.
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "guards/expr.h"
#include "kernels/plan/columns.h"
#include "operators/data_sizes.h"
#include "operators/derivatives.h"
#include "operators/detection.h"
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
  return std::max(0.0, std::min(a.x2, b.x2) - std::max(a.x1, b.x1)) *
         std::max(0.0, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
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
  // NaN first, as sort has it descending
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
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
  if (!is_floating(boxes.dtype) || boxes.dtype != scores.dtype)
    fail(ErrorCode::DTypeMismatch, "nms", c.loc, "wants floats of one dtype, got boxes of ", dtype_name(boxes.dtype),
         " and scores of ", dtype_name(scores.dtype));
  if (boxes.dim() != 2 || scores.dim() != 1 || !graph::same(boxes.size(1), 4, c.loc, "nms: boxes of four numbers") ||
      !graph::same(boxes.size(0), scores.size(0), c.loc, "nms: a score for each box"))
    fail(ErrorCode::ShapeMismatch, "nms", c.loc, "wants boxes [n, 4] and scores [n], got sizes ",
         graph::sizes_text(boxes.layout.sizes), " and ", graph::sizes_text(scores.layout.sizes));
  c.result(DType::Int64, {boxes.size(0)});
  c.result(DType::Int64, {});
}

// ---- boxes of several pictures and classes

void choose_shape(graph::RuleCtx& c) {
  const TensorMeta &boxes = c.tensor(0), &scores = c.tensor(1);
  if (!is_floating(boxes.dtype) || !is_floating(scores.dtype))
    fail(ErrorCode::DTypeMismatch, "choose_boxes", c.loc, "wants floats, got boxes of ", dtype_name(boxes.dtype),
         " and scores of ", dtype_name(scores.dtype));
  if (boxes.dim() != 3 || scores.dim() != 3 ||
      !graph::same(boxes.size(2), 4, c.loc, "choose_boxes: boxes of four numbers") ||
      !graph::same(boxes.size(0), scores.size(0), c.loc, "choose_boxes: as many pictures") ||
      !graph::same(boxes.size(1), scores.size(2), c.loc, "choose_boxes: a score for each box"))
    fail(ErrorCode::ShapeMismatch, "choose_boxes", c.loc,
         "wants boxes [pictures, n, 4] and scores [pictures, classes, n], got sizes ",
         graph::sizes_text(boxes.layout.sizes), " and ", graph::sizes_text(scores.layout.sizes));
  c.result(DType::Int64, {scores.size(0) * scores.size(1) * scores.size(2), Int(3)});
  c.result(DType::Int64, {});
}

void choose_kernel(const NativeArgs& a) {
  const TensorView &boxes = a.tensor(0), &scores = a.tensor(1), &out = a.result(0), &count = a.result(1);
  const std::int64_t most = a.integer(2), n = boxes.sizes[1];
  const double overlap = a.number(3).to_double(), least = a.number(4).to_double();
  const bool limited = a.flag(5), by_centre = a.flag(6);
  std::int64_t rows = 0;
  std::vector<Box> all(static_cast<std::size_t>(n));
  std::vector<double> score(all.size());
  std::vector<std::int64_t> order, chosen;
  for (std::int64_t picture = 0; picture < scores.sizes[0]; ++picture) {
    for (std::int64_t i = 0; i < n; ++i) {
      double v[4];
      read_row(boxes, picture * boxes.strides[0] + i * boxes.strides[1], boxes.strides[2], 4, v);
      Box& b = all[static_cast<std::size_t>(i)];
      if (by_centre) b = {v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2};
      else b = {std::min(v[1], v[3]), std::min(v[0], v[2]), std::max(v[1], v[3]), std::max(v[0], v[2])};
    }
    for (std::int64_t of = 0; of < scores.sizes[1]; ++of) {
      read_row(scores, picture * scores.strides[0] + of * scores.strides[1], scores.strides[2], n, score.data());
      order.clear(), chosen.clear();
      for (std::int64_t i = 0; i < n; ++i)
        if (const double p = score[static_cast<std::size_t>(i)]; !std::isnan(p) && (!limited || p > least))
          order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t k) {
        return score[static_cast<std::size_t>(i)] > score[static_cast<std::size_t>(k)];
      });
      for (const std::int64_t i : order) {
        if (static_cast<std::int64_t>(chosen.size()) >= most) break;
        const Box& box = all[static_cast<std::size_t>(i)];
        const bool free = std::none_of(chosen.begin(), chosen.end(), [&](std::int64_t k) {
          const Box& other = all[static_cast<std::size_t>(k)];
          const double both = shared(box, other);
          return both > 0 && both / (box.area() + other.area() - both) > overlap;
        });
        if (!free) continue;
        chosen.push_back(i);
        const std::int64_t row[] = {picture, of, i};
        write_row(out, rows++ * out.strides[0], out.strides[1], 3, row);
      }
    }
  }
  write_row(count, 0, 0, 1, &rows);
  const std::int64_t none[] = {-1, -1, -1};
  for (std::int64_t i = rows; i < out.sizes[0]; ++i) write_row(out, i * out.strides[0], out.strides[1], 3, none);
}

/// of(pixel, weight) for the four pixels whose bilinear mean stands at a place; none beyond one pixel outside.
template <class F>
void each_corner(std::int64_t h, std::int64_t w, double y, double x, F&& of) {
  if (!(y >= -1 && y <= static_cast<double>(h) && x >= -1 && x <= static_cast<double>(w)) || h == 0 || w == 0) return;
  y = std::max(y, 0.0), x = std::max(x, 0.0);
  std::int64_t top = static_cast<std::int64_t>(y), left = static_cast<std::int64_t>(x), bottom = top + 1,
               right = left + 1;
  if (top >= h - 1) top = bottom = h - 1, y = static_cast<double>(top);
  if (left >= w - 1) left = right = w - 1, x = static_cast<double>(left);
  const double down = y - static_cast<double>(top), across = x - static_cast<double>(left);
  of(top * w + left, (1 - down) * (1 - across)), of(top * w + right, (1 - down) * across),
      of(bottom * w + left, down * (1 - across)), of(bottom * w + right, down * across);
}

enum Roi { kImages, kBoxes, kRows, kColumns, kScale, kRatio, kAligned };

/// What may be wrong with boxes is told; then false.
bool boxes_are_right(const NativeArgs& a, std::int64_t images) {
  const TensorView& boxes = a.tensor(kBoxes);
  const std::int64_t rows = a.integer(kRows), columns = a.integer(kColumns), ratio = a.integer(kRatio);
  const double scale = a.number(kScale).to_double();
  auto refuse = [&](ErrorCode code, const std::string& what) {
    return kernels::reference::fault(a, code, what), false;
  };
  for (std::int64_t k = 0; k < boxes.sizes[0]; ++k)
    if (const double n = load_number(boxes, k * boxes.strides[0]); !(n >= 0 && n < static_cast<double>(images)))
      return refuse(ErrorCode::IndexOutOfRange, "box " + std::to_string(k) + " is of picture " + std::to_string(n) +
                                                    ", and there are " + std::to_string(images));
  bool finite = true;
  kernels::reference::for_each(boxes,
                               [&](std::int64_t at) { finite = finite && std::isfinite(load_number(boxes, at)); });
  if (!finite || !std::isfinite(scale))
    return refuse(ErrorCode::InvalidArgument, "a box, or spatial_scale, has a number that is not finite");
  constexpr double kMost = 65536;  // samples along a side of a cell
  bool bounded = static_cast<double>(ratio) <= kMost;
  for (std::int64_t k = 0; k < boxes.sizes[0]; ++k) {
    double box[5];
    read_row(boxes, k * boxes.strides[0], boxes.strides[1], 5, box);
    bounded = bounded && (ratio > 0 || ((box[3] - box[1]) * scale / static_cast<double>(columns) <= kMost &&
                                        (box[4] - box[2]) * scale / static_cast<double>(rows) <= kMost));
  }
  return bounded || refuse(ErrorCode::InvalidArgument, "a cell would have more than 65536 samples along a side");
}

/// Of one box: of(row, column, pixel, weight) for all that a cell is the sum of, cell by cell.
struct Cells {
  std::int64_t rows, columns, ratio;
  double scale, shift;
  explicit Cells(const NativeArgs& a)
      : rows(a.integer(kRows)), columns(a.integer(kColumns)), ratio(a.integer(kRatio)),
        scale(a.number(kScale).to_double()), shift(a.flag(kAligned) ? 0.5 : 0) {}

  template <class F>
  void each(const double (&box)[5], std::int64_t h, std::int64_t w, F&& of) const {
    const double left = box[1] * scale - shift, top = box[2] * scale - shift;
    double width = box[3] * scale - shift - left, height = box[4] * scale - shift - top;
    if (shift == 0) width = std::max(width, 1.0), height = std::max(height, 1.0);
    const double cell_h = height / static_cast<double>(rows), cell_w = width / static_cast<double>(columns);
    const std::int64_t down = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(cell_h)),
                       across = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(cell_w));
    const double count = static_cast<double>(std::max<std::int64_t>(down * across, 1));
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t p = 0; p < down; ++p)
          for (std::int64_t q = 0; q < across; ++q)
            each_corner(
                h, w,
                top + (static_cast<double>(r) + (static_cast<double>(p) + 0.5) / static_cast<double>(down)) * cell_h,
                left + (static_cast<double>(c) + (static_cast<double>(q) + 0.5) / static_cast<double>(across)) * cell_w,
                [&](std::int64_t pixel, double weight) { of(r, c, pixel, weight / count); });
  }
};

void roi_align_kernel(const NativeArgs& a) {
  const TensorView &x = a.tensor(kImages), &boxes = a.tensor(kBoxes), &out = a.result();
  const std::int64_t h = x.sizes[2], w = x.sizes[3];
  if (!boxes_are_right(a, x.sizes[0])) return;
  const Cells cells(a);
  parallel(out.sizes[0] * out.sizes[1], cells.rows * cells.columns * 16, [&](std::int64_t begin, std::int64_t end) {
    std::vector<double> image(static_cast<std::size_t>(h * w)),
        made(static_cast<std::size_t>(cells.rows * cells.columns));
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t k = i / out.sizes[1], channel = i % out.sizes[1];
      double box[5];
      read_row(boxes, k * boxes.strides[0], boxes.strides[1], 5, box);
      const std::int64_t picture = static_cast<std::int64_t>(box[0]) * x.strides[0] + channel * x.strides[1];
      for (std::int64_t r = 0; r < h; ++r)
        read_row(x, picture + r * x.strides[2], x.strides[3], w, image.data() + r * w);
      std::fill(made.begin(), made.end(), 0.0);
      cells.each(box, h, w, [&](std::int64_t r, std::int64_t c, std::int64_t pixel, double weight) {
        made[static_cast<std::size_t>(r * cells.columns + c)] += weight * image[static_cast<std::size_t>(pixel)];
      });
      for (std::int64_t r = 0; r < cells.rows; ++r)
        write_row(out, k * out.strides[0] + channel * out.strides[1] + r * out.strides[2], out.strides[3],
                  cells.columns, made.data() + r * cells.columns);
    }
  });
}

/// The adjoint: the gradient of cells [k, c, rows, columns], as one of images [n, c, h, w].
void roi_align_backward_kernel(const NativeArgs& a) {
  const TensorView &g = a.tensor(0), &boxes = a.tensor(kBoxes), &out = a.result();
  const std::int64_t h = out.sizes[2], w = out.sizes[3];
  if (!boxes_are_right(a, out.sizes[0])) return;
  const Cells cells(a);
  parallel(out.sizes[0] * out.sizes[1], boxes.sizes[0] * cells.rows * cells.columns * 16,
           [&](std::int64_t begin, std::int64_t end) {
             std::vector<double> image(static_cast<std::size_t>(h * w)),
                 given(static_cast<std::size_t>(cells.rows * cells.columns));
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t picture = i / out.sizes[1], channel = i % out.sizes[1];
               std::fill(image.begin(), image.end(), 0.0);
               for (std::int64_t k = 0; k < boxes.sizes[0]; ++k) {
                 double box[5];
                 read_row(boxes, k * boxes.strides[0], boxes.strides[1], 5, box);
                 if (static_cast<std::int64_t>(box[0]) != picture) continue;
                 for (std::int64_t r = 0; r < cells.rows; ++r)
                   read_row(g, k * g.strides[0] + channel * g.strides[1] + r * g.strides[2], g.strides[3],
                            cells.columns, given.data() + r * cells.columns);
                 cells.each(box, h, w, [&](std::int64_t r, std::int64_t c, std::int64_t pixel, double weight) {
                   image[static_cast<std::size_t>(pixel)] +=
                       weight * given[static_cast<std::size_t>(r * cells.columns + c)];
                 });
               }
               for (std::int64_t r = 0; r < h; ++r)
                 write_row(out, picture * out.strides[0] + channel * out.strides[1] + r * out.strides[2],
                           out.strides[3], w, image.data() + r * w);
             }
           });
}

void roi_align_shape(graph::RuleCtx& c) {
  const TensorMeta &x = c.tensor(0), &boxes = c.tensor(1);
  if (!is_floating(x.dtype) || x.dtype != boxes.dtype)
    fail(ErrorCode::DTypeMismatch, "roi_align", c.loc, "wants floats of one dtype, got input of ", dtype_name(x.dtype),
         " and boxes of ", dtype_name(boxes.dtype));
  if (x.dim() != 4 || boxes.dim() != 2 || !graph::same(boxes.size(1), 5, c.loc, "roi_align: boxes of five numbers"))
    fail(ErrorCode::ShapeMismatch, "roi_align", c.loc, "wants input [n, c, h, w] and boxes [k, 5], got sizes ",
         graph::sizes_text(x.layout.sizes), " and ", graph::sizes_text(boxes.layout.sizes));
  for (int i : {2, 3})
    if (!graph::require(detail::compare_lt(0, c.integer(i), c.loc), "roi_align: at least one cell"))
      fail(ErrorCode::InvalidArgument, "roi_align", c.loc, c.op.schema.args[static_cast<std::size_t>(i)].name,
           " must be at least 1, got ", c.integer(i));
  c.result(x.dtype, {boxes.size(0), x.size(1), c.integer(2), c.integer(3)});
}

OpId nms_op() {
  static const OpId id = graph::register_op(
      {.schema = "nms(Tensor boxes, Tensor scores, float iou_threshold) -> (Tensor indices, Tensor count)",
       .shape = nms_shape},
      {kernels::reference_kernels().fact({nms_kernel}), operators::constant()});
  return id;
}
OpId choose_boxes_op() {
  static const OpId id =
      graph::register_op({.schema = "choose_boxes(Tensor boxes, Tensor scores, SymInt most, Scalar overlap, Scalar "
                                    "least, bool limited, bool by_centre) -> (Tensor indices, Tensor count)",
                          .shape = choose_shape},
                         {kernels::reference_kernels().fact({choose_kernel}), operators::constant()});
  return id;
}
OpId roi_align_op() {
  static const OpId id =
      graph::register_op({.schema = "roi_align(Tensor input, Tensor boxes, SymInt output_h, SymInt output_w, float "
                                    "spatial_scale=1.0, SymInt sampling_ratio=-1, bool aligned=False) -> Tensor",
                          .shape = roi_align_shape,
                          .effects = {.may_fail = true}},
                         {kernels::reference_kernels().fact({roi_align_kernel}),
                          operators::derivative(operators::derivatives::roi_align, autograd::in(1), autograd::of(0))});
  return id;
}

enum RoiBackward { kImageCount = kAligned + 1, kHeight, kWidth };
void roi_align_backward_shape(graph::RuleCtx& c) {
  const TensorMeta &g = c.tensor(0), &boxes = c.tensor(kBoxes);
  if (!is_floating(g.dtype) || g.dim() != 4 || boxes.dim() != 2 ||
      !graph::same(boxes.size(1), 5, c.loc, "roi_align: boxes of five numbers"))
    fail(ErrorCode::ShapeMismatch, c.op.schema.name.c_str(), c.loc,
         "wants floats [k, c, rows, columns] and boxes [k, 5], got sizes ", graph::sizes_text(g.layout.sizes), " and ",
         graph::sizes_text(boxes.layout.sizes));
  c.result(g.dtype, {c.integer(kImageCount), g.size(1), c.integer(kHeight), c.integer(kWidth)});
}
// Of its own gradient, an image's, it is roi_align again.
void roi_align_of(autograd::Backward& b) {
  b.give(0, roi_align(b.grad(), b.tensor(kBoxes), b.integer(kRows), b.integer(kColumns),
                      b.number(kScale).to_double(b.loc()), b.integer(kRatio), b.flag(kAligned), b.loc()));
}
OpId roi_align_backward_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::roi_align_backward(Tensor grad, Tensor boxes, SymInt output_h, SymInt output_w, float "
                 "spatial_scale, SymInt sampling_ratio, bool aligned, SymInt n, SymInt h, SymInt w) -> Tensor",
       .shape = roi_align_backward_shape,
       .effects = {.may_fail = true}},
      {kernels::reference_kernels().fact({roi_align_backward_kernel}),
       operators::derivative(roi_align_of, autograd::in(1), autograd::of(0))});
  return id;
}

}  // namespace

// Boxes are constants to it, as they are to torchvision's.
void operators::derivatives::roi_align(autograd::Backward& b) {
  const Tensor boxes = b.tensor(kBoxes);
  const Tensor& g = b.grad();
  const Ints& sizes = b.sizes(kImages);
  b.give(0, graph::call1(roi_align_backward_op(),
                         {arg(g), arg(boxes), arg(b.integer(kRows)), arg(b.integer(kColumns)), b.number(kScale),
                          arg(b.integer(kRatio)), arg(b.flag(kAligned)), arg(sizes[0]), arg(sizes[2]), arg(sizes[3])},
                         b.loc()));
}

Tensor operators::chosen_of(const TensorPair& chosen, SourceLoc loc) {
  guards::LibraryScope operators;
  return narrow(chosen.first, 0, 0, counted(chosen.second.item(loc), chosen.first.size(0, loc), loc), loc);
}

TensorPair operators::choose_boxes(const Tensor& boxes, const Tensor& scores, const ChooseBoxes& by, SourceLoc loc) {
  return graph::api::pair(graph::calln(choose_boxes_op(),
                                       {arg(boxes), arg(scores), arg(by.most), by.overlap,
                                        by.least.value_or(Scalar(0.0)), by.least.has_value(), by.by_centre},
                                       loc));
}

TensorPair nms_padded(const Tensor& boxes, const Tensor& scores, double iou_threshold, SourceLoc loc) {
  return graph::api::pair(graph::calln(nms_op(), {arg(boxes), arg(scores), arg(iou_threshold)}, loc));
}
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, SourceLoc loc) {
  const TensorPair kept = nms_padded(boxes, scores, iou_threshold, loc);
  return named("nms", [&] { return chosen_of(kept, loc); });
}
// Boxes of different classes are moved apart so far that they do not meet.
Tensor batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, double iou_threshold, SourceLoc loc) {
  return named("batched_nms", [&] {
    const TensorMeta m = checked_meta(boxes, "batched_nms", loc), of = checked_meta(idxs, "batched_nms", loc);
    if (of.dim() != 1 || m.dim() != 2 || !graph::same(of.size(0), m.size(0), loc, "batched_nms: a class for each box"))
      fail(ErrorCode::ShapeMismatch, "batched_nms", loc, "wants boxes [n, 4] and idxs [n], got sizes ",
           graph::sizes_text(m.layout.sizes), " and ", graph::sizes_text(of.layout.sizes));
    if (graph::ask(detail::compare_eq(m.size(0), 0, loc), "of nothing")) return nms(boxes, scores, iou_threshold, loc);
    const Tensor apart =
        mul(to(idxs, kFloat64, loc),
            add(sub(amax(boxes, {}, false, loc), amin(boxes, {}, false, loc), 1, loc), 1, 1, loc), loc);
    return nms(add(to(boxes, kFloat64, loc), unsqueeze(apart, 1, loc), 1, loc), to(scores, kFloat64, loc),
               iou_threshold, loc);
  });
}

Tensor roi_align(const Tensor& input, const Tensor& boxes, Int output_h, Int output_w, double spatial_scale,
                 Int sampling_ratio, bool aligned, SourceLoc loc) {
  return graph::call1(
      roi_align_op(),
      {arg(input), arg(boxes), arg(output_h), arg(output_w), arg(spatial_scale), arg(sampling_ratio), arg(aligned)},
      loc);
}

namespace operators {
void register_detection() { nms_op(), choose_boxes_op(), roi_align_op(), roi_align_backward_op(); }
}  // namespace operators

}  // namespace reprise
