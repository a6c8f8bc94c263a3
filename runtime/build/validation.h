#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "guards/shape_env.h"

namespace reprise::detail {
struct Specialization;
}

namespace reprise::runtime {

/// Proves of a specialization what its guards promise (docs/validation.md); `claims`: what was concluded while it was
/// made. Throws Internal, naming what does not follow. Any thread.
using Validator = void (*)(const detail::Specialization&, const std::vector<guards::Claim>& claims);
/// Null in builds without it (REPRISE_VALIDATE of CMake). It is called where the knob `validate` says so.
extern const Validator validator;

/// What was proved in this process so far.
struct ValidationReport {
  std::int64_t specializations = 0;   ///< looked at
  std::int64_t repeated = 0;          ///< of these, the same as one before
  std::int64_t claims = 0;            ///< conditions asked for
  std::int64_t quick = 0, by_z3 = 0;  ///< who proved them
  std::int64_t ns = 0;
  std::vector<std::string> failures;
};
ValidationReport validation_report();

}  // namespace reprise::runtime
