#pragma once
#include <cstdint>

#include "reprise/dtype.h"
#include "reprise/placement.h"

namespace reprise::comm {

/// Is there such a reduction of such elements? Sums and means are of numbers, means of floats.
bool reduces(DType, ReduceOp);
/// to[i] = the reduction of from[0][i], ..., from[k - 1][i], in this order. k >= 1; `to` may be one of them.
void reduce(const char* const* from, int k, char* to, std::int64_t n, DType, ReduceOp);

}  // namespace reprise::comm
