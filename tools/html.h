#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reprise::tool {

/// Text as HTML shows it, in elements and in quoted attributes: nothing of it is markup, and characters that HTML
/// forbids are replaced.
std::string escaped(std::string_view text);

/// At most so many bytes of it, whole characters, and "..." where there are more.
std::string shortened(std::string_view text, std::size_t bytes);

/// HTML that is written from the top to the bottom. What is text is escaped; what is raw is ours.
class Html {
 public:
  Html& raw(std::string_view s) { return out_ += s, *this; }
  Html& text(std::string_view s) { return out_ += escaped(s), *this; }
  /// <tag attributes>text</tag>
  Html& element(std::string_view tag, std::string_view text, std::string_view attributes = {});
  Html& row(const char* cell, const std::vector<std::string>& cells);  ///< of a table; cell: "td" or "th"
  /// <details><summary>...</summary> ... until close("details").
  Html& details(std::string_view summary, std::string_view attributes = {});
  Html& pre(std::string_view text) { return element("pre", text); }
  std::string take() { return std::move(out_); }
  std::size_t size() const { return out_.size(); }

 private:
  std::string out_;
};

/// A plot as inline SVG. Empty without points.
struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;
};
struct Plot {
  std::string x, y;          ///< what the axes are
  bool logarithmic = false;  ///< both; points must be above 0
  bool steps = false;        ///< a value stays until the next point
  bool dots = false;
  std::string (*y_text)(double) = nullptr;
  std::vector<Series> series;
};
std::string svg(const Plot&);

}  // namespace reprise::tool
