// Derivatives of matrix products and of attention.
#include <cmath>
#include <limits>

#include "autograd/rule_parts.h"
#include "autograd/rules.h"

namespace reprise::autograd::rules {

// Of two matrices, and of batches of them.
void mm(Backward& b) {
  if (b.wants(0)) b.give(0, matmul(b.grad(), mT(b.tensor(1), b.loc()), b.loc()));
  if (b.wants(1)) b.give(1, matmul(mT(b.tensor(0), b.loc()), b.grad(), b.loc()));
}
void addmm(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0)) b.give(0, g * b.number(3));
  if (b.wants(1)) b.give(1, mm(g, mT(b.tensor(2), b.loc()), b.loc()) * b.number(4));
  if (b.wants(2)) b.give(2, mm(mT(b.tensor(1), b.loc()), g, b.loc()) * b.number(4));
}

namespace {

/// All dimensions but the last as one.
Tensor rows(const Tensor& t, SourceLoc loc) {
  if (t.dim() == 2) return t;
  const Ints s = t.sizes();
  Int n = 1;
  for (std::size_t i = 0; i + 1 < s.size(); ++i) n *= s[i];
  return reshape(t, {n, s.back()}, loc);
}

}  // namespace

void linear(Backward& b) {
  const Tensor& g = b.grad();
  if (b.wants(0)) b.give(0, matmul(g, b.tensor(1), b.loc()));
  if (b.wants(1)) b.give(1, mm(mT(rows(g, b.loc()), b.loc()), rows(b.tensor(0), b.loc()), b.loc()));
  b.give(2, g);
}

// A vector on the left is a row, one on the right a column; what the product lacks for it is put back.
void matmul(Backward& b) {
  const SourceLoc loc = b.loc();
  const bool row = b.dim(0) == 1, column = b.dim(1) == 1;
  Tensor g = b.grad();
  if (column) g = unsqueeze(g, -1, loc);
  if (row) g = unsqueeze(g, -2, loc);
  if (b.wants(0)) {
    const Tensor other = b.tensor(1), given = matmul(g, column ? unsqueeze(other, 0, loc) : mT(other, loc), loc);
    b.give(0, row ? squeeze(given, -2, loc) : given);
  }
  if (b.wants(1)) {
    const Tensor self = row ? unsqueeze(b.tensor(0), 0, loc) : b.tensor(0);
    // One matrix for all of a batch: its rows are the product's, rather than a sum of as many matrices.
    const bool shared = b.dim(1) <= 2 && self.dim() > 2;
    const Tensor given = shared ? mm(mT(rows(self, loc), loc), rows(g, loc), loc) : matmul(mT(self, loc), g, loc);
    b.give(1, column ? squeeze(given, -1, loc) : given);
  }
}

namespace {

/// scaled_mm's scales: of an operand of sizes [rows, columns], one for all, or along each dimension one, one each, or
/// one for each block.
struct Scales {
  Tensor of;
  Ints sizes;  ///< of the operand
  Int block[2];

  enum class Along { One, Each, Block };
  Along along(int d) const {
    const Int n = of.size(d), all = sizes[static_cast<std::size_t>(d)];
    return identical(n, all) ? Along::Each : n == 1 ? Along::One : n == all ? Along::Each : Along::Block;
  }
  /// As they stand beside the operand's elements.
  Tensor spread(SourceLoc loc) const {
    if (of.dim() < 2) return reshape(of, {}, loc);
    Tensor s = of;
    for (int d : {0, 1})
      if (along(d) == Along::Block)
        s = narrow(repeat_interleave(s, block[d], d, loc), d, 0, sizes[static_cast<std::size_t>(d)], loc);
    return s;
  }
  /// What their elements add up to of `g`, which stands beside the operand's.
  Tensor collect(Tensor g, SourceLoc loc) const {
    if (of.dim() < 2) return reshape(sum(g, {}, false, std::nullopt, loc), of.sizes(), loc);
    for (int d : {0, 1}) {
      const Along a = along(d);
      if (a == Along::One) g = sum(g, d, true, std::nullopt, loc);
      if (a != Along::Block) continue;
      const Int n = of.size(d), missing = n * block[d] - sizes[static_cast<std::size_t>(d)];
      g = d == 0 ? pad(g, {0, 0, 0, missing}, 0, loc) : pad(g, {0, missing}, 0, loc);
      g = sum(unflatten(g, d, {n, block[d]}, loc), d + 1, false, std::nullopt, loc);
    }
    return g;
  }
};

}  // namespace

// (self * scale_a) x (mat2 * scale_b) + bias, of numbers that are widened first.
void scaled_mm(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor g = to(b.grad(), kFloat32, loc);
  if (b.wants(4)) b.give(4, g);
  if (!b.wants(0) && !b.wants(1) && !b.wants(2) && !b.wants(3)) return;
  const Int block_k = b.has(6) ? b.ints(6)[0] : Int(128), block_n = b.has(6) ? b.ints(6)[1] : Int(128);
  const Scales sa{b.tensor(2), b.sizes(0), {1, block_k}}, sb{b.tensor(3), b.sizes(1), {block_k, block_n}};
  const Tensor scale_a = sa.spread(loc), scale_b = sb.spread(loc), mat2 = to(b.tensor(1), kFloat32, loc);
  const Tensor left = mm(g, mT(mat2 * scale_b, loc), loc);  // of self * scale_a
  if (b.wants(0)) b.give(0, left * scale_a);
  if (!b.wants(1) && !b.wants(2) && !b.wants(3)) return;
  const Tensor self = to(b.tensor(0), kFloat32, loc);
  if (b.wants(2)) b.give(2, sa.collect(left * self, loc));
  if (!b.wants(1) && !b.wants(3)) return;
  const Tensor right = mm(mT(self * scale_a, loc), g, loc);
  if (b.wants(1)) b.give(1, right * scale_b);
  if (b.wants(3)) b.give(3, sb.collect(right * mat2, loc));
}

namespace {

/// Heads that share a key or a value (dimension -3): each of them, and back.
Tensor for_each_head(const Tensor& t, Int heads, SourceLoc loc) {
  return identical(t.size(-3), heads) ? t : repeat_interleave(t, heads / t.size(-3), -3, loc);
}
Tensor shared_head(const Tensor& g, Int heads, SourceLoc loc) {
  return identical(g.size(-3), heads)
             ? g
             : sum(unflatten(g, -3, {heads, g.size(-3) / heads}, loc), -3, false, std::nullopt, loc);
}

}  // namespace

// The probabilities are computed again of query and key, in float32 where these are halves.
void attention(Backward& b) {
  const SourceLoc loc = b.loc();
  const Tensor g = wide(b.grad(), loc), q = wide(b.tensor(0), loc);
  Tensor k = wide(b.tensor(1), loc), v;
  const bool grouped = b.flag(7);
  if (grouped) k = for_each_head(k, q.size(-3), loc);
  const Float scale = b.has(6) ? b.number(6).to_float(loc) : 1.0 / reprise::sqrt(Float(Int::max(q.size(-1), 1)));
  Tensor scores = matmul(q, mT(k, loc), loc) * scale;
  const double never = -std::numeric_limits<double>::infinity();
  if (b.has(3)) {
    const Tensor mask = b.tensor(3);
    scores = mask.dtype() == kBool ? where(mask, scores, never, loc) : scores + mask;
  } else if (b.flag(5)) {
    const TensorOptions places{kInt64, q.device()};
    const Tensor query = unsqueeze(arange(Scalar(q.size(-2)), places, loc), -1, loc),
                 key = arange(Scalar(k.size(-2)), places, loc);
    scores = where(key <= query, scores, never, loc);
  }
  // A query that sees no key has none: its row is exp(-inf - 0), and is divided by 1. No row depends on what is
  // subtracted.
  Tensor e = scores;
  if (static_cast<bool>(k.size(-2) != 0)) {
    const Tensor top = amax(detach(scores, loc), {-1}, true, loc);
    e = exp(scores - where(top == never, 0, top, loc), loc);
  }
  const Tensor total = sum(e, -1, true, std::nullopt, loc), p = e / where(total == 0, 1, total, loc);
  if (b.wants(2)) {
    const Tensor given = matmul(mT(p, loc), g, loc);
    b.give(2, grouped ? shared_head(given, b.sizes(2)[static_cast<std::size_t>(b.dim(2) - 3)], loc) : given);
  }
  if (!b.wants(0) && !b.wants(1) && !b.wants(3)) return;
  v = wide(b.tensor(2), loc);
  if (grouped) v = for_each_head(v, q.size(-3), loc);
  const Tensor of_p = matmul(g, mT(v, loc), loc) * p, of_scores = of_p - p * sum(of_p, -1, true, std::nullopt, loc);
  b.give(3, of_scores);
  if (b.wants(0)) b.give(0, matmul(of_scores, k, loc) * scale);
  if (b.wants(1)) {
    const Tensor given = matmul(mT(of_scores, loc), q, loc) * scale;
    b.give(1, grouped ? shared_head(given, b.sizes(1)[static_cast<std::size_t>(b.dim(1) - 3)], loc) : given);
  }
}

}  // namespace reprise::autograd::rules
