#include "kernels/loop/ir.h"

#include <bit>
#include <cstdio>

#include "base/errors.h"
#include "kernels/loop/analysis.h"

namespace reprise::kernels {

namespace {

/// Does a row name something to call?
constexpr bool is_called(std::string_view function) { return function != "none"; }
constexpr ScalarOpInfo kOps[] = {
#define REPRISE_SCALAR_OP(name, arity, yields, domain, cost, device, floats, integers) \
  {#name,                                                                              \
   arity,                                                                              \
   ScalarYields::yields,                                                               \
   ScalarDomain::domain,                                                               \
   ScalarCost::cost,                                                                   \
   ScalarDevice::device,                                                               \
   is_called(#floats),                                                                 \
   is_called(#integers)},
#include "kernels/loop/scalar_ops.def"
#undef REPRISE_SCALAR_OP
};
constexpr std::string_view kReduceNames[] = {"sum", "prod", "max", "min", "any", "all"};
constexpr std::string_view kKindNames[] = {"load", "const", "param", "index", "op", "cast", "reduce", "store"};

/// The text of a kernel; `number` prints an Int (canonical: its parameter slot, or its baked value).
template <class Number>
std::string text_of(const LoopKernel& k, Number&& number) {
  const ParamSlots slots = param_slots(k);
  std::string s;
  auto list = [&](const Ints& v, const std::vector<int>& slot) {
    s += '[';
    for (std::size_t i = 0; i < v.size(); ++i) s.append(i ? ", " : "").append(number(v[i], slot[i]));
    s += ']';
  };
  s += "loop ";
  list(k.extents, slots.extents);
  s += " kept " + std::to_string(k.n_kept) + (k.n_parts ? " parts " + std::to_string(k.n_parts) : "") +
       (k.in_line ? " in line" : "") + " vector " + std::to_string(vector_dim(k)) + "\n";
  for (std::size_t i = 0; i < k.buffers.size(); ++i)
    s += "  buffer b" + std::to_string(i) + " " + std::string(dtype_short_name(k.buffers[i].dtype)) +
         (k.buffers[i].written ? " written\n" : "\n");
  for (std::size_t i = 0; i < k.accesses.size(); ++i) {
    const Access& a = k.accesses[i];
    s += "  access a" + std::to_string(i) + " b" + std::to_string(a.buffer) + " + " +
         number(a.offset, slots.accesses[i].offset) + " ";
    list(a.strides, slots.accesses[i].strides);
    for (std::size_t g = 0; g < a.gathers.size(); ++g)
      s += " gather %" + std::to_string(a.gathers[g].node) + " * " +
           number(a.gathers[g].stride, slots.accesses[i].gather_strides[g]) + " of " +
           number(a.gathers[g].extent, slots.accesses[i].gather_extents[g]);
    s += "\n";
  }
  for (std::size_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    s += "  %" + std::to_string(i) + " " + std::string(dtype_short_name(n.dtype)) + " = " +
         std::string(kKindNames[static_cast<int>(n.kind)]);
    switch (n.kind) {
      case BodyNode::Kind::Load: s += " a" + std::to_string(n.access); break;
      case BodyNode::Kind::Const:
        if (is_floating(n.dtype)) {  // exact: the bits, with the value for people
          char text[64];
          std::snprintf(text, sizeof text, " %.9g #%016llx", n.fimm,
                        static_cast<unsigned long long>(std::bit_cast<std::uint64_t>(n.fimm)));
          s += text;
        } else {
          s += " " + std::to_string(n.iimm);
        }
        break;
      case BodyNode::Kind::Param: s += (n.bits ? " float " : " ") + number(n.param, slots.params[i]); break;
      case BodyNode::Kind::Index: s += " " + std::to_string(n.iimm); break;
      case BodyNode::Kind::Op: s += " " + std::string(scalar_op_name(n.op)); break;
      case BodyNode::Kind::Cast: break;
      case BodyNode::Kind::Reduce:
        s += (n.within ? " part " : " ") + std::string(kReduceNames[static_cast<int>(n.reduce)]);
        break;
      case BodyNode::Kind::Store: s += " a" + std::to_string(n.access); break;
    }
    for (std::uint32_t operand : {n.a, n.b, n.c})
      if (operand != ~0u) s.append(" %").append(std::to_string(operand));
    s += "\n";
  }
  return s;
}

}  // namespace

const ScalarOpInfo& scalar_op(ScalarOp op) { return kOps[static_cast<int>(op)]; }
std::span<const ScalarOpInfo> scalar_ops() { return kOps; }

ParamSlots param_slots(const LoopKernel& k) {
  ParamSlots s;
  auto next = [&] { return s.count++; };
  // Baked: offsets of 0, strides of 0 and 1. Everything else is a parameter even when it is a plain number, so that
  // one kernel serves all sizes.
  auto stride = [&](Int v) { return is_plain(v, 0) || is_plain(v, 1) ? -1 : next(); };
  for (std::size_t i = 0; i < k.extents.size(); ++i) s.extents.push_back(next());
  for (const Access& a : k.accesses) {
    ParamSlots::OfAccess& o = s.accesses.emplace_back();
    o.offset = is_plain(a.offset, 0) ? -1 : next();
    for (Int v : a.strides) o.strides.push_back(stride(v));
    for (const Access::Gather& g : a.gathers) {
      o.gather_strides.push_back(stride(g.stride));
      o.gather_extents.push_back(next());
    }
  }
  for (const BodyNode& n : k.body) s.params.push_back(n.kind == BodyNode::Kind::Param && !n.bits ? next() : -1);
  for (std::size_t i = 0; i < k.body.size(); ++i)
    if (k.body[i].kind == BodyNode::Kind::Param && k.body[i].bits) s.params[i] = next(), ++s.floats;
  return s;
}

std::vector<Int> runtime_params(const LoopKernel& k) {
  const ParamSlots s = param_slots(k);
  std::vector<Int> p(static_cast<std::size_t>(s.count));
  auto put = [&](int slot, Int v) {
    if (slot >= 0) p[static_cast<std::size_t>(slot)] = v;
  };
  for (std::size_t i = 0; i < k.extents.size(); ++i) put(s.extents[i], k.extents[i]);
  for (std::size_t i = 0; i < k.accesses.size(); ++i) {
    const Access& a = k.accesses[i];
    const ParamSlots::OfAccess& o = s.accesses[i];
    put(o.offset, a.offset);
    for (std::size_t d = 0; d < a.strides.size(); ++d) put(o.strides[d], a.strides[d]);
    for (std::size_t g = 0; g < a.gathers.size(); ++g) {
      put(o.gather_strides[g], a.gathers[g].stride);
      put(o.gather_extents[g], a.gathers[g].extent);
    }
  }
  for (std::size_t i = 0; i < k.body.size(); ++i) put(s.params[i], k.body[i].param);
  return p;
}

std::string canonical_text(const LoopKernel& k) {
  std::string s = text_of(k, [](Int v, int slot) {
    return slot < 0 ? std::to_string(v.hint()) : std::string("p").append(std::to_string(slot));
  });
  // Which dims are vectorised and walked in tiles also depends on those that are known to be of size 1.
  for (std::size_t d = 0; d < k.extents.size(); ++d)
    if (is_plain(k.extents[d], 1)) s += "p" + std::to_string(d) + " is 1\n";
  return s;
}

std::string print(const LoopKernel& k) {
  return (k.name.empty() ? std::string() : "; " + k.name + "\n") + text_of(k, [](Int v, int) { return v.str(); });
}

LoopAnalysis analyse(const LoopKernel& k) {
  LoopAnalysis r;
  const int rank = static_cast<int>(k.extents.size());
  r.kept_mask = (1u << k.n_kept) - 1;
  r.reduced_mask = ((1u << rank) - 1) & ~r.kept_mask;
  r.parts_mask = ((1u << (k.n_kept + k.n_parts)) - 1) & ~r.kept_mask;
  r.inside_mask = r.reduced_mask & ~r.parts_mask;
  for (const BodyNode& n : k.body) {
    std::uint32_t dims = 0;
    int depth = 0, part_depth = 0;
    auto use = [&](std::uint32_t node) {
      if (node == ~0u) return;
      dims |= r.dims[node];
      depth = std::max(depth, r.depth[node]);
      part_depth = std::max(part_depth, r.part_depth[node]);
    };
    use(n.a), use(n.b), use(n.c);
    if (n.access != ~0u) {
      const Access& a = k.accesses[n.access];
      for (int d = 0; d < rank; ++d)
        if (!is_plain(a.strides[static_cast<std::size_t>(d)], 0)) dims |= 1u << d;
      for (const Access::Gather& g : a.gathers) use(g.node);
    }
    if (n.kind == BodyNode::Kind::Index) dims |= 1u << n.iimm;
    // Of each part by itself, even where all parts are alike: it is finished in each of them anew.
    if (n.kind == BodyNode::Kind::Reduce && n.within) dims = (dims & ~r.inside_mask) | r.parts_mask, part_depth += 1;
    else if (n.kind == BodyNode::Kind::Reduce) dims &= r.kept_mask, depth += 1, part_depth = 0;
    r.dims.push_back(dims);
    r.depth.push_back(depth);
    r.part_depth.push_back(part_depth);
    r.max_depth = std::max(r.max_depth, depth);
    r.max_part_depth = std::max(r.max_part_depth, part_depth);
  }
  return r;
}

int vector_dim(const LoopKernel& k) {
  const std::size_t rank = k.extents.size(), kept = static_cast<std::size_t>(k.n_kept),
                    inside = kept + static_cast<std::size_t>(k.n_parts);
  // Accesses inside the reduced loops happen at every index, the others once for all of them.
  auto frequent = [&](const Access& a) {
    bool varies = kept == rank || !a.gathers.empty();
    for (std::size_t d = inside; d < rank; ++d) varies |= !is_plain(a.strides[d], 0);
    return varies;
  };
  int best = -1, best_score = 0;
  for (std::size_t d = 0; d < rank; ++d) {
    if (d >= kept && d < inside) continue;                // parts come one after the other
    if (is_plain(k.extents[d], 1) && rank > 1) continue;  // nothing to vectorise
    int score = 0;
    for (const BodyNode& n : k.body) {
      if (n.access == ~0u) continue;
      const Access& a = k.accesses[n.access];
      const bool store = n.kind == BodyNode::Kind::Store;
      const int gain = is_plain(a.strides[d], 1) ? (store ? 6 : 4) : is_plain(a.strides[d], 0) ? (store ? 0 : 3) : -8;
      score += gain * (frequent(a) ? 8 : 1);
    }
    if (best < 0 || score >= best_score) best = static_cast<int>(d), best_score = score;
  }
  return best >= 0 ? best : static_cast<int>(rank) - 1;
}

Tiling tiling(const LoopKernel& k) {
  Tiling best;
  const int v = vector_dim(k), rank = static_cast<int>(k.extents.size());
  if (v < 0 || k.n_kept != rank) return best;
  for (int d = 0; d < rank; ++d) {
    if (d == v || is_plain(k.extents[static_cast<std::size_t>(d)], 1)) continue;
    Tiling t{d, {}};
    for (std::uint32_t i = 0; i < k.body.size(); ++i) {
      if (k.body[i].kind != BodyNode::Kind::Load) continue;
      const Access& a = k.accesses[k.body[i].access];
      const Int across = a.strides[static_cast<std::size_t>(v)];
      if (a.gathers.empty() && is_plain(a.strides[static_cast<std::size_t>(d)], 1) && !is_plain(across, 0) &&
          !is_plain(across, 1))
        t.loads.push_back(i);
    }
    if (t.loads.size() > best.loads.size()) best = std::move(t);
  }
  return best;
}

Int task_count(const LoopKernel& k) {
  const int v = vector_dim(k), t = tiling(k).dim;
  Int n = 1;
  for (int d = 0; d < k.n_kept; ++d) {
    const Int e = k.extents[static_cast<std::size_t>(d)];
    n *= d == v ? Int::ceil_div(e, t < 0 ? kChunk : kBlockColumns) : d == t ? Int::ceil_div(e, kBlockRows) : e;
  }
  return n;
}

Int work_per_task(const LoopKernel& k) {
  const int v = vector_dim(k), t = tiling(k).dim;
  Int n = static_cast<std::int64_t>(k.body.size());
  if (v >= 0 && v < k.n_kept) n *= Int::min(k.extents[static_cast<std::size_t>(v)], t < 0 ? kChunk : kBlockColumns);
  if (t >= 0) n *= Int::min(k.extents[static_cast<std::size_t>(t)], kBlockRows);
  for (std::size_t d = static_cast<std::size_t>(k.n_kept); d < k.extents.size(); ++d) n *= k.extents[d];
  return n;
}

void verify(const LoopKernel& k) {
  auto bad = [&](std::size_t node, const char* what) {
    fail(ErrorCode::Internal, "loop kernel", {}, what, " at node %", node, " of\n", print(k));
  };
  const std::size_t rank = k.extents.size();
  if (rank > 16 || k.n_kept < 0 || static_cast<std::size_t>(k.n_kept) > rank)
    fail(ErrorCode::Internal, "loop kernel", {}, rank, " dims of which ", k.n_kept, " are kept");
  if (k.n_parts < 0 || (k.n_parts > 0 && static_cast<std::size_t>(k.n_kept + k.n_parts) >= rank) ||
      (k.in_line && (k.n_parts != 1 || rank != static_cast<std::size_t>(k.n_kept) + 2)))
    fail(ErrorCode::Internal, "loop kernel", {}, rank, " dims of which ", k.n_kept, " are kept and ", k.n_parts,
         " count parts");
  for (const Access& a : k.accesses) {
    if (a.buffer >= k.buffers.size())
      fail(ErrorCode::Internal, "loop kernel", {}, "access of buffer ", a.buffer, " of ", k.buffers.size());
    if (a.strides.size() != rank)
      fail(ErrorCode::Internal, "loop kernel", {}, "access with ", a.strides.size(), " strides in ", rank, " dims");
  }
  for (std::size_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    for (std::uint32_t o : {n.a, n.b, n.c}) {
      if (o == ~0u) continue;
      if (o >= i) bad(i, "operand does not stand before its use");
      if (k.body[o].kind == BodyNode::Kind::Store) bad(i, "operand is a store");
    }
    auto dtype_of_operand = [&](std::uint32_t o) { return register_dtype(k.body[o].dtype); };
    const bool has_access = n.kind == BodyNode::Kind::Load || n.kind == BodyNode::Kind::Store;
    if (has_access != (n.access != ~0u)) bad(i, "access missing or not wanted");
    if (has_access) {
      if (n.access >= k.accesses.size()) bad(i, "access out of range");
      const Access& a = k.accesses[n.access];
      for (const Access::Gather& g : a.gathers)
        if (g.node >= i || !is_integral(k.body[g.node].dtype)) bad(i, "gather index is not an earlier integer");
      const BufferArg& b = k.buffers[a.buffer];
      if (n.kind == BodyNode::Kind::Load && n.dtype != register_dtype(b.dtype))
        bad(i, "load dtype differs from its buffer's");
      if (n.kind == BodyNode::Kind::Store) {
        if (!b.written || n.dtype != b.dtype) bad(i, "store into a buffer of another dtype, or one not marked written");
        if (n.a == ~0u || dtype_of_operand(n.a) != register_dtype(n.dtype)) bad(i, "stored value has another dtype");
        if (n.b != ~0u && dtype_of_operand(n.b) != DType::Bool) bad(i, "store predicate is not bool");
      }
      continue;
    }
    switch (n.kind) {
      case BodyNode::Kind::Index:
        if (n.iimm < 0 || n.iimm >= static_cast<std::int64_t>(rank) || !is_integral(n.dtype))
          bad(i, "index of a dim that is not there, or not integral");
        break;
      case BodyNode::Kind::Cast:
        if (n.a == ~0u) bad(i, "cast without operand");
        break;
      case BodyNode::Kind::Reduce:
        if (n.a == ~0u) bad(i, "reduction without operand");
        if ((n.reduce == ReduceOp::Any || n.reduce == ReduceOp::All) && n.dtype != DType::Bool)
          bad(i, "reduction of the wrong dtype");
        if (is_low_precision(n.dtype)) bad(i, "reduction in a half type");
        if (n.within && k.n_parts == 0) bad(i, "reduction of parts that are not there");
        break;
      case BodyNode::Kind::Op: {
        const ScalarOpInfo& info = scalar_op(n.op);
        const int given = (n.a != ~0u) + (n.b != ~0u) + (n.c != ~0u);
        if (given != info.arity) bad(i, "operand count differs from the operation's");
        if (is_low_precision(n.dtype)) bad(i, "arithmetic in a half type");
        if (info.yields == ScalarYields::Truth) {
          if (n.dtype != DType::Bool) bad(i, "a truth value must be bool");
          if (info.arity == 2 && dtype_of_operand(n.a) != dtype_of_operand(n.b)) bad(i, "operands differ in dtype");
          break;
        }
        if (n.op == ScalarOp::Where) {
          if (dtype_of_operand(n.a) != DType::Bool) bad(i, "condition is not bool");
          if (dtype_of_operand(n.b) != n.dtype || dtype_of_operand(n.c) != n.dtype) bad(i, "operands differ in dtype");
          break;
        }
        for (std::uint32_t o : {n.a, n.b, n.c})
          if (o != ~0u && dtype_of_operand(o) != n.dtype) bad(i, "operands differ in dtype");
        if (info.domain == ScalarDomain::Floats && !is_floating(n.dtype)) bad(i, "operation needs a floating dtype");
        if (info.domain == ScalarDomain::Integers && is_floating(n.dtype)) bad(i, "operation needs an integer dtype");
        break;
      }
      default: break;
    }
  }
}

}  // namespace reprise::kernels
