// expect: a function is no argument of a compiled function, which is compiled for what it calls: let the compiled
// function capture it
#include "reprise/reprise.h"
struct Layer {
  reprise::Tensor w;
  std::function<reprise::Tensor(reprise::Tensor)> activation;
};
int main() {
  reprise::compile([](const Layer& l, reprise::Tensor x) { return l.activation(x * l.w); })(Layer{},
                                                                                            reprise::ones({2}));
}
