// Matrices: factors, solutions, distances, recurrent cells.
#include "tests/operators/row_cases.h"

namespace reprise::test {

std::vector<RowCase> matrix_cases() {
  std::vector<RowCase> all;
  auto add = [&](RowCase c) { all.push_back(std::move(c)); };
  using Args = std::vector<OpArg>;
  // Far from singular: a strong diagonal, and a symmetric one.
  auto regular = [](const Asked& a) {
    return a.of(numbers({2, a.n, a.n}, kFloat64) * 0.125 + eye(a.n).to(kFloat64).to(test_device()) * 4);
  };
  auto definite = [](const Asked& a) {
    const Tensor x = numbers({2, a.n, a.n}, kFloat64) * 0.125;
    return a.of(x + x.transpose(1, 2) + eye(a.n).to(kFloat64).to(test_device()) * (a.n + 4));
  };
  for (bool upper : {false, true}) {
    add({.row = "cholesky",
         .dtypes = kFloatDTypes,
         .args =
             [=](const Asked& a) {
               return Args{definite(a), upper};
             },
         .refused =
             [](const Asked& a) {
               return Args{a.of(zeros({2, 3, 3})), false};
             },
         .says = "cholesky: matrix 0 of the batch is not positive-definite (the leading minor of order 1 is not)",
         .tolerance = 1e-4});
    add({.row = "linalg_solve_triangular",
         .dtypes = kFloatDTypes,
         .args =
             [=](const Asked& a) {
               return Args{regular(a), a({2, a.n, 3}), upper, false};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({2, 3, 3}), a({2, 4, 3}), true, false};
             },
         .says = "linalg_solve_triangular: matrices of sizes [2, 3, 3] do not fit right sides of sizes [2, 4, 3]",
         .tolerance = 1e-4});
  }
  add({.row = "linalg_solve",
       .dtypes = kFloatDTypes,
       .args =
           [=](const Asked& a) {
             return Args{regular(a), a({2, a.n, 3})};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 3, 3}), a({2, 4, 3})};
           },
       .says = "linalg_solve: matrices of sizes [2, 3, 3] do not fit right sides of sizes [2, 4, 3]",
       .tolerance = 1e-4});
  add({.row = "linalg_lu_factor",
       .dtypes = kFloatDTypes,
       .args = [=](const Asked& a) { return Args{regular(a)}; },
       .refused = [](const Asked& a) { return Args{a({3})}; },
       .says = "linalg_lu_factor: wants matrices, got sizes [3]",
       .tolerance = 1e-4});
  auto more = [](const Asked& a, std::int64_t rows, std::int64_t columns) {
    return a.of(numbers({2, rows, columns}, kFloat64) * 0.125 + eye(rows, columns).to(kFloat64).to(test_device()) * 4);
  };
  for (bool tall : {false, true})
    add({.row = "linalg_lu_factor",
         .dtypes = kFloatDTypes,
         .args = [=](const Asked& a) { return Args{tall ? more(a, a.n + 2, a.n) : more(a, a.n, a.n + 2)}; },
         .refused = [](const Asked& a) { return Args{a({3})}; },
         .says = "linalg_lu_factor: wants matrices, got sizes [3]",
         .tolerance = 1e-4});
  // Signs of vectors are those of one algorithm: the same in all dtypes where values are far apart, as here.
  for (const char* mode : {"reduced", "complete", "r"})
    add({.row = "linalg_qr",
         .dtypes = kFloatDTypes,
         .args =
             [mode](const Asked& a) {
               return Args{a({2, a.n, 4}), std::string(mode)};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({2, 3}), std::string("full")};
             },
         .says = "linalg_qr: mode is 'full', expected reduced, complete or r",
         .tolerance = 1e-4});
  add({.row = "linalg_eigh",
       .dtypes = kFloatDTypes,
       .args =
           [=](const Asked& a) {
             return Args{a.of(definite(a).to(kFloat64).to(test_device()) +
                              diag(arange(a.n).to(kFloat64) * 4).to(test_device())),
                         std::string("L")};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 3}), std::string("L")};
           },
       .says = "linalg_eigh: wants square matrices, got sizes [2, 3]",
       .tolerance = 1e-4});
  for (bool full : {false, true})
    add({.row = "linalg_svd",
         .dtypes = kFloatDTypes,
         .args =
             [=](const Asked& a) {
               return Args{cat({a({3, a.n}), a.of(diag(arange(1, a.n + 1).to(kFloat64)) * 8)}, 0), full};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({3}), false};
             },
         .says = "linalg_svd: wants matrices, got sizes [3]",
         .tolerance = 1e-3});
  add({.row = "ctc_loss",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return Args{a({a.n + 2, 2, 4}),
                         tensor_of<std::int64_t>({1, 2, 1, 3}, {2, 2}).to(test_device()),
                         full({2}, a.n, {kInt64, test_device()}),
                         tensor_of<std::int64_t>({2, 1}).to(test_device()),
                         Int(3),
                         true};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({4, 2, 3}),
                         tensor_of<std::int64_t>({1, 2}).to(test_device()),
                         full({3}, 4, {kInt64, test_device()}),
                         full({3}, 1, {kInt64, test_device()}),
                         Int(0),
                         false};
           },
       .says = "ctc_loss: log_probs of sizes [4, 2, 3], targets of [2] and lengths of [3] and [3] do not fit",
       .tolerance = 1e-4});
  for (double p : {2.0, 1.0, 0.0, 2.5, HUGE_VAL})
    add({.row = "cdist",
         .dtypes = kFloatDTypes,
         .args =
             [p](const Asked& a) {
               return Args{a({2, a.n, 3}), a({4, 3}, 2), Scalar(p)};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({2, 3}), a({2, 4}), Scalar(2.0)};
             },
         .says = "cdist: rows of sizes [2, 3] and [2, 4] differ in length",
         .tolerance = 1e-4});
  add({.row = "bilinear",
       .dtypes = kNumberDTypes,
       .args =
           [](const Asked& a) {
             return Args{a({a.n, 3}).clamp(-2, 2), a({a.n, 4}, 1).clamp(-1, 1), a({5, 3, 4}, 2).clamp(-1, 1),
                         a({5}, 3)};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 3}), a({3, 4}), a({5, 3, 4}), kNone};
           },
       .says = "bilinear: inputs of sizes [2, 3] and [3, 4] and a weight of sizes [5, 3, 4]: the inputs differ before "
               "their last dimension"});
  const struct {
    const char* name;
    std::int64_t gates;
  } kCells[] = {{"lstm_steps", 4}, {"gru_steps", 3}, {"rnn_tanh_steps", 1}, {"rnn_relu_steps", 1}};
  for (const auto& [name, gates] : kCells) {
    const bool lstm = gates == 4;
    auto args = [gates = gates, lstm](const Asked& a, std::int64_t hidden, bool reverse) {
      Args r{a({a.n, 2, gates * 3}), a({gates * 3, 3}, 1) * 0.125, reverse ? kNone : OpArg(a({gates * 3}, 2)),
             a({2, hidden}, 3) * 0.25};
      if (lstm) r.push_back(a({2, hidden}, 4));
      r.push_back(reverse);
      return r;
    };
    for (bool reverse : {false, true})
      add({.row = name,
           .dtypes = kFloatDTypes,
           .args = [=](const Asked& a) { return args(a, 3, reverse); },
           .refused = [=](const Asked& a) { return args(a, 4, false); },
           .says = std::string(name) + ": gates of sizes [5, 2, " + std::to_string(gates * 3) + "], weight_hh [" +
                   std::to_string(gates * 3) + ", 3] and hx [2, 4] do not fit",
           .tolerance = 1e-4});
  }
  // A weight of one block a row: scale 1, zero 1.
  const auto blocks = [](std::int64_t rows) {
    return cat({tensor({0, 60, 0, 60}).expand({rows, 4}), remainder(arange(rows * 32) * 7, 256).view({rows, 32})}, 1)
        .to(kUInt8)
        .to(test_device());
  };
  add({.row = "block_linear",
       .dtypes = {kFloat32},
       .args =
           [blocks](const Asked& a) {
             return std::vector<OpArg>{Asked{a.n, a.t}({a.n, 32}), blocks(5), std::string("G8_32"),
                                       std::string("float32")};
           },
       .refused =
           [blocks](const Asked& a) {
             return std::vector<OpArg>{a({3, 31}), blocks(2), std::string("G8_32"), std::string("float32")};
           },
       .says = "block_linear: an input of sizes [3, 31] and a weight of 32 columns (36 bytes of G8_32)",
       .tolerance = 1e-4});
  return all;
}

}  // namespace reprise::test
