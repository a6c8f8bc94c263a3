// expect: a class that is derived from one with REPRISE_FIELDS needs REPRISE_FIELDS of its own
#include "reprise/reprise.h"
struct Base {
  reprise::Tensor w;
  REPRISE_FIELDS(Base, w)
};
struct Derived : Base {
  reprise::Tensor more;
};
int main() {
  reprise::compile([](const Derived& d) { return d.w + d.more; })(Derived{});
}
