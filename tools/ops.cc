#include <cstdio>

#include "graph/autocast.h"
#include "graph/op.h"
#include "graph/register_op.h"
#include "graph/view_column.h"
#include "kernels/plan/columns.h"
#include "passes/decompose_builder.h"
#include "reprise/error.h"
#include "tools/commands.h"

namespace reprise::tool {

namespace {

/// The dtypes of the first tensor that the operator's own shape rule accepts: asked, not listed, so it cannot drift.
std::string accepted_dtypes(const graph::OpDef& def) {
  std::string out;
  for (int t = 0; t < kDTypeCount; ++t) {
    bool accepted = false;
    // A part that is written has as many dims as the first tensor, or (of what select and diagonal give) one less.
    // The other factor of a product may be quantized where the first tensor is not.
    for (int form = 0; form < 20 && !accepted; ++form) {
      const int rank = form % 10 / 2;
      TensorMeta first{static_cast<DType>(t), Device::cpu(), {}}, index{DType::Int64, Device::cpu(), {}},
          mask{DType::Bool, Device::cpu(), {}}, part = first, factor = first;
      TensorMeta scale{DType::Float32, Device::cpu(), {}};
      if (form >= 10) factor.dtype = DType::Int8;
      for (TensorMeta* m : {&first, &index, &mask, &part, &factor, &scale}) {
        for (int d = m == &part ? form % 2 : 0; d < rank; ++d) m->layout.sizes.push_back(1);
        m->layout.strides = contiguous_strides(m->layout.sizes);
      }
      const TensorMeta* list[] = {&first};
      const TensorMeta* indices[] = {&index};
      std::vector<graph::RuleArg> args;
      for (const graph::ArgDef& a : def.schema.args) {
        bool is_index = a.name == "index" || a.name == "indices", is_mask = a.name == "mask" || a.name == "condition",
             is_part = a.name == "src";
        const bool is_scale = a.name.starts_with("scale_"), is_factor = a.name == "mat2";
        using T = graph::ArgType;
        switch (a.type) {
          case T::Tensor:
            args.push_back(is_index    ? &index
                           : is_mask   ? &mask
                           : is_part   ? &part
                           : is_scale  ? &scale
                           : is_factor ? &factor
                                       : &first);
            break;
          case T::TensorOrScalar:
          case T::OptionalTensorOrScalar: args.push_back(is_part ? &part : &first); break;
          case T::TensorList: args.push_back(std::span<const TensorMeta* const>(list)); break;
          case T::OptionalTensorList: args.push_back(std::span<const TensorMeta* const>(indices)); break;
          case T::Int:
            // Of two dims that must differ one is 1 by default.
            args.push_back(a.name == "step" || a.name == "k" || a.name == "num_samples" ? Int(1)
                           : a.otherwise                                                ? std::get<Int>(*a.otherwise)
                                                                                        : Int(0));
            break;
          case T::Ints: {
            Ints ones(a.name == "normalized_shape" ? 1u : static_cast<unsigned>(rank), 1);
            if (a.name == "dims")
              for (int d = 0; d < rank; ++d) ones[static_cast<std::size_t>(d)] = d;
            args.push_back(ones);
            break;
          }
          case T::Scalar: args.push_back(Scalar(1)); break;
          case T::Float: args.push_back(Scalar(a.name == "dropout_p" ? 0.0 : 1.0)); break;
          case T::Bool: args.push_back(false); break;
          case T::DType: args.push_back(static_cast<DType>(t)); break;
          case T::Str:
            args.push_back(std::string_view(a.name == "device" ? "cpu" : a.name == "reduce" ? "sum" : "none"));
            break;
          default: args.push_back(std::monostate{});
        }
      }
      try {
        graph::RuleCtx c{def, args, {}, {}};
        graph::infer(c);
        accepted = true;
      } catch (const Error&) {
      }
    }
    if (accepted) out += (out.empty() ? "" : " ") + std::string(dtype_name(static_cast<DType>(t)));
  }
  return out;
}

}  // namespace

int ops(const std::vector<std::string>& args) {
  int shown = 0;
  std::vector<const graph::OpColumnBase*> columns = kernels::op_columns();
  columns.push_back(&passes::decompositions());
  columns.push_back(&graph::view_facts());
  columns.push_back(&graph::autocast_rules());
  graph::register_families();
  for (const graph::OpDef& def : graph::all_ops()) {
    bool wanted = args.empty();
    for (const std::string& a : args) wanted = wanted || def.name().find(a) != std::string_view::npos;
    if (!wanted) continue;
    ++shown;
    std::printf("%s\n", def.schema.text.c_str());
    std::printf("    %s%s%s\n", kernels::list_computed_by(def.id).c_str(), def.has_inplace ? "; in-place twin" : "",
                def.effects.may_fail ? "; may raise on index values" : "");
    // Windows, boxes and the like are no arguments that can be guessed: what takes them says in its header of what
    // dtypes.
    const std::string dtypes = accepted_dtypes(def);
    if (!dtypes.empty() || static_cast<std::size_t>(def.id) < graph::kBuiltinOps)
      std::printf("    dtypes: %s\n", dtypes.c_str());
    std::string told;
    for (const graph::OpColumnBase* c : columns)
      if (c->has(def.id)) told += (told.empty() ? "" : ", ") + std::string(c->name());
    if (!told.empty()) std::printf("    known: %s\n", told.c_str());
  }
  if (shown == 0) {
    std::fprintf(stderr, "reprise: no operator's name contains what was asked for; 'reprise ops' lists all\n");
    return 1;
  }
  std::printf("%d operators\n", shown);
  return 0;
}

}  // namespace reprise::tool
