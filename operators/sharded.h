#pragma once
#include "reprise/sharding.h"

namespace reprise::operators {

/// Of a handle, or of a plain tensor, which counts as Replicate on the mesh.
struct Part {
  Tensor local;
  Placements placements;
};

/// The same tensor with other placements: collectives on parts, below the tape. Any placements, of any. Throws
/// ShapeMismatch, naming `op`, where shards would not be equal.
Part moved(Part from, const Placements& to, const DeviceMesh&, const char* op, SourceLoc);
Part part_of_handle(const Tensor&, const DeviceMesh&);
/// `apart`: Sharded::apart.
Tensor handle_of(Part, const DeviceMesh&, SourceLoc, bool apart = false);
/// Throws InvalidArgument: a write to it would not reach what it is a view of.
void expect_shared(const Sharded&, const char* op, SourceLoc);
Placements replicated(const DeviceMesh&);
/// Of gradients: Partial means that parts are added up, so that each part gets all of it.
Placements gradient_placements(Placements);
/// What `placements` must be for a tensor of so many dimensions. Throws InvalidArgument.
void expect_placements(const Placements&, const MeshShape&, int dims, const char* op, SourceLoc);

/// The parts of x as tensors of their own on the tape, and the inverse. On axes that are `active`, ranks compute
/// different things: gradients of Replicate parts are added up among them, and a Replicate result's gradient is shared.
Tensor to_parts(const Tensor& x, const Placements& gradient, SourceLoc);
Tensor of_parts(const Tensor& local, const DeviceMesh&, const Placements&, const std::vector<bool>& active, SourceLoc);

}  // namespace reprise::operators
