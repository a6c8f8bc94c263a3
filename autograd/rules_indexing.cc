// Derivatives of what reads and writes by indices, and of ordering.
#include "autograd/rule_parts.h"
#include "autograd/rules.h"

namespace reprise::autograd::rules {

void embedding(Backward& b) { b.give(0, index_put(zeros_for(b, 0, b.grad()), {b.tensor(1)}, b.grad(), true, b.loc())); }
namespace {
Ints sizes_with_one(const Backward& b, int dim) {
  Ints sizes = b.sizes(0);
  sizes[static_cast<std::size_t>(dim)] = 1;
  return sizes;
}
}  // namespace
void index_select(Backward& b) {
  if (b.dim(0) == 0) return b.give(0, sum(b.grad(), {}, false, std::nullopt, b.loc()));
  const bool one = b.dim(2) == 0;  // it leaves a dim of one element
  const Tensor index = one ? reshape(b.tensor(2), {1}, b.loc()) : b.tensor(2);
  b.give(0, index_add(zeros_for(b, 0, b.grad()), b.integer(1), index,
                      one ? reshape(b.grad(), sizes_with_one(b, wrapped(b.integer(1), b.dim(0))), b.loc()) : b.grad(),
                      b.loc()));
}
void gather(Backward& b) {
  b.give(0, scatter_add(zeros_for(b, 0, b.grad()), b.integer(1), b.tensor(2), b.grad(), b.loc()));
}
void index(Backward& b) { b.give(0, index_put(zeros_for(b, 0, b.grad()), b.tensors(1), b.grad(), true, b.loc())); }
void index_put(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0))
    b.give(0, b.flag(3) ? g : index_put(g, b.tensors(1), zeros({}, g.options(), b.loc()), false, b.loc()));
  if (b.wants(2)) b.give(2, index(g, b.tensors(1), b.loc()));
}

namespace {

/// What stands where `index` has read src: index may be smaller than it, and then begins where it begins.
Tensor within_source(const Backward& b, Tensor g, SourceLoc loc) {
  const Ints &src = b.sizes(3), &index = b.sizes(2);
  std::vector<Int> behind;
  bool same = true;
  for (std::size_t d = src.size(); d-- > 0;) {
    same = same && identical(src[d], index[d]);
    behind.push_back(0), behind.push_back(src[d] - index[d]);
  }
  return same ? g : pad(g, behind, 0, loc);
}

}  // namespace

void scatter(Backward& b) {
  if (b.wants(0)) b.give(0, scatter(b.grad(), b.integer(1), b.tensor(2), 0, b.loc()));
  if (b.wants(3)) b.give(3, within_source(b, gather(b.grad(), b.integer(1), b.tensor(2), b.loc()), b.loc()));
}
void scatter_add(Backward& b) {
  b.give(0, b.grad());
  if (b.wants(3)) b.give(3, within_source(b, gather(b.grad(), b.integer(1), b.tensor(2), b.loc()), b.loc()));
}

// Elements that index names begin with self's, or (not include_self) with nothing: then self has no part in them.
void scatter_reduce(Backward& b) {
  const SourceLoc loc = b.loc();
  const Int dim = b.integer(1);
  const Tensor index = b.tensor(2), g = b.grad();
  const std::string_view reduce = b.text(4);
  const bool include_self = b.flag(5);
  auto back = [&](const Tensor& t) { return gather(t, dim, index, loc); };
  auto of_self = [&](const Tensor& t) { return include_self ? t : scatter(t, dim, index, 0, loc); };
  if (reduce == "sum") {
    if (b.wants(0)) b.give(0, of_self(g));
    if (b.wants(3)) b.give(3, within_source(b, back(g), loc));
    return;
  }
  Tensor src = b.tensor(3);
  for (int d = 0; d < src.dim(); ++d)
    if (const Int n = b.sizes(2)[static_cast<std::size_t>(d)]; !identical(n, b.sizes(3)[static_cast<std::size_t>(d)]))
      src = narrow(src, d, 0, n, loc);
  const Tensor self = b.tensor(0), result = b.result();
  if (reduce == "amax" || reduce == "amin") {  // shared by all that are it
    const Tensor self_is = of_self(to(self == result, g.dtype(), loc)),
                 src_is = to(src == back(result), g.dtype(), loc);
    const Tensor share = g / scatter_add(self_is, dim, index, src_is, loc);
    if (b.wants(0)) b.give(0, unless(self_is == 0, share, loc));
    if (b.wants(3)) b.give(3, within_source(b, unless(src_is == 0, back(share), loc), loc));
    return;
  }
  // prod: of all that are not 0, and how many are.
  const Tensor self_0 = self == 0, src_0 = src == 0, self_or_1 = where(self_0, 1, self, loc),
               src_or_1 = where(src_0, 1, src, loc);
  const Tensor product = scatter_reduce(self_or_1, dim, index, src_or_1, "prod", include_self, loc);
  const Tensor zeros_there = scatter_add(of_self(to(self_0, kInt64, loc)), dim, index, to(src_0, kInt64, loc), loc);
  if (b.wants(0)) b.give(0, of_self(where(zeros_there == to(self_0, kInt64, loc), g * product / self_or_1, 0, loc)));
  if (b.wants(3))
    b.give(3, within_source(b, where(back(zeros_there) == to(src_0, kInt64, loc), back(g * product) / src_or_1, 0, loc),
                            loc));
}

// ---- ordering: values come from where indices say

namespace {
void chosen(Backward& b, Int dim) {
  if (!b.has_grad(0)) return;
  if (b.dim(0) == 0) return b.give(0, reshape(b.grad(), {}, b.loc()));
  b.give(0, scatter(zeros_for(b, 0, b.grad()), dim, b.result(1), b.grad(), b.loc()));
}
}  // namespace

void topk(Backward& b) { chosen(b, b.integer(2)); }
void sort(Backward& b) { chosen(b, b.integer(1)); }

}  // namespace reprise::autograd::rules
