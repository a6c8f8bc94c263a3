// Pinned memory, copies that nobody waits for, and DLPack with streams.
#include <cuda.h>

#include <atomic>

#include "tensor/dlpack_abi.h"
#include "tests/cuda/support.h"

namespace reprise::test {
namespace {

using CudaTransfer = Cuda;

template <class F>
F* driver_entry(const char* name) {
  return reinterpret_cast<F*>(dlsym(Simulator::library(), name));
}

TEST_F(CudaTransfer, PinnedMemoryIsTheHosts) {
  Tensor x = rand({40, 3});
  EXPECT_FALSE(x.is_pinned());
  Tensor p = x.pin_memory();
  EXPECT_TRUE(p.is_pinned());
  EXPECT_TRUE(p.slice(0, 3, 9).is_pinned());
  EXPECT_EQ(p.device(), Device::cpu());
  EXPECT_TRUE(p.pin_memory().is_same(p));
  EXPECT_EQ(p.to_vector<float>(), x.to_vector<float>());
  EXPECT_EQ((p * 2.0).to_vector<float>(), (x * 2.0).to_vector<float>());
  EXPECT_EQ(x.transpose(0, 1).pin_memory().to_vector<float>(), x.transpose(0, 1).to_vector<float>());
  EXPECT_EQ(x.slice(1, 0, 2).pin_memory().to_vector<float>(), x.slice(1, 0, 2).to_vector<float>());
  EXPECT_EQ(zeros({0, 3}).pin_memory().to(d, true).numel().value(), 0);
  EXPECT_EQ(error_of([&] { x.to(d).pin_memory(); }).code(), ErrorCode::DeviceMismatch);
  EXPECT_EQ(error_of([&] { x.pin_memory(Device::cpu()); }).code(), ErrorCode::InvalidArgument);
}

TEST_F(CudaTransfer, CopiesAreQueuedInOrder) {
  Stream stream = Stream::create(d);
  StreamGuard guard(stream);
  Tensor a = rand({1000}).pin_memory(), b = zeros({1000}).pin_memory();
  const std::vector<float> first = a.to_vector<float>();
  Tensor on = a.to(d, true);
  Tensor twice = on * 2.0;
  b.copy_(twice, true);
  Tensor made = twice.to(Device::cpu(), true);
  EXPECT_TRUE(made.is_pinned());
  stream.synchronize();
  for (std::size_t i = 0; i < first.size(); ++i) {
    ASSERT_EQ(b.data<float>()[i], first[i] * 2);
    ASSERT_EQ(made.data<float>()[i], first[i] * 2);
  }
  on.copy_(b, true);  // over the device's own
  EXPECT_EQ(on.to_vector<float>(), b.to_vector<float>());
}

TEST_F(CudaTransfer, OtherCopiesAreRightAllTheSame) {
  Tensor x = rand({6, 4}), p = x.pin_memory(), on = zeros({6, 4}, {.device = d}),
         half = zeros({6, 4}, {.dtype = kFloat16, .device = d});
  on.copy_(x, true);  // not pinned
  EXPECT_EQ(on.to_vector<float>(), x.to_vector<float>());
  on.slice(0, 0, 2).copy_(p.select(0, 3), true);  // broadcast
  EXPECT_EQ(on.select(0, 1).to_vector<float>(), x.select(0, 3).to_vector<float>());
  half.copy_(p, true);  // another dtype
  EXPECT_EQ(half.to_vector<float>(), x.to(kFloat16).to_vector<float>());
  Tensor host = zeros({6, 4});
  host.copy_(on, true);
  EXPECT_EQ(host.to_vector<float>(), on.to_vector<float>());
  EXPECT_EQ(error_of([&] { zeros({5}, {.device = d}).copy_(p, true); }).code(), ErrorCode::ShapeMismatch);
}

// A block that dies while a copy from it is queued must not be handed out and written.
TEST_F(CudaTransfer, BlocksWaitForTheirCopies) {
  if (!Simulator::library()) GTEST_SKIP() << "the simulator holds work back";
  auto* set_async = Simulator::find<decltype(reprise_simulator_set_async)>("reprise_simulator_set_async");
  set_async(1);
  constexpr int kSize = 9000;  // no other test has blocks of this class
  for (int round = 0; round < 20; ++round) {
    Tensor on = full({kSize}, static_cast<double>(round)).pin_memory().to(d, true);
    Tensor other = full({kSize}, -1.0).pin_memory();
    EXPECT_EQ(on.to_vector<float>(), std::vector<float>(kSize, static_cast<float>(round)));
  }
  set_async(0);
  synchronize(d);
  const void* first = zeros({70000}).pin_memory().data_ptr();
  EXPECT_EQ(zeros({70000}).pin_memory().data_ptr(), first) << "idle blocks serve again";
}

TEST_F(CudaTransfer, ToAConsumersStream) {
  if (!Simulator::library()) GTEST_SKIP() << "counted by the simulator";
  Tensor x = rand({3}).to(d) + 1.0;
  Stream theirs = Stream::create(d);
  auto waits = [] {
    return Simulator::find<decltype(reprise_simulator_calls)>("reprise_simulator_calls")("cuStreamWaitEvent");
  };
  const auto before = waits();
  for (std::intptr_t s :
       {reinterpret_cast<std::intptr_t>(theirs.native_handle()), std::intptr_t{1}, std::intptr_t{-1}}) {
    auto* m = reinterpret_cast<dlpack::Managed*>(to_dlpack(x, s));
    EXPECT_EQ(m->view.device.kind, dlpack::kCuda);
    EXPECT_EQ(m->view.data, x.data_ptr());
    m->deleter(m);
  }
  EXPECT_EQ(waits() - before, 2u);
  EXPECT_EQ(error_of([&] { to_dlpack(x, 0); }).code(), ErrorCode::InvalidArgument);
  auto* on_host = reinterpret_cast<dlpack::Managed*>(to_dlpack(x.cpu(), 1));
  on_host->deleter(on_host);
}

TEST_F(CudaTransfer, FromAProducer) {
  static std::atomic<int> deleted;
  deleted = 0;
  Tensor x = rand({2, 3}).to(d);
  std::int64_t sizes[] = {2, 3};
  dlpack::Managed m{};
  m.view = {x.data_ptr(), {dlpack::kCuda, 0}, 2, {dlpack::kFloat, 32, 1}, sizes, nullptr, 0};
  m.deleter = [](dlpack::Managed*) { ++deleted; };
  {
    Tensor y = from_dlpack(reinterpret_cast<DLManagedTensor*>(&m));
    EXPECT_EQ(y.device(), d);
    Tensor z = y * 2.0;
    y = Tensor();
    EXPECT_EQ(deleted, 1);
    EXPECT_EQ(z.to_vector<float>(), (x * 2.0).to_vector<float>());
  }
  EXPECT_EQ(deleted, 1);
  Tensor pinned = rand({2, 3}).pin_memory();
  m.view.data = pinned.data_ptr(), m.view.device.kind = dlpack::kCudaHost;
  EXPECT_EQ(from_dlpack(reinterpret_cast<DLManagedTensor*>(&m)).device(), Device::cpu());
  EXPECT_EQ(deleted, 2);
  m.view.device.kind = dlpack::kCudaManaged;
  Error e = error_of([&] { from_dlpack(reinterpret_cast<DLManagedTensor*>(&m)); });
  EXPECT_EQ(e.code(), ErrorCode::DeviceUnavailable);
  EXPECT_NE(e.message().find("managed"), std::string::npos) << e.message();
  EXPECT_EQ(deleted, 2);
}

// Memory that another library page-locked: a copy that is said to be over must be.
TEST_F(CudaTransfer, PinnedMemoryOfOthersIsWaitedFor) {
  if (!Simulator::library()) GTEST_SKIP() << "page-locks by the simulator";
  auto* set_async = Simulator::find<decltype(reprise_simulator_set_async)>("reprise_simulator_set_async");
  void* p = nullptr;
  ASSERT_EQ(driver_entry<decltype(cuMemHostAlloc)>("cuMemHostAlloc")(&p, 400, 0), CUDA_SUCCESS);
  float* f = static_cast<float*>(p);
  std::fill(f, f + 100, 3.0f);
  set_async(1);
  Tensor on = from_blob(p, {100}, kFloat32).to(d);
  std::fill(f, f + 100, 4.0f);
  EXPECT_EQ(on.to_vector<float>(), std::vector<float>(100, 3.0f));
  set_async(0);
  driver_entry<decltype(cuMemFreeHost)>("cuMemFreeHost")(p);
}

}  // namespace
}  // namespace reprise::test
