#pragma once
#include <string>

#include "reprise/communicator.h"

namespace reprise::comm {

/// "all_reduce", ...
const char* name_of(Communicator::Kind);
/// "net.cc:41"; "" where nothing is known.
std::string place_of(const Communicator::Call&);

}  // namespace reprise::comm
