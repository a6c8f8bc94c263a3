#pragma once
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "bench/device/device_figures.h"
#include "device/backend.h"

namespace reprise::device_figures {

inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
inline void wait(Device d) { device::backend(d).synchronize(); }

inline double median(std::vector<double> v) {
  std::nth_element(v.begin(), v.begin() + static_cast<long>(v.size() / 2), v.end());
  return v[v.size() / 2];
}

/// Where rows are done once, what a profiler that waits for it looks at (ncu --profile-from-start off).
class Profiled {
 public:
  explicit Profiled(const Setting& s) : device_(s.device), on_(s.once) { tell("cuProfilerStart"); }
  ~Profiled() {
    if (on_) wait(device_);
    tell("cuProfilerStop");
  }
  Profiled(const Profiled&) = delete;

 private:
  void tell(const char* name) {
    if (!on_) return;
    static void* const driver = dlopen("libcuda.so.1", RTLD_LAZY);
    if (auto f = driver ? reinterpret_cast<int (*)()>(dlsym(driver, name)) : nullptr) f();
  }
  Device device_;
  bool on_;
};

/// Calls until the device has been busy for a while: its clocks rise with load. Gives the seconds of one call.
template <class F>
double warm_up(const Setting& s, F&& f) {
  f();  // compiles
  f();
  wait(s.device);
  if (s.once) return 1;
  double start = now(), took = 0;
  int calls = 0, batch = 1;
  do {
    for (int i = 0; i < batch; ++i) f();
    wait(s.device);
    calls += batch;
    took = now() - start;
    if (took < 0.02) batch = std::min(batch * 2, 256);
  } while (!s.quick && took < 0.12);
  return took / calls;
}

/// Seconds a call takes on the device: the median over rounds of queueing some and waiting for them all.
template <class F>
double device_time(const Setting& s, F&& f) {
  const double once = std::max(warm_up(s, f), 1e-6);
  if (s.once) {
    const Profiled looked_at(s);
    f();
    return once;
  }
  const int calls = s.quick ? 1 : std::clamp(static_cast<int>(0.02 / once), 3, 2000);
  const int rounds = s.quick ? 1 : std::clamp(static_cast<int>(1.5 / (calls * once)), 3, 11);
  std::vector<double> means;
  for (int r = 0; r < rounds; ++r) {
    double t = now();
    for (int i = 0; i < calls; ++i) f();
    wait(s.device);
    means.push_back((now() - t) / calls);
  }
  return median(means);
}

/// Seconds of the host's own time that a call takes, while the device is not waited for.
template <class F>
double host_time(const Setting& s, F&& f) {
  warm_up(s, f);
  std::vector<double> times;
  for (int i = 0; i < (s.quick ? 3 : 51); ++i) {
    double t = now();
    f();
    times.push_back(now() - t);
    wait(s.device);
  }
  return median(times);
}

}  // namespace reprise::device_figures
