// Derivatives of views, of joins, and of moves between devices.
#include <optional>

#include "autograd/rule_parts.h"
#include "autograd/rules.h"

namespace reprise::autograd::rules {

// ---- views of all elements

void reshaped(Backward& b) { b.give(0, reshape(b.grad(), b.sizes(0), b.loc())); }
void unsqueeze(Backward& b) { b.give(0, squeeze(b.grad(), b.integer(1), b.loc())); }
void permute(Backward& b) {
  const Ints& dims = b.ints(1);
  Ints back(dims.size(), 0);
  for (std::size_t i = 0; i < dims.size(); ++i) back[static_cast<std::size_t>(wrapped(dims[i], b.dim(0)))] = Int(i);
  b.give(0, permute(b.grad(), back, b.loc()));
}

// ---- views of some: zeros with the gradient in their place, and back

namespace {
std::optional<Int> optional_integer(const Backward& b, int arg) {
  return b.has(arg) ? std::optional(b.integer(arg)) : std::nullopt;
}
/// Into the place of a scatter's src go zeros.
Tensor none_of_source(const Backward& b, const Tensor& g) { return zeros(b.sizes(1), g.options(), b.loc()); }
}  // namespace

void slice(Backward& b) {
  const Tensor& g = b.grad();
  b.give(0, slice_scatter(zeros_for(b, 0, g), g, b.integer(1), optional_integer(b, 2), optional_integer(b, 3),
                          b.integer(4), b.loc()));
}
void select(Backward& b) {
  b.give(0, select_scatter(zeros_for(b, 0, b.grad()), b.grad(), b.integer(1), b.integer(2), b.loc()));
}
void diagonal(Backward& b) {
  b.give(0, diagonal_scatter(zeros_for(b, 0, b.grad()), b.grad(), b.integer(1), b.integer(2), b.integer(3), b.loc()));
}

void slice_scatter(Backward& b) {
  const Tensor& g = b.grad();
  const std::optional<Int> start = optional_integer(b, 3), end = optional_integer(b, 4);
  if (b.wants(0)) b.give(0, slice_scatter(g, none_of_source(b, g), b.integer(2), start, end, b.integer(5), b.loc()));
  if (b.wants(1)) b.give(1, slice(g, b.integer(2), start, end, b.integer(5), b.loc()));
}
void select_scatter(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0)) b.give(0, select_scatter(g, none_of_source(b, g), b.integer(2), b.integer(3), b.loc()));
  if (b.wants(1)) b.give(1, select(g, b.integer(2), b.integer(3), b.loc()));
}
void diagonal_scatter(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0))
    b.give(0, diagonal_scatter(g, none_of_source(b, g), b.integer(2), b.integer(3), b.integer(4), b.loc()));
  if (b.wants(1)) b.give(1, diagonal(g, b.integer(2), b.integer(3), b.integer(4), b.loc()));
}

// ---- views of a storage, whatever stands there

namespace {

/// Note [Places]. as_strided names places of a storage, which self's elements need not fill, or fill twice. So
/// gradients go through a buffer for the places that either side names: those of the view are added up in it, and each
/// element of self takes what stands in its place (shared among elements that stand there together: who made self that
/// way adds them up again).
struct Places {
  Tensor of_self, of_part;  ///< numbers of places
  Int n;

  Places(const Layout& self, const Ints& sizes, const Ints& strides, std::optional<Int> offset, Device device,
         SourceLoc loc) {
    const Int part_at = offset ? *offset : self.offset, first = Int::min(self.offset, part_at);
    n = Int::max(
        1, Int::max(last(self.sizes, self.strides, self.offset - first), last(sizes, strides, part_at - first)) + 1);
    of_self = numbers(self.sizes, self.strides, self.offset - first, device, loc);
    of_part = numbers(sizes, strides, part_at - first, device, loc);
  }
  static Int last(const Ints& sizes, const Ints& strides, Int at) {
    for (std::size_t d = 0; d < sizes.size(); ++d) at += (sizes[d] - 1) * strides[d];
    return at;
  }
  static Tensor numbers(const Ints& sizes, const Ints& strides, Int at, Device device, SourceLoc loc) {
    const TensorOptions options{kInt64, device};
    Tensor all = full(sizes, Scalar(at), options, loc);
    for (std::size_t d = 0; d < sizes.size(); ++d) {
      Ints beside(sizes.size() - d, 1);
      beside[0] = sizes[d];
      all = all + reshape(arange(Scalar(sizes[d]), options, loc), beside, loc) * strides[d];
    }
    return all;
  }
};

}  // namespace

void as_strided(Backward& b) {
  const Tensor& g = b.grad();
  const Places p(b.layout(), b.ints(1), b.ints(2), optional_integer(b, 3), g.device(), b.loc());
  const Tensor none = zeros({p.n}, g.options(), b.loc());
  const Tensor buffer = index_put(none, {p.of_part}, g, true, b.loc());
  const Tensor sharing = index_put(none, {p.of_self}, ones({}, g.options(), b.loc()), true, b.loc());
  b.give(0, index(buffer, {p.of_self}, b.loc()) / index(sharing, {p.of_self}, b.loc()));
}
void as_strided_scatter(Backward& b) {
  const Tensor& g = b.grad();
  const Places p(b.layout(), b.ints(2), b.ints(3), optional_integer(b, 4), g.device(), b.loc());
  const Tensor none = zeros({p.n}, g.options(), b.loc());
  if (b.wants(0)) {
    const Tensor covered = index_put(none, {p.of_part}, ones({}, g.options(), b.loc()), false, b.loc());
    b.give(0, unless(index(covered, {p.of_self}, b.loc()) != 0, g, b.loc()));
  }
  if (b.wants(1)) b.give(1, index(index_put(none, {p.of_self}, g, true, b.loc()), {p.of_part}, b.loc()));
}

// ---- joins

void cat(Backward& b) {
  const int rank = static_cast<int>(b.result_sizes().size()), dim = wrapped(b.integer(1), rank);
  Int at = 0;
  for (std::size_t i = 0; i < b.count(0); ++i) {
    const Ints& sizes = b.sizes(0, i);
    if (static_cast<int>(sizes.size()) != rank) continue;  // a tensor of no elements that was skipped
    const Int n = sizes[static_cast<std::size_t>(dim)];
    if (b.wants(0, i)) b.give(0, i, slice(b.grad(), dim, at, at + n, 1, b.loc()));
    at += n;
  }
}

// ---- between devices

void to_device(Backward& b) { b.give(0, to(b.grad(), b.device(0), b.loc())); }
void copy_from(Backward& b) { b.give(1, to(b.grad(), b.device(1), b.loc())); }

}  // namespace reprise::autograd::rules
