/// Rows that a mask selects, left in place (Note [Numbers that nobody reads] in
/// runtime/build/data_size_elimination.cc): what operators do with them.
#pragma once
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "graph/op_column.h"

namespace reprise::runtime {

/// What an operator does with rows that are left in place. Pointwise operators take them as they are.
struct InPlace {
  enum class Does {
    Folds,
    Runs,  ///< reduces, sums up: what does not count is `neutral`
    Takes,
    TakesAlong,  ///< by indices: rows that a mask selects are left where they are
    Puts,        ///< by indices: where the mask holds
    Selects,
    Slices,
    Keeps,
    Squeezes,
    Expands,
    Reshapes,  ///< views
    Fills,
    Joins,
    ByNumber,  ///< pointwise, but of a number it is computed in another way
  } does;
  enum class Neutral { Zero, One, Least, Most } neutral = Neutral::Zero;
};
extern const graph::OpColumn<InPlace> kInPlace;

bool does(const graph::Node& n, InPlace::Does what);

/// The neutral element of that dtype; nullopt where it has none.
std::optional<Scalar> neutral_of(const graph::Node& n, DType t);

/// The dimensions that a reduction reduces; of None all.
std::vector<bool> reduced(const graph::NodeArg& dims, int rank);
int dim_of(const graph::NodeArg& a, int rank);

}  // namespace reprise::runtime
