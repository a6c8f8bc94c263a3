#include "kernels/gpu/split_reduction.h"

#include <algorithm>
#include <map>

#include "base/errors.h"
#include "graph/shape_rules.h"
#include "kernels/loop/analysis.h"

namespace reprise::kernels {

namespace {

/// Kept points from which on a device is busy, where a point takes a block of its own, and those that are aimed at.
constexpr std::int64_t kManyPoints = 256, kEnoughPoints = 512;
/// Points that share a block where neighbours in memory are kept, at least, and bytes of each row that a block reads.
constexpr std::int64_t kColumnsOfBlock = 16, kColumnBytes = 128;
/// Elements below which more kernels cost more than they save; of nested reductions, which take more of them.
constexpr std::int64_t kFewElements = 16384, kFewElementsNested = 65536;
/// Elements that one kernel is still made to reduce where there were few when it was made.
constexpr std::int64_t kMostInOne = 1 << 18;
constexpr std::int64_t kFewParts = 8;
/// The least length of a chunk.
constexpr std::int64_t kRowChunk = 2048, kColumnChunk = 256;
/// Chunks of rows begin at multiples of this many elements: at whole runs of every dtype.
constexpr std::int64_t kChunkAlignment = 16;

/// What is kept in addition: outer reduced dims, and the number of a chunk of dim `cut`.
struct Plan {
  std::vector<int> moved;
  int cut = -1;
  std::int64_t parts = 1, alignment = 1;
};

/// Points that a block has, side by side in memory.
std::int64_t columns_of_block(const LoopKernel& k, int dim) {
  std::int64_t least = kColumnBytes / kColumnsOfBlock;
  for (const Access& a : k.accesses)
    if (is_plain(a.strides[static_cast<std::size_t>(dim)], 1))
      least = std::min<std::int64_t>(least, item_size(k.buffers[a.buffer].dtype));
  return kColumnBytes / least;
}

std::optional<Plan> plan_of(const LoopKernel& k, std::int64_t few_elements, SourceLoc where) {
  const int rank = static_cast<int>(k.extents.size()), v = vector_dim(k);
  const bool columns = v < k.n_kept;
  const std::int64_t width = columns ? columns_of_block(k, v) : 1;
  Int points = 1, reduced = 1;
  std::int64_t moved = 1;
  for (int d = 0; d < rank; ++d) {
    const Int extent = k.extents[static_cast<std::size_t>(d)];
    (d < k.n_kept ? points : reduced) *= extent;
  }
  const std::int64_t kept = std::max<std::int64_t>(1, points.hint());
  if (kept >= kManyPoints * width) return std::nullopt;
  if (reduced.hint() < few_elements) {
    // A call of many more is worth kernels of its own.
    graph::require(detail::compare_le(reduced, kMostInOne, where), "a reduction in one kernel");
    return std::nullopt;
  }
  // The last reduced dim stays where the vector dim is kept: something must be left to reduce.
  const int last = columns ? rank - 1 : v;
  Plan plan;
  for (int d = k.n_kept; d < rank && kept * moved < kEnoughPoints * width; ++d) {
    if (d == last) continue;
    plan.moved.push_back(d);
    moved *= k.extents[static_cast<std::size_t>(d)].hint();
    points = points * k.extents[static_cast<std::size_t>(d)];
  }
  if (kept * moved < kManyPoints * width) {
    const std::int64_t wanted = (kEnoughPoints * width + kept * moved - 1) / (kept * moved);
    const std::int64_t length = k.extents[static_cast<std::size_t>(last)].hint();
    const std::int64_t parts = std::min(wanted, length / (columns ? kColumnChunk : kRowChunk));
    // There are so many chunks for each point whatever its length: for many points they would only cost.
    if (parts > 1 && parts * moved >= kFewParts &&
        graph::require(detail::compare_le(points, kManyPoints * width, where), "a reduction of few in parts"))
      plan.cut = last, plan.parts = parts, plan.alignment = columns ? 1 : kChunkAlignment;
  }
  if (moved * plan.parts < kFewParts) return std::nullopt;
  return plan;
}

/// A dim of a made kernel: steps of dim `of` of the kernel that it is made from.
struct Dim {
  int of;
  Int extent, step = 1;
};

/// Builds a kernel of some nodes of another one, over dims made from its dims.
class Part {
 public:
  /// Reductions that are there already, one value for each kept point: by node, the program's buffer.
  struct Finished {
    std::map<std::uint32_t, std::uint32_t> buffer;
    Ints strides;  ///< by kept dim
  };
  Part(const LoopLaunch& from, const std::string& suffix, std::vector<Dim> dims, int n_kept, const Finished& finished)
      : from_(from), dims_(std::move(dims)), finished_(finished) {
    out_.kernel.name = from.kernel.name + suffix;
    out_.kernel.n_kept = n_kept;
    for (const Dim& d : dims_) out_.kernel.extents.push_back(d.extent);
  }
  /// Dim `of` begins here.
  void begin(int of, Int at) { begin_of_ = of, begin_ = at; }

  std::uint32_t copy(std::uint32_t i) {
    if (auto it = node_.find(i); it != node_.end()) return it->second;
    BodyNode n = from_.kernel.body[i];
    if (n.kind == BodyNode::Kind::Index) return node_[i] = index(n);
    if (auto it = finished_.buffer.find(i); it != finished_.buffer.end())
      return node_[i] = load(it->second, n.dtype, kept_strides(finished_.strides));
    for (std::uint32_t* o : {&n.a, &n.b, &n.c})
      if (*o != ~0u) *o = copy(*o);
    if (n.access != ~0u) n.access = access(n.access);
    return node_[i] = add(n);
  }
  std::uint32_t add(const BodyNode& n) {
    out_.kernel.body.push_back(n);
    return static_cast<std::uint32_t>(out_.kernel.body.size() - 1);
  }
  void stands_for(std::uint32_t i, std::uint32_t node) { node_[i] = node; }
  std::uint32_t load(std::uint32_t buffer, DType t, Ints strides) {
    BodyNode n{BodyNode::Kind::Load, t};
    n.access = add_access(buffer, t, false, std::move(strides), 0);
    return add(n);
  }
  void store(std::uint32_t value, std::uint32_t buffer, DType t, Ints strides, Int offset = 0) {
    BodyNode n{BodyNode::Kind::Store, t};
    n.a = value;
    n.access = add_access(buffer, t, true, std::move(strides), offset);
    add(n);
  }
  /// Strides by kept dim of the other kernel, as strides of this one.
  Ints kept_strides(const Ints& strides) const {
    Ints made;
    for (const Dim& d : dims_) made.push_back(d.of < from_.kernel.n_kept ? strides[static_cast<std::size_t>(d.of)] : 0);
    return made;
  }
  LoopLaunch take() { return std::move(out_); }

 private:
  std::uint32_t add_access(std::uint32_t buffer, DType t, bool written, Ints strides, Int offset) {
    out_.kernel.accesses.push_back({this->buffer(buffer, t, written), std::move(strides), offset, {}});
    return static_cast<std::uint32_t>(out_.kernel.accesses.size() - 1);
  }
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
    for (const Dim& d : dims_) made.strides.push_back(a.strides[static_cast<std::size_t>(d.of)] * d.step);
    if (begin_of_ >= 0) made.offset = made.offset + a.strides[static_cast<std::size_t>(begin_of_)] * begin_;
    for (Access::Gather& g : made.gathers) g.node = copy(g.node);
    out_.kernel.accesses.push_back(std::move(made));
    return static_cast<std::uint32_t>(out_.kernel.accesses.size() - 1);
  }
  std::uint32_t index(const BodyNode& n) {
    auto number = [&](Int v) {
      BodyNode p{BodyNode::Kind::Param, n.dtype};
      p.param = v;
      return add(p);
    };
    auto op = [&](ScalarOp o, std::uint32_t a, std::uint32_t b) {
      BodyNode made{BodyNode::Kind::Op, n.dtype};
      made.op = o, made.a = a, made.b = b;
      return add(made);
    };
    std::optional<std::uint32_t> sum;
    auto plus = [&](std::uint32_t term) { sum = sum ? op(ScalarOp::Add, *sum, term) : term; };
    for (std::size_t j = 0; j < dims_.size(); ++j) {
      if (dims_[j].of != n.iimm) continue;
      BodyNode mine = n;
      mine.iimm = static_cast<std::int64_t>(j);
      const std::uint32_t at = add(mine);
      plus(is_plain(dims_[j].step, 1) ? at : op(ScalarOp::Mul, at, number(dims_[j].step)));
    }
    if (begin_of_ == n.iimm) plus(number(begin_));
    REPRISE_CHECK(sum, " the index of a dim that ", out_.kernel.name, " does not have");
    return *sum;
  }

  const LoopLaunch& from_;
  const std::vector<Dim> dims_;
  const Finished& finished_;
  LoopLaunch out_;
  std::map<std::uint32_t, std::uint32_t> node_;
  int begin_of_ = -1;
  Int begin_ = 0;
};

class Splitter {
 public:
  Splitter(const LoopLaunch& from, const LoopAnalysis& info, const Plan& plan,
           const std::function<std::uint32_t(DType, Int bytes)>& scratch)
      : from_(from), k_(from.kernel), info_(info), scratch_(scratch) {
    const int rank = static_cast<int>(k_.extents.size());
    for (int d = 0; d < k_.n_kept; ++d) kept_.push_back({d, extent(d)});
    part_ = kept_;
    for (int d : plan.moved) part_.push_back({d, extent(d)});
    tail_ = part_, rest_ = part_;
    for (int d = k_.n_kept; d < rank; ++d) {
      if (std::find(plan.moved.begin(), plan.moved.end(), d) != plan.moved.end()) continue;
      if (d != plan.cut) {
        left_.push_back({d, extent(d)});
        continue;
      }
      const Int count = plan.parts, unit = plan.parts * plan.alignment;
      const Int length = extent(d) / unit * plan.alignment;
      remains_ = extent(d) % unit, begin_ = extent(d) - *remains_, cut_ = d;
      if (is_plain(*remains_, 0)) remains_.reset();
      part_.push_back({d, count, length});
      rest_.push_back({d, remains_ ? count + 1 : count, length});
      left_.push_back({d, length});
    }
    // Scratch is contiguous along what is written side by side: the kept dims where one of them is the vector dim.
    std::vector<std::size_t> order(rest_.size());
    for (std::size_t j = 0; j < order.size(); ++j) order[j] = j;
    if (vector_dim(k_) < k_.n_kept) std::rotate(order.begin(), order.begin() + k_.n_kept, order.end());
    strides_.resize(rest_.size(), Int(1));
    for (std::size_t j = order.size(); j-- > 0;)
      strides_[order[j]] = partials_, partials_ = partials_ * rest_[order[j]].extent;
    finished_.strides.resize(kept_.size(), Int(1));
    for (std::size_t d = kept_.size(); d-- > 0;) finished_.strides[d] = points_, points_ = points_ * kept_[d].extent;
  }

  std::vector<LoopLaunch> run() {
    std::vector<std::uint32_t> inside, here;
    for (std::uint32_t i = 0; i < k_.body.size(); ++i)
      if (k_.body[i].kind == BodyNode::Kind::Store) (info_.dims[i] & info_.reduced_mask ? inside : here).push_back(i);
    for (int depth = 1; depth <= info_.max_depth; ++depth)
      reduce(depth, depth == info_.max_depth && inside.empty() ? &here : nullptr);
    if (inside.empty()) return std::move(out_);
    std::vector<Dim> all;
    for (int d = 0; d < static_cast<int>(k_.extents.size()); ++d) all.push_back({d, extent(d)});
    stores("_elements", all, inside);
    if (!here.empty()) stores("_points", kept_, here);
    return std::move(out_);
  }

 private:
  Int extent(int d) const { return k_.extents[static_cast<std::size_t>(d)]; }
  static int count(const std::vector<Dim>& dims) { return static_cast<int>(dims.size()); }

  /// The reductions of a depth, and then `stores`; where these are null, what the reductions give is stored.
  void reduce(int depth, const std::vector<std::uint32_t>* stores) {
    const std::string number = depth == 1 ? std::string() : std::to_string(depth);
    auto with = [](std::vector<Dim> a, const std::vector<Dim>& b) {
      a.insert(a.end(), b.begin(), b.end());
      return a;
    };
    Part part(from_, "_part" + number, with(part_, left_), count(part_), finished_);
    Part rest(from_, "_rest" + number, rest_, k_.n_kept, finished_);
    std::optional<Part> tail;
    Ints of_part = strides_, of_tail = strides_;
    of_part.resize(part_.size() + left_.size(), Int(0));
    if (remains_) {
      tail.emplace(from_, "_tail" + number, with(tail_, {{cut_, *remains_}}), count(tail_), finished_);
      tail->begin(cut_, begin_);
      of_tail.back() = 0;  // the cut dim is the last one of rest_
    }
    std::map<std::uint32_t, std::uint32_t> made;
    for (std::uint32_t i = 0; i < k_.body.size(); ++i) {
      const BodyNode& n = k_.body[i];
      if (n.kind != BodyNode::Kind::Reduce || info_.depth[i] != depth) continue;
      const std::uint32_t buffer = scratch_(n.dtype, partials_ * item_size(n.dtype));
      part.store(part.copy(i), buffer, n.dtype, of_part);
      if (tail) tail->store(tail->copy(i), buffer, n.dtype, of_tail, strides_.back() * part_.back().extent);
      BodyNode reduce = n;
      reduce.a = rest.load(buffer, n.dtype, strides_);
      const std::uint32_t value = rest.add(reduce);
      rest.stands_for(i, value);
      if (stores) continue;
      made[i] = scratch_(n.dtype, points_ * item_size(n.dtype));
      rest.store(value, made[i], n.dtype, rest.kept_strides(finished_.strides));
    }
    if (stores)
      for (std::uint32_t s : *stores) rest.copy(s);
    out_.push_back(part.take());
    if (tail) out_.push_back(tail->take());
    out_.push_back(rest.take());
    finished_.buffer.insert(made.begin(), made.end());
  }
  void stores(const char* suffix, const std::vector<Dim>& dims, const std::vector<std::uint32_t>& nodes) {
    Part made(from_, suffix, dims, count(dims), finished_);
    for (std::uint32_t s : nodes) made.copy(s);
    out_.push_back(made.take());
  }

  const LoopLaunch& from_;
  const LoopKernel& k_;
  const LoopAnalysis& info_;
  const std::function<std::uint32_t(DType, Int bytes)>& scratch_;
  std::vector<Dim> kept_, part_, left_, tail_, rest_;
  int cut_ = -1;
  std::optional<Int> remains_;  ///< of the cut dim, from `begin_` on
  Int begin_ = 0;
  Ints strides_;  ///< of partial results, by dim of rest_
  Int partials_ = 1, points_ = 1;
  Part::Finished finished_;
  std::vector<LoopLaunch> out_;
};

/// What is stored for every index comes before what is stored for every point: is something of the former read for the
/// latter?
bool points_read_elements(const LoopLaunch& launch, const LoopAnalysis& info) {
  const LoopKernel& k = launch.kernel;
  auto buffer = [&](const BodyNode& n) { return launch.buffers[k.accesses[n.access].buffer]; };
  for (std::size_t s = 0; s < k.body.size(); ++s) {
    if (k.body[s].kind != BodyNode::Kind::Store || !(info.dims[s] & info.reduced_mask)) continue;
    for (std::size_t l = 0; l < k.body.size(); ++l)
      if (k.body[l].kind == BodyNode::Kind::Load && !(info.dims[l] & info.reduced_mask) &&
          buffer(k.body[l]) == buffer(k.body[s]))
        return true;
  }
  return false;
}

}  // namespace

std::vector<LoopLaunch> split_reduction(const LoopLaunch& launch, SourceLoc where,
                                        const std::function<std::uint32_t(DType, Int bytes)>& scratch) {
  const LoopKernel& k = launch.kernel;
  const LoopAnalysis info = analyse(k);
  if (info.max_depth == 0 || k.n_parts > 0) return {};
  bool nested = info.max_depth > 1;
  for (std::size_t i = 0; i < k.body.size(); ++i)
    nested |= k.body[i].kind == BodyNode::Kind::Store && info.dims[i] & info.reduced_mask;
  if (nested && points_read_elements(launch, info)) return {};
  const std::optional<Plan> plan = plan_of(k, nested ? kFewElementsNested : kFewElements, where);
  if (!plan) return {};
  return Splitter(launch, info, *plan, scratch).run();
}

}  // namespace reprise::kernels
