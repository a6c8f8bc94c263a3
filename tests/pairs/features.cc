#include "tests/pairs/feature.h"

namespace reprise::pairs {

extern const Feature kSharding;

std::span<const Feature> features() {
  static const Feature all[] = {kMath,         kViews,   kWrites,     kMetadata,      kDataSizes, kCond,
                                kVariableRows, kTape,    kTapeInside, kCompiledWalks, kDTypes,    kBytes,
                                kRandom,       kFrozen,  kOperators,  kPatterns,      kThreads,   kErrors,
                                kQuantized,    kKernels, kConcurrent, kExport,        kScan,      kWrapper,
                                kBranches,     kWhile,   kSharding,   kRegion};
  return all;
}

}  // namespace reprise::pairs
