#pragma once
#include <optional>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reprise/arguments.h"
#include "reprise/int.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"

/// Images [n, c, ...]: what is around them, their elements rearranged, and images of other sizes. Names, arguments and
/// results are ATen's; results are row-major. ShapeMismatch for ranks and sizes that do not fit, InvalidArgument for
/// numbers and words that nothing accepts, DTypeMismatch where floats are wanted.
namespace reprise REPRISE_VISIBLE {

namespace detail {
Tensor pad_by_mode(const Tensor& self, IntArrayRef pad, std::string_view mode, std::optional<double> value,
                   SourceLoc loc);
template <class T>
concept Text = std::is_convertible_v<const T&, std::string_view>;
}  // namespace detail

/// pad = {last dimension front, last dimension back, next to last front, ...}. mode: "constant" (value, or 0),
/// "reflect" (mirrored at the border's element, which is not repeated; less than the size), "replicate" (the border's
/// element again), "circular" (from the other end; at most the size). All but constant are for one to three last
/// dimensions that have elements; negative amounts crop.
template <detail::Text Mode>
Tensor pad(const Tensor& self, IntArrayRef pad, const Mode& mode, std::optional<double> value = std::nullopt,
           SourceLoc loc = SourceLoc::current()) {
  return detail::pad_by_mode(self, pad, mode, value, loc);
}
Tensor reflection_pad1d(const Tensor& self, IntArrayRef padding, SourceLoc loc = SourceLoc::current());
Tensor reflection_pad2d(const Tensor& self, IntArrayRef padding, SourceLoc loc = SourceLoc::current());
Tensor reflection_pad3d(const Tensor& self, IntArrayRef padding, SourceLoc loc = SourceLoc::current());
Tensor replication_pad1d(const Tensor& self, IntArrayRef padding, SourceLoc loc = SourceLoc::current());
Tensor replication_pad2d(const Tensor& self, IntArrayRef padding, SourceLoc loc = SourceLoc::current());
Tensor replication_pad3d(const Tensor& self, IntArrayRef padding, SourceLoc loc = SourceLoc::current());

/// [..., c * r * r, h, w] to [..., c, h * r, w * r], and back.
Tensor pixel_shuffle(const Tensor& self, Int upscale_factor, SourceLoc loc = SourceLoc::current());
Tensor pixel_unshuffle(const Tensor& self, Int downscale_factor, SourceLoc loc = SourceLoc::current());
/// Channels [groups, c / groups] in the order [c / groups, groups].
Tensor channel_shuffle(const Tensor& self, Int groups, SourceLoc loc = SourceLoc::current());
/// The windows of [n, c, h, w] (or [c, h, w]) as columns: [n, c * kernel places, windows]. torch.nn.functional.unfold.
Tensor im2col(const Tensor& self, IntArrayRef kernel_size, IntArrayRef dilation = 1, IntArrayRef padding = 0,
              IntArrayRef stride = 1, SourceLoc loc = SourceLoc::current());
/// The sums of such columns where they belong in [n, c, output_size...]. torch.nn.functional.fold.
Tensor col2im(const Tensor& self, IntArrayRef output_size, IntArrayRef kernel_size, IntArrayRef dilation = 1,
              IntArrayRef padding = 0, IntArrayRef stride = 1, SourceLoc loc = SourceLoc::current());

/// What an image becomes (interpolate). One of size and scale_factor is given: one number for each spatial dimension,
/// or one for all.
struct InterpolateOptions {
  std::optional<Ints> size = std::nullopt;
  std::vector<double> scale_factor = {};
  /// nearest, nearest-exact, linear, bilinear, trilinear, bicubic, area
  std::string_view mode = "nearest";
  std::optional<bool> align_corners = std::nullopt;  ///< of linear to bicubic: the corners' centers meet
  /// Places follow from the sizes, not from scale_factor, which need not divide them evenly.
  bool recompute_scale_factor = false;
  /// of bilinear and bicubic: the filter covers all input elements of an output
  bool antialias = false;
};
/// An image [n, c, ...] of other sizes, as torch.nn.functional.interpolate. Floats; nearest also integers.
Tensor interpolate(const Tensor& input, const InterpolateOptions& options, SourceLoc loc = SourceLoc::current());

// The same by ATen's names. scales: what the sizes were multiplied with, for the places; else they follow from the
// sizes.
Tensor upsample_nearest1d(const Tensor& self, IntArrayRef output_size, const std::vector<double>& scales = {},
                          SourceLoc loc = SourceLoc::current());
Tensor upsample_nearest2d(const Tensor& self, IntArrayRef output_size, const std::vector<double>& scales = {},
                          SourceLoc loc = SourceLoc::current());
Tensor upsample_nearest3d(const Tensor& self, IntArrayRef output_size, const std::vector<double>& scales = {},
                          SourceLoc loc = SourceLoc::current());
Tensor upsample_linear1d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                         const std::vector<double>& scales = {}, SourceLoc loc = SourceLoc::current());
Tensor upsample_bilinear2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                           const std::vector<double>& scales = {}, SourceLoc loc = SourceLoc::current());
Tensor upsample_trilinear3d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                            const std::vector<double>& scales = {}, SourceLoc loc = SourceLoc::current());
Tensor upsample_bicubic2d(const Tensor& self, IntArrayRef output_size, bool align_corners,
                          const std::vector<double>& scales = {}, SourceLoc loc = SourceLoc::current());

/// input [n, c, h, w] at the places grid [n, oh, ow, 2] (x, y; -1 and 1 are the borders): [n, c, oh, ow]; of three
/// spatial dimensions likewise, grid [n, od, oh, ow, 3]. mode: bilinear, nearest, bicubic. padding_mode, for places
/// beyond the border: zeros, border, reflection. Floats of one dtype.
Tensor grid_sample(const Tensor& input, const Tensor& grid, std::string_view mode = "bilinear",
                   std::string_view padding_mode = "zeros", bool align_corners = false,
                   SourceLoc loc = SourceLoc::current());
/// The same with ATen's numbers of the modes, in this order.
Tensor grid_sampler(const Tensor& input, const Tensor& grid, Int interpolation_mode, Int padding_mode,
                    bool align_corners, SourceLoc loc = SourceLoc::current());
/// The places at which theta [n, 2, 3] puts the elements of an image of sizes [n, c, h, w]: [n, h, w, 2]. theta [n, 3,
/// 4] and [n, c, d, h, w]: [n, d, h, w, 3].
Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners = false,
                   SourceLoc loc = SourceLoc::current());
inline Tensor affine_grid_generator(const Tensor& theta, IntArrayRef size, bool align_corners,
                                    SourceLoc loc = SourceLoc::current()) {
  return affine_grid(theta, size, align_corners, loc);
}

}  // namespace REPRISE_VISIBLE
