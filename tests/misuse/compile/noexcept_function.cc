// expect: a compiled function must let exceptions pass (they end a trace): remove noexcept
#include "reprise/reprise.h"
int main() {
  reprise::compile([](reprise::Tensor x) noexcept { return x; })(reprise::ones({2}));
}
