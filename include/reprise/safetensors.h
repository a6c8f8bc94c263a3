#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/tensor.h"
#include "reprise/visible.h"

namespace reprise REPRISE_VISIBLE {

/// How the bytes of a file reach its tensors.
enum class Reading : std::uint8_t {
  /// as pages of the file. Whoever cuts the file off while tensors of it are used ends this process (SIGBUS), and what
  /// is
  /// written into it may be seen: for files that nobody changes in place. (Replacing a file by renaming is no such
  /// change.)
  Mapped,
  Copied,  ///< into memory of their own, when they are asked for. A file that was cut off meanwhile is an error (Io).
};

/// A safetensors file: its tensors, made when asked for. Of a file that is mapped they are views of the mapping and
/// keep it alive; writing into one changes this process's copy of the page, never the file. (Data that are not aligned
/// to their elements are copied.) Cheap to copy; may be used from any thread.
class SafeTensors {
 public:
  std::vector<std::string> names() const;  ///< sorted
  bool contains(std::string_view name) const;
  const std::string& path() const;  ///< as it was loaded; "" where no file was
  /// The tensor of that name; the same storage each time. Throws InvalidArgument naming the nearest name, Io where the
  /// file has become too short for it since it was loaded.
  Tensor at(std::string_view name, SourceLoc loc = SourceLoc::current()) const;
  /// The file's `__metadata__`: strings by name; may be empty.
  const std::map<std::string, std::string>& metadata() const;

 private:
  friend SafeTensors load_safetensors(const std::string& path, Reading, SourceLoc loc);
  struct File;
  std::shared_ptr<File> file_;
};

/// Opens a file and checks all of its header: every range of bytes lies in the file, fits its shape and dtype, overlaps
/// no other and leaves no hole. Throws Io when the system refuses or it is no regular file, FileFormat (naming the
/// file, the tensor and both numbers) when the contents are wrong. Dtypes: F64, F32, F16, BF16, I64, I32, I8, U8, BOOL.
SafeTensors load_safetensors(const std::string& path, SourceLoc loc = SourceLoc::current());
SafeTensors load_safetensors(const std::string& path, Reading how, SourceLoc loc = SourceLoc::current());

/// Writes the tensors, row-major whatever their strides, so that readers see either the old file or the whole new one
/// (a temporary file beside it is renamed). Throws Io, StorageFreed, or InvalidArgument (undefined; a reserved name).
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {}, SourceLoc loc = SourceLoc::current());

}  // namespace REPRISE_VISIBLE
