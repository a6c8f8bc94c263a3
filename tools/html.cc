#include "tools/html.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace reprise::tool {

std::string escaped(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      case '\n':
      case '\t': out += c; break;
      case 0x7f: out += "\xef\xbf\xbd"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) out += "\xef\xbf\xbd";
        else out += c;
    }
  }
  return out;
}

std::string shortened(std::string_view text, std::size_t bytes) {
  if (text.size() <= bytes) return std::string(text);
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return std::string(text.substr(0, bytes)) + "...";
}

Html& Html::element(std::string_view tag, std::string_view text, std::string_view attributes) {
  raw("<").raw(tag).raw(attributes.empty() ? "" : " ").raw(attributes).raw(">");
  return this->text(text).raw("</").raw(tag).raw(">\n");
}

Html& Html::row(const char* cell, const std::vector<std::string>& cells) {
  raw("<tr>");
  for (const std::string& c : cells) raw("<").raw(cell).raw(">").text(c).raw("</").raw(cell).raw(">");
  return raw("</tr>\n");
}

Html& Html::details(std::string_view summary, std::string_view attributes) {
  return raw("<details")
      .raw(attributes.empty() ? "" : " ")
      .raw(attributes)
      .raw("><summary>")
      .text(summary)
      .raw("</summary>\n");
}

namespace {

constexpr double kWidth = 720, kHeight = 260, kLeft = 84, kRight = 16, kTop = 12, kBottom = 40;

std::string number(double v) {
  char s[32];
  std::snprintf(s, sizeof s, "%.4g", v);
  return s;
}
std::string at(double v) {
  char s[32];
  std::snprintf(s, sizeof s, "%.1f", v);
  return s;
}

/// One axis: from values to places.
struct Axis {
  double lo = INFINITY, hi = -INFINITY;
  bool logarithmic = false;

  double measure(double v) const { return logarithmic ? std::log10(v) : v; }
  void see(double v) { lo = std::min(lo, measure(v)), hi = std::max(hi, measure(v)); }
  void settle() {
    if (!logarithmic) lo = std::min(lo, 0.0);
    if (hi - lo < 1e-9) hi = lo + 1;
  }
  double part(double v) const { return (measure(v) - lo) / (hi - lo); }
  std::vector<double> marks() const {
    constexpr int kMarks = 4;
    std::vector<double> out;
    for (int i = 0; i <= kMarks; ++i) {
      const double v = lo + (hi - lo) * i / kMarks;
      out.push_back(logarithmic ? std::pow(10, v) : v);
    }
    return out;
  }
};

std::string color(std::size_t i) { return "var(--c" + std::to_string(i % 6) + ")"; }

}  // namespace

std::string svg(const Plot& plot) {
  Axis x{.logarithmic = plot.logarithmic}, y{.logarithmic = plot.logarithmic};
  for (const Series& s : plot.series)
    for (auto [a, b] : s.points) x.see(a), y.see(b);
  if (!(x.lo <= x.hi)) return {};
  x.settle(), y.settle();
  auto px = [&](double v) { return kLeft + x.part(v) * (kWidth - kLeft - kRight); };
  auto py = [&](double v) { return kHeight - kBottom - y.part(v) * (kHeight - kTop - kBottom); };
  Html h;
  h.raw("<svg role=\"img\" viewBox=\"0 0 720 260\" width=\"720\" height=\"260\"><title>")
      .text(plot.y + " against " + plot.x)
      .raw("</title>\n");
  for (double v : x.marks())
    h.raw("<text x=\"" + at(px(v)) + "\" y=\"" + at(kHeight - kBottom + 16) + "\" text-anchor=\"middle\">")
        .text(number(v))
        .raw("</text>");
  for (double v : y.marks()) {
    h.raw("<line class=\"axis\" x1=\"" + at(kLeft) + "\" x2=\"" + at(kWidth - kRight) + "\" y1=\"" + at(py(v)) +
          "\" y2=\"" + at(py(v)) + "\"/>");
    h.raw("<text x=\"" + at(kLeft - 6) + "\" y=\"" + at(py(v) + 4) + "\" text-anchor=\"end\">")
        .text(plot.y_text ? plot.y_text(v) : number(v))
        .raw("</text>\n");
  }
  h.raw("<text x=\"" + at(kWidth - kRight) + "\" y=\"" + at(kHeight - 8) + "\" text-anchor=\"end\">")
      .text(plot.x)
      .raw("</text>\n");
  double legend = kLeft;
  for (std::size_t i = 0; i < plot.series.size(); ++i) {
    const Series& s = plot.series[i];
    std::string path;
    double last = 0;
    for (auto [a, b] : s.points) {
      if (path.empty()) path = at(px(a)) + "," + at(py(b));
      else path += (plot.steps ? " " + at(px(a)) + "," + at(last) : std::string()) + " " + at(px(a)) + "," + at(py(b));
      last = py(b);
    }
    if (plot.steps && !path.empty()) path += " " + at(kWidth - kRight) + "," + at(last);
    h.raw("<polyline class=\"curve\" style=\"stroke:" + color(i) + "\" points=\"" + path + "\"/>\n");
    if (plot.dots)
      for (auto [a, b] : s.points)
        h.raw("<circle cx=\"" + at(px(a)) + "\" cy=\"" + at(py(b)) + "\" r=\"3\" style=\"fill:" + color(i) + "\"/>");
    const std::string name = shortened(s.name, 30);
    if (plot.series.size() > 1 && legend < kWidth - 120) {
      h.raw("<text x=\"" + at(legend) + "\" y=\"" + at(kHeight - 8) + "\" style=\"fill:" + color(i) + "\">")
          .text(name)
          .raw("</text>\n");
      legend += 14 + 6.2 * static_cast<double>(name.size());
    }
  }
  return h.raw("</svg>\n").take();
}

}  // namespace reprise::tool
