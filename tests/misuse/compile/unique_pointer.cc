// expect: a std::unique_ptr cannot be copied, and arguments of compiled functions are: pass the object itself (by
// reference), or a std::shared_ptr to it
#include "reprise/reprise.h"
struct Model {
  reprise::Tensor w;
};
int main() {
  auto m = std::make_unique<Model>();
  reprise::compile([](const std::unique_ptr<Model>& p, reprise::Tensor x) { return x * p->w; })(m, reprise::ones({2}));
}
