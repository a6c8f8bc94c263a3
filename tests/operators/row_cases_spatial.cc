// Images: convolutions, pooling, padding, windows, resizing, normalization.
#include "tests/operators/row_cases.h"

namespace reprise::test {

std::vector<RowCase> spatial_cases() {
  std::vector<RowCase> all;
  auto add = [&](RowCase c) { all.push_back(std::move(c)); };
  using Args = std::vector<OpArg>;

  // Convolutions: of one and of two dimensions, by groups, for each channel, transposed.
  auto convolution = [](const Tensor& x, const Tensor& w, OpArg bias, List stride, List padding, List dilation,
                        bool transposed, List output_padding, std::int64_t groups) {
    return Args{x, w, bias, stride, padding, dilation, transposed, output_padding, Int(groups)};
  };
  add({.row = "convolution",
       .dtypes = kFloatDTypes,
       .args =
           [=](const Asked& a) {
             return convolution(a({2, 4, a.n + 2}), a({6, 4, 3}, 1) * 0.25, a({6}, 2), {1}, {1}, {1}, false, {0}, 1);
           },
       .refused =
           [=](const Asked& a) {
             return convolution(a({2, 4, 6}), a({6, 3, 3}), kNone, {1}, {0}, {1}, false, {0}, 1);
           },
       .says = "convolution: an image of sizes [2, 4, 6] and a weight of sizes [6, 3, 3] do not fit each other with 1 "
               "group",
       .tolerance = 1e-4});
  add({.row = "convolution",
       .dtypes = kFloatDTypes,
       .args =
           [=](const Asked& a) {
             return convolution(a({a.n, 4, 7, 6}), a({6, 2, 3, 2}, 1) * 0.25, kNone, {2, 1}, {1, 0}, {1, 2}, false,
                                {0, 0}, 2);
           },
       .refused =
           [=](const Asked& a) {
             return convolution(a({1, 4, 2, 2}), a({6, 4, 3, 3}), kNone, {1, 1}, {0, 0}, {1, 1}, false, {0, 0}, 1);
           },
       .says = "convolution: a kernel that reaches over 3 elements is larger than dimension 2 of the image, 2 and 0 on "
               "both sides",
       .tolerance = 1e-4});
  add({.row = "convolution",
       .dtypes = kFloatDTypes,
       .args =
           [=](const Asked& a) {
             return convolution(a({2, 4, a.n + 2, 6}), a({4, 1, 3, 3}, 1) * 0.25, a({4}, 2), {1, 2}, {1, 1}, {1, 1},
                                false, {0, 0}, 4);
           },
       .tolerance = 1e-4});
  add({.row = "convolution",
       .dtypes = kFloatDTypes,
       .args =
           [=](const Asked& a) {
             return convolution(a({2, 4, a.n, 5}), a({4, 2, 3, 2}, 1) * 0.25, a({4}, 2), {2, 2}, {1, 0}, {1, 1}, true,
                                {1, 0}, 2);
           },
       .refused =
           [=](const Asked& a) {
             return convolution(a({2, 4, 5}), a({4, 2, 3}), kNone, {0}, {0}, {1}, true, {0}, 1);
           },
       .says = "convolution: 'stride' must be positive, got [0]",
       .tolerance = 1e-4});

  // Pooling.
  for (const char* row : {"max_pool", "max_pool_indices"})
    for (bool ceil : {false, true})
      add({.row = row,
           .dtypes = kNumberDTypes,
           .args =
               [ceil](const Asked& a) {
                 return Args{a({2, 3, a.n + 2, 7}), List{3, 2}, List{2, 3}, List{1, 0}, List{1, 2}, ceil};
               },
           .refused =
               [](const Asked& a) {
                 return Args{a({2, 3, 2}), List{3}, List{1}, List{0}, List{1}, false};
               },
           .says = std::string(row) + ": a window that reaches over 3 elements does not fit dimension 2 of sizes [2, "
                                      "3, 2] with 0 on both sides"});
  for (bool include : {false, true})
    add({.row = "avg_pool",
         .dtypes = {kFloat32, kFloat64, kFloat16, kBFloat16, kInt64},
         .args =
             [include](const Asked& a) {
               return Args{a({2, 3, a.n + 2, 7}),          List{3, 2}, List{2, 3}, List{1, 1}, include, include,
                           include ? OpArg(Int(5)) : kNone};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({2, 3, 5}), List{3}, List{1}, List{2}, false, true, kNone};
             },
         .says = "avg_pool: padding must be at most half of the kernel, and not negative: 2 of 3"});
  for (const char* row : {"adaptive_avg_pool", "adaptive_max_pool", "adaptive_max_pool_indices"})
    for (bool image : {false, true})
      add({.row = row,
           .dtypes = row[9] == 'a' ? kFloatDTypes : kNumberDTypes,
           .args =
               [image](const Asked& a) {
                 return image ? Args{a({2, 3, a.n + 3, 7}), List{2, 3}} : Args{a({2, 3, a.n + 1}), List{a.n / 2 + 1}};
               },
           .refused =
               [](const Asked& a) {
                 return Args{a({2, 3, 5}), List{2, 2}};
               },
           .says = std::string(row) + ": wants an image [n, c, ...] with 2 spatial dimensions, got sizes [2, 3, 5]"});

  // Padding: of numbers that may be symbols, also negative ones.
  for (const char* row : {"reflection_pad", "replication_pad", "circular_pad"})
    for (bool image : {false, true})
      add({.row = row,
           .dtypes = kAllDTypes,
           .args =
               [image](const Asked& a) {
                 return image ? Args{a({2, 3, a.n + 1, 4}), List{1, 2, 1, 1}} : Args{a({3, a.n + 3}), List{2, -1}};
               },
           .refused =
               [](const Asked& a) {
                 return Args{a({2, 3, 0}), List{1, 1}};
               },
           .says = std::string(row) + ": dimension 2 of sizes [2, 3, 0] has no elements"});

  // Windows, and back.
  add({.row = "im2col",
       .dtypes = kAllDTypes,
       .args =
           [](const Asked& a) {
             return Args{a({2, 3, a.n + 2, 6}), List{3, 2}, List{1, 2}, List{1, 0}, List{2, 1}};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 3, 2, 6}), List{3, 2}, List{1, 1}, List{0, 0}, List{1, 1}};
           },
       .says =
           "im2col: a window that reaches over 3 elements does not fit an image of sizes [2, 6] with 0 on both sides"});
  add({.row = "col2im",
       .dtypes = kAllDTypes,
       .args =
           [](const Asked& a) {
             return Args{
                 a({2, 3 * 6, (a.n + 2) * 5}), List{a.n + 2, 6}, List{3, 2}, List{1, 1}, List{1, 0}, List{1, 1}};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 18, 21}), List{6, 6}, List{3, 2}, List{1, 1}, List{1, 0}, List{1, 1}};
           },
       .says = "col2im: an image of sizes [6, 6] has 30 windows, not 21"});
  add({.row = "windows",
       .dtypes = kAllDTypes,
       .args =
           [](const Asked& a) {
             return Args{a({2, a.n + 4}).contiguous(), List{3}, List{1}, List{2}, List{a.n}};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 5}), List{3}, List{0}, List{1}, List{3}};
           },
       .says = "windows: sizes, steps and dilations must be positive"});
  add({.row = "index_within", .dtypes = kAllDTypes, .args = [](const Asked& a) {
         return Args{a({3, a.n + 1}), std::vector<Tensor>{Tensor(), arange(a.n).to(test_device())}};
       }});

  // Resizing.
  for (const char* mode : {"nearest", "nearest-exact", "linear", "cubic"})
    for (bool option : {false, true}) {
      const bool nearest = mode[0] == 'n';
      if (nearest && option) continue;
      add({.row = "interpolate",
           .dtypes = nearest ? kAllDTypes : kFloatDTypes,
           .args =
               [=](const Asked& a) {
                 return Args{a({2, 3, a.n + 1, 5}),
                             List{2 * a.n + 1, 3},
                             std::string(mode),
                             option && mode[0] == 'c',
                             option && mode[0] == 'l',
                             kNone,
                             kNone,
                             kNone};
               },
           .refused =
               [=](const Asked& a) {
                 return Args{a({2, 3, 5}), List{0}, std::string(mode), false, false, kNone, kNone, kNone};
               },
           .says = "interpolate: sizes must be positive, got an image of sizes [2, 3, 5] for [0]",
           .tolerance = 1e-4});
    }
  for (std::int64_t mode : {0, 1, 2})
    add({.row = "grid_sampler",
         .dtypes = kFloatDTypes,
         .args =
             [mode](const Asked& a) {
               return Args{a({2, 3, a.n + 1, 5}), a.of(numbers({2, 3, a.n + 1, 2}, kFloat64, 2) * 0.3125), Int(mode),
                           Int(mode), mode == 1};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({2, 3, 4, 5}), a({1, 3, 4, 2}), Int(0), Int(0), false};
             },
         .says = "grid_sampler: a grid has the image's batch, and 2 numbers for each place: got sizes [2, 3, 4, 5] and "
                 "a grid of sizes [1, 3, 4, 2]",
         .tolerance = 1e-4});

  // Normalization.
  for (bool own : {false, true})
    add({.row = "batch_norm",
         .dtypes = kFloatDTypes,
         .args =
             [own](const Asked& a) {
               return own ? Args{a({4, a.n, 3}), kNone, a({a.n}, 2), kNone, kNone, true, Scalar(0.125)}
                          : Args{a({2, 3, a.n}),  a({3}, 1), a({3}, 2),    a({3}, 3),
                                 a({3}, 4).abs(), false,     Scalar(0.125)};
             },
         .refused =
             [](const Asked& a) {
               return Args{a({2, 3, 4}), a({4}), kNone, kNone, kNone, true, Scalar(0.125)};
             },
         .says = "batch_norm: 'weight' has sizes [4], not one number for each of 3 channels",
         .tolerance = 1e-4});
  add({.row = "group_norm",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return Args{a({2, 6, a.n}), Int(3), a({6}, 1), a({6}, 2), Scalar(0.125)};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 6, 4}), Int(4), kNone, kNone, Scalar(0.125)};
           },
       .says = "group_norm: 4 groups do not divide the 6 channels of sizes [2, 6, 4]",
       .tolerance = 1e-4});
  add({.row = "local_response_norm",
       .dtypes = kFloatDTypes,
       .args =
           [](const Asked& a) {
             return Args{a({2, a.n, 5}), Int(3), Scalar(0.5), Scalar(0.75), Scalar(1.0)};
           },
       .refused =
           [](const Asked& a) {
             return Args{a({2, 6, 4}), Int(0), Scalar(0.5), Scalar(0.75), Scalar(1.0)};
           },
       .says = "local_response_norm: 'size' must be positive, got 0",
       .tolerance = 1e-4});
  return all;
}

}  // namespace reprise::test
