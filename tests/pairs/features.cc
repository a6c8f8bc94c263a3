#include "tests/pairs/feature.h"

namespace reprise::pairs {

std::span<const Feature> features() {
  static const Feature all[] = {kMath,      kViews,      kWrites,        kMetadata, kDataSizes, kCond,    kVariableRows,
                                kTape,      kTapeInside, kCompiledWalks, kDTypes,   kBytes,     kRandom,  kFrozen,
                                kOperators, kPatterns,   kThreads,       kErrors,   kQuantized, kKernels, kConcurrent,
                                kExport,    kScan,       kWrapper,       kBranches, kWhile,     kRegion};
  return all;
}

}  // namespace reprise::pairs
