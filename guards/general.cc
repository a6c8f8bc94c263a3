#include "guards/general.h"

#include <utility>

namespace reprise::guards {

namespace {
thread_local Generality t_generality;
}

GeneralScope::GeneralScope(Generality g) : before_(std::exchange(t_generality, g)) {}
GeneralScope::~GeneralScope() { t_generality = before_; }
const Generality& generality() { return t_generality; }

}  // namespace reprise::guards
