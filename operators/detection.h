#pragma once
#include "reprise/ops.h"

namespace reprise::operators {

/// How boxes of several pictures and classes are chosen (ONNX's NonMaxSuppression).
struct ChooseBoxes {
  Int most = 0;  ///< of each class
  /// intersection over union: a box that has more of it with a chosen one is not chosen
  Scalar overlap = 0.0;
  std::optional<Scalar> least;  ///< only boxes of a higher score
  /// a box is its centre, width and height, x before y; else two corners, y before x
  bool by_centre = false;
};
/// Of boxes [pictures, n, 4] and scores [pictures, classes, n]: int64 [pictures * classes * n, 3], rows (picture,
/// class, box), of each class those with the highest score first, and how many rows there are; those behind are -1.
TensorPair choose_boxes(const Tensor& boxes, const Tensor& scores, const ChooseBoxes&, SourceLoc);
/// The rows that there are of such a pair, as many as depends on data.
Tensor chosen_of(const TensorPair&, SourceLoc);

}  // namespace reprise::operators
