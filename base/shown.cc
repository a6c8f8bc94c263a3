#include "base/shown.h"

#include <cstdint>

namespace reprise {
namespace {

/// Bytes of the UTF-8 character that begins there; 0: none does.
std::size_t character(std::string_view s) {
  const auto at = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
  const std::size_t n = at(0) < 0x80   ? 1
                        : at(0) < 0xc2 ? 0
                        : at(0) < 0xe0 ? 2
                        : at(0) < 0xf0 ? 3
                        : at(0) < 0xf5 ? 4
                                       : 0;
  if (n == 0 || n > s.size()) return 0;
  std::uint32_t code = n == 1 ? at(0) : at(0) & (0x7fu >> n);
  for (std::size_t i = 1; i < n; ++i) {
    if ((at(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (at(i) & 0x3fu);
  }
  const bool overlong = (n == 3 && code < 0x800) || (n == 4 && code < 0x10000),
             nothing = code > 0x10ffff || (code >= 0xd800 && code < 0xe000);
  return overlong || nothing ? 0 : n;
}

/// Controls (C0, delete, C1) and the marks that turn the direction of what follows.
bool is_control(std::string_view c) {
  const auto first = static_cast<unsigned char>(c[0]);
  if (c.size() == 1) return first < 0x20 || first == 0x7f;
  if (c.size() == 2) return first == 0xc2 && static_cast<unsigned char>(c[1]) < 0xa0;
  return (c >= "\xe2\x80\xaa" && c <= "\xe2\x80\xae") || (c >= "\xe2\x81\xa6" && c <= "\xe2\x81\xa9");
}

std::string escaped(std::string_view text, std::size_t at_most, bool lines) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    if (out.size() >= at_most) return out + "...";
    const std::size_t n = character(text);
    const bool layout = lines && (text[0] == '\n' || text[0] == '\t');
    if (layout || (n > 0 && !is_control(text.substr(0, n)))) {
      out += text.substr(0, n);
    } else {
      for (char c : text.substr(0, n > 0 ? n : 1))
        (out += "\\x") += {kDigits[static_cast<unsigned char>(c) >> 4], kDigits[c & 15]};
    }
    text.remove_prefix(n > 0 ? n : 1);
  }
  return out;
}

}  // namespace

std::string shown(std::string_view text, std::size_t at_most) { return escaped(text, at_most, false); }
std::string shown_lines(std::string_view text) { return escaped(text, std::string_view::npos, true); }

}  // namespace reprise
