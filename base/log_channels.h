#pragma once
#include <string_view>

namespace reprise::logs {

/// Throws InvalidArgument, in the name of `op`, for a list that names what is no channel: with the nearest, and those
/// that there are.
void require_channels(std::string_view list, const char* op);

}  // namespace reprise::logs
