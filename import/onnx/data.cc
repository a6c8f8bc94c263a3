// Results whose sizes are data: symbols that the library's operators give (docs/data_sizes.md).
#include "import/onnx/core.h"
#include "operators/detection.h"
#include "reprise/data_sizes.h"

namespace reprise::onnx {
namespace {

void non_max_suppression(Call& c) {
  operators::ChooseBoxes by;
  if (c.has(2)) by.most = c.scalar(2).to_int();
  if (c.has(3)) by.overlap = c.scalar(3);
  if (c.has(4)) by.least = c.scalar(4);
  by.by_centre = c.i("center_point_box", 0) != 0;
  c.give(operators::chosen_of(operators::choose_boxes(c.x(0), c.x(1), by, {}), {}));
}

void compress(Call& c) {
  Tensor x = c.x(0);
  const Tensor condition = c.x(1);
  int axis = 0;
  if (c.attribute("axis")) axis = axis_of(c, c.i("axis", 0), x.dim());
  else x = x.reshape({x.numel()});
  if (condition.dim() != 1 || condition.size(0) > x.size(axis))
    c.bad("has a condition of ", condition.numel().hint(), " elements for ", x.size(axis).hint());
  c.give(index_select(x, axis, nonzero(condition).select(1, 0)));
}

void unique_of(Call& c) {
  Tensor x = c.x(0);
  const bool along = c.attribute("axis") != nullptr;
  const int axis = along ? axis_of(c, c.i("axis", 0), x.dim()) : 0;
  if (!along) x = x.reshape({x.numel()});
  const Int n = x.size(axis);
  Unique made = along ? unique_dim(x, axis, true, true) : unique(x, true, true);
  const bool in_order = c.i("sorted", 1) != 0;
  Tensor first;
  if (c.wants(1) || !in_order)
    first = scatter_reduce(full({made.values.size(axis)}, n, {.dtype = kInt64}), 0, made.inverse, arange(n), "amin");
  if (!in_order) {  // in the order in which they come
    const auto [sorted, from] = sort(first, 0);
    const Tensor place = scatter(zeros_like(from), 0, from, arange(from.size(0)));
    first = sorted, made.values = index_select(made.values, axis, from),
    made.counts = index_select(made.counts, 0, from), made.inverse = index_select(place, 0, made.inverse);
  }
  c.give(made.values, 0);
  if (c.wants(1)) c.give(first, 1);
  c.give(made.inverse, 2);
  c.give(made.counts, 3);
}

constexpr Row kDataRows[] = {
    {"Compress", 9, 0, compress},
    {"NonMaxSuppression", 10, 0, non_max_suppression},
    {"NonZero", 9, 0, [](Call& c) { c.give(nonzero(c.x(0)).t()); }},
    {"Unique", 11, 0, unique_of},
};

}  // namespace

std::span<const Row> data_rows() { return kDataRows; }

}  // namespace reprise::onnx
