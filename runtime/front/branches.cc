// Calls of functions that branch on values: from path to path (Note [Branches on values] in runtime/build/branches.h).
#include <algorithm>
#include <map>

#include "base/bail.h"
#include "base/epochs.h"
#include "base/line_text.h"
#include "base/log.h"
#include "runtime/call/call.h"
#include "runtime/front/compiled.h"
#include "runtime/front/nearest_miss.h"

#include <nlohmann/json.hpp>

namespace reprise::detail {

namespace {

std::string text_of(const Specialization::Branch& b, std::int64_t outcome) {
  const std::string line = line_text(b.outcome.loc, "a branch on a tensor");
  if (b.is_number) return line + ": " + b.condition + " is " + std::to_string(outcome);
  return line + ": " + b.condition + (outcome ? " holds" : " does not hold");
}

/// The call leaves `s`, which has changed nothing, for who has the decisions that are known now.
const Specialization* follow(Compiled& c, const Specialization& s, CallFrame& f, const runtime::PathMissed& missed,
                             PathOfCall& path) {
  path.tried.push_back(&s);
  if (path.tried.size() > 2 * kMostDecisions)
    bail(Bail::asks_of_data, "compile", missed.outcome.loc, "the function's branches on values lead in a circle");
  const Specialization::Branch& branch = s.branches[missed.decision];
  if (missed.known) {
    path.known.clear();
    for (std::size_t i = 0; i < missed.decision; ++i) path.known.push_back(s.branches[i].outcome);
    path.known.push_back(missed.outcome);
  }
  path.where = missed.outcome.loc;
  f.values.resize(s.own_values), f.tensors.resize(s.own_tensors);
  const Specialization* next = lookup_path(c, f, s.hash, path.known, path.tried);
  path.missing = !next;
  if (!next) {
    path.from = s.name;
    path.missed = text_of(branch, missed.outcome.value);
    path.hand.reset();
    epochs::end(epochs::mine());  // it is compiled, and `s` may go
    return nullptr;
  }
  c.branch_dispatches.fetch_add(1, std::memory_order_relaxed);
  if (logs::on(logs::Channel::Branches))
    logs::event(logs::Event::dispatched, s.name,
                text_of(branch, missed.outcome.value) + ": " + next->name + " serves it",
                {{"decision", missed.decision},
                 {"outcome", missed.outcome.value},
                 {"file", missed.outcome.loc ? missed.outcome.loc.file : ""},
                 {"line", missed.outcome.loc.line},
                 {"to", next->name}});
  return next;
}

}  // namespace

const Specialization* run_path(Compiled& c, const Specialization& s, CallFrame& f, Outputs& outputs, PathOfCall& path) {
  path.missing = false;
  const std::optional<runtime::PathMissed> missed = run_on(s, f, outputs, &path.known, &path.hand);
  if (!missed) {
    // Where the one before has computed all that this one needs, and more, calls go on to begin there: what changes
    // over to this one runs no stage twice, the other way round it would.
    const bool stays = path.hand && path.hand->gave_more && path.hand->taken == path.hand->stages.size();
    if (!path.tried.empty() && !stays) note_hit(c, s);
    return nullptr;
  }
  const Specialization* next = follow(c, s, f, *missed, path);
  if (!next) outputs.reading = false;
  return next;
}

const Specialization* find_path(Compiled& c, const Specialization& s, CallFrame& f, PathOfCall& path) {
  path.missing = false;
  const Specialization* now = &s;
  while (now) {
    const std::optional<runtime::PathMissed> missed = missed_path(*now, f, path.known);
    if (!missed) return now;
    now = follow(c, *now, f, *missed, path);
  }
  return nullptr;
}

NearestMiss nearest_of_path(const PathOfCall& path) {
  NearestMiss n;
  n.name = path.from;
  n.failed = "another path: " + path.missed;
  n.remedy = "each path is compiled once (CompileOptions::branches)";
  n.line = line_text(path.where);
  return n;
}

std::string too_many_paths(const Compiled& c, const PathOfCall* path) {
  std::string text = "the function branches on values of tensors in more ways than CompileOptions::branches keeps (" +
                     std::to_string(c.options.branches) + " of calls with this structure)";
  if (!path) return text;
  text += "; the latest: " + path->missed;
  constexpr std::size_t kLoop = 4;
  std::map<std::uint32_t, std::size_t> by_line;
  for (const Outcome& o : path->known)
    if (++by_line[o.loc.line] == kLoop) {
      text += "; a loop that ends by a value is a while_loop, compiled once for any number of turns";
      break;
    }
  return text;
}

namespace {

/// Leaves whose first `depth` decisions are the same.
void print_tree(const std::vector<const Specialization*>& leaves, std::size_t depth, const std::string& indent,
                std::string& out) {
  std::map<std::pair<std::uint32_t, std::int64_t>, std::vector<const Specialization*>> sides;
  for (const Specialization* s : leaves) {
    if (s->branches.size() > depth) {
      const Outcome& o = s->branches[depth].outcome;
      sides[{o.loc.line, o.value}].push_back(s);
    } else {
      out += indent + s->name + ", " + std::to_string(s->replays.load(std::memory_order_relaxed)) + " calls\n";
    }
  }
  for (const auto& [side, those] : sides) {
    const Specialization::Branch& b = those.front()->branches[depth];
    out += indent + text_of(b, b.outcome.value) + "\n";
    print_tree(those, depth + 1, indent + "  ", out);
  }
}

}  // namespace

std::string print_branches(const Compiled& c) {
  std::map<std::uint64_t, std::vector<const Specialization*>> trees;
  for (const auto& s : c.owned)
    if (s->decides) trees[s->hash].push_back(s.get());
  std::string out;
  for (const auto& [hash, leaves] : trees) {
    out += "\nbranches on values: " + std::to_string(leaves.size()) + (leaves.size() == 1 ? " path" : " paths") +
           " of at most " + std::to_string(c.options.branches) + "\n";
    print_tree(leaves, 0, "  ", out);
  }
  return out;
}

}  // namespace reprise::detail
