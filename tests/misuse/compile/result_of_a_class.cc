// expect: classes with REPRISE_FIELDS(Class, field, ...) written into them, as this one needs
#include <set>
#include "reprise/reprise.h"
int main() {
  reprise::compile([](reprise::Tensor x) { return std::set<int>{x.dim()}; })(reprise::ones({2}));
}
