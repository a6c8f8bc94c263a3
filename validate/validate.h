#pragma once
#include <functional>
#include <string>
#include <vector>

#include "guards/guard_set.h"
#include "guards/shape_env.h"

namespace reprise::detail {
struct Specialization;
}

namespace reprise::validate {

using guards::Claim;
using Check = guards::GuardSet::Check;

/// What is asked of a specialization, and under which checks: its own, or others.
struct Question {
  std::vector<Check> checks;
  bool conclusions = true;  ///< (a): conditions taken, declared ranges, what was concluded from them
  bool accesses = true;     ///< (b), (c)
  bool first = false;       ///< one failure is enough
};
/// What does not follow, in words; empty: it is proved. Any thread.
std::vector<std::string> failures(const detail::Specialization&, const std::vector<Claim>&, const Question&);
/// Do some checks of its guard set imply another one?
bool imply(const detail::Specialization&, const std::vector<Check>&, const Check&);

/// Called with each specialization that is validated, behind its proof. Tests set it, while no other thread compiles.
extern std::function<void(const detail::Specialization&, const std::vector<Claim>&)> observer;

}  // namespace reprise::validate
