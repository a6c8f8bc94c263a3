// expect: a raw pointer tells a compiled function nothing of what it points to
#include "reprise/reprise.h"
struct Model {
  reprise::Tensor w;
  float* data;
};
int main() {
  reprise::compile([](const Model& m, reprise::Tensor x) { return x * m.w; })(Model{}, reprise::ones({2}));
}
