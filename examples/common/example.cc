#include "example.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace example {

Options& Options::integer(const std::string& flag, std::int64_t* value, std::int64_t least, std::int64_t most,
                          const std::string& meaning) {
  all_.push_back({.flag = flag,
                  .meaning = meaning,
                  .integer = value,
                  .least = static_cast<double>(least),
                  .most = static_cast<double>(most)});
  return *this;
}
Options& Options::number(const std::string& flag, double* value, double least, double most,
                         const std::string& meaning) {
  all_.push_back({.flag = flag, .meaning = meaning, .number = value, .least = least, .most = most});
  return *this;
}
Options& Options::text(const std::string& flag, std::string* value, const std::string& meaning) {
  all_.push_back({.flag = flag, .meaning = meaning, .text = value});
  return *this;
}
Options& Options::flag(const std::string& flag, bool* value, const std::string& meaning) {
  all_.push_back({.flag = flag, .meaning = meaning, .set = value});
  return *this;
}

void Options::fail(const std::string& what) const {
  std::fflush(stdout);
  std::fprintf(stderr, "%s: %s\n%s: --help lists the options\n", name_.c_str(), what.c_str(), name_.c_str());
  std::exit(2);
}

void Options::help() const {
  std::printf("usage: %s [options]\n\n%s\n\n", name_.c_str(), purpose_.c_str());
  for (const Option& o : all_) {
    std::string fallback;
    if (o.integer) fallback = " (default " + std::to_string(*o.integer) + ")";
    if (o.number) {
      char text[32];
      std::snprintf(text, sizeof text, " (default %g)", *o.number);
      fallback = text;
    }
    std::printf("  %-18s %s%s\n",
                (o.flag + (o.set       ? ""
                           : o.integer ? " N"
                           : o.text    ? " FILE"
                                       : " X"))
                    .c_str(),
                o.meaning.c_str(), fallback.c_str());
  }
  std::printf("  %-18s %s\n", "--help", "this text");
}

void Options::parse(int argc, char** argv) const {
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i];
    if (given == "--help" || given == "-h") help(), std::exit(0);
    const auto it = std::find_if(all_.begin(), all_.end(), [&](const Option& o) { return o.flag == given; });
    if (it == all_.end()) fail(given.starts_with("--") ? "unknown option '" + given + "'" : "takes no '" + given + "'");
    if (it->set) {
      *it->set = true;
      continue;
    }
    if (i + 1 >= argc) fail(given + " needs a value");
    const char* text = argv[++i];
    if (it->text) {
      *it->text = text;
      continue;
    }
    char* end = nullptr;
    const double v = std::strtod(text, &end);
    if (end == text || *end != 0 || !(v >= it->least && v <= it->most) || (it->integer && v != std::floor(v))) {
      char range[96];
      std::snprintf(range, sizeof range, "expected a %s from %.15g to %.15g", it->integer ? "whole number" : "number",
                    it->least, it->most);
      fail(given + " is '" + text + "', " + range);
    }
    if (it->integer) *it->integer = static_cast<std::int64_t>(v);
    else *it->number = v;
  }
}

void Checks::line(bool ok, const std::string& what, const std::string& detail) {
  std::printf("%s %s (%s)\n", ok ? "verified:" : "FAILED:  ", what.c_str(), detail.c_str());
  failed_ = failed_ || !ok;
}

void Checks::close(const std::string& what, const rp::Tensor& got, const rp::Tensor& expected, double tolerance) {
  const rp::Ints a = got.sizes(), b = expected.sizes();
  if (!std::equal(a.begin(), a.end(), b.begin(), b.end(), [](rp::Int x, rp::Int y) { return identical(x, y); }))
    return line(false, what, "sizes differ");
  double most = 0, largest = 0;
  const std::vector<double> x = got.to_vector<double>(), y = expected.to_vector<double>();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double apart = std::abs(x[i] - y[i]);
    most = std::isnan(apart) ? INFINITY : std::max(most, apart), largest = std::max(largest, std::abs(y[i]));
  }
  char detail[128];
  std::snprintf(detail, sizeof detail, "%zu values, apart by %.1e of %.3g", x.size(), most, largest);
  line(most <= tolerance * largest, what, detail);
}

void Checks::equal(const std::string& what, std::int64_t got, std::int64_t expected) {
  line(got == expected, what,
       got == expected ? std::to_string(got) : std::to_string(got) + ", expected " + std::to_string(expected));
}

void Checks::at_most(const std::string& what, double got, double bound) {
  char detail[64];
  std::snprintf(detail, sizeof detail, "%.3g, bound %.3g", got, bound);
  line(got <= bound, what, detail);
}

double Times::quantile(double q) const {
  if (all_.empty()) return 0;
  std::vector<double> sorted = all_;
  const auto at = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(static_cast<double>(sorted.size() - 1),
                                                                        q * static_cast<double>(sorted.size())));
  std::nth_element(sorted.begin(), at, sorted.end());
  return *at;
}

void Times::histogram() const {
  constexpr int kBins = 24, kWidth = 50;  // the last: 8 s and more
  std::size_t bins[kBins] = {}, most = 1;
  for (const double t : all_)
    ++bins[std::clamp(static_cast<int>(std::floor(std::log2(std::max(t * 1e6, 1.0)))), 0, kBins - 1)];
  int first = kBins, last = 0;
  for (int b = 0; b < kBins; ++b)
    if (bins[b]) first = std::min(first, b), last = b, most = std::max(most, bins[b]);
  for (int b = first; b <= last; ++b) {
    const auto width = static_cast<int>((bins[b] * kWidth + most - 1) / most);
    std::printf("  %8lld us and more  %9zu  %s\n", b ? 1ll << b : 0ll, bins[b],
                std::string(static_cast<std::size_t>(width), '#').c_str());
  }
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void row(const std::string& name, double value, const char* unit, int digits) {
  std::printf("%-28s %12.*f %s\n", name.c_str(), digits, value, unit);
}

void rows(const rp::Stats& s) {
  row("compilations", static_cast<double>(s.compilations), "");
  row("recordings", static_cast<double>(s.recordings), "");
  row("calls served eagerly", static_cast<double>(s.eager_fallbacks), "");
  row("pool", static_cast<double>(s.pool_bytes), "bytes");
  row("copied beyond eager", static_cast<double>(s.copied_bytes), "bytes");
  row("guards and dispatch", s.dispatch_ns, "ns a call");
}

int guarded(const char* name, int (*program)(int, char**), int argc, char** argv) {
  try {
    return program(argc, argv);
  } catch (const std::exception& e) {
    std::fflush(stdout);
    std::fprintf(stderr, "%s: %s\n", name, e.what());
    return 1;
  }
}

}  // namespace example
