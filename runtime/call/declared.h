#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/errors.h"
#include "runtime/call/call_frame.h"

namespace reprise::detail {

class StructureNames;

/// A trace makes a constant of a dimension that was marked dynamic. It says what the user's marks are worth, so it is
/// told at every such call.
struct MarkPinned : Error {
  using Error::Error;
};

/// What was declared (mark_dynamic) of the arguments of a function, as far as traces have met it: later calls are held
/// to it. Not by those that something admits, whose guards say it as well.
class Declared {
 public:
  /// Marks of this call's arguments, which was traced.
  void note(const CallFrame&, const StructureNames&);
  /// Of a call that nothing admits. Throws InvalidArgument, naming what was declared, for a size that is outside of it,
  /// unless such calls are compiled for; also for a tensor that is no longer as its own mark says. `names`: of the
  /// call's words, asked for where that is thrown.
  void check(const CallFrame&, const std::string& function, const std::function<const StructureNames&()>& names) const;
  void clear() { all_.clear(); }

 private:
  struct Range {
    std::uint64_t calls;   ///< hash_beside_layouts of those that it is for
    std::uint32_t tensor;  ///< of the frame
    int dim;
    DimMark mark;
    std::string name;
  };
  static constexpr std::size_t kMost = 512;  // then the oldest is forgotten
  std::vector<Range> all_;
};

/// Does any argument have a mark?
bool has_marks(const CallFrame&);

}  // namespace reprise::detail
