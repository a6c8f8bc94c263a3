// Placements and meshes as values and as text.
#include "reprise/placement.h"

#include <gtest/gtest.h>

#include "reprise/error.h"

namespace reprise {
namespace {

template <class F>
std::string message(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.message();
  }
  return "nothing was thrown";
}

TEST(Placements, AreTheirTexts) {
  for (const char* text : {"", "R", "S(0)S(1)R", "P", "PS(12)P(max)P(min)P(mean)R"})
    EXPECT_EQ(to_string(parse_placements(text)), text);
  EXPECT_EQ(parse_placements(" S( 3 ) P( sum )R "), (Placements{Shard(3), Partial(), Replicate()}));
  EXPECT_NE(Partial(ReduceOp::Max), Partial());
  EXPECT_TRUE(Shard(2).is_shard(2) && !Shard(2).is_shard(1) && !Replicate().is_shard());
}

TEST(Placements, RefuseWhatIsNone) {
  for (const char* text :
       {"Q", "S", "S()", "S(-1)", "S(1", "S(1001)", "S(99999999999999999999)", "P(", "P(prod)", "RR,"})
    EXPECT_NE(message([&] { parse_placements(text); }).find("wanted"), std::string::npos) << text;
  EXPECT_NE(message([] { Shard(-1); }).find("-1"), std::string::npos);
}

TEST(MeshShapes, NumberRanksInRowMajorOrder) {
  const MeshShape mesh({2, 3, 4}, {"dp", "tp", "cp"});
  EXPECT_EQ(to_string(mesh), "[dp=2, tp=3, cp=4]");
  EXPECT_EQ(parse_mesh_shape(to_string(mesh)), mesh);
  EXPECT_EQ(mesh.ranks(), 24);
  for (std::int64_t r = 0; r < mesh.ranks(); ++r) EXPECT_EQ(mesh.rank(mesh.coordinates(r)), r);
  EXPECT_EQ(mesh.coordinates(23), (std::vector<std::int64_t>{1, 2, 3}));
  EXPECT_EQ(mesh.axis("tp"), 1);
  EXPECT_EQ(MeshShape().ranks(), 1);
  EXPECT_EQ(parse_mesh_shape("[]"), MeshShape());
  EXPECT_EQ(to_string(MeshShape({2, 2})), "[0=2, 1=2]");
}

TEST(MeshShapes, RefuseWhatIsNone) {
  EXPECT_NE(message([] { MeshShape({2, 0}); }).find("axis 1"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({1 << 16, 1 << 16}); }).find("2147483647"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({2}, {"a", "b"}); }).find("1 sizes and 2 names"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({2, 2}, {"a", "a"}); }).find("'a'"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({2}, {"a b"}); }).find("blank"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({2}, {"a"}).axis("b"); }).find("[a=2]"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({2}).coordinates(2); }).find("rank 2"), std::string::npos);
  EXPECT_NE(message([] { MeshShape({2}).rank({2}); }).find("coordinate 2"), std::string::npos);
  for (const char* text : {"", "[", "[a]", "[a=]", "[a=2", "[a=2]x", "[a=2,]"})
    EXPECT_NE(message([&] { parse_mesh_shape(text); }), "nothing was thrown") << text;
}

}  // namespace
}  // namespace reprise
