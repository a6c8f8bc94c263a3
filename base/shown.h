#pragma once
#include <string>
#include <string_view>

namespace reprise {

/// Text of unknown origin (a name out of a file, a line of a log) as it may stand in a message or on a terminal:
/// control characters, among them the escapes that terminals obey, and what is not UTF-8 become \xNN, and past
/// `at_most` bytes it is cut ("...").
std::string shown(std::string_view text, std::size_t at_most = 200);
/// The same of text of several lines, as a program or an explanation is: line ends and tabs stay, and nothing is cut.
std::string shown_lines(std::string_view text);

}  // namespace reprise
