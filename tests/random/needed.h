#pragma once
#include <cstdint>
#include <map>
#include <string>

namespace reprise::fuzz {

/// Which compilations were needed, judged by what they made: two specializations of one function that have one graph,
/// sizes being symbols, and the same launches would have served each other's calls. What tells such two apart was asked
/// for nothing.
struct Needed {
  std::int64_t specializations = 0;
  std::int64_t twice = 0;  ///< there was the same before
  /// others, of which there was the same for arguments of another layout
  std::int64_t but_for_layouts = 0;
  /// of those of `twice`: why a guard was born that the one before has not; "" where there is none
  std::map<std::string, std::int64_t> asked_by;

  /// Adds what explain() tells of one function.
  void add(const std::string& explained);
};

}  // namespace reprise::fuzz
