// expect: a reprise::Bool is no argument and no result of a compiled function: take and give a bool, or a tensor of
// bools
#include "reprise/reprise.h"
int main() {
  reprise::compile([](reprise::Tensor x) { return x.size(0) > 2; })(reprise::ones({2}));
}
