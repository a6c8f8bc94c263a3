#include "tensor/file_tensor.h"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/errors.h"
#include "base/shown.h"
#include "tensor/impl.h"

namespace reprise {

Mapping::~Mapping() {
  if (data) munmap(data, static_cast<std::size_t>(bytes));
}

TensorFile::TensorFile(const char* function_, std::string path_, SourceLoc loc)
    : function(function_), path(std::move(path_)) {
  std::string why;
  file = files::open_to_read(path, why);
  if (!file) fail(ErrorCode::Io, function, loc, "cannot open '", shown(path), "': ", why);
  bytes = files::size_of(file);
  if (bytes < 0) fail(ErrorCode::Io, function, loc, "cannot read '", shown(path), "': ", std::strerror(errno));
}

void TensorFile::map_all(SourceLoc loc) {
  auto all = std::make_shared<Mapping>();
  if (bytes > 0) {
    void* m = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE, file.fd(), 0);
    if (m == MAP_FAILED) fail(ErrorCode::Io, function, loc, "cannot map '", shown(path), "': ", std::strerror(errno));
    all->data = static_cast<char*>(m), all->bytes = bytes;
  }
  map = std::move(all);
}

void TensorFile::read(std::int64_t offset, void* to, std::int64_t n, SourceLoc loc) const {
  std::string why;
  if (!files::read_at(file, offset, to, n, why))
    fail(ErrorCode::Io, function, loc, "cannot read '", shown(path), "': ", why);
}

Tensor TensorFile::tensor(const std::string& name, std::int64_t begin, const std::int64_t* sizes, int rank, DType dtype,
                          SourceLoc loc) const {
  std::int64_t n = item_size(dtype);
  if (std::find(sizes, sizes + rank, 0) != sizes + rank) n = 0;
  for (int d = 0; n && d < rank; ++d) n *= sizes[d];  // which was seen to be in the file
  // Touching a page that the file has no more would end the process.
  if (std::int64_t now = files::size_of(file); n > 0 && now < begin + n)
    fail(ErrorCode::Io, function, loc, "'", shown(path), "' was cut off after it was loaded: tensor '", shown(name),
         "' ends at byte ", begin + n, ", the file has ", now);
  char* data = map ? map->data + begin : nullptr;
  const bool mapped =
      map && reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(item_size(dtype)) == 0;
  if (mapped) return from_blob(data, Ints(sizes, sizes + rank), dtype, [keep = map](void*) {});
  Tensor t = empty_concrete(sizes, rank, dtype, Device::cpu());
  std::string why;
  if (n > 0 && !files::read_at(file, begin, t.impl()->data(), n, why))
    fail(ErrorCode::Io, function, loc, "cannot read tensor '", shown(name), "' of '", shown(path), "': ", why);
  return t;
}

}  // namespace reprise
