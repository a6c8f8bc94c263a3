#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace reprise::kernels {

/// Steps of an operand's dimension of that size, with each of the one of size `to` that it was broadcast to: 1, none
/// (nullopt), or what is 0 where the size is 1, if either may be.
std::optional<Int> broadcast_step(Int size, Int to);
/// What is asked in its place. Tests set it, to plant a fault that proofs must find.
extern std::optional<Int> (*planted_broadcast_step)(Int size, Int to);

/// The element that an operand is read at, for a proof of it (validate/elements.cc). An index is an affine form of
/// loops: its offset, then a coefficient for each loop.
struct ElementRead {
  enum class By : std::uint8_t {
    Broadcast,  ///< `of` is an operand of a pointwise operator whose result is `made`
    View,       ///< `made` is a view of `of`
    Place       ///< `made` is read at `to`; its root `of` stands at `place`
  } by = By::Broadcast;
  std::string name;            ///< of the operand: "%3"
  Layout made, of;             ///< as the graph has them
  Ints extents;                ///< of the loops
  std::vector<Ints> at, read;  ///< index of `made` and of `of`, by dimension
  Layout place;
  Ints to;
};
/// Notes one of a program that is lowered, where specializations are validated. Any thread.
void note_read(const guards::ShapeEnv&, ElementRead);
/// Those of a trace's programs.
std::vector<ElementRead> reads_of(const guards::ShapeEnv&);

}  // namespace reprise::kernels
