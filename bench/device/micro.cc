#include "bench/device/measure.h"
#include "bench/device/small_kernel.h"

namespace reprise::device_figures {

namespace {

/// What a wait with a few bytes read costs.
void read_back(const Setting& s) {
  device::Backend& d = device::backend(s.device);
  Tensor x = zeros({64}, {.device = s.device});
  char pageable[24];
  auto figure = [&](const char* name, auto f) { s.report({"micro", name, device_time(s, f) * 1e6, "us"}); };
  figure("read back 24 bytes, pageable",
         [&] { d.copy_to_host(pageable, x.data_ptr(), sizeof pageable, d.current_stream()); });
  void* pinned = d.allocate_pinned(64);
  figure("read back 24 bytes, pinned", [&] {
    d.copy_to_pinned(pinned, x.data_ptr(), 24, d.current_stream());
    d.current_stream().synchronize();
  });
  d.deallocate_pinned(pinned);
  figure("memory()", [&] { d.memory(); });
}

/// Time of a node: in a chain, and where three branches join before the next three begin (as q, k and v do).
void branches(const Setting& s) {
  device::Backend& d = device::backend(s.device);
  const SmallKernel small(d);
  Tensor a = zeros({256}, {.device = s.device}), b = zeros({256}, {.device = s.device});
  void* cells[] = {a.data_ptr(), b.data_ptr()};
  for (int nodes : s.quick ? std::vector<int>{8} : std::vector<int>{100, 248, 500, 1000})
    for (bool joins : {false, true}) {
      auto g = d.new_graph(2);
      std::vector<device::Graph::Node> last;
      for (int i = 0; i < nodes;) {
        std::vector<device::Graph::Node> level;
        for (int j = 0; j < (joins && i % 4 == 0 ? 3 : 1) && i < nodes; ++j, ++i)
          level.push_back(g->add(small.node(), last));
        last = level;
      }
      auto exec = g->instantiate();
      const double seconds = device_time(s, [&] { exec->launch(d.current_stream(), cells); });
      s.report({"micro",
                std::string(joins ? "a node of branches of three, " : "a node of a chain, ") + std::to_string(nodes),
                seconds / nodes * 1e6, "us"});
    }
}

/// What reading a weight matrix of so many bytes reaches, as one node of a chain of such: a sum over all of it.
void reads(const Setting& s) {
  const std::int64_t pool = s.quick ? 1 << 18 : 4 * kPastCaches;
  Tensor weights = zeros({pool / 4}, {.device = s.device});
  for (std::int64_t mb :
       s.quick ? std::vector<std::int64_t>{0} : std::vector<std::int64_t>{2, 8, 16, 33, 67, 117, 525}) {
    const std::int64_t bytes = mb ? mb << 20 : 1 << 16, links = std::clamp<std::int64_t>(pool / bytes, 1, 64);
    auto sums = compile(
        [links, bytes](Tensor w) {
          std::vector<Tensor> out;
          for (std::int64_t i = 0; i < links; ++i)
            out.push_back(w.slice(0, i * (bytes / 4), (i + 1) * (bytes / 4)).view({1024, bytes / 4096}).sum(1));
          return out;
        },
        {.name = "reads"});
    const double rate = static_cast<double>(bytes * links) / device_time(s, [&] { sums(weights); });
    s.report({"micro", "rows summed of matrices of " + std::to_string(bytes >> 10) + " KiB", rate / 1e9, "GB/s",
              rate / s.read_rate, "read"});
  }
}

}  // namespace

void micro(const Setting& s) {
  read_back(s);
  branches(s);
  reads(s);
}

}  // namespace reprise::device_figures
