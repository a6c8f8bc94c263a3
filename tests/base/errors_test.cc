#include "base/errors.h"

#include <gtest/gtest.h>

namespace reprise {
namespace {

TEST(Errors, WhatNamesOperatorMessageAndPlace) {
  try {
    fail(ErrorCode::ShapeMismatch, "add", SourceLoc{"loop.cpp", 41}, "sizes ", 3, " and ", 4);
    FAIL() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::ShapeMismatch);
    EXPECT_EQ(e.op(), "add");
    EXPECT_EQ(e.message(), "sizes 3 and 4");
    EXPECT_STREQ(e.what(), "add: sizes 3 and 4 (at loop.cpp:41)");
    EXPECT_EQ(e.where().line, 41u);
  }
}

TEST(Errors, PartsThatAreUnknownAreLeftOut) {
  EXPECT_STREQ(Error(ErrorCode::Io, "", "no such file").what(), "no such file");
  EXPECT_STREQ(Error(ErrorCode::Io, "load", "no such file").what(), "load: no such file");
}

TEST(Errors, EveryCodeHasItsName) {
  EXPECT_EQ(error_code_name(ErrorCode::InvalidArgument), "InvalidArgument");
  EXPECT_EQ(error_code_name(ErrorCode::Internal), "Internal");
  for (int i = 0; i <= static_cast<int>(ErrorCode::Internal); ++i)
    EXPECT_NE(error_code_name(static_cast<ErrorCode>(i)), "Unknown") << i;
}

TEST(Errors, CheckThrowsInternalWithTheCondition) {
  try {
    REPRISE_CHECK(1 + 1 == 3, "arithmetic");
    FAIL() << "did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::Internal);
    EXPECT_NE(e.message().find("1 + 1 == 3 arithmetic"), std::string::npos) << e.message();
    EXPECT_NE(std::string(e.what()).find("errors_test.cc"), std::string::npos);
  }
}

}  // namespace
}  // namespace reprise
