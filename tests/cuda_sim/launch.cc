#include <cstring>

#include "tests/cuda_sim/stream.h"

namespace sim {

namespace {

void check_shape(const LoadedKernel& f, Dim grid, Dim block, std::uint32_t shared) {
  auto text = [](Dim d) { return cat("(", d.x, ",", d.y, ",", d.z, ")"); };
  require(grid.x && grid.y && grid.z && grid.x <= 2147483647u && grid.y <= 65535 && grid.z <= 65535,
          CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": a grid of ", text(grid), " blocks");
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  require(threads >= 1 && threads <= 1024 && block.x <= 1024 && block.y <= 1024 && block.z <= 64,
          CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": a block of ", text(block), " threads");
  require(!f.kernel.max_threads || threads <= f.kernel.max_threads, CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": ",
          threads, " threads, made for at most ", f.kernel.max_threads);
  const auto& r = f.kernel.required;
  require(!r[0] || (block.x == r[0] && block.y == std::max(r[1], 1u) && block.z == std::max(r[2], 1u)),
          CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": a block of ", text(block), " threads, made for ",
          text({r[0], std::max(r[1], 1u), std::max(r[2], 1u)}));
  const std::uint64_t fixed = f.code ? f.code->static_shared : 0;
  require(static_cast<std::int64_t>(shared) <= f.max_dynamic_shared &&
              (f.max_dynamic_shared > (48 << 10) || shared + fixed <= 48 << 10),
          CUDA_ERROR_INVALID_VALUE, "kernel ", f.name, ": ", shared, " bytes of dynamic shared memory; allowed are ",
          f.max_dynamic_shared, " (CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)");
}

}  // namespace

KernelWork make_kernel_work(const void* function, Dim grid, Dim block, std::uint32_t shared, void** params,
                            void** extra) {
  auto f = find_function(function);
  check_shape(*f, grid, block, shared);
  KernelWork w{f, grid, block, shared, std::vector<char>(f->param_bytes)};
  if (params) {
    for (std::size_t i = 0; i < f->params.size(); ++i) {
      require(params[i], CUDA_ERROR_INVALID_VALUE, "kernel ", f->name, ": parameter ", i, " is missing");
      std::memcpy(w.params.data() + f->params[i].offset, params[i], f->params[i].bytes);
    }
    return w;
  }
  const void* buffer = nullptr;
  std::size_t bytes = 0;
  for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = extra[1];
    if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE) bytes = *static_cast<std::size_t*>(extra[1]);
  }
  require(bytes >= f->param_bytes && (buffer || !f->param_bytes), CUDA_ERROR_INVALID_VALUE, "kernel ", f->name, ": ",
          bytes, " bytes of parameters, it has ", f->param_bytes);
  if (f->param_bytes) std::memcpy(w.params.data(), buffer, f->param_bytes);
  return w;
}

}  // namespace sim

using namespace sim;

SIM_ENTRY cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
                         unsigned shared, CUstream s, void** params, void** extra) {
  return api(__func__, kContext, [&] {
    auto stream = stream_of(s);
    submit(stream, make_kernel_work(f, {gx, gy, gz}, {bx, by, bz}, shared, params, extra));
  });
}
SIM_ENTRY cuLaunchKernelEx(const CUlaunchConfig* c, CUfunction f, void** params, void** extra) {
  return api(__func__, kContext, [&] {
    for (unsigned i = 0; i < c->numAttrs; ++i) {
      const auto id = c->attrs[i].id;
      if (id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        const auto& d = c->attrs[i].value.clusterDim;
        require(d.x == 1 && d.y == 1 && d.z == 1, CUDA_ERROR_NOT_SUPPORTED, "clusters of blocks are not simulated");
      }
      require(id != CU_LAUNCH_ATTRIBUTE_COOPERATIVE || !c->attrs[i].value.cooperative, CUDA_ERROR_NOT_SUPPORTED,
              "cooperative launches are not simulated: blocks run one after another");
    }
    auto stream = stream_of(c->hStream);
    submit(stream, make_kernel_work(f, {c->gridDimX, c->gridDimY, c->gridDimZ},
                                    {c->blockDimX, c->blockDimY, c->blockDimZ}, c->sharedMemBytes, params, extra));
  });
}
