// expect: nobody sees which member of a union is in use: pass a struct with a std::optional for each member
#include "reprise/reprise.h"
union Number {
  float f;
  int i;
};
int main() {
  reprise::compile([](reprise::Tensor x, Number n) { return x * n.f; })(reprise::ones({2}), Number{1});
}
