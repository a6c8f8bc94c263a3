// expect: a raw pointer tells a compiled function nothing of what it points to
#include "reprise/reprise.h"
int main() {
  reprise::compile([](reprise::Tensor x) { return x.data<float>(); })(reprise::ones({2}));
}
