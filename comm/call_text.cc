#include "comm/call_text.h"

#include <algorithm>
#include <cstring>

#include "comm/names.h"

namespace reprise::comm {

void write_record(CallRecord& r, const Communicator::Call& c) {
  r.kind = static_cast<std::uint8_t>(c.kind), r.dtype = static_cast<std::uint8_t>(c.dtype),
  r.reduce = static_cast<std::uint8_t>(c.reduce), r.root = c.root, r.n = c.n;
  // The end of a line that is too long says more than its beginning.
  std::string text;
  const char* place = c.where;
  if (!place) text = place_of(c), place = text.c_str();
  const std::size_t n = std::strlen(place), most = kPlaceBytes - 1;
  std::memcpy(r.place, place + (n > most ? n - most : 0), std::min(n, most) + 1);
}

std::string told(const CallRecord& r, int rank) {
  using Kind = Communicator::Kind;
  const auto kind = static_cast<Kind>(r.kind);
  std::string s = "rank " + std::to_string(rank) + " calls " + name_of(kind);
  if (kind != Kind::Barrier)
    s += " of " + std::to_string(r.n) + " " + std::string(dtype_name(static_cast<DType>(r.dtype)));
  if (kind == Kind::AllReduce || kind == Kind::ReduceScatter) s += ", " + to_string(static_cast<ReduceOp>(r.reduce));
  if (kind == Kind::Broadcast) s += ", root " + std::to_string(r.root);
  if (r.place[0]) s += std::string(" (") + r.place + ")";
  return s;
}

}  // namespace reprise::comm
