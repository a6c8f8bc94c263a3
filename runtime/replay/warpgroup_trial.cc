#include "runtime/replay/warpgroup_trial.h"

#include <algorithm>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"
#include "jit/gpu/kernels/compile.h"
#include "kernels/gpu/kernels.h"

namespace reprise::runtime {

namespace {

bool asks(const kernels::Launch& l) {
  const auto* gpu = std::get_if<kernels::GpuLaunch>(&l.what);
  return gpu && (gpu->code.as<kernels::gpu::ProductTiles>() || gpu->code.as<kernels::gpu::AttentionTiles>());
}

/// Empty where they agree.
std::string problem(device::Backend& backend, const device::CodeTarget& target) {
  const jit::WarpgroupTrial trial = jit::warpgroup_trial(target);
  const std::size_t threads = trial.image->block.count();
  const std::int64_t bytes = static_cast<std::int64_t>(threads * sizeof(std::int32_t));
  device::Stream& stream = backend.current_stream();
  struct Memory {
    device::Backend& b;
    std::int64_t bytes;
    void* p;
    ~Memory() { b.deallocate(p, bytes); }
  } memory{backend, bytes, backend.allocate(bytes)};
  std::unique_ptr<device::Graph> graph = backend.new_graph(1);
  device::KernelNode node;
  node.kernel = backend.load(trial.image);
  node.name = "trial of warpgroups";
  node.grid = {1, 1, 1}, node.block = trial.image->block, node.shared_bytes = trial.image->shared_bytes;
  node.cells = {0};
  graph->add(std::move(node), {});
  const std::unique_ptr<device::GraphExec> exec = graph->instantiate();
  exec->prepare(&memory.p, true);
  exec->launch(stream, &memory.p);
  std::vector<std::int32_t> right(threads);
  backend.copy_to_host(right.data(), memory.p, bytes, stream);
  const auto wrong = std::find_if(right.begin(), right.end(), [&](std::int32_t n) { return n != trial.agreed; });
  if (wrong == right.end()) return {};
  return "thread " + std::to_string(wrong - right.begin()) + " of a known product has " + std::to_string(*wrong) +
         " of " + std::to_string(trial.agreed) + " sums right";
}

bool agree(Device d, const device::CodeTarget& target) {
  static Mutex mu;
  static auto* known = new std::map<int, bool>;  // by device; guarded by mu
  const MutexLock lock(mu);
  if (auto found = known->find(d.index); found != known->end()) return found->second;
  std::string why;
  try {
    why = problem(device::backend(d), target);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::OutOfMemory) return false;  // asked again by the next program
    why = e.what();
  }
  logs::event(logs::Event::warpgroups, d.str(),
              why.empty() ? "warpgroups multiply as told" : "warpgroups are not used: " + why,
              {{"device", d.str()}, {"agree", why.empty()}, {"why", why}});
  if (!why.empty()) logs::warn("the tensor cores of " + d.str() + " are used by warps, not by warpgroups: " + why);
  return (*known)[d.index] = why.empty();
}

}  // namespace

device::CodeTarget code_target(Device d) {
  device::CodeTarget target = device::backend(d).target();
  target.warpgroups = target.warpgroups && knobs().cuda_warpgroups == "on" && agree(d, target);
  return target;
}

device::CodeTarget code_target(Device d, std::span<const kernels::Launch> launches) {
  if (std::any_of(launches.begin(), launches.end(), asks)) return code_target(d);
  device::CodeTarget target = device::backend(d).target();
  target.warpgroups = false;  // loops are the same with and without
  return target;
}

}  // namespace reprise::runtime
