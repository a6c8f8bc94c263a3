// expect: classes with REPRISE_FIELDS(Class, field, ...) written into them, as this one needs
#include "reprise/reprise.h"
class Model {
 public:
  reprise::Tensor forward(reprise::Tensor x) const { return x * w_; }

 private:
  reprise::Tensor w_;
};
int main() { reprise::compile (&Model::forward)(Model(), reprise::ones({2})); }
