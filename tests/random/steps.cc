#include "tests/random/steps.h"

namespace reprise::fuzz {

namespace {

Tensor unary(const Tensor& a, unsigned p) {
  switch (p % 12) {
    case 0: return -a;
    case 1: return tanh(a);
    case 2: return relu(a);
    case 3: return abs(a);
    case 4: return sigmoid(a);
    case 5: return exp(clamp(a, -4.0, 4.0));
    case 6: return sqrt(abs(a) + 1.0);
    case 7: return floor(a);
    case 8: return sign(a);
    case 9: return sin(a);
    case 10: return square(tanh(a));
    default: return silu(a);
  }
}

Tensor binary(const Tensor& a, const Tensor& b, unsigned p) {
  switch (p % 7) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return tanh(a) * b;
    case 3: return maximum(a, b);
    case 4: return minimum(a, b);
    case 5: return a / (abs(b) + 1.0);
    default: return add(a, b, 0.5);
  }
}

Tensor compare(const Tensor& a, const Tensor& b, unsigned p) {
  switch (p % 6) {
    case 0: return a < b;
    case 1: return a >= b;
    case 2: return a != b;
    case 3: return isfinite(a);
    case 4: return a == b;
    default: return a > 0.013;
  }
}

// A sum that is 0 but for its last bits is 0.
Tensor truth(const Tensor& a) { return is_floating(a.dtype()) ? trunc(a * 64.0 + 0.3) : a; }

Tensor logical(const Tensor& x, const Tensor& y, unsigned p) {
  Tensor a = truth(x), b = truth(y);
  switch (p % 5) {
    case 0: return logical_and(a, b);
    case 1: return logical_or(a, b);
    case 2: return logical_not(a);
    case 3: return (a > 0.013) & (b <= 0.513);
    default: return logical_xor(a, b > 0.013);
  }
}

// Off the values that sums of eighths hit: the last bit of a sum in another order must not decide.
Tensor to_integers(const Tensor& a) { return is_floating(a.dtype()) ? (clamp(a, -1000.0, 1000.0) * 4.0 + 0.3).to(kInt64) : a.to(kInt64); }

Tensor integer(const Tensor& a, const Tensor& b, unsigned p) {
  Tensor i = to_integers(a), j = to_integers(b);
  switch (p % 8) {
    case 0: return i + j;
    case 1: return i * j;
    case 2: return remainder(i, 7);
    case 3: return floor_divide(i, abs(j) + 1);
    case 4: return (i & 15) | (j & 3);
    case 5: return i ^ j;
    case 6: return fmod(i, 5);
    default: return bitwise_left_shift(i & 15, 2);
  }
}

Tensor cast(const Tensor& a, unsigned p) {
  switch (p % 5) {
    case 0: return to_integers(a).to(kInt32);
    case 1: return a.to(kFloat32);
    case 2: return a.to(kFloat64);
    case 3: return (a > 0.013).to(kFloat32);
    default: return (to_integers(a) & 127).to(kInt8);
  }
}

Tensor reduce(const Tensor& a, unsigned p, Int d, bool keep) {
  if (a.dim() == 0) return a + 1.0;
  switch (p % 6) {
    case 0: return sum(a, {d}, keep);
    case 1: return mean(a.to(kFloat32), {d}, keep);
    case 2: return sum(a);
    case 3: return var(a.to(kFloat32), {d}, 0, keep);
    case 4: return logsumexp(a.to(kFloat32), {d}, keep);
    default: return sum(a, {Int(0), Int(-1)}, keep);
  }
}

Tensor extreme(const Tensor& a, unsigned p, Int d, bool keep) {
  if (a.dim() == 0) return a;
  switch (p % 5) {
    case 0: return amax(a, {d}, keep);
    case 1: return amin(a, {d}, keep);
    case 2: return any(a, {d}, keep);
    case 3: return all(a > 0.013, {d}, keep);
    default: return std::get<0>(max(a, d, keep));
  }
}

Tensor slice(const Tensor& a, unsigned p, int d, Int n) {
  if (a.dim() == 0) return a.unsqueeze(0);
  Int size = a.size(d);
  switch (p % 8) {
    case 0: return a.slice(d, 0, (size + 1) / 2);
    case 1: return a.slice(d, size / 2, size);
    case 2: return a.slice(d, 0, size, 2);
    case 3: return a.slice(d, Int::min(n, size - 1), size);
    case 4: return a.slice(d, 0, n);
    case 5: return a.slice(d, -2, std::nullopt);
    case 6: return a.narrow(d, size / 3, size - size / 3);
    default: return a.slice(d, 0, size);
  }
}

Tensor product(const Tensor& a, const Tensor& b, unsigned p) {
  Tensor f = tanh(a).to(kFloat32), g = tanh(b).to(kFloat32);
  switch (p % 5) {
    case 0: return mm(f, g);
    case 1: return mm(f, g.transpose(0, 1));
    case 2: return mm(f.t(), g);
    case 3: return linear(f, g);
    default: return matmul(f, g);
  }
}

Tensor batched(const Tensor& a, const Tensor& b, unsigned p) {
  Tensor f = tanh(a).to(kFloat32), g = tanh(b).to(kFloat32);
  return p % 2 ? bmm(f, g.transpose(1, 2)) : matmul(f, g);
}

// Puts a few of the written values next to values that stay: what a wrong recipe mixes up.
// What may be stored in a: an integer dtype would turn the last bit of a float into a difference of 1.
Tensor storable(const Tensor& a, const Tensor& b) {
  return !is_floating(a.dtype()) && is_floating(b.dtype()) ? to_integers(b) : b;
}

Tensor through_slice(const Tensor& a, const Tensor& b, unsigned p, int d, Int n, double c) {
  Tensor part = slice(a, p, d, n);
  switch (p % 3) {
    case 0: part.mul_(c); break;
    case 1: part.add_(slice(b, p, d, n)); break;
    default: part.copy_(slice(clamp(storable(a, b), -1.0, 1.0), p, d, n));
  }
  return p % 2 ? a : part;
}

Tensor metadata(const Tensor& a, unsigned p) {
  Tensor t = a.slice(0, 0, a.size(0));  // a handle of its own: later steps may still use a
  switch (p % 4) {
    case 0: return t.transpose_(0, t.dim() - 1);
    case 1: return t.unsqueeze_(0);
    case 2: return t.unsqueeze_(-1).squeeze_(-1);
    default: return t.swapaxes_(-1, 0);
  }
}

Tensor in_place(const Tensor& a, unsigned p) {
  switch (p % 4) {
    case 0: return a.neg_();
    case 1: return a.tanh_();
    case 2: return a.clamp_(-0.513, 0.513);
    default: return a.abs_();
  }
}

}  // namespace

Tensor run_step(const Step& s, const std::vector<Tensor>& pool, const Arguments& args) {
  Tensor a = pool[s.a], b = pool[s.b];
  double c = static_cast<double>(s.p) / 32.0 - 1.0;
  int d = a.dim() ? static_cast<int>(s.q % static_cast<unsigned>(a.dim())) : 0;
  bool keep = s.q & 32;
  // Valid rows of a along d, whatever its size.
  auto rows = [&] { return remainder(args.ids, Scalar(a.size(d))); };
  switch (s.kind) {
    case Step::k_unary: return unary(a, s.p);
    case Step::k_binary: return binary(a, b, s.p);
    case Step::k_number: return s.q % 3 == 0 ? a * c : s.q % 3 == 1 ? args.n + a * 0.5 : a * Scalar(args.x.size(0) + 1);
    case Step::k_compare: return compare(a, b, s.p);
    case Step::k_logical: return logical(a, b, s.p);
    case Step::k_where: return where(s.p % 2 ? a > b : args.m, a, b * 0.5);
    case Step::k_clamp: return s.p % 2 ? clamp(a, -0.5, 0.5) : clamp_min(a, b);
    case Step::k_integer: return integer(a, b, s.p);
    case Step::k_cast: return cast(a, s.p);
    case Step::k_rounded: return a.to(s.p % 2 ? kFloat16 : kBFloat16).to(kFloat32);
    case Step::k_half: return a.to(s.p % 2 ? kFloat16 : kBFloat16);
    case Step::k_truncate: return trunc(a * 2.0 + 0.013);
    case Step::k_reduce: return reduce(a, s.p, d, keep);
    case Step::k_extreme: return extreme(a, s.p, d, keep);
    case Step::k_argmax: return s.p % 2 ? argmax(round(a * 2.0 + 0.013), d, keep) : argmin(floor(a * 2.0 + 0.013), d, keep);
    case Step::k_softmax: return s.p % 2 ? softmax(a.to(kFloat32), d) : log_softmax(a.to(kFloat32), d);
    case Step::k_norm: return s.p % 2 ? rms_norm(a.to(kFloat32), {a.size(-1)}, Tensor(), 1e-3) : layer_norm(a.to(kFloat32), {a.size(-1)}, {}, {}, 1e-1);
    case Step::k_product: return product(a, b, s.p);
    case Step::k_batched: return batched(a, b, s.p);
    case Step::k_attention: {
      Tensor f = tanh(a).to(kFloat32), g = tanh(b).to(kFloat32);
      return scaled_dot_product_attention(f, g, g * 0.5, {}, 0.0, s.p % 2);
    }
    case Step::k_cumsum: return cumsum(a, d);
    case Step::k_sort: return std::get<0>(sort(a, d, s.p % 2));
    case Step::k_topk: return std::get<0>(topk(a, Int::min(2, a.size(d)), d, s.p % 2));
    case Step::k_transpose: return a.transpose(0, a.dim() - 1);
    case Step::k_permute: return a.permute(s.p % 2 ? std::vector<Int>{1, 2, 0} : std::vector<Int>{2, 0, 1});
    case Step::k_slice: return slice(a, s.p, d, args.n);
    case Step::k_select: return a.select(d, s.p % 2 ? Int(-1) : a.size(d) / 2);
    case Step::k_unsqueeze: return a.dim() < 4 ? a.unsqueeze(d) : a;
    case Step::k_squeeze: return s.p % 2 ? a.squeeze() : a.squeeze(d);
    case Step::k_flatten: return s.p % 3 == 0 ? a.reshape({-1}) : s.p % 3 == 1 ? a.contiguous().view({-1, 1}) : a.flatten(0, 1);
    case Step::k_expand: return a.dim() < 4 ? (s.p % 2 ? a.unsqueeze(0).expand({2, -1, -1}) : a.unsqueeze(0).expand({args.n + 1, -1}).clone()) : a;
    case Step::k_chunk: return chunk(a, 2, d).back();
    case Step::k_diagonal: return a.diagonal(s.p % 2);
    case Step::k_unfold: return a.dim() < 4 ? a.unfold(d, 1 + s.p % 2, 1) : a;
    case Step::k_cat: return cat({a, s.p % 3 == 0 ? a : s.p % 3 == 1 ? a * 2.0 : b}, d);
    case Step::k_stack: return a.dim() < 4 ? stack({a, a + 1.0}, d) : a;
    case Step::k_pad: return pad(a, {1, Int(s.p % 2)}, 0.5);
    case Step::k_roll: return s.p % 2 ? roll(a, {args.n}, {d}) : flip(a, {d});
    case Step::k_tril: return s.p % 2 ? tril(a, 0) : triu(a, 1);
    case Step::k_index_select: return index_select(a, d, rows());
    case Step::k_embedding: d = 0; return embedding(a, rows());
    case Step::k_gather: return gather(a, d, remainder(args.i, Scalar(a.size(d))));
    case Step::k_fresh: return s.p % 3 == 0 ? arange(a.size(d), {.device = a.device()}) : s.p % 3 == 1 ? full_like(a, 0.25) : zeros({a.size(d), args.n}, {.dtype = kFloat64, .device = a.device()});
    case Step::k_add_: return a.add_(s.p % 3 ? (s.p % 3 == 1 ? tanh(b) : b) : Tensor(a * 0.5));
    case Step::k_mul_: return a.mul_(c);
    case Step::k_copy_: return a.copy_(s.p % 2 ? storable(a, b) : storable(a, b) + 1.0);
    case Step::k_fill_: return s.p % 4 ? a.fill_(c) : a.zero_();
    case Step::k_masked_fill_: return a.masked_fill_(a > c + 0.0013, 0.5);
    case Step::k_unary_: return in_place(a, s.p);
    case Step::k_scatter_: return s.p % 2 ? a.scatter_(d, remainder(args.ids.unsqueeze(-1), Scalar(a.size(d))), 0.5) : a.index_copy_(d, arange(a.size(d), {.device = a.device()}), clamp(a, -1.0, 1.0));
    case Step::k_index_put_: return a.index_put_({remainder(args.ids, Scalar(a.size(0)))}, b.select(0, 0), false);
    case Step::k_through_slice: return through_slice(a, b, s.p, d, args.n, c);
    case Step::k_through_select: a.select(d, s.p % 2 ? Int(0) : a.size(d) - 1).add_(c); return a;
    case Step::k_through_transpose: a.transpose(0, 1).copy_(clamp(storable(a, b), -1.0, 1.0)); return a;
    case Step::k_through_view: a.view({-1}).slice(0, 1, std::nullopt, 2).fill_(c); return a;
    case Step::k_symmetric: return s.p % 3 == 0 ? maximum(a, a.t()) : s.p % 3 == 1 ? a + a.t() : where(a > a.t(), a, a * 0.5);
    case Step::k_transpose_copy_: {
      Tensor to = a.t(), from = storable(a, s.p % 4 < 2 ? a : b);
      to.copy_(s.p % 4 == 0 ? from.t() : s.p % 4 == 1 ? from.clone() : s.p % 4 == 2 ? from.t() : from);
      return s.q % 2 ? a : to;
    }
    case Step::k_t_: return a.t_();
    case Step::k_metadata_: return metadata(a, s.p);
    case Step::dropped: break;
  }
  return a;
}

}  // namespace reprise::fuzz
