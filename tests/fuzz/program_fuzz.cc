// Files of exported programs (load_program, the reader of machine code): a program, or one error that names the file.
// What stands behind a hash is read under one that fits, too.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <sstream>

#include "base/archive.h"
#include "base/errors.h"
#include "base/hash.h"
#include "reprise/export.h"
#include "reprise/safetensors.h"
#include "runtime/export/code_file.h"
#include "runtime/export/program.h"
#include "runtime/export/sections.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

namespace {

void check(const Error& e) {
  if (e.code() != ErrorCode::FileFormat && e.code() != ErrorCode::InvalidArgument) fuzz::broken(e.what());
  if (e.message().size() > 4000) fuzz::broken("an error of " + std::to_string(e.message().size()) + " bytes");
}

/// All that can be told of a program that was read.
void tell(const detail::Program& p) {
  std::ostringstream out;
  detail::print_readable(p, out), detail::print_tabular(p, out), detail::print_sequence_table(p, out);
  fuzz::promise(!out.str().empty(), "a program that says nothing");
}

void read_sections(std::map<std::string, std::string> sections) {
  sections[std::string(detail::kHashSection)] = detail::hash_of(sections);
  try {
    tell(*detail::read_program(std::move(sections), "sections", "load_program", {}));
  } catch (const Error& e) {
    check(e);
  }
}

void read_code(std::string bytes) {
  constexpr std::size_t kHash = 16, kData = 32;  // docs/export_format.md
  if (bytes.size() < kData) return;
  const std::uint64_t hash = hash_text(std::string_view(bytes).substr(kData));
  std::memcpy(bytes.data() + kHash, &hash, sizeof hash);
  try {
    const auto code = detail::read_code(bytes);
    fuzz::promise(detail::guard_texts(code->contract).size() < 100000, "guards without end");
  } catch (const DamagedArchive&) {
  } catch (const NotArchived&) {
  } catch (const Error& e) {
    check(e);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  try {
    const LoadedProgram p = load_program(path, {.how = Reading::Copied});
    std::ostringstream out;
    p.print_readable(out);
  } catch (const Error& e) {
    check(e);
    if (e.message().find(path) == std::string::npos && e.code() == ErrorCode::FileFormat) fuzz::broken(e.what());
  }
  try {
    const SafeTensors file = load_safetensors(path, Reading::Copied);
    read_sections(file.metadata());
    for (const std::string& name : file.names()) {
      if (!name.starts_with(detail::kCodeTensor)) continue;
      const Tensor t = file.at(name);
      if (t.dtype() == kUInt8)
        read_code({static_cast<const char*>(t.data_ptr()), static_cast<std::size_t>(t.numel().value())});
    }
  } catch (const Error& e) {
    check(e);
  }
  return 0;
}
