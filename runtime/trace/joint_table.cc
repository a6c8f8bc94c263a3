#include "runtime/trace/joint_table.h"

#include <algorithm>
#include <vector>

#include "base/line_text.h"
#include "operators/joint_marks.h"

namespace reprise::detail {

namespace {
std::string source_of(SourceLoc loc) {
  const std::string line = line_text(loc);
  return line.substr(line.find_last_of('/') + 1);
}
}  // namespace

std::string joint_table(const graph::Graph& g) {
  using Row = std::vector<std::string>;
  std::vector<Row> rows{{"number", "operator", "derivative of", "results", "scope", "source"}};
  for (const graph::Node& n : g.nodes) {
    const bool mark = n.op == operators::tangent_op() || n.op == operators::gradient_op();
    std::string results;
    for (graph::ValueId r : n.results) results += (results.empty() ? "%" : ", %") + std::to_string(r.v);
    rows.push_back({n.info.sequence < 0 || mark ? "" : "#" + std::to_string(n.info.sequence),
                    std::string(graph::op(n.op).name()),
                    n.info.forward_of < 0 ? "" : "#" + std::to_string(n.info.forward_of), results,
                    n.info.scope ? *n.info.scope : "", source_of(n.info.loc)});
  }
  std::vector<std::size_t> widths(rows[0].size());
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) line.append(row[i]).append(widths[i] - row[i].size() + 2, ' ');
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

}  // namespace reprise::detail
