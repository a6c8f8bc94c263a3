// A user's program: built against the installed package by tests/install/install_test.sh.
#include <reprise/reprise.h>

#include <cstdio>

namespace rp = reprise;

int main() {
  auto f = rp::compile([](rp::Tensor x) { return rp::softmax(x * 2 + 1, -1); }, {.name = "consumer"});
  for (int n = 2; n < 6; ++n) {
    rp::Tensor x = rp::ones({3, n});
    rp::Tensor y = f(x);
    for (float v : y.to_vector<float>())
      if (v < 0.99f / static_cast<float>(n) || v > 1.01f / static_cast<float>(n)) {
        std::printf("wrong: %f for n = %d\n", static_cast<double>(v), n);
        return 1;
      }
  }
  std::printf("compilations: %lld\n", static_cast<long long>(f.stats().compilations));
  return f.stats().compilations == 1 ? 0 : 2;
}
