#pragma once
#include <functional>
#include <string>
#include <vector>

#include "reprise/export.h"

namespace reprise::exported {

/// A program that is exported in one process and called in another, at other sizes, beside its own source.
struct Case {
  const char* name;
  ExportedProgram (*make)();
  /// Arguments of call number `call`, the same in every process.
  std::vector<Tensor> (*arguments)(int call);
  /// The source itself, eagerly: what it gives.
  std::vector<Tensor> (*eager)(const std::vector<Tensor>& arguments);
};
const std::vector<Case>& cases();
/// Drawn from a stream of its own: the same in every process.
Tensor drawn(std::uint64_t seed, const std::vector<std::int64_t>& sizes);

}  // namespace reprise::exported
