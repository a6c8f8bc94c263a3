#pragma once
#include "tests/support/op_case.h"

namespace reprise::test {

/// Is this argument one that may be a symbol in a graph?
inline bool is_symbolic(const graph::OpDef& def, std::size_t i) {
  const std::string& text = def.schema.text;
  const std::size_t end = text.find(" " + def.schema.args[i].name, text.find('('));
  const std::size_t begin = text.find_last_of("( ", end - 1) + 1;
  return text.compare(begin, 6, "SymInt") == 0;
}

/// The numbers of a call that may be symbols, in order; or the call with others in their place.
inline std::vector<Int> symbols_of(const OpCase& c) {
  std::vector<Int> all;
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    if (!is_symbolic(graph::op(c.op), i)) continue;
    if (auto* one = std::get_if<Int>(&c.args[i])) all.push_back(*one);
    if (auto* list = std::get_if<std::vector<Int>>(&c.args[i])) all.insert(all.end(), list->begin(), list->end());
  }
  return all;
}
inline OpCase with_symbols(OpCase c, const std::vector<Int>& symbols) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < c.args.size(); ++i) {
    if (!is_symbolic(graph::op(c.op), i)) continue;
    if (auto* one = std::get_if<Int>(&c.args[i])) *one = symbols[next++];
    if (auto* list = std::get_if<std::vector<Int>>(&c.args[i]))
      for (Int& n : *list) n = symbols[next++];
  }
  return c;
}

}  // namespace reprise::test
