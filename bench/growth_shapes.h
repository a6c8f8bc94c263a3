#pragma once
#include <span>

namespace reprise::figures {

/// A kind of program whose length is n: `run` gives the seconds of one processor that its first call takes, or a
/// negative number where it was served eagerly.
struct GrowthShape {
  const char* name;
  double (*run)(int n);
};
std::span<const GrowthShape> growth_shapes();

}  // namespace reprise::figures
