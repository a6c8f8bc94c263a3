// A file of the kernel cache: as it is, and with the digest of what it says, so that the reading behind it is reached.
#include "jit/engine/disk_cache.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const std::string& key : {std::string("key"), std::string(), std::string("softmax f32 [s0, 64]; sm_90\n")}) {
    jit::disk_parse(key, text);
    const std::string sealed = jit::disk_sealed(text);
    const device::ImagePtr image = jit::disk_parse(key, sealed);
    if (!image) continue;
    const device::ImagePtr again = jit::disk_parse(key, jit::disk_text(key, *image));
    fuzz::promise(again && again->code == image->code && again->entry == image->entry && again->block == image->block &&
                      again->shared_bytes == image->shared_bytes,
                  "an image is not what is read back of it");
    fuzz::promise(image->code.size() + key.size() <= size, "more code than there was");
    std::string changed = sealed;
    changed.back() = static_cast<char>(changed.back() ^ 4);
    fuzz::promise(!jit::disk_parse(key, changed), "a changed file is believed");
  }
  return 0;
}
