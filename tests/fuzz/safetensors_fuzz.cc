// load_safetensors: a file is tensors whose bytes all lie in it, or one error that names it.
#include <sys/mman.h>
#include <unistd.h>

#include "base/errors.h"
#include "reprise/safetensors.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  std::string texts[2];
  for (Reading how : {Reading::Mapped, Reading::Copied}) {
    std::string& text = texts[how == Reading::Copied];
    try {
      SafeTensors file = load_safetensors(path, how);
      for (const auto& [k, v] : file.metadata()) text += k + "=" + v + ";";
      std::int64_t total = 0;
      for (const std::string& name : file.names()) {
        text += name;
        try {
          Tensor t = file.at(name);
          const std::int64_t bytes = t.numel().value() * item_size(t.dtype());
          total += bytes;
          text.append(static_cast<const char*>(bytes ? t.data_ptr() : nullptr), static_cast<std::size_t>(bytes));
        } catch (const Error& e) {
          if (e.code() != ErrorCode::FileFormat || e.message().find("is BOOL") == std::string::npos)
            fuzz::broken(e.what());
        }
      }
      fuzz::promise(total <= static_cast<std::int64_t>(size), "more bytes in tensors than in the file");
    } catch (const Error& e) {
      if (e.code() != ErrorCode::FileFormat || e.message().find(path) == std::string::npos) fuzz::broken(e.what());
      if (e.message().size() > 2000) fuzz::broken("an error of " + std::to_string(e.message().size()) + " bytes");
      text = e.message();
    }
  }
  fuzz::promise(texts[0] == texts[1], "mapped and copied differ");
  return 0;
}
