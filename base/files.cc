#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

namespace reprise::files {
namespace {

constexpr std::string_view kPartPrefix = ".reprise-", kPartSuffix = ".part";

std::string text_of(int error) { return std::strerror(error); }

const char* kind_of(mode_t m) {
  return S_ISFIFO(m)                ? "a FIFO"
         : S_ISDIR(m)               ? "a folder"
         : S_ISSOCK(m)              ? "a socket"
         : S_ISCHR(m) || S_ISBLK(m) ? "a device"
                                    : "of another kind";
}

bool trusted_owner(uid_t u) { return u == 0 || u == geteuid(); }
bool only_owner_writes(mode_t m) { return (m & (S_IWGRP | S_IWOTH)) == 0; }

/// Asked before opening, since opening alone can do something to a device, and again of what was opened, since names
/// change hands.
bool is_regular(const struct stat& st, std::string& why) {
  if (S_ISREG(st.st_mode)) return true;
  why = std::string("it is ") + kind_of(st.st_mode) + ", not a regular file";
  return false;
}

File open_regular(const std::string& path, int flags, std::string& why) {
  if (path.find('\0') != std::string::npos) return why = "the name holds a zero byte", File();
  struct stat st {};
  if (lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode) && !trusted_owner(st.st_uid))
    return why = "it is a link made by user " + std::to_string(st.st_uid), File();
  if (stat(path.c_str(), &st) == 0 && !is_regular(st, why)) return File();
  File f(::open(path.c_str(), flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0666));
  if (!f) return why = text_of(errno), File();
  if (fstat(f.fd(), &st) != 0) return why = text_of(errno), File();
  if (!is_regular(st, why)) return File();
  return f;
}

}  // namespace

File::~File() {
  if (fd_ >= 0) close(fd_);
}

File open_to_read(const std::string& path, std::string& why) { return open_regular(path, O_RDONLY, why); }

File open_to_write(const std::string& path, std::string& why) {
  File f = open_regular(path, O_WRONLY | O_CREAT, why);
  // Emptied only now: what is no regular file is not touched.
  if (f && ftruncate(f.fd(), 0) != 0) return why = text_of(errno), File();
  return f;
}

File open_alone(std::string& path, std::string& why) {
  for (const std::string& name : {path, path + "." + std::to_string(getpid())}) {
    File f = open_regular(name, O_WRONLY | O_CREAT, why);
    if (!f) return f;
    // Freed when the last process that shares the descriptor is gone, however it ends.
    if (flock(f.fd(), LOCK_EX | LOCK_NB) != 0) {
      why = errno == EWOULDBLOCK ? "another process writes it" : text_of(errno);
      if (errno == EWOULDBLOCK) continue;
      return File();
    }
    if (ftruncate(f.fd(), 0) != 0) return why = text_of(errno), File();
    path = name;
    return f;
  }
  return File();
}

std::int64_t size_of(const File& f) {
  struct stat st {};
  return fstat(f.fd(), &st) == 0 ? static_cast<std::int64_t>(st.st_size) : -1;
}

bool read_at(const File& f, std::int64_t offset, void* to, std::int64_t bytes, std::string& why) {
  for (char* p = static_cast<char*>(to); bytes > 0;) {
    ssize_t n = pread(f.fd(), p, static_cast<std::size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return why = text_of(errno), false;
    if (n == 0)
      return why =
                 "the file ends at byte " + std::to_string(offset) + ", " + std::to_string(bytes) + " bytes too early",
             false;
    p += n, offset += n, bytes -= n;
  }
  return true;
}

NoSizeSignal::NoSizeSignal() noexcept {
  sigset_t one, pending;
  sigemptyset(&one), sigaddset(&one, SIGXFSZ), sigemptyset(&pending);
  if (pthread_sigmask(SIG_BLOCK, &one, &before_) != 0) return;
  held_ = !sigismember(&before_, SIGXFSZ);
  // One that another process has sent is not this one's to take.
  const bool comes = held_ && sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ);
  if (comes) pthread_sigmask(SIG_SETMASK, &before_, nullptr), held_ = false;
}
NoSizeSignal::~NoSizeSignal() {
  if (!held_) return;
  const int error = errno;
  sigset_t one;
  sigemptyset(&one), sigaddset(&one, SIGXFSZ);
  const timespec now{};
  while (sigtimedwait(&one, nullptr, &now) < 0 && errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  errno = error;
}

bool write_all(const File& f, const void* from, std::int64_t bytes, std::string& why) {
  const NoSizeSignal none;
  for (const char* p = static_cast<const char*>(from); bytes > 0;) {
    ssize_t n = ::write(f.fd(), p, static_cast<std::size_t>(bytes));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return why = text_of(n == 0 ? EIO : errno), false;
    p += n, bytes -= n;
  }
  return true;
}

NewFile::NewFile(int folder, std::string path, mode_t mode) : folder_(folder), path_(std::move(path)) {
  if (path_.find('\0') != std::string::npos) {
    refuse("create", "the name holds a zero byte");
    return;
  }
  const std::size_t slash = path_.rfind('/');
  const std::string beside = slash == std::string::npos ? "" : path_.substr(0, slash + 1);
  for (int attempt = 0; attempt < 16; ++attempt) {
    std::uint64_t random = 0;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != sizeof random) {
      timespec now{};
      clock_gettime(CLOCK_MONOTONIC, &now);
      // O_EXCL is what keeps it safe
      random = static_cast<std::uint64_t>(now.tv_nsec) * 0x9e3779b97f4a7c15ull ^ static_cast<std::uint64_t>(getpid());
    }
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(random));
    part_ = beside + std::string(kPartPrefix) + digits + std::string(kPartSuffix);
    file_ = File(openat(folder_, part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (file_) {
      made_ = true;
      return;
    }
    if (errno != EEXIST) break;
  }
  refuse("create", text_of(errno));
}

NewFile::~NewFile() {
  if (made_) unlinkat(folder_, part_.c_str(), 0);
}

bool NewFile::refuse(const char* step, const std::string& what) {
  if (why_.empty()) why_ = std::string(step) + ": " + what;
  return false;
}

bool NewFile::write(const void* p, std::int64_t bytes) {
  std::string why;
  return good() && (write_all(file_, p, bytes, why) || refuse("write", why));
}

bool NewFile::publish(bool durable) {
  if (!good()) return false;
  struct stat st {};
  std::string kind;
  if (fstatat(folder_, path_.c_str(), &st, 0) == 0 && !is_regular(st, kind)) return refuse("replace", kind);
  if (durable && fsync(file_.fd()) != 0) return refuse("write", text_of(errno));
  if (close(file_.release()) != 0) return refuse("write", text_of(errno));
  if (renameat(folder_, part_.c_str(), folder_, path_.c_str()) != 0) return refuse("rename", text_of(errno));
  made_ = false;
  return true;
}

bool is_unfinished(std::string_view name) { return name.starts_with(kPartPrefix) && name.ends_with(kPartSuffix); }

PrivateFolder PrivateFolder::open(const std::string& given, bool create, std::string& why, bool& unsafe) {
  PrivateFolder in;
  unsafe = false;
  std::string path = given;
  while (path.size() > 1 && path.back() == '/') path.pop_back();  // with it a link would be followed unseen
  if (path.empty() || path.find('\0') != std::string::npos)
    return why = "the name is empty or holds a zero byte", std::move(in);
  if (create)
    for (std::size_t at = 0; at != std::string::npos;) {
      at = path.find('/', at + 1);
      // one that cannot be made is missed below
      mkdir(path.substr(0, at).c_str(), at == std::string::npos ? 0700 : 0777);
    }
  struct stat st {};
  if (lstat(path.c_str(), &st) == 0 && S_ISLNK(st.st_mode) && !trusted_owner(st.st_uid)) {
    unsafe = true;
    return why = "it is a link made by user " + std::to_string(st.st_uid), std::move(in);
  }
  File f(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK));
  if (!f || fstat(f.fd(), &st) != 0) return why = text_of(errno), std::move(in);
  unsafe = !trusted_owner(st.st_uid) || !only_owner_writes(st.st_mode);
  if (unsafe)
    why = !trusted_owner(st.st_uid) ? "it belongs to user " + std::to_string(st.st_uid)
                                    : std::string("others than its owner can write into it");
  else in.folder_ = std::move(f);
  return in;
}

std::optional<std::string> PrivateFolder::read(const std::string& name, std::int64_t limit) const {
  File f(openat(fd(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  struct stat st {};
  if (!f || fstat(f.fd(), &st) != 0 || !S_ISREG(st.st_mode) || !trusted_owner(st.st_uid) ||
      !only_owner_writes(st.st_mode) || st.st_size > limit)
    return std::nullopt;
  std::string text(static_cast<std::size_t>(st.st_size), '\0'), why;
  if (!read_at(f, 0, text.data(), static_cast<std::int64_t>(text.size()), why)) return std::nullopt;
  return text;
}

void PrivateFolder::touch(const std::string& name) const {
  utimensat(fd(), name.c_str(), nullptr, AT_SYMLINK_NOFOLLOW);
}

}  // namespace reprise::files
