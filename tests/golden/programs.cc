#include "programs.h"

namespace reprise::golden {

namespace {

/// Calls f compiled with these arguments (of shapes that no size of another has, so that each has a symbol of its own).
template <class F, class... A>
std::function<std::string(const std::string&)> once(F f, std::vector<std::string> arguments, A... a) {
  return [f, arguments, a...](const std::string& name) {
    auto c = compile(f, {.name = name, .arguments = arguments});
    c(a...);
    return c.explain();
  };
}

Tensor rms_norm(Tensor x, Tensor w) { return x * rsqrt((x * x).mean(-1, true) + 1e-6) * w; }

Tensor rotated(Tensor x, Tensor cos, Tensor sin) {
  Int half = x.size(-1) / 2;
  Tensor a = x.slice(-1, 0, half), b = x.slice(-1, half, half * 2);
  return cat({a * cos - b * sin, b * cos + a * sin}, -1);
}

Tensor attend(Tensor q, Tensor k, Tensor v, Tensor keys, Tensor values, Int at) {
  Int n = k.size(1);
  keys.slice(1, at, at + n).copy_(k);
  values.slice(1, at, at + n).copy_(v);
  return scaled_dot_product_attention(q, keys.slice(1, 0, at + n), values.slice(1, 0, at + n));
}

void momentum_step(Tensor w, Tensor m, Tensor g) {
  m.mul_(0.9).add_(g);
  w.sub_(m * 0.01);
}

Tensor gelu_layer(Tensor x, Tensor w, Tensor b) { return gelu(linear(x, w, b)); }

Tensor sample(Tensor logits, Scalar temperature) { return (logits / temperature).softmax(-1).argmax(-1); }

Tensor column_of_a_transpose(Tensor x, Tensor y) {
  x.t().select(1, 1).add_(y);
  return x.sum(0);
}

Tensor windows(Tensor x) {
  x.as_strided({2, 3}, {2, 1}, 1).select(0, 1).mul_(2);
  return x.unfold(0, 3, 2).sum(1);
}

Tensor branch_on_size(Tensor x) { return x.size(0) > 4 ? x.slice(0, 0, 4).sum() : x.mean(); }

Tensor embed(Tensor table, Tensor tokens) { return table.index_select(0, tokens).cumsum(0); }

Tensor half_chain(Tensor x, Tensor y) { return ((x + y).tanh() * x).to(kFloat32); }

std::pair<Tensor, Tensor> shared(Tensor x) {
  Tensor y = x * 2;
  return {y, y.t()};
}

Tensor clipped(Tensor g, Tensor limit) {
  Tensor norm = (g * g).sum().sqrt();
  return cond(
      norm > limit, [&] { return g * (limit / norm); }, [&] { return g; });
}

Tensor quantized(Tensor x, Tensor q, Tensor scale, Tensor b) { return relu(linear(x, q.to(kFloat32)) * scale + b); }

Tensor noise(Tensor x) { return x + rand_like(x) * 0.1; }

}  // namespace

const std::vector<Program>& programs() {
  using Names = std::vector<std::string>;
  static const std::vector<Program> all = {
      {"rms_norm", "a reduction and what uses it, in one kernel",
       once(rms_norm, Names{"x", "w"}, ones({5, 8}), ones({8}))},
      {"rotary", "slices and cat disappear in index arithmetic",
       once(rotated, Names{"x", "cos", "sin"}, ones({3, 5, 8}), ones({5, 4}), ones({5, 4}))},
      {"cache_append", "writes into parts of arguments are made in place",
       once(attend, Names{"q", "k", "v", "keys", "values", "at"}, ones({2, 3, 8}), ones({2, 3, 8}), ones({2, 3, 8}),
            ones({2, 32, 8}), ones({2, 32, 8}), Int(6))},
      {"momentum_step", "two arguments are written by one kernel",
       once(momentum_step, Names{"w", "m", "g"}, ones({6, 7}), ones({6, 7}), ones({6, 7}))},
      {"gelu_layer", "a product with its bias and activation",
       once(gelu_layer, Names{"x", "w", "b"}, ones({5, 8}), ones({12, 8}), ones({12}))},
      {"sample", "a float argument is a word of the call",
       once(sample, Names{"logits", "temperature"}, ones({3, 100}), Scalar(0.7))},
      {"column_of_a_transpose", "a write through a chain of views",
       once(column_of_a_transpose, Names{"x", "y"}, ones({5, 7}), ones({7}))},
      {"windows", "places in a storage that are named", once(windows, Names{"x"}, ones({9}))},
      {"branch_on_size", "a branch is a guard", once(branch_on_size, Names{"x"}, ones({7}))},
      {"embed", "index values that are checked while the call runs",
       once(embed, Names{"table", "tokens"}, ones({50, 8}), arange(6))},
      {"half_chain", "half precision is rounded once, at the end of a chain",
       once(half_chain, Names{"x", "y"}, ones({4, 8}, {.dtype = kFloat16}), ones({8}, {.dtype = kFloat16}))},
      {"shared", "two results share a storage", once(shared, Names{"x"}, ones({4, 6}))},
      {"clipped", "a branch on a value: two regions, of which one runs; on a device both, and a choice",
       once(clipped, Names{"g", "limit"}, ones({5, 7}), ones({}))},
      {"quantized", "weights that are widened before a product are read as they are stored",
       once(quantized, Names{"x", "q", "scale", "b"}, ones({5, 8}), ones({12, 8}).to(kInt8), ones({12}), ones({12}))},
      {"noise", "random numbers begin where the last call ended", once(noise, Names{"x"}, ones({6}))},
  };
  return all;
}

}  // namespace reprise::golden
