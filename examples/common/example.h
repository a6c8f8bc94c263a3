#pragma once
// What the programs of the gallery share: options, what they verify of themselves, figures. None of it is needed to use
// the library.
#include <cstdint>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace example {

namespace rp = reprise;

/// The options of a program, each declared with the variable that it sets; the declarations make --help.
class Options {
 public:
  Options(std::string name, std::string purpose) : name_(std::move(name)), purpose_(std::move(purpose)) {}
  Options& integer(const std::string& flag, std::int64_t* value, std::int64_t least, std::int64_t most,
                   const std::string& meaning);
  Options& number(const std::string& flag, double* value, double least, double most, const std::string& meaning);
  Options& text(const std::string& flag, std::string* value, const std::string& meaning);
  Options& flag(const std::string& flag, bool* value, const std::string& meaning);
  /// Exits after --help (0), and after saying in one line what is wrong with the command line (2).
  void parse(int argc, char** argv) const;
  /// For what only the program knows to be wrong.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  struct Option {
    std::string flag, meaning;
    std::int64_t* integer = nullptr;
    double* number = nullptr;
    std::string* text = nullptr;
    bool* set = nullptr;
    double least = 0, most = 0;
  };
  void help() const;
  std::string name_, purpose_;
  std::vector<Option> all_;
};

/// What a program verifies of itself: a line for each, and the exit code.
class Checks {
 public:
  /// The largest difference is at most `tolerance` of the largest element; sizes are equal.
  void close(const std::string& what, const rp::Tensor& got, const rp::Tensor& expected, double tolerance = 1e-4);
  void equal(const std::string& what, std::int64_t got, std::int64_t expected);
  void at_most(const std::string& what, double got, double bound);
  int exit_code() const { return failed_ ? 1 : 0; }

 private:
  void line(bool ok, const std::string& what, const std::string& detail);
  bool failed_ = false;
};

/// Durations in seconds, in the order of the calls.
class Times {
 public:
  void reserve(std::size_t n) { all_.reserve(n); }
  void add(double seconds) { all_.push_back(seconds); }
  double median() const { return quantile(0.5); }
  double quantile(double q) const;  ///< the element at that place of the sorted times
  double largest() const { return quantile(1); }
  std::size_t count() const { return all_.size(); }
  void histogram() const;  ///< prints how many lie between powers of two of microseconds

 private:
  std::vector<double> all_;
};
double now();  ///< seconds of the steady clock

/// A line of the table at the end.
void row(const std::string& name, double value, const char* unit, int digits = 0);
/// Compilations, recordings, eager calls, pool.
void rows(const rp::Stats&);

/// Catches what `program` throws, as a line on stderr and exit code 1.
int guarded(const char* name, int (*program)(int, char**), int argc, char** argv);

}  // namespace example
