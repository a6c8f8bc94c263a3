#pragma once
#include "reprise/ops.h"

/// Elements and rows by index beside those of reprise/ops.h, sums of rows, products of groups, and boxes in pictures.
/// Index tensors are int64 or int32; values out of range: IndexOutOfRange.
namespace reprise REPRISE_VISIBLE {

/// The elements that index counts in row-major order, negative ones from the end: index's sizes.
Tensor take(const Tensor& self, const Tensor& index, SourceLoc loc = SourceLoc::current());
/// gather, where sizes but along dim broadcast; without dim of the flattened self and indices.
Tensor take_along_dim(const Tensor& self, const Tensor& indices, std::optional<Int> dim = std::nullopt,
                      SourceLoc loc = SourceLoc::current());

/// Sums, means or maxima ("sum", "mean", "max") of rows of weight [n, d]: of each row of indices [bags, length]; or of
/// indices [m], where a bag begins at each of offsets [bags] (the first at 0) and ends where the next begins; with
/// include_last_offset the last of offsets is where the last bag ends. An empty bag gives zeros. per_sample_weights
/// (with "sum", of indices' sizes) multiply rows; rows padding_idx do not count. [bags, d] of weight's dtype, summed in
/// double.
Tensor embedding_bag(const Tensor& weight, const Tensor& indices, const Tensor& offsets = {},
                     std::string_view mode = "mean", const Tensor& per_sample_weights = {},
                     bool include_last_offset = false, std::optional<Int> padding_idx = std::nullopt,
                     SourceLoc loc = SourceLoc::current());

/// A product for each of G groups, as mixtures of experts have them; offs [G] (int32) are where the groups end.
///   self [m, k], mat2 [G, k, n]: rows of self; [m, n]. Rows behind the last group are 0.
///   self [G, m, k], mat2 [k, n]: columns of mat2; [m, n].
///   self [m, k], mat2 [k, n]: parts of k; [G, m, n].
///   self [G, m, k], mat2 [G, k, n]: bmm, without offs.
/// Floats of one dtype, summed in float32 (float64 in float64). offs that fall, or beyond the size: IndexOutOfRange.
Tensor grouped_mm(const Tensor& self, const Tensor& mat2, const Tensor& offs = {},
                  SourceLoc loc = SourceLoc::current());

/// Boxes are [n, 4]: x1, y1, x2, y2, floats. Which boxes stay (int64, best first) if of two whose intersection over
/// union is above iou_threshold the one with the lower score goes. How many is read from the values, which ends a
/// capture.
Tensor nms(const Tensor& boxes, const Tensor& scores, double iou_threshold, SourceLoc loc = SourceLoc::current());
/// The same, which compiles: [n], filled up with -1; and how many they are (int64, 0-dim).
TensorPair nms_padded(const Tensor& boxes, const Tensor& scores, double iou_threshold,
                      SourceLoc loc = SourceLoc::current());
/// nms among the boxes of each class of idxs [n].
Tensor batched_nms(const Tensor& boxes, const Tensor& scores, const Tensor& idxs, double iou_threshold,
                   SourceLoc loc = SourceLoc::current());

/// input [n, c, h, w], boxes [k, 5] (which picture, x1, y1, x2, y2, in pixels of 1 / spatial_scale): [k, c, output_h,
/// output_w], means of sampling_ratio^2 bilinear samples in each cell (0: as many as the cell has pixels). aligned
/// moves by half a pixel. Floats of one dtype.
Tensor roi_align(const Tensor& input, const Tensor& boxes, Int output_h, Int output_w, double spatial_scale = 1.0,
                 Int sampling_ratio = -1, bool aligned = false, SourceLoc loc = SourceLoc::current());

// ---- random numbers written into self (floats: DTypeMismatch), which is returned
/// Density lambd * exp(-lambd * x).
Tensor exponential_(const Tensor& self, double lambd = 1.0, SourceLoc loc = SourceLoc::current());
Tensor cauchy_(const Tensor& self, double median = 0.0, double sigma = 1.0, SourceLoc loc = SourceLoc::current());
/// exp of a normal variable.
Tensor log_normal_(const Tensor& self, double mean = 1.0, double std = 2.0, SourceLoc loc = SourceLoc::current());
/// How many trials of probability p in (0, 1) until one succeeds, from 1 on.
Tensor geometric_(const Tensor& self, double p, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
