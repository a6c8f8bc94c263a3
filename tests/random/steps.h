#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::fuzz {

/// What a program is run on. Sizes are N, M, K in several places, so that symbols have to be found equal.
struct Arguments {
  Tensor x;    ///< [N, M]; its layout varies
  Tensor y;    ///< [M, K]
  Tensor z;    ///< [N, M], transposed storage
  Tensor v;    ///< [M], every second element of a longer buffer
  Tensor c;    ///< [2, N, M]
  Tensor i;    ///< int64 [N, M], some negative
  Tensor m;    ///< bool [N, M]
  Tensor w;    ///< [N, M]; may share memory with x
  Tensor ids;  ///< int64 [N], not negative
  Int n;       ///< a number of the call
  std::vector<Tensor> pool() const { return {x, y, z, v, c, i, m, w}; }
};

// What a row says of itself.
inline constexpr unsigned kSums = 1;     ///< adds up floats: compiled, in another order perhaps
inline constexpr unsigned kHalf = 2;     ///< rounds to half precision
inline constexpr unsigned kJumps = 4;    ///< a small change of an operand may make a large one of the result
inline constexpr unsigned kView = 8;     ///< gives a view
inline constexpr unsigned kWrites = 16;  ///< writes, or changes metadata
inline constexpr unsigned kSame = 32;    ///< may give its operand itself

inline constexpr unsigned kReshapes = 128;  ///< changes sizes or strides of its operand
/// goes by the order of its operand's elements, of which equal ones become unequal by any rounding
inline constexpr unsigned kOrders = 256;
/// finds defects that are known and not mended yet: drawn only with FUZZ_OPEN=1
inline constexpr unsigned kOpen = 64;

/// One kind of step. Its text is its code, so that a program can be printed as C++; what stands in it is what the
/// parameters are called, and the functions of the prelude.
struct Row {
  int weight;
  unsigned flags;
  const char* text;
  Tensor (*run)(const Tensor& a, const Tensor& b, int d, double c, Int n, const Arguments& in);
};
/// a, b: operands; d: a dimension of a (0 if it has none); c: a number in [-1, 1); n: a number of the call.
#define REPRISE_ROW(weight, flags, ...)                                                               \
  Row {                                                                                               \
    weight, flags, #__VA_ARGS__,                                                                      \
        [](const Tensor& a, const Tensor& b, int d, double c, Int n, const Arguments& in) -> Tensor { \
          static_cast<void>(a), static_cast<void>(b), static_cast<void>(d), static_cast<void>(c),     \
              static_cast<void>(n), static_cast<void>(in);                                            \
          __VA_ARGS__;                                                                                \
        }                                                                                             \
  }

std::span<const Row> math_rows();
std::span<const Row> view_rows();
std::span<const Row> write_rows();
std::span<const Row> family_rows();
std::span<const Row> data_rows();
/// The rows of data stand last, before them those of families.
std::span<const Row> all_rows();

/// Functions that rows use, as text, too.
extern const char* const kPrelude;
int dim_of(const Tensor& a, unsigned q);
Tensor integers(const Tensor& a);
Tensor truth(const Tensor& a);
Tensor storable(const Tensor& a, const Tensor& b);
Tensor rows_of(const Tensor& a, int d, const Tensor& ids);
// steps_operators.cc: operators that write their arguments.
extern const char* const kOperators;
Tensor scaled_in_place(const Tensor& a, double c);
Tensor exchange(const Tensor& x, const Tensor& y, const Tensor& by);
void counted_up(const std::vector<Tensor>& list);
void set_row(const Tensor& a, Int at, const Tensor& to);
Tensor halved(const Tensor& a);
void halved_in_place(const Tensor& a);
Tensor replaced(const Tensor& a, const Tensor& by);

}  // namespace reprise::fuzz
