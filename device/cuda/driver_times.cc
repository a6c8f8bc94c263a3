#include "device/cuda/driver_times.h"

#include <chrono>

#include "device/cuda/driver.h"

namespace reprise::device::cuda {

namespace {

bool counting = false;

/// In place of one entry point.
template <auto Member>
struct Timed;
template <class R, class... A, R (*Driver::*Member)(A...)>
struct Timed<Member> {
  using Clock = std::chrono::steady_clock;
  static inline R (*real)(A...) = nullptr;
  static inline DriverTimes::Entry entry{};
  static R call(A... a) {
    if (!counting) return real(a...);
    const Clock::time_point begin = Clock::now();
    const R r = real(a...);
    entry.seconds += std::chrono::duration<double>(Clock::now() - begin).count();
    ++entry.calls;
    return r;
  }
  static void begin(const char* name) {
    real = driver_table().*Member;
    entry = {name};
    if (real) driver_table().*Member = call;
  }
  static void end() { driver_table().*Member = real; }
};

/// f(the entry point's type, its name), of each.
template <class F>
void each(F&& f) {
#define REPRISE_CUDA_NEED(name) f(Timed<&Driver::name>(), #name);
#define REPRISE_CUDA_MAY(name) f(Timed<&Driver::name>(), #name);
#include "device/cuda/driver.def"
#undef REPRISE_CUDA_NEED
#undef REPRISE_CUDA_MAY
}

}  // namespace

DriverTimes::DriverTimes() {
  if (driver()) each([](auto timed, const char* name) { decltype(timed)::begin(name); });
}
DriverTimes::~DriverTimes() {
  if (driver()) each([](auto timed, const char*) { decltype(timed)::end(); });
}
void DriverTimes::set_counting(bool on) { counting = on; }

std::vector<DriverTimes::Entry> DriverTimes::entries() const {
  std::vector<Entry> all;
  each([&](auto timed, const char*) {
    if (decltype(timed)::entry.calls) all.push_back(decltype(timed)::entry);
  });
  return all;
}

}  // namespace reprise::device::cuda
