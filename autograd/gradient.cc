#include "autograd/gradient.h"

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "reprise/ops.h"

namespace reprise::autograd {

namespace {
/// In a trace a size of the gradient that nobody knows to be the tensor's is asked about: the answer is the trace's.
bool are_equal(Int a, Int b, SourceLoc loc) {
  return identical(a, b) || static_cast<bool>(detail::compare_eq(a, b, loc));
}
}  // namespace

Tensor as_gradient(const Tensor& given, const ResultMeta& of, const Node& by, SourceLoc loc) {
  Tensor g = given;
  if (!is_floating(g.dtype()))
    fail(ErrorCode::DTypeMismatch, by.name().c_str(), loc, "a gradient of ", g.dtype(), " is no gradient of ",
         of.dtype);
  if (g.device() != of.device) {
    if (g.dim() != 0)
      fail(ErrorCode::DeviceMismatch, by.name().c_str(), loc, "a gradient on ", g.device(), " of a tensor on ",
           of.device);
    g = g.to(of.device, loc);
  }
  const Ints have = g.sizes();
  const std::size_t rank = of.sizes.size();
  auto mismatch = [&] {
    fail(ErrorCode::ShapeMismatch, by.name().c_str(), loc, "a gradient of sizes ", graph::sizes_text(have),
         " of a tensor of sizes ", graph::sizes_text(of.sizes));
  };
  if (have.size() < rank) mismatch();
  Ints dims;
  const std::size_t more = have.size() - rank;
  for (std::size_t d = 0; d < more; ++d) dims.push_back(static_cast<std::int64_t>(d));
  for (std::size_t d = 0; d < rank; ++d) {
    if (are_equal(have[more + d], of.sizes[d], loc)) continue;
    if (!are_equal(of.sizes[d], 1, loc)) mismatch();
    dims.push_back(static_cast<std::int64_t>(more + d));
  }
  if (!dims.empty()) {
    g = sum(g, IntArrayRef(dims), true, std::nullopt, loc);
    if (more) g = reshape(g, of.sizes, loc);
  }
  return g.dtype() == of.dtype ? g : g.to(of.dtype, loc);
}

}  // namespace reprise::autograd
