#pragma once
#include <memory>

#include "reprise/communicator.h"

namespace reprise::comm {

/// A group of one rank: collectives copy. `rank` is that of the world.
std::shared_ptr<Communicator> alone(int rank);

}  // namespace reprise::comm
