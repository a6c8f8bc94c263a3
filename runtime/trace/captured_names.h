#pragma once
#include <string>

#include "reprise/tensor_names.h"

namespace reprise::detail {

/// What the objects that are named on this thread (reprise/tensor_names.h) call a tensor.
struct CapturedNames {
  struct Name {
    std::string path;  ///< "layers[3].wq"; empty: none of them has it
    FieldKind kind = FieldKind::None;
  };
  static Name of(const TensorImpl&);
};

}  // namespace reprise::detail
