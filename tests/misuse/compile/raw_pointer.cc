// expect: a raw pointer tells a compiled function nothing of what it points to: pass the object itself (by reference),
// or a std::shared_ptr to it
#include "reprise/reprise.h"
struct Model {
  reprise::Tensor w;
};
reprise::Tensor forward(Model* m, reprise::Tensor x) { return x * m->w; }
int main() {
  Model m;
  reprise::compile(forward)(&m, reprise::ones({2}));
}
