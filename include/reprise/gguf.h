#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "reprise/activations.h"
#include "reprise/tensor.h"
#include "reprise/visible.h"
#include "reprise/weights.h"

/// GGUF files: weights, many of them quantized in blocks, with a model's sizes and its tokenizer beside them.
/// docs/gguf.md shows how they are used.
namespace reprise REPRISE_VISIBLE {
namespace gguf {

/// How the elements of a tensor are stored; the numbers are the format's. A file may hold any of them. Of those that
/// are not listed here only name and place are known.
enum class Type : std::uint32_t {
  F32 = 0,
  F16 = 1,
  Q4_0 = 2,
  Q4_1 = 3,
  Q5_0 = 6,
  Q5_1 = 7,
  Q8_0 = 8,
  Q2_K = 10,
  Q3_K = 11,
  Q4_K = 12,
  Q5_K = 13,
  Q6_K = 14,
  IQ4_NL = 20,
  IQ4_XS = 23,
  I8 = 24,
  I16 = 25,
  I32 = 26,
  I64 = 27,
  F64 = 28,
  BF16 = 30
};
std::string type_name(Type);  ///< "Q4_K", "type 77"
bool is_quantized(Type);      ///< stored in blocks

/// A matrix (or more dimensions) of weights as it is stored. A plain struct, so that it is an argument of compiled
/// functions as it stands; the bytes are views of the mapped file. Not quantized: `data` are the elements, of their
/// dtype.
struct Blocks {
  Type type = Type::F32;
  Tensor data = {};    ///< quantized: uint8 [..., rows, bytes of a row]
  Tensor halves = {};  ///< quantized: the same bytes as float16, for the scales that stand among them

  bool defined() const { return data.defined(); }
  /// Of the elements. Inside a trace the last is a constant of the compilation, as whatever looks at blocks makes it:
  /// how many there are of what size.
  Ints sizes() const;
  Int size(int dim) const {
    return sizes()[static_cast<std::size_t>(dim < 0 ? dim + static_cast<int>(sizes().size()) : dim)];
  }
  std::int64_t bytes() const;  ///< that are stored
  /// All elements, unpacked in float32 and rounded once: exactly what the format says. Ordinary operators, which fuse
  /// with what reads them.
  Tensor dequantize(DType dtype = kFloat32, SourceLoc loc = SourceLoc::current()) const;
  /// The rows of a matrix that `index` (int64 or int32, of any sizes) says, unpacked: what an embedding wants.
  Tensor rows(const Tensor& index, DType dtype = kFloat32, SourceLoc loc = SourceLoc::current()) const;
  /// The same on another device.
  Blocks to(Device device, SourceLoc loc = SourceLoc::current()) const;
};

/// x [..., in] times weight [out, in] transposed (+ bias [out]), in x's dtype, a float. On the host weights are
/// unpacked in registers, or a few columns at a time, and multiplied in float32 as dequantize() has them: the unpacked
/// matrix is nowhere. On devices it is dequantize() and linear(). `activations`: see there. Throws ShapeMismatch,
/// DTypeMismatch.
Tensor linear(const Tensor& x, const Blocks& weight, const Tensor& bias = {},
              Activations activations = Activations::Float32, SourceLoc loc = SourceLoc::current());

/// What a value of the metadata is; the numbers are the format's.
enum class ValueType : std::uint32_t { U8, I8, U16, I16, U32, I32, F32, Bool, String, Array, U64, I64, F64 };
std::string_view value_type_name(ValueType);

/// Where a tensor is.
struct TensorInfo {
  Type type = Type::F32;
  /// rows first, as tensors here have them (the file has them the other way round)
  std::vector<std::int64_t> sizes{};
  std::int64_t offset = 0, bytes = 0;  ///< in the file; `bytes` is -1 of types that are not known
};

/// A file that is open. Its header is checked whole when it is opened: every length lies in the file, every tensor fits
/// its type and overlaps no other. Metadata are read when they are asked for. Cheap to copy; may be used from any
/// thread.
class File {
 public:
  /// Versions 2 and 3, little-endian. Throws Io when the system refuses, FileFormat, naming the file and both numbers,
  /// when the contents are wrong.
  static File open(const std::string& path, Reading how = Reading::Mapped, SourceLoc loc = SourceLoc::current());

  const std::string& path() const;
  int version() const;

  // ---- metadata
  std::vector<std::string> keys() const;  ///< in the file's order
  bool has(std::string_view key) const;
  /// throws InvalidArgument naming the nearest key, as all of these
  ValueType type(std::string_view key, SourceLoc loc = SourceLoc::current()) const;
  ValueType element_type(std::string_view key, SourceLoc loc = SourceLoc::current()) const;  ///< of an array
  std::int64_t length(std::string_view key, SourceLoc loc = SourceLoc::current()) const;     ///< of an array
  /// The value; throws DTypeMismatch where it is of another kind: integers of any width (an unsigned one beyond 63
  /// bits, too), floats of either (integers are no floats), true and false, texts; and arrays of them. With `otherwise`
  /// a key that is not there is no error.
  std::int64_t integer(std::string_view key, std::optional<std::int64_t> otherwise = std::nullopt,
                       SourceLoc loc = SourceLoc::current()) const;
  double number(std::string_view key, std::optional<double> otherwise = std::nullopt,
                SourceLoc loc = SourceLoc::current()) const;
  bool flag(std::string_view key, std::optional<bool> otherwise = std::nullopt,
            SourceLoc loc = SourceLoc::current()) const;
  std::string text(std::string_view key, std::optional<std::string> otherwise = std::nullopt,
                   SourceLoc loc = SourceLoc::current()) const;
  std::vector<std::int64_t> integers(std::string_view key, SourceLoc loc = SourceLoc::current()) const;
  std::vector<double> numbers(std::string_view key, SourceLoc loc = SourceLoc::current()) const;
  std::vector<bool> flags(std::string_view key, SourceLoc loc = SourceLoc::current()) const;
  std::vector<std::string> texts(std::string_view key, SourceLoc loc = SourceLoc::current()) const;

  // ---- tensors
  std::vector<std::string> names() const;  ///< sorted
  bool contains(std::string_view name) const;
  /// throws InvalidArgument naming the nearest name, as the others
  TensorInfo info(std::string_view name, SourceLoc loc = SourceLoc::current()) const;
  /// One that is not quantized: a view of the mapped file (a copy where it is not mapped, or not aligned). Throws
  /// DTypeMismatch for a quantized one.
  Tensor at(std::string_view name, SourceLoc loc = SourceLoc::current()) const;
  /// Any, as it is stored. Throws DTypeMismatch for a type that is not listed above.
  Blocks blocks(std::string_view name, SourceLoc loc = SourceLoc::current()) const;

 private:
  struct Contents;
  std::shared_ptr<const Contents> contents_;
};

namespace detail {

/// Finds the fields: a Blocks is one weight, not the tensors in it.
template <class Base>
class BlocksAsOne : public Base {
 public:
  using Base::Base;
  template <class C>
  void prepare(C& c) {
    if constexpr (std::is_same_v<std::remove_const_t<C>, Blocks>) {
      this->blocks(c);
      inside_ = 2;
    } else if constexpr (requires { Base::prepare(c); }) {
      Base::prepare(c);
    }
  }
  template <class T>
  void tensor(T& t) {
    if (inside_ > 0) --inside_;
    else Base::tensor(t);
  }

 private:
  int inside_ = 0;
};
class FieldsFound : public reprise::detail::WeightMaker {
 public:
  using WeightMaker::WeightMaker;
  std::vector<bool> is_blocks;
  void tensor(const Tensor& t) { WeightMaker::tensor(t), is_blocks.push_back(false); }
  void blocks(const Blocks&) { all.push_back({path().text(), Tensor()}), is_blocks.push_back(true); }
};
class FieldsGiven : public reprise::detail::WeightMaker {
 public:
  static constexpr bool shares = true;
  FieldsGiven(const reprise::detail::WeightNames& names, std::vector<reprise::detail::Weight>& loaded,
              std::vector<Blocks>& loaded_blocks)
      : WeightMaker(names), loaded_(loaded), blocks_(loaded_blocks) {}
  void tensor(Tensor& t) { t = std::move(loaded_[next_++].tensor); }
  void blocks(Blocks& b) { ++next_, b = std::move(blocks_[next_block_++]); }

 private:
  std::vector<reprise::detail::Weight>& loaded_;
  std::vector<Blocks>& blocks_;
  std::size_t next_ = 0, next_block_ = 0;
};
/// Makes of each weight what the file has; gives the Blocks, in their order.
std::vector<Blocks> load(const File&, std::vector<reprise::detail::Weight>&, const std::vector<bool>& is_blocks,
                         const WeightOptions&, SourceLoc);

}  // namespace detail

/// Loads the tensors of a struct by the names of its fields, as load_safetensors() does: a field of type Blocks takes
/// what is stored, a Tensor all others, unpacked to float32 where they are quantized. `WeightOptions::name` tells what
/// the file calls a field ("layers.0.wq": "blk.0.attn_q.weight").
template <reprise::detail::HasWeights T>
void load_gguf(const File& file, T& weights, const WeightOptions& options = {}, SourceLoc loc = SourceLoc::current()) {
  const reprise::detail::WeightNames names(file.names(), options);
  detail::BlocksAsOne<detail::FieldsFound> fields(names);
  {
    T tried = weights;
    reprise::detail::walk(tried, fields);
  }
  std::vector<Blocks> blocks = detail::load(file, fields.all, fields.is_blocks, options, loc);
  detail::BlocksAsOne<detail::FieldsGiven> give(names, fields.all, blocks);
  reprise::detail::walk(weights, give);
}
template <reprise::detail::HasWeights T>
void load_gguf(const std::string& path, T& weights, const WeightOptions& options = {},
               SourceLoc loc = SourceLoc::current()) {
  load_gguf(File::open(path, options.how, loc), weights, options, loc);
}

}  // namespace gguf
}  // namespace REPRISE_VISIBLE
