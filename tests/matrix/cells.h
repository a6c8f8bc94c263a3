#pragma once
// What one program does in place, and what it gives: every row of one list with every row of the others makes a cell.
#include <span>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::matrix {

/// x and y are arguments, z is captured; ids holds rows of them (int64 [k]). The target of a write is one of x and z,
/// or made of x.
struct Tensors {
  Tensor x, y, z, ids;
};

enum class Target { Input, Intermediate, Captured };
enum class Relation { Apart, Same, Overlap, Blocks, TransposedOfIt, CapturedToo, CapturedOverlap, TwoStorages };
enum class XLayout { RowMajor, Strided, Offset, Transposed, Inner, Expanded };
enum class Sizes { Some, NoRows, OneRow, OneColumn, Square };

inline constexpr unsigned kNone = 0, kOfTarget = 1, kOfX = 2, kOfY = 4, kOfZ = 8;

/// One way to write. Changes the target or what it shares memory with, or only its metadata, or nothing.
struct Write {
  const char* name;
  unsigned elements;  ///< whose elements it changes: of the target, x, y, z
  void (*run)(const Tensor& target, const Tensors&);
};
/// One way to give results.
struct Result {
  const char* name;
  std::vector<Tensor> (*run)(const Tensor& target, const Tensors&);
};
std::span<const Write> writes();
std::span<const Result> results();

inline constexpr Target kTargets[] = {Target::Input, Target::Intermediate, Target::Captured};
inline constexpr Relation kRelations[] = {Relation::Apart,           Relation::Same,           Relation::Overlap,
                                          Relation::Blocks,          Relation::TransposedOfIt, Relation::CapturedToo,
                                          Relation::CapturedOverlap, Relation::TwoStorages};
inline constexpr XLayout kLayouts[] = {XLayout::RowMajor,   XLayout::Strided, XLayout::Offset,
                                       XLayout::Transposed, XLayout::Inner,   XLayout::Expanded};
inline constexpr Sizes kSizes[] = {Sizes::Some, Sizes::NoRows, Sizes::OneRow, Sizes::OneColumn, Sizes::Square};
inline constexpr DType kDTypes[] = {kFloat32, kBFloat16, kInt64, kBool};
const char* name_of(Target);
const char* name_of(Relation);
const char* name_of(XLayout);
const char* name_of(Sizes);

struct Cell {
  const Write* write;
  const Result* result;
  Target target;
  Relation relation;
  XLayout layout;
  Sizes sizes;
  DType dtype;
  std::string str() const;
};
/// The function that is run eagerly and compiled.
std::vector<Tensor> run(const Cell&, const Tensors&);

/// One call's tensors, and what the caller alone holds: the memory around them and an older handle on x.
struct Given {
  Tensors tensors;
  std::vector<Tensor> held;
  std::vector<Tensor> all() const;
  static std::vector<std::string> names();
};
/// The same again for the same cell and call. Calls 0 and 1 have the same sizes, 2 others.
Given make(const Cell&, int call);

/// Cells that are not compiled.
struct Exception {
  const char* reason;  ///< as stats().fallbacks names it
  const char* what;    ///< as docs/mutation.md says it
  bool (*is_one)(const Cell&);
  bool (*may_be_compiled)(const Cell&) = nullptr;  ///< of these: layouts and sizes decide
};
std::span<const Exception> exceptions();

}  // namespace reprise::matrix
