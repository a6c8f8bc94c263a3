// Machine code that the driver made is kept for later processes (device/machine_code.h).
#include "device/machine_code.h"

#include <gtest/gtest.h>

#include <map>

#include "device/backend.h"
#include "tests/cuda/support.h"
#include "tests/cuda_sim_test/image.h"
#include "tests/cuda_sim_test/kernels.h"

namespace reprise::test {
namespace {

class Memory final : public device::MachineCodeStore {
 public:
  Memory() : before_(device::exchange_machine_code_store(this)) {}
  ~Memory() override { device::exchange_machine_code_store(before_); }
  std::optional<std::string> find(const std::string& key) noexcept override {
    const auto at = codes.find(key);
    return at == codes.end() ? std::nullopt : std::optional(at->second);
  }
  void keep(const std::string& key, const std::string& code) noexcept override { codes[key] = code, ++kept; }

  std::map<std::string, std::string> codes;
  int kept = 0;

 private:
  device::MachineCodeStore* const before_;
};

class CudaMachineCode : public Cuda {
 protected:
  static device::ImagePtr image(bool keep = true) {
    auto made = std::make_shared<device::Image>();
    made->code =
        sim_test::image("nothing", {8}, "define ptx_kernel void @nothing(ptr addrspace(1) %x) {\n  ret void\n}");
    made->entry = "nothing";
    made->block = {32, 1, 1};
    made->keep = keep;
    return made;
  }
  void SetUp() override {
    Cuda::SetUp();
    if (!Simulator::library()) GTEST_SKIP() << "its kernel is one of the simulator";
  }
  void load(const device::ImagePtr& i) { backend().load(i); }
};

TEST_F(CudaMachineCode, IsMadeOnce) {
  Memory store;
  load(image());
  EXPECT_EQ(store.kept, 1);
  load(image());
  load(image());
  EXPECT_EQ(store.kept, 1);
  load(image(false));
  EXPECT_EQ(store.codes.size(), 1u);
}

TEST_F(CudaMachineCode, WhatTheDriverRefusesIsMadeAnew) {
  Memory store;
  load(image());
  const std::string good = store.codes.begin()->second;
  std::string other = good;
  other.replace(other.find("sm_"), 5, "sm_10");
  for (const std::string& bad : {std::string("\177ELF and nothing else"), std::string("no code at all"), other}) {
    store.codes.begin()->second = bad;
    const int before = store.kept;
    load(image());
    EXPECT_EQ(store.kept, before + 1) << bad.substr(0, 40);
    EXPECT_EQ(store.codes.begin()->second, good);
  }
}

TEST_F(CudaMachineCode, AWrongTextIsTheErrorThatItWas) {
  Memory store;
  auto wrong = std::make_shared<device::Image>(*image());
  wrong->code = ".version 7.8\n.target sm_999\nnothing";
  const Error e = error_of([&] { load(wrong); });
  EXPECT_EQ(e.code(), ErrorCode::DeviceFailed);
  EXPECT_NE(e.message().find("the driver refuses the code of kernel nothing"), std::string::npos) << e.what();
  EXPECT_EQ(store.kept, 0);
}

}  // namespace
}  // namespace reprise::test
