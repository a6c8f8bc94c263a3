// A user's operator, pattern and pass: built against the installed package.
#include <reprise/library.h>
#include <reprise/patterns.h>
#include <reprise/reprise.h>

#include <cstdio>

#include "passes/registered.h"
#include "passes/rewrite.h"

namespace rp = reprise;

int main() {
  const rp::Operator twice =
      rp::Library("user").define({.schema = "twice(Tensor x) -> Tensor", .cpu = [](const rp::KernelCall& k) {
                                    for (std::int64_t i = 0; i < k.result().numel(); ++i)
                                      k.result().as<float>()[i] =
                                          2 * k.tensor(0).as<float>()[i * k.tensor(0).strides[0]];
                                  }});
  rp::register_pattern(
      "double", [](rp::Tensor x) { return x + x; }, [=](rp::Tensor x) { return rp::Tensor(twice(x)); },
      std::tuple(rp::ones({3})));
  int seen = 0;
  rp::passes::register_pass(
      {.name = "look", .place = {rp::passes::Place::Point::AfterReinplacing}, .run = [&](rp::graph::Graph& g) {
         for (const rp::graph::Node& n : g.nodes) seen += rp::graph::op(n.op).name() == "user::twice";
         return false;
       }});
  auto f = rp::compile([](rp::Tensor x) { return x + x; });
  const bool right = f(rp::ones({5})).to_vector<float>() == std::vector<float>(5, 2.0f);
  std::printf("%s, %d\n", right ? "right" : "wrong", seen);
  return right && seen == 1 ? 0 : 1;
}
