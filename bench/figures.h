#pragma once
#include <string>
#include <vector>

namespace reprise::figures {

/// One of the targets: what was measured here and now against what is to be reached.
struct Figure {
  std::string name;
  double measured = 0;
  std::string unit;
  double target = 0;
  enum class Better { Lower, Higher } better = Better::Lower;
  bool measurable = true;
  std::string note;  ///< how it was measured, or why it cannot be here

  std::string verdict() const {
    if (!measurable) return "not measurable here";
    return (better == Better::Lower ? measured <= target : measured >= target) ? "met" : "short";
  }
};

/// Each measures one thing and takes a few seconds at most. Comparisons are interleaved in one run; times are medians.
/// bench/figures_dispatch.cc
std::vector<Figure> dispatch_figures();
std::vector<Figure> call_figures();
std::vector<Figure> kernel_figures();
std::vector<Figure> matmul_figures();
/// bench/figures_conv.cc
std::vector<Figure> conv_figures();
/// bench/figures_quantize.cc
std::vector<Figure> quantize_figures();
/// bench/figures_scaled.cc
std::vector<Figure> scaled_figures();
/// bench/figures_training.cc
std::vector<Figure> training_figures();
std::vector<Figure> model_figures();
std::vector<Figure> recording_figures();
std::vector<Figure> process_figures(const char* self);
/// The time of a first call by the length of the program (bench/figures_growth.cc).
std::vector<Figure> growth_figures(const char* self);
/// Programs without a compiler (bench/figures_export.cc).
std::vector<Figure> export_figures(const char* self);
std::vector<Figure> other_machines();

/// What the second process does (`reprise_figures --child`): one small program, then "<ms> <kernels compiled>".
int child();
/// The same of an encoder of so many layers (`--child-encoder 12`): the milliseconds that its first call takes beyond a
/// replay.
int encoder_child(int layers);
/// `reprise_figures --growth SHAPE N`: seconds of one first call.
int growth_child(const char* shape, int n);

/// `reprise_figures --export-child NET compile|export`: seconds.
int export_child(const char* net, const char* what);

/// `reprise_figures --since BEFORE NOW`: prints what differs between two folders of figures as JSON, one file for each
/// round, by more than it varies. 1 if something has become worse.
int since(const char* before, const char* now);

double median(std::vector<double> v);
/// Seconds a call takes: the median over `rounds` of the mean over as many calls as fill about `round_s` seconds.
template <class F>
double time_call(F&& f, int rounds = 15, double round_s = 0.01);

}  // namespace reprise::figures

#include <algorithm>
#include <chrono>

namespace reprise::figures {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

template <class F>
double time_call(F&& f, int rounds, double round_s) {
  long n = 1;
  for (;;) {  // how many calls fill a round
    double t = now();
    for (long i = 0; i < n; ++i) f();
    t = now() - t;
    if (t > round_s / 2 || n > (1L << 30)) {
      n = std::max(1L, static_cast<long>(static_cast<double>(n) * round_s / std::max(t, 1e-9)));
      break;
    }
    n *= 4;
  }
  std::vector<double> means;
  for (int r = 0; r < rounds; ++r) {
    double t = now();
    for (long i = 0; i < n; ++i) f();
    means.push_back((now() - t) / static_cast<double>(n));
  }
  return median(means);
}

}  // namespace reprise::figures
