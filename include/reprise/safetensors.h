#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/tensor.h"

namespace reprise {

/// A safetensors file, mapped into memory: tensors are views of the mapping, made when asked for, and keep it alive.
/// Writing into one changes this process's copy of the page, never the file. (Data that are not aligned to their
/// elements are copied.) Cheap to copy; may be used from any thread.
class SafeTensors {
 public:
  std::vector<std::string> names() const;  ///< sorted
  bool contains(std::string_view name) const;
  /// The tensor of that name; the same storage each time. Throws InvalidArgument naming the nearest name.
  Tensor at(std::string_view name, SourceLoc loc = SourceLoc::current()) const;
  /// The file's `__metadata__`: strings by name; may be empty.
  const std::map<std::string, std::string>& metadata() const;

 private:
  friend SafeTensors load_safetensors(const std::string& path, SourceLoc loc);
  struct File;
  std::shared_ptr<File> file_;
};

/// Maps a file and checks all of its header: every range of bytes lies in the file, fits its shape and dtype, overlaps
/// no other and leaves no hole. Throws Io when the system refuses, FileFormat (naming the file, the tensor and both
/// numbers) when the contents are wrong. Dtypes: F64, F32, F16, BF16, I64, I32, I8, U8, BOOL.
SafeTensors load_safetensors(const std::string& path, SourceLoc loc = SourceLoc::current());

/// Writes the tensors, row-major whatever their strides, so that readers see either the old file or the whole new one
/// (a temporary file beside it is renamed). Throws Io, StorageFreed, or InvalidArgument (undefined; a reserved name).
void save_safetensors(const std::string& path, const std::map<std::string, Tensor>& tensors,
                      const std::map<std::string, std::string>& metadata = {}, SourceLoc loc = SourceLoc::current());

}  // namespace reprise
