#include "runtime/replay/launch_code.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <optional>
#include <thread>

#include "base/epochs.h"
#include "base/phases.h"
#include "base/stack.h"
#include "device/parallel.h"
#include "jit/cpu/loop/compile.h"
#include "jit/cpu/micro/compile.h"
#include "jit/engine/objects.h"
#include "jit/gpu/kernels/compile.h"
#include "kernels/gpu/launches.h"

namespace reprise::runtime {

namespace {

// LLVM needs more stack than a worker's may have left.
constexpr std::size_t kStackForKernel = std::size_t{1} << 20;

/// One kernel of a launch. Kernels of the same content are made once, by whoever comes first
/// (jit/engine/kernel_cache.h): those of a model's later layers cost their keys.
struct Job {
  const kernels::Launch* launch;
  LaunchCode* to;
  std::size_t micro = 0;
  std::exception_ptr failure;
};

class Workshop {
 public:
  Workshop(std::vector<Job> jobs, const device::CodeTarget& target) : jobs_(std::move(jobs)), target_(target) {}

  void run(Makers makers) {
    const bool alone = makers != Makers::All || jit::ObjectScope::current();
    const auto threads = static_cast<std::int64_t>(
        std::min<std::size_t>(alone ? 1 : static_cast<std::size_t>(device::num_threads()), jobs_.size()));
    if (threads <= 1) {
      work();
    } else {
      // A fork that waits is not let pass between two kernels: others are amid theirs.
      const epochs::Working until_all_are_done;
      std::optional<InPhase> waiting;
      auto body = [&, caller = std::this_thread::get_id()] {
        work();
        if (std::this_thread::get_id() == caller && !waiting) waiting.emplace(Phase::MachineCode);
      };
      device::parallel_for(
          threads, 1, [](void* b, std::int64_t, std::int64_t) { (*static_cast<decltype(body)*>(b))(); }, &body);
    }
    for (Job& j : jobs_)
      if (j.failure) std::rethrow_exception(j.failure);
  }

 private:
  void work() noexcept {
    for (std::size_t i; !failed_.load(std::memory_order_relaxed) &&
                        (i = next_.fetch_add(1, std::memory_order_relaxed)) < jobs_.size();) {
      Job& job = jobs_[i];
      try {
        with_stack(kStackForKernel, [&] { make(job); });
      } catch (...) {
        job.failure = std::current_exception();
        failed_.store(true, std::memory_order_relaxed);
      }
    }
  }
  void make(Job& job) {
    const bool guarded = job.launch->guard.has_value();
    if (const auto* loop = std::get_if<kernels::LoopLaunch>(&job.launch->what)) {
      if (!target_.arch.empty()) job.to->gpu = jit::compile_gpu(loop->kernel, target_, guarded, true);
      if (!job.to->gpu) job.to->loop = jit::compile(loop->kernel);
    } else if (const auto* gpu = std::get_if<kernels::GpuLaunch>(&job.launch->what)) {
      job.to->image = jit::compile_gpu(gpu->code, target_, guarded, kernels::words_of(*gpu));
    } else {
      job.to->micro[job.micro] = jit::compile(std::get<kernels::NativeLaunch>(job.launch->what).micro[job.micro]);
    }
  }

  std::vector<Job> jobs_;
  const device::CodeTarget& target_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace

std::vector<LaunchCode> compile_launches(const std::vector<kernels::Launch>& launches, const device::CodeTarget& target,
                                         Makers makers) {
  std::vector<LaunchCode> made(launches.size());
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const auto* native = std::get_if<kernels::NativeLaunch>(&launches[i].what);
    if (!native) jobs.push_back({&launches[i], &made[i], 0, nullptr});
    else made[i].micro.resize(native->micro.size());
    for (std::size_t k = 0; native && k < native->micro.size(); ++k)
      jobs.push_back({&launches[i], &made[i], k, nullptr});
  }
  Workshop(std::move(jobs), target).run(makers);
  return made;
}

}  // namespace reprise::runtime
