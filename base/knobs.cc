#include "base/knobs.h"

#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "base/hash.h"
#include "base/list.h"
#include "base/nearest.h"
#include "base/shown.h"

namespace reprise {
namespace {

std::string variable_of(std::string_view knob) {
  std::string s = "REPRISE_";
  for (char c : knob) s += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return s;
}

/// What a knob accepts beyond its type; a knob without a row takes every text, or every number from 0.
struct Range {
  std::string_view knob;
  std::vector<std::string_view> texts;
  std::int64_t most = INT64_MAX;
};
const Range& range_of(std::string_view knob) {
  static const auto& rows = *new std::vector<Range>{{"mode", {"off", "interpret", "no-fuse", "full"}},
                                                    {"cpu", {}},
                                                    {"cuda_pointers", {"block", "nodes"}},
                                                    {"cuda_early", {"on", "off"}},
                                                    {"cuda_warpgroups", {"on", "off"}},
                                                    {"cuda_captures", {"child", "flat"}},
                                                    {"cuda_debug", {"serial"}},
                                                    {"cuda_products", {"own", "library", "auto"}},
                                                    {"cuda_tf32", {"on", "off"}},
                                                    {"writers", {"views", "values"}},
                                                    {"recipes", {"on", "off", "verify"}},
                                                    {"verify", {}, 9},
                                                    {"validate", {}, 1},
                                                    {"profile", {}, 1},
                                                    {"perf_map", {}, 1},
                                                    {"gdb", {}, 1},
                                                    {"threads", {}, 1 << 16},
                                                    {"vector_bits", {"0", "128", "256", "512"}},
                                                    {"recordings_max", {}, INT32_MAX}};
  static const auto& any = *new Range;
  auto row = std::find_if(rows.begin(), rows.end(), [&](const Range& r) { return r.knob == knob; });
  return row == rows.end() ? any : *row;
}

/// Whether the knob cpu is well-formed: words with commas between, one level at most. Whether the processor has what
/// is named is asked by device/cpu_info.h, whose names these are.
std::string not_of_cpu(std::string_view text) {
  using Names = std::vector<std::string_view>;
  static const auto& levels = *new Names{"x86-64-v2", "avx2", "avx512", "avx512-vnni", "avx512-bf16", "amx"};
  static const auto& features =
      *new Names{"avx2",        "f16c",        "avx-vnni", "avx512",   "avx512-vbmi", "avx512-vnni",
                 "avx512-bf16", "avx512-fp16", "amx-bf16", "amx-int8", "amx"};
  int named = 0;
  std::string wrong;
  for_each_listed(text, [&](std::string_view given) {
    const bool less = given.starts_with('-');
    std::string word(given.substr(less));
    std::replace(word.begin(), word.end(), '_', '-');
    const auto& of = less ? features : levels;
    const bool is_there = std::find(of.begin(), of.end(), word) != of.end();
    if (!is_there && (less || word != "emulated"))
      wrong = less ? "less a feature that is none of " + listed(of) : "none of " + listed(of) + ", emulated";
    named += is_there && !less;
  });
  return !wrong.empty() ? wrong : named > 1 ? "more than one level" : "";
}

/// Empty: it is one of the texts, if there are any. Otherwise what was wanted.
std::string none_of(std::string_view text, const Range& range) {
  if (range.texts.empty() || std::find(range.texts.begin(), range.texts.end(), text) != range.texts.end()) return "";
  return "none of " + listed(range.texts);
}

/// Empty: taken.
std::string parse(std::string_view text, const Range& range, std::string& out) {
  std::string wrong = range.knob == "cpu" ? not_of_cpu(text) : none_of(text, range);
  if (wrong.empty()) out = text;
  return wrong;
}
/// Decimal, with an optional K, M, G suffix (powers of 1024).
bool parse(std::string_view text, std::int64_t& out) {
  std::int64_t v = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc{}) return false;
  std::string_view suffix(end, static_cast<std::size_t>(text.data() + text.size() - end));
  int shift = suffix.empty() ? 0 : suffix == "K" ? 10 : suffix == "M" ? 20 : suffix == "G" ? 30 : -1;
  if (shift < 0 || __builtin_mul_overflow(v, std::int64_t{1} << shift, &v)) return false;
  out = v;
  return true;
}

std::uint64_t mix(std::uint64_t h, std::int64_t v) { return hash_mix(h, static_cast<std::uint64_t>(v)); }
[[maybe_unused]] std::uint64_t mix(std::uint64_t h, const std::string& v) { return hash_mix(h, std::string_view(v)); }

std::string parse(std::string_view text, const Range& range, std::int64_t& out) {
  std::int64_t v = 0;
  if (!parse(text, v)) return "no number (decimal, perhaps with K, M or G behind it)";
  if (v < 0 || v > range.most) return "not from 0 to " + std::to_string(range.most);
  std::string wrong = none_of(std::to_string(v), range);
  if (wrong.empty()) out = v;
  return wrong;
}

/// A variable that is set to nothing is as good as not set: scripts write VARIABLE= for that.
template <class T>
void set_knob(std::string_view text, T& out, std::string_view knob, const std::string& variable,
              std::vector<std::string>* problems) {
  if (text.empty()) return;
  const std::string wrong = parse(text, range_of(knob), out);
  if (!wrong.empty() && problems) problems->push_back(variable + "=" + shown(text) + " is " + wrong + "; ignored");
}

}  // namespace

Knobs knobs_from_environment(std::vector<std::string>* problems) {
  Knobs k;
  // a program with more rights than its caller: settings name files and libraries
  if (getauxval(AT_SECURE) != 0) return k;
  std::vector<std::string> known;
#define REPRISE_KNOB(name, type, def, code, help) known.push_back(variable_of(#name));
#include "base/knobs.def"
#undef REPRISE_KNOB
  const std::vector<std::string_view> names(known.begin(), known.end());
  std::size_t unknown = 0;  // the latest, counted from 1
  for (char** e = environ; e && *e; ++e) {
    std::string_view entry = *e;
    std::size_t eq = entry.find('=');
    if (!entry.starts_with("REPRISE_") || eq == std::string_view::npos) continue;
    if (entry.starts_with("REPRISE_TEST_") || entry.starts_with("REPRISE_SIM_")) continue;  // the test suite's own
    std::string variable(entry.substr(0, eq));
    std::string_view value = entry.substr(eq + 1);
    bool found = false;
#define REPRISE_KNOB(name, type, def, code, help) \
  if (variable == variable_of(#name)) found = true, set_knob(value, k.name, #name, variable, problems);
#include "base/knobs.def"
#undef REPRISE_KNOB
    if (!found && problems) {
      problems->push_back("unknown variable " + shown(variable) + "; did you mean " + nearest_name(variable, names) +
                          "?");
      unknown = problems->size();
    }
  }
  if (unknown) (*problems)[unknown - 1] += " There are: " + listed(names);  // once for all of them
  return k;
}

Knobs& knobs() {
  // Never destroyed, as nothing that an operator needs: destructors of static objects may use tensors. (base/log.cc
  // reports the problems.)
  static Knobs& k = *new Knobs(knobs_from_environment(nullptr));
  return k;
}

std::uint64_t code_key() {
  [[maybe_unused]] const Knobs& k = knobs();
  std::uint64_t h = kHashSeed;
#define REPRISE_KNOB(name, type, def, code, help) \
  if (code) h = mix(hash_mix(h, std::string_view(#name)), k.name);
#include "base/knobs.def"
#undef REPRISE_KNOB
  return h;
}

std::vector<KnobInfo> knob_table() {
  std::vector<KnobInfo> rows;
  const Knobs defaults;
#define REPRISE_KNOB(name, type, def, code, help)                     \
  {                                                                   \
    std::ostringstream s;                                             \
    s << defaults.name;                                               \
    rows.push_back({variable_of(#name), #type, s.str(), help, code}); \
  }
#include "base/knobs.def"
#undef REPRISE_KNOB
  return rows;
}

}  // namespace reprise
