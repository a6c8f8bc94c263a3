// What a program may do in place, times what it may give, times how its tensors lie and what they share: each cell
// eagerly and compiled, on tensors that share memory alike. After each of three calls (the traced one, a replay, other
// sizes) everything that a caller can see is compared (tests/random/compare.h), then written through, and compared
// again. A cell must be compiled, but for those of a short list, which must not be.
//
// A run takes a part of all cells: pairs of rows in full, the others in turns. MATRIX=all takes all (a million);
// MATRIX_SHARE=3/16: of what a run takes the third of 16 shares, each of which has cells of every row; MATRIX="text"
// those whose name has it.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>

#include "base/errors.h"
#include "base/hash.h"
#include "tests/matrix/cells.h"
#include "tests/random/compare.h"
#include "tests/support/device.h"

namespace reprise::matrix {
namespace {

struct Tally {
  int cells = 0, calls = 0, refused = 0, failures = 0;
  std::int64_t compilations = 0;
  std::vector<int> of_exception = std::vector<int>(exceptions().size());
};

const Exception* exception_of(const Cell& c) {
  for (const Exception& e : exceptions())
    if (e.is_one(c)) return &e;
  return nullptr;
}

fuzz::Seen everything(const std::vector<Tensor>& results, const Given& given, std::vector<fuzz::Version> versions) {
  fuzz::Seen s = fuzz::seen(results, given.all(), std::move(versions), std::vector<bool>(results.size(), true));
  s.names = Given::names();
  return s;
}

/// Empty, or how it differs.
std::string check(const Cell& c, Tally& tally) {
  Tensors compiled_in;
  const char* mode = tally.cells % 2 ? "interpret" : "full";
  auto f = compile(
      [&c, &z = compiled_in.z](Tensor x, Tensor y, Tensor ids) {
        return run(c, {x, y, z, ids});
      },
      {.name = "cell", .mode = mode});
  bool refused = false;
  for (int call = 0; call < 3; ++call) {
    Given want = make(c, call), got = make(c, call);
    compiled_in.z = got.tensors.z;
    const std::string at = "call " + std::to_string(call) + " (" + mode + "): ";
    const std::vector<fuzz::Version> want_versions = fuzz::versions_of(want.all()),
                                     got_versions = fuzz::versions_of(got.all());
    std::optional<ErrorCode> want_error, got_error;
    std::vector<Tensor> want_results, got_results;
    std::string message;
    try {
      want_results = run(c, want.tensors);
    } catch (const Error& e) {
      want_error = e.code();
      message = e.what();
    }
    const std::int64_t before = f.stats().eager_fallbacks;
    try {
      got_results = f(got.tensors.x, got.tensors.y, got.tensors.ids);
    } catch (const Error& e) {
      got_error = e.code();
      message = e.what();
    }
    const bool eagerly = f.stats().eager_fallbacks != before;
    ++tally.calls;
    auto name = [](std::optional<ErrorCode> e) {
      return e ? "throws " + std::string(error_code_name(*e)) : std::string("does not throw");
    };
    if (want_error != got_error)
      return at + "eager " + name(want_error) + ", compiled " + name(got_error) + ": " + message;
    if (want_error) {
      ++tally.refused, refused = true;
      if (eagerly) continue;
      const Given unwritten = make(c, call);
      std::string d = fuzz::difference(everything({}, unwritten, fuzz::versions_of(unwritten.all())),
                                       everything({}, got, got_versions), 0);
      if (!d.empty()) return at + "after an error, unwritten " + d;
      continue;
    }
    const fuzz::Seen w = everything(want_results, want, want_versions), g = everything(got_results, got, got_versions);
    if (std::string d = fuzz::difference(w, g, 0); !d.empty()) return at + d;
    if (std::string d = fuzz::difference_after_writes(w, g, 0, call == 0); !d.empty()) return at + d;
  }
  const Stats stats = f.stats();
  tally.compilations += stats.compilations;
  const Exception* allowed = exception_of(c);
  if (allowed) ++tally.of_exception[static_cast<std::size_t>(allowed - exceptions().data())];
  std::string served;
  for (const Stats::Fallback& r : stats.fallbacks)
    if (!allowed || std::string_view(allowed->reason) != r.reason)
      served += std::string(r.reason) + ": " + stats.last_fallback_reason;
  if (!served.empty()) return "served eagerly: " + served;
  if (allowed && !refused && stats.eager_fallbacks == 0 && !(allowed->may_be_compiled && allowed->may_be_compiled(c)))
    return std::string("compiled, which the list of exceptions says it is not: ") + allowed->what;
  return "";
}

/// Which cells a run takes: those whose number has a hash n with n % of == share. (The rows of the lists come in turns,
/// with which every n-th cell would keep step.)
struct Share {
  std::size_t share = 0, of = 1;
};
Share asked_share() {
  const char* const asked = std::getenv("MATRIX_SHARE");
  unsigned share = 1, of = 1;
  if (asked && (std::sscanf(asked, "%u/%u", &share, &of) != 2 || share == 0 || share > of))
    throw std::invalid_argument("MATRIX_SHARE is not like 3/16");
  return {share - 1, of};
}

Tally run_cells(const std::vector<Cell>& cells) {
  const char* const asked = std::getenv("MATRIX");
  const char* const most = std::getenv("MATRIX_FAILURES");
  const int most_failures = most ? std::atoi(most) : 10;
  const Share share = asked_share();
  std::size_t n = 0;
  Tally tally;
  for (const Cell& c : cells) {
    if (hash_mix(kHashSeed, n++) % share.of != share.share) continue;
    if (c.relation == Relation::TwoStorages && test::test_device() != Device::cpu()) continue;  // memory of the host
    if (asked && std::string(asked) != "all" && c.str().find(asked) == std::string::npos) continue;
    std::string d;
    try {
      d = check(c, tally);
    } catch (const std::exception& e) {
      d = e.what();
    }
    ++tally.cells;
    if (d.empty()) continue;
    ADD_FAILURE() << c.str() << "\n  " << d;
    if (++tally.failures >= most_failures) break;
  }
  std::printf("%d cells, %d calls, %d of them refused by both, %lld compilations\n", tally.cells, tally.calls,
              tally.refused, static_cast<long long>(tally.compilations));
  EXPECT_GT(tally.calls, 3 * tally.refused);
  return tally;
}

bool all_cells() {
  const char* const asked = std::getenv("MATRIX");
  return asked && std::string_view(asked) == "all";
}

template <class T, std::size_t N>
T turn(const T (&of)[N], std::size_t i) {
  return of[i % N];
}

std::vector<Cell> every_cell() {
  std::vector<Cell> cells;
  for (const Write& w : writes())
    for (const Result& r : results())
      for (Target t : kTargets)
        for (Relation relation : kRelations)
          for (XLayout l : kLayouts)
            for (Sizes s : kSizes)
              for (DType d : kDTypes) cells.push_back({&w, &r, t, relation, l, s, d});
  return cells;
}

// Primes that share no factor with the lengths of the lists, so that every pair of rows of two lists comes about.
TEST(Matrix, WritesByResultsByLayouts) {
  std::vector<Cell> cells;
  std::size_t i = 0;
  for (const Write& w : writes())
    for (const Result& r : results())
      for (XLayout l : kLayouts)
        ++i, cells.push_back({&w, &r, Target::Input, Relation::Apart, l, i % 3 ? Sizes::Some : turn(kSizes, i / 3),
                              turn(kDTypes, i / 7)});
  run_cells(cells);
}

TEST(Matrix, WritesByRelationsByTargets) {
  std::vector<Cell> cells;
  std::size_t i = 0;
  for (const Write& w : writes())
    for (Relation relation : kRelations)
      for (Target t : kTargets)
        for (int k = 0; k < 2; ++k)
          ++i, cells.push_back({&w, &results()[(i * 5 + i / 11) % results().size()], t, relation, turn(kLayouts, i / 5),
                                i % 3 ? Sizes::Some : turn(kSizes, i / 3), turn(kDTypes, i / 7)});
  const Tally tally = run_cells(cells);
  for (std::size_t i = 0; i < exceptions().size(); ++i)
    EXPECT_TRUE(tally.of_exception[i] > 0 || std::getenv("MATRIX") || test::test_device() != Device::cpu())
        << exceptions()[i].what;
}

TEST(Matrix, WritesBySizesByDTypes) {
  std::vector<Cell> cells;
  std::size_t i = 0;
  for (const Write& w : writes())
    for (Sizes s : kSizes)
      for (DType d : kDTypes)
        ++i, cells.push_back({&w, &results()[(i * 3 + i / 13) % results().size()], turn(kTargets, i / 4),
                              Relation::Apart, turn(kLayouts, i / 5), s, d});
  run_cells(cells);
}

TEST(Matrix, EveryCell) {
  if (!all_cells()) GTEST_SKIP() << "MATRIX=all";
  run_cells(every_cell());
}

}  // namespace
}  // namespace reprise::matrix
