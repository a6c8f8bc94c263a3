// expect: a compiled function is called with another number of arguments than its function has parameters
#include "reprise/reprise.h"
int main() {
  auto f = reprise::compile([](reprise::Tensor x, reprise::Tensor y) { return x + y; });
  f(reprise::ones({2}));
}
