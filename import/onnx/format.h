#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reprise/onnx.h"

/// What an ONNX file says, checked one message at a time, in structs of our own: format.proto's generated header is
/// seen in decode.cc alone.
namespace reprise::onnx {

/// The format's numbers of element types.
enum class Element : std::int32_t {
  Undefined = 0,
  Float,
  UInt8,
  Int8,
  UInt16,
  Int16,
  Int32,
  Int64,
  String,
  Bool,
  Float16,
  Double,
  UInt32,
  UInt64,
  Complex64,
  Complex128,
  BFloat16,
  Float8E4M3FN,
  Float8E4M3FNUZ,
  Float8E5M2,
  Float8E5M2FNUZ,
  UInt4,
  Int4,
  Float4E2M1,
  Float8E8M0,
  UInt2,
  Int2,
};
std::string element_name(std::int32_t);
/// The dtype that tensors of it have here; none where there is none.
std::optional<DType> dtype_of_element(std::int32_t);
/// Whether tensors of it have a dtype here that holds more: elements of 2 and 4 bits are held as bytes, those of 16
/// bits as int32, uint32 as int64, float4 as float8, powers of two (float8e8m0) as float32.
bool is_held_wider(std::int32_t);
struct IntegerElement {
  int bits = 0;  ///< 0: it is none
  bool is_signed = false;
};
/// Of integers that are held wider.
IntegerElement integer_element(std::int32_t);

struct TensorData {
  std::string name{};
  std::int32_t element = 0;
  std::vector<std::int64_t> dims{};
  Tensor tensor{};  ///< undefined where there is no dtype for its elements
};

struct ValueInfo {
  std::string name{};
  enum class Kind : std::uint8_t { Tensor, Sequence, Optional, Other } kind = Kind::Other;
  std::int32_t element = 0;  ///< of the tensor, or of the tensors in a sequence or an optional
  bool has_shape = false;
  std::vector<Dimension> dims{};
};

struct GraphData;
struct Attribute {
  std::string name{};
  enum class Kind : std::uint8_t {
    None,
    Float,
    Int,
    String,
    Tensor,
    Graph,
    Floats,
    Ints,
    Strings,
    Other
  } kind = Kind::None;
  double f = 0;
  std::int64_t i = 0;
  std::string s{};
  std::vector<double> floats{};
  std::vector<std::int64_t> ints{};
  std::vector<std::string> strings{};
  std::shared_ptr<TensorData> tensor{};
  std::shared_ptr<GraphData> graph{};
  std::string of_caller{};  ///< in a function: the attribute of the calling node that it is
};

struct NodeData {
  std::string name{}, op{}, domain{};
  std::vector<std::string> inputs{}, outputs{};  ///< "": left out
  std::vector<Attribute> attributes{};
};

struct GraphData {
  std::string name{};
  std::vector<ValueInfo> inputs{}, outputs{};
  std::vector<TensorData> initializers{};
  std::vector<NodeData> nodes{};
};

struct FunctionData {
  std::string name{}, domain{};
  std::vector<std::string> inputs{}, outputs{};
  std::vector<Attribute> defaults{};
  std::vector<NodeData> nodes{};
  std::map<std::string, std::int64_t> opsets{};
};

struct ModelData {
  GraphData graph{};
  std::map<std::string, std::int64_t> opsets{};  ///< by domain; "" is ONNX's own ("ai.onnx" becomes it)
  std::vector<FunctionData> functions{};
};

/// Everything wrong with a file is one of these, so that each message starts with it.
struct Source {
  std::string path{};    ///< as it was given; "" for bytes
  std::string folder{};  ///< where external data lie; "" where they may not
  SourceLoc loc{};
  [[noreturn]] void bad(const std::string& what, ErrorCode code = ErrorCode::FileFormat) const;
};

/// External data: each file is mapped once, and no location leaves the model's folder. (files.cc)
class ExternalFiles {
 public:
  explicit ExternalFiles(const Source& source) : source_(source) {}
  /// The bytes and who keeps them. Throws FileFormat, Io.
  std::pair<const char*, std::shared_ptr<void>> bytes(const std::string& tensor, const std::string& location,
                                                      std::int64_t offset, std::int64_t length);

 private:
  struct Mapped;
  const Source& source_;
  std::map<std::string, std::shared_ptr<Mapped>> files_;
};

std::string read_whole(const Source&);  ///< a file's bytes, at most 2 GB: a message is no larger

/// Throws FileFormat where the bytes are no model, or one message contradicts itself.
ModelData decode_model(std::string_view bytes, const Source&);
/// One tensor by itself, as ONNX's test data are stored.
TensorData decode_tensor(std::string_view bytes, const Source&);

}  // namespace reprise::onnx
