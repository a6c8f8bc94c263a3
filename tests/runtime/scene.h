#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "reprise/reprise.h"

/// Programs run eagerly and compiled on memory that can be looked at as a whole: elements, metadata, who is who and who
/// shares with whom.
namespace reprise::test {

using Tensors = std::vector<Tensor>;

/// Arguments on memory that can be looked at as a whole.
struct Scene {
  Tensor memory;
  Tensors args;
};
using Make = std::function<Scene(std::int64_t)>;
using Body = std::function<Tensors(Tensors)>;

template <class F>
std::optional<Error> caught(F&& f) {
  try {
    f();
    return std::nullopt;
  } catch (const Error& e) {
    return e;
  }
}

inline Tensor ramp(std::int64_t n) { return arange(n, {.dtype = kFloat32}); }

inline std::string show(const Tensor& t) {
  std::string s = t.str() + " sizes";
  for (Int i : t.sizes()) s += " " + i.str();
  s += " strides";
  for (Int i : t.strides()) s += " " + i.str();
  return s;
}

inline void expect_equal(const Scene& want, const Scene& got, const Tensors& results, const Tensors& compiled,
                         const std::string& at) {
  ASSERT_EQ(show(want.memory), show(got.memory)) << at;
  for (std::size_t i = 0; i < want.args.size(); ++i) {
    ASSERT_EQ(show(want.args[i]), show(got.args[i])) << at << ", argument " << i;
    ASSERT_EQ(want.args[i].storage_offset().value(), got.args[i].storage_offset().value()) << at << ", argument " << i;
    ASSERT_EQ(want.args[i].version() > 0, got.args[i].version() > 0) << at << ", argument " << i;
    ASSERT_EQ(want.args[i].shares_storage_with(want.memory), got.args[i].shares_storage_with(got.memory))
        << at << ", argument " << i;
  }
  ASSERT_EQ(results.size(), compiled.size()) << at;
  for (std::size_t i = 0; i < results.size(); ++i) {
    ASSERT_EQ(show(results[i]), show(compiled[i])) << at << ", result " << i;
    for (std::size_t j = 0; j < results.size(); ++j) {
      ASSERT_EQ(results[i].is_same(results[j]), compiled[i].is_same(compiled[j]))
          << at << ", results " << i << ", " << j;
      ASSERT_EQ(results[i].shares_storage_with(results[j]), compiled[i].shares_storage_with(compiled[j]))
          << at << ", results " << i << ", " << j;
    }
    for (std::size_t j = 0; j < want.args.size(); ++j) {
      ASSERT_EQ(results[i].is_same(want.args[j]), compiled[i].is_same(got.args[j]))
          << at << ", result " << i << ", argument " << j;
      ASSERT_EQ(results[i].shares_storage_with(want.args[j]), compiled[i].shares_storage_with(got.args[j]))
          << at << ", result " << i << ", argument " << j;
    }
  }
}

/// `fallbacks`: how many of the calls may be served eagerly.
inline void check(const std::string& name, const Make& make, const Body& body,
                  std::vector<std::int64_t> ns = {4, 6, 3, 9}, std::int64_t fallbacks = 0) {
  for (const char* mode : {"full", "interpret"}) {
    auto f = compile(body, {.name = name, .mode = mode});
    for (std::int64_t n : ns) {
      Scene want = make(n), got = make(n);
      const std::string at = name + " (" + mode + "), n " + std::to_string(n);
      Tensors results = body(want.args), compiled = f(got.args);
      expect_equal(want, got, results, compiled, at);
      if (::testing::Test::HasFatalFailure()) return;
      for (std::size_t i = 0; i < results.size(); ++i) {  // who shares memory with whom
        if (caught([&] { results[i].add_(1); }).has_value()) continue;
        compiled[i].add_(1);
        expect_equal(want, got, results, compiled, at + ", after a write to result " + std::to_string(i));
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    EXPECT_LE(f.stats().eager_fallbacks, fallbacks) << name << ": " << f.stats().last_fallback_reason;
  }
}

inline Scene alone(Tensor x) { return {x, {x}}; }
inline Make vector_of(std::int64_t more = 0) {
  return [=](std::int64_t n) { return alone(ramp(n + more)); };
}
inline Make matrix(std::int64_t columns) {
  return [=](std::int64_t n) { return alone(ramp(n * columns).view({n, columns})); };
}
/// Rows 1 to n of n + 2, columns 1 to 4 of 6: neither the start of its memory nor all of it.
inline Scene inner_part(std::int64_t n) {
  Tensor memory = ramp((n + 2) * 6);
  return {memory, {memory.view({n + 2, 6}).slice(0, 1, n + 1).slice(1, 1, 4)}};
}
inline Scene transposed(std::int64_t n) {
  Tensor memory = ramp(n * 3);
  return {memory, {memory.view({n, 3}).t()}};
}

}  // namespace reprise::test
