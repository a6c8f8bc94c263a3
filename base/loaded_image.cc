#include "base/loaded_image.h"

#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <sstream>
#include <vector>

#include "base/hash.h"

namespace reprise {

namespace {

struct Image {
  std::string identity;
  std::uintptr_t base = 0;
  struct Code {
    std::uintptr_t begin, end;
  };
  std::vector<Code> code;
  bool has(std::uintptr_t at) const {
    for (const Code& c : code)
      if (at >= c.begin && at < c.end) return true;
    return false;
  }
};

/// dl_iterate_phdr's: the object that holds this code.
int identify(dl_phdr_info* object, std::size_t, void* out) {
  Image& image = *static_cast<Image*>(out);
  const auto here = reinterpret_cast<std::uintptr_t>(&build_identity);
  Image found;
  found.base = object->dlpi_addr;
  std::ostringstream s;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && part.p_flags & PF_X) found.code.push_back({begin, begin + part.p_memsz});
  }
  if (!found.has(here)) return 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const char *at = reinterpret_cast<const char*>(object->dlpi_addr + part.p_vaddr), *end = at + part.p_memsz;
    while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const std::size_t name = (note.n_namesz + 3u) & ~3u, text = (note.n_descsz + 3u) & ~3u;
      if (static_cast<std::size_t>(end - at) - sizeof note < name + text) break;
      if (note.n_type == NT_GNU_BUILD_ID) s << hash_text({at + sizeof note + name, note.n_descsz}) << ' ';
      at += sizeof note + name + text;
    }
  }
  // The linker's own word is of the contents, so that a cache of kernels may be carried along with a copy; without one
  // it is the file that counts. The program itself has no name here, and its first argument need not be one.
  struct stat file {};
  if (s.str().empty() &&
      stat(object->dlpi_name && *object->dlpi_name ? object->dlpi_name : "/proc/self/exe", &file) == 0)
    s << file.st_size << ' ' << file.st_mtim.tv_sec << ' ' << file.st_mtim.tv_nsec;
  found.identity = s.str();
  image = std::move(found);
  return 1;
}

const Image& image() {
  static const Image& loaded = *new Image([] {
    Image found;
    dl_iterate_phdr(&identify, &found);
    return found;
  }());
  return loaded;
}

}  // namespace

const std::string& build_identity() { return image().identity; }

std::optional<std::uint64_t> place_in_image(const void* function) {
  const auto at = reinterpret_cast<std::uintptr_t>(function);
  if (!image().has(at)) return std::nullopt;
  return at - image().base;
}

const void* function_at(std::uint64_t place) {
  const std::uintptr_t at = image().base + place;
  return image().has(at) ? reinterpret_cast<const void*>(at) : nullptr;
}

}  // namespace reprise
