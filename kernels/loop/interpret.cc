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

  /// Values of every node whose reductions are finished at `stage`, at the current index.
  void evaluate(int stage) {
    for (std::size_t i = 0; i < k.body.size(); ++i) {
      const BodyNode& n = k.body[i];
      if (info.depth[i] > stage) continue;
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
          vals[i] = n.bits ? scalar::cast(n.dtype, DType::Float64, scalar::of_double(std::bit_cast<double>(params[slots.params[i]])))
                           : scalar::cast(n.dtype, DType::Int64, scalar::of_int(params[slots.params[i]]));
          break;
        case BodyNode::Kind::Index:
          vals[i] = scalar::cast(n.dtype, DType::Int64, scalar::of_int(index[static_cast<std::size_t>(n.iimm)]));
          break;
        case BodyNode::Kind::Op:
          vals[i] = scalar::apply(n, k.body[n.a].dtype, get(n.a), get(n.b), get(n.c));
          break;
        case BodyNode::Kind::Cast:
          vals[i] = scalar::cast(n.dtype, k.body[n.a].dtype, get(n.a));
          break;
        case BodyNode::Kind::Reduce:
        case BodyNode::Kind::Store:
          break;  // folded, written elsewhere
      }
    }
  }

  template <class F>
  void for_each(std::size_t d, std::size_t end, F&& f) {
    if (d == end) return f();
    for (index[d] = 0; index[d] < extent(d); ++index[d]) for_each(d + 1, end, f);
    index[d] = 0;
  }

  void write_stores(bool varying) {
    for (std::size_t i = 0; i < k.body.size(); ++i) {
      const BodyNode& n = k.body[i];
      if (n.kind != BodyNode::Kind::Store || ((info.dims[i] & info.reduced_mask) != 0) != varying) continue;
      if (n.b != ~0u && !vals[n.b].i) continue;
      scalar::store(n.dtype, address(n.access), vals[n.a]);
    }
  }

  void run() {
    const auto kept = static_cast<std::size_t>(k.n_kept), rank = k.extents.size();
    for_each(0, kept, [&] {
      for (int stage = 0; stage < info.max_depth; ++stage) {
        auto of_stage = [&](std::size_t i) {
          return k.body[i].kind == BodyNode::Kind::Reduce && info.depth[i] == stage + 1;
        };
        for (std::size_t i = 0; i < k.body.size(); ++i)
          if (of_stage(i)) vals[i] = scalar::identity(k.body[i]);
        for_each(kept, rank, [&] {
          evaluate(stage);
          for (std::size_t i = 0; i < k.body.size(); ++i)
            if (of_stage(i))
              vals[i] = scalar::fold(k.body[i], vals[i], scalar::cast(k.body[i].dtype, k.body[k.body[i].a].dtype, vals[k.body[i].a]));
        });
      }
      bool reduced_empty = false;
      for (std::size_t d = kept; d < rank; ++d) reduced_empty |= extent(d) == 0;
      for_each(kept, rank, [&] { evaluate(info.max_depth), write_stores(true); });
      if (reduced_empty)
        evaluate_kept();
      else
        evaluate(info.max_depth);
      write_stores(false);
    });
  }

  /// With an empty reduced dim only what varies over kept dims has a value (and an address).
  void evaluate_kept() {
    const LoopKernel& whole = k;
    for (std::size_t i = 0; i < whole.body.size(); ++i) {
      if (info.dims[i] & info.reduced_mask) info.depth[i] = info.max_depth + 1;
    }
    evaluate(info.max_depth);
    info = analyse(k);
  }
};

}  // namespace

void interpret(const LoopKernel& k, void* const* buffers, const std::int64_t* params) {
  Interpreter{k, buffers, params}.run();
}

}  // namespace reprise::kernels
