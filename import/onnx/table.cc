#include <algorithm>
#include <map>

#include "import/onnx/core.h"

namespace reprise::onnx {
namespace {

// rows of one name by version
using Table = std::map<std::pair<std::string_view, std::string_view>, std::vector<const Row*>>;
const Table& table() {
  static const Table all = [] {
    Table made;
    for (std::span<const Row> family :
         {elementwise_rows(), reduce_rows(), shape_rows(),    index_rows(),    matmul_rows(),  norm_rows(),
          conv_rows(),        resize_rows(), image_rows(),    quantize_rows(), control_rows(), sequence_rows(),
          recurrent_rows(),   loss_rows(),   signal_rows(),   random_rows(),   data_rows(),    attention_rows(),
          tree_rows(),        ml_rows(),     ml_linear_rows()})
      for (const Row& r : family) made[{r.domain, r.name}].push_back(&r);
    for (auto& [name, rows] : made)
      std::sort(rows.begin(), rows.end(), [](const Row* a, const Row* b) { return a->since < b->since; });
    return made;
  }();
  return all;
}

}  // namespace

const Row* find_row(std::string_view domain, std::string_view op, std::int64_t version, bool* any) {
  const auto found = table().find({domain, op});
  if (any) *any = found != table().end();
  if (found == table().end()) return nullptr;
  for (const Row* r : found->second)
    if (version >= r->since && (r->until == 0 || version <= r->until)) return r;
  return nullptr;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> all;
  for (const auto& [name, rows] : table())
    all.emplace_back(name.first.empty() ? std::string(name.second)
                                        : std::string(name.first) + "." + std::string(name.second));
  return all;
}

}  // namespace reprise::onnx
