// expect: arguments of compiled functions are copied (handles, not elements) when the function is traced: this one has
// no copy constructor
#include "reprise/reprise.h"
struct Model {
  Model() = default;
  Model(const Model&) = delete;
  reprise::Tensor w;
  REPRISE_FIELDS(Model, w)
};
int main() {
  Model m;
  reprise::compile([](const Model& model, reprise::Tensor x) { return x * model.w; })(m, reprise::ones({2}));
}
