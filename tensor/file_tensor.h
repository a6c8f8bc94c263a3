#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/files.h"
#include "reprise/safetensors.h"

/// Tensors over the bytes of a file: what the formats of weights share.
namespace reprise {

/// The whole file, private: writes stay in this process.
struct Mapping {
  char* data = nullptr;
  std::int64_t bytes = 0;
  Mapping() = default;
  Mapping(const Mapping&) = delete;
  ~Mapping();
};

/// A file that is open, and what tensors are made of. Errors name the function and the path.
struct TensorFile {
  const char* function;  ///< that reads it
  std::string path;
  files::File file;
  std::int64_t bytes = 0;
  std::shared_ptr<Mapping> map;  ///< null: tensors are read

  /// Opens; maps nothing. Throws Io.
  TensorFile(const char* function_, std::string path_, SourceLoc loc);
  void map_all(SourceLoc loc);
  /// Exactly these bytes. Throws Io.
  void read(std::int64_t offset, void* to, std::int64_t n, SourceLoc loc) const;
  /// A tensor of the bytes from `begin` on, which were in the file when it was opened: a view of the mapping that keeps
  /// it alive, or a copy, where nothing is mapped or the bytes are not aligned to their elements. Throws Io where the
  /// file has become too short, naming the tensor.
  Tensor tensor(const std::string& name, std::int64_t begin, const std::int64_t* sizes, int rank, DType dtype,
                SourceLoc loc) const;
};

}  // namespace reprise
