#include "guards/general.h"

#include <utility>

namespace reprise::guards {

namespace {
thread_local Generality t_generality;
thread_local Supposing* t_supposing = nullptr;
}

GeneralScope::GeneralScope(Generality g) : before_(std::exchange(t_generality, g)) {}
GeneralScope::~GeneralScope() { t_generality = before_; }
const Generality& generality() { return t_generality; }

Supposing::Supposing() : around_(std::exchange(t_supposing, this)) {}
Supposing::~Supposing() { t_supposing = around_; }
bool Supposing::ask() { return t_supposing && (t_supposing->asked_ = true); }

}  // namespace reprise::guards
