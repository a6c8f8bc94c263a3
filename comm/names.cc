#include "comm/names.h"

#include <cstring>

namespace reprise::comm {

const char* name_of(Communicator::Kind k) {
  using Kind = Communicator::Kind;
  switch (k) {
    case Kind::AllReduce: return "all_reduce";
    case Kind::AllGather: return "all_gather";
    case Kind::ReduceScatter: return "reduce_scatter";
    case Kind::AllToAll: return "all_to_all";
    case Kind::Broadcast: return "broadcast";
    case Kind::Barrier: return "barrier";
    case Kind::SendRecv: return "send_recv";
  }
  return "?";
}

std::string place_of(const Communicator::Call& c) {
  if (c.where) return c.where;
  if (!c.loc) return "";
  const char* const slash = std::strrchr(c.loc.file, '/');
  return std::string(slash ? slash + 1 : c.loc.file) + ":" + std::to_string(c.loc.line);
}

}  // namespace reprise::comm
