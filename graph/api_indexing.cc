// Indexing as it is written between brackets: views first, then at most one gather, scatter or choice by a mask.
#include <vector>

#include "base/errors.h"
#include "base/shown.h"
#include "graph/api_args.h"
#include "graph/interpreter.h"
#include "graph/shape_rules.h"
#include "reprise/indexing.h"
#include "reprise/ops.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;

namespace {

using Kind = TensorIndex::Kind;

/// What is left of an index when numbers, slices and new dimensions have become a view.
struct Seen {
  Tensor view;
  std::vector<Tensor> tensors;  ///< as `index` takes them; empty: the view is all there is
  int masks = 0, others = 0;    ///< among them
  int mask_dim = 0;             ///< of the view, where the last mask begins
};

bool is_mask(const Tensor& t) { return t.dtype() == kBool; }

Seen see(const Tensor& self, std::span<const TensorIndex> indices, const char* op, SourceLoc loc) {
  const TensorMeta m = checked_meta(self, op, loc);
  int named_dims = 0, ellipses = 0;
  for (const TensorIndex& i : indices) {
    if (i.kind() == Kind::Ellipsis) ++ellipses;
    else if (i.kind() == Kind::Tensor && i.tensor().defined() && is_mask(i.tensor())) named_dims += i.tensor().dim();
    else if (i.kind() != Kind::None) ++named_dims;
  }
  if (ellipses > 1) fail(ErrorCode::InvalidArgument, op, loc, "'...' stands more than once");
  if (named_dims > m.dim())
    fail(ErrorCode::InvalidArgument, op, loc, "indices for ", named_dims, " dimensions of a tensor of sizes ",
         graph::sizes_text(m.layout.sizes));
  Seen s{self, {}};
  int dim = 0, listed = 0;  // of the view; of it those that `tensors` speaks of
  for (const TensorIndex& i : indices) switch (i.kind()) {
      case Kind::None: s.view = unsqueeze(s.view, dim++, loc); break;
      case Kind::Ellipsis: dim += m.dim() - named_dims; break;
      case Kind::Number: s.view = select(s.view, dim, i.number(), loc); break;
      case Kind::Slice: {
        const indexing::Slice& part = i.slice();
        if (part.start || part.stop || !graph::is_plain(part.step, 1))
          s.view = slice(s.view, dim, part.start, part.stop, part.step, loc);
        ++dim;
        break;
      }
      case Kind::Tensor: {
        const Tensor& t = i.tensor();
        if (!t.defined()) {
          ++dim;
          break;
        }
        for (; listed < dim; ++listed) s.tensors.emplace_back();
        s.tensors.push_back(t);
        if (is_mask(t)) ++s.masks, s.mask_dim = dim, dim += t.dim();
        else ++s.others, ++dim;
        listed = dim;
        break;
      }
    }
  return s;
}

/// Of a value that is written: leading dimensions of size 1 that the place does not have are gone.
Tensor as_small_as(Tensor value, int rank, SourceLoc loc) {
  while (value.dim() > rank &&
         graph::ask(detail::compare_eq(value.size(0), 1, loc), "index_put: a leading dimension of size 1"))
    value = value.squeeze(0, loc);
  return value;
}

/// The view where the one mask holds becomes `value`. Of values that broadcast along the mask nobody asks how many true
/// elements there are.
void put_where(const Seen& s, const Operand& value, bool accumulate, SourceLoc loc) {
  constexpr const char* op = "index_put_";
  const Tensor& view = s.view;
  Tensor mask = s.tensors.back();
  const TensorMeta m = checked_meta(view, op, loc), of_mask = checked_meta(mask, op, loc);
  const int covered = of_mask.dim(), behind = m.dim() - s.mask_dim - covered;
  if (covered == 0) fail(ErrorCode::ShapeMismatch, op, loc, "a mask of no dimension");
  for (int d = 0; d < covered; ++d)
    if (!graph::same(of_mask.size(d), m.size(s.mask_dim + d), loc, "index_put_: a mask of these sizes"))
      fail(ErrorCode::ShapeMismatch, op, loc, "a mask of sizes ", graph::sizes_text(of_mask.layout.sizes),
           " from dimension ", s.mask_dim, " on of sizes ", graph::sizes_text(m.layout.sizes));
  for (int d = 0; d < behind; ++d) mask = unsqueeze(mask, -1, loc);
  if (!value.tensor()) {
    if (accumulate) view.copy_(where(mask, add(view, value, 1, loc), view, loc), loc);
    else view.masked_fill_(mask, value, loc);
    return;
  }
  Tensor v = as_small_as(*value.tensor(), m.dim() - covered + 1, loc);
  if (v.dtype() != m.dtype)
    fail(ErrorCode::DTypeMismatch, op, loc, "values of ", v.dtype(), " for a tensor of ", m.dtype);
  const int at = v.dim() - 1 - behind;  // the dimension of v along which it has a slice for each true element
  // A size that depends on data is that of a selection: it has a slice for each.
  if (at < 0 ||
      (!graph::depends_on_data(v.size(at)) &&
       graph::ask(detail::compare_eq(v.size(at), 1, loc), "index_put_: one value for all that the mask shows"))) {
    for (int d = 1; at >= 0 && d < covered; ++d) v = unsqueeze(v, at, loc);
    view.copy_(where(mask, accumulate ? add(view, v, 1, loc) : v, view, loc), loc);
    return;
  }
  view.index_put_(TensorArrayRef(s.tensors), v, accumulate, loc);  // a slice for each true element, which are counted
}

}  // namespace

void detail::no_such_index(std::string_view text, SourceLoc loc) {
  fail(ErrorCode::InvalidArgument, "index", loc, "'", shown(std::string(text)),
       "' is no index; the only text is '...'");
}

Tensor Tensor::index(std::initializer_list<TensorIndex> indices, SourceLoc loc) const {
  return index(std::span(indices.begin(), indices.size()), loc);
}
Tensor Tensor::index(std::span<const TensorIndex> indices, SourceLoc loc) const {
  const Seen s = see(*this, indices, "index", loc);
  if (s.tensors.empty()) return s.view.is_same(*this) ? alias(loc) : s.view;
  return reprise::index(s.view, TensorArrayRef(s.tensors), loc);
}

Tensor Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Tensor& values, bool accumulate,
                          SourceLoc loc) const {
  return index_put_(std::span(indices.begin(), indices.size()), Operand(values, loc), accumulate, loc);
}
Tensor Tensor::index_put_(std::initializer_list<TensorIndex> indices, const Scalar& value, bool accumulate,
                          SourceLoc loc) const {
  return index_put_(std::span(indices.begin(), indices.size()), Operand(value, loc), accumulate, loc);
}
Tensor Tensor::index_put_(std::span<const TensorIndex> indices, const Operand& value, bool accumulate,
                          SourceLoc loc) const {
  const Seen s = see(*this, indices, "index_put_", loc);
  const TensorMeta m = checked_meta(s.view, "index_put_", loc);
  if (s.tensors.empty()) {
    named("index_put_", [&] {
      if (accumulate) s.view.add_(value, 1, loc);
      else if (value.tensor()) s.view.copy_(as_small_as(*value.tensor(), m.dim(), loc), loc);
      else s.view.fill_(value, loc);
    });
  } else if (s.masks == 1 && s.others == 0) {
    named("index_put_", [&] { put_where(s, value, accumulate, loc); });
  } else {
    s.view.index_put_(TensorArrayRef(s.tensors),
                      value.tensor() ? *value.tensor() : full({}, value.number(), {m.dtype, m.device}, loc), accumulate,
                      loc);
  }
  return *this;
}

}  // namespace reprise
