#include <cstdio>
#include <iterator>
#include <stdexcept>

#include "base/knobs.h"
#include "bench/device/measure.h"
#include "bench/device/small_kernel.h"
#include "device/cuda/driver_times.h"

namespace reprise::device_figures {

namespace {

kernels::LoopKernel small_kernel() {
  using kernels::BodyNode;
  kernels::LoopKernel k;
  k.name = "add_one";
  k.extents = {256};
  k.n_kept = 1;
  k.buffers = {{kFloat32, false}, {kFloat32, true}};
  kernels::Access read, write;
  read.strides = {1};
  write.buffer = 1;
  write.strides = {1};
  k.accesses = {read, write};
  BodyNode load{BodyNode::Kind::Load}, one{BodyNode::Kind::Const}, add{BodyNode::Kind::Op},
      store{BodyNode::Kind::Store};
  load.access = 0;
  one.fimm = 1;
  add.op = kernels::ScalarOp::Add;
  add.a = 0, add.b = 1;
  store.a = 2, store.access = 1;
  k.body = {load, one, add, store};
  return k;
}

}  // namespace

SmallKernel::SmallKernel(device::Backend& d) : kernel_(small_kernel()), code_(jit::compile_gpu(kernel_, d.target())) {
  if (!code_) throw std::runtime_error("no code is made for this device");
  loaded_ = d.load(code_->image);
  for (Int i : kernels::runtime_params(kernel_)) params_.push_back(i.hint());
}

device::KernelNode SmallKernel::node() const {
  device::KernelNode n;
  n.kernel = loaded_;
  n.name = kernel_.name;
  n.grid = code_->grid(params_.data());
  n.block = code_->image->block;
  n.shared_bytes = code_->image->shared_bytes;
  n.cells = {0, 1};
  n.params = params_;
  return n;
}

void graphs(const Setting& s) {
  device::Backend& d = device::backend(s.device);
  const SmallKernel small(d);
  Tensor a = zeros({256}, {.device = s.device}), b = zeros({256}, {.device = s.device}),
         c = zeros({256}, {.device = s.device});
  for (int nodes : s.quick ? std::vector<int>{1, 10} : std::vector<int>{1, 10, 100, 500, 1000, 5000}) {
    // Another amount of shared memory: what another size is to the driver, a node whose parameters have to be set.
    auto build = [&](bool other_size = false) {
      auto g = d.new_graph(2);
      for (int i = 0; i < nodes; ++i) {
        device::KernelNode n = small.node();
        if (other_size) n.shared_bytes += 16;
        std::vector<device::Graph::Node> after;
        if (i > 0) after.push_back(static_cast<device::Graph::Node>(i - 1));
        g->add(std::move(n), after);
      }
      return g;
    };
    std::string at = std::to_string(nodes) + " nodes";
    std::vector<double> times;
    std::unique_ptr<device::GraphExec> exec;
    for (int r = 0; r < (s.quick ? 1 : 9); ++r) {
      exec = nullptr;
      double t = now();
      exec = build()->instantiate();
      times.push_back(now() - t);
    }
    s.report({"graphs", "build and instantiate, " + at, median(times) * 1e6, "us"});
    s.report({"graphs", "bytes of the executable graph, " + at, static_cast<double>(exec->bytes()), "bytes"});
    void *same[] = {a.data_ptr(), b.data_ptr()}, *other[] = {a.data_ptr(), c.data_ptr()};
    s.report(
        {"graphs", "launch (host), " + at, host_time(s, [&] { exec->launch(d.current_stream(), same); }) * 1e6, "us"});
    bool turn = false;
    s.report({"graphs", "launch (host) with addresses that moved, " + at,
              host_time(s, [&] { exec->launch(d.current_stream(), (turn = !turn) ? other : same); }) * 1e6, "us"});
    s.report(
        {"graphs", "run (device), " + at, device_time(s, [&] { exec->launch(d.current_stream(), same); }) * 1e6, "us"});
    times.clear();
    for (int r = 0; r < (s.quick ? 1 : 9); ++r) {
      double t = now();
      exec = build(r % 2 == 0)->instantiate(std::move(exec));
      times.push_back(now() - t);
    }
    s.report({"graphs", "build and change to another size, " + at, median(times) * 1e6, "us"});
  }
}

namespace {

/// Where the host's time of f goes: in the driver, by entry point, and the rest of it.
template <class F>
void break_down(const Setting& s, const std::string& what, F&& f) {
  warm_up(s, f);
  device::cuda::DriverTimes times;
  const int calls = s.quick ? 4 : 200;
  double all = 0;
  for (int i = 0; i < calls; ++i) {
    times.add_up([&] {
      const double t = now();
      f();
      all += now() - t;
    });
    wait(s.device);
  }
  for (const device::cuda::DriverTimes::Entry& e : times.entries()) {
    char often[32];
    std::snprintf(often, sizeof often, "%g a call", static_cast<double>(e.calls) / calls);
    s.report({"calls", "  " + std::string(e.name) + ", " + often + ", " + what, e.seconds / calls * 1e6, "us"});
    all -= e.seconds;
  }
  s.report({"calls", "  all but the driver, " + what, all / calls * 1e6, "us"});
}

}  // namespace

// What guards, the choice of a recording, results and the epilogue add to the driver's launch of a graph of as many
// nodes.
void calls(const Setting& s) {
  device::Backend& d = device::backend(s.device);
  const SmallKernel small(d);
  const Tensor x = randn({32, 64}, {}).to(s.device), w = (randn({64, 64}, {}) * 0.1).to(s.device);
  Tensor a = zeros({256}, {.device = s.device}), b = zeros({256}, {.device = s.device});
  void* cells[] = {a.data_ptr(), b.data_ptr()};
  Scoped<std::string> own(knobs().cuda_products, "own");  // a product is one node
  // Without early launches, too: what a graph costs to launch may depend on its edges.
  for (const char* early : {"on", "off"}) {
    Scoped<std::string> starts(knobs().cuda_early, early);
    for (int nodes : s.quick ? std::vector<int>{1, 4} : std::vector<int>{1, 10, 100}) {
      const std::string at =
          std::to_string(nodes) + (nodes == 1 ? " node" : " nodes") + (*std::next(early) == 'f' ? ", none early" : "");
      if (!s.wants(at)) continue;
      auto g = d.new_graph(2);
      for (int i = 0; i < nodes; ++i)
        g->add(small.node(), i ? std::vector<device::Graph::Node>{static_cast<device::Graph::Node>(i - 1)}
                               : std::vector<device::Graph::Node>{});
      auto exec = g->instantiate();
      auto f = compile(
          [nodes](Tensor t, Tensor m) {
            for (int i = 0; i < nodes; ++i) t = linear(t, m);
            return t;
          },
          {.name = "calls"});
      auto launch = [&] { exec->launch(d.current_stream(), cells); };
      Tensor y;
      auto dropped = [&] { f(x, w); };
      auto kept = [&] { y = f(x, w); };  // two results take turns: addresses move
      const double bare = host_time(s, launch), of_dropped = host_time(s, dropped), of_kept = host_time(s, kept);
      s.report({"calls", "host time of a bare launch, " + at, bare * 1e6, "us"});
      s.report({"calls", "host time of a call, its result dropped, " + at, of_dropped * 1e6, "us", of_dropped / bare,
                "a bare launch"});
      s.report({"calls", "host time of a call, its result kept until the next, " + at, of_kept * 1e6, "us",
                of_kept / bare, "a bare launch"});
      break_down(s, "bare launch, " + at, launch);
      break_down(s, "result dropped, " + at, dropped);
      break_down(s, "result kept, " + at, kept);
    }
  }
}

namespace {

// What another length of a prompt costs where a library computes the products: each is asked for, captured, and comes
// into a graph of its own or as nodes of the one graph.
void new_sizes_of_products(const Setting& s) {
  const int products = s.quick ? 4 : 112;  // of a prompt's layers in a 1B model
  const std::int64_t width = s.quick ? 64 : 512;
  const Tensor w = (randn({width, width}, {}) * 0.05).to(s.device);
  Scoped<std::string> library(knobs().cuda_products, "library");
  for (const char* how : {"child", "flat"}) {
    const std::string named = ", " + std::to_string(products) + " library products, " + how;
    if (!s.wants(named)) continue;
    Scoped<std::string> captures(knobs().cuda_captures, how);
    auto f = compile(
        [products](Tensor x, Tensor m) {
          for (int i = 0; i < products; ++i) x = linear(x, m);
          return x;
        },
        {.name = how});
    std::int64_t rows = 32 + (*how == 'f');  // sizes that the other one has not had
    const Tensor x = zeros({4096, width}, {.device = s.device});
    const std::int64_t before = stats().library_products;
    f(x.slice(0, 0, rows), w);
    if (stats().library_products == before) return;  // there is no library
    std::vector<double> fresh, moved;
    for (int i = 0; i < (s.quick ? 2 : 15); ++i) {
      rows += 2;
      const Tensor part = x.slice(0, 0, rows);
      wait(s.device);
      double t = now();
      Tensor y = f(part, w);
      fresh.push_back(now() - t);
      wait(s.device);
      t = now();
      const Tensor z = f(part, w);  // its result lies elsewhere
      moved.push_back(now() - t);
    }
    const Tensor part = x.slice(0, 0, rows);
    s.report({"changing sizes", "host time of a call with a size never seen" + named, median(fresh) * 1e6, "us"});
    s.report({"changing sizes", "host time of its next call, whose result lies elsewhere" + named, median(moved) * 1e6,
              "us"});
    s.report({"changing sizes", "host time of a call" + named, host_time(s, [&] { f(part, w); }) * 1e6, "us"});
    s.report({"changing sizes", "run (device)" + named, device_time(s, [&] { f(part, w); }) * 1e6, "us"});
  }
}

}  // namespace

void changing_sizes(const Setting& s) {
  new_sizes_of_products(s);
  const std::int64_t most = s.quick ? 64 : 4096, width = s.quick ? 64 : 1024;
  Tensor w1 = randn({width, width}, {}).to(s.device), w2 = randn({width, width}, {}).to(s.device);
  auto f = compile(
      [](Tensor x, Tensor a, Tensor b) {
        Tensor h = x;
        for (int i = 0; i < 4; ++i) h = softmax(linear(gelu(linear(h, a)), b), -1) + h;
        return h;
      },
      {.name = "sizes"});
  Tensor x = zeros({most, width}, {.device = s.device});
  f(x, w1, w2);
  std::vector<double> fresh;
  for (std::int64_t n = 1; n <= most; n += s.quick ? 7 : 16) {
    double t = now();
    f(x.slice(0, 0, n), w1, w2);
    fresh.push_back(now() - t);
  }
  wait(s.device);
  Stats stats = f.stats();
  device::MemoryStats m = device::backend(s.device).memory();
  s.report({"changing sizes", "host time of a call with a size never seen", median(fresh) * 1e6, "us"});
  s.report({"changing sizes", "compilations", static_cast<double>(stats.compilations), ""});
  s.report({"changing sizes", "recordings made", static_cast<double>(stats.recordings_made), ""});
  s.report({"changing sizes", "pool", static_cast<double>(m.range_bytes), "bytes"});
  s.report({"changing sizes", "executable graphs", static_cast<double>(m.graph_bytes), "bytes"});
}

}  // namespace reprise::device_figures
