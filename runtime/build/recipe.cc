#include "runtime/build/recipe.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/phases.h"
#include "device/backend.h"
#include "device/cpu_info.h"
#include "graph/graph_archive.h"
#include "jit/engine/disk_cache.h"
#include "jit/engine/engine.h"
#include "kernels/plan/lowered_archive.h"

#include <nlohmann/json.hpp>

namespace reprise::passes {
REPRISE_ARCHIVED(PatternRecord, name, matches, why, loc)
}

namespace reprise::runtime {

REPRISE_ARCHIVED(FoldedPart, graph, lowered, inputs, rows, unread_up_to)
REPRISE_ARCHIVED(SparedInput, input, rows, read_up_to)
REPRISE_ARCHIVED(FoldedParts, parts, frozen, spared, stands, written, declares, packed, mode)

namespace {

// A graph of fewer nodes is made as fast as it is read.
constexpr std::size_t kFewestNodes = 12;

/// The settings that may decide what is made, as text: all but those that say what is told, where things are kept, and
/// how much of them.
std::string settings() {
  constexpr std::string_view kOthers[] = {
      "log",         "log_file",  "trace", "trace_bytes", "profile", "recordings_max", "recordings_bytes",
      "code_bytes",  "eager_max", "dump",  "perf_map",    "gdb",     "pool_reserve",   "cache_dir",
      "cache_bytes", "recipes",   "check"};
  std::string s;
  auto add = [&](std::string_view name, const auto& value) {
    if (std::find(std::begin(kOthers), std::end(kOthers), name) != std::end(kOthers)) return;
    s.append(name) += '=';
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::string>) s += value;
    else s += std::to_string(value);
    s += '\n';
  };
#define REPRISE_KNOB(name, ...) add(#name, knobs().name);
#include "base/knobs.def"
#undef REPRISE_KNOB
  return s;
}

[[noreturn]] void differs(const std::string& name, const char* from) {
  const std::string what = "a recipe is not what it was " + std::string(from) + ": " + name;
  logs::warn(what);
  fail(ErrorCode::Internal, "compile", {}, what);
}

bool on_host(const graph::Graph& g) {
  return std::all_of(g.values.begin(), g.values.end(),
                     [](const graph::Value& v) { return device::runs_host_code(v.meta.device); });
}

/// Empty: a recipe of it is one for other processes, too.
std::string why_not(const graph::Graph& g) {
  if (knobs().recipes == "off") return "REPRISE_RECIPES is off";
  if (knobs().validate) return "what was concluded is to be proved";
  if (logs::on(logs::Channel::Passes) || logs::on(logs::Channel::Fusion))
    return "what passes and lowering tell is logged";
  if (!on_host(g)) return "it is for a device";
  if (graph::names_registered(g)) return "it has operators that the program has registered";
  return "";
}

}  // namespace

RecipePlace::RecipePlace(const std::string& name, const detail::Traced& t, kernels::Mode mode,
                         guards::Generality general, std::string why)
    : name_(name), env_(t.graph.env), begin_(guards::EnvArchive::mark(*t.graph.env)),
      verifies_(knobs().recipes == "verify"), start_(std::chrono::steady_clock::now()) {
  const graph::Graph& g = t.graph;
  if (!verifies_ && (g.nodes.size() < kFewestNodes || !jit::disk_is_there())) return;
  if (why.empty()) why = why_not(g);
  if (!why.empty()) {
    tell("not kept", why);
    return;
  }
  const InPhase phase(Phase::Load);
  graph::GraphWriter text;
  write(text, settings());
  write(text, jit::host().cpu), write(text, jit::host().features), write(text, device::cpu_info().str());
  write(text, mode);
  for (bool b : {general.slices, general.broadcasts, general.reshapes, general.layouts}) write(text, b);
  guards::EnvArchive::describe(text, *g.env);
  write(text, g), write(text, t.frozen), write(text, t.frozen_written), write(text, t.freezes_captured);
  key_ = "recipe " + jit::digest(text.bytes());
}

void RecipePlace::tell(const char* outcome, const std::string& why, std::size_t bytes) {
  if (!logs::on(logs::Channel::Compile)) return;
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - start_).count();
  logs::event(logs::Event::recipe, name_,
              "recipe " + std::string(outcome) + (why.empty() ? "" : ": " + why) +
                  (bytes ? ", " + std::to_string(bytes) + " bytes" : ""),
              {{"outcome", outcome}, {"why", why}, {"bytes", bytes}, {"us", us}});
}

Recipe RecipePlace::parse(std::string_view bytes, bool learns) const {
  kernels::LoweredReader from(bytes, env_);
  const std::vector<guards::Guard> added = guards::EnvArchive::read_added(from);
  Recipe r;
  read(from, r.graph), read(from, r.patterns), read(from, r.lowered), read(from, r.folded);
  if (!from.done()) r.kept = read<std::vector<std::uint32_t>>(from);
  if (!from.done()) throw DamagedArchive();
  if (learns) guards::EnvArchive::take_guards(*env_, added);
  return r;
}

std::optional<Recipe> RecipePlace::find() {
  if (key_.empty()) return std::nullopt;
  const InPhase phase(Phase::Load);
  std::string why;
  const device::ImagePtr image = jit::disk_load(key_, &why);
  if (!image) {
    if (!why.empty()) tell("not used", why);
    return std::nullopt;
  }
  if (verifies_) {
    there_ = image->code;
    return std::nullopt;
  }
  try {
    std::optional<Recipe> found = parse(image->code, true);
    if (!found->kept) throw DamagedArchive();
    if (knobs().verify >= 1) graph::verify(found->graph, "recipe");
    counters().recipes_found.add();
    tell("found", "", image->code.size());
    key_.clear();
    return found;
  } catch (const DamagedArchive& e) {
    tell("not used", e.what());
    return std::nullopt;
  }
}

void RecipePlace::made(Recipe& recipe) {
  if (key_.empty()) return;
  const InPhase phase(Phase::Load);
  counters().recipes_made.add();
  const guards::EnvMark end = guards::EnvArchive::mark(*env_);
  auto archive_of = [&](const Recipe& r) {
    kernels::LoweredWriter to;
    guards::EnvArchive::write_added(to, *env_, begin_, end);
    write(to, r.graph), write(to, r.patterns), write(to, r.lowered), write(to, r.folded);
    return to;
  };
  try {
    kernels::LoweredWriter to = archive_of(recipe);
    made_ = to.bytes();
    if (!verifies_) return;
    recipe = parse(made_, false);
    if (archive_of(recipe).bytes() != made_) differs(name_, "written as");
  } catch (const NotArchived& e) {
    tell("not kept", e.what());
    key_.clear();
  }
}

void RecipePlace::keep(const std::vector<std::uint32_t>& kept) {
  if (key_.empty()) return;
  const InPhase phase(Phase::Load);
  ArchiveWriter tail;
  write(tail, kept);
  made_ += tail.bytes();
  if (!there_.empty()) {
    if (there_ != made_) differs(name_, "made as before");
    return tell("verified", "", made_.size());
  }
  device::Image image;
  image.entry = "recipe";
  image.code = std::move(made_);
  const std::size_t bytes = image.code.size();
  jit::disk_store(key_, image);
  tell("kept", "", bytes);
}

}  // namespace reprise::runtime
