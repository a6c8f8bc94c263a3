#include "base/archive.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace reprise {
namespace {

enum class Colour : std::uint8_t { Red, Green };
struct Part {
  int n = 0;
  std::string name;
  friend bool operator==(const Part&, const Part&) = default;
};
REPRISE_ARCHIVED(Part, n, name)
struct Whole {
  std::vector<Part> parts;
  std::optional<double> weight;
  std::variant<std::monostate, std::int64_t, Part, std::vector<std::uint32_t>> what;
  Colour colour = Colour::Red;
  bool flag = false;
  std::vector<bool> bits;
  std::pair<std::uint64_t, std::int8_t> pair;
  friend bool operator==(const Whole&, const Whole&) = default;
};
REPRISE_ARCHIVED(Whole, parts, weight, what, colour, flag, bits, pair)

Whole some(std::mt19937& random) {
  auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random()) % n; };
  Whole w;
  for (std::uint32_t n = below(4); n > 0; --n)
    w.parts.push_back({static_cast<int>(random()), std::string(below(3) * 40, static_cast<char>('a' + below(2)))});
  if (below(2)) w.weight = below(3) ? std::ldexp(1.0, static_cast<int>(below(100)) - 50) : -0.0;
  switch (below(4)) {
    case 1: w.what = below(2) ? std::numeric_limits<std::int64_t>::min() : std::int64_t{-1}; break;
    case 2: w.what = Part{-3, std::string("a\0b", 3)}; break;
    case 3: w.what = std::vector<std::uint32_t>(below(5), ~0u); break;
    default: break;
  }
  w.colour = below(2) ? Colour::Green : Colour::Red;
  w.flag = below(2);
  w.bits.assign(below(70), true);
  w.pair = {std::numeric_limits<std::uint64_t>::max() - below(2),
            static_cast<std::int8_t>(-128 + static_cast<int>(below(256)))};
  return w;
}

std::string bytes_of(const Whole& w) {
  ArchiveWriter to;
  write(to, w);
  return to.bytes();
}

TEST(Archive, GivesBackWhatWasWritten) {
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const Whole w = some(random);
    const std::string bytes = bytes_of(w);
    ArchiveReader from(bytes);
    EXPECT_EQ(read<Whole>(from), w);
    EXPECT_TRUE(from.done());
    EXPECT_EQ(bytes_of(w), bytes);
  }
}

TEST(Archive, ATextStandsThereOnce) {
  const std::string name(1000, 'x');
  Whole w;
  w.parts.assign(50, Part{1, name});
  EXPECT_LT(bytes_of(w).size(), 1200u);
  ArchiveWriter to;
  for (int i = 0; i < 3; ++i) to.text_at(name.data(), name);
  to.text("y");
  ArchiveReader from(to.bytes());
  const char* kept = from.kept_text();
  EXPECT_EQ(kept, name);
  EXPECT_EQ(from.kept_text(), kept);
  EXPECT_EQ(from.text(), name);
  EXPECT_EQ(from.text(), "y");
}

TEST(Archive, DamageIsAnErrorOrOtherValues) {
  std::mt19937 random(2);
  for (int i = 0; i < 3000; ++i) {
    std::string bytes = bytes_of(some(random));
    if (i % 3 == 0) bytes.resize(random() % bytes.size());
    else bytes[random() % bytes.size()] = static_cast<char>(random());
    ArchiveReader from(bytes);
    try {
      read<Whole>(from);
      EXPECT_NE(i % 3, 0) << "cut off, and nothing lacks";
    } catch (const DamagedArchive&) {
    }
  }
}

}  // namespace
}  // namespace reprise
