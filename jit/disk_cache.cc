#include "jit/disk_cache.h"

#include <dlfcn.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/hash.h"
#include "base/knobs.h"

namespace reprise::jit {

namespace fs = std::filesystem;

namespace {

constexpr char kMagic[] = "reprise kernel 1";
constexpr char kSuffix[] = ".kernel";

/// Empty: there is none.
fs::path folder() {
  const std::string& wanted = knobs().cache_dir;
  if (wanted == "off") return {};
  if (!wanted.empty()) return wanted;
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && *cache) return fs::path(cache) / "reprise";
  if (const char* home = std::getenv("HOME"); home && *home) return fs::path(home) / ".cache" / "reprise";
  return {};
}

const std::string& build_identity() {
  static const std::string& identity = *new std::string([] {
    Dl_info info{};
    struct stat file {};
    std::ostringstream s;
    if (dladdr(reinterpret_cast<const void*>(&disk_load), &info) && info.dli_fname && stat(info.dli_fname, &file) == 0)
      s << file.st_size << ' ' << file.st_mtim.tv_sec << ' ' << file.st_mtim.tv_nsec;
    return s.str();
  }());
  return identity;
}

std::string whole_key(const std::string& key) { return key + "; build " + build_identity() + "\n"; }

std::string name_of(const std::string& key) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_text(key)));
  return std::string(digits) + kSuffix;
}

std::string contents(const std::string& key, const device::Image& i) {
  std::ostringstream s;
  s << kMagic << '\n'
    << key.size() << ' ' << i.code.size() << ' ' << hash_text(i.code) << ' ' << i.block.x << ' ' << i.block.y << ' '
    << i.block.z << ' ' << i.shared_bytes << ' ' << i.entry << '\n'
    << key << i.code;
  return s.str();
}

/// Null unless all of it is there.
device::ImagePtr parse(const std::string& key, const std::string& text) {
  std::istringstream s(text);
  std::string magic;
  std::size_t key_bytes = 0, code_bytes = 0;
  std::uint64_t hash = 0;
  auto image = std::make_shared<device::Image>();
  if (!std::getline(s, magic) || magic != kMagic) return nullptr;
  s >> key_bytes >> code_bytes >> hash >> image->block.x >> image->block.y >> image->block.z >> image->shared_bytes >>
      image->entry;
  if (!s || s.get() != '\n') return nullptr;
  const auto at = static_cast<std::size_t>(s.tellg());
  if (key_bytes != key.size() || text.size() - at < key_bytes || text.size() - at - key_bytes != code_bytes)
    return nullptr;
  if (text.compare(at, key_bytes, key) != 0) return nullptr;
  image->code = text.substr(at + key_bytes);
  return hash_text(image->code) == hash ? image : nullptr;
}

}  // namespace

device::ImagePtr disk_load(const std::string& key) {
  const fs::path in = folder();
  if (in.empty()) return nullptr;
  const std::string whole = whole_key(key);
  const fs::path path = in / name_of(whole);
  std::ifstream file(path, std::ios::binary);
  if (!file) return nullptr;
  std::ostringstream text;
  text << file.rdbuf();
  device::ImagePtr image = parse(whole, text.str());
  std::error_code ignored;
  if (image) fs::last_write_time(path, fs::file_time_type::clock::now(), ignored);  // used: the last to be deleted
  return image;
}

void disk_store(const std::string& key, const device::Image& image) {
  const fs::path in = folder();
  if (in.empty()) return;
  static std::atomic<std::uint32_t> serial{0};
  const std::uint32_t mine = serial.fetch_add(1, std::memory_order_relaxed);
  std::error_code failed;
  fs::create_directories(in, failed);
  const std::string whole = whole_key(key), name = name_of(whole);
  const fs::path part = in / (name + "." + std::to_string(getpid()) + "." + std::to_string(mine) + ".part");
  {
    std::ofstream file(part, std::ios::binary);
    file << contents(whole, image);
    if (!file.flush()) {
      file.close();
      fs::remove(part, failed);
      return;
    }
  }
  fs::rename(part, in / name, failed);
  if (failed) fs::remove(part, failed);
  if (mine % 256 == 0) disk_trim(knobs().cache_bytes);
}

void disk_trim(std::int64_t bytes) {
  struct Entry {
    fs::file_time_type used;
    std::int64_t bytes;
    fs::path path;
  };
  std::vector<Entry> entries;
  std::int64_t total = 0;
  std::error_code failed;
  for (fs::directory_iterator it(folder(), failed), end; !failed && it != end; it.increment(failed)) {
    // Another process may delete it meanwhile. Parts that nobody finished grow old here, too.
    std::error_code gone;
    if (it->path().extension() != kSuffix && it->path().extension() != ".part") continue;
    const auto size = static_cast<std::int64_t>(it->file_size(gone));
    const auto used = it->last_write_time(gone);
    if (gone) continue;
    entries.push_back({used, size, it->path()});
    total += size;
  }
  if (total <= bytes) return;
  std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.used < b.used; });
  for (const Entry& e : entries) {
    if (total <= bytes / 4 * 3) break;
    if (fs::remove(e.path, failed)) total -= e.bytes;
  }
}

}  // namespace reprise::jit
