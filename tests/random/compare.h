#pragma once
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::fuzz {

/// Everything a caller can see after a call: results, then arguments. Both lists have the same order.
struct Seen {
  std::vector<Tensor> tensors;
  std::size_t results = 0;                 ///< so many of them are results
  std::vector<std::uint64_t> versions;     ///< of the arguments' storages, before the call
  std::vector<bool> parts;                 ///< by result: may it be a part of something (Program::may_be_part)?
};
Seen seen(const std::vector<Tensor>& results, const std::vector<Tensor>& arguments, std::vector<std::uint64_t> versions, std::vector<bool> parts = {});
std::vector<std::uint64_t> versions_of(const std::vector<Tensor>&);

/// What differs between eager and compiled, or empty: dtypes, sizes, values; strides and offsets; which tensors share storage, and
/// which are one tensor; which arguments' storages were written. `tolerance`: of floats, relative to the largest of a tensor.
std::string difference(const Seen& want, const Seen& got, double tolerance);
/// Writes through each tensor in turn, comparing everything after each (`thoroughly`) or once at the end.
std::string difference_after_writes(const Seen& want, const Seen& got, double tolerance, bool thoroughly);

}  // namespace reprise::fuzz
