// Scans, searching, special functions, Fourier transforms, and what selects by indices.
#include "tests/operators/row_cases.h"

namespace reprise::test {

namespace {

Tensor indices(std::vector<std::int64_t> v, DType t = kInt64) { return tensor_of(v).to(t).to(test_device()); }
/// 0, 1, 2, ... below `below` again and again: n of them.
Tensor cycle(std::int64_t n, std::int64_t below) { return remainder(arange(n) * 7, below).to(test_device()); }

}  // namespace

std::vector<RowCase> row_by_row_cases() {
  std::vector<RowCase> all;
  auto add = [&](RowCase c) { all.push_back(std::move(c)); };
  // Scans: along the first, a middle and the last dimension.
  const char* const far = ": dimension 3 is out of range; a tensor of 3 dimensions has dimensions -3 to 2";
  for (std::int64_t dim : {0, 1, -1}) {
    const RowArgs along = [dim](const Asked& a) { return std::vector<OpArg>{a({a.n, 3, 4}), Int(dim)}; };
    const RowArgs beyond = [](const Asked& a) { return std::vector<OpArg>{a({a.n, 3, 4}), Int(3)}; };
    auto with_dtype = [](RowArgs f) {
      return [f](const Asked& a) {
        auto r = f(a);
        r.push_back(kNone);
        return r;
      };
    };
    // Products of few numbers of both signs: those of longer runs leave float16.
    add({.row = "cumprod",
         .dtypes = kAllDTypes,
         .args =
             [dim](const Asked& a) {
               return std::vector<OpArg>{a({3, 2, a.n}).clamp(-1, 1), Int(dim), kNone};
             },
         .refused = with_dtype(beyond),
         .says = std::string("cumprod") + far});
    add({.row = "cummax", .dtypes = kAllDTypes, .args = along, .refused = beyond, .says = std::string("cummax") + far});
    add({.row = "cummin", .dtypes = kAllDTypes, .args = along, .refused = beyond, .says = std::string("cummin") + far});
    add({.row = "logcumsumexp",
         .dtypes = kFloatDTypes,
         .args = along,
         .refused = beyond,
         .says = std::string("logcumsumexp") + far});
    add({.row = "mode",
         .dtypes = kAllDTypes,
         .args =
             [dim](const Asked& a) {
               return std::vector<OpArg>{a({a.n, 3, 4}), Int(dim), dim == 1};
             },
         .refused =
             [](const Asked& a) {
               return std::vector<OpArg>{a({3, 0}), Int(1), false};
             },
         .says = "mode: dimension 1 of sizes [3, 0] has no elements"});
  }
  // Searching.
  for (bool right : {false, true})
    add({.row = "searchsorted",
         .dtypes = kAllDTypes,
         .args =
             [right](const Asked& a) {
               return std::vector<OpArg>{std::get<0>(sort(a({3, a.n}).to(kFloat32), -1)).to(a.t).to(a.as), a({3, 4}, 2),
                                         right, right};
             },
         .refused =
             [](const Asked& a) {
               return std::vector<OpArg>{a({2, 4}), a({3, 4}), false, false};
             },
         .says = "searchsorted: sorted_sequence of sizes [2, 4] must have one dimension, or self's sizes [3, 4] but "
                 "for the last"});
  add({.row = "histc",
       .dtypes = kNumberDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({a.n, 7}), Int(4) + a.n, Scalar(-2), Scalar(3)};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a({4}), Int(0), Scalar(0), Scalar(1)};
           },
       .says = "histc: bins must be at least 1, got 0"});
  // Functions of each element.
  for (const char* name : {"digamma", "erfinv", "special_i0e", "special_i1", "special_i1e"})
    add({.row = name, .dtypes = kAllDTypes, .args = [](const Asked& a) { return std::vector<OpArg>{a({a.n, 5})}; }});
  const RowArgs pairs = [](const Asked& a) { return std::vector<OpArg>{a({a.n, 5}), a({a.n, 5}, 3)}; };
  const RowArgs uneven = [](const Asked& a) { return std::vector<OpArg>{a({2, 5}), a({3, 5})}; };
  add({.row = "polygamma",
       .dtypes = kAllDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{Int(1), a({a.n, 5})};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{Int(-1), a({4})};
           },
       .says = "polygamma: n must not be negative, got -1"});
  add({.row = "special_zeta",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({a.n, 5}).abs() + 2, a({a.n, 5}, 3).abs() + 0.5};
           },
       .refused = uneven,
       .says = "special_zeta: sizes [2, 5] and [3, 5] differ"});
  add({.row = "nextafter",
       .dtypes = kFloatDTypes,
       .args = pairs,
       .refused = uneven,
       .says = "nextafter: sizes [2, 5] and [3, 5] differ"});
  for (const char* name : {"gcd", "lcm"})
    add({.row = name,
         .dtypes = kIntDTypes,
         .args = pairs,
         .refused = uneven,
         .says = std::string(name) + ": sizes [2, 5] and [3, 5] differ"});
  // Fourier transforms: of even and odd lengths, along a dimension that is not the last.
  for (std::int64_t dim : {0, 1}) {
    const bool first = dim == 0;
    add({.row = "fft_c2c",
         .dtypes = kAllDTypes,
         .args =
             [=](const Asked& a) {
               return std::vector<OpArg>{first ? a({a.n, 3, 2}) : a({3, a.n, 2}), Int(dim), Int(dim), first};
             },
         .refused =
             [](const Asked& a) {
               return std::vector<OpArg>{a({3, 4}), Int(0), Int(0), true};
             },
         .says = "fft_c2c: wants pairs (real, imaginary) as a last dimension of size 2, got sizes [3, 4]",
         .tolerance = 1e-4});
    add({.row = "fft_r2c",
         .dtypes = kAllDTypes,
         .args =
             [=](const Asked& a) {
               return std::vector<OpArg>{first ? a({a.n, 3}) : a({3, a.n}), Int(dim), Int(2)};
             },
         .refused =
             [](const Asked& a) {
               return std::vector<OpArg>{a({3, 4}), Int(2), Int(0)};
             },
         .says = "fft_r2c: dimension 2 is out of range for 2 dimensions",
         .tolerance = 1e-4});
    add({.row = "fft_c2r",
         .dtypes = kAllDTypes,
         .args =
             [=](const Asked& a) {
               return std::vector<OpArg>{first ? a({a.n / 2 + 1, 3, 2}) : a({3, a.n / 2 + 1, 2}), Int(dim), Int(1),
                                         Int(a.n)};
             },
         .refused =
             [](const Asked& a) {
               return std::vector<OpArg>{a({3, 4, 2}), Int(1), Int(0), Int(9)};
             },
         .says = "fft_c2r: 9 real numbers are made of 5 pairs, got sizes [3, 4, 2]",
         .tolerance = 1e-4});
  }
  add({.row = "overlap_add",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({2, 4, a.n}), a.of(full({4}, 1.0) + arange(4) * 0.25), Int(2), Int(1),
                                       Int(a.n * 2)};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a({2, 4, 3}), a({5}), Int(2), Int(0), Int(6)};
           },
       .says = "overlap_add: frames of sizes [2, 4, 3] and a window of sizes [5]"});
  // What selects.
  for (const char* mode : {"sum", "mean", "max"})
    add({.row = "embedding_bag",
         .dtypes = kFloatDTypes,
         .args =
             [mode](const Asked& a) {
               return std::vector<OpArg>{a({a.n, 5}),
                                         cycle(a.n * 2, a.n),
                                         indices({0, 0, a.n}),
                                         mode[0] == 's' ? OpArg(a({a.n * 2}, 3)) : kNone,
                                         std::string(mode),
                                         mode[1] == 'e',
                                         mode[1] == 'a' ? OpArg(Int(0)) : kNone};
             },
         .refused =
             [](const Asked& a) {
               return std::vector<OpArg>{a({3, 5}),          indices({1, 3}), indices({0}), kNone,
                                         std::string("sum"), false,           kNone};
             },
         .says = "embedding_bag: index 3 at position [1] is out of range for 3 rows"});
  add({.row = "grouped_mm",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({a.n, 6}), a({3, 6, 4}, 1), indices({a.n / 3, a.n / 2, a.n}, kInt32)};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a({4, 5}), a({2, 5, 3}), indices({3, 2}, kInt32)};
           },
       .says = "grouped_mm: group 1 ends at 2, the one before at 3 of 4"});
  const RowArgs boxes = [](const Asked& a) {
    const Tensor corner = a({a.n, 2}, 1).abs();
    return std::vector<OpArg>{cat({corner, corner + a.of(full({a.n, 2}, 2.0))}, 1), a({a.n}, 4), Scalar(0.5)};
  };
  add({.row = "nms",
       .dtypes = kFloatDTypes,
       .args = boxes,
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a({3, 5}), a({3}), Scalar(0.5)};
           },
       .says = "nms: wants boxes [n, 4] and scores [n], got sizes [3, 5] and [3]"});
  add({.row = "choose_boxes",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             const Tensor corner = a({2, a.n, 2});
             return std::vector<OpArg>{cat({corner, corner + a.of(full({2, a.n, 2}, 2.0))}, 2),
                                       a({2, 3, a.n}, 4),
                                       Int(2),
                                       Scalar(0.5),
                                       Scalar(-1.0),
                                       true,
                                       false};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a({3, 4}), a({3}), Int(2), Scalar(0.5), Scalar(0.0), false, true};
           },
       .says =
           "choose_boxes: wants boxes [pictures, n, 4] and scores [pictures, classes, n], got sizes [3, 4] and [3]"});
  add({.row = "lexicographic_order",
       .dtypes = kAllDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({a.n, 3})};
           },
       .refused = [](const Asked& a) { return std::vector<OpArg>{a({4})}; },
       .says = "lexicographic_order: wants rows [n, m], got sizes [4]"});
  add({.row = "roi_align",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({2, 3, a.n + 1, 8}),
                                       a.of(tensor_of<double>({0, 0, 0, 4, 3, 1, 1, 2, 5, 5}, {2, 5})),
                                       Int(2),
                                       Int(3),
                                       Scalar(0.5),
                                       Int(2),
                                       true};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{
                 a({1, 1, 4, 4}), a.of(zeros({1, 5})), Int(0), Int(2), Scalar(1.0), Int(-1), false};
           },
       .says = "roi_align: output_h must be at least 1, got 0"});
  add({.row = "nonzero_static",
       .dtypes = kAllDTypes,
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a({a.n, 3}), Int(a.n + 2), Int(-1)};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a({4}), Int(-1), Int(0)};
           },
       .says = "nonzero_static: the size must not be negative, got -1"});
  add({.row = "repeated_indices",
       .dtypes = {kInt64, kInt32},
       .args =
           [](const Asked& a) {
             return std::vector<OpArg>{a.of(remainder(arange(a.n), 3)),
                                       Int(remainder(arange(a.n), 3).sum().item<std::int64_t>())};
           },
       .refused =
           [](const Asked& a) {
             return std::vector<OpArg>{a.of(full({3}, 1)), Int(4)};
           },
       .says = "repeated_indices: the repeats add up to 3, not to 4"});
  return all;
}

}  // namespace reprise::test
