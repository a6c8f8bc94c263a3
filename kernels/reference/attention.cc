#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

namespace {

/// A [.., rows, columns] operand as one batch index of the result sees it. Batch sizes broadcast; `group` heads of the
/// query share one head (dimension -3) of it.
struct Operand {
  const TensorView* view;
  Strides strides{};  // by batch dim of the result
  std::int64_t group = 1;
  int heads_dim = -1;

  Operand(const TensorView& t, int batch_rank, const std::int64_t* batch_sizes, bool grouped) : view(&t) {
    int own = t.rank - 2;
    for (int d = 0; d < own; ++d) {
      int to = batch_rank - own + d;
      bool shared = grouped && d == own - 1;
      if (shared) heads_dim = to, group = t.sizes[d] ? batch_sizes[to] / t.sizes[d] : 1;
      strides[static_cast<std::size_t>(to)] = t.sizes[d] == 1 ? 0 : t.strides[d];
    }
  }
  std::int64_t offset(const std::int64_t* batch, int rank) const {
    std::int64_t at = 0;
    for (int d = 0; d < rank; ++d)
      at += (d == heads_dim ? batch[d] / group : batch[d]) * strides[static_cast<std::size_t>(d)];
    return at;
  }
  double at(std::int64_t base, std::int64_t r, std::int64_t c) const {
    return load_number(*view, base + r * view->strides[view->rank - 2] + c * view->strides[view->rank - 1]);
  }
};

}  // namespace

// softmax(q k^T * scale + mask) v. Causal as in ATen: query i sees keys j <= i, whatever the two lengths are. A query
// that sees no key gives zeros.
void attention(const NativeArgs& a) {
  const TensorView &q = a.tensor(0), &k = a.tensor(1), &v = a.tensor(2), &out = a.result();
  constexpr double inf = std::numeric_limits<double>::infinity();
  std::int64_t queries = q.sizes[q.rank - 2], keys = k.sizes[k.rank - 2], depth = q.sizes[q.rank - 1],
               width = v.sizes[v.rank - 1];
  bool causal = a.flag(5), grouped = a.flag(7);
  double scale =
      a.has(6) ? number(a, 6).number() : 1 / std::sqrt(static_cast<double>(std::max<std::int64_t>(depth, 1)));
  int batch_rank = out.rank - 2;
  Operand Q(q, batch_rank, out.sizes, false), K(k, batch_rank, out.sizes, grouped),
      V(v, batch_rank, out.sizes, grouped);

  TensorView scores = out;  // only its sizes: what the mask broadcasts to
  scores.sizes[out.rank - 1] = keys;
  bool has_mask = a.has(3);
  Strides mask_strides{};
  if (has_mask) mask_strides = broadcast_strides(a.tensor(3), scores);

  TensorView batch = keep(out, (1u << batch_rank) - 1);
  std::int64_t index[kMaxRank] = {};
  std::vector<double> score(static_cast<std::size_t>(keys));
  for_each(batch, [&](std::int64_t to) {
    std::int64_t at_q = Q.offset(index, batch_rank), at_k = K.offset(index, batch_rank),
                 at_v = V.offset(index, batch_rank), at_mask = 0;
    for (int d = 0; d < batch_rank; ++d) at_mask += index[d] * mask_strides[static_cast<std::size_t>(d)];
    for (std::int64_t i = 0; i < queries; ++i) {
      double top = -inf, sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        double s = 0;
        for (std::int64_t e = 0; e < depth; ++e) s += Q.at(at_q, i, e) * K.at(at_k, j, e);
        s *= scale;
        if (has_mask) {
          Value m = load(a.tensor(3), at_mask + i * mask_strides[static_cast<std::size_t>(batch_rank)] +
                                          j * mask_strides[static_cast<std::size_t>(batch_rank + 1)]);
          s = m.is_float ? s + m.f : m.truth() ? s : -inf;
        }
        if (causal && j > i) s = -inf;
        score[static_cast<std::size_t>(j)] = s;
        if (s > top || std::isnan(s)) top = s;
      }
      for (double& s : score) sum += s = top == -inf ? 0 : std::exp(s - top);
      for (std::int64_t e = 0; e < width; ++e) {
        double r = 0;
        for (std::int64_t j = 0; j < keys; ++j) r += score[static_cast<std::size_t>(j)] * V.at(at_v, j, e);
        store(out, to + i * out.strides[batch_rank] + e * out.strides[batch_rank + 1],
              Value::of(sum == 0 ? 0.0 : r / sum));
      }
    }
    for (int d = batch_rank - 1; d >= 0; --d) {  // the next batch index, in for_each's order
      if (++index[d] < batch.sizes[d]) break;
      index[d] = 0;
    }
  });
}

}  // namespace reprise::kernels::reference
