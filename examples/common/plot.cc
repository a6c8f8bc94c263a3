#include "plot.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>

namespace example {

namespace {
constexpr double kWidth = 720, kHeight = 420, kLeft = 70, kRight = 20, kTop = 40, kBottom = 50;
constexpr const char* kColors[] = {"#1f6f8b", "#c2571a", "#4d7c0f", "#7c3aed"};

std::string number(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", v);
  return text;
}
/// Round numbers from a to b, about five.
std::vector<double> ticks(double a, double b) {
  const double raw = (b - a) / 5, unit = std::pow(10, std::floor(std::log10(raw)));
  const double step = unit * (raw / unit > 5 ? 10 : raw / unit > 2 ? 5 : raw / unit > 1 ? 2 : 1);
  std::vector<double> all;
  for (double v = std::ceil(a / step) * step; v <= b + 1e-9 * step; v += step)
    all.push_back(std::abs(v) < 1e-9 * step ? 0 : v);
  return all;
}
std::string escaped(const std::string& s) {
  std::string out;
  for (char c : s) out += c == '<' ? "&lt;" : c == '&' ? "&amp;" : std::string(1, c);
  return out;
}
}  // namespace

void plot(const std::string& file, const std::string& title, const std::string& x_axis, const std::string& y_axis,
          const std::vector<Curve>& curves, bool log) {
  double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
  auto value = [&](double y) { return log ? std::log10(std::max(y, 1e-12)) : y; };
  for (const Curve& c : curves)
    for (std::size_t i = 0; i < c.x.size(); ++i) {
      x0 = std::min(x0, c.x[i]), x1 = std::max(x1, c.x[i]);
      y0 = std::min(y0, value(c.y[i])), y1 = std::max(y1, value(c.y[i]));
    }
  if (!(x1 > x0)) x0 -= 1, x1 += 1;
  if (!(y1 > y0)) y0 -= 1, y1 += 1;
  auto at_x = [&](double x) { return kLeft + (x - x0) / (x1 - x0) * (kWidth - kLeft - kRight); };
  auto at_y = [&](double y) { return kHeight - kBottom - (y - y0) / (y1 - y0) * (kHeight - kTop - kBottom); };
  std::ofstream out(file);
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << kWidth << " " << kHeight
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n"
      << "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n<text x=\"" << kWidth / 2
      << "\" y=\"22\" text-anchor=\"middle\" font-size=\"15\">" << escaped(title) << "</text>\n";
  for (double y : ticks(y0, y1))
    out << "<line x1=\"" << kLeft << "\" x2=\"" << kWidth - kRight << "\" y1=\"" << at_y(y) << "\" y2=\"" << at_y(y)
        << "\" stroke=\"#ddd\"/>\n"
        << "<text x=\"" << kLeft - 6 << "\" y=\"" << at_y(y) + 4 << "\" text-anchor=\"end\">"
        << number(log ? std::pow(10, y) : y) << "</text>\n";
  for (double x : ticks(x0, x1))
    out << "<text x=\"" << at_x(x) << "\" y=\"" << kHeight - kBottom + 18 << "\" text-anchor=\"middle\">" << number(x)
        << "</text>\n";
  out << "<text x=\"" << kWidth / 2 << "\" y=\"" << kHeight - 10 << "\" text-anchor=\"middle\">" << escaped(x_axis)
      << "</text>\n"
      << "<text transform=\"translate(18," << kHeight / 2 << ") rotate(-90)\" text-anchor=\"middle\">"
      << escaped(y_axis) << "</text>\n";
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const char* color = kColors[k % std::size(kColors)];
    out << "<polyline fill=\"none\" stroke=\"" << color << "\" stroke-width=\"1.6\" points=\"";
    for (std::size_t i = 0; i < curves[k].x.size(); ++i)
      out << at_x(curves[k].x[i]) << "," << at_y(value(curves[k].y[i])) << " ";
    out << "\"/>\n<text x=\"" << kWidth - kRight - 6 << "\" y=\"" << kTop + 14 + 16 * static_cast<double>(k)
        << "\" text-anchor=\"end\" fill=\"" << color << "\">" << escaped(curves[k].name) << "</text>\n";
  }
  out << "</svg>\n";
  if (!out.flush()) throw std::runtime_error("cannot write '" + file + "'");
}

Progress::Progress(const char* what, long total) : what_(what), total_(std::max(total, 1L)), shown_(isatty(2) != 0) {}
Progress::~Progress() {
  if (shown_ && last_ >= 0) std::fputc('\n', stderr);
}
void Progress::at(long step, const std::string& note) {
  if (!shown_) return;
  constexpr long kCells = 30;
  const long cells = kCells * step / total_;
  std::fprintf(stderr, "\r%s [%s%s] %ld/%ld %s\033[K", what_, std::string(static_cast<std::size_t>(cells), '#').c_str(),
               std::string(static_cast<std::size_t>(kCells - cells), '.').c_str(), step, total_, note.c_str());
  last_ = step;
}

}  // namespace example
