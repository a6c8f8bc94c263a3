// reprise show, reprise diff: what stands in exported programs.
#include <algorithm>
#include <iostream>
#include <sstream>
#include <stdexcept>

#include "reprise/ops.h"
#include "runtime/export/program.h"
#include "tools/commands.h"

namespace reprise::tool {

namespace {

std::string text_of(const std::string& path) {
  const std::shared_ptr<detail::Program> p = detail::open_program(path, Reading::Mapped, {});
  std::ostringstream out;
  out << "format " << p->sections.at(std::string(detail::kVersionSection)) << "\n";
  detail::print_readable(*p, out);
  std::int64_t bytes = 0;
  for (const auto& [name, t] : p->weights) bytes += t.numel().value() * item_size(t.dtype());
  out << p->weights.size() << " weights in the file, " << bytes << " bytes\n";
  for (const auto& in : p->inputs)
    if (in.weight && in.tied_to < 0 && !p->weights.contains(in.name)) out << "to be bound: " << in.name << "\n";
  for (const auto& [level, code] : p->code) out << "machine code for " << level << ", " << code.size() << " bytes\n";
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) all.push_back(line);
  return all;
}

}  // namespace

int show(const std::vector<std::string>& args) {
  if (args.size() != 1) throw std::runtime_error("show takes one file, see reprise show --help");
  std::cout << text_of(args[0]);
  return 0;
}

// Lines are compared from both ends; what is between them differs. Weights are compared by their bytes.
int diff(const std::vector<std::string>& args) {
  if (args.size() != 2) throw std::runtime_error("diff takes two files, see reprise diff --help");
  const std::vector<std::string> a = lines_of(text_of(args[0])), b = lines_of(text_of(args[1]));
  std::size_t first = 0, last = 0;
  while (first < std::min(a.size(), b.size()) && a[first] == b[first]) ++first;
  while (last < std::min(a.size(), b.size()) - first && a[a.size() - 1 - last] == b[b.size() - 1 - last]) ++last;
  for (std::size_t i = first; i < a.size() - last; ++i) std::cout << "- " << a[i] << "\n";
  for (std::size_t i = first; i < b.size() - last; ++i) std::cout << "+ " << b[i] << "\n";
  bool differ = first < a.size() - last || first < b.size() - last;
  const auto p = detail::open_program(args[0], Reading::Mapped, {}),
             q = detail::open_program(args[1], Reading::Mapped, {});
  for (const auto& [name, t] : p->weights) {
    const auto at = q->weights.find(name);
    if (at == q->weights.end() || !equal(t, at->second)) std::cout << "weight " << name << " differs\n", differ = true;
  }
  return differ ? 1 : 0;
}

}  // namespace reprise::tool
