// A program as text that reads like C++, and as JSON.
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/pairs/program.h"

namespace reprise::pairs {

namespace {

const char* const kSharingNames[] = {"none",       "y is x",         "y is of x",        "y and var.a overlap",
                                     "var.a is x", "var.b is var.a", "list[0] is var.a", "y is of var.b"};
const char* const kLayoutNames[] = {"plain", "transposed", "stepped"};
const char* const kTapeNames[] = {"none", "leaf", "computed", "view", "view of a leaf"};
const char* const kPoolNames[] = {"x", "y", "var.a", "var.b"};

std::string name_of(const Program& p, unsigned i) {
  while (i >= Program::kPool && p.steps[i - Program::kPool].row == Step::kNone &&
         p.steps[i - Program::kPool].wrap == Step::kNone)
    i = p.steps[i - Program::kPool].a;
  return i < Program::kPool ? kPoolNames[i] : "t" + std::to_string(i);
}

}  // namespace

std::string Call::str() const {
  std::string s =
      "n=" + std::to_string(n) + " m=" + std::to_string(m) + " k=" + std::to_string(k) + (yes ? " yes" : " no");
  if (sharing != Sharing::None) s += std::string(", ") + kSharingNames[static_cast<int>(sharing)];
  if (layout != Layout::Plain) s += std::string(", x ") + kLayoutNames[static_cast<int>(layout)];
  if (tape != Tape::None) s += std::string(", tape: ") + kTapeNames[static_cast<int>(tape)];
  return s + (again ? ", on what the call before left" : "");
}

std::string print(const Program& p, const std::vector<Call>& calls) {
  std::ostringstream out;
  for (const Chosen& c : p.settings) out << "setting: " << features()[c.feature].settings[c.setting].text << "\n";
  for (std::size_t i = 0; i < p.steps.size(); ++i) {
    const Step& s = p.steps[i];
    if (s.row == Step::kNone && s.wrap == Step::kNone) continue;
    out << "t" << i + Program::kPool << ": a = " << name_of(p, s.a) << ", b = " << name_of(p, s.b)
        << ", c = " << static_cast<double>(s.number) / 32.0 - 1.0 << ", d = " << s.dim << "\n";
    const char* row = s.row == Step::kNone ? "return a" : features()[s.feature].rows[s.row].text;
    if (s.wrap != Step::kNone)
      out << "    { " << features()[s.wrap_feature].wraps[s.wrap].text << " }\n    inner(a, b) ";
    else out << "    ";
    out << "{ " << row << " }\n";
  }
  out << "return {";
  for (std::size_t i = 0; i < p.results.size(); ++i) out << (i ? ", " : "") << name_of(p, p.results[i]);
  out << "}\n";
  for (const Call& c : calls) out << "call: " << c.str() << "\n";
  return out.str();
}

std::string json(const Program& p, const std::vector<Call>& calls, std::uint64_t seed) {
  nlohmann::json j{{"seed", seed},
                   {"features", nlohmann::json::array()},
                   {"settings", nlohmann::json::array()},
                   {"steps", nlohmann::json::array()},
                   {"results", p.results},
                   {"calls", nlohmann::json::array()}};
  for (unsigned f : p.features) j["features"].push_back(features()[f].name);
  for (const Chosen& c : p.settings) j["settings"].push_back(features()[c.feature].settings[c.setting].text);
  for (const Step& s : p.steps) {
    nlohmann::json step{{"a", s.a}, {"b", s.b}, {"c", static_cast<double>(s.number) / 32.0 - 1.0}, {"d", s.dim}};
    if (s.row != Step::kNone) step["row"] = features()[s.feature].rows[s.row].text;
    if (s.wrap != Step::kNone) step["wrap"] = features()[s.wrap_feature].wraps[s.wrap].text;
    j["steps"].push_back(std::move(step));
  }
  for (const Call& c : calls) {
    nlohmann::json call{{"n", c.n}, {"m", c.m}, {"k", c.k}, {"yes", c.yes}, {"data", c.data}, {"again", c.again}};
    call["sharing"] = kSharingNames[static_cast<int>(c.sharing)];
    call["layout"] = kLayoutNames[static_cast<int>(c.layout)];
    call["tape"] = kTapeNames[static_cast<int>(c.tape)];
    j["calls"].push_back(std::move(call));
  }
  return j.dump();
}

}  // namespace reprise::pairs
