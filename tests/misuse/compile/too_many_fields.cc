// expect: a struct of more than 32 fields: put some of them into a struct of their own, or write REPRISE_FIELDS(Class,
// field, ...) into it
#include "reprise/reprise.h"
using reprise::Tensor;
struct Many {
  Tensor a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, a1, b1, c1, d1, e1, f1, g1;
};
int main() {
  reprise::compile([](const Many& all) { return all.a; })(Many{});
}
