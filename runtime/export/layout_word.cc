#include "runtime/export/layout_word.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "reprise/device.h"
#include "reprise/dtype.h"
#include "runtime/call/layout_class.h"

namespace reprise::detail {

using nlohmann::json;
using runtime::LayoutClass;
using runtime::StrideClass;

namespace {

DType dtype_of(std::uint64_t w) { return static_cast<DType>((w & 0xff) - 1); }
Device device_of(std::uint64_t w) {
  Device d;
  d.type = static_cast<DeviceType>(w >> 32 & 0xff);
  d.index = static_cast<std::uint8_t>(w >> 40 & 0xff);
  return d;
}

constexpr const char* kStrides[] = {"any", "1", "0"};  // by StrideClass

[[noreturn]] void wrong(const std::string& what) { throw std::invalid_argument(what); }

DType read_dtype(const std::string& name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name == dtype_name(static_cast<DType>(i))) return static_cast<DType>(i);
  wrong("unknown dtype '" + name + "'");
}

Device read_device(const std::string& name) {
  if (name == "cpu") return Device::cpu();
  if (name == "null") return Device::null();
  for (int i = 0; i < 256; ++i)
    if (name == Device::cuda(i).str()) return Device::cuda(i);
  wrong("unknown device '" + name + "'");
}

}  // namespace

void write_word(json& to, std::uint64_t w) {
  to["dtype"] = dtype_name(dtype_of(w));
  to["device"] = device_of(w).str();
  to["rank"] = runtime::rank_of_word(w);
  if (runtime::is_large_word(w)) to["large"] = true;
  switch (runtime::layout_class(w)) {
    case LayoutClass::RowMajor: to["layout"] = "row-major"; break;
    case LayoutClass::Dense: {
      to["layout"] = "dense";
      const runtime::DimOrder o = runtime::order_of(w);
      for (int i = 0; i < o.rank; ++i) to["order"].push_back(static_cast<int>(o.dims[static_cast<std::size_t>(i)]));
      break;
    }
    case LayoutClass::Strided:
      to["layout"] = "strided";
      for (int d = 0; d < runtime::rank_of_word(w); ++d)
        to["strides"].push_back(kStrides[static_cast<int>(runtime::stride_class(w, d))]);
      break;
  }
}

// The word is that of a tensor with such a layout.
std::uint64_t read_word(const json& from) {
  TensorImpl t;
  t.dtype = read_dtype(from.at("dtype").get<std::string>());
  t.device = read_device(from.at("device").get<std::string>());
  const auto rank = from.at("rank").get<std::int64_t>();
  if (rank < 0 || rank > kMaxRank) wrong("a rank of " + std::to_string(rank));
  t.rank = static_cast<std::uint8_t>(rank) & 15;
  std::fill(t.sizes, t.sizes + rank, 3);
  const auto layout = from.at("layout").get<std::string>();
  std::uint64_t of_class = 0;
  if (layout == "strided") {
    const json& strides = from.at("strides");
    if (!strides.is_array() || strides.size() != static_cast<std::size_t>(rank)) wrong("strides of another rank");
    std::uint64_t classes = 0;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      const auto at = std::find(std::begin(kStrides), std::end(kStrides), strides[d].get<std::string>());
      if (at == std::end(kStrides)) wrong("unknown stride '" + strides[d].get<std::string>() + "'");
      classes |= static_cast<std::uint64_t>(at - std::begin(kStrides)) << 2 * d;
    }
    of_class = static_cast<std::uint64_t>(LayoutClass::Strided) << 12 | classes << 16;
  } else if (layout == "dense" || layout == "row-major") {
    std::vector<int> order;
    for (int d = 0; d < rank; ++d) order.push_back(d);
    if (layout == "dense") order = from.at("order").get<std::vector<int>>();
    std::vector<int> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    if (order.size() != static_cast<std::size_t>(rank)) wrong("an order of another rank");
    for (int d = 0; d < rank; ++d)
      if (sorted[static_cast<std::size_t>(d)] != d) wrong("an order that does not name each dimension once");
    std::int64_t stride = 1;
    for (std::size_t i = order.size(); i-- > 0; stride *= 3) t.strides[order[i]] = stride;
  } else {
    wrong("unknown layout '" + layout + "'");
  }
  std::uint64_t w = 0;
  if (of_class) {
    std::int64_t stride = 1;
    for (int d = static_cast<int>(rank); d-- > 0; stride *= 3) t.strides[d] = stride;
    w = (runtime::structure_word(t) & ~runtime::kLayoutBits) | of_class;
  } else {
    w = runtime::structure_word(t);
  }
  if (from.value("large", false)) w |= std::uint64_t{1} << 14;
  return w;
}

std::string word_text(std::uint64_t w) {
  const int rank = runtime::rank_of_word(w);
  return std::string(dtype_name(dtype_of(w))) + " of " + std::to_string(rank) +
         (rank == 1 ? " dimension, " : " dimensions, ") + runtime::layout_name(w) + ", on " + device_of(w).str();
}

}  // namespace reprise::detail
