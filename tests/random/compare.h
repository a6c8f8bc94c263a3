#pragma once
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::fuzz {

/// An argument's storage before a call, kept alive, and how many writes it had counted.
struct Version {
  Tensor storage;
  std::uint64_t writes;
};
std::vector<Version> versions_of(const std::vector<Tensor>&);

/// Everything a caller can see after a call: results, then arguments. Both lists have the same order.
struct Seen {
  std::vector<Tensor> tensors;
  std::size_t results = 0;         ///< so many of them are results
  std::vector<Version> versions;   ///< of the arguments, before the call
  std::vector<bool> parts;         ///< by result: may it be a part of something (Program::may_be_part)?
  std::vector<std::string> names;  ///< of the arguments; empty: those of a random program
};
Seen seen(const std::vector<Tensor>& results, const std::vector<Tensor>& arguments, std::vector<Version> versions,
          std::vector<bool> parts = {});

/// What differs between eager and compiled, or empty: dtypes, sizes, values; strides and offsets; which tensors share
/// storage, and which are one tensor; which arguments' storages were written, those they had before the call and those
/// they have now. `tolerance`: of floats, relative to the largest of a tensor.
std::string difference(const Seen& want, const Seen& got, double tolerance);
/// Writes through each tensor in turn, comparing everything after each (`thoroughly`) or once at the end.
std::string difference_after_writes(const Seen& want, const Seen& got, double tolerance, bool thoroughly);

}  // namespace reprise::fuzz
