#pragma once

namespace reprise::detail {
struct Specialization;
/// While REPRISE_PROFILE is set, what specializations take is kept until the process ends, and printed on stderr then.
void profile_from_start(const Specialization&);
void profile_ends(const Specialization&) noexcept;
}  // namespace reprise::detail
