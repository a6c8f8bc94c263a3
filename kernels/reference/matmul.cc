// mm, bmm, matmul, linear, addmm: one product of [.., M, K] by [.., K, N], summed in double (integers: wrapping int64).
#include <algorithm>
#include <vector>

#include "kernels/reference/elements.h"

namespace reprise::kernels::reference {

namespace {

/// out[m, n] = scale * sum over k of a[m, k] b[k, n] + (seed ? beta * seed[m, n] : 0), all rank 2.
struct RowsTimesColumns {
  double alpha = 1, beta = 1;
  const TensorView* seed = nullptr;
  Strides seed_strides{};

  void run(const TensorView& a, const TensorView& b, const TensorView& out) const {
    if (is_floating(out.dtype)) return floats(a, b, out);
    std::int64_t rows = a.sizes[0], inner = a.sizes[1], columns = b.sizes[1];
    for (std::int64_t m = 0; m < rows; ++m) {
      for (std::int64_t n = 0; n < columns; ++n) {
        std::int64_t at_a = m * a.strides[0], at_b = n * b.strides[1];
        std::int64_t at_seed = m * seed_strides[0] + n * seed_strides[1];
        store(out, m * out.strides[0] + n * out.strides[1], Value::of(integers(a, at_a, b, at_b, inner, at_seed)));
      }
    }
  }

 private:
  // Some columns at a time, as doubles: each element is converted once, and k comes in order.
  void floats(const TensorView& a, const TensorView& b, const TensorView& out) const {
    constexpr std::int64_t kColumns = 256;
    const std::int64_t rows = a.sizes[0], inner = a.sizes[1], columns = b.sizes[1];
    std::vector<double> right(static_cast<std::size_t>(inner * std::min(columns, kColumns))),
        sums(static_cast<std::size_t>(std::min(columns, kColumns)));
    for (std::int64_t first = 0; first < columns; first += kColumns) {
      const std::int64_t n = std::min(kColumns, columns - first);
      for (std::int64_t k = 0; k < inner; ++k)
        for (std::int64_t c = 0; c < n; ++c)
          right[static_cast<std::size_t>(k * n + c)] = load_number(b, k * b.strides[0] + (first + c) * b.strides[1]);
      for (std::int64_t m = 0; m < rows; ++m) {
        std::fill(sums.begin(), sums.end(), 0.0);
        for (std::int64_t k = 0; k < inner; ++k) {
          const double left = load_number(a, m * a.strides[0] + k * a.strides[1]);
          const double* const with = right.data() + k * n;
          for (std::int64_t c = 0; c < n; ++c) sums[static_cast<std::size_t>(c)] += left * with[c];
        }
        for (std::int64_t c = 0; c < n; ++c) {
          const double seeded =
              seed && beta != 0 ? beta * load_number(*seed, m * seed_strides[0] + (first + c) * seed_strides[1]) : 0;
          store(out, m * out.strides[0] + (first + c) * out.strides[1],
                Value::of(alpha * sums[static_cast<std::size_t>(c)] + seeded));
        }
      }
    }
  }
  std::int64_t integers(const TensorView& a, std::int64_t at_a, const TensorView& b, std::int64_t at_b,
                        std::int64_t inner, std::int64_t at_seed) const {
    auto u = [](const TensorView& t, std::int64_t at) { return static_cast<std::uint64_t>(load(t, at).i); };
    auto factor = [](double v) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(v)); };
    std::uint64_t sum = 0;
    for (std::int64_t k = 0; k < inner; ++k) sum += u(a, at_a + k * a.strides[1]) * u(b, at_b + k * b.strides[0]);
    sum *= factor(alpha);
    if (seed && beta != 0) sum += factor(beta) * u(*seed, at_seed);
    return static_cast<std::int64_t>(sum);
  }
};

TensorView transposed(TensorView t) {
  std::swap(t.sizes[t.rank - 2], t.sizes[t.rank - 1]);
  std::swap(t.strides[t.rank - 2], t.strides[t.rank - 1]);
  return t;
}

TensorView with_dim(TensorView t, int at) {
  for (int d = t.rank; d > at; --d) t.sizes[d] = t.sizes[d - 1], t.strides[d] = t.strides[d - 1];
  t.sizes[at] = 1;
  t.strides[at] = 0;
  ++t.rank;
  return t;
}

/// The matrix of t at one index of the result's batch dims (all but its last two), to which t's broadcast.
TensorView matrix(const TensorView& t, std::int64_t offset) {
  TensorView m = keep(t, 3u << (t.rank - 2));
  m.data += offset * item_size(t.dtype);
  return m;
}

void batched(const RowsTimesColumns& p, const TensorView& a, const TensorView& b, const TensorView& out) {
  auto batch = [](const TensorView& t) { return keep(t, (1u << (t.rank - 2)) - 1); };
  TensorView to = batch(out);
  Strides sa = broadcast_strides(batch(a), to), sb = broadcast_strides(batch(b), to);
  for_each<3>(to.rank, to.sizes, {to.strides, sa.data(), sb.data()},
              [&](const auto& at) { p.run(matrix(a, at[1]), matrix(b, at[2]), matrix(out, at[0])); });
}

}  // namespace

void batched_product(const NativeArgs& args) { batched({}, args.tensor(0), args.tensor(1), args.result()); }

void addmm(const NativeArgs& args) {
  RowsTimesColumns p;
  p.seed = &args.tensor(0);
  p.seed_strides = broadcast_strides(*p.seed, args.result());
  p.beta = number(args, 3).number();
  p.alpha = number(args, 4).number();
  batched(p, args.tensor(1), args.tensor(2), args.result());
}

void linear(const NativeArgs& args) {
  TensorView a = args.tensor(0), out = args.result();
  if (a.rank == 1) a = with_dim(a, 0), out = with_dim(out, 0);
  RowsTimesColumns p;
  TensorView bias;
  if (args.has(2)) {
    bias = args.tensor(2);
    p.seed = &bias;
    p.seed_strides[1] = bias.strides[0];
  }
  batched(p, a, transposed(args.tensor(1)), out);
}

// A vector is a row on the left, a column on the right; the result does not show the dimension that was added.
void matmul(const NativeArgs& args) {
  TensorView a = args.tensor(0), b = args.tensor(1), out = args.result();
  const bool row = a.rank == 1, column = b.rank == 1;
  if (row) a = with_dim(a, 0), out = with_dim(out, column ? out.rank : out.rank - 1);
  if (column) b = with_dim(b, 1), out = with_dim(out, out.rank);
  batched({}, a, b, out);
}

}  // namespace reprise::kernels::reference
