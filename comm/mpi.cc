// Ranks that mpirun has started. MPI moves bytes; what is compared, and in which order sums are made, is as with the
// other backends.
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "base/errors.h"
#include "comm/call_text.h"
#include "comm/mpi_plugin/api.h"
#include "comm/names.h"
#include "comm/pieces.h"
#include "comm/reduce.h"
#include "comm/region.h"

namespace reprise::comm {

namespace {

/// Elements are moved in pieces of so many bytes.
constexpr std::int64_t kPiece = std::int64_t{8} << 20;

const reprise_mpi_api* g_plugin = nullptr;  // set once, before the first group
const reprise_mpi_api& plugin() { return *g_plugin; }

const reprise_mpi_api* open_plugin(const std::string& name) {
  // Symbols of MPI are for its own plugins, too, which it opens by itself.
  void* const opened = dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!opened) fail(ErrorCode::DeviceUnavailable, "comm::mpi", {}, dlerror());
  const auto f = reinterpret_cast<reprise_mpi_plugin_fn>(dlsym(opened, "reprise_mpi_plugin"));
  if (!f || f()->version != REPRISE_MPI_VERSION)
    fail(ErrorCode::DeviceUnavailable, "comm::mpi", {}, name, " is of another version of the library");
  return f();
}

class MpiGroup final : public Communicator {
 public:
  MpiGroup(std::vector<int> members, int rank, double timeout_s)
      : Communicator(rank, std::move(members)), timeout_s_(timeout_s) {}
  const char* backend() const override { return "mpi"; }
  void abort(const std::string& why) noexcept override {
    std::fprintf(stderr, "rank %d has ended the run: %s\n", me(), why.c_str());
    plugin().abort(1);
  }

 private:
  int me() const { return members()[static_cast<std::size_t>(rank())]; }
  std::shared_ptr<Communicator> make_group(const std::vector<int>& ranks, int rank) override {
    std::vector<int> all;
    for (const int r : ranks) all.push_back(members()[static_cast<std::size_t>(r)]);
    return std::make_shared<MpiGroup>(std::move(all), rank, timeout_s_);
  }
  /// Made with the first call, in which all ranks of the group meet.
  void* group(const Call& c) {
    if (!group_) group_ = plugin().group(members().data(), size());
    if (!group_) fail(ErrorCode::DeviceFailed, name_of(c.kind), c.loc, "MPI cannot make a group of ", size(), " ranks");
    return group_;
  }
  void expect(int outcome, const Call& c) const {
    if (outcome == REPRISE_MPI_DONE) return;
    if (outcome == REPRISE_MPI_TIME_OUT)
      fail(ErrorCode::DeviceFailed, name_of(c.kind), c.loc, "rank ", me(), " has waited ", timeout_s_,
           " s for the other ranks");
    fail(ErrorCode::DeviceFailed, name_of(c.kind), c.loc, "MPI reports a failure");
  }
  std::vector<char>& gathered(const Call& c, const void* in, std::size_t bytes) {
    other_.resize(bytes * static_cast<std::size_t>(size()));
    expect(plugin().all_gather(group(c), in, other_.data(), bytes, timeout_s_), c);
    return other_;
  }
  void run(const Call& c) override;
  void all_reduce(const Call& c);
  void by_rows(const Call& c);
  void send_recv(const Call& c);
  void compare(const Call& c);

  const double timeout_s_;
  void* group_ = nullptr;
  std::vector<char> own_, other_;
};

void MpiGroup::compare(const Call& c) {
  CallRecord mine{};
  write_record(mine, c);
  std::vector<CallRecord> all(static_cast<std::size_t>(size()));
  expect(plugin().all_gather(group(c), &mine, all.data(), sizeof(mine), timeout_s_), c);
  for (std::size_t r = 1; r < all.size(); ++r)
    if (!all[0].fits(all[r]))
      fail(ErrorCode::InvalidArgument, name_of(c.kind), c.loc,
           "ranks call different collectives: ", told(all[0], members()[0]), ", ", told(all[r], members()[r]));
}

void MpiGroup::run(const Call& c) {
  if (c.kind == Kind::SendRecv) return send_recv(c);
  compare(c);
  switch (c.kind) {
    case Kind::AllReduce: return all_reduce(c);
    case Kind::ReduceScatter:
    case Kind::AllToAll: return by_rows(c);
    case Kind::AllGather: {
      own_.assign(in_of(c, 0), in_of(c, c.n));  // `out` may begin with it
      for_each_piece(c.n, kPiece / item_size(c.dtype), [&](std::int64_t at, std::int64_t n) {
        const std::vector<char>& all = gathered(c, own_.data() + bytes_of(c, at), bytes_of(c, n));
        for (int r = 0; r < size() && n > 0; ++r)
          std::memcpy(out_of(c, r * c.n + at), all.data() + bytes_of(c, r * n), bytes_of(c, n));
      });
      return;
    }
    case Kind::Broadcast:
      for_each_piece(c.n, kPiece / item_size(c.dtype), [&](std::int64_t at, std::int64_t n) {
        if (n == 0) return;
        if (rank() == c.root && c.in != c.out) std::memcpy(out_of(c, at), in_of(c, at), bytes_of(c, n));
        expect(plugin().broadcast(group(c), out_of(c, at), bytes_of(c, n), c.root, timeout_s_), c);
      });
      return;
    case Kind::Barrier:
    case Kind::SendRecv: return;  // ranks have met; above
  }
}

// Parts go to the ranks that reduce them, and come back reduced.
void MpiGroup::all_reduce(const Call& c) {
  for_each_piece(c.n, kPiece / item_size(c.dtype), [&](std::int64_t at, std::int64_t n) {
    if (n == 0) return;
    std::vector<const char*> from(static_cast<std::size_t>(size()));
    if (size() <= 2 || bytes_of(c, n) <= (std::size_t{16} << 10)) {
      const std::vector<char>& all = gathered(c, in_of(c, at), bytes_of(c, n));
      for (int r = 0; r < size(); ++r) from[static_cast<std::size_t>(r)] = all.data() + bytes_of(c, r * n);
      return reduce(from.data(), size(), out_of(c, at), n, c.dtype, c.reduce);
    }
    const std::int64_t part = (n + size() - 1) / size();
    own_.assign(bytes_of(c, part * size()), 0), other_.resize(own_.size());
    std::memcpy(own_.data(), in_of(c, at), bytes_of(c, n));
    expect(plugin().all_to_all(group(c), own_.data(), other_.data(), bytes_of(c, part), timeout_s_), c);
    for (int r = 0; r < size(); ++r) from[static_cast<std::size_t>(r)] = other_.data() + bytes_of(c, r * part);
    reduce(from.data(), size(), own_.data(), part, c.dtype, c.reduce);
    const std::vector<char>& all = gathered(c, own_.data(), bytes_of(c, part));
    std::memcpy(out_of(c, at), all.data(), bytes_of(c, n));
  });
}

void MpiGroup::by_rows(const Call& c) {
  const std::int64_t most = std::max<std::int64_t>(1, kPiece / item_size(c.dtype) / size());
  std::vector<char> in(in_of(c, 0), in_of(c, c.n * size()));
  for_each_piece(c.n, most, [&](std::int64_t at, std::int64_t n) {
    if (n == 0) return;
    own_.resize(bytes_of(c, n * size())), other_.resize(own_.size());
    for (int r = 0; r < size(); ++r)
      std::memcpy(own_.data() + bytes_of(c, r * n), in.data() + bytes_of(c, r * c.n + at), bytes_of(c, n));
    expect(plugin().all_to_all(group(c), own_.data(), other_.data(), bytes_of(c, n), timeout_s_), c);
    std::vector<const char*> from(static_cast<std::size_t>(size()));
    for (int r = 0; r < size(); ++r) from[static_cast<std::size_t>(r)] = other_.data() + bytes_of(c, r * n);
    if (c.kind == Kind::ReduceScatter) return reduce(from.data(), size(), out_of(c, at), n, c.dtype, c.reduce);
    for (int r = 0; r < size(); ++r)
      std::memcpy(out_of(c, r * c.n + at), from[static_cast<std::size_t>(r)], bytes_of(c, n));
  });
}

// What is sent is compared first, since MPI takes a message of another size for an overflow.
void MpiGroup::send_recv(const Call& c) {
  const auto world = [&](int r) { return r < 0 ? -1 : members()[static_cast<std::size_t>(r)]; };
  CallRecord mine{}, theirs{};
  write_record(mine, c);
  expect(plugin().send_recv(&mine, world(c.to), &theirs, world(c.from), sizeof(mine), timeout_s_), c);
  if (c.from >= 0 && !mine.fits(theirs)) {
    const std::string why = "ranks differ in what is sent: " + told(theirs, world(c.from)) + ", " + told(mine, me());
    abort(why);
    fail(ErrorCode::InvalidArgument, name_of(c.kind), c.loc, why);
  }
  for_each_piece(c.n, kPiece / item_size(c.dtype), [&](std::int64_t at, std::int64_t n) {
    if (n == 0) return;
    expect(plugin().send_recv(c.in ? in_of(c, at) : nullptr, world(c.to), c.out ? out_of(c, at) : nullptr,
                              world(c.from), bytes_of(c, n), timeout_s_),
           c);
  });
}

}  // namespace

std::shared_ptr<Communicator> mpi(const Options& options) {
  static std::mutex mutex;
  static std::shared_ptr<Communicator> made;
  const std::lock_guard lock(mutex);
  if (!made) {
    if (!g_plugin) g_plugin = open_plugin(options.mpi_library);
    int rank = 0, size = 0;
    if (plugin().start(&rank, &size) != 0) fail(ErrorCode::DeviceUnavailable, "comm::mpi", {}, "MPI does not start");
    std::vector<int> all(static_cast<std::size_t>(size));
    for (int r = 0; r < size; ++r) all[static_cast<std::size_t>(r)] = r;
    made = std::make_shared<MpiGroup>(std::move(all), rank, options.timeout_s);
    std::atexit([] { plugin().finish(); });
  }
  set_world(made);
  return made;
}

}  // namespace reprise::comm
