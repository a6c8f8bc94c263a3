// Operators of sequence models since set 23: attention with its masks and caches, rotary embeddings, writes into a
// cache, and the recurrences of state space models.
#include <cmath>
#include <limits>

#include "import/onnx/core.h"
#include "reprise/compile.h"
#include "reprise/convolution.h"

namespace reprise::onnx {
namespace {

/// [batch, length, heads * size] as [batch, heads, length, size].
Tensor by_heads(Call& c, const Tensor& x, std::int64_t heads, const char* what) {
  if (heads < 1) c.bad("has ", heads, " heads of ", what, ", which has 3 dimensions");
  if (x.size(2) % heads != 0) c.bad("has ", heads, " heads for ", what, " of ", x.size(2).hint(), " columns");
  return x.view({x.size(0), x.size(1), heads, x.size(2) / heads}).transpose(1, 2);
}
Tensor joined_heads(const Tensor& x) {
  const Tensor rows = x.transpose(1, 2);
  return rows.reshape({rows.size(0), rows.size(1), rows.size(2) * rows.size(3)});
}

/// Which keys a query may see, and what is added to the scores. Undefined where nothing is said.
struct Masks {
  Tensor allowed, bias;
  void allow(const Tensor& where) { allowed = allowed.defined() ? logical_and(allowed, where) : where; }
  bool any() const { return allowed.defined() || bias.defined(); }
  /// One mask: of bools, or what is added.
  Tensor joined(DType t) const {
    if (!bias.defined()) return allowed;
    if (!allowed.defined()) return bias.to(t);
    return where(allowed, bias.to(t), full({}, -std::numeric_limits<double>::infinity(), {.dtype = t}));
  }
};

struct AttentionCall {
  Tensor q, k, v;  ///< [batch, heads, length, size]
  Masks masks{};
  bool rows = false;    ///< of 3 dimensions
  bool causal = false;  ///< not in `masks`: each query sees the keys up to its own place
  double softcap = 0;
};

/// The mask of the node. One that ends before the keys do hides those behind its end.
void given_mask(Call& c, AttentionCall& a) {
  Tensor mask = c.x(3);
  if (mask.dim() < 1 || mask.dim() > 4) c.bad("has a mask of ", mask.dim(), " dimensions; wanted 1 to 4");
  const Int keys = a.k.size(2), has = mask.size(-1);
  const bool bools = mask.dtype() == kBool;
  if (!identical(has, keys) && bool(has < keys))
    mask = pad(mask, {0, keys - has}, bools ? Scalar(false) : Scalar(-std::numeric_limits<double>::infinity()));
  if (bools) a.masks.allow(mask);
  else a.masks.bias = mask;
}

AttentionCall attention_call(Call& c) {
  AttentionCall a{.q = c.x(0), .k = c.x(1), .v = c.x(2)};
  a.rows = a.q.dim() == 3;
  if ((!a.rows && a.q.dim() != 4) || a.k.dim() != a.q.dim() || a.v.dim() != a.q.dim())
    c.bad("has a query, key and value of ", a.q.dim(), ", ", a.k.dim(), " and ", a.v.dim(),
          " dimensions; wanted 3 or 4 of each");
  if (a.rows) {
    const std::int64_t heads = c.i("kv_num_heads", 0);
    a.q = by_heads(c, a.q, c.i("q_num_heads", 0), "the query");
    a.k = by_heads(c, a.k, heads, "the key"), a.v = by_heads(c, a.v, heads, "the value");
  }
  if (a.q.size(1) % Int::max(a.k.size(1), 1) != 0)
    c.bad("has ", a.q.size(1).hint(), " heads of the query for ", a.k.size(1).hint(), " of the key");
  if (c.has(4) != c.has(5)) c.bad("has a past key or a past value, and not both");
  if (c.has(4) && c.has(6)) c.bad("has both a past key and nonpad_kv_seqlen");
  const Int queries = a.q.size(2);
  Scalar before = 0;  // keys in front of the queries' own
  if (c.has(4)) {
    before = c.x(4).size(2);
    a.k = cat({c.x(4), a.k}, 2), a.v = cat({c.x(5), a.v}, 2);
  }
  if (a.v.dtype() != a.q.dtype()) a.v = a.v.to(a.q.dtype());
  c.give(a.k, 1), c.give(a.v, 2);

  if (c.has(3)) given_mask(c, a);
  const Int keys = a.k.size(2);
  const bool causal = c.i("is_causal", 0) != 0;
  const std::int64_t left = c.i("left_window_size", -1), right = c.i("right_window_size", -1);
  if (left < -1 || right < -1) c.bad("has a window from ", left, " to ", right, "; wanted -1 or more");
  a.causal = causal && left < 0 && right < 0 && !a.masks.any() && !c.has(4) && !c.has(6);
  if (a.causal || (!causal && left < 0 && right < 0 && !c.has(6))) return a;
  const Tensor key = arange(keys);
  Tensor query = arange(queries).unsqueeze(1) + before;  // places of queries among the keys
  if (c.has(6)) {
    const Tensor held = c.x(6).to(kInt64).view({-1, 1, 1, 1});
    query = query + (held - queries);
    a.masks.allow(key < held);
  }
  if (causal) a.masks.allow(key <= query);
  if (left >= 0) a.masks.allow(query - key <= left);
  if (right >= 0) a.masks.allow(key - query <= right);
  return a;
}

Tensor repeated_heads(const Tensor& x, const Tensor& q) {
  const Int each = q.size(1) / Int::max(x.size(1), 1);
  if (!each.is_symbolic() && each == 1) return x;
  return repeat_interleave(x, each, 1);
}

/// Step by step: with a soft cap, with what is between the products as a result, with another dtype for the softmax.
Tensor attention_in_steps(Call& c, const AttentionCall& a, double scale, DType precision) {
  const DType t = a.q.dtype(), real = is_low_precision(t) ? kFloat32 : t;
  const double each = std::sqrt(scale);
  Tensor scores = matmul(a.q.to(real) * each, repeated_heads(a.k, a.q).to(real).transpose(2, 3) * each);
  const std::int64_t mode = c.i("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) c.bad("has qk_matmul_output_mode ", mode, "; wanted 0 to 3");
  if (mode == 0) c.give(scores.to(t), 3);
  if (a.softcap > 0) scores = tanh(scores / a.softcap) * a.softcap;
  if (mode == 1) c.give(scores.to(t), 3);
  Tensor seen;  // has a query any key to look at?
  const Tensor none = full({}, -std::numeric_limits<double>::infinity(), {.dtype = real});
  if (a.masks.any()) {
    const Tensor mask = a.masks.joined(real);
    if (mask.dtype() == kBool) {
      scores = where(mask, scores, none), seen = any(mask, -1, true);
    } else {
      scores = scores + mask, seen = any(mask > none, -1, true);
    }
  }
  if (a.causal) scores = where(arange(a.k.size(2)) <= arange(a.q.size(2)).unsqueeze(1), scores, none);
  if (mode == 2) c.give(scores.to(t), 3);
  Tensor p = softmax(scores.to(precision == kFloat64 ? kFloat64 : real), -1).to(real);
  if (seen.defined()) p = where(seen, p, zeros({}, {.dtype = real}));
  if (mode == 3) c.give(p.to(t), 3);
  return matmul(p, repeated_heads(a.v, a.q).to(real)).to(t);
}

void attention_of(Call& c) {
  AttentionCall a = attention_call(c);
  a.softcap = c.f("softcap", 0);
  const double root = std::sqrt(std::max<double>(static_cast<double>(a.q.size(3).value()), 1));
  const double scale = c.attribute("scale") ? c.f("scale", 0) : 1 / root;
  const std::int64_t element = c.i("softmax_precision", 0);
  const std::optional<DType> precision = dtype_of_element(static_cast<std::int32_t>(element));
  if (element != 0 && (!precision || !is_floating(*precision)))
    c.bad("has softmax_precision ", element, ", which is no float");
  const bool wide = precision == kFloat64 && a.q.dtype() != kFloat64;
  const bool in_steps = a.softcap > 0 || c.wants(3) || wide || scale < 0;
  const Tensor y = in_steps ? attention_in_steps(c, a, scale, precision.value_or(kFloat32))
                            : scaled_dot_product_attention(a.q, a.k, a.v, a.masks.joined(a.q.dtype()), 0, a.causal,
                                                           scale, !identical(a.q.size(1), a.k.size(1)));
  c.give(a.rows ? joined_heads(y) : y);
}

void rotary_embedding(Call& c) {
  const Tensor x = c.x(0);
  const bool rows = x.dim() == 3;
  if (!rows && x.dim() != 4) c.bad("of ", x.dim(), " dimensions; wanted 3 or 4");
  const Tensor heads = rows ? by_heads(c, x, c.i("num_heads", 0), "the input") : x;
  const Int size = heads.size(3);
  const std::int64_t given = c.i("rotary_embedding_dim", 0);
  if (given < 0 || given % 2 != 0) c.bad("has rotary_embedding_dim ", given, "; wanted an even number");
  const Int turned = given > 0 ? Int(given) : size;
  if (given > 0 && turned > size) c.bad("turns ", given, " of ", size.hint(), " columns");
  if (given == 0 && size % 2 != 0) c.bad("turns ", size.hint(), " columns; wanted an even number");
  const auto cache = [&](int input) {
    const Tensor t = c.has(3) ? index(c.x(input), {c.x(3)}) : c.x(input);
    if (t.dim() != 3) c.bad("input ", input, " has ", c.x(input).dim(), " dimensions; wanted ", c.has(3) ? 2 : 3);
    if (t.size(2) != turned / 2)
      c.bad("input ", input, " has ", t.size(2).hint(), " columns; wanted ", (turned / 2).hint());
    return t.unsqueeze(1);  // beside heads
  };
  const Tensor cosine = cache(1), sine = cache(2);
  const Tensor part = given > 0 ? heads.slice(3, 0, turned) : heads;
  const bool pairs = c.i("interleaved", 0) != 0;
  const Int half = turned / 2;
  const Tensor a = pairs ? part.slice(3, 0, turned, 2) : part.slice(3, 0, half);
  const Tensor b = pairs ? part.slice(3, 1, turned, 2) : part.slice(3, half, turned);
  const Tensor real = cosine * a - sine * b, imaginary = sine * a + cosine * b;
  Tensor made = pairs ? stack({real, imaginary}, -1).reshape(part.sizes()) : cat({real, imaginary}, 3);
  if (given > 0 && !identical(turned, size)) made = cat({made, heads.slice(3, turned, size)}, 3);
  c.give(rows ? joined_heads(made) : made);
}

void tensor_scatter(Call& c) {
  const Tensor past = c.x(0), update = c.x(1);
  const int rank = past.dim(), axis = axis_of(c, c.i("axis", -2), rank);
  if (axis == 0) c.bad("writes along the batch");
  if (update.dim() != rank) c.bad("writes ", update.dim(), " dimensions into ", rank);
  const std::string mode = c.s("mode", "linear");
  if (mode != "linear" && mode != "circular") c.bad("the mode is '", mode, "'; wanted linear or circular");
  for (int d = 0; d < rank; ++d)
    if (d == axis ? bool(update.size(d) > past.size(d)) : bool(update.size(d) != past.size(d)))
      c.bad("writes ", update.size(d).hint(), " into ", past.size(d).hint(), " of dimension ", d);
  if (!c.has(2)) return c.give(slice_scatter(past, update, axis, 0, update.size(axis)));
  // Dimensions in front are counted: what lies behind the axis moves in one piece.
  std::vector<Tensor> places;
  for (int d = 0; d <= axis; ++d) {
    Ints sizes;
    for (int e = 0; e <= axis; ++e) sizes.push_back(e == d ? update.size(d) : Int(1));
    places.push_back(arange(update.size(d)).view(sizes));
  }
  Ints of_batch(static_cast<std::size_t>(axis) + 1, Int(1));
  of_batch[0] = past.size(0);
  Tensor at = places.back() + c.x(2).to(kInt64).view(of_batch);
  if (mode == "circular") at = remainder(at, past.size(axis));
  places.back() = at;
  c.give(index_put(past, places, update));
}

void causal_conv(Call& c) {
  const Tensor x = c.x(0), weight = c.x(1);
  if (x.dim() != 3 || weight.dim() != 3)
    c.bad("has an input and weights of ", x.dim(), " and ", weight.dim(), " dimensions; wanted 3");
  const std::string activation = c.s("activation", "none");
  if (activation != "none" && activation != "silu" && activation != "swish")
    c.bad("the activation is '", activation, "'; wanted none, silu or swish");
  const Int state = weight.size(2) - 1;
  const Tensor padded = c.has(3) ? cat({c.x(3), x}, 2) : pad(x, {state, 0}, 0);
  Tensor y = conv1d(padded, weight, c.has(2) ? c.x(2) : Tensor(), 1, 0, 1, x.size(1));
  if (activation != "none") y = silu(y);
  c.give(y, 0);
  c.give(padded.slice(2, x.size(2)), 1);
}

/// state = decay * state + key (outer) value, where the delta rules first take off what the key already finds.
void linear_attention(Call& c) {
  const std::string rule = c.s("update_rule", "gated_delta");
  const bool gated = rule == "gated" || rule == "gated_delta", corrects = rule == "delta" || rule == "gated_delta";
  if (!gated && !corrects && rule != "linear")
    c.bad("the rule is '", rule, "'; wanted linear, gated, delta or gated_delta");
  const std::int64_t q_heads = c.i("q_num_heads", 0), kv_heads = c.i("kv_num_heads", 0);
  if (kv_heads < 1 || q_heads < 1 || q_heads % kv_heads != 0)
    c.bad("has ", q_heads, " heads of the query for ", kv_heads, " of the key");
  if (gated != c.has(4)) c.bad("with the rule '", rule, gated ? "' wants" : "' takes no", " decay");
  if (corrects != c.has(5)) c.bad("with the rule '", rule, corrects ? "' wants" : "' takes no", " beta");
  const DType t = c.x(0).dtype();
  const auto of = [&](int input, std::int64_t heads, const char* what) {
    const Tensor x = c.x(input);
    if (x.dim() != 3) c.bad(what, " has ", x.dim(), " dimensions; wanted 3");
    return by_heads(c, x, heads, what).to(kFloat32);
  };
  const Tensor q = of(0, q_heads, "the query"), k = of(1, kv_heads, "the key"), v = of(2, kv_heads, "the value");
  const Tensor decay = gated ? exp(of(4, kv_heads, "the decay")) : Tensor();  // [.., 1] or [.., size of a key]
  const bool one_beta = corrects && kv_heads != 1 && bool(c.x(5).size(2) == 1);
  const Tensor beta = corrects ? of(5, one_beta ? 1 : kv_heads, "beta") : Tensor();
  const Int batch = q.size(0), keys = k.size(3), values = v.size(3);
  const std::int64_t turns = q.size(2).value();
  if (turns > kMostTraced && reprise::detail::around().tracer)
    fail(ErrorCode::NotTraceable, c.op(), {}, "turns ", turns, " times: a trace holds each turn");
  c.spend(turns);
  double scale = c.f("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(std::max<double>(static_cast<double>(q.size(3).value()), 1));
  Tensor state = c.has(3) ? c.x(3).to(kFloat32) : zeros({batch, kv_heads, keys, values});
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < turns; ++i) {
    const Tensor key = k.select(2, i).unsqueeze(-1);  // [batch, heads, size, 1]
    Tensor value = v.select(2, i).unsqueeze(2);       // [batch, heads, 1, size]
    if (gated) state = state * decay.select(2, i).unsqueeze(-1);
    if (corrects) value = beta.select(2, i).unsqueeze(-1) * (value - matmul(key.transpose(2, 3), state));
    state = state + key * value;
    const Tensor query = q.select(2, i).unsqueeze(2);
    const Tensor read = q_heads == kv_heads ? state : repeat_interleave(state, q_heads / kv_heads, 1);
    rows.push_back(matmul(query, read).squeeze(2));  // [batch, heads, size]
  }
  const Tensor y = rows.empty() ? zeros({batch, q_heads, 0, values}) : stack(rows, 2) * scale;
  c.give(joined_heads(y).to(t), 0);
  c.give(state.to(c.has(3) ? c.x(3).dtype() : t), 1);
}

constexpr Row kAttentionRows[] = {
    {"Attention", 23, 0, attention_of},           {"CausalConvWithState", 27, 0, causal_conv},
    {"LinearAttention", 27, 0, linear_attention}, {"RotaryEmbedding", 23, 0, rotary_embedding},
    {"TensorScatter", 24, 0, tensor_scatter},
};

}  // namespace

std::span<const Row> attention_rows() { return kAttentionRows; }

}  // namespace reprise::onnx
