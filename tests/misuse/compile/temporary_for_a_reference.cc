// expect: a compiled function is called with arguments that its function does not take
#include "reprise/reprise.h"
int main() {
  auto f = reprise::compile([](reprise::Tensor& x) { x += 1; });
  f(reprise::ones({2}));
}
