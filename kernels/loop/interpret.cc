#include <bit>

#include "kernels/loop/analysis.h"
#include "kernels/loop/ir.h"
#include "kernels/loop/scalar_eval.h"

namespace reprise::kernels {

namespace {

struct Interpreter {
  const LoopKernel& k;
  void* const* buffers;
  const std::int64_t* params;
  LoopAnalysis info = analyse(k);
  ParamSlots slots = param_slots(k);
  std::vector<std::int64_t> index = std::vector<std::int64_t>(k.extents.size(), 0);
  std::vector<scalar::Val> vals = std::vector<scalar::Val>(k.body.size());

  std::int64_t number(int slot, Int baked) const { return slot < 0 ? baked.hint() : params[slot]; }
  std::int64_t extent(std::size_t d) const { return params[slots.extents[d]]; }

  char* address(std::uint32_t access) const {
    const Access& a = k.accesses[access];
    const ParamSlots::OfAccess& s = slots.accesses[access];
    std::int64_t at = number(s.offset, a.offset);
    for (std::size_t d = 0; d < index.size(); ++d) at += index[d] * number(s.strides[d], a.strides[d]);
    for (std::size_t g = 0; g < a.gathers.size(); ++g) {
      std::int64_t i = vals[a.gathers[g].node].i;
      if (i < 0) i += number(s.gather_extents[g], a.gathers[g].extent);
      at += i * number(s.gather_strides[g], a.gathers[g].stride);
    }
    return static_cast<char*>(buffers[a.buffer]) + at * item_size(k.buffers[a.buffer].dtype);
  }

  /// Values of every node whose reductions are finished at `stage` (those within parts at `part_stage`), at the current
  /// index of `dims`.
  void evaluate(int stage, int part_stage, std::uint32_t dims) {
    for (std::size_t i = 0; i < k.body.size(); ++i) {
      const BodyNode& n = k.body[i];
      if (info.depth[i] > stage || info.part_depth[i] > part_stage || info.dims[i] & ~dims) continue;
      auto get = [&](std::uint32_t o) { return o == ~0u ? scalar::of_int(0) : vals[o]; };
      switch (n.kind) {
        case BodyNode::Kind::Load:
          vals[i] = scalar::load(k.buffers[k.accesses[n.access].buffer].dtype, address(n.access));
          break;
        case BodyNode::Kind::Const:
          vals[i] = is_floating(n.dtype) ? scalar::cast(n.dtype, DType::Float64, scalar::of_double(n.fimm))
                                         : scalar::of_int(wrap_to(n.iimm, n.dtype));
          break;
        case BodyNode::Kind::Param:
          vals[i] = n.bits ? scalar::cast(n.dtype, DType::Float64,
                                          scalar::of_double(std::bit_cast<double>(params[slots.params[i]])))
                           : scalar::cast(n.dtype, DType::Int64, scalar::of_int(params[slots.params[i]]));
          break;
        case BodyNode::Kind::Index:
          vals[i] = scalar::cast(n.dtype, DType::Int64, scalar::of_int(index[static_cast<std::size_t>(n.iimm)]));
          break;
        case BodyNode::Kind::Op: vals[i] = scalar::apply(n, k.body[n.a].dtype, get(n.a), get(n.b), get(n.c)); break;
        case BodyNode::Kind::Cast: vals[i] = scalar::cast(n.dtype, k.body[n.a].dtype, get(n.a)); break;
        case BodyNode::Kind::Reduce:
        case BodyNode::Kind::Store: break;  // folded, written elsewhere
      }
    }
  }

  template <class F>
  void for_each(std::size_t d, std::size_t end, F&& f) {
    if (d == end) return f();
    for (index[d] = 0; index[d] < extent(d); ++index[d]) for_each(d + 1, end, f);
    index[d] = 0;
  }

  /// Stores that vary over dims of `over`, or are `kept` ones, and over none of `but`.
  void write_stores(std::uint32_t over, std::uint32_t but, bool kept = false) {
    for (std::size_t i = 0; i < k.body.size(); ++i) {
      const BodyNode& n = k.body[i];
      if (n.kind != BodyNode::Kind::Store || !(kept || info.dims[i] & over) || info.dims[i] & but) continue;
      if (n.b != ~0u && !vals[n.b].i) continue;
      scalar::store(n.dtype, address(n.access), vals[n.a]);
    }
  }

  /// The reductions that `which` names; `each(f)` calls f at every index of what they fold, when values are there.
  template <class Which, class Each>
  void fold(Which&& which, Each&& each) {
    for (std::size_t i = 0; i < k.body.size(); ++i)
      if (k.body[i].kind == BodyNode::Kind::Reduce && which(i)) vals[i] = scalar::identity(k.body[i]);
    each([&] {
      for (std::size_t i = 0; i < k.body.size(); ++i)
        if (k.body[i].kind == BodyNode::Kind::Reduce && which(i))
          vals[i] = scalar::fold(k.body[i], vals[i],
                                 scalar::cast(k.body[i].dtype, k.body[k.body[i].a].dtype, vals[k.body[i].a]));
    });
  }

  /// One run of the reduced loops: `f` at every index, `after` at the end of each part.
  template <class F, class After>
  void reduced_loops(int stage, F&& f, After&& after) {
    const auto kept = static_cast<std::size_t>(k.n_kept), inside = kept + static_cast<std::size_t>(k.n_parts),
               rank = k.extents.size();
    for_each(kept, inside, [&] {
      auto each = [&](int part_stage, auto&& g) {
        for_each(inside, rank, [&] { evaluate(stage, part_stage, ~0u), g(); });
      };
      for (int p = 0; p < info.max_part_depth; ++p)
        fold([&](std::size_t i) { return k.body[i].within && info.part_depth[i] == p + 1 && info.depth[i] <= stage; },
             [&](auto&& g) { each(p, g); });
      each(info.max_part_depth, f);
      evaluate(stage, info.max_part_depth, ~info.inside_mask);
      after();
    });
  }

  void run() {
    for_each(0, static_cast<std::size_t>(k.n_kept), [&] {
      for (int stage = 0; stage < info.max_depth; ++stage)
        fold([&](std::size_t i) { return !k.body[i].within && info.depth[i] == stage + 1; },
             [&](auto&& g) { reduced_loops(stage, g, [] {}); });
      reduced_loops(
          info.max_depth, [&] { write_stores(info.inside_mask, 0); },
          [&] { write_stores(info.parts_mask, info.inside_mask); });
      evaluate(info.max_depth, 0, info.kept_mask);
      write_stores(0, info.reduced_mask, true);
    });
  }
};

}  // namespace

void interpret(const LoopKernel& k, void* const* buffers, const std::int64_t* params) {
  Interpreter{k, buffers, params}.run();
}

}  // namespace reprise::kernels
