#pragma once

/// Families of operators over the open table (docs/extending.md, "A family of operators"): one file tells all of an
/// operator, and each is registered when it is first called, or when graph::register_families() is asked for all of
/// them.
namespace reprise::operators {

#define REPRISE_FAMILY(name) void register_##name();
#include "operators/families.def"
#undef REPRISE_FAMILY

}  // namespace reprise::operators
