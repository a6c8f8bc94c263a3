#pragma once
#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

/// The one way in which the library opens and publishes files (SECURITY.md). What always holds:
///  - Only regular files are opened, and without waiting: a FIFO, a device, a socket or a folder is refused with its
///  kind named.
///  - A name that is a link is followed only where the link is this user's or root's.
///  - What is written under a name that others look for takes that name when it is whole.
/// Nothing here throws but std::bad_alloc: what the system refuses comes back as empty or false, and `why` says why.
namespace reprise::files {

/// A descriptor, closed with its owner.
class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& o) noexcept : fd_(std::exchange(o.fd_, -1)) {}
  File& operator=(File&& o) noexcept {
    std::swap(fd_, o.fd_);
    return *this;
  }
  ~File();
  explicit operator bool() const { return fd_ >= 0; }
  int fd() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

File open_to_read(const std::string& path, std::string& why);
/// Made where it is not there (mode 0666 less the umask), emptied where it is.
File open_to_write(const std::string& path, std::string& why);
/// The same where no other process has it open in this way; else the file "path.<number of this process>", which `path`
/// then names.
File open_alone(std::string& path, std::string& why);

/// While it lives, a write past the process's limit of a file's size (RLIMIT_FSIZE) fails with EFBIG and no more: the
/// signal SIGXFSZ, which would end the process, is held back from this thread and dropped. The functions of this file
/// write under it.
class NoSizeSignal {
 public:
  NoSizeSignal() noexcept;
  ~NoSizeSignal();
  NoSizeSignal(const NoSizeSignal&) = delete;
  NoSizeSignal& operator=(const NoSizeSignal&) = delete;

 private:
  sigset_t before_;
  bool held_ = false;  ///< it was free to come, and none was on its way
};

/// -1 when the system does not say.
std::int64_t size_of(const File&);
/// Exactly these bytes; false with `why` when the file ends before. Does not move the file's position; any thread.
bool read_at(const File&, std::int64_t offset, void* to, std::int64_t bytes, std::string& why);
bool write_all(const File&, const void* from, std::int64_t bytes, std::string& why);

/// A file that takes its name only when it is whole: until publish() it stands beside it under a random name that
/// nobody can have made before, and it is removed where publish() is not reached or fails.
class NewFile {
 public:
  /// `path` is relative to the folder open as `folder`, or to the current one (AT_FDCWD). Failed: good() is false.
  NewFile(int folder, std::string path, mode_t mode);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  bool good() const { return why_.empty(); }
  const std::string& why() const { return why_; }  ///< "create: No space left on device"; empty while all is well
  bool write(const void* p, std::int64_t bytes);
  /// `durable`: the bytes are on the disk before the name is. A name that belongs to something else than a file is
  /// refused.
  bool publish(bool durable);

 private:
  bool refuse(const char* step, const std::string& what);
  int folder_;
  std::string path_, part_, why_;
  File file_;
  bool made_ = false;
};

/// Whether a name is one that NewFile gives to a file that is not whole yet.
bool is_unfinished(std::string_view name);

/// A folder whose files may be believed: this user's or root's, and nobody else can write it. The files in it are held
/// to the same.
class PrivateFolder {
 public:
  /// `create`: makes it (mode 0700) and those above it. Empty with `why` when it is not there or may not be believed;
  /// `unsafe` is set in the second case.
  static PrivateFolder open(const std::string& path, bool create, std::string& why, bool& unsafe);
  explicit operator bool() const { return bool(folder_); }
  int fd() const { return folder_.fd(); }
  /// A regular file, no link, of at most `limit` bytes, this user's or root's and writable by no other.
  std::optional<std::string> read(const std::string& name, std::int64_t limit) const;
  /// Its time of modification becomes now.
  void touch(const std::string& name) const;

 private:
  File folder_;
};

}  // namespace reprise::files
