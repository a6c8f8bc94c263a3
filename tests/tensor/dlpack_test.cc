#include "reprise/dlpack.h"

#include <gtest/gtest.h>

#include <functional>

#include "base/errors.h"
#include "device/host_memory.h"
#include "tensor/dlpack_abi.h"
#include "tensor/impl.h"

namespace reprise {
namespace {

using dlpack::Managed;

Managed* managed_of(DLManagedTensor* m) { return reinterpret_cast<Managed*>(m); }

/// What another library would hand over; counts its deleter's calls.
struct Foreign {
  std::vector<float> data{0, 1, 2, 3, 4, 5};
  std::int64_t sizes[9] = {2, 3, 1, 1, 1, 1, 1, 1, 1}, strides[9] = {3, 1, 1, 1, 1, 1, 1, 1, 1};
  int deleted = 0;
  Managed managed{};
  Foreign() {
    managed.view = {data.data(), {dlpack::kCpu, 0}, 2, {dlpack::kFloat, 32, 1}, sizes, nullptr, 0};
    managed.context = this;
    managed.deleter = [](Managed* m) { ++static_cast<Foreign*>(m->context)->deleted; };
  }
  DLManagedTensor* handle() { return reinterpret_cast<DLManagedTensor*>(&managed); }
};

TEST(DLPack, ExportSharesBytesAndKeepsThemAlive) {
  std::int64_t live = device::host_memory_stats().live_bytes;
  Tensor t = tensor_of(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  Managed* m = managed_of(to_dlpack(t));
  EXPECT_EQ(m->view.data, t.data_ptr());
  EXPECT_EQ(m->view.rank, 2);
  EXPECT_EQ(m->view.sizes[1], 3);
  EXPECT_EQ(m->view.strides[0], 3);
  EXPECT_EQ(m->view.type.code, dlpack::kFloat);
  EXPECT_EQ(m->view.type.bits, 32);
  EXPECT_EQ(m->view.type.lanes, 1);
  t = Tensor();
  EXPECT_EQ(static_cast<float*>(m->view.data)[5], 6);
  EXPECT_GT(device::host_memory_stats().live_bytes, live);
  m->deleter(m);
  EXPECT_EQ(device::host_memory_stats().live_bytes, live);
}

TEST(DLPack, EveryDTypeGoesRoundWithOffsetAndStrides) {
  alignas(8) char bytes[256] = {};
  for (int i = 0; i < kDTypeCount; ++i) {
    DType t = static_cast<DType>(i);
    Tensor base = from_blob(bytes, {16}, t);
    Storage* s = base.impl()->storage;
    retain(s);
    std::int64_t sizes[2] = {2, 3}, strides[2] = {1, 2};
    Tensor view = Tensor::adopt(new_impl(t, Device::cpu(), sizes, strides, 2, 5, s));
    Tensor back = from_dlpack(to_dlpack(view));
    EXPECT_EQ(back.dtype(), t);
    EXPECT_EQ(back.data_ptr(), bytes + 5 * item_size(t));
    EXPECT_EQ(back.size(1).value(), 3);
    EXPECT_EQ(back.stride(1).value(), 2);
  }
}

TEST(DLPack, ImportTakesOverAndDeletesOnce) {
  Foreign f;
  {
    Tensor t = from_dlpack(f.handle());
    EXPECT_EQ(t.to_vector<float>(), f.data);
    t.data<float>()[0] = 9;
    EXPECT_EQ(f.data[0], 9);
    Tensor u = t;
    EXPECT_EQ(f.deleted, 0);
  }
  EXPECT_EQ(f.deleted, 1);
  {
    Tensor t = from_dlpack(f.handle());
    t.release_storage();
    EXPECT_EQ(f.deleted, 2);
  }
  EXPECT_EQ(f.deleted, 2);
}

TEST(DLPack, ImportHonoursStridesAndByteOffset) {
  Foreign f;
  f.strides[0] = 1, f.strides[1] = 2;
  f.managed.view.strides = f.strides;
  f.sizes[1] = 2;
  f.managed.view.byte_offset = 4;
  EXPECT_EQ(from_dlpack(f.handle()).to_vector<float>(), (std::vector<float>{1, 3, 2, 4}));
  Foreign no_deleter;
  no_deleter.managed.deleter = nullptr;
  EXPECT_EQ(from_dlpack(no_deleter.handle()).numel().value(), 6);
  Foreign scalar;
  scalar.managed.view.rank = 0;
  scalar.managed.view.sizes = nullptr;
  EXPECT_EQ(from_dlpack(scalar.handle()).dim(), 0);
}

TEST(DLPack, RefusalsLeaveTheCallerItsTensor) {
  struct Case {
    const char* words;
    ErrorCode code;
    std::function<void(Foreign&)> spoil;
  };
  const Case cases[] = {
      {"DLPack device type 4", ErrorCode::DeviceUnavailable, [](Foreign& f) { f.managed.view.device.kind = 4; }},
      {"4 lanes", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.type.lanes = 4; }},
      {"type code 5 with 64 bits", ErrorCode::InvalidArgument,
       [](Foreign& f) {
         f.managed.view.type = {5, 64, 1};
       }},
      {"with 16 bits", ErrorCode::InvalidArgument,
       [](Foreign& f) {
         f.managed.view.type = {dlpack::kInt, 16, 1};
       }},
      {"not 9", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.rank = 9; }},
      {"not -1", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.rank = -1; }},
      {"no sizes", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.sizes = nullptr; }},
      {"size -2", ErrorCode::InvalidArgument, [](Foreign& f) { f.sizes[0] = -2; }},
      {"stride -1", ErrorCode::InvalidArgument,
       [](Foreign& f) { f.strides[1] = -1, f.managed.view.strides = f.strides; }},
      {"not aligned", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.byte_offset = 2; }},
      {"null", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.data = nullptr; }},
      {"0 lanes", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.type.lanes = 0; }},
      {"not -2147483648", ErrorCode::InvalidArgument, [](Foreign& f) { f.managed.view.rank = INT32_MIN; }},
      {"byte offset 18446744073709551612 reaches", ErrorCode::InvalidArgument,
       [](Foreign& f) { f.managed.view.byte_offset = -4; }},
      {"beyond any memory", ErrorCode::InvalidArgument,
       [](Foreign& f) {
         f.managed.view.byte_offset = (UINT64_MAX - reinterpret_cast<std::uintptr_t>(f.managed.view.data)) / 8 * 8;
       }},
      {"beyond any memory", ErrorCode::InvalidArgument, [](Foreign& f) { f.sizes[0] = std::int64_t{1} << 62; }},
      {"beyond any memory", ErrorCode::InvalidArgument,
       [](Foreign& f) { f.sizes[0] = (INT64_MAX >> 4), f.sizes[1] = 1; }},
      {"beyond any memory", ErrorCode::InvalidArgument,
       [](Foreign& f) { f.strides[0] = INT64_MAX, f.strides[1] = 1, f.managed.view.strides = f.strides; }},
      {"beyond any memory", ErrorCode::InvalidArgument,
       [](Foreign& f) {
         f.strides[0] = INT64_MAX / 4, f.strides[1] = INT64_MAX / 4, f.managed.view.strides = f.strides;
       }},
      {"beyond any memory", ErrorCode::InvalidArgument,  // nothing in it, but its strides would wrap
       [](Foreign& f) {
         static std::int64_t sizes[] = {0, INT64_MAX / 2, 3};
         f.managed.view.sizes = sizes, f.managed.view.rank = 3;
       }},
  };
  for (const Case& c : cases) {
    Foreign f;
    c.spoil(f);
    try {
      from_dlpack(f.handle());
      ADD_FAILURE() << "did not throw: " << c.words;
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), c.code) << e.what();
      EXPECT_NE(std::string(e.what()).find(c.words), std::string::npos) << e.what();
    }
    EXPECT_EQ(f.deleted, 0) << c.words;
  }
  EXPECT_THROW(from_dlpack(nullptr), Error);
  EXPECT_THROW(to_dlpack(Tensor()), Error);
  Tensor gone = tensor_of(std::vector<float>{1});
  gone.release_storage();
  EXPECT_THROW(to_dlpack(gone), Error);
}

}  // namespace
}  // namespace reprise
