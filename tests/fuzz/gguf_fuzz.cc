// gguf::File::open: a file is values and tensors whose bytes all lie in it, or one error that names it.
#include <sys/mman.h>
#include <unistd.h>

#include "base/errors.h"
#include "reprise/gguf.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, 0) != 0 || pwrite(fd, data, size, 0) != static_cast<ssize_t>(size)) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(fd);
  std::string texts[2];
  for (const Reading how : {Reading::Mapped, Reading::Copied}) {
    std::string& text = texts[how == Reading::Copied];
    try {
      const gguf::File file = gguf::File::open(path, how);
      for (const std::string& key : file.keys()) {
        text += key;
        try {
          using gguf::ValueType;
          const ValueType t = file.type(key);
          if (t == ValueType::String) text += file.text(key);
          else if (t == ValueType::Bool) text += file.flag(key) ? '1' : '0';
          else if (t == ValueType::F32 || t == ValueType::F64) text += std::to_string(file.number(key));
          else if (t != ValueType::Array) text += std::to_string(file.integer(key));
          else if (file.element_type(key) == ValueType::String)
            for (const std::string& s : file.texts(key)) text += s;
          else if (file.element_type(key) == ValueType::Bool) text += std::to_string(file.flags(key).size());
          else if (file.element_type(key) == ValueType::F32 || file.element_type(key) == ValueType::F64)
            text += std::to_string(file.numbers(key).size());
          else text += std::to_string(file.integers(key).size());
        } catch (const Error& e) {
          if (e.message().find("beyond 63 bits") == std::string::npos &&
              e.message().find("holds bools") == std::string::npos)
            fuzz::broken(e.what());
        }
      }
      std::int64_t total = 0;
      for (const std::string& name : file.names()) {
        text += name;
        try {
          const gguf::Blocks b = file.blocks(name);
          const std::int64_t bytes = b.bytes();
          total += bytes;
          text.append(static_cast<const char*>(bytes ? b.data.data_ptr() : nullptr), static_cast<std::size_t>(bytes));
        } catch (const Error& e) {
          if (e.code() != ErrorCode::DTypeMismatch) fuzz::broken(e.what());
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
