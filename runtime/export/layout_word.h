#pragma once
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace reprise::detail {

/// A structure word (Note [Layout classes]) as fields of a JSON object: "dtype", "device", "rank", "layout", and
/// "order" or "strides"; "large" where it is.
void write_word(nlohmann::json& to, std::uint64_t word);
/// Reads it back. Throws std::invalid_argument, saying which field is wrong.
std::uint64_t read_word(const nlohmann::json& from);

/// "float32 of 2 dimensions, row-major, on cpu"
std::string word_text(std::uint64_t word);

}  // namespace reprise::detail
