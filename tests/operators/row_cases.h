#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "tests/operators/operators_test.h"
#include "tests/support/op_case.h"

namespace reprise::test {

/// What the arguments of a case are made for: a size, the dtype of its numbers, and whether those numbers shall come in
/// the widest dtype that the row takes, as the reference of all others.
struct Asked {
  std::int64_t n;
  DType t = kFloat32;
  DType as = t;
  Tensor operator()(const Ints& sizes, std::int64_t seed = 0) const { return of(numbers(sizes, t, seed)); }
  Tensor of(const Tensor& x) const { return x.to(t).to(as).to(test_device()); }
};

using RowArgs = std::function<std::vector<OpArg>(const Asked&)>;

/// One way of calling a row of a family. The rows' values in float64 are held to plain C++ in the tests of the
/// families; a case asks that every other way to them gives the same (conformance_test.cc). Numbers that the schema
/// calls SymInt are arguments where the case is compiled.
struct RowCase {
  std::string row;
  std::vector<DType> dtypes;  ///< those that the row takes; each other is refused
  RowArgs args;
  RowArgs refused = nullptr;  ///< a call whose sizes or numbers do not fit, and what is said of it
  std::string says = {};
  int compilations = 1;     ///< for all sizes of 2 and more
  double tolerance = 1e-5;  ///< of float32
};

/// The dtypes that rows take, from few to all.
inline const std::vector<DType> kFloatDTypes{kFloat32, kFloat64, kFloat16, kBFloat16};
inline const std::vector<DType> kIntDTypes{kInt64, kInt32, kInt8, kUInt8};
inline const std::vector<DType> kNumberDTypes{kFloat32, kFloat64, kFloat16, kBFloat16, kInt64, kInt32, kInt8, kUInt8};
inline const std::vector<DType> kAllDTypes{kFloat32, kFloat64, kFloat16, kBFloat16, kInt64,
                                           kInt32,   kInt8,    kUInt8,   kBool};

inline const OpArg kNone = std::monostate{};
using List = std::vector<Int>;

// A file for some families each: row_cases_*.cc.
std::vector<RowCase> spatial_cases();
std::vector<RowCase> row_by_row_cases();
std::vector<RowCase> matrix_cases();

}  // namespace reprise::test
