#include "runtime/build/rows_in_place.h"

#include <cstdint>
#include <limits>
#include <variant>

namespace reprise::runtime {

using graph::Node;
using graph::NodeArg;
using graph::OpId;

namespace {

using Does = InPlace::Does;
using Neutral = InPlace::Neutral;

}  // namespace

constinit const graph::OpColumn<InPlace> kInPlace("rows left in place", {
                                                                            {OpId::sum, {Does::Folds}},
                                                                            {OpId::prod, {Does::Folds, Neutral::One}},
                                                                            {OpId::amax, {Does::Folds, Neutral::Least}},
                                                                            {OpId::amin, {Does::Folds, Neutral::Most}},
                                                                            {OpId::any, {Does::Folds}},
                                                                            {OpId::all, {Does::Folds, Neutral::One}},
                                                                            {OpId::cumsum, {Does::Runs}},
                                                                            {OpId::index, {Does::Takes}},
                                                                            {OpId::index_select, {Does::TakesAlong}},
                                                                            {OpId::index_put, {Does::Puts}},
                                                                            {OpId::select, {Does::Selects}},
                                                                            {OpId::slice, {Does::Slices}},
                                                                            {OpId::permute, {Does::Keeps}},
                                                                            {OpId::unsqueeze, {Does::Keeps}},
                                                                            {OpId::alias, {Does::Keeps}},
                                                                            {OpId::detach, {Does::Keeps}},
                                                                            {OpId::squeeze, {Does::Squeezes}},
                                                                            {OpId::expand, {Does::Expands}},
                                                                            {OpId::view, {Does::Reshapes}},
                                                                            {OpId::full, {Does::Fills}},
                                                                            {OpId::cat, {Does::Joins}},
                                                                            {OpId::pow, {Does::ByNumber}},
                                                                        });
bool does(const Node& n, Does what) {
  const InPlace* fact = kInPlace.find(n.op);
  return fact && fact->does == what;
}

std::optional<Scalar> neutral_of(const Node& n, DType t) {
  const Neutral neutral = kInPlace.find(n.op)->neutral;
  if (neutral == Neutral::Zero || neutral == Neutral::One) {
    const bool one = neutral == Neutral::One;
    return t == kBool ? Scalar(one) : is_floating(t) ? Scalar(one ? 1.0 : 0.0) : Scalar(one ? 1 : 0);
  }
  const bool most = neutral == Neutral::Most;
  if (is_floating(t))
    return Scalar(most ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity());
  auto extreme = [&]<class T>(T) {
    return Scalar(static_cast<std::int64_t>(most ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min()));
  };
  switch (t) {
    case DType::Bool: return Scalar(most);
    case DType::UInt8: return extreme(std::uint8_t{});
    case DType::Int8: return extreme(std::int8_t{});
    case DType::Int32: return extreme(std::int32_t{});
    case DType::Int64: return extreme(std::int64_t{});
    default: return std::nullopt;
  }
}

std::vector<bool> reduced(const NodeArg& dims, int rank) {
  const Ints* list = std::get_if<Ints>(&dims);
  std::vector<bool> over(static_cast<std::size_t>(rank), !list || list->empty());
  if (list)
    for (Int d : *list) over[static_cast<std::size_t>(d.hint() < 0 ? d.hint() + rank : d.hint())] = true;
  return over;
}
int dim_of(const NodeArg& a, int rank) {
  const std::int64_t d = std::get<Int>(a).hint();
  return static_cast<int>(d < 0 ? d + rank : d);
}

}  // namespace reprise::runtime
