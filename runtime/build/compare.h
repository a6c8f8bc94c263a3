#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/trace/tracer.h"

namespace reprise::detail {

struct Specialization;

/// How closely two runs of one function can be compared, by what a value is computed from. The larger is the looser.
enum class Closeness : std::uint8_t { Bits, Float64, Float32, Half, Float8 };

/// How far apart floats may be, relative to the largest element of their tensor (at least 1). The one table of
/// tolerances:
///   Bits     0: nothing was rounded, or both round alike
///   Float64  1e-9: what was summed has 16 digits, and long sums, cancellation and chains of them cost up to seven
///   Float32  1e-3: 7 digits, of which the same costs up to four
///   Half     5e-2: bfloat16 has 2 to 3 digits, float16 3; one run keeps float32 between operators, the other rounds
///   Float8   0.25: one step of float8_e5m2
double tolerance(Closeness);
/// Of values that are computed in the dtype, and rounded.
Closeness closeness_of(DType);

/// By value of a graph. Inputs from `inputs` on are what stages before have computed.
std::vector<Closeness> closeness_of_values(const graph::Graph&, std::size_t inputs, bool interpreted);

/// The two runs: what fills the gap in a message.
struct Runs {
  const char* got = "in the replay";
  const char* want = "when the function runs";
};

/// How closely what a call gives and writes can be compared.
struct CallCloseness {
  std::vector<Closeness> of_input;               ///< what the tensor holds after the call
  std::vector<Closeness> of_output;              ///< by graph output
  Closeness of_result(std::int32_t leaf) const;  ///< as Specialization::tensor_results numbers them

  /// Of the two, one runs `g`, the other the same program in another order, or as single operators. `interpreted`: one
  /// of them computes with the reference kernels, which round each operator of float32 and float64 in a way of their
  /// own.
  CallCloseness(const graph::Graph& g, const Specialization&, std::size_t inputs, bool interpreted);
};

/// What differs first, continuing the name of the tensor; nothing if all is as it should be. Sizes; strides where they
/// tell something.
std::optional<std::string> shape_difference(const std::int64_t* want, const std::int64_t* want_strides, int want_rank,
                                            const std::int64_t* got, const std::int64_t* got_strides, int got_rank,
                                            Runs = {});
/// The tensors have the same dtype and sizes. Integers and flags made of rounded numbers may be on the other side of a
/// boundary in a sixteenth of the elements; integers made of half precision may be one more or less in each.
std::optional<std::string> element_difference(const Tensor& want, const Tensor& got, Closeness, Runs = {});

}  // namespace reprise::detail
