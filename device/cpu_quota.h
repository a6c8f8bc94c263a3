#pragma once
#include <string>

namespace reprise::device {

/// How many cores' time the control groups of this process leave it, rounded up; 0: there is no bound. Containers are
/// bounded so while they see all cores: threads beyond that are stopped for the rest of each period, all at once.
/// `groups`, `mount`: others in tests.
int quota_cores(const std::string& groups = "/proc/self/cgroup", const std::string& mount = "/sys/fs/cgroup");

}  // namespace reprise::device
