// expect: a compiled function is called with another number of arguments than its function has parameters
#include "reprise/reprise.h"
int main() {
  reprise::compile([](reprise::Tensor x, reprise::Tensor y) { return x + y; }).warm_up(reprise::empty({2}));
}
