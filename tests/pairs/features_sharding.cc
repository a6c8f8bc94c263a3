// Sharded tensors and collectives, on a mesh of one rank: tests/sharding has more of them.
#include "reprise/sharding.h"
#include "tests/pairs/feature.h"

namespace reprise::pairs {

namespace {

DeviceMesh mesh() { return init_device_mesh({1, 1}, {"dp", "tp"}); }
Tensor spread(const Tensor& t, const char* placements) { return distribute(t, mesh(), parse_placements(placements)); }
Tensor whole(const Tensor& t) { return full_tensor(t); }
Tensor twice_by_parts(const Tensor& t, double c) {
  return local_map([c](const Tensor& x) { return x * c + x; },
                   {.mesh = mesh(), .in = {{Shard(0), Replicate()}}, .out = {{Shard(0), Replicate()}}})(t);
}

const Row rows[] = {
    PAIRS_ROW(3, 0, return whole(spread(flat(a), "S(0)P") * c)),
    PAIRS_ROW(2, 0, return whole(spread(flat(a), "PS(1)") + spread(flat(a) * c, "S(0)R"))),
    PAIRS_ROW(2, 0, return whole(linear(spread(flat(a), "S(0)S(1)"), spread(flat(a) * c, "RS(1)")))),
    PAIRS_ROW(2, 0, return whole(spread(flat(a), "S(0)S(0)").sum(d) - spread(flat(a), "S(1)R").amax({d}))),
    PAIRS_ROW(2, 0, return whole(softmax(spread(flat(a), "RS(1)"), d).t())),
    PAIRS_ROW(2, 0, return whole(redistribute(spread(flat(a), "S(0)P"), parse_placements("S(1)S(0)")).reshape({-1}))),
    PAIRS_ROW(2, 0, Tensor t = flat(a).detach().clone(); spread(t, "S(0)R").mul_(c); return t + flat(a)),
    PAIRS_ROW(2, 0, return all_reduce(a * c, mesh(), "tp") + all_reduce(a, mesh(), 0, ReduceOp::Max)),
    PAIRS_ROW(2, 0, return reduce_scatter(all_gather(flat(a), mesh(), 0, d), mesh(), "tp", d, ReduceOp::Mean) * c),
    PAIRS_ROW(2, 0, return whole(twice_by_parts(flat(a), c))),
    PAIRS_ROW(1, kVariables, var.b.add_(whole(spread(var.b, "S(1)R"))); return var.b + 0.0),
};
const Wrap wraps[] = {
    PAIRS_WRAP(2, 0, return inner(whole(spread(flat(a), "PS(0)") * 0.5), b)),
};
const Setting settings[] = {
    {.text = "nothing"},
};

}  // namespace

extern const Feature kSharding;
const Feature kSharding{"sharding", rows, wraps, settings};

}  // namespace reprise::pairs
