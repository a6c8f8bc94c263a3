#pragma once
#include "kernels/launch/elements.h"
#include "validate/accesses.h"

namespace reprise::validate {

/// (c) Operands are read at the elements that the graph says: those of pointwise operators by broadcasting, those of
/// views by the layouts that their rules made in the trace. exceptions.def lists what is not proved.
void prove_elements(Prover&, const std::vector<kernels::ElementRead>&, const Ask&);

}  // namespace reprise::validate
