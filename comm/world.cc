// Memory of the ranks of a run, in one process or in several.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>

#include "base/errors.h"
#include "comm/region.h"

namespace reprise::comm {

void World::end(int rank, const std::string& why) noexcept {
  Ending& e = ending();
  std::uint32_t running = Ending::Running;
  if (!e.state.compare_exchange_strong(running, Ending::Claimed)) return;
  e.rank = rank;
  const std::size_t n = std::min(why.size(), sizeof(e.why) - 1);
  std::memcpy(e.why, why.data(), n);
  e.why[n] = 0;
  e.state.store(Ending::Told, std::memory_order_release);
}

std::string World::ended() {
  const Ending& e = ending();
  if (e.state.load(std::memory_order_acquire) != Ending::Told) return {};
  return "rank " + std::to_string(e.rank) + " has ended the run: " + e.why;
}

bool World::is_dead(int rank) {
  const std::int32_t process = life(rank).process.load(std::memory_order_relaxed);
  return process > 0 && kill(process, 0) != 0 && errno == ESRCH;
}

namespace {

/// Zeroed memory that pages are found for as they are written.
std::shared_ptr<void> zeros(std::size_t bytes, int file) {
  void* const p =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, file < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, file, 0);
  if (p == MAP_FAILED) fail(ErrorCode::OutOfMemory, "Communicator", {}, bytes, " bytes for ranks: ", strerror(errno));
  return {p, [bytes](void* at) { munmap(at, bytes); }};
}

class ThreadWorld final : public World {
 public:
  ThreadWorld(int size, double timeout_s) : World(size, timeout_s), lives_(static_cast<std::size_t>(size)) {}
  Region region(const std::vector<int>& members) override {
    const std::lock_guard lock(mutex_);
    Region& r = regions_[members];
    if (!r.base) {
      r.size = static_cast<int>(members.size());
      r.hold = zeros(Region::bytes(r.size), -1);
      r.base = static_cast<char*>(r.hold.get());
    }
    return r;
  }
  Ending& ending() override { return ending_; }
  RankLife& life(int rank) override { return lives_[static_cast<std::size_t>(rank)]; }
  const char* backend() const override { return "threads"; }

 private:
  std::mutex mutex_;
  std::map<std::vector<int>, Region> regions_;
  Ending ending_{};
  std::vector<RankLife> lives_;
};

/// A file of shared memory, mapped. The name stays: a rank may come late.
std::shared_ptr<void> shared(const std::string& name, std::size_t bytes) {
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  const auto refuse = [&](int error) {
    if (file >= 0) close(file), shm_unlink(name.c_str());
    fail(ErrorCode::Io, "Communicator", {}, bytes, " bytes of shared memory '", name, "': ", strerror(error));
  };
  if (file < 0) refuse(errno);
  // Asks for all of it now: a full file system is an error here, not a signal at some later write.
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes))) refuse(error);
  std::shared_ptr<void> mapped;
  try {
    mapped = zeros(bytes, file);
  } catch (...) {
    close(file);
    throw;
  }
  close(file);
  return mapped;
}

class ProcessWorld final : public World {
 public:
  ProcessWorld(std::string name, int size, double timeout_s)
      : World(size, timeout_s), name_(std::move(name)),
        head_(shared(name_, sizeof(Ending) + sizeof(RankLife) * static_cast<std::size_t>(size))) {}
  Region region(const std::vector<int>& members) override {
    std::uint64_t digest = 1469598103934665603u;  // FNV-1a
    for (const int m : members) digest = (digest ^ static_cast<std::uint64_t>(m)) * 1099511628211u;
    Region r;
    r.size = static_cast<int>(members.size());
    r.hold = shared(name_ + "." + std::to_string(r.size) + "." + std::to_string(digest), Region::bytes(r.size));
    r.base = static_cast<char*>(r.hold.get());
    return r;
  }
  Ending& ending() override { return *static_cast<Ending*>(head_.get()); }
  RankLife& life(int rank) override {
    return reinterpret_cast<RankLife*>(static_cast<char*>(head_.get()) + sizeof(Ending))[rank];
  }
  const char* backend() const override { return "processes"; }

 private:
  const std::string name_;
  const std::shared_ptr<void> head_;
};

}  // namespace

std::shared_ptr<World> world_of_threads(int size, double timeout_s) {
  return std::make_shared<ThreadWorld>(size, timeout_s);
}
std::shared_ptr<World> world_of_processes(const std::string& name, int size, double timeout_s) {
  return std::make_shared<ProcessWorld>("/" + name, size, timeout_s);
}

void remove_shared_memory(const std::string& name) noexcept {
  std::error_code ignored;
  for (const auto& f : std::filesystem::directory_iterator("/dev/shm", ignored))
    if (f.path().filename().string().starts_with(name + ".") || f.path().filename() == name)
      shm_unlink(("/" + f.path().filename().string()).c_str());
}

}  // namespace reprise::comm
