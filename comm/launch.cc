// Ranks that this process starts, or is one of.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <thread>

#include "base/errors.h"
#include "comm/region.h"

namespace reprise::comm {

namespace {

constexpr int kMostRanks = 1024;

void expect_ranks(const char* op, int n, const Options& options) {
  if (n < 1 || n > kMostRanks) fail(ErrorCode::InvalidArgument, op, {}, n, " ranks; there may be 1 to ", kMostRanks);
  if (!(options.timeout_s > 0)) fail(ErrorCode::InvalidArgument, op, {}, "a time-out of ", options.timeout_s, " s");
}

/// f as rank `rank`; what it throws ends the run, and is given back.
std::exception_ptr run_rank(const std::shared_ptr<World>& world, int rank,
                            const std::function<void(Communicator&)>& f) {
  std::exception_ptr thrown;
  try {
    const std::shared_ptr<Communicator> me = member_of(world, rank);
    const WorldScope scope(me);
    f(*me);
  } catch (const std::exception& e) {
    world->end(rank, e.what()), thrown = std::current_exception();
  } catch (...) {
    world->end(rank, "it throws what is no std::exception"), thrown = std::current_exception();
  }
  world->life(rank).left.store(1, std::memory_order_release);
  return thrown;
}

std::string fresh_name() {
  static std::atomic<int> runs{0};
  return "reprise-" + std::to_string(getpid()) + "-" + std::to_string(runs++);
}

/// Takes the files away as the scope ends.
struct Files {
  std::string name;
  ~Files() { remove_shared_memory(name); }
};

/// Waits for the processes, and ends the run where one was killed.
void wait_for(World& world, std::vector<pid_t> processes) {
  for (std::size_t going = processes.size(); going > 0;) {
    for (std::size_t r = 0; r < processes.size(); ++r) {
      int status = 0;
      if (processes[r] <= 0 || waitpid(processes[r], &status, WNOHANG) != processes[r]) continue;
      processes[r] = 0, --going;
      if (WIFSIGNALED(status))
        world.end(static_cast<int>(r), "it was ended by signal " + std::to_string(WTERMSIG(status)));
      else if (WEXITSTATUS(status) != 0)
        world.end(static_cast<int>(r), "it has exited with " + std::to_string(WEXITSTATUS(status)));
      world.life(static_cast<int>(r)).left.store(1, std::memory_order_release);
    }
    if (going > 0) usleep(2000);
  }
}

/// A rank of `join`: the last to go takes the files away.
class Joined {
 public:
  Joined(std::shared_ptr<World> world, int rank, std::string name)
      : world_(std::move(world)), rank_(rank), name_(std::move(name)) {
    world_->life(rank_).process.store(getpid());
    member_ = member_of(world_, rank_);
    member_->barrier({});
  }
  ~Joined() {
    world_->life(rank_).left.store(1, std::memory_order_seq_cst);
    bool last = true;
    for (int r = 0; r < world_->size; ++r) last = last && (world_->life(r).left.load() != 0 || world_->is_dead(r));
    if (last) remove_shared_memory(name_);
  }
  Communicator* member() const { return member_.get(); }

 private:
  const std::shared_ptr<World> world_;
  const int rank_;
  const std::string name_;
  std::shared_ptr<Communicator> member_;
};

}  // namespace

void threads(int n, const std::function<void(Communicator&)>& f, const Options& options) {
  expect_ranks("comm::threads", n, options);
  const std::shared_ptr<World> world = world_of_threads(n, options.timeout_s);
  std::vector<std::exception_ptr> thrown(static_cast<std::size_t>(n));
  std::vector<std::thread> ranks;
  for (int r = 0; r < n; ++r) {
    try {
      ranks.emplace_back([&, r] { thrown[static_cast<std::size_t>(r)] = run_rank(world, r, f); });
    } catch (const std::system_error& e) {
      world->end(r, e.what()), thrown[static_cast<std::size_t>(r)] = std::current_exception();
      break;
    }
  }
  for (std::thread& t : ranks) t.join();
  if (world->ended().empty()) return;
  if (const auto& first = thrown[static_cast<std::size_t>(world->ending().rank)]) std::rethrow_exception(first);
  for (const auto& e : thrown)
    if (e) std::rethrow_exception(e);
}

void processes(int n, const std::function<void(Communicator&)>& f, const Options& options) {
  expect_ranks("comm::processes", n, options);
  const Files files{fresh_name()};
  const std::shared_ptr<World> world = world_of_processes(files.name, n, options.timeout_s);
  std::vector<pid_t> started;
  std::fflush(nullptr);
  const pid_t parent = getpid();
  for (int r = 0; r < n; ++r) {
    const pid_t p = fork();
    if (p == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);  // ranks do not outlive whom they work for
      if (getppid() != parent) _exit(1);
      world->life(r).process.store(getpid());
      const bool failed = run_rank(world, r, f) != nullptr;
      std::fflush(nullptr);
      _exit(failed ? 1 : 0);
    }
    if (p < 0) {
      world->end(r, std::string("it could not be started: ") + std::strerror(errno));
      break;
    }
    started.push_back(p);
  }
  wait_for(*world, started);
  if (const std::string why = world->ended(); !why.empty()) fail(ErrorCode::DeviceFailed, "comm::processes", {}, why);
}

std::shared_ptr<Communicator> join(const std::string& name, int rank, int size, const Options& options) {
  expect_ranks("comm::join", size, options);
  if (rank < 0 || rank >= size) fail(ErrorCode::InvalidArgument, "comm::join", {}, "rank ", rank, " of ", size);
  if (name.empty() || name.size() > 100 || name.find('/') != std::string::npos)
    fail(ErrorCode::InvalidArgument, "comm::join", {}, "'", name, "' is no name of shared memory");
  const auto joined =
      std::make_shared<Joined>(world_of_processes("reprise-" + name, size, options.timeout_s), rank, "reprise-" + name);
  std::shared_ptr<Communicator> member(joined, joined->member());
  set_world(member);
  return member;
}

}  // namespace reprise::comm
