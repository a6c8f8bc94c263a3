#pragma once
#include "kernels/launch/launch.h"

namespace reprise::operators {

/// The reference kernel of `convolution`, transposed or not: any dtype but bool, any strides.
void convolution_reference(const kernels::NativeArgs&);

}  // namespace reprise::operators
