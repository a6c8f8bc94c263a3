#include "reprise/visible.h"

namespace reprise::detail {

#ifdef _GLIBCXX_DEBUG
const char reprise_is_built_with_GLIBCXX_DEBUG = 1;
#else
const char reprise_is_built_without_GLIBCXX_DEBUG = 1;
#endif

}  // namespace reprise::detail
