// What a program asks of the process as a whole: threads, the pool, devices, logging.
#include <charconv>

#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/log_channels.h"
#include "base/timeline.h"
#include "device/backend.h"
#include "device/parallel.h"
#include "reprise/stats.h"
#include "runtime/replay/pool.h"

namespace reprise {

void release_pool() { runtime::release_pool_memory(); }
int num_threads() { return device::num_threads(); }
void set_num_threads(int n) {
  if (n < 1) fail(ErrorCode::InvalidArgument, "set_num_threads", {}, "wants at least 1, got ", n);
  device::set_num_threads(n);
}

int default_num_threads() {
  static const int n = device::num_threads();
  return n;
}
namespace {
const int at_start = default_num_threads();  // before anybody sets another number
}

std::string why_unavailable(const std::string& device) {
  if (device == "cpu") return "available";
  Device d = Device::cuda(0);
  if (device != "cuda") {
    if (!device.starts_with("cuda:") || device.size() == 5 ||
        device.find_first_not_of("0123456789", 5) != std::string::npos)
      return "there is no such device: cpu, cuda, cuda:0, ... are known";
    std::uint8_t index = 0;
    if (std::from_chars(device.data() + 5, device.data() + device.size(), index).ec != std::errc{})
      return "there is no such device: cuda:255 has the highest number";
    d = Device::cuda(index);
  }
  std::string why = device::why_unavailable(d);
  return why.empty() ? "available" : why;
}

const char* version() { return "0.1.0"; }

void set_log(const std::string& channels, const std::string& file) {
  logs::require_channels(channels, "set_log");
  logs::configure(channels, file);
}
void set_log_callback(std::function<void(const LogEvent&)> callback, const std::string& channels) {
  logs::set_callback(std::move(callback), channels);
}
void set_timeline(const std::string& file) { timeline::configure(file, knobs().trace_bytes); }

}  // namespace reprise
