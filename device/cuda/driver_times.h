#pragma once
#include <cstdint>
#include <vector>

namespace reprise::device::cuda {

/// What calls of the driver take on the host, by entry point: for measurements. While one lives, functions that look at
/// the clock stand in the driver's table (driver.h), which nobody pays for otherwise. One at a time, while no other
/// thread calls the driver.
class DriverTimes {
 public:
  DriverTimes();
  ~DriverTimes();
  DriverTimes(const DriverTimes&) = delete;

  struct Entry {
    const char* name;  ///< as in cuda.h
    std::int64_t calls = 0;
    double seconds = 0;  ///< with one reading of the clock, some 20 ns, a call
  };
  /// What is called while f runs is added up.
  template <class F>
  void add_up(F&& f) {
    set_counting(true);
    f();
    set_counting(false);
  }
  /// Of those that were called.
  std::vector<Entry> entries() const;

 private:
  static void set_counting(bool);
};

}  // namespace reprise::device::cuda
