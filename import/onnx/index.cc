#include "import/onnx/fold.h"

namespace reprise::onnx {
namespace {

/// Indices below 0 count from the end.
Tensor from_front(const Tensor& index, Int n) { return where(index < 0, index + n, index); }

void gather_of(Call& c) {
  const Tensor x = c.x(0), at = c.x(1);
  const int axis = axis_of(c, c.i("axis", 0), x.dim());
  if (c.value(1).numbers && at.dim() == 0 && !c.scalar(1).is_symbolic())
    return c.give(x.select(axis, c.scalar(1).to_int()));
  std::vector<Tensor> indices(static_cast<std::size_t>(axis) + 1);
  indices.back() = at;
  c.give(index(x, indices));
}
void gather_elements(Call& c) {
  const Tensor x = c.x(0);
  const int axis = axis_of(c, c.i("axis", 0), x.dim());
  c.give(gather(x, axis, from_front(c.x(1), x.size(axis))));
}
/// The last dimension of `at` as one index tensor each, with those of the batch in front.
std::vector<Tensor> places(const Call& c, const Tensor& x, const Tensor& at, int batch) {
  const std::int64_t depth = at.size(at.dim() - 1).value();
  if (depth < 1 || depth + batch > x.dim())
    c.bad("indices of ", depth, " numbers into ", x.dim(), " dimensions, of which ", batch, " are the batch's");
  std::vector<Tensor> all;
  for (int b = 0; b < batch; ++b) {
    Ints sizes;
    for (int d = 0; d + 1 < at.dim(); ++d) sizes.push_back(d == b ? x.size(b) : Int(1));
    all.push_back(arange(x.size(b)).view(sizes));
  }
  for (std::int64_t i = 0; i < depth; ++i) all.push_back(at.select(-1, i));
  return all;
}
void gather_nd(Call& c) {
  const Tensor x = c.x(0), at = c.x(1);
  const int batch = static_cast<int>(c.i("batch_dims", 0));
  if (at.dim() < 1 || batch < 0 || batch >= at.dim())
    c.bad("has batch_dims ", batch, " of indices of ", at.dim(), " dimensions");
  c.give(index(x, places(c, x, at, batch)));
}

std::string reduction_of(const Call& c) {
  const std::string r = c.s("reduction", "none");
  if (r == "none") return {};
  if (r == "add") return "sum";
  if (r == "mul") return "prod";
  if (r == "max") return "amax";
  if (r == "min") return "amin";
  c.bad("the reduction is '", r, "'; wanted none, add, mul, max or min");
}
void scatter_elements(Call& c) {
  const Tensor x = c.x(0), updates = c.x(2);
  const int axis = axis_of(c, c.i("axis", 0), x.dim());
  const Tensor at = from_front(c.x(1), x.size(axis));
  const std::string how = reduction_of(c);
  c.give(how.empty()    ? scatter(x, axis, at, updates)
         : how == "sum" ? scatter_add(x, axis, at, updates)
                        : scatter_reduce(x, axis, at, updates, how));
}
void scatter_nd(Call& c) {
  const Tensor x = c.x(0), at = c.x(1), updates = c.x(2);
  if (at.dim() < 1) c.bad("the indices have no dimension");
  const std::string how = reduction_of(c);
  const std::vector<Tensor> all = places(c, x, at, 0);
  if (how.empty() || how == "sum") return c.give(index_put(x, all, updates, !how.empty()));
  // The dimensions that are indexed become one, of which slices are reduced into.
  Tensor flat;
  Int rows = 1, row = 1;
  for (std::size_t d = 0; d < all.size(); ++d) {
    const Int n = x.size(static_cast<int>(d));
    const Tensor i = from_front(all[d], n);
    flat = d == 0 ? i : flat * n + i;
    rows *= n;
  }
  for (int d = static_cast<int>(all.size()); d < x.dim(); ++d) row *= x.size(d);
  c.give(
      index_reduce(x.reshape({rows, row}), 0, flat.reshape({flat.numel()}), updates.reshape({flat.numel(), row}), how)
          .view(x.sizes()));
}

void one_hot_of(Call& c) {
  const Tensor at = c.x(0), values = c.x(2);
  const Int depth = c.scalar(1).to_int();
  const int rank = at.dim() + 1, axis = axis_of(c, c.i("axis", -1), rank);
  Ints sizes;
  for (int d = 0; d < rank; ++d) sizes.push_back(d == axis ? depth : Int(1));
  const Tensor whole = at.to(kInt64);
  const Tensor hot = arange(depth).view(sizes) == from_front(whole, depth).unsqueeze(axis);
  c.give(where(hot, values.select(0, 1), values.select(0, 0)));
}

void reverse_sequence(Call& c) {
  const Tensor x = c.x(0), lengths = c.x(1);
  const int time = axis_of(c, c.i("time_axis", 0), x.dim()), batch = axis_of(c, c.i("batch_axis", 1), x.dim());
  if (time == batch) c.bad("time_axis and batch_axis are both ", time);
  Ints of_time, of_batch;
  for (int d = 0; d < x.dim(); ++d)
    of_time.push_back(d == time ? x.size(d) : Int(1)), of_batch.push_back(d == batch ? x.size(d) : Int(1));
  const Tensor t = arange(x.size(time)).view(of_time), n = lengths.to(kInt64).view(of_batch);
  c.give(gather(x, time, where(t < n, n - 1 - t, t).expand(x.sizes())));
}

constexpr Row kIndexRows[] = {
    {"Gather", 1, 0, gather_of, 0, fold::gather},
    {"GatherElements", 11, 0, gather_elements},
    {"GatherND", 11, 0, gather_nd},
    {"OneHot", 9, 0, one_hot_of, 2},
    {"ReverseSequence", 10, 0, reverse_sequence},
    {"Scatter", 9, 10, scatter_elements},
    {"ScatterElements", 11, 0, scatter_elements},
    {"ScatterND", 11, 0, scatter_nd, 0, fold::scatter_nd},
};

}  // namespace

std::span<const Row> index_rows() { return kIndexRows; }

}  // namespace reprise::onnx
