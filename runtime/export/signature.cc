// A program in the words of its caller: the signature, guards, printed forms.
#include <algorithm>
#include <cctype>
#include <iomanip>
#include <ostream>
#include <sstream>

#include "graph/op.h"
#include "graph/text.h"
#include "guards/expr.h"
#include "runtime/export/layout_word.h"
#include "runtime/export/program.h"

namespace reprise::detail {

namespace {

using OutputKind = graph::OutputSpec::Kind;

std::string value_name(graph::ValueId v) { return "%" + std::to_string(v.v); }

std::string step_text(const graph::ViewStep& s) {
  std::ostringstream text;
  text << graph::op(s.op).schema.name << "(";
  for (std::size_t i = 0; i < s.args.size(); ++i) {
    if (i) text << ", ";
    const graph::NodeArg& a = s.args[i];
    if (auto* n = std::get_if<Int>(&a)) text << n->str();
    if (auto* b = std::get_if<bool>(&a)) text << (*b ? "true" : "false");
    if (auto* t = std::get_if<std::string>(&a)) text << "'" << *t << "'";
    if (std::holds_alternative<std::monostate>(a)) text << "None";
    if (auto* l = std::get_if<Ints>(&a)) {
      text << "[";
      for (std::size_t k = 0; k < l->size(); ++k) text << (k ? ", " : "") << (*l)[k].str();
      text << "]";
    }
  }
  text << ")";
  return text.str();
}

/// A symbol's name in a signature: what was declared of it, or itself.
std::string symbol_name(const Program& p, std::uint32_t s) {
  return s < p.symbols.size() && !p.symbols[s].declared.empty() ? p.symbols[s].declared : "s" + std::to_string(s);
}

std::string declared_text(const Program& p, std::string_view text) {
  return with_symbols(text, [&](std::uint32_t s) { return symbol_name(p, s); });
}

std::string type_text(const Program& p, const TensorMeta& m) {
  guards::ShowExpressions symbols;
  std::string s = std::string(dtype_short_name(m.dtype)) + "[";
  for (std::size_t d = 0; d < m.layout.sizes.size(); ++d)
    s += (d ? ", " : "") + declared_text(p, m.layout.sizes[d].str());
  s += "]";
  if (m.device != Device::cpu()) s += "@" + m.device.str();
  return s;
}

/// Of an output or an alias of one.
std::string output_type(const Program& p, std::size_t output) {
  const graph::Graph& g = p.graph;
  const graph::OutputSpec& o = g.outputs[output];
  TensorMeta m = g.meta(o.value                              ? o.value
                        : o.kind == OutputKind::AliasOfInput ? g.inputs[o.source].value
                                                             : g.outputs[o.source].value);
  if (!o.value) m.layout.sizes = o.layout.sizes;
  return type_text(p, m);
}

std::string result_name(const Program& p, std::int32_t result) {
  if (result == -1) return "None";
  if (result < 0) return value_name(p.graph.inputs[static_cast<std::size_t>(-2 - result)].value);
  return output_name(p.graph, static_cast<std::size_t>(result));
}
std::string result_type(const Program& p, std::int32_t result) {
  if (result == -1) return "undefined";
  if (result < 0) return type_text(p, p.graph.meta(p.graph.inputs[static_cast<std::size_t>(-2 - result)].value));
  return output_type(p, static_cast<std::size_t>(result));
}

std::string constant_text(const SpecLeaf& l) {
  switch (l.kind) {
    case SpecLeaf::Kind::Text: return "'" + l.text + "'";
    case SpecLeaf::Kind::Flag: return l.word ? "true" : "false";
    case SpecLeaf::Kind::Number: return Scalar(std::bit_cast<double>(l.word)).str();
    default: return std::to_string(l.word);
  }
}

std::string in_spec(const Program& p) {
  std::string s;
  for (const SpecLeaf& l : p.arguments) {
    if (l.bound || l.kind == SpecLeaf::Kind::Length || l.kind == SpecLeaf::Kind::Presence) continue;
    s += (s.empty() ? "" : ", ") + l.path + ": ";
    if (l.kind == SpecLeaf::Kind::Tensor) s += type_text(p, p.graph.meta(p.graph.inputs[l.at].value));
    else if (l.is_constant()) s += "= " + constant_text(l);
    else s += spec_kind_name(l.kind);
  }
  return "(" + s + ")";
}

std::string out_spec(const Program& p) {
  guards::ShowExpressions symbols;
  std::string s;
  std::size_t tensor = 0;
  for (const SpecLeaf& l : p.results) {
    if (l.kind == SpecLeaf::Kind::Length || l.kind == SpecLeaf::Kind::Presence) continue;
    s += (s.empty() ? "" : ", ") + (l.path.empty() ? "" : l.path + ": ");
    if (l.kind == SpecLeaf::Kind::Tensor || l.kind == SpecLeaf::Kind::Undefined)
      s += result_type(p, p.tensor_results[tensor++]);
    else if (l.is_constant()) s += "= " + constant_text(l);
    else s += std::string(spec_kind_name(l.kind)) + " " + declared_text(p, p.number_results[l.at].str());
  }
  return "(" + s + ")";
}

}  // namespace

std::string output_name(const graph::Graph& g, std::size_t output) {
  guards::ShowExpressions symbols;
  const graph::OutputSpec& o = g.outputs[output];
  if (o.value) return value_name(o.value);
  std::string s = o.kind == OutputKind::AliasOfInput ? value_name(g.inputs[o.source].value) : output_name(g, o.source);
  for (const graph::ViewStep& step : o.recipe) s += "." + step_text(step);
  return s;
}

GraphSignature signature_of(const Program& p) {
  guards::ShowExpressions symbols;
  const graph::Graph& g = p.graph;
  GraphSignature s;
  using Kind = graph::InputSpec::Kind;
  auto is_buffer = [&](std::size_t i) { return p.inputs[i].weight && g.inputs[i].kind == Kind::Buffer; };
  for (std::size_t i = 0; i < g.inputs.size(); ++i) {
    const std::string value = value_name(g.inputs[i].value);
    if (!p.inputs[i].weight) {
      s.user_inputs.push_back(value);
    } else if (is_buffer(i)) {
      s.buffers.push_back(p.inputs[i].name);
      s.inputs_to_buffers[value] = p.inputs[i].name;
    } else {
      s.parameters.push_back(p.inputs[i].name);
      s.inputs_to_parameters[value] = p.inputs[i].name;
    }
  }
  for (const SpecLeaf& l : p.arguments)
    if (l.is_number() && !l.bound) s.user_inputs.push_back("s" + std::to_string(g.numbers[l.at].symbol));
  for (const graph::OutputSpec& o : g.outputs) {
    if (o.kind != OutputKind::NewValueOfInput) continue;
    auto& to = is_buffer(o.source)         ? s.buffers_to_mutate
               : p.inputs[o.source].weight ? s.parameters_to_mutate
                                           : s.user_inputs_to_mutate;
    to[value_name(o.value)] = p.inputs[o.source].name;
  }
  for (std::size_t i = 0; i < p.user_results(); ++i) s.user_outputs.push_back(result_name(p, p.tensor_results[i]));
  for (const Int& n : p.number_results) s.user_outputs.push_back(n.str());
  if (p.loss >= 0) {
    BackwardSignature& b = s.backward_signature.emplace();
    b.loss_output = s.user_outputs[static_cast<std::size_t>(p.loss)];
    for (std::size_t k = 0; k < p.gradients.size(); ++k) {
      const std::uint32_t of = p.gradients[k];
      auto& to = p.inputs[of].weight ? b.gradients_to_parameters : b.gradients_to_user_inputs;
      to[result_name(p, p.tensor_results[p.user_results() + k])] = p.inputs[of].name;
    }
    for (const std::uint32_t d : p.detached) s.detached.push_back(s.user_outputs[d]);
  }
  s.in_spec = in_spec(p), s.out_spec = out_spec(p);
  return s;
}

void print_readable(const Program& p, std::ostream& out) {
  const GraphSignature& s = p.signature;
  out << "program " << p.name << s.in_spec << " -> " << s.out_spec << "\n";
  for (std::size_t i = 0; i < p.inputs.size(); ++i) {
    const graph::InputSpec& in = p.graph.inputs[i];
    out << "  " << value_name(in.value) << " "
        << (!p.inputs[i].weight                         ? "argument"
            : in.kind == graph::InputSpec::Kind::Buffer ? "buffer"
                                                        : "parameter")
        << " " << p.inputs[i].name << ": " << word_text(p.inputs[i].word) << (in.mutates_data ? ", written" : "");
    if (p.inputs[i].tied_to >= 0) out << ", is " << p.inputs[static_cast<std::size_t>(p.inputs[i].tied_to)].name;
    out << "\n";
  }
  for (const std::string& g : guard_texts(p)) out << "  guard " << g << "\n";
  if (s.backward_signature) {
    out << "  loss " << s.backward_signature->loss_output << "\n";
    for (const auto& [from, of] : s.backward_signature->gradients_to_parameters)
      out << "  gradient " << from << " of " << of << "\n";
    for (const auto& [from, of] : s.backward_signature->gradients_to_user_inputs)
      out << "  gradient " << from << " of " << of << "\n";
    for (const std::string& d : s.detached) out << "  detached " << d << ": it would want gradients beside the loss\n";
  }
  for (const std::string& o : p.operators) out << "  operator " << o << "\n";
  out << graph::print(p.graph);
}

namespace {

void print_rows(const std::vector<std::vector<std::string>>& rows, std::ostream& out) {
  std::vector<std::size_t> widths(rows[0].size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size() + 2, ' ');
    }
    out << line.substr(0, line.find_last_not_of(' ') + 1) << "\n";
  }
}

std::string results_text(const graph::Node& n) {
  std::string s;
  for (graph::ValueId r : n.results) s += (s.empty() ? "" : ", ") + value_name(r);
  return s;
}
std::string operands_text(const graph::Node& n) {
  std::string s;
  graph::for_each_value(n, [&](graph::ValueId v) { s += (s.empty() ? "" : ", ") + value_name(v); });
  return s;
}
std::string line_text(const graph::NodeInfo& info) {
  if (!info.loc) return "";
  const std::string_view file = info.loc.file;
  return std::string(file.substr(file.find_last_of('/') + 1)) + ":" + std::to_string(info.loc.line);
}

}  // namespace

void print_tabular(const Program& p, std::ostream& out) {
  const graph::Graph& g = p.graph;
  std::vector<std::vector<std::string>> rows{{"opcode", "name", "target", "operands", "type"}};
  for (std::size_t i = 0; i < g.inputs.size(); ++i)
    rows.push_back(
        {"placeholder", value_name(g.inputs[i].value), p.inputs[i].name, "", type_text(p, g.meta(g.inputs[i].value))});
  for (const graph::NumberInput& n : g.numbers)
    rows.push_back(
        {"placeholder", "s" + std::to_string(n.symbol), n.name, "", std::string(graph::number_kind_name(n.kind))});
  for (const graph::Node& n : g.nodes) {
    std::string types;
    for (graph::ValueId r : n.results) types += (types.empty() ? "" : ", ") + type_text(p, g.meta(r));
    rows.push_back({"call_function", results_text(n), std::string(graph::op(n.op).name()), operands_text(n), types});
  }
  for (std::size_t i = 0; i < g.outputs.size(); ++i) {
    const graph::OutputSpec& o = g.outputs[i];
    const std::string target = o.kind == OutputKind::NewValueOfInput ? "new value of " + p.inputs[o.source].name
                               : o.kind == OutputKind::Intermediate  ? "intermediate"
                                                                     : "result";
    rows.push_back({"output", std::to_string(i), target, output_name(g, i), output_type(p, i)});
  }
  print_rows(rows, out);
}

void print_sequence_table(const Program& p, std::ostream& out) {
  std::vector<std::vector<std::string>> rows{{"sequence", "forward", "operator", "results", "scope", "line"}};
  for (const graph::Node& n : p.graph.nodes)
    rows.push_back({n.info.sequence < 0 ? "" : std::to_string(n.info.sequence),
                    n.info.forward_of < 0 ? "" : std::to_string(n.info.forward_of), std::string(graph::op(n.op).name()),
                    results_text(n), n.info.scope ? *n.info.scope : "", line_text(n.info)});
  print_rows(rows, out);
}

}  // namespace reprise::detail
