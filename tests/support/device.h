#pragma once
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "device/backend.h"
#include "reprise/ops.h"
#include "tensor/impl.h"
#include "tensor/transfer.h"

namespace reprise::test {

/// The device that tests run on: REPRISE_TEST_DEVICE (cpu, null, cuda), cpu when it is not set.
inline Device test_device() {
  static const Device d = [] {
    const char* name = std::getenv("REPRISE_TEST_DEVICE");
    std::string s = name ? name : "cpu";
    return s == "cuda" ? Device::cuda(0) : s == "null" ? Device::null() : Device::cpu();
  }();
  return d;
}

/// Does the test's device run in the simulator of the driver? It takes a microsecond for each of a kernel's threads, so
/// tests of long runs take shorter ones there.
inline bool simulated() {
  const char* driver = std::getenv("REPRISE_CUDA_DRIVER");
  return test_device().type == DeviceType::Cuda && driver && std::string(driver).find("cuda_sim") != std::string::npos;
}

/// The same tensor on the test's device: layout, offset, and sharing of storage with others of the same mover.
class Mover {
 public:
  Tensor operator()(const Tensor& t) {
    if (!t.defined() || t.device() == test_device() || t.impl()->trace) return t;
    const TensorImpl& i = *t.impl();
    auto [it, fresh] = moved_.try_emplace(i.storage);
    if (fresh) {
      std::int64_t n = i.storage->bytes;
      TensorImpl* all = new_impl(DType::UInt8, i.device, &n, &one_, 1, 0, i.storage);
      retain(i.storage);
      it->second = transfer(Tensor::adopt(all), test_device(), "test");
    }
    Storage* s = it->second.impl()->storage;
    retain(s);
    return Tensor::adopt(new_impl(i.dtype, test_device(), i.sizes, i.strides, i.rank, i.offset, s));
  }
  std::vector<Tensor> operator()(const std::vector<Tensor>& list) {
    std::vector<Tensor> out;
    for (const Tensor& t : list) out.push_back((*this)(t));
    return out;
  }

 private:
  static constexpr std::int64_t one_ = 1;
  std::map<const Storage*, Tensor> moved_;
};
inline Tensor on_test_device(const Tensor& t) { return Mover()(t); }

}  // namespace reprise::test
