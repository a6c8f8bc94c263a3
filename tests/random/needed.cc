#include "tests/random/needed.h"

#include <cctype>
#include <set>
#include <sstream>
#include <vector>

namespace reprise::fuzz {

namespace {

struct One {
  std::map<std::string, std::string> guards;  // why, by condition
  std::string made, but_for_layouts;
};

// Without the specialization's name and the sizes of the call that was traced.
std::string headline(const std::string& line) {
  const std::size_t from = line.find('('), where = line.rfind(" where ");
  return line.substr(from, where == std::string::npos ? where : where - from);
}

// "f32[s0, s1]{1, s0}" without the strides.
std::string without_strides(const std::string& line) {
  std::string out;
  bool inside = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '{' && i > 0 && line[i - 1] == ']') inside = true;
    if (!inside) out += line[i];
    if (line[i] == '}') inside = false;
  }
  return out;
}

// "  s0 != 1  ; broadcast, print.cc:41" is a condition and why it was asked.
void add_guard(const std::string& line, One& one) {
  const std::size_t begin = line.find_first_not_of(' '), semicolon = line.find("  ; ");
  if (begin == std::string::npos || semicolon == std::string::npos) return;
  std::string why = line.substr(semicolon + 4);
  if (const std::size_t comma = why.rfind(", ");
      comma != std::string::npos && why.find(':', comma) != std::string::npos)
    why.resize(comma);
  one.guards[line.substr(begin, semicolon - begin)] = why;
}

std::vector<One> read(const std::string& explained) {
  std::vector<One> all;
  enum { Nothing, Guards, Graph, Launches } at = Nothing;
  std::istringstream in(explained);
  for (std::string line; std::getline(in, line);) {
    if (line.find(" replays, ") != std::string::npos && !line.starts_with(" ")) all.emplace_back(), at = Nothing;
    else if (all.empty()) continue;
    else if (line.starts_with("  guards (")) at = Guards;
    else if (line == "  graph:") at = Graph;
    else if (line == "  launches:") at = Launches;
    else if (line.starts_with("served eagerly")) at = Nothing;
    else if (at == Guards) add_guard(line, all.back());
    else if (at == Graph || at == Launches) {
      if (line.starts_with("graph \"")) line = headline(line);
      all.back().made += line + "\n";
      all.back().but_for_layouts += at == Graph ? without_strides(line) + "\n" : "";
    }
  }
  return all;
}

}  // namespace

void Needed::add(const std::string& explained) {
  const std::vector<One> all = read(explained);
  for (std::size_t i = 0; i < all.size(); ++i) {
    ++specializations;
    const One *same = nullptr, *other_layout = nullptr;
    for (std::size_t j = 0; j < i && !same; ++j) {
      if (all[j].made == all[i].made) same = &all[j];
      else if (all[j].but_for_layouts == all[i].but_for_layouts) other_layout = &all[j];
    }
    but_for_layouts += !same && other_layout;
    if (!same) continue;
    ++twice;
    std::set<std::string> whys;
    for (const auto& [condition, why] : all[i].guards)
      if (!same->guards.contains(condition)) whys.insert(why);
    if (whys.empty()) whys.insert("");
    for (const std::string& why : whys) ++asked_by[why];
  }
}

}  // namespace reprise::fuzz
