// expect: the fields of a struct with a base class are not seen: write REPRISE_FIELDS(Class, REPRISE_BASE(Base), field,
// ...) into it
#include "reprise/reprise.h"
struct Base {
  reprise::Tensor w;
};
struct Derived : Base {
  reprise::Tensor more;
};
int main() {
  reprise::compile([](const Derived& d) { return d.w + d.more; })(Derived{});
}
