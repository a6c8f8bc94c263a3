#pragma once
#include <string>
#include <vector>

namespace example {

struct Curve {
  std::string name;
  std::vector<double> x, y;
};
/// A picture of curves over a common axis, as an SVG file; y is logarithmic if `log`. Throws std::runtime_error where
/// the file cannot be written.
void plot(const std::string& file, const std::string& title, const std::string& x_axis, const std::string& y_axis,
          const std::vector<Curve>&, bool log = false);

/// A line on stderr that grows, where stderr is a terminal; elsewhere nothing.
class Progress {
 public:
  Progress(const char* what, long total);
  ~Progress();
  void at(long step, const std::string& note);

 private:
  const char* what_;
  const long total_;
  const bool shown_;
  long last_ = -1;
};

}  // namespace example
