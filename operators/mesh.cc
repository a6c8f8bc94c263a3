// Meshes of ranks, and how a node's text finds its own.
#include "operators/mesh.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/errors.h"

namespace reprise {

namespace {

using State = DeviceMesh::State;

std::shared_ptr<const State> make(const MeshShape& shape, std::shared_ptr<Communicator> world, const char* op,
                                  SourceLoc loc) {
  if (shape.ranks() != world->size())
    fail(ErrorCode::InvalidArgument, op, loc, "a mesh ", to_string(shape), " of ", shape.ranks(),
         " ranks, and the world has ", world->size());
  auto s = std::make_shared<State>();
  s->shape = shape, s->text = to_string(shape);
  const std::vector<std::int64_t> here = shape.coordinates(world->rank());
  for (int a = 0; a < shape.axes(); ++a) {
    std::vector<int> ranks;
    std::vector<std::int64_t> at = here;
    for (std::int64_t i = 0; i < shape.size(a); ++i) {
      at[static_cast<std::size_t>(a)] = i;
      ranks.push_back(static_cast<int>(shape.rank(at)));
    }
    s->groups.push_back(world->group(ranks, loc));
  }
  s->world = std::move(world);
  return s;
}

/// Meshes of the world that this thread belongs to.
struct Known {
  std::shared_ptr<Communicator> world;
  std::map<std::string, std::shared_ptr<const State>, std::less<>> by_text;
};

}  // namespace

const std::shared_ptr<const State>& operators::mesh_of(std::string_view text, const char* op, SourceLoc loc) {
  thread_local Known known;
  std::shared_ptr<Communicator> world = comm::world();
  if (known.world != world) known = {world, {}};
  auto at = known.by_text.find(text);
  if (at == known.by_text.end())
    at = known.by_text.emplace(std::string(text), make(mesh_shape_of(text), std::move(world), op, loc)).first;
  return at->second;
}

const MeshShape& operators::mesh_shape_of(std::string_view text) {
  thread_local std::map<std::string, MeshShape, std::less<>> known;
  auto at = known.find(text);
  if (at == known.end()) at = known.emplace(std::string(text), parse_mesh_shape(text)).first;
  return at->second;
}

const Placements& operators::placements_of_text(const std::string& text) {
  thread_local std::unordered_map<std::string, Placements> known;
  auto at = known.find(text);
  if (at == known.end()) at = known.emplace(text, parse_placements(text)).first;
  return at->second;
}

const MeshShape& DeviceMesh::shape() const { return state_->shape; }
int DeviceMesh::rank() const { return state_->world->rank(); }
std::int64_t DeviceMesh::coordinate(int axis) const { return group(axis).rank(); }
Communicator& DeviceMesh::group(int axis) const { return *state_->groups.at(static_cast<std::size_t>(axis)); }
Communicator& DeviceMesh::world() const { return *state_->world; }
const std::string& DeviceMesh::text() const { return state_->text; }

DeviceMesh init_device_mesh(const MeshShape& shape, SourceLoc loc) {
  return DeviceMesh(operators::mesh_of(to_string(shape), "init_device_mesh", loc));
}
DeviceMesh init_device_mesh(std::vector<std::int64_t> sizes, std::vector<std::string> names, SourceLoc loc) {
  return init_device_mesh(MeshShape(std::move(sizes), std::move(names)), loc);
}

int MeshAxis::in(const MeshShape& shape, const char* op, SourceLoc loc) const {
  const auto at = std::find(shape.names().begin(), shape.names().end(), name_);
  const int axis = name_.empty() ? number_ : static_cast<int>(at - shape.names().begin());
  if (axis < 0 || axis >= shape.axes())
    fail(ErrorCode::InvalidArgument, op, loc,
         name_.empty() ? "axis " + std::to_string(number_) : "axis '" + name_ + "'", " of the mesh ", to_string(shape));
  return axis;
}

}  // namespace reprise
