// Attention of several heads (reprise/attention.h), over scaled_dot_product_attention.
#include <limits>

#include "base/errors.h"
#include "graph/api_args.h"
#include "graph/shape_rules.h"
#include "reprise/attention.h"

namespace reprise {

using graph::api::checked_meta;
using graph::api::named;

namespace {

constexpr const char* kName = "multi_head_attention_forward";

/// What scaled_dot_product_attention is told of who sees whom: true takes part, or numbers that are added.
class Mask {
 public:
  Mask(DType scores, SourceLoc loc) : scores_(scores), loc_(loc) {}
  /// One of sizes [batch or 1, heads or 1, queries or 1, keys]; a bool is true where nothing is seen.
  void add(const Tensor& given, const Ints& sizes, const char* what) {
    const TensorMeta m = checked_meta(given, kName, loc_);
    if (m.dtype != kBool && m.dtype != scores_)
      fail(ErrorCode::DTypeMismatch, kName, loc_, what, " is ", dtype_name(m.dtype), ", wanted bool or query's ",
           dtype_name(scores_));
    const Tensor shaped = reshape(given, sizes, loc_);
    also(m.dtype == kBool ? logical_not(shaped, loc_) : shaped);
  }
  /// A bool that is true where a key takes part.
  void also(const Tensor& seen) {
    if (!all_.defined()) all_ = seen;
    else if (all_.dtype() == kBool && seen.dtype() == kBool) all_ = logical_and(all_, seen, loc_);
    else all_ = reprise::add(floats(all_), floats(seen), 1, loc_);
  }
  /// Keys that are behind the others, and seen by all.
  void more_keys(Int n) {
    if (all_.defined()) all_ = pad(all_, {0, n}, all_.dtype() == kBool ? Scalar(true) : Scalar(0.0), loc_);
  }
  const Tensor& get() const { return all_; }

 private:
  Tensor floats(const Tensor& t) const {
    if (t.dtype() != kBool) return t;
    return to(where(t, 0.0, -std::numeric_limits<double>::infinity(), loc_), scores_, loc_);
  }
  DType scores_;
  SourceLoc loc_;
  Tensor all_;
};

}  // namespace

TensorPair multi_head_attention_forward(const Tensor& query, const Tensor& key, const Tensor& value,
                                        const MultiHeadAttentionOptions& o, SourceLoc loc) {
  const TensorMeta q_meta = checked_meta(query, kName, loc), k_meta = checked_meta(key, kName, loc);
  const TensorMeta v_meta = checked_meta(value, kName, loc);
  const bool alone = q_meta.dim() == 2;
  if ((!alone && q_meta.dim() != 3) || k_meta.dim() != q_meta.dim() || v_meta.dim() != q_meta.dim())
    fail(ErrorCode::ShapeMismatch, kName, loc,
         "wants query, key and value of [len, batch, size] or of [len, size], got ",
         graph::sizes_text(q_meta.layout.sizes), ", ", graph::sizes_text(k_meta.layout.sizes), " and ",
         graph::sizes_text(v_meta.layout.sizes));
  return named(kName, [&]() -> TensorPair {
    auto with_batch = [&](const Tensor& x) { return alone ? unsqueeze(x, 1, loc) : x; };
    const Int e = q_meta.layout.sizes.back(), heads = o.num_heads;
    if (!graph::require(detail::compare_lt(0, heads, loc), "attention: heads") ||
        !graph::require(detail::compare_eq(e % heads, 0, loc), "attention: heads divide evenly"))
      fail(ErrorCode::ShapeMismatch, kName, loc, e, " elements in ", heads, " heads");
    const Int size = e / heads;
    auto projected = [&](const Tensor& x, const Tensor& own, int part) {
      const Tensor weight = o.in_proj_weight.defined() ? narrow(o.in_proj_weight, 0, e * part, e, loc) : own;
      const Tensor bias = o.in_proj_bias.defined() ? narrow(o.in_proj_bias, 0, e * part, e, loc) : Tensor();
      return linear(with_batch(x), weight, bias, loc);
    };
    const Tensor q = projected(query, o.q_proj_weight, 0);
    Tensor k = projected(key, o.k_proj_weight, 1), v = projected(value, o.v_proj_weight, 2);
    const Int queries = q.size(0), batch = q.size(1), keys = k.size(0);

    Mask mask(q.dtype(), loc);
    if (o.attn_mask.defined()) {
      const bool of_each = checked_meta(o.attn_mask, kName, loc).dim() == 3;
      mask.add(o.attn_mask, of_each ? Ints{batch, heads, queries, keys} : Ints{1, 1, queries, keys}, "attn_mask");
    }
    if (o.key_padding_mask.defined()) mask.add(o.key_padding_mask, {batch, 1, 1, keys}, "key_padding_mask");
    const bool has_more = o.bias_k.defined() || o.add_zero_attn;
    const bool causal = o.is_causal && !mask.get().defined() && !has_more;
    if (o.is_causal && !causal) mask.also(tril(ones({1, 1, queries, keys}, {kBool, query.device()}, loc), 0, loc));
    if (o.bias_k.defined() != o.bias_v.defined())
      fail(ErrorCode::InvalidArgument, kName, loc, "bias_k and bias_v come together");
    if (o.bias_k.defined()) {
      k = cat({k, expand(o.bias_k, {1, batch, e}, loc)}, 0, loc),
      v = cat({v, expand(o.bias_v, {1, batch, e}, loc)}, 0, loc);
      mask.more_keys(1);
    }
    auto split = [&](const Tensor& x) {  // [batch, heads, len, size]
      return transpose(reshape(transpose(x, 0, 1, loc), {batch, x.size(0), heads, size}, loc), 1, 2, loc);
    };
    Tensor kh = split(k), vh = split(v);
    if (o.add_zero_attn) {
      kh = pad(kh, {0, 0, 0, 1}, 0, loc), vh = pad(vh, {0, 0, 0, 1}, 0, loc);
      mask.more_keys(1);
    }
    const Tensor qh = split(q);
    const double dropped = o.training ? o.dropout_p : 0;
    Tensor out, weights;
    if (o.need_weights) {  // the weights are what attention gives of the identity
      const Int n = kh.size(2);
      const Tensor one = expand(eye(n, std::nullopt, kh.options(), loc), {batch, heads, n, n}, loc);
      weights = scaled_dot_product_attention(qh, kh, one, mask.get(), 0, causal, std::nullopt, false, loc);
      if (dropped > 0) weights = dropout(weights, dropped, true, loc);
      out = matmul(weights, vh, loc);
      if (o.average_attn_weights) weights = mean(weights, {1}, false, std::nullopt, loc);
      if (alone) weights = squeeze(weights, 0, loc);
    } else {
      out = scaled_dot_product_attention(qh, kh, vh, mask.get(), dropped, causal, std::nullopt, false, loc);
    }
    out = reshape(permute(out, {2, 0, 1, 3}, loc), {queries, batch, e}, loc);
    if (o.out_proj_weight.defined()) out = linear(out, o.out_proj_weight, o.out_proj_bias, loc);
    return {alone ? squeeze(out, 1, loc) : out, weights};
  });
}

}  // namespace reprise
