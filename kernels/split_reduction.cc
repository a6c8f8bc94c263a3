#include "kernels/split_reduction.h"

#include <algorithm>
#include <map>

#include "kernels/loop_analysis.h"

namespace reprise::kernels {

namespace {

/// Kept points from which on a device is busy; elements below which a second kernel costs more than it saves.
constexpr std::int64_t kManyPoints = 256, kEnoughPoints = 512, kFewElements = 16384, kFewParts = 8;

/// The reduced dims that move to the kept ones: outer ones, never the vector dim.
std::vector<int> dims_to_move(const LoopKernel& k) {
  const int rank = static_cast<int>(k.extents.size()), v = vector_dim(k);
  std::int64_t kept = 1, reduced = 1, moved = 1;
  for (int d = 0; d < rank; ++d) (d < k.n_kept ? kept : reduced) *= k.extents[static_cast<std::size_t>(d)].hint();
  std::vector<int> dims;
  if (kept >= kManyPoints || reduced < kFewElements) return dims;
  // The last reduced dim stays where the vector dim is kept: something must be left to reduce.
  const int last = v >= k.n_kept ? v : rank - 1;
  for (int d = k.n_kept; d < rank && kept * moved < kEnoughPoints; ++d) {
    if (d == last) continue;
    dims.push_back(d);
    moved *= k.extents[static_cast<std::size_t>(d)].hint();
  }
  if (moved < kFewParts) dims.clear();
  return dims;
}

/// Builds a kernel of some nodes of another one, over a selection of its dims.
class Part {
 public:
  Part(const LoopLaunch& from, const char* suffix, std::vector<int> dims, int n_kept)
      : from_(from), dims_(std::move(dims)) {
    out_.kernel.name = from.kernel.name + suffix;
    out_.kernel.n_kept = n_kept;
    for (int d : dims_) out_.kernel.extents.push_back(from.kernel.extents[static_cast<std::size_t>(d)]);
  }

  std::uint32_t copy(std::uint32_t i) {
    if (auto it = node_.find(i); it != node_.end()) return it->second;
    BodyNode n = from_.kernel.body[i];
    for (std::uint32_t* o : {&n.a, &n.b, &n.c})
      if (*o != ~0u) *o = copy(*o);
    if (n.access != ~0u) n.access = access(n.access);
    if (n.kind == BodyNode::Kind::Index) n.iimm = std::find(dims_.begin(), dims_.end(), n.iimm) - dims_.begin();
    return node_[i] = add(n);
  }
  std::uint32_t add(const BodyNode& n) {
    out_.kernel.body.push_back(n);
    return static_cast<std::uint32_t>(out_.kernel.body.size() - 1);
  }
  void stands_for(std::uint32_t i, std::uint32_t node) { node_[i] = node; }
  std::uint32_t add_access(std::uint32_t buffer, DType t, bool written, Ints strides) {
    out_.kernel.accesses.push_back({this->buffer(buffer, t, written), std::move(strides), 0, {}});
    return static_cast<std::uint32_t>(out_.kernel.accesses.size() - 1);
  }
  LoopLaunch take() { return std::move(out_); }

 private:
  std::uint32_t buffer(std::uint32_t program_buffer, DType t, bool written) {
    for (std::uint32_t b = 0; b < out_.buffers.size(); ++b) {
      BufferArg& arg = out_.kernel.buffers[b];
      if (out_.buffers[b] != program_buffer || arg.dtype != t) continue;
      arg.written |= written;
      return b;
    }
    out_.buffers.push_back(program_buffer);
    out_.kernel.buffers.push_back({t, written});
    return static_cast<std::uint32_t>(out_.buffers.size() - 1);
  }
  std::uint32_t access(std::uint32_t i) {
    const Access& a = from_.kernel.accesses[i];
    const BufferArg& arg = from_.kernel.buffers[a.buffer];
    Access made{buffer(from_.buffers[a.buffer], arg.dtype, arg.written), {}, a.offset, a.gathers};
    for (int d : dims_) made.strides.push_back(a.strides[static_cast<std::size_t>(d)]);
    for (Access::Gather& g : made.gathers) g.node = copy(g.node);
    out_.kernel.accesses.push_back(std::move(made));
    return static_cast<std::uint32_t>(out_.kernel.accesses.size() - 1);
  }

  const LoopLaunch& from_;
  const std::vector<int> dims_;  // by dim of this kernel: the other's
  LoopLaunch out_;
  std::map<std::uint32_t, std::uint32_t> node_;
};

}  // namespace

std::optional<SplitReduction> split_reduction(const LoopLaunch& launch,
                                              const std::function<std::uint32_t(DType, Int bytes)>& scratch) {
  const LoopKernel& k = launch.kernel;
  const LoopAnalysis info = analyse(k);
  if (info.max_depth != 1) return std::nullopt;
  for (std::size_t i = 0; i < k.body.size(); ++i)
    if (k.body[i].kind == BodyNode::Kind::Store && info.dims[i] & info.reduced_mask) return std::nullopt;
  const std::vector<int> moved = dims_to_move(k);
  if (moved.empty()) return std::nullopt;

  std::vector<int> kept, left;
  for (int d = 0; d < static_cast<int>(k.extents.size()); ++d)
    if (d < k.n_kept)
      kept.push_back(d);
    else if (std::find(moved.begin(), moved.end(), d) == moved.end())
      left.push_back(d);
  std::vector<int> outer = kept;
  outer.insert(outer.end(), moved.begin(), moved.end());
  std::vector<int> all = outer;
  all.insert(all.end(), left.begin(), left.end());

  // Scratch is contiguous along what `part` writes side by side: the kept dims where one of them is the vector dim.
  std::vector<int> order = outer;
  if (vector_dim(k) < k.n_kept) std::rotate(order.begin(), order.begin() + k.n_kept, order.end());
  Ints strides(outer.size(), Int(1));
  Int count = 1;
  for (std::size_t j = order.size(); j-- > 0;) {
    strides[static_cast<std::size_t>(std::find(outer.begin(), outer.end(), order[j]) - outer.begin())] = count;
    count = count * k.extents[static_cast<std::size_t>(order[j])];
  }
  Ints of_part = strides;
  for (std::size_t j = 0; j < left.size(); ++j) of_part.push_back(0);

  Part part(launch, "_part", all, static_cast<int>(outer.size())), rest(launch, "_rest", outer, k.n_kept);
  for (std::uint32_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    if (n.kind != BodyNode::Kind::Reduce) continue;
    const std::uint32_t buffer = scratch(n.dtype, count * item_size(n.dtype));
    BodyNode store{BodyNode::Kind::Store, n.dtype};
    store.a = part.copy(i);
    store.access = part.add_access(buffer, n.dtype, true, of_part);
    part.add(store);
    BodyNode load{BodyNode::Kind::Load, n.dtype};
    load.access = rest.add_access(buffer, n.dtype, false, strides);
    BodyNode reduce = n;
    reduce.a = rest.add(load);
    rest.stands_for(i, rest.add(reduce));
  }
  for (std::uint32_t i = 0; i < k.body.size(); ++i)
    if (k.body[i].kind == BodyNode::Kind::Store) rest.copy(i);
  return SplitReduction{part.take(), rest.take()};
}

}  // namespace reprise::kernels
