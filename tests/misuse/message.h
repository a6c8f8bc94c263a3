#pragma once
#include <regex>
#include <string>

#include "reprise/error.h"

namespace reprise::misuse {

/// What a program is told, without what is another at every machine: "ShapeMismatch: add: sizes ... (at the line)".
template <class F>
std::string message(const F& f) {
  static const std::regex location(R"( \(at [^)]*_test\.cc:\d+\))");
  try {
    f();
  } catch (const Error& e) {
    return std::regex_replace(std::string(error_code_name(e.code())) + ": " + e.what(), location, " (at the line)");
  } catch (const std::exception& e) {
    return std::string("NOT AN ERROR: ") + e.what();
  }
  return "NOTHING IS THROWN";
}

}  // namespace reprise::misuse
