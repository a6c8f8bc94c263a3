// expect: a function is no argument of a compiled function, which is compiled for what it calls: let the compiled
// function capture it
#include "reprise/reprise.h"
int main() {
  reprise::compile([](reprise::Tensor x, auto f) { return f(x); })(reprise::ones({2}),
                                                                   [](reprise::Tensor x) { return x; });
}
