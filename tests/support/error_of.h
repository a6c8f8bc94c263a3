#pragma once
#include <gtest/gtest.h>

#include "reprise/error.h"

namespace reprise::test {

/// The Error a call throws; fails the test if none.
template <class F>
Error error_of(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  ADD_FAILURE() << "no error was thrown";
  return Error(ErrorCode::Internal, "", "none");
}

}  // namespace reprise::test
