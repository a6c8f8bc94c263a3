// expect: classes with REPRISE_FIELDS(Class, field, ...) written into them, as this one needs
#include "reprise/reprise.h"
#include <set>
int main() { reprise::compile([](reprise::Tensor x) { return std::set<int>{x.dim()}; })(reprise::ones({2})); }
