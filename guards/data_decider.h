#pragma once
#include <cstdint>
#include <optional>

#include "guards/expr.h"
#include "reprise/source_location.h"

namespace reprise::guards {

/// Answers questions of the program about numbers of data (Note [Branches on values] in runtime/build/branches.h). The
/// environment assumes what it says.
class DataDecider {
 public:
  virtual ~DataDecider() = default;
  /// Does the condition hold in the call being traced? None: the trace cannot go on.
  virtual std::optional<bool> decide(const Expr* condition, SourceLoc) = 0;
  /// The integer that becomes a constant of the trace. None: likewise.
  virtual std::optional<std::int64_t> value(const Expr*, SourceLoc) = 0;
};

/// While one lives, `by` is asked on this thread by the environment `of`.
class DataDeciderScope {
 public:
  DataDeciderScope(const ShapeEnv& of, DataDecider* by);
  ~DataDeciderScope();
  DataDeciderScope(const DataDeciderScope&) = delete;
  DataDeciderScope& operator=(const DataDeciderScope&) = delete;
  /// Null: nobody is asked.
  static DataDecider* of(const ShapeEnv&);

 private:
  const ShapeEnv* const of_;
  DataDecider* const by_;
  DataDeciderScope* const around_;
};

}  // namespace reprise::guards
