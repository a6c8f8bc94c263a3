#include "device/cuda/launch_params.h"

#include <algorithm>

#include "device/cuda/module.h"

namespace reprise::device::cuda {

const CUDA_KERNEL_NODE_PARAMS& LaunchParams::of(const KernelNode& n, const GraphHome& home, void* block,
                                                const std::vector<void*>& addresses) {
  values_.clear();
  for (std::uint32_t c : n.cells)
    values_.push_back(home.indirect ? reinterpret_cast<std::uint64_t>(block) + std::uint64_t{8} * c
                                    : reinterpret_cast<std::uint64_t>(addresses[c]));
  for (std::int64_t v : n.params) values_.push_back(static_cast<std::uint64_t>(v));
  pointers_.clear();
  for (std::uint64_t& v : values_) pointers_.push_back(&v);
  const Dim3 grid = n.grid.count() == 0 ? Dim3{} : n.grid;  // such a node is disabled
  told_ = {};
  told_.func = static_cast<const CudaKernel&>(*n.kernel).function();
  told_.gridDimX = grid.x, told_.gridDimY = grid.y, told_.gridDimZ = grid.z;
  told_.blockDimX = n.block.x, told_.blockDimY = n.block.y, told_.blockDimZ = n.block.z;
  told_.sharedMemBytes = n.shared_bytes;
  told_.kernelParams = pointers_.data();
  return told_;
}

const CUDA_KERNEL_NODE_PARAMS& LaunchParams::upload(const GraphHome& home, void* block,
                                                    const std::vector<void*>& addresses, std::size_t part) {
  constexpr std::size_t kHead = 3;
  const auto cells = static_cast<std::uint32_t>(addresses.size()),
             after = static_cast<std::uint32_t>(uploads_of(cells) - 1 - part) * kUploadCells;
  const std::uint32_t count = std::min(cells - after, kUploadCells), first = cells - after - count;
  values_.assign(kHead + kUploadCells, 0);  // the argument is an array of full length; the driver copies all of it
  values_[0] = reinterpret_cast<std::uint64_t>(block), values_[1] = first, values_[2] = count;
  for (std::uint32_t i = 0; i < count; ++i) values_[kHead + i] = reinterpret_cast<std::uint64_t>(addresses[first + i]);
  pointers_.clear();
  for (std::size_t i = 0; i <= kHead; ++i) pointers_.push_back(&values_[i]);
  const auto& kernel = static_cast<const CudaKernel&>(*home.upload);
  told_ = {};
  told_.func = kernel.function();
  told_.gridDimX = told_.gridDimY = told_.gridDimZ = 1;
  told_.blockDimX = kernel.image().block.x;
  told_.blockDimY = told_.blockDimZ = 1;
  told_.kernelParams = pointers_.data();
  return told_;
}

ImagePtr upload_image() {
  static const ImagePtr image = [] {
    auto i = std::make_shared<Image>();
    i->entry = "reprise_upload_cells";
    i->block = {128, 1, 1};
    i->code = R"(.version 6.3
.target sm_75
.address_size 64
.visible .entry reprise_upload_cells(.param .u64 block, .param .u64 first, .param .u64 count, .param .align 8 .b8 values[3584])
{
  .reg .pred %p<3>;
  .reg .b32 %r<2>;
  .reg .b64 %rd<9>;
  ld.param.u64 %rd1, [block];
  ld.param.u64 %rd2, [first];
  ld.param.u64 %rd3, [count];
  cvta.to.global.u64 %rd1, %rd1;
  shl.b64 %rd2, %rd2, 3;
  add.s64 %rd1, %rd1, %rd2;
  mov.u64 %rd8, values;
  mov.u32 %r1, %tid.x;
  cvt.u64.u32 %rd4, %r1;
next:
  setp.ge.u64 %p1, %rd4, %rd3;
  @%p1 bra done;
  shl.b64 %rd5, %rd4, 3;
  add.s64 %rd6, %rd8, %rd5;
  ld.param.u64 %rd7, [%rd6];
  add.s64 %rd5, %rd1, %rd5;
  st.global.u64 [%rd5], %rd7;
  add.s64 %rd4, %rd4, 128;
  bra next;
done:
  ret;
}
)";
    return ImagePtr(i);
  }();
  return image;
}

}  // namespace reprise::device::cuda
