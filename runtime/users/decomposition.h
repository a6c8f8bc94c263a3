#pragma once
#include <optional>
#include <span>
#include <vector>

#include "graph/op_column.h"
#include "reprise/decomposition.h"
#include "reprise/source_location.h"

/// What users' operators are made of (reprise/decomposition.h).
namespace reprise::detail {

/// "decomposition of a user"; what it points to stays for good.
graph::OpColumn<const Decomposition*>& decompositions();
/// Throws InvalidArgument unless the parameters are the schema's.
void expect_parameters(const graph::Schema&, const Decomposition&);

/// That of an operator which has no kernel for the device of its tensors; null elsewhere.
const Decomposition* decomposition_for(const graph::OpDef&, std::span<const OperatorArg> given);
/// The operator's results, by its decomposition. Its calls are asked of this thread's interpreters, as those of a
/// function of the program are. Throws what they throw, and InvalidArgument for another number of results than the
/// schema has.
std::vector<Tensor> decomposed(const graph::OpDef&, const Decomposition&, std::span<const OperatorArg> given,
                               SourceLoc);

/// Throws InvalidArgument that names the operator, and the line, unless these are arguments of it.
void expect_arguments(const graph::OpDef&, std::span<const OperatorArg> given, SourceLoc);
/// Throws InvalidArgument unless all ways to compute the operator agree on the samples.
void expect_samples_agree(graph::OpId, std::span<const OperatorSample>);

}  // namespace reprise::detail
