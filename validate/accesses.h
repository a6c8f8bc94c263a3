#pragma once
#include <functional>
#include <string>
#include <vector>

#include "validate/prover.h"

namespace reprise::detail {
struct Specialization;
}
namespace reprise::runtime {
struct Program;
}

namespace reprise::validate {

/// ask(what, formula, also): formula() must hold wherever `also` does.
using Ask = std::function<void(std::string what, const std::function<FormulaPtr()>& formula,
                               const std::vector<FormulaPtr>& also)>;

/// (b) Each access of the launches of a program of it, a stage or the last, stays inside its buffer, the numbers that
/// they are told fit 64 bits, and temporaries that live at the same time are apart. What is not asked of which kind of
/// launch stands in exceptions.def.
void prove_accesses(Prover&, const detail::Specialization&, const runtime::Program&, const Ask&);

}  // namespace reprise::validate
