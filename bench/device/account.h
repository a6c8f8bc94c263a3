#pragma once
#include <nlohmann/json.hpp>

namespace reprise::device_figures {

/// By shape of Llama: sizes, bytes of weights, and the nodes of a token's graph by name, counted, with the longest way
/// through them. Needs no device.
nlohmann::json account();

}  // namespace reprise::device_figures
