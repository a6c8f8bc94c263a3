#include <algorithm>
#include <set>

#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

void matmul_of(Call& c) { c.give(matmul(c.x(0), c.x(1))); }

void gemm(Call& c) {
  Tensor a = c.x(0), b = c.x(1);
  if (a.dim() != 2 || b.dim() != 2) c.bad("wants matrices, not ", a.dim(), " and ", b.dim(), " dimensions");
  if (c.i("transA", 0) != 0) a = a.t();
  if (c.i("transB", 0) != 0) b = b.t();
  const double alpha = c.f("alpha", 1), beta = c.f("beta", 1);
  const bool whole = !is_floating(a.dtype());
  const auto times = [&](const Tensor& t, double by) {
    return by == 1 ? t : whole ? (t.to(kFloat64) * by).to(t.dtype()) : t * by;
  };
  if (!c.has(2) || beta == 0) return c.give(times(mm(a, b), alpha));
  const Tensor bias = c.x(2);
  if (whole) return c.give(times(mm(a, b), alpha) + times(bias, beta));
  c.give(addmm(bias, a, b, beta, alpha));
}

// ---- Einsum: letters for the dimensions that "..." stands for, diagonals of letters that an operand has twice,
// products of two operands at a time

struct Term {
  Tensor x;
  std::string letters;
};
Term diagonals(Call& c, Term t) {
  for (std::size_t i = 0; i < t.letters.size(); ++i) {
    const std::size_t j = t.letters.find(t.letters[i], i + 1);
    if (j == std::string::npos) continue;
    if (t.x.size(static_cast<int>(i)) != t.x.size(static_cast<int>(j)))
      c.bad("dimensions named '", t.letters.substr(i, 1), "' have different sizes");
    t.x = diagonal(t.x, 0, static_cast<int>(i), static_cast<int>(j));
    const char letter = t.letters[i];
    t.letters.erase(j, 1).erase(i, 1).push_back(letter);
    i = static_cast<std::size_t>(-1);
  }
  return t;
}
/// "a...b" with letters for the dots; operands that broadcast have fewer of them.
std::string spelled(Call& c, const std::string& subscript, std::size_t dots) {
  static constexpr std::string_view kDots = "ZYXWVUTS";
  const std::size_t at = subscript.find("...");
  if (at == std::string::npos) {
    if (subscript.find('.') != std::string::npos) c.bad("the equation has a single dot");
    return subscript;
  }
  return subscript.substr(0, at) + std::string(kDots.substr(kDots.size() - dots)) + subscript.substr(at + 3);
}
void einsum_of(Call& c) {
  std::string equation;
  for (char ch : c.s("equation", ""))
    if (ch != ' ') equation.push_back(ch);
  const std::size_t arrow = equation.find("->");
  std::string left = equation.substr(0, arrow);
  std::vector<Term> terms;
  std::size_t most = 0;
  for (std::size_t at = 0;; ++at) {
    const std::size_t comma = left.find(',', at);
    std::string subscript = left.substr(at, comma - at);
    if (static_cast<int>(terms.size()) >= c.inputs()) c.bad("the equation has more operands than the node");
    const Tensor x = c.x(static_cast<int>(terms.size()));
    const bool dotted = subscript.find("...") != std::string::npos;
    const std::size_t named = subscript.size() - (dotted ? 3 : 0), rank = static_cast<std::size_t>(x.dim());
    if (dotted ? rank < named : rank != named)
      c.bad("operand ", terms.size(), " has ", rank, " dimensions, but '", subscript, "' names ", named);
    most = std::max(most, rank - named);
    terms.push_back(diagonals(c, {x, spelled(c, subscript, rank - named)}));
    if (comma == std::string::npos) break;
    at = comma;
  }
  if (static_cast<int>(terms.size()) != c.inputs())
    c.bad("the equation has ", terms.size(), " operands, and the node ", c.inputs());
  std::string out;
  if (arrow != std::string::npos) {
    out = spelled(c, equation.substr(arrow + 2), most);
  } else {  // what occurs once, in the alphabet's order, behind the dots
    std::map<char, int> times;
    for (char ch : left) ++times[ch];
    if (left.find("...") != std::string::npos) out = spelled(c, "...", most);
    for (const auto& [letter, n] : times)
      if (n == 1 && std::isalpha(static_cast<unsigned char>(letter))) out.push_back(letter);
  }
  // Sizes of 1 broadcast where the dots are: they are dropped, and come back by the others.
  while (terms.size() > 2) {
    std::string rest = out, both = terms[0].letters + terms[1].letters, made;
    for (std::size_t i = 2; i < terms.size(); ++i) rest += terms[i].letters;
    for (char ch : both)
      if (rest.find(ch) != std::string::npos && made.find(ch) == std::string::npos) made.push_back(ch);
    const Tensor product = einsum(terms[0].letters + "," + terms[1].letters + "->" + made, {terms[0].x, terms[1].x});
    terms.erase(terms.begin());
    terms[0] = {product, made};
  }
  std::string letters = terms[0].letters;
  std::vector<Tensor> operands{terms[0].x};
  if (terms.size() > 1) letters += "," + terms[1].letters, operands.push_back(terms[1].x);
  c.give(einsum(letters + "->" + out, operands));
}

constexpr Row kMatmulRows[] = {
    {"Einsum", 12, 0, einsum_of},
    {"Gemm", 7, 0, gemm},
    {"MatMul", 1, 0, matmul_of},
};

}  // namespace

std::span<const Row> matmul_rows() { return kMatmulRows; }

}  // namespace reprise::onnx
