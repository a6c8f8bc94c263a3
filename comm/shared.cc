// Collectives through memory that all ranks of a group see.
//
// A call is cut into steps. In each, a rank writes what it gives into one of its two slots, counts up, waits for the
// counters of the others and reads their slots. Two slots are enough, without a second wait: who writes the slot of
// step s again, in step s + 2, has seen all others come to s + 1, and so be done with s.
#include <algorithm>
#include <cstring>

#include "base/errors.h"
#include "comm/call_text.h"
#include "comm/names.h"
#include "comm/pieces.h"
#include "comm/reduce.h"
#include "comm/region.h"
#include "comm/wait.h"

namespace reprise::comm {

namespace {

class SharedGroup final : public Communicator {
 public:
  SharedGroup(std::shared_ptr<World> world, std::vector<int> members, int rank)
      : Communicator(rank, std::move(members)), world_(std::move(world)), region_(world_->region(this->members())) {
    channels_.resize(static_cast<std::size_t>(size()));
  }
  const char* backend() const override { return world_->backend(); }
  void abort(const std::string& why) noexcept override { world_->end(me(), why); }

 private:
  int me() const { return members()[static_cast<std::size_t>(rank())]; }
  std::shared_ptr<Communicator> make_group(const std::vector<int>& ranks, int rank) override {
    std::vector<int> all;
    for (const int r : ranks) all.push_back(members()[static_cast<std::size_t>(r)]);
    return std::make_shared<SharedGroup>(world_, std::move(all), rank);
  }
  void run(const Call& c) override;

  void begin(const Call& c);
  Slot& slot(int r) const { return region_.rank(r).slots[step_ & 1]; }
  /// The next step: this rank's slot is free to be written.
  char* next() {
    ++step_;
    Slot& mine = slot(rank());
    mine.call = record_;
    return mine.data;
  }
  /// The slot is written; returns when those of the others are.
  void exchange(const Call& c);
  [[noreturn]] void differ(const Call& c, int other) const;

  void all_reduce(const Call& c);
  void reduced_by_all(const Call& c, std::int64_t at, std::int64_t n);
  void reduced_in_parts(const Call& c, std::int64_t at, std::int64_t n);
  void by_rows(const Call& c);
  void all_gather(const Call& c);
  void broadcast(const Call& c);
  void send_recv(const Call& c);

  const std::shared_ptr<World> world_;
  const Region region_;
  std::uint32_t step_ = 0;
  CallRecord record_{};
  std::vector<const char*> from_ = std::vector<const char*>(static_cast<std::size_t>(size()));
  struct Counts {
    std::uint32_t sent = 0, received = 0;
  };
  std::vector<Counts> channels_;  // by the other rank
};

void SharedGroup::begin(const Call& c) {
  if (const std::string why = world_->ended(); !why.empty()) fail(ErrorCode::DeviceFailed, name_of(c.kind), c.loc, why);
  write_record(record_, c);
}

void SharedGroup::differ(const Call& c, int other) const {
  fail(ErrorCode::InvalidArgument, name_of(c.kind), c.loc,
       "ranks call different collectives: ", told(slot(0).call, members()[0]), ", ",
       told(slot(other).call, members()[static_cast<std::size_t>(other)]));
}

void SharedGroup::exchange(const Call& c) {
  post(region_.rank(rank()).posted, step_);
  Waiter wait(*world_, members(), rank(), c);
  for (int i = 1; i < size(); ++i) {
    const int r = (rank() + i) % size();
    wait.until(region_.rank(r).posted, step_, r);
  }
  for (int r = 0; r < size(); ++r) from_[static_cast<std::size_t>(r)] = slot(r).data;
  for (int r = 1; r < size(); ++r)
    if (!slot(0).call.fits(slot(r).call)) [[unlikely]]
      differ(c, r);
}

void SharedGroup::run(const Call& c) {
  begin(c);
  switch (c.kind) {
    case Kind::AllReduce: return all_reduce(c);
    case Kind::ReduceScatter:
    case Kind::AllToAll: return by_rows(c);
    case Kind::AllGather: return all_gather(c);
    case Kind::Broadcast: return broadcast(c);
    case Kind::Barrier: return static_cast<void>(next()), exchange(c);
    case Kind::SendRecv: return send_recv(c);
  }
}

// Up to here every rank reads all slots: one wait, where parts take two.
constexpr std::size_t kReducedByAll = std::size_t{16} << 10;

void SharedGroup::all_reduce(const Call& c) {
  for_each_piece(c.n, static_cast<std::int64_t>(kSlotBytes) / item_size(c.dtype), [&](std::int64_t at, std::int64_t n) {
    if (size() <= 2 || bytes_of(c, n) <= kReducedByAll) reduced_by_all(c, at, n);
    else reduced_in_parts(c, at, n);
  });
}

void SharedGroup::reduced_by_all(const Call& c, std::int64_t at, std::int64_t n) {
  char* const mine = next();
  if (n > 0) std::memcpy(mine, in_of(c, at), bytes_of(c, n));
  exchange(c);
  if (n > 0) reduce(from_.data(), size(), out_of(c, at), n, c.dtype, c.reduce);
}

void SharedGroup::reduced_in_parts(const Call& c, std::int64_t at, std::int64_t n) {
  const std::int64_t part = (n + size() - 1) / size();
  const auto first = [&](int r) { return std::min(n, part * r); };
  std::memcpy(next(), in_of(c, at), bytes_of(c, n));
  exchange(c);
  const std::int64_t own = first(rank()), count = first(rank() + 1) - own;
  for (const char*& p : from_) p += bytes_of(c, own);
  char* const mine = next();
  if (count > 0) reduce(from_.data(), size(), mine, count, c.dtype, c.reduce);
  exchange(c);
  for (int r = 0; r < size(); ++r)
    if (const std::int64_t m = first(r + 1) - first(r); m > 0)
      std::memcpy(out_of(c, at + first(r)), from_[static_cast<std::size_t>(r)], bytes_of(c, m));
}

// reduce_scatter and all_to_all: each rank posts a piece of each of its rows, and reads its own row of all.
void SharedGroup::by_rows(const Call& c) {
  const std::int64_t most =
      std::max<std::int64_t>(1, static_cast<std::int64_t>(kSlotBytes) / item_size(c.dtype) / size());
  // What is written over what is still to be sent needs a copy: rows of an all_to_all in place.
  std::vector<char> copy;
  Call from = c;
  if (c.in == c.out && c.n > most) {
    const char* const all = static_cast<const char*>(c.in);
    copy.assign(all, all + bytes_of(c, c.n * size()));
    from.in = copy.data();
  }
  for_each_piece(c.n, most, [&](std::int64_t at, std::int64_t n) {
    char* const mine = next();
    for (int r = 0; r < size() && n > 0; ++r)
      std::memcpy(mine + bytes_of(c, r * n), in_of(from, r * c.n + at), bytes_of(c, n));
    exchange(c);
    if (n == 0) return;
    for (const char*& p : from_) p += bytes_of(c, rank() * n);
    if (c.kind == Kind::ReduceScatter) return reduce(from_.data(), size(), out_of(c, at), n, c.dtype, c.reduce);
    for (int r = 0; r < size(); ++r)
      std::memcpy(out_of(c, r * c.n + at), from_[static_cast<std::size_t>(r)], bytes_of(c, n));
  });
}

void SharedGroup::all_gather(const Call& c) {
  std::vector<char> copy;
  Call from = c;
  const std::int64_t most = static_cast<std::int64_t>(kSlotBytes) / item_size(c.dtype);
  if (c.in == c.out && c.n > most) {
    const char* const all = static_cast<const char*>(c.in);
    copy.assign(all, all + bytes_of(c, c.n));
    from.in = copy.data();
  }
  for_each_piece(c.n, most, [&](std::int64_t at, std::int64_t n) {
    char* const mine = next();
    if (n > 0) std::memcpy(mine, in_of(from, at), bytes_of(c, n));
    exchange(c);
    for (int r = 0; r < size() && n > 0; ++r)
      std::memcpy(out_of(c, r * c.n + at), from_[static_cast<std::size_t>(r)], bytes_of(c, n));
  });
}

void SharedGroup::broadcast(const Call& c) {
  for_each_piece(c.n, static_cast<std::int64_t>(kSlotBytes) / item_size(c.dtype), [&](std::int64_t at, std::int64_t n) {
    char* const mine = next();
    const bool root = rank() == c.root;
    if (root && n > 0) std::memcpy(mine, in_of(c, at), bytes_of(c, n));
    exchange(c);
    if (n > 0 && !(root && c.in == c.out))
      std::memcpy(out_of(c, at), root ? mine : from_[static_cast<std::size_t>(c.root)], bytes_of(c, n));
  });
}

// Both directions take turns, a piece each, so that neither waits for the other's end.
void SharedGroup::send_recv(const Call& c) {
  const std::int64_t most = static_cast<std::int64_t>(kChannelBytes) / item_size(c.dtype);
  Waiter wait(*world_, members(), rank(), c);
  for_each_piece(c.n, most, [&](std::int64_t at, std::int64_t n) {
    if (c.to >= 0) {
      Channel& to = region_.channel(rank(), c.to);
      std::uint32_t& sent = channels_[static_cast<std::size_t>(c.to)].sent;
      wait.until(to.read, sent, c.to);  // the piece before has been read
      to.call = record_;
      if (n > 0) std::memcpy(to.data, in_of(c, at), bytes_of(c, n));
      post(to.written, ++sent);
    }
    if (c.from >= 0) {
      Channel& from = region_.channel(c.from, rank());
      std::uint32_t& received = channels_[static_cast<std::size_t>(c.from)].received;
      wait.until(from.written, received + 1, c.from);
      if (!record_.fits(from.call)) [[unlikely]] {
        const std::string why =
            "ranks differ in what is sent: " + told(from.call, members()[static_cast<std::size_t>(c.from)]) + ", " +
            told(record_, me());
        world_->end(me(), why);
        fail(ErrorCode::InvalidArgument, name_of(c.kind), c.loc, why);
      }
      if (n > 0) std::memcpy(out_of(c, at), from.data, bytes_of(c, n));
      post(from.read, ++received);
    }
  });
}

}  // namespace

std::shared_ptr<Communicator> member_of(std::shared_ptr<World> world, int rank) {
  std::vector<int> all(static_cast<std::size_t>(world->size));
  for (int r = 0; r < world->size; ++r) all[static_cast<std::size_t>(r)] = r;
  return std::make_shared<SharedGroup>(std::move(world), std::move(all), rank);
}

}  // namespace reprise::comm
