#include "tests/placement/ranks.h"

#include <algorithm>
#include <cmath>

#include "graph/interpreter.h"
#include "kernels/reference/reference.h"
#include "passes/placement/relation.h"
#include "reprise/ops.h"
#include "tensor/impl.h"

namespace reprise::test {

namespace {

using Sizes = std::vector<std::int64_t>;

std::int64_t count(const Sizes& s) {
  std::int64_t n = 1;
  for (const std::int64_t x : s) n *= x;
  return n;
}

/// f(outer, index in dim, inner) for each element in row-major order.
template <class F>
void for_each_along(const Sizes& s, int dim, F&& f) {
  const auto d = static_cast<std::size_t>(dim);
  const std::int64_t inner = count(Sizes(s.begin() + dim + 1, s.end())),
                     outer = count(Sizes(s.begin(), s.begin() + dim));
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t k = 0; k < s[d]; ++k)
      for (std::int64_t i = 0; i < inner; ++i) f(o, k, i, (o * s[d] + k) * inner + i);
}

Elements slice(const Elements& e, int dim, std::int64_t part, std::int64_t n) {
  Elements r{e.dtype, e.sizes, {}};
  const std::int64_t size = r.sizes[static_cast<std::size_t>(dim)] /= n;
  for_each_along(e.sizes, dim, [&](auto, std::int64_t k, auto, std::int64_t at) {
    if (k / size == part) r.at.push_back(e.at[static_cast<std::size_t>(at)]);
  });
  return r;
}

Elements join(const std::vector<Elements>& parts, int dim) {
  Elements r = parts[0];
  r.sizes[static_cast<std::size_t>(dim)] *= static_cast<std::int64_t>(parts.size());
  r.at.clear();
  const std::int64_t inner =
      count(Sizes(r.sizes.begin() + dim, r.sizes.end())) / static_cast<std::int64_t>(parts.size());
  const std::int64_t outer = count(Sizes(r.sizes.begin(), r.sizes.begin() + dim));
  for (std::int64_t o = 0; o < outer; ++o)
    for (const Elements& p : parts) r.at.insert(r.at.end(), p.at.begin() + o * inner, p.at.begin() + (o + 1) * inner);
  return r;
}

std::vector<Elements> part(const Elements& e, const Placement& p, std::int64_t n, std::mt19937& rng) {
  std::vector<Elements> all(static_cast<std::size_t>(n), e);
  if (p.is_shard())
    for (std::int64_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = slice(e, p.dim(), i, n);
  if (!p.is_partial()) return all;
  const bool floats = is_floating(e.dtype);
  for (std::size_t i = 0; i < e.at.size(); ++i) {
    const std::size_t keeper = rng() % static_cast<std::size_t>(n);
    double rest = e.at[i];
    for (std::size_t r = 0; r < all.size(); ++r) {
      if (r == keeper) continue;
      const double x = static_cast<double>(rng() % 5) / (floats ? 2 : 1);
      if (p.reduce() == ReduceOp::Max) all[r].at[i] = e.dtype == DType::Bool ? 0 : e.at[i] - x;
      else if (p.reduce() == ReduceOp::Min) all[r].at[i] = e.dtype == DType::Bool ? 1 : e.at[i] + x;
      else all[r].at[i] = x, rest -= x;
    }
    if (p.reduce() == ReduceOp::Sum) all[keeper].at[i] = rest;
    if (p.reduce() == ReduceOp::Mean) all[keeper].at[i] = rest + e.at[i] * static_cast<double>(n - 1);
  }
  return all;
}

Elements whole(const std::vector<Elements>& parts, const Placement& p, std::string& why) {
  if (p.is_shard()) return join(parts, p.dim());
  Elements r = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (p.is_replicate()) {
      if (const std::string d = difference(parts[i], parts[0]); !d.empty() && why.empty())
        why = "replicated along an axis, and its rank " + std::to_string(i) + " differs from rank 0: " + d;
      continue;
    }
    for (std::size_t k = 0; k < r.at.size(); ++k) {
      double& x = r.at[k];
      const double y = parts[i].at[k];
      x = p.reduce() == ReduceOp::Max ? std::max(x, y) : p.reduce() == ReduceOp::Min ? std::min(x, y) : x + y;
    }
  }
  if (p.is_partial() && p.reduce() == ReduceOp::Mean)
    for (double& x : r.at) x /= static_cast<double>(parts.size());
  return r;
}

}  // namespace

Elements elements_of(const Tensor& t) {
  Elements e{t.dtype(), {}, {}};
  for (int d = 0; d < t.dim(); ++d) e.sizes.push_back(t.impl()->sizes[d]);
  e.at = t.to_vector<double>();
  return e;
}

Tensor tensor_of(const Elements& e) {
  const std::vector<Int> sizes(e.sizes.begin(), e.sizes.end());
  const Tensor wide = reprise::tensor_of(e.at, sizes);
  const std::vector<graph::CallArg> args{&wide, e.dtype};
  return kernels::reference_call(graph::OpId::to, args)[0];
}

Elements random_elements(DType t, const Sizes& sizes, std::mt19937& rng) {
  Elements e{t, sizes, {}};
  for (std::int64_t i = count(sizes); i > 0; --i)
    e.at.push_back(t == DType::Bool ? static_cast<double>(rng() % 2)
                   : is_floating(t) ? (static_cast<double>(rng() % 2001) - 1000) / 500
                                    : static_cast<double>(rng() % 4));
  return e;
}

std::vector<Elements> take_apart(const Elements& e, const Placements& p, const MeshShape& mesh, std::mt19937& rng) {
  // The first axis takes apart first: a later one splits its parts.
  std::vector<Elements> all{e};
  for (int a = 0; a < mesh.axes(); ++a) {
    std::vector<Elements> next;
    for (const Elements& of : all)
      for (Elements& x : part(of, p[static_cast<std::size_t>(a)], mesh.size(a), rng)) next.push_back(std::move(x));
    all = std::move(next);
  }
  return all;
}

Elements put_together(std::vector<Elements> all, const Placements& p, const MeshShape& mesh, std::string& why) {
  for (int a = mesh.axes(); a-- > 0;) {
    std::vector<Elements> next;
    const auto n = static_cast<std::size_t>(mesh.size(a));
    for (std::size_t i = 0; i < all.size(); i += n)
      next.push_back(
          whole({all.begin() + static_cast<std::ptrdiff_t>(i), all.begin() + static_cast<std::ptrdiff_t>(i + n)},
                p[static_cast<std::size_t>(a)], why));
    all = std::move(next);
  }
  return all[0];
}

std::string difference(const Elements& got, const Elements& want) {
  if (got.sizes != want.sizes || got.at.size() != want.at.size()) return "other sizes";
  const double tolerance = item_size(got.dtype) >= 4 ? 3e-5 : 4e-2;  // parts are of float32
  for (std::size_t i = 0; i < want.at.size(); ++i) {
    const double a = got.at[i], b = want.at[i];
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (is_floating(got.dtype) && std::abs(a - b) <= tolerance * (1 + std::abs(b))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a) + ", wanted " + std::to_string(b);
  }
  return "";
}

std::vector<Elements> call_node(const graph::Node& n, const std::vector<graph::NodeArg>& args,
                                const std::vector<Elements>& operands) {
  std::vector<Tensor> tensors;
  for (const Elements& e : operands) tensors.push_back(tensor_of(e));
  std::vector<std::vector<Tensor>> lists;
  lists.reserve(args.size());
  std::size_t next = 0;
  std::vector<graph::CallArg> call;
  for (const graph::NodeArg& a : args) {
    if (std::holds_alternative<graph::ValueId>(a)) call.emplace_back(&tensors.at(next++));
    else if (auto* l = std::get_if<std::vector<graph::ValueId>>(&a)) {
      lists.emplace_back();
      for (const graph::ValueId v : *l) lists.back().push_back(v ? tensors.at(next++) : Tensor());
      call.emplace_back(TensorArrayRef(lists.back()));
    } else if (auto* i = std::get_if<Int>(&a)) call.emplace_back(*i);
    else if (auto* is = std::get_if<Ints>(&a)) call.emplace_back(IntArrayRef(*is));
    else if (auto* s = std::get_if<Scalar>(&a)) call.emplace_back(*s);
    else if (auto* b = std::get_if<bool>(&a)) call.emplace_back(*b);
    else if (auto* t = std::get_if<DType>(&a)) call.emplace_back(*t);
    else if (auto* x = std::get_if<std::string>(&a)) call.emplace_back(std::string_view(*x));
    else call.emplace_back(std::monostate{});
  }
  const std::vector<Tensor> made = graph::op(n.op).cls != graph::OpClass::View && kernels::reference_kernel(n.op)
                                       ? kernels::reference_call(n.op, call)
                                       : graph::calln(n.op, std::span<const graph::CallArg>(call), {});
  std::vector<Elements> out;
  for (const Tensor& t : made) out.push_back(elements_of(t));
  return out;
}

std::vector<std::vector<Elements>> call_on_ranks(const graph::Graph& g, const graph::Node& n,
                                                 const std::vector<std::vector<Elements>>& operands,
                                                 const Placements& first_result, const MeshShape& mesh) {
  Sizes sizes = passes::placement::hints_of(g.meta(n.results.at(0)).layout.sizes);
  for (int a = 0; a < mesh.axes(); ++a)
    if (const Placement& p = first_result[static_cast<std::size_t>(a)]; p.is_shard())
      sizes[static_cast<std::size_t>(p.dim())] /= mesh.size(a);
  const std::vector<graph::NodeArg> args = passes::placement::local_arguments(g, n, sizes);
  std::vector<std::vector<Elements>> out;
  for (const std::vector<Elements>& of : operands) out.push_back(call_node(n, args, of));
  return out;
}

}  // namespace reprise::test
