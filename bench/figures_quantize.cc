// What is done to activations and the quantization of what it gives: one function against two, in time and in what
// moves between them.
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "bench/figures.h"
#include "reprise/reprise.h"

namespace reprise::figures {

namespace {

/// Bytes an element of a matrix that the launches read and write, as explain() lists them: of the arguments the first
/// `inputs`, and what has s0 rows of s1 columns or of half of them. Rows and columns of numbers are not counted.
double bytes_an_element(const std::string& explained, int inputs) {
  std::istringstream lines(explained.substr(explained.find("  launches:\n")));
  double bytes = 0;
  std::string matrices = " ";
  for (int i = 0; i < inputs; ++i) matrices += "in" + std::to_string(i) + " ";
  for (std::string line; std::getline(lines, line);) {
    const bool matrix = line.find("s0*s1") != std::string::npos || line.find("128*s0*") != std::string::npos ||
                        line.find("*128") != std::string::npos;
    if (line.starts_with("buffer ") && matrix) matrices += line.substr(7, line.find(':') - 7) + " ";
    auto size_of = [](const std::string& type) {
      return type.starts_with("f32") ? 4 : type.starts_with("bf16") ? 2 : 1;
    };
    // Rows put at indices are read and written; what is told of the old value is not touched.
    if (line.starts_with("native index_put("))
      bytes += 2 * size_of(line.substr(line.find(' ', line.find("-> ") + 3) + 1));
    if (!line.starts_with("loop ")) continue;
    std::istringstream operands(line.substr(line.find('(') + 1, line.find(')') - line.find('(') - 1));
    for (std::string name, type; operands >> name;) {
      if (name == "->") continue;
      operands >> type;
      if (matrices.find(" " + name + " ") == std::string::npos) continue;
      bytes += size_of(type);
    }
  }
  return bytes;
}

/// By rows of y, as a server does before a quantized product.
std::pair<Tensor, Tensor> by_rows(Tensor y, DType to) {
  Tensor f = y.to(kFloat32), scale = f.abs().amax({-1}, true).clamp_min(1e-8) / (to == kInt8 ? 127.0 : 448.0);
  Tensor q = f * (1.0 / scale);
  return {to == kInt8 ? q.round().to(to) : q.clamp(-448, 448).to(to), scale};
}
std::pair<Tensor, Tensor> by_blocks(Tensor y, DType to) {
  return by_rows(y.view({y.size(0), y.size(1) / 128, 128}), to);
}

constexpr std::int64_t kSide = 4096;

std::string milliseconds(double seconds) {
  std::ostringstream s;
  s.precision(3);
  s << seconds * 1e3 << " ms";
  return s.str();
}

/// `before` and `after` in one function against each in its own, on matrices of dtype t; `before` may write its
/// arguments.
template <class B, class Q>
void add(std::vector<Figure>& out, const std::string& name, DType t, int matrices, B before, Q after) {
  auto first = compile(before, {.name = "before"});
  auto second = compile(after, {.name = "after"});
  auto both = compile([=](Tensor x, Tensor r, Tensor w) { return after(before(x, r, w)); }, {.name = "both"});
  const Tensor x = randn({kSide, kSide}).to(t), r = randn({kSide, kSide}).to(t), w = ones({kSide}).to(t);
  both(x, r, w), second(first(x, r, w));
  const double bytes = bytes_an_element(both.explain(), matrices),
               apart = bytes_an_element(first.explain(), matrices) + bytes_an_element(second.explain(), 1);
  const std::string of = name + ", " + std::string(dtype_name(t)) + ", ";
  out.push_back({of + "bytes of the unfused", bytes / apart, "ratio", 0.6, Figure::Better::Lower, true,
                 std::to_string(static_cast<int>(bytes)) + " bytes an element, apart " +
                     std::to_string(static_cast<int>(apart))});
  std::vector<double> one, two;
  for (int i = 0; i < 15; ++i) {
    double start = now();
    both(x, r, w);
    one.push_back(now() - start);
    start = now();
    second(first(x, r, w));
    two.push_back(now() - start);
  }
  out.push_back({of + "time of the unfused", median(one) / median(two), "ratio", 0.7, Figure::Better::Lower, true,
                 "4096 x 4096, interleaved, median of 15: " + milliseconds(median(one)) + " against " +
                     milliseconds(median(two))});
}

/// Rotary positions with halves rotated by a cat, and what is done with them in a cache: one function against two.
template <class W>
void add_rope(std::vector<Figure>& out, const std::string& name, DType t, double most_bytes, W write) {
  auto rope = [](Tensor x, Tensor cos, Tensor sin) {
    const std::vector<Tensor> half = chunk(x, 2, -1);
    return x * cos + cat({-half[1], half[0]}, -1) * sin;
  };
  auto first = compile(rope, {.name = "rope"});
  auto second = compile([=](Tensor k, Tensor cache, Tensor slots) { write(cache, k, slots); }, {.name = "write"});
  auto both = compile(
      [=](Tensor x, Tensor cache, Tensor slots, Tensor cos, Tensor sin) { write(cache, rope(x, cos, sin), slots); },
      {.name = "both"});
  constexpr std::int64_t kRows = 2048, kHeads = 32, kWidth = 128;
  const Tensor x = randn({kRows, kHeads, kWidth}).to(t), cache = zeros({2 * kRows, kHeads, kWidth}, {.dtype = t}),
               slots = arange(kRows) * 2 + 1;
  const Tensor cos = randn({kRows, 1, kWidth}).to(t), sin = randn({kRows, 1, kWidth}).to(t);
  both(x, cache, slots, cos, sin), second(first(x, cos, sin), cache, slots);
  const std::string of = name + ", " + std::string(dtype_name(t)) + ", ";
  const double bytes = bytes_an_element(both.explain(), 2),
               apart = bytes_an_element(first.explain(), 1) + bytes_an_element(second.explain(), 2);
  out.push_back({of + "bytes of the unfused", bytes / apart, "ratio", most_bytes, Figure::Better::Lower, true,
                 std::to_string(static_cast<int>(bytes)) + " bytes an element, apart " +
                     std::to_string(static_cast<int>(apart))});
  std::vector<double> one, two;
  for (int i = 0; i < 15; ++i) {
    double start = now();
    both(x, cache, slots, cos, sin);
    one.push_back(now() - start);
    start = now();
    second(first(x, cos, sin), cache, slots);
    two.push_back(now() - start);
  }
  out.push_back({of + "time of the unfused", median(one) / median(two), "ratio", 0.7, Figure::Better::Lower, true,
                 "2048 x 32 x 128, interleaved, median of 15: " + milliseconds(median(one)) + " against " +
                     milliseconds(median(two))});
}

/// Attention as primitives, in one function against its three parts.
void add_attention(std::vector<Figure>& out, DType t, std::int64_t length) {
  auto scores = [](Tensor q, Tensor k) { return matmul(q, k.transpose(-2, -1)) * 0.125; };
  auto weights = [](Tensor s) { return softmax(s, -1); };
  auto sum = [](Tensor p, Tensor v) { return matmul(p, v); };
  auto a = compile(scores, {.name = "scores"});
  auto b = compile(weights, {.name = "weights"});
  auto c = compile(sum, {.name = "sum"});
  auto all =
      compile([=](Tensor q, Tensor k, Tensor v) { return sum(weights(scores(q, k)), v); }, {.name = "attention"});
  const Tensor q = randn({8, length, 64}).to(t), k = randn({8, length, 64}).to(t), v = randn({8, length, 64}).to(t);
  all(q, k, v), c(b(a(q, k)), v);
  std::vector<double> one, two;
  for (int i = 0; i < 15; ++i) {
    double start = now();
    all(q, k, v);
    one.push_back(now() - start);
    start = now();
    c(b(a(q, k)), v);
    two.push_back(now() - start);
  }
  out.push_back(
      {"attention of primitives, " + std::string(dtype_name(t)) + ", " + std::to_string(length) + ", time of its parts",
       median(one) / median(two), "ratio", 0.8, Figure::Better::Lower, true,
       "8 heads of 64, interleaved, median of 15: " + milliseconds(median(one)) + " against " +
           milliseconds(median(two))});
}

/// A product of weights that a program widens itself, against one that is told they are quantized.
void add_widened(std::vector<Figure>& out, DType t, DType stored, std::int64_t rows) {
  constexpr std::int64_t kSize = 4096;
  auto plain = compile([t](Tensor x, Tensor q, Tensor s) { return linear(x, q.to(t)) * s; }, {.name = "widened"});
  auto told =
      compile([](Tensor x, Tensor q, Tensor s) { return scaled_mm(x, q.t(), ones({}), s.to(kFloat32).unsqueeze(0)); },
              {.name = "told"});
  const Tensor x = randn({rows, kSize}).to(t), q = (rand({kSize, kSize}) * 200 - 100).to(stored),
               s = rand({kSize}).to(t);
  plain(x, q, s), told(x, q, s);
  std::vector<double> one, two;
  for (int i = 0; i < 15; ++i) {
    double start = now();
    plain(x, q, s);
    one.push_back(now() - start);
    start = now();
    told(x, q, s);
    two.push_back(now() - start);
  }
  out.push_back({"weights of " + std::string(dtype_name(stored)) + " widened by the program, " +
                     std::string(dtype_name(t)) + ", " + std::to_string(rows) + " rows, time of scaled_mm",
                 median(one) / median(two), "ratio", 1.1, Figure::Better::Lower, true,
                 "4096 x 4096, interleaved, median of 15: " + milliseconds(median(one)) + " against " +
                     milliseconds(median(two))});
}

}  // namespace

std::vector<Figure> quantize_figures() {
  std::vector<Figure> out;
  auto norm = [](Tensor x, Tensor, Tensor w) { return rms_norm(x, w, 1e-6); };
  auto add_norm = [](Tensor x, Tensor r, Tensor w) {
    r.add_(x);
    return rms_norm(r, w, 1e-6);
  };
  auto gate = [](Tensor x, Tensor r, Tensor) { return silu(x) * r; };
  auto rows = [](Tensor y) { return by_rows(y, kInt8); };
  auto rows8 = [](Tensor y) { return by_rows(y, kFloat8E4M3FN); };
  auto blocks8 = [](Tensor y) { return by_blocks(y, kFloat8E4M3FN); };
  for (DType t : {kFloat32, kBFloat16}) {
    add(out, "rms_norm + quantize", t, 1, norm, rows);
    add(out, "rms_norm + float8", t, 1, norm, rows8);
    add(out, "rms_norm + float8 by blocks", t, 1, norm, blocks8);
    add(out, "add + rms_norm + quantize", t, 2, add_norm, rows);
    add(out, "silu * up + quantize", t, 2, gate, rows);
    add(out, "silu * up + float8 by blocks", t, 2, gate, blocks8);
    add_rope(out, "rope + cache write", t, 0.6,
             [](Tensor cache, Tensor k, Tensor) { cache.slice(0, 0, k.size(0)).copy_(k); });
    add_rope(out, "rope + paged cache write", t, 0.6,
             [](Tensor cache, Tensor k, Tensor slots) { cache.index_copy_(0, slots, k); });
    for (std::int64_t length : {512, 1024}) add_attention(out, t, length);
    for (DType stored : {kInt8, kFloat8E4M3FN})
      for (std::int64_t rows : {1, 32}) add_widened(out, t, stored, rows);
  }
  return out;
}

}  // namespace reprise::figures
