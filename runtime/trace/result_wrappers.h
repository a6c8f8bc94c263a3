#pragma once
#include <memory>
#include <vector>

#include "reprise/wrapper.h"

namespace reprise::detail {

struct Outputs;

/// A result that is a wrapper's handle: a trace gives its inner tensors, and a replay's are made one again (Note
/// [Wrapper tensors]). Those inside of others come first.
struct ResultWrapper {
  const WrapperType* type;
  std::shared_ptr<const void> value;  ///< its fields, without tensors
  std::size_t leaves;                 ///< of them: tensors, and handles, undefined ones too
  std::size_t end;                    ///< how many tensors there are among the results up to its last
};

/// Of a replay's results, handles once more.
void make_result_wrappers(const std::vector<ResultWrapper>&, Outputs&);

}  // namespace reprise::detail
