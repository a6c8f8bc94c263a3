#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <stdexcept>
#include <thread>

#include "base/errors.h"
#include "tensor/impl.h"

namespace reprise {
namespace {

ErrorCode code_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return ErrorCode::Internal;  // did not throw
}
std::string what_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "did not throw";
}

TEST(Metadata, ContiguousTensor) {
  Tensor t = tensor_of(std::vector<float>{1, 2, 3, 4, 5, 6}, {2, 3});
  EXPECT_EQ(t.dtype(), kFloat32);
  EXPECT_EQ(t.device(), Device::cpu());
  EXPECT_EQ(t.dim(), 2);
  EXPECT_EQ(t.size(0).value(), 2);
  EXPECT_EQ(t.size(-1).value(), 3);
  EXPECT_EQ(t.stride(0).value(), 3);
  EXPECT_EQ(t.stride(-1).value(), 1);
  EXPECT_EQ(t.numel().value(), 6);
  EXPECT_EQ(t.storage_offset().value(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_EQ(t.version(), 0u);
  EXPECT_EQ(t.to_vector<double>(), (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(Metadata, DimensionsOutOfRangeNameTheLine) {
  Tensor t = tensor_of(std::vector<float>{1, 2});
  EXPECT_EQ(code_of([&] { t.size(1); }), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(code_of([&] { t.stride(-2); }), ErrorCode::IndexOutOfRange);
  EXPECT_NE(what_of([&] { t.size(1); }).find("metadata_test.cc:" + std::to_string(__LINE__)), std::string::npos);
  Tensor scalar = tensor_of(std::vector<float>{1}, IntArrayRef{});
  EXPECT_EQ(scalar.dim(), 0);
  EXPECT_EQ(scalar.numel().value(), 1);
  EXPECT_EQ(code_of([&] { scalar.size(0); }), ErrorCode::IndexOutOfRange);
  EXPECT_EQ(wrap_dim(-1, 0, "sum", {}), 0);
}

TEST(Metadata, UndefinedTensorsThrowInvalidArgument) {
  Tensor t;
  EXPECT_FALSE(t.defined());
  EXPECT_EQ(code_of([&] { t.dtype(); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { t.sizes(); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { t.item(); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { t.data_ptr(); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { t.release_storage(); }), ErrorCode::InvalidArgument);
}

TEST(Metadata, ContiguityIsAtens) {
  float x[64] = {};
  auto contiguous = [&](IntArrayRef sizes, IntArrayRef strides) {
    Tensor t = from_blob(x, sizes, kFloat32, {}, strides);
    EXPECT_EQ(t.is_contiguous(), is_contiguous(meta_of(t).layout));
    return t.is_contiguous();
  };
  EXPECT_TRUE(contiguous({2, 3}, {3, 1}));
  EXPECT_FALSE(contiguous({2, 3}, {1, 2}));
  EXPECT_TRUE(contiguous({1, 3}, {17, 1}));  // the stride of a dimension of size 1 does not count
  EXPECT_TRUE(contiguous({3, 1}, {1, 9}));
  EXPECT_FALSE(contiguous({3, 2}, {2, 0}));
  EXPECT_TRUE(contiguous({3, 0, 2}, {5, 5, 5}));  // nor does any stride of an empty tensor
}

TEST(Metadata, HandlesShareAndCount) {
  int deleted = 0;
  float x[4] = {1, 2, 3, 4};
  {
    Tensor a = from_blob(x, {4}, kFloat32, [&](void* p) { deleted += p == x; });
    Tensor b = a, c = std::move(a);
    EXPECT_FALSE(a.defined());
    EXPECT_TRUE(b.is_same(c));
    EXPECT_TRUE(b.shares_storage_with(c));
    b = b;
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(Metadata, HandlesMayBeCopiedFromAnyThread) {
  std::atomic<int> deleted{0};
  float x[1] = {1};
  {
    Tensor shared = from_blob(x, {1}, kFloat32, [&](void*) { ++deleted; });
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([mine = shared] {
        std::vector<Tensor> copies;
        for (int i = 0; i < 5000; ++i) {
          copies.push_back(mine);
          if (i % 7 == 0) copies.clear();
        }
      });
    shared = Tensor();
    for (std::thread& t : threads) t.join();
  }
  EXPECT_EQ(deleted.load(), 1);
}

TEST(FromBlob, StridesAndRefusals) {
  float x[6] = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(from_blob(x, {3, 2}, kFloat32, {}, {1, 3}).to_vector<float>(), (std::vector<float>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(from_blob(x, {2, 3}, kFloat32, {}, {0, 2}).to_vector<float>(), (std::vector<float>{0, 2, 4, 0, 2, 4}));
  EXPECT_EQ(code_of([&] { from_blob(nullptr, {1}, kFloat32); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { from_blob(x, {-1}, kFloat32); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { from_blob(x, {2}, kFloat32, {}, {-1}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { from_blob(x, {2}, kFloat32, {}, {1, 1}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { from_blob(x, {1, 1, 1, 1, 1, 1, 1, 1, 1}, kFloat32); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { from_blob(x, {Int(INT64_MAX), 2}, kFloat32); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(code_of([&] { from_blob(x, {1}, kFloat32, {}, {}, Device::cuda()); }), ErrorCode::DeviceUnavailable);
  Tensor none = from_blob(nullptr, {2, 0}, kFloat32);
  EXPECT_EQ(none.numel().value(), 0);
  EXPECT_TRUE(none.to_vector<float>().empty());
}

TEST(TensorOf, ValuesMustFillTheSizes) {
  EXPECT_EQ(code_of([] { tensor_of(std::vector<float>{1, 2, 3}, {2, 2}); }), ErrorCode::ShapeMismatch);
  EXPECT_EQ(code_of([] { tensor_of(std::vector<float>{}, {-1}); }), ErrorCode::InvalidArgument);
  EXPECT_EQ(tensor_of(std::vector<bool>{true, false, true}).to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{1, 0, 1}));
  EXPECT_EQ(code_of([] {
              std::int64_t sizes[2] = {std::int64_t{1} << 40, std::int64_t{1} << 40};
              empty_concrete(sizes, 2, kFloat32, Device::cpu());
            }),
            ErrorCode::OutOfMemory);
  std::int64_t sizes[2] = {INT64_MAX, 0};
  EXPECT_EQ(empty_concrete(sizes, 2, kFloat32, Device::cpu()).numel().value(), 0);
}

TEST(Elements, ItemKeepsTheKind) {
  EXPECT_EQ(tensor_of(std::vector<std::int64_t>{INT64_MAX}).item().to_int().value(), INT64_MAX);
  EXPECT_EQ(tensor_of(std::vector<double>{2.5}, IntArrayRef{}).item().to_double(), 2.5);
  EXPECT_EQ(tensor_of(std::vector<bool>{true}).item().kind(), Scalar::Kind::Bool);
  EXPECT_EQ(tensor_of(std::vector<Half>{Half(0.5f)}).item().to_double(), 0.5);
  EXPECT_EQ(code_of([] { tensor_of(std::vector<float>{1, 2}).item(); }), ErrorCode::ShapeMismatch);
  EXPECT_TRUE(static_cast<bool>(tensor_of(std::vector<float>{0.25f})));
  EXPECT_FALSE(static_cast<bool>(tensor_of(std::vector<std::int32_t>{0})));
}

TEST(Elements, DataChecksTheType) {
  Tensor t = tensor_of(std::vector<float>{1, 2});
  EXPECT_EQ(t.data<float>()[1], 2);
  EXPECT_EQ(t.data_ptr(), t.data<float>());
  EXPECT_EQ(code_of([&] { t.data<double>(); }), ErrorCode::DTypeMismatch);
}

TEST(Elements, ConversionsHaveNoUndefinedCorner) {
  Tensor t = tensor_of(std::vector<float>{1e30f, -1e30f, NAN, -1.9f, 300});
  EXPECT_EQ(t.to_vector<std::int64_t>(), (std::vector<std::int64_t>{INT64_MAX, INT64_MIN, 0, -1, 300}));
  EXPECT_EQ(t.to_vector<std::int32_t>(), (std::vector<std::int32_t>{INT32_MAX, INT32_MIN, 0, -1, 300}));
  EXPECT_EQ(t.to_vector<std::uint8_t>(), (std::vector<std::uint8_t>{255, 0, 0, 0, 255}));
  EXPECT_EQ(t.to_vector<bool>(), (std::vector<bool>{true, true, true, true, true}));
  std::uint8_t odd[2] = {7, 0};
  EXPECT_EQ(from_blob(odd, {2}, kBool).to_vector<float>(), (std::vector<float>{1, 0}));
}

TEST(Storage, ReleasedStorageThrowsWhereverBytesAreTouched) {
  int deleted = 0;
  float x[2] = {1, 2};
  Tensor a = from_blob(x, {2}, kFloat32, [&](void*) { ++deleted; });
  Tensor b = a;
  a.release_storage();
  EXPECT_EQ(deleted, 1);
  EXPECT_EQ(code_of([&] { b.item(); }), ErrorCode::StorageFreed);
  EXPECT_EQ(code_of([&] { b.to_vector<float>(); }), ErrorCode::StorageFreed);
  EXPECT_EQ(code_of([&] { b.data_ptr(); }), ErrorCode::StorageFreed);
  EXPECT_EQ(code_of([&] { b.data<float>(); }), ErrorCode::StorageFreed);
  EXPECT_EQ(code_of([&] { b.release_storage(); }), ErrorCode::StorageFreed);
  EXPECT_EQ(b.size(0).value(), 2);  // metadata stay
  a = b = Tensor();
  EXPECT_EQ(deleted, 1);
}

TEST(Storage, ThrowingDeleterIsReportedNotFatal) {
  float x = 0;
  ::testing::internal::CaptureStderr();
  from_blob(&x, {1}, kFloat32, [](void*) { throw std::runtime_error("no"); });
  EXPECT_NE(::testing::internal::GetCapturedStderr().find("deleter"), std::string::npos);
}

/// What a trace puts behind a tensor.
struct Traced : TracedTensor {
  explicit Traced(int* destroyed, const void* id) : destroyed(destroyed), id(id) {
    m.dtype = kFloat16;
    m.layout.sizes = {2, 3};
    m.layout.strides = {3, 1};
  }
  ~Traced() override { ++*destroyed; }
  const TensorMeta& meta() const override { return m; }
  [[noreturn]] void reads_value(const char* what, SourceLoc loc) const override {
    fail(ErrorCode::NotTraceable, what, loc, "reads a value");
  }
  const void* storage_id() const override { return id; }
  bool is_live() const override { return true; }
  std::uint64_t writes() const override { return 0; }
  void count_write() const override {}
  bool is_input() const override { return false; }
  TensorMeta m;
  int* destroyed;
  const void* id;
};

TEST(Traced, HasMetadataButNoBytes) {
  int destroyed = 0, id = 0;
  {
    Tensor t = Tensor::adopt(new_traced_impl(new Traced(&destroyed, &id)));
    Tensor u = Tensor::adopt(new_traced_impl(new Traced(&destroyed, &id)));
    EXPECT_EQ(t.dtype(), kFloat16);
    EXPECT_EQ(t.dim(), 2);
    EXPECT_EQ(t.size(1).value(), 3);
    EXPECT_EQ(t.numel().value(), 6);
    EXPECT_TRUE(t.is_contiguous());
    // only a trace on this thread can answer
    EXPECT_EQ(code_of([&] { t.shares_storage_with(u); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { t.shares_storage_with(tensor_of(std::vector<float>{1})); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { t.storage_offset(); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { t.item(); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { t.data_ptr(); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { t.to_vector<float>(); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { t.release_storage(); }), ErrorCode::NotTraceable);
    EXPECT_EQ(code_of([&] { static_cast<void>(static_cast<bool>(t)); }), ErrorCode::NotTraceable);
  }
  EXPECT_EQ(destroyed, 2);
}

}  // namespace
}  // namespace reprise
