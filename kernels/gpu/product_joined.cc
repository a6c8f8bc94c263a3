#include "kernels/gpu/product_joined.h"

#include <algorithm>

namespace reprise::kernels::gpu {

std::string name_of(const InnerLoop& l) {
  std::string s = "{" + canonical_text(l.kernel) + (l.kernel.narrow ? "  narrow\n" : "") + "  products";
  for (int p : l.product) s += ' ' + std::to_string(p);
  std::replace(s.begin(), s.end(), '\n', ';');
  return s + '}';
}

int ProductJoined::reads(const InnerLoop& part) {
  return static_cast<int>(std::count_if(part.product.begin(), part.product.end(), [](int p) { return p >= 0; }));
}

InnerAccesses::InnerAccesses(const InnerLoop& l) {
  std::vector<bool> stored(l.kernel.accesses.size());
  for (const BodyNode& n : l.kernel.body)
    if (n.kind == BodyNode::Kind::Store) stored[n.access] = true;
  for (std::uint32_t a = 0; a < stored.size(); ++a)
    if (l.product[a] < 0) (stored[a] ? stores : loads).push_back(a);
}

}  // namespace reprise::kernels::gpu
