#include "kernels/cpu/fragment.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/checked_math.h"
#include "base/errors.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/convolution_rows.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/launch/layout.h"
#include "kernels/loop/analysis.h"

namespace reprise::kernels {

namespace {

/// What the integers behind kInts begin with. Then come, for each access, its operand (below 0: product -1 - that) and
/// the slots of its strides; for each product the operand that it may stand in, or -1; slots and values of whole
/// parameters; slots of floats, which are the launch's numbers.
enum Head : std::size_t { kProducts, kItem, kAccesses, kParams, kWholes, kFloats, kCost, kHead };
constexpr std::size_t kOfAccess = 3;

/// About how many multiplications of a product take the time of one of these, element by element.
std::int64_t cost_of(const LoopKernel& k) {
  std::int64_t cost = 0;
  for (const BodyNode& n : k.body) {
    if (n.kind != BodyNode::Kind::Op) {
      cost += 1;
      continue;
    }
    switch (scalar_op(n.op).cost) {
      case ScalarCost::Simple: cost += 1; break;
      case ScalarCost::Division: cost += 4; break;
      case ScalarCost::Function: cost += 16; break;
      case ScalarCost::Function2: cost += 32; break;
    }
  }
  return cost;
}

// About 10 us of work for one thread, in elements times cost.
constexpr std::int64_t kGrainWork = 240000;

/// Any number that code does not know.
const Int kSome = 2;
Int baked(Int stride, bool one) { return is_number(stride, 0) || (one && is_number(stride, 1)) ? stride : kSome; }

/// A loop over the rows and columns of what products make.
class Joined {
 public:
  Joined(const NativeLaunch& p, const LoopLaunch& loop) : p_(p), loop_(loop), k_(loop.kernel) {}

  bool fits() {
    const Operand& first = made(0);
    for (std::uint32_t i = 0; i < p_.n_results; ++i)
      if (made(i).dtype != first.dtype || !same_layout(made(i).layout, contiguous_layout(first.layout.sizes)))
        return false;
    return p_.n_results <= Fragment::kMostProducts && pointwise() && see_rows(first.layout.sizes) && make_kernel();
  }

  /// `out`: as the product was.
  void into(NativeLaunch& out) {
    std::vector<Operand> reads, stores;
    for (const Of& a : of_)
      if (a.product < 0) (a.store ? stores : reads).push_back(operand(a));
    std::vector<std::int64_t> targets(p_.n_results, -1);
    const std::size_t first_read = p_.first_result, first_store = first_read + reads.size();
    for (std::uint32_t i = 0; i < p_.n_results; ++i)
      targets[i] = target(made(i), stores, reads, targets, static_cast<std::int64_t>(first_store));
    const ParamSlots slots = param_slots(kernel_);
    std::vector<Int> ints(kHead);
    ints[kProducts] = static_cast<std::int64_t>(p_.n_results), ints[kItem] = item_size(made(0).dtype),
    ints[kAccesses] = static_cast<std::int64_t>(of_.size()), ints[kParams] = slots.count, ints[kCost] = cost_of(k_);
    std::int64_t read = static_cast<std::int64_t>(first_read), store = static_cast<std::int64_t>(first_store);
    for (std::size_t a = 0; a < of_.size(); ++a) {
      ints.push_back(of_[a].product >= 0 ? Int(-1 - of_[a].product) : Int(of_[a].store ? store++ : read++));
      for (int slot : slots.accesses[a].strides) ints.push_back(slot);
    }
    for (std::int64_t t : targets) ints.push_back(t);
    std::vector<Int> floats;
    std::int64_t wholes = 0;
    for (std::size_t i = 0; i < k_.body.size(); ++i) {
      const BodyNode& n = k_.body[i];
      if (n.kind != BodyNode::Kind::Param) continue;
      if (n.bits) {
        floats.push_back(slots.params[i]);
        out.numbers.push_back(n.param.is_symbolic() ? Scalar(Float::of_bits(n.param, {}))
                                                    : Scalar(std::bit_cast<double>(n.param.hint())));
      } else {
        ints.push_back(slots.params[i]), ints.push_back(n.param), ++wholes;
      }
    }
    ints[kWholes] = wholes, ints[kFloats] = static_cast<std::int64_t>(floats.size());
    ints.insert(ints.end(), floats.begin(), floats.end());

    const auto results = out.operands.begin() + out.first_result;
    out.operands.erase(results, results + out.n_results);
    out.operands.insert(out.operands.end(), reads.begin(), reads.end());
    out.operands.insert(out.operands.end(), stores.begin(), stores.end());
    out.first_result = static_cast<std::uint32_t>(first_store),
    out.n_results = static_cast<std::uint32_t>(stores.size());
    if (is_rows_convolution(out)) {
      out.ints[out.args.back().first + convolution_ints::kFragment] = static_cast<std::int64_t>(out.ints.size());
      const Ints sizes = with_channels_second(made(0).layout).sizes;
      out.ints.insert(out.ints.end(), sizes.begin(), sizes.end());
    } else {
      out.ints.resize(Fragment::kInts);
    }
    out.ints.insert(out.ints.end(), ints.begin(), ints.end());
    kernel_.name = k_.name;
    out.micro.push_back(micro::Fragment{std::move(kernel_)});
  }

 private:
  /// An access of the fragment: of the loop's `access`, which is of product `product` if not below 0.
  struct Of {
    std::uint32_t access;
    bool store;
    std::int64_t product;
    Ints strides;  // by dims_
  };

  const Operand& made(std::uint32_t i) const { return p_.operands[p_.first_result + i]; }

  bool pointwise() const {
    if (static_cast<std::size_t>(k_.n_kept) != k_.extents.size()) return false;
    for (const Access& a : k_.accesses)
      if (!a.gathers.empty()) return false;
    return std::none_of(k_.body.begin(), k_.body.end(), [](const BodyNode& n) {
      return n.kind == BodyNode::Kind::Reduce || n.kind == BodyNode::Kind::Index ||
             (n.kind == BodyNode::Kind::Store && n.b != ~0u);
    });
  }

  /// dims_: the loop's as rows, and columns of which there are as many as the product's. The last may run over both.
  bool see_rows(const Ints& sizes) {
    if (k_.extents.empty() || sizes.empty()) return false;
    const Int last = k_.extents.back(), n = sizes.back();
    dims_ = k_.extents;
    split_ = !same_number(last, n);
    if (split_) {
      Int rows = 1;
      std::size_t d = sizes.size() - 1;
      do {
        if (d == 0) return false;
        rows = rows * sizes[--d];
      } while (!same_number(last, rows * n));
      dims_.back() = rows;
      dims_.push_back(n);
    } else if (dims_.size() == 1) {
      dims_.insert(dims_.begin(), Int(1));
      alone_ = true;
    }
    return dims_.size() <= static_cast<std::size_t>(kMaxRank) && same_number(numel(dims_), numel(sizes));
  }
  Ints strides_of(const Access& a) const {
    Ints s = a.strides;
    if (split_) s.back() = s.back() * dims_.back(), s.push_back(a.strides.back());
    if (alone_) s.insert(s.begin(), Int(0));
    return s;
  }

  bool make_kernel() {
    kernel_.extents = {kSome, kSome};
    kernel_.n_kept = 2;
    std::vector<bool> read(p_.n_results);
    for (const BodyNode& from : k_.body) {
      BodyNode n = from;
      if (n.kind == BodyNode::Kind::Param) n.param = kSome;
      if (n.access != ~0u) {
        const bool store = n.kind == BodyNode::Kind::Store;
        const Access& a = k_.accesses[n.access];
        auto at = std::find_if(of_.begin(), of_.end(),
                               [&](const Of& o) { return o.access == from.access && o.store == store; });
        if (at == of_.end()) {
          Of made{from.access, store, product_of(a), strides_of(a)};
          if (made.product >= 0) {
            if (store || !is_number(a.offset, 0) || k_.buffers[a.buffer].dtype != this->made(0).dtype ||
                !same_layout({dims_, made.strides, 0}, contiguous_layout(dims_)))
              return false;
            read[static_cast<std::size_t>(made.product)] = true;
          }
          Access access;
          access.buffer = static_cast<std::uint32_t>(kernel_.buffers.size());
          const Int row = made.strides[made.strides.size() - 2], col = made.strides.back();
          access.strides = made.product >= 0 ? Ints{kSome, Int(1)} : Ints{baked(row, false), baked(col, true)};
          kernel_.buffers.push_back({k_.buffers[a.buffer].dtype, store});
          kernel_.accesses.push_back(std::move(access));
          at = of_.insert(of_.end(), std::move(made));
        }
        n.access = static_cast<std::uint32_t>(at - of_.begin());
      }
      kernel_.body.push_back(std::move(n));
    }
    const bool all = std::all_of(read.begin(), read.end(), [](bool r) { return r; });
    return all && of_.size() <= Fragment::kMostAccesses &&
           static_cast<std::uint32_t>(param_slots(kernel_).count) <= Fragment::kMostParams &&
           vector_dim(kernel_) == 1 && tiling(kernel_).dim < 0;
  }
  std::int64_t product_of(const Access& a) const {
    for (std::uint32_t i = 0; i < p_.n_results; ++i)
      if (made(i).buffer == loop_.buffers[a.buffer]) return i;
    return -1;
  }

  Operand operand(const Of& a) const {
    const Access& of = k_.accesses[a.access];
    return {loop_.buffers[of.buffer], k_.buffers[of.buffer].dtype, {dims_, a.strides, of.offset}, a.store};
  }

  /// The result that a product may be made in: of its dtype, where nobody else looks.
  static std::int64_t target(const Operand& made, const std::vector<Operand>& stores, const std::vector<Operand>& reads,
                             const std::vector<std::int64_t>& taken, std::int64_t first) {
    for (std::size_t s = 0; s < stores.size(); ++s) {
      const Operand& to = stores[s];
      const std::int64_t at = first + static_cast<std::int64_t>(s);
      auto same = [&](const Operand& o) { return o.buffer == to.buffer; };
      if (to.dtype == made.dtype && is_number(to.layout.strides.back(), 1) &&
          std::none_of(reads.begin(), reads.end(), same) && std::count_if(stores.begin(), stores.end(), same) == 1 &&
          std::find(taken.begin(), taken.end(), at) == taken.end())
        return at;
    }
    return -1;
  }

  const NativeLaunch& p_;
  const LoopLaunch& loop_;
  const LoopKernel& k_;
  LoopKernel kernel_;
  std::vector<Of> of_;
  Ints dims_;
  bool split_ = false, alone_ = false;  // the last loop is of rows and columns; there is no loop over rows
};

}  // namespace

bool join_fragment(Launch& product, const Launch& loop) {
  auto& p = std::get<NativeLaunch>(product.what);
  NativeLaunch before = p;
  // its rows are places
  if (is_rows_convolution(p)) before.operands.back().layout = with_channels_last(before.operands.back().layout);
  Joined joined(before, std::get<LoopLaunch>(loop.what));
  if (!joined.fits()) return false;
  joined.into(p);
  if (product.op.empty()) product.op = product.name;
  product.name += "_" + loop.name;
  product.nodes.insert(product.nodes.end(), loop.nodes.begin(), loop.nodes.end());
  product.copies.insert(product.copies.end(), loop.copies.begin(), loop.copies.end());
  return true;
}

Fragment::Fragment(const NativeArgs& args, std::size_t ints, std::size_t code) {
  const std::int64_t* at = args.ints + ints;
  fn_ = reinterpret_cast<micro::FragmentFn>(args.micro[code]);
  products_ = at[kProducts], item_ = at[kItem], accesses_ = static_cast<std::uint32_t>(at[kAccesses]),
  params_ = static_cast<std::uint32_t>(at[kParams]), cost_ = at[kCost];
  const std::int64_t wholes = at[kWholes], floats = at[kFloats];
  tensors_ = args.tensors;
  at += kHead;
  for (std::uint32_t a = 0; a < accesses_; ++a, at += kOfAccess) {
    Access& access = access_[a];
    access = {nullptr, nullptr, 0, -1 - at[0], at[1]};
    if (at[0] < 0) continue;
    const TensorView& v = args.tensors[at[0]];
    row_dims_ = v.rank - 1, sizes_ = v.sizes;
    access.data = v.data, access.strides = v.strides, access.item = item_size(v.dtype);
    if (at[1] >= 0) param_[at[1]] = v.strides[row_dims_ - 1];
    if (at[2] >= 0) param_[at[2]] = v.strides[row_dims_];
  }
  targets_ = at;
  at += products_;
  for (std::int64_t i = 0; i < wholes; ++i, at += 2) param_[at[0]] = at[1];
  for (std::int64_t i = 0; i < floats; ++i) param_[at[i]] = std::bit_cast<std::int64_t>(args.numbers[i].f);
}

Block Fragment::place(std::int64_t i) const {
  if (targets_[i] < 0 || row_dims_ != 1) return {};
  const TensorView& v = tensors_[targets_[i]];
  return {v.data, v.strides[0]};
}

Block Fragment::place(std::int64_t i, std::int64_t matrices, std::int64_t rows, std::int64_t& step) const {
  if (const Block all = place(i); all.data) return step = rows * all.row, all;
  if (targets_[i] < 0 || row_dims_ != 2 || sizes_[0] != matrices || sizes_[1] != rows) return {};
  const TensorView& v = tensors_[targets_[i]];
  return step = v.strides[0], Block{v.data, v.strides[1]};
}

void Fragment::run(std::int64_t row, std::int64_t rows, std::int64_t col, std::int64_t cols,
                   const Block* blocks) const {
  void* pointers[kMostAccesses];
  std::int64_t params[kMostParams];
  std::memcpy(params, param_, params_ * sizeof(std::int64_t));
  params[1] = cols;
  const int inside = row_dims_ - 1;  // rows of this dim are one run
  for (std::int64_t done = 0; done < rows;) {
    std::int64_t index[kMaxRank], rest = row + done;
    for (int d = inside; d > 0; --d) index[d] = rest % sizes_[d], rest /= sizes_[d];
    index[0] = rest;
    const std::int64_t some = inside > 0 ? std::min(rows - done, sizes_[inside] - index[inside]) : rows;
    for (std::uint32_t a = 0; a < accesses_; ++a) {
      const Access& of = access_[a];
      if (of.product >= 0) {
        const Block& block = blocks[of.product];
        pointers[a] = block.data + done * block.row * item_;
        params[of.row_slot] = block.row;
        continue;
      }
      std::uint64_t offset = wrapping(col) * wrapping(of.strides[row_dims_]);
      for (int d = 0; d < row_dims_; ++d) offset += wrapping(index[d]) * wrapping(of.strides[d]);
      pointers[a] = of.data + static_cast<std::int64_t>(offset) * of.item;
    }
    params[0] = some;
    fn_(pointers, params, 0, some * ((cols + kChunk - 1) / kChunk));
    done += some;
  }
}

void Fragment::run_all(std::int64_t first_row, std::int64_t rows, std::int64_t cols, const Block* blocks) const {
  // Few rows are shared out by columns.
  const std::int64_t strip = std::max<std::int64_t>(256, (cols + 63) / 64),
                     strips = rows >= 4 * device::num_threads() ? 1 : (cols + strip - 1) / strip;
  const std::int64_t width = strips == 1 ? cols : strip,
                     grain = std::max<std::int64_t>(1, kGrainWork / std::max<std::int64_t>(1, width * cost_));
  parallel(rows * strips, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t row = begin / strips, at = begin % strips, some = strips == 1 ? end - begin : 1,
                         col = at * width;
      Block part[kMostProducts];
      for (std::int64_t i = 0; i < products_; ++i)
        part[i] = {blocks[i].data + (row * blocks[i].row + col) * item_, blocks[i].row};
      run(first_row + row, some, col, std::min(width, cols - col), part);
      begin += some;
    }
  });
}

}  // namespace reprise::kernels
