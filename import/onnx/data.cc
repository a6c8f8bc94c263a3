// Results whose sizes are data: symbols, where the library's operators give them. What is left reads what decides: a compiled function that comes there is served
// eagerly (docs/onnx.md).
#include <algorithm>
#include <numeric>

#include "import/onnx/core.h"
#include "reprise/data_sizes.h"

namespace reprise::onnx {
namespace {

void non_max_suppression(Call& c) {
  const Tensor boxes = c.x(0), scores = c.x(1);
  const std::int64_t most = c.has(2) ? c.scalar(2).to_int().value() : 0;
  const double overlap = c.has(3) ? c.scalar(3).to_double() : 0;
  const bool by_centre = c.i("center_point_box", 0) != 0;
  const std::vector<double> b = boxes.to_vector<double>(), s = scores.to_vector<double>();
  const std::int64_t batches = boxes.size(0).value(), n = boxes.size(1).value(), classes = scores.size(1).value();
  if (scores.size(2) != n || boxes.size(2) != 4) c.bad("has ", n, " boxes and ", scores.size(2).value(), " scores");
  struct Box {
    double y0, x0, y1, x1;
    double area() const { return (y1 - y0) * (x1 - x0); }
  };
  std::vector<std::int64_t> kept;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Box> all;
    for (std::int64_t i = 0; i < n; ++i) {
      const double* p = &b[static_cast<std::size_t>((batch * n + i) * 4)];
      if (by_centre) all.push_back({p[1] - p[3] / 2, p[0] - p[2] / 2, p[1] + p[3] / 2, p[0] + p[2] / 2});
      else all.push_back({std::min(p[0], p[2]), std::min(p[1], p[3]), std::max(p[0], p[2]), std::max(p[1], p[3])});
    }
    for (std::int64_t of = 0; of < classes; ++of) {
      const double* score = &s[static_cast<std::size_t>((batch * classes + of) * n)];
      std::vector<std::int64_t> order;
      for (std::int64_t i = 0; i < n; ++i)
        if (!c.has(4) || score[i] > c.scalar(4).to_double()) order.push_back(i);
      std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t o) { return score[a] > score[o]; });
      std::vector<std::int64_t> chosen;
      for (std::int64_t i : order) {
        if (static_cast<std::int64_t>(chosen.size()) >= most) break;
        const Box& a = all[static_cast<std::size_t>(i)];
        const bool free = std::none_of(chosen.begin(), chosen.end(), [&](std::int64_t j) {
          const Box& o = all[static_cast<std::size_t>(j)];
          const double both = std::max(0.0, std::min(a.y1, o.y1) - std::max(a.y0, o.y0)) * std::max(0.0, std::min(a.x1, o.x1) - std::max(a.x0, o.x0));
          return both > 0 && both / (a.area() + o.area() - both) > overlap;
        });
        if (!free) continue;
        chosen.push_back(i);
        for (std::int64_t v : {batch, of, i}) kept.push_back(v);
      }
    }
  }
  c.give(tensor_of(kept, {Int(kept.size() / 3), 3}));
}

void compress(Call& c) {
  Tensor x = c.x(0);
  const Tensor condition = c.x(1);
  int axis = 0;
  if (c.attribute("axis")) axis = axis_of(c, c.i("axis", 0), x.dim());
  else x = x.reshape({x.numel()});
  if (condition.dim() != 1 || condition.size(0) > x.size(axis)) c.bad("has a condition of ", condition.numel().hint(), " elements for ", x.size(axis).hint());
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
  if (c.wants(1) || !in_order) first = scatter_reduce(full({made.values.size(axis)}, n, {.dtype = kInt64}), 0, made.inverse, arange(n), "amin");
  if (!in_order) {  // in the order in which they come
    const auto [sorted, from] = sort(first, 0);
    const Tensor place = scatter(zeros_like(from), 0, from, arange(from.size(0)));
    first = sorted, made.values = index_select(made.values, axis, from), made.counts = index_select(made.counts, 0, from), made.inverse = index_select(place, 0, made.inverse);
  }
  c.give(made.values, 0);
  if (c.wants(1)) c.give(first, 1);
  c.give(made.inverse, 2);
  c.give(made.counts, 3);
}

constexpr Row kRows[] = {
    {"Compress", 9, 0, compress},
    {"NonMaxSuppression", 10, 0, non_max_suppression},
    {"NonZero", 9, 0, [](Call& c) { c.give(nonzero(c.x(0)).t()); }},
    {"Unique", 11, 0, unique_of},
};

}  // namespace

std::span<const Row> data_rows() { return kRows; }

}  // namespace reprise::onnx
