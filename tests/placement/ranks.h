#pragma once
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "reprise/placement.h"
#include "reprise/tensor.h"

/// Ranks of a mesh in one thread: tensors taken apart and put together by their placements, operators called on parts.
namespace reprise::test {

/// A tensor's elements, row-major.
struct Elements {
  DType dtype = DType::Float32;
  std::vector<std::int64_t> sizes;
  std::vector<double> at;
};
Elements elements_of(const Tensor&);
Tensor tensor_of(const Elements&);
/// Random ones; of integers from 0 to 3.
Elements random_elements(DType, const std::vector<std::int64_t>& sizes, std::mt19937&);

/// The part of each rank. Partial ones are random parts that reduce to the whole.
std::vector<Elements> take_apart(const Elements&, const Placements&, const MeshShape&, std::mt19937&);
/// The whole. `why` tells where ranks that should hold the same do not.
Elements put_together(std::vector<Elements>, const Placements&, const MeshShape&, std::string& why);

/// "" where they are equal but for rounding.
std::string difference(const Elements& got, const Elements& want);

/// The results of a call of a node's operator, by its reference kernel where it has one.
std::vector<Elements> call_node(const graph::Node&, const std::vector<graph::NodeArg>& args,
                                const std::vector<Elements>& operands);

/// Runs a node on each rank's operands. Local arguments are made by `result` placements.
std::vector<std::vector<Elements>> call_on_ranks(const graph::Graph&, const graph::Node&,
                                                 const std::vector<std::vector<Elements>>& operands_by_rank,
                                                 const Placements& first_result, const MeshShape&);

}  // namespace reprise::test
