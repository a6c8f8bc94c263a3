#include "base/knobs.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "base/counters.h"
#include "base/hash.h"
#include "base/nearest.h"
#include "base/shown.h"

namespace reprise {
namespace {

struct Env {
  Env(const char* n, const char* v) : name(n) { setenv(n, v, 1); }
  ~Env() { unsetenv(name); }
  const char* name;
};

TEST(Knobs, ValueDecidesNotPresence) {
  std::vector<std::string> problems;
  {
    Env a("REPRISE_VERIFY", "0"), b("REPRISE_THREADS", "3"), c("REPRISE_MODE", "no-fuse"),
        d("REPRISE_POOL_RESERVE", "2G");
    Knobs k = knobs_from_environment(&problems);
    EXPECT_EQ(k.verify, 0);
    EXPECT_EQ(k.threads, 3);
    EXPECT_EQ(k.mode, "no-fuse");
    EXPECT_EQ(k.pool_reserve, std::int64_t{2} << 30);
  }
  EXPECT_TRUE(problems.empty());
  Knobs k = knobs_from_environment(&problems);
  EXPECT_EQ(k.mode, "full");
  EXPECT_EQ(k.recordings_max, 256);
}

TEST(Knobs, BadValuesAndUnknownNamesAreReportedAndIgnored) {
  std::vector<std::string> problems;
  Env a("REPRISE_THREADS", "many"), b("REPRISE_TREADS", "1"), c("REPRISE_RECORDINGS_MAX", "99999999999999999999");
  Knobs k = knobs_from_environment(&problems);
  EXPECT_EQ(k.threads, 0);
  EXPECT_EQ(k.recordings_max, 256);
  ASSERT_EQ(problems.size(), 3u);
  std::string all = problems[0] + "|" + problems[1] + "|" + problems[2];
  EXPECT_NE(all.find("REPRISE_THREADS=many is no number"), std::string::npos) << all;
  EXPECT_NE(all.find("REPRISE_TREADS; did you mean REPRISE_THREADS?"), std::string::npos) << all;
}

TEST(Knobs, EmptyIsAsGoodAsNotSet) {
  std::vector<std::string> problems;
  const std::vector<KnobInfo> table = knob_table();
  for (const KnobInfo& k : table) setenv(k.variable.c_str(), "", 1);
  Knobs k = knobs_from_environment(&problems);
  for (const KnobInfo& row : table) unsetenv(row.variable.c_str());
  const Knobs d;
#define REPRISE_KNOB(name, type, def, code, help) EXPECT_EQ(k.name, d.name) << #name;
#include "base/knobs.def"
#undef REPRISE_KNOB
  EXPECT_TRUE(problems.empty()) << problems[0];
}

TEST(Knobs, ValuesOutsideWhatAKnobMeansAreReportedAndIgnored) {
  const std::pair<const char*, const char*> bad[] = {
      {"REPRISE_MODE", "fast"},           {"REPRISE_MODE", "FULL"},
      {"REPRISE_CUDA_POINTERS", "x"},     {"REPRISE_CUDA_PRODUCTS", "x"},
      {"REPRISE_CUDA_DEBUG", "x"},        {"REPRISE_THREADS", "-1"},
      {"REPRISE_THREADS", "9999999"},     {"REPRISE_RECORDINGS_MAX", "4G"},
      {"REPRISE_RECORDINGS_BYTES", "-1"}, {"REPRISE_CACHE_BYTES", "-5K"},
      {"REPRISE_VERIFY", "1 "},           {"REPRISE_VERIFY", "0x1"},
      {"REPRISE_VECTOR_BITS", "77"},      {"REPRISE_POOL_RESERVE", "9223372036854775807G"}};
  const Knobs d;
  for (auto& [name, value] : bad) {
    std::vector<std::string> problems;
    Env e(name, value);
    Knobs k = knobs_from_environment(&problems);
    ASSERT_EQ(problems.size(), 1u) << name << "=" << value;
    EXPECT_EQ(problems[0].rfind(std::string(name) + "=" + value + " is no", 0), 0u) << problems[0];
    EXPECT_TRUE(problems[0].ends_with("; ignored")) << problems[0];
#define REPRISE_KNOB(name, type, def, code, help) EXPECT_EQ(k.name, d.name) << #name;
#include "base/knobs.def"
#undef REPRISE_KNOB
  }
  Env e("REPRISE_MODE", "fast");
  std::vector<std::string> problems;
  knobs_from_environment(&problems);
  EXPECT_EQ(problems[0], "REPRISE_MODE=fast is none of off, interpret, no-fuse, full; ignored");
}

TEST(Knobs, TheProcessorIsNamedByWhatThereIs) {
  for (const char* text : {"foo", "avx9", "-foo", "avx2,foo", "avx2,avx512", "avx2,,amx", "AVX2", "avx2 ", "-emulated",
                           "_avx2", ",", "\x1b[31m"}) {
    std::vector<std::string> problems;
    Env e("REPRISE_CPU", text);
    EXPECT_EQ(knobs_from_environment(&problems).cpu, "") << text;
    ASSERT_EQ(problems.size(), 1u) << text;
    EXPECT_TRUE(problems[0].starts_with("REPRISE_CPU=" + shown(text) + " is ")) << problems[0];
    EXPECT_TRUE(problems[0].ends_with("; ignored")) << problems[0];
  }
  for (const char* text : {"x86-64-v2", "x86_64_v2", "amx,emulated", "avx512-bf16,emulated", "-amx,-avx512_vnni",
                           "avx2,-f16c", "avx512_vnni"}) {
    std::vector<std::string> problems;
    Env e("REPRISE_CPU", text);
    EXPECT_EQ(knobs_from_environment(&problems).cpu, text);
    EXPECT_TRUE(problems.empty()) << problems[0];
  }
}

TEST(Knobs, CodeKeyFollowsTheKnobsThatChangeCodeAlone) {
  std::uint64_t before = code_key();
  {
    Scoped a(knobs().threads, 7);
    Scoped b(knobs().mode, "interpret");
    EXPECT_EQ(code_key(), before);
    Scoped c(knobs().vector_bits, 256);
    EXPECT_NE(code_key(), before);
  }
  EXPECT_EQ(code_key(), before);
  EXPECT_EQ(knobs().vector_bits, Knobs().vector_bits);
}

TEST(Knobs, TableListsEveryKnob) {
  std::set<std::string> names;
  for (const KnobInfo& k : knob_table()) {
    EXPECT_FALSE(k.help.empty());
    names.insert(k.variable);
  }
  EXPECT_TRUE(names.count("REPRISE_LOG_FILE"));
  EXPECT_TRUE(names.count("REPRISE_VECTOR_BITS"));
}

TEST(Counters, SnapshotsSubtract) {
  CounterSnapshot before = counter_snapshot();
  counters().replays.add();
  counters().epilogue_copied_bytes.add(4096);
  CounterSnapshot d = counter_snapshot() - before;
  EXPECT_EQ(d, (CounterSnapshot{.replays = 1, .epilogue_copied_bytes = 4096}));
  EXPECT_EQ(d.str(), "replays 1, epilogue_copied_bytes 4096");
}

TEST(Hash, IsStableAndSeesOrderLengthAndEveryByte) {
  EXPECT_EQ(hash_text("reprise"), hash_text(std::string("reprise")));
  EXPECT_EQ(hash_text("reprise"), 0xda2f6ff81978de6full);  // kernel caches on disk hold such values
  EXPECT_NE(hash_text(""), hash_text(std::string_view("\0", 1)));
  EXPECT_NE(hash_text("ab"), hash_text("ba"));
  std::set<std::uint64_t> all;
  for (std::int64_t a = -20; a < 20; ++a)
    for (std::int64_t b = -20; b < 20; ++b)
      all.insert(hash_mix(hash_mix(kHashSeed, static_cast<std::uint64_t>(a)), static_cast<std::uint64_t>(b)));
  EXPECT_EQ(all.size(), 1600u);
  std::set<std::uint64_t> low;
  for (std::uint64_t i = 0; i < 4096; ++i) low.insert(hash_mix(kHashSeed, i) & 0xfff);
  EXPECT_GT(low.size(), 2400u);  // a random function hits 63 % of the slots
}

TEST(Nearest, SmallestEditDistanceWins) {
  EXPECT_EQ(nearest_name("flaot32", {"int32", "float32", "bool"}), "float32");
  EXPECT_EQ(nearest_name("x", {}), "");
  const std::string long_name(1 << 20, 'x');  // names come out of files, too: this takes no time
  EXPECT_EQ(nearest_name(long_name, {"y", long_name}), long_name);
}

}  // namespace
}  // namespace reprise
