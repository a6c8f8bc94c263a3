#pragma once
#include <cstdint>
#include <exception>

#include "base/errors.h"

namespace reprise {

/// While one lives, errors of this thread are not counted (errors_made), unless one leaves it.
class ErrorsAside {
 public:
  ErrorsAside() noexcept : before_(errors_made()), leaving_(std::uncaught_exceptions()) {}
  ~ErrorsAside() {
    if (std::uncaught_exceptions() == leaving_) set_errors_made(before_);
  }
  ErrorsAside(const ErrorsAside&) = delete;
  ErrorsAside& operator=(const ErrorsAside&) = delete;

 private:
  static void set_errors_made(std::uint64_t) noexcept;
  const std::uint64_t before_;
  const int leaving_;
};

}  // namespace reprise
