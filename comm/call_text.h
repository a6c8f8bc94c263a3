#pragma once
#include <string>

#include "comm/region.h"

namespace reprise::comm {

/// The call as ranks compare it.
void write_record(CallRecord&, const Communicator::Call&);
/// "rank 1 calls all_gather of 3 float32 (net.cc:57)"; `rank` is that of the world.
std::string told(const CallRecord&, int rank);

}  // namespace reprise::comm
