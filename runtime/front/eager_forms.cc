#include "runtime/front/eager_forms.h"

#include "graph/transfer_call.h"

namespace reprise::runtime {
namespace {

using graph::OpId;

constinit graph::OpColumn<EagerForm> g_column("eager form",
                                              {
                                                  // x ** 2 is x * x to the bit, as in compiled code
                                                  {OpId::pow, {.numbers = 1u << 1}},
                                                  // the weight as a tensor must have self's dtype
                                                  {OpId::lerp, {.numbers = 1u << 2}},
                                                  // src as a tensor has indices' sizes and self's dtype
                                                  {OpId::scatter, {.numbers = 1u << 3}},
                                                  {OpId::cat, {.in_groups = true}},
                                                  {OpId::to_device, {.direct = graph::transfer_call}},
                                                  {OpId::copy_from, {.direct = graph::transfer_call}},
                                                  {OpId::item, {.direct = graph::transfer_call}},
                                              },
                                              graph::is_of<graph::OpClass::Transfer>);

}  // namespace

graph::OpColumn<EagerForm>& eager_forms() { return g_column; }

}  // namespace reprise::runtime
