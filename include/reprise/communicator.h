#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "reprise/dtype.h"
#include "reprise/placement.h"
#include "reprise/source_location.h"
#include "reprise/visible.h"

/// Communication among the ranks of a program: collectives over host memory. docs/sharding.md explains it.
///
/// Ranks that call other collectives than each other, or the same with other sizes, dtypes, reductions or roots, get
/// one error, InvalidArgument, the same on each of them, with the rank, the call and the line of both sides. Where a
/// rank throws, ends or dies, or is waited for longer than the time-out, the others get DeviceFailed, which tells it.
namespace reprise REPRISE_VISIBLE {

/// A group of ranks, as one of them sees it. One thread at a time.
class Communicator {
 public:
  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(members_.size()); }
  /// The ranks of the world that are in it, ascending.
  const std::vector<int>& members() const { return members_; }
  virtual const char* backend() const = 0;  ///< "threads", "processes", "mpi", "alone"

  // `in` and `out` are `n` elements where nothing else is said; they may be the same memory, else they do not overlap.
  // Results are bitwise the same on all ranks and in every run: sums are made in the order of ranks. Mean is for
  // floats, and half types are summed as float32 and rounded once.
  void all_reduce(const void* in, void* out, std::int64_t n, DType, ReduceOp = ReduceOp::Sum,
                  SourceLoc loc = SourceLoc::current());
  /// `out` [size, n]: what each rank gives.
  void all_gather(const void* in, void* out, std::int64_t n, DType, SourceLoc loc = SourceLoc::current());
  /// `in` [size, n]: rank r gets the reduction of row r.
  void reduce_scatter(const void* in, void* out, std::int64_t n, DType, ReduceOp = ReduceOp::Sum,
                      SourceLoc loc = SourceLoc::current());
  /// `in` and `out` [size, n]: row r of rank s becomes row s of rank r.
  void all_to_all(const void* in, void* out, std::int64_t n, DType, SourceLoc loc = SourceLoc::current());
  /// `out` is `in` of `root`; other ranks' `in` is not read.
  void broadcast(const void* in, void* out, std::int64_t n, DType, int root, SourceLoc loc = SourceLoc::current());
  void barrier(SourceLoc loc = SourceLoc::current());

  /// To one rank and from one: both at once, so that a ring of ranks moves on whatever the size. A send may return
  /// before the other rank has received.
  void send(const void* in, std::int64_t n, DType, int to, SourceLoc loc = SourceLoc::current());
  void recv(void* out, std::int64_t n, DType, int from, SourceLoc loc = SourceLoc::current());
  void send_recv(const void* in, int to, void* out, int from, std::int64_t n, DType,
                 SourceLoc loc = SourceLoc::current());

  /// The group of these ranks of this communicator, ascending, this rank among them. No communication; equal ranks give
  /// the same object. Throws InvalidArgument.
  std::shared_ptr<Communicator> group(const std::vector<int>& ranks, SourceLoc loc = SourceLoc::current());
  /// Ends what the other ranks of the world wait for, now and later, with an error that quotes this.
  virtual void abort(const std::string& why) noexcept = 0;

  enum class Kind : std::uint8_t { AllReduce, AllGather, ReduceScatter, AllToAll, Broadcast, Barrier, SendRecv };
  /// One call. `n` elements, `to` and `from` are ranks of this group; -1: none.
  struct Call {
    Kind kind;
    const void* in = nullptr;
    void* out = nullptr;
    std::int64_t n = 0;
    DType dtype = DType::UInt8;
    ReduceOp reduce = ReduceOp::Sum;
    int root = -1, to = -1, from = -1;
    SourceLoc loc = {};
    const char* where = nullptr;  ///< a line as text, instead of `loc`
  };
  /// What the functions above come to: checks it, and runs it.
  void call(const Call&);

 protected:
  Communicator(int rank, std::vector<int> members);

 private:
  virtual void run(const Call&) = 0;
  virtual std::shared_ptr<Communicator> make_group(const std::vector<int>& ranks, int rank) = 0;

  const int rank_;
  const std::vector<int> members_;
  struct Groups;
  std::unique_ptr<Groups> groups_;
};

namespace comm {

struct Options {
  double timeout_s = 300;                         ///< a rank that waits longer for another ends the run with an error
  std::string mpi_library = "libreprise_mpi.so";  ///< what mpi() opens
};

/// The ranks that this thread belongs to: those of the function that runs it (threads), else those of the process
/// (processes, join, mpi), else a world of one rank.
std::shared_ptr<Communicator> world();
/// While it lives, the world of this thread.
class WorldScope {
 public:
  explicit WorldScope(std::shared_ptr<Communicator>);
  ~WorldScope();
  WorldScope(const WorldScope&) = delete;
  WorldScope& operator=(const WorldScope&) = delete;

 private:
  std::shared_ptr<Communicator> before_;
};
/// The world of all threads of the process that have none of their own; null: one rank.
void set_world(std::shared_ptr<Communicator>);

/// Runs f on n ranks, threads of this process, each with its Communicator as its world, and waits for all. What the
/// first rank to fail has thrown is thrown here, once all others have ended. Throws InvalidArgument for n < 1.
void threads(int n, const std::function<void(Communicator&)>& f, const Options& = {});
/// The same on n processes of this machine, forked of this one, which talk through shared memory. A rank that fails, or
/// is killed, is an error here (DeviceFailed) that says what it has thrown. Output of ranks is this process's own.
void processes(int n, const std::function<void(Communicator&)>& f, const Options& = {});
/// Rank `rank` of `size` processes of this machine that were started by somebody else, and give the same name; becomes
/// the world of the process. Throws Io where there is no shared memory left.
std::shared_ptr<Communicator> join(const std::string& name, int rank, int size, const Options& = {});
/// The ranks that mpirun has started, by Options::mpi_library, which is opened here; becomes the world of the process.
/// Throws DeviceUnavailable where there is none.
std::shared_ptr<Communicator> mpi(const Options& = {});

}  // namespace comm

}  // namespace REPRISE_VISIBLE
