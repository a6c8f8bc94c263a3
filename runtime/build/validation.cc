#include "runtime/build/validation.h"

namespace reprise::validate {
void validate(const detail::Specialization&, const std::vector<guards::Claim>&);  // validate/specialization.cc
runtime::ValidationReport report();
}  // namespace reprise::validate

namespace reprise::runtime {

#ifdef REPRISE_HAS_VALIDATE
const Validator validator = validate::validate;
ValidationReport validation_report() { return validate::report(); }
#else
const Validator validator = nullptr;
ValidationReport validation_report() { return {}; }
#endif

}  // namespace reprise::runtime
