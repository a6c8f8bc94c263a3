#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "reprise/autograd.h"
#include "reprise/generator.h"
#include "reprise/reprise.h"

/// Tables of features (features_*.cc), from which programs of pairs are drawn.
namespace reprise::pairs {

/// Arguments of a program. `k` depends on the call, and is seen by the program as data alone.
struct Arguments {
  Tensor x;       ///< [N, M]; its layout and its place on the tape vary
  Tensor y;       ///< [N, M]; may share memory with x or a variable
  Tensor row;     ///< [M]
  Tensor wide;    ///< [2 * k + 1]
  Tensor padded;  ///< [N, M + 2 * k]
  Tensor index;   ///< int64 [N], in [0, N)
  Tensor mask;    ///< bool [N, M]
  Tensor bytes;   ///< uint8 [N, M]
  Tensor flags;   ///< bool [9], of which 2 * k + 1 are true
  Tensor count;   ///< int64 [], k
  Tensor yes;     ///< bool []
  Int n;          ///< a number of the call, at least 1
};

/// What a program captures.
struct Variables {
  Tensor a, b;               ///< [N, M]
  std::vector<Tensor> list;  ///< two of [N, M]
};

/// What a step sees beside its operands.
struct Frame {
  const Arguments& in;
  Variables& var;
};
using Inner = std::function<Tensor(const Tensor&, const Tensor&)>;

// What a row says of itself.
inline constexpr unsigned kHalf = 1;       ///< rounds to half precision
inline constexpr unsigned kFails = 2;      ///< throws for some operands: drawn though it does
inline constexpr unsigned kDataSize = 4;   ///< gives a size that depends on data
inline constexpr unsigned kVariables = 8;  ///< assigns variables
inline constexpr unsigned kSteps = 16;     ///< rounds to integers

/// One kind of step. Its text is its code. c: a number in [-1, 1), d: 0 or 1.
struct Row {
  int weight;
  unsigned flags;
  const char* text;
  Tensor (*run)(Frame& f, const Tensor& a, const Tensor& b, double c, int d);
};
/// A step around another one: `inner` runs it on operands.
struct Wrap {
  int weight;
  unsigned flags;
  const char* text;
  Tensor (*run)(Frame& f, const Tensor& a, const Tensor& b, const Inner& inner);
};

/// A function that is called eagerly or compiled.
class Function;
/// Something done around calls. Members that are not set do nothing.
struct Setting {
  const char* text;
  unsigned flags = 0;
  void (*options)(CompileOptions&) = nullptr;
  std::shared_ptr<void> (*scope)(int call) = nullptr;             ///< lives during a call, eager as compiled
  void (*before)(Function& compiled, int call) = nullptr;         ///< the compiled function's call
  void (*arguments)(Arguments&, Variables&, int call) = nullptr;  ///< of both functions, before a call
  bool compiled_walk = false;  ///< the walks over the compiled function's tape are compiled
  bool other_thread = false;   ///< each call is made on a thread of its own
  bool beside = false;         ///< another thread makes a call of its own meanwhile: programs use no variables
  bool prepared = false;       ///< each call and its backward are warmed up, and sealed before they run
  bool of_process = false;     ///< `scope` is not a thread's own
  bool walks_once = false;     ///< the walk is the last over its tape, each call's state is its own
  bool walks_part = false;     ///< every other result and argument alone is derived
  bool twice = false;          ///< gradients are derived, too
  bool exported = false;       ///< each call is exported, saved, loaded and made of what was loaded
};

struct Feature {
  const char* name;
  std::span<const Row> rows;
  std::span<const Wrap> wraps;
  std::span<const Setting> settings;
  bool derives = false;  ///< its programs always want gradients
};
/// All of them. A new feature is one row of this list and one table (docs: CONTRIBUTING.md, "Pairs of features").
std::span<const Feature> features();

#define PAIRS_ROW(weight, flags, ...)                                                                        \
  Row {                                                                                                      \
    weight, flags, #__VA_ARGS__, [](Frame& f, const Tensor& a, const Tensor& b, double c, int d) -> Tensor { \
      [[maybe_unused]] const Arguments& in = f.in;                                                           \
      [[maybe_unused]] Variables& var = f.var;                                                               \
      static_cast<void>(a), static_cast<void>(b), static_cast<void>(c), static_cast<void>(d);                \
      __VA_ARGS__;                                                                                           \
    }                                                                                                        \
  }
#define PAIRS_WRAP(weight, flags, ...)                                                                          \
  Wrap {                                                                                                        \
    weight, flags, #__VA_ARGS__, [](Frame& f, const Tensor& a, const Tensor& b, const Inner& inner) -> Tensor { \
      [[maybe_unused]] const Arguments& in = f.in;                                                              \
      [[maybe_unused]] Variables& var = f.var;                                                                  \
      static_cast<void>(a), static_cast<void>(b);                                                               \
      __VA_ARGS__;                                                                                              \
    }                                                                                                           \
  }

// Functions that rows use.
/// b as an operand that broadcasts against a: b itself where the sizes are equal, else its sum.
Tensor fit(const Tensor& a, const Tensor& b);
/// a in two dimensions.
Tensor flat(const Tensor& a);
/// The dimension of a that d means.
int dim_of(const Tensor& a, int d);

// The tables, by file.
extern const Feature kViews, kWrites, kMetadata, kDataSizes, kCond, kVariableRows, kTape, kTapeInside, kCompiledWalks;
extern const Feature kDTypes, kBytes, kRandom, kFrozen, kOperators, kPatterns, kThreads, kErrors, kMath;
extern const Feature kQuantized, kKernels, kConcurrent, kExport, kScan, kWrapper, kBranches, kWhile, kRegion;

}  // namespace reprise::pairs
