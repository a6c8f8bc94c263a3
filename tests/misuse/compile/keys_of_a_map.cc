// expect: maps that are arguments or results of compiled functions have keys of std::string: pass a
// std::map<std::string, T>, or a std::vector of pairs
#include "reprise/reprise.h"
int main() {
  reprise::compile([](const std::map<int, reprise::Tensor>& w) { return w.at(0); })(std::map<int, reprise::Tensor>{});
}
