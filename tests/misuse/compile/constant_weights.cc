// expect: load_safetensors() fills the struct that it is given: this one is const
#include "reprise/reprise.h"
struct Model {
  reprise::Tensor w;
};
int main() {
  const Model m;
  reprise::load_safetensors("file", m);
}
