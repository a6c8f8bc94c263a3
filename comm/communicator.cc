// What is asked of every call of a collective, and which ranks a thread belongs to.
#include "reprise/communicator.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "base/errors.h"
#include "comm/alone.h"
#include "comm/names.h"
#include "comm/reduce.h"

namespace reprise {

struct Communicator::Groups {
  std::mutex mutex;
  std::map<std::vector<int>, std::shared_ptr<Communicator>> made;
};

Communicator::Communicator(int rank, std::vector<int> members)
    : rank_(rank), members_(std::move(members)), groups_(std::make_unique<Groups>()) {}
Communicator::~Communicator() = default;

void Communicator::call(const Call& c) {
  const char* const name = comm::name_of(c.kind);
  const auto refuse = [&](auto&&... why) { fail(ErrorCode::InvalidArgument, name, c.loc, why...); };
  const auto is_rank = [&](int r, const char* what) {
    if (r < 0 || r >= size()) refuse(what, " ", r, " in a group of ", size(), " ranks");
  };
  if (c.n < 0) refuse(c.n, " elements");
  const bool reduces = c.kind == Kind::AllReduce || c.kind == Kind::ReduceScatter;
  if (reduces && !comm::reduces(c.dtype, c.reduce))
    fail(ErrorCode::DTypeMismatch, name, c.loc, "no ", to_string(c.reduce), " of ", dtype_name(c.dtype), " elements");
  if (c.kind == Kind::Broadcast) is_rank(c.root, "root");
  if (c.kind == Kind::SendRecv) {
    if (c.to != -1) is_rank(c.to, "a send to rank");
    if (c.from != -1) is_rank(c.from, "a receive from rank");
    if (c.to == rank_ || c.from == rank_) refuse("rank ", rank_, " sends to itself, or receives from itself");
  }
  if (c.n > 0 && c.kind != Kind::Barrier) {
    const bool reads = c.kind == Kind::SendRecv ? c.to >= 0 : c.kind != Kind::Broadcast || c.root == rank_;
    const bool writes = c.kind != Kind::SendRecv || c.from >= 0;
    if ((reads && !c.in) || (writes && !c.out)) refuse("a null address for ", c.n, " elements");
  }
  run(c);
}

void Communicator::all_reduce(const void* in, void* out, std::int64_t n, DType t, ReduceOp op, SourceLoc loc) {
  call({.kind = Kind::AllReduce, .in = in, .out = out, .n = n, .dtype = t, .reduce = op, .loc = loc});
}
void Communicator::all_gather(const void* in, void* out, std::int64_t n, DType t, SourceLoc loc) {
  call({.kind = Kind::AllGather, .in = in, .out = out, .n = n, .dtype = t, .loc = loc});
}
void Communicator::reduce_scatter(const void* in, void* out, std::int64_t n, DType t, ReduceOp op, SourceLoc loc) {
  call({.kind = Kind::ReduceScatter, .in = in, .out = out, .n = n, .dtype = t, .reduce = op, .loc = loc});
}
void Communicator::all_to_all(const void* in, void* out, std::int64_t n, DType t, SourceLoc loc) {
  call({.kind = Kind::AllToAll, .in = in, .out = out, .n = n, .dtype = t, .loc = loc});
}
void Communicator::broadcast(const void* in, void* out, std::int64_t n, DType t, int root, SourceLoc loc) {
  call({.kind = Kind::Broadcast, .in = in, .out = out, .n = n, .dtype = t, .root = root, .loc = loc});
}
void Communicator::barrier(SourceLoc loc) { call({.kind = Kind::Barrier, .loc = loc}); }
void Communicator::send(const void* in, std::int64_t n, DType t, int to, SourceLoc loc) {
  call({.kind = Kind::SendRecv, .in = in, .n = n, .dtype = t, .to = to, .loc = loc});
}
void Communicator::recv(void* out, std::int64_t n, DType t, int from, SourceLoc loc) {
  call({.kind = Kind::SendRecv, .out = out, .n = n, .dtype = t, .from = from, .loc = loc});
}
void Communicator::send_recv(const void* in, int to, void* out, int from, std::int64_t n, DType t, SourceLoc loc) {
  call({.kind = Kind::SendRecv, .in = in, .out = out, .n = n, .dtype = t, .to = to, .from = from, .loc = loc});
}

std::shared_ptr<Communicator> Communicator::group(const std::vector<int>& ranks, SourceLoc loc) {
  const auto refuse = [&](auto&&... why) { fail(ErrorCode::InvalidArgument, "group", loc, why...); };
  if (ranks.empty()) refuse("no ranks");
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0 || ranks[i] >= size()) refuse("rank ", ranks[i], " of a group of ", size());
    if (i > 0 && ranks[i] <= ranks[i - 1]) refuse("ranks ", ranks[i - 1], " and ", ranks[i], " do not ascend");
  }
  const auto at = std::find(ranks.begin(), ranks.end(), rank_);
  if (at == ranks.end()) refuse("rank ", rank_, " is none of the group");
  const std::lock_guard lock(groups_->mutex);
  std::shared_ptr<Communicator>& made = groups_->made[ranks];
  if (!made) {
    if (ranks.size() == 1) made = comm::alone(members_[static_cast<std::size_t>(rank_)]);
    else made = make_group(ranks, static_cast<int>(at - ranks.begin()));
  }
  return made;
}

namespace comm {

namespace {

thread_local std::shared_ptr<Communicator> t_world;
std::mutex g_world_mutex;
std::shared_ptr<Communicator> g_world;

}  // namespace

std::shared_ptr<Communicator> world() {
  if (t_world) return t_world;
  const std::lock_guard lock(g_world_mutex);
  if (!g_world) g_world = alone(0);
  return g_world;
}

WorldScope::WorldScope(std::shared_ptr<Communicator> w) : before_(std::exchange(t_world, std::move(w))) {}
WorldScope::~WorldScope() { t_world = std::move(before_); }

void set_world(std::shared_ptr<Communicator> w) {
  const std::lock_guard lock(g_world_mutex);
  g_world = std::move(w);
}

}  // namespace comm

}  // namespace reprise
