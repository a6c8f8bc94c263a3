#include "tools/account.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/html.h"
#include "tools/log_file.h"

namespace reprise::tool {

using nlohmann::json;

namespace {

std::string function_of(const std::string& name) { return name.substr(0, name.rfind('/')); }

/// Of microseconds or bytes: what a hostile log says of them adds up, too.
std::int64_t amount_of(const json& e, const char* key) {
  return std::clamp<std::int64_t>(number_of(e, key), 0, std::int64_t{1} << 40);
}

std::string number_text(double v, const char* unit) {
  char s[48];
  std::snprintf(s, sizeof s, v < 10 ? "%.1f %s" : "%.0f %s", v, unit);
  return s;
}

/// What of a miss is the same when it comes again, and what is not. The texts are GuardSet::explain's and
/// StructureDifference's.
struct Parts {
  std::string what, line, value;
};
Parts parts_of(const std::string& failed) {
  const std::size_t wanted = failed.find("; wanted "), born = failed.find("guard born at "),
                    was = failed.rfind(", was ");
  Parts p;
  const std::string head = failed.substr(0, std::min(wanted, was));
  const std::size_t is = head.find(" is ");
  p.what = is == std::string::npos ? failed : head.substr(0, is);
  if (is != std::string::npos) p.value = head.substr(is + 4);
  if (wanted != std::string::npos && born != std::string::npos) p.line = failed.substr(born + 14);
  return p;
}

void add_value(Cause& c, const std::string& value) {
  constexpr std::size_t kMost = 8;
  if (value.empty() || std::find(c.values.begin(), c.values.end(), value) != c.values.end()) return;
  if (c.values.size() < kMost) c.values.push_back(shortened(value, 100));
  else ++c.values_left_out;
}

std::string cut(std::string text, std::size_t most) { return text.size() <= most ? text : shortened(text, most); }

}  // namespace

std::string time_text(std::int64_t us) {
  if (us < 1000) return std::to_string(us) + " us";
  return us < 1000000 ? number_text(static_cast<double>(us) / 1e3, "ms")
                      : number_text(static_cast<double>(us) / 1e6, "s");
}
std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " bytes";
  const double k = static_cast<double>(bytes) / 1024;
  if (k < 1024) return number_text(k, "KiB");
  return k < 1024 * 1024 ? number_text(k / 1024, "MiB") : number_text(k / 1024 / 1024, "GiB");
}

void Curve::add(double t, double v, std::size_t most) {
  if (seen++ % every) return;
  points.emplace_back(t, v);
  if (points.size() < most) return;
  for (std::size_t i = 0; 2 * i < points.size(); ++i) points[i] = points[2 * i];
  points.resize((points.size() + 1) / 2);
  every *= 2;
}

void Account::begin_file(const std::string& path) {
  files.push_back(path);
  lanes_.clear();
}

Function* Account::function(const std::string& name) {
  if (files.empty()) begin_file("");
  const auto [at, is_new] = by_name_.try_emplace({files.size() - 1, name}, functions.size());
  if (!is_new) return &functions[at->second];
  if (functions.size() >= bounds.functions) {
    by_name_.erase(at);
    ++functions_left_out;
    return nullptr;
  }
  functions.emplace_back();
  functions.back().name = name, functions.back().file = files.back();
  return &functions.back();
}

void Account::compiled(const json& e, Function& f, const std::string& name) {
  Compilation c;
  if (auto begun = f.begun.find(name); begun != f.begun.end()) {
    c = std::move(begun->second);
    f.begun.erase(begun);
  }
  c.name = name, c.at_ms = static_cast<double>(number_of(e, "t_us")) / 1e3;
  c.trace_us = amount_of(e, "trace_us"), c.build_us = amount_of(e, "build_us");
  c.guards = amount_of(e, "guards"), c.launches = amount_of(e, "launches");
  const std::int64_t functionalize = amount_of(e, "functionalize_us");
  c.phases = {std::max<std::int64_t>(c.trace_us - functionalize, 0),
              functionalize,
              amount_of(e, "passes_us"),
              amount_of(e, "lower_us"),
              amount_of(e, "code_us"),
              amount_of(e, "load_us")};
  ++f.compiled;
  f.lost_us += c.trace_us + c.build_us;
  for (std::size_t i = 0; i < c.phases.size(); ++i) f.phases[i] += c.phases[i];
  f.by_name[name] = f.compilations.size();
  if (f.compilations.size() < bounds.compilations) f.compilations.push_back(std::move(c));
  // the latest is what comes next
  else f.by_name[name] = f.compilations.size() - 1, f.compilations.back() = std::move(c);
  if (f.by_name.size() > 2 * bounds.compilations) f.by_name.clear();
}

// It follows its compilation.
void Account::recompiled(const json& e, Function& f, const std::string& name) {
  auto made = f.by_name.find(name);
  Compilation* c =
      made != f.by_name.end() && made->second < f.compilations.size() && f.compilations[made->second].name == name
          ? &f.compilations[made->second]
          : nullptr;
  const std::string failed = cut(text_of(e, "failed"), 4000), remedy = cut(text_of(e, "remedy"), 1000);
  if (c) c->against = text_of(e, "against"), c->failed = failed, c->remedy = remedy;
  Parts p = parts_of(failed);
  auto at = f.by_cause.find({p.what, p.line});
  if (at == f.by_cause.end()) {
    if (f.causes.size() >= bounds.causes) {
      ++f.causes_left_out;
      return;
    }
    at = f.by_cause.emplace(std::pair(p.what, p.line), f.causes.size()).first;
    f.causes.emplace_back();
    f.causes.back().what = p.what, f.causes.back().line = p.line;
  }
  Cause& cause = f.causes[at->second];
  ++cause.times;
  cause.example = failed, cause.remedy = remedy;
  if (c) cause.lost_us += c->trace_us + c->build_us;
  add_value(cause, p.value);
}

void Account::pool_grew(const json& e) {
  if (lanes_.size() > 10000) lanes_.clear();
  lanes_[text_of(e, "device") + " " + std::to_string(number_of(e, "lane"))] = amount_of(e, "bytes");
  std::int64_t all = 0;
  for (const auto& [lane, bytes] : lanes_) all += bytes;
  pool_bytes = std::max(pool_bytes, all);
  memory["pool" + (files.size() > 1 ? " in " + files.back() : "")].add(static_cast<double>(number_of(e, "t_us")) / 1e3,
                                                                       static_cast<double>(all), bounds.points);
}

void Account::take(const json& e) {
  ++events;
  const std::string event = text_of(e, "event"), name = text_of(e, "function");
  if (event == "pool_grew") return pool_grew(e);
  if (event == "warning") {
    const std::string text = text_of(e, "text");
    auto at = std::find_if(warnings.begin(), warnings.end(), [&](const auto& w) { return w.first == text; });
    if (at != warnings.end()) ++at->second;
    else if (warnings.size() < 200) warnings.emplace_back(cut(text, 2000), 1);
    return;
  }
  if (name.empty()) return;
  // Events of guards and passes are detail; the account is of what was compiled, recorded and refused, and of its
  // graphs where they are wanted.
  static const char* const told[] = {"compiled", "recompiled",     "not_traceable",    "compile_failed",
                                     "mutation", "recording_made", "recording_evicted"};
  static const char* const graphs[] = {"traced", "functionalized", "optimized", "launches"};
  auto is_one = [&](const auto& of) {
    return std::any_of(std::begin(of), std::end(of), [&](const char* t) { return event == t; });
  };
  const bool text = bounds.graphs && is_one(graphs);
  if (!text && !is_one(told)) return;
  Function* const found = function(function_of(name));
  if (!found) return;
  Function& f = *found;
  if (text) {
    if (event == "launches") {  // it follows the compilation
      if (auto made = f.by_name.find(name); made != f.by_name.end() && made->second < bounds.texts)
        f.compilations[made->second].listing = cut(text_of(e, "text"), bounds.text_bytes);
      return;
    }
    if (f.compilations.size() >= bounds.texts) return;
    if (f.begun.size() > 64) f.begun.clear();  // of compilations that failed
    Compilation& c = f.begun[name];
    (event == "traced"           ? c.traced
     : event == "functionalized" ? c.functional
                                 : c.optimized) = cut(text_of(e, "graph"), bounds.text_bytes);
  } else if (event == "compiled") {
    compiled(e, f, name);
  } else if (event == "recompiled") {
    recompiled(e, f, name);
  } else if (event == "mutation") {
    if (f.mutations.size() < 100) f.mutations.push_back(name + ": " + cut(text_of(e, "text"), 1000));
    else ++f.mutations_left_out;
  } else if (event == "recording_made" || event == "recording_evicted") {
    const bool made = event == "recording_made";
    ++(made ? f.recordings_made : f.recordings_evicted);
    f.recordings_live = number_of(e, "live");
    if (made) f.recording_bytes += amount_of(e, "bytes");
    else f.recording_bytes = amount_of(e, "bytes");
    f.largest_pool = std::max(f.largest_pool, amount_of(e, "pool_bytes"));
    if (name.find('/') != std::string::npos && memory.size() < 32)
      memory["recordings of " + f.name + (files.size() > 1 ? " in " + files.back() : "")].add(
          static_cast<double>(number_of(e, "t_us")) / 1e3, static_cast<double>(f.recording_bytes), bounds.points);
  } else {
    const std::string reason = cut(text_of(e, "reason"), 2000);
    if (auto at = f.refusals.find(reason); at != f.refusals.end()) ++at->second;
    else if (f.refusals.size() < 100) f.refusals.emplace(reason, 1);
  }
}

std::vector<const Function*> Account::by_time() const {
  std::vector<const Function*> out;
  for (const Function& f : functions) out.push_back(&f);
  std::stable_sort(out.begin(), out.end(),
                   [](const Function* a, const Function* b) { return a->lost_us > b->lost_us; });
  return out;
}

std::vector<Account::Advice> Account::advice(std::size_t most) const {
  std::vector<Advice> out;
  for (const Function& f : functions) {
    for (const Cause& c : f.causes) {
      std::string text = f.name + ": compiled again " + (c.times == 1 ? "once" : std::to_string(c.times) + " times") +
                         (c.lost_us ? ", " + time_text(c.lost_us) : "") + ", because of " + c.what;
      for (const std::string& v : c.values) text += (&v == &c.values.front() ? " (" : ", ") + v;
      if (!c.values.empty()) text += c.values_left_out ? ", ...)" : ")";
      if (!c.line.empty()) text += " at " + c.line;
      out.push_back({&f, c.lost_us, text + ". " + c.remedy});
    }
    for (const auto& [reason, times] : f.refusals) out.push_back({&f, 0, f.name + ": runs eagerly: " + reason});
    if (f.recordings_evicted > f.recordings_made / 2 && f.recordings_evicted >= 16)
      out.push_back(
          {&f, 0,
           f.name + ": " + std::to_string(f.recordings_evicted) + " of " + std::to_string(f.recordings_made) +
               " recordings were dropped for want of room: sizes take turns. Raise CompileOptions::recordings_max"});
  }
  std::stable_sort(out.begin(), out.end(), [](const Advice& a, const Advice& b) { return a.lost_us > b.lost_us; });
  if (out.size() > most) out.resize(most);
  return out;
}

}  // namespace reprise::tool
