#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/sharding.h"

namespace reprise {

struct DeviceMesh::State {
  MeshShape shape;
  std::string text;
  std::shared_ptr<Communicator> world;
  std::vector<std::shared_ptr<Communicator>> groups;  ///< by axis
};

namespace operators {

/// The mesh of this text over the world of this thread: what a node's argument names. Throws InvalidArgument.
const std::shared_ptr<const DeviceMesh::State>& mesh_of(std::string_view text, const char* op, SourceLoc);
/// Its shape alone: nobody need be there. Throws InvalidArgument.
const MeshShape& mesh_shape_of(std::string_view text);
/// Placements of a text, remembered.
const Placements& placements_of_text(const std::string& text);

/// The collectives that Sharded is made of, below the tape. `op`: what errors name.
Tensor gathered(const Tensor& x, const DeviceMesh&, int axis, int dim, SourceLoc);
Tensor scattered(const Tensor& x, const DeviceMesh&, int axis, int dim, ReduceOp, SourceLoc);
Tensor exchanged(const Tensor& x, const DeviceMesh&, int axis, int split, int join, SourceLoc);
Tensor part_of(const Tensor& x, const DeviceMesh&, int axis, int dim, SourceLoc);

}  // namespace operators

}  // namespace reprise
