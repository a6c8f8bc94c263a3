#include "jit/engine/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <sstream>
#include <vector>

#include "base/files.h"
#include "base/hash.h"
#include "base/knobs.h"
#include "base/loaded_image.h"
#include "base/log.h"
#include "base/phases.h"

namespace reprise::jit {

std::string digest(std::string_view text) {
  char digits[33];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(hash_text(text)),
                static_cast<unsigned long long>(hash_mix(0x1db6f50c2ae9387bull, text)));
  return digits;
}

namespace {

constexpr std::string_view kMagic = "reprise kernel 2\n";
constexpr std::string_view kSuffix = ".kernel";
constexpr std::int64_t kLargest = std::int64_t{64} << 20;  ///< of one file; a kernel's text is well below a megabyte

/// Empty: there is none.
std::string folder_name() {
  const std::string& wanted = knobs().cache_dir;
  if (wanted == "off") return {};
  if (!wanted.empty()) return wanted;
  if (const char* cache = secure_getenv("XDG_CACHE_HOME"); cache && *cache == '/')
    return std::string(cache) + "/reprise";
  if (const char* home = secure_getenv("HOME"); home && *home) return std::string(home) + "/.cache/reprise";
  return {};
}

/// Once a process: programs run without the folder.
void say_not_kept(const std::string& name, const std::string& why) {
  static std::atomic<bool> said{false};
  if (!said.exchange(true)) logs::warn("kernels are not kept on disk: '" + name + "': " + why);
}

files::PrivateFolder folder(bool create) {
  const std::string name = folder_name();
  if (name.empty()) return {};
  std::string why;
  bool unsafe = false;
  files::PrivateFolder in = files::PrivateFolder::open(name, create, why, unsafe);
  if (unsafe || (create && !in && !knobs().cache_dir.empty())) say_not_kept(name, why);
  return in;
}

std::string whole_key(const std::string& key) { return key + "; build " + build_identity() + "\n"; }

std::string name_of(const std::string& key) { return digest(key) + std::string(kSuffix); }

/// The next word of a line, up to the blank or the line's end.
std::string_view word(std::string_view& text) {
  const std::size_t end = std::min(text.find_first_of(" \n"), text.size());
  std::string_view w = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return w;
}

template <class T>
bool number(std::string_view& text, T& out) {
  const std::string_view w = word(text);
  auto [end, error] = std::from_chars(w.data(), w.data() + w.size(), out);
  return error == std::errc{} && end == w.data() + w.size();
}

}  // namespace

std::string disk_text(const std::string& key, const device::Image& i) {
  std::ostringstream s;
  s << key.size() << ' ' << i.code.size() << ' ' << i.block.x << ' ' << i.block.y << ' ' << i.block.z << ' '
    << i.shared_bytes << ' ' << i.entry << '\n'
    << key << i.code;
  return disk_sealed(s.str());
}

std::string disk_sealed(std::string_view body) { return (std::string(kMagic) + digest(body) + '\n').append(body); }

device::ImagePtr disk_parse(const std::string& key, std::string_view text) {
  if (!text.starts_with(kMagic)) return nullptr;
  text.remove_prefix(kMagic.size());
  const std::string_view sum = word(text);
  if (sum != digest(text)) return nullptr;
  std::size_t key_bytes = 0, code_bytes = 0;
  auto image = std::make_shared<device::Image>();
  if (!number(text, key_bytes) || !number(text, code_bytes) || !number(text, image->block.x) ||
      !number(text, image->block.y) || !number(text, image->block.z) || !number(text, image->shared_bytes))
    return nullptr;
  image->entry = word(text);
  if (key_bytes != key.size() || text.size() < key_bytes || text.size() - key_bytes != code_bytes ||
      !text.starts_with(key))
    return nullptr;
  image->code = text.substr(key_bytes);
  return image;
}

bool disk_is_there() { return !folder_name().empty() && !build_identity().empty(); }

device::ImagePtr disk_load(const std::string& key, std::string* why) {
  const InPhase phase(Phase::Load);
  if (build_identity().empty()) return nullptr;
  const files::PrivateFolder in = folder(false);
  if (!in) return nullptr;
  const std::string whole = whole_key(key), name = name_of(whole);
  const std::optional<std::string> text = in.read(name, kLargest);
  device::ImagePtr image = text ? disk_parse(whole, *text) : nullptr;
  if (!image && why) {
    if (text) *why = "the file " + name + " is damaged";
    else if (faccessat(in.fd(), name.c_str(), F_OK, AT_SYMLINK_NOFOLLOW) == 0)
      *why = "the file " + name + " may be somebody else's";
  }
  if (image) in.touch(name);  // used: the last to be deleted
  return image;
}

void disk_store(const std::string& key, const device::Image& image) {
  const InPhase phase(Phase::Load);
  if (build_identity().empty()) return;
  const files::PrivateFolder in = folder(true);
  if (!in) return;
  static std::atomic<std::uint32_t> serial{0};
  const std::uint32_t mine = serial.fetch_add(1, std::memory_order_relaxed);
  const std::string whole = whole_key(key), text = disk_text(whole, image);
  if (static_cast<std::int64_t>(text.size()) > kLargest) return;
  {
    files::NewFile file(in.fd(), name_of(whole), 0600);
    file.write(text.data(), static_cast<std::int64_t>(text.size()));
    // Not durable: a file that the power took is not whole, and that is seen.
    if (!file.publish(false)) say_not_kept(folder_name(), file.why());
  }
  if (mine % 256 == 0) disk_trim(knobs().cache_bytes);
}

void disk_trim(std::int64_t bytes) {
  const files::PrivateFolder in = folder(false);
  if (!in) return;
  struct Entry {
    timespec used;
    std::int64_t bytes;
    std::string name;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  const int fd = openat(in.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  std::unique_ptr<DIR, int (*)(DIR*)> list(fd < 0 ? nullptr : fdopendir(fd), &closedir);
  if (!list) {
    if (fd >= 0) close(fd);
    return;
  }
  const std::time_t now = std::time(nullptr);
  while (const dirent* e = readdir(list.get())) {
    const std::string name = e->d_name;
    const bool unfinished = files::is_unfinished(name);
    if (!unfinished && !name.ends_with(kSuffix)) continue;
    struct stat st {};  // another process may delete it meanwhile
    if (fstatat(in.fd(), name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) continue;
    if (unfinished) {
      // Somebody is writing it, or died over it: nobody takes an hour.
      if (now - st.st_mtim.tv_sec > 3600) unlinkat(in.fd(), name.c_str(), 0);
      continue;
    }
    entries.push_back({st.st_mtim, static_cast<std::int64_t>(st.st_size), name});
    total += st.st_size;
  }
  if (total <= bytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  for (const Entry& e : entries) {
    if (total <= bytes / 4 * 3) break;
    if (unlinkat(in.fd(), e.name.c_str(), 0) == 0) total -= e.bytes;
  }
}

}  // namespace reprise::jit
