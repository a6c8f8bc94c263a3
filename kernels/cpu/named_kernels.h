#pragma once
#include <string>
#include <string_view>

#include "kernels/launch/launch.h"

namespace reprise::kernels {

/// Kernels of the host by names that mean the same in every process and build: those of built-in operators
/// ("reference:sort", "host:scatter") and those that lowering makes launches of ("linear", "copy"). A name, with the
/// arguments that its launches have, is part of the format of exported programs (docs/export_format.md).
///
/// Empty: it is another function (a registered operator's).
std::string kernel_name(NativeFn);
/// Null: there is none of that name.
NativeFn named_kernel(std::string_view name);

}  // namespace reprise::kernels
