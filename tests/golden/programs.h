#pragma once
#include <functional>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::golden {

/// A small program whose way through the compiler is kept as text.
struct Program {
  std::string name;                                          ///< of the file <name>.txt
  std::string about;                                         ///< what is to be seen in it
  std::function<std::string(const std::string& name)> call;  ///< compiles it under the name, calls it, gives explain()
};
const std::vector<Program>& programs();

}  // namespace reprise::golden
