#include "kernels/plan/join_products.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/knobs.h"
#include "base/log.h"
#include "kernels/gpu/index_width.h"
#include "kernels/gpu/product_joined.h"
#include "kernels/gpu/rules.h"
#include "kernels/launch/layout.h"
#include "kernels/loop/analysis.h"
#include "kernels/loop/device_code.h"
#include "kernels/plan/drop_launches.h"
#include "kernels/plan/launch_uses.h"

namespace reprise::kernels {

namespace {

constexpr std::uint32_t kNear = 16;         // how far launches that become one may be apart
constexpr std::int64_t kMostFilled = 1024;  // elements of what else is written meanwhile
constexpr std::int64_t kManyBlocks = 4096;  // from here on one has more columns: each makes the row

/// A product of one row that may be joined.
struct Product {
  std::uint32_t launch, a, b, c;
  std::optional<std::uint32_t> bias;
  device::ProductOf<Int> of;
};

std::optional<Product> product_of(const Lowered& l, std::uint32_t i) {
  const auto* gpu = std::get_if<GpuLaunch>(&l.launches[i].what);
  const auto* dot = gpu ? gpu->code.as<gpu::ProductDot>() : nullptr;
  if (!dot || dot->m != 1 || !gpu->product || gpu->alternative ||
      (i + 1 < l.launches.size() && std::holds_alternative<GpuLaunch>(l.launches[i + 1].what) &&
       std::get<GpuLaunch>(l.launches[i + 1].what).alternative))
    return std::nullopt;
  const auto& p = *gpu->product;
  const std::size_t bias = p.has_bias ? 1 : 0;
  Product r{
      i, gpu->buffers[0], gpu->buffers[1], gpu->buffers[2 + bias], bias ? std::optional(gpu->buffers[2]) : std::nullopt,
      p};
  const std::int64_t run = 16 / item_size(p.dtype);
  const bool serves = (p.dtype == DType::Float32 || is_low_precision(p.dtype)) && known_as(p.batch, 1) &&
                      known_as(p.m, 1) && !p.k.is_symbolic() && p.k.hint() > 0 && p.k.hint() % run == 0 &&
                      !p.n.is_symbolic() && p.n.hint() > 0;
  return serves && known_as(p.a.column, 1) && known_as(p.b.row, 1) && known_as(p.c.column, 1) &&
                 known_as(p.c.offset, 0) && l.buffers[r.c].kind != Buffer::Kind::Input
             ? std::optional(r)
             : std::nullopt;
}

/// A loop as it will be inside: of each access, what it is of.
struct Inner {
  gpu::InnerLoop loop;
  std::vector<std::uint32_t> buffers;  ///< by access
  SourceLoc loc;

  /// `product(buffer, stored)`: as in InnerLoop::product.
  template <class F>
  Inner(const LoopLaunch& l, SourceLoc where, F&& product) : loc(where) {
    LoopKernel& k = loop.kernel;
    k = l.kernel;
    k.buffers.clear(), k.accesses.clear();
    std::vector<std::pair<std::uint32_t, bool>> from;  // by access: the one it was, and whether it stores
    auto access = [&](std::uint32_t was, bool stored) {
      const auto at = std::find(from.begin(), from.end(), std::pair(was, stored));
      if (at != from.end()) return static_cast<std::uint32_t>(at - from.begin());
      Access a = l.kernel.accesses[was];
      const std::uint32_t buffer = l.buffers[a.buffer];
      k.buffers.push_back({l.kernel.buffers[a.buffer].dtype, stored});
      a.buffer = static_cast<std::uint32_t>(k.accesses.size());
      k.accesses.push_back(std::move(a)), from.emplace_back(was, stored), buffers.push_back(buffer),
          loop.product.push_back(product(buffer, stored));
      return static_cast<std::uint32_t>(k.accesses.size() - 1);
    };
    for (BodyNode& n : k.body)
      if (n.access != ~0u) n.access = access(n.access, n.kind == BodyNode::Kind::Store);
    k.narrow = fits_in_32_bits(k, loc);
  }

  Int points() const { return numel(loop.kernel.extents); }
  int reads() const { return gpu::ProductJoined::reads(loop); }
  bool is_memory(std::size_t access) const { return loop.product[access] < 0; }
  /// What the launch has of it, as subject of proofs.
  void tell_operands(std::vector<Operand>& out) const {
    const LoopKernel& k = loop.kernel;
    for (std::size_t a = 0; a < k.accesses.size(); ++a)
      if (is_memory(a) && k.accesses[a].gathers.empty())
        out.push_back({buffers[a],
                       k.buffers[a].dtype,
                       {k.extents, k.accesses[a].strides, k.accesses[a].offset},
                       k.buffers[a].written});
  }
  void tell(gpu::InnerLoop::Args<InLaunch>& args) const {
    const gpu::InnerAccesses of(loop);
    for (std::size_t i = 0; i < of.loads.size(); ++i) args.sources[i].index = buffers[of.loads[i]];
    for (std::size_t i = 0; i < of.stores.size(); ++i) args.targets[i].index = buffers[of.stores[i]];
    const std::vector<Int> params = runtime_params(loop.kernel);
    for (std::size_t i = 0; i < params.size(); ++i) args.params[i] = params[i];
  }
};

/// The body nodes that `roots` need, in order, as a body of their own.
void keep_nodes(LoopLaunch& l, const std::vector<std::uint32_t>& roots) {
  LoopKernel& k = l.kernel;
  std::vector<bool> need(k.body.size());
  for (std::uint32_t r : roots) need[r] = true;
  for (std::size_t i = k.body.size(); i-- > 0;) {
    if (!need[i]) continue;
    const BodyNode& n = k.body[i];
    for (std::uint32_t o : {n.a, n.b, n.c})
      if (o != ~0u) need[o] = true;
    if (n.access != ~0u)
      for (const Access::Gather& g : k.accesses[n.access].gathers) need[g.node] = true;
  }
  std::vector<std::uint32_t> to(k.body.size(), ~0u);
  std::vector<BodyNode> body;
  std::vector<bool> accessed(k.accesses.size());
  for (std::uint32_t i = 0; i < k.body.size(); ++i) {
    if (!need[i]) continue;
    BodyNode n = k.body[i];
    for (std::uint32_t* o : {&n.a, &n.b, &n.c})
      if (*o != ~0u) *o = to[*o];
    if (n.access != ~0u && !accessed[n.access]) {
      accessed[n.access] = true;
      for (Access::Gather& g : k.accesses[n.access].gathers) g.node = to[g.node];
    }
    to[i] = static_cast<std::uint32_t>(body.size());
    body.push_back(std::move(n));
  }
  k.body = std::move(body);
  std::vector<std::uint32_t> access_to(k.accesses.size()), buffer_to(k.buffers.size(), ~0u), buffers;
  std::vector<Access> accesses;
  std::vector<BufferArg> arguments;
  for (std::size_t a = 0; a < k.accesses.size(); ++a) {
    if (!accessed[a]) continue;
    Access kept = k.accesses[a];
    std::uint32_t& buffer = buffer_to[kept.buffer];
    if (buffer == ~0u)
      buffer = static_cast<std::uint32_t>(buffers.size()), buffers.push_back(l.buffers[kept.buffer]),
      arguments.push_back({k.buffers[kept.buffer].dtype, false});
    kept.buffer = buffer, access_to[a] = static_cast<std::uint32_t>(accesses.size());
    accesses.push_back(std::move(kept));
  }
  k.accesses = std::move(accesses), k.buffers = std::move(arguments), l.buffers = std::move(buffers);
  for (BodyNode& n : k.body) {
    if (n.access == ~0u) continue;
    n.access = access_to[n.access];
    if (n.kind == BodyNode::Kind::Store) k.buffers[k.accesses[n.access].buffer].written = true;
  }
}

/// A loop that reduces values made of a product and stores such values, too, as what its one row is, in two: what
/// stores them of the product, and the reduction, which reads them.
struct Halves {
  LoopLaunch made, reduces;
};
std::optional<Halves> halves_of(const LoopLaunch& l, std::uint32_t product) {
  const LoopKernel& k = l.kernel;
  const LoopAnalysis info = analyse(k);
  if (k.n_parts || static_cast<std::size_t>(k.n_kept) == k.extents.size()) return std::nullopt;
  std::vector<bool> of_product(k.body.size());
  for (std::size_t i = 0; i < k.body.size(); ++i) {
    const BodyNode& n = k.body[i];
    of_product[i] = n.kind == BodyNode::Kind::Load && l.buffers[k.accesses[n.access].buffer] == product;
    for (std::uint32_t o : {n.a, n.b, n.c})
      if (o != ~0u && of_product[o]) of_product[i] = true;
  }
  for (std::uint32_t s = 0; s < k.body.size(); ++s) {
    const BodyNode& store = k.body[s];
    if (store.kind != BodyNode::Kind::Store || store.b != ~0u || !k.accesses[store.access].gathers.empty()) continue;
    const std::uint32_t x = store.a;
    // Read back it must be what it was, at each index: but for halves, which a program that runs operator by operator
    // reads back rounded, too.
    const bool same =
        k.body[x].dtype == store.dtype || (is_low_precision(store.dtype) && k.body[x].dtype == DType::Float32);
    if (!of_product[x] || info.depth[x] > 0 || k.body[x].kind == BodyNode::Kind::Load || !same) continue;
    const Ints& strides = k.accesses[store.access].strides;
    bool everywhere = true;
    for (std::size_t d = 0; d < strides.size(); ++d)
      everywhere = everywhere && (known_as(k.extents[d], 1) || !is_plain(strides[d], 0));
    if (!everywhere) continue;
    Halves r{l, l};
    keep_nodes(r.made, {s});
    r.made.kernel.n_kept = static_cast<int>(k.extents.size()), r.made.kernel.in_line = false, r.made.kernel.name = "";
    LoopKernel& rest = r.reduces.kernel;
    rest.body[x] = BodyNode{.kind = BodyNode::Kind::Load,
                            .dtype = is_low_precision(store.dtype) ? DType::Float32 : store.dtype,
                            .access = store.access};
    std::vector<std::uint32_t> stores;
    for (std::uint32_t i = 0; i < rest.body.size(); ++i)
      if (rest.body[i].kind == BodyNode::Kind::Store && i != s) stores.push_back(i);
    if (stores.empty()) continue;
    keep_nodes(r.reduces, stores);
    if (std::find(r.reduces.buffers.begin(), r.reduces.buffers.end(), product) != r.reduces.buffers.end()) continue;
    return r;
  }
  return std::nullopt;
}

class ProductJoiner {
 public:
  ProductJoiner(Lowered& l, std::string_view function)
      : l_(l), function_(function), gone_(l.launches.size()), uses_(l) {}
  void run(std::size_t& marked) {
    for (std::uint32_t i = 0; i < l_.launches.size(); ++i)
      if (!gone_[i]) try_from(i);
    drop_launches(l_, gone_, marked);
  }

 private:
  /// Launches that become one, while it is not said yet that they do.
  struct Group {
    std::vector<Product> products;
    std::set<std::uint32_t> members;  ///< launches that are gone then
    std::vector<Inner> parts;
    std::vector<std::pair<std::uint32_t, LoopLaunch>> halves;  ///< launches that stay, as what they are then
    std::optional<Inner> row;
    std::vector<std::string> names;
  };

  /// May members, which come before `at`, move to it, and what later launches give of themselves (halves) likewise?
  bool may_stand_at(std::uint32_t at, const Group& g, const std::set<std::uint32_t>& members) const {
    auto meets = [&](std::uint32_t moves, std::uint32_t first, std::uint32_t last) {
      for (std::uint32_t j = first; j < last; ++j)
        if (!members.contains(j) && uses_.meet(moves, j)) return true;
      return false;
    };
    return std::none_of(members.begin(), members.end(), [&](std::uint32_t m) { return meets(m, m + 1, at + 1); }) &&
           std::none_of(g.halves.begin(), g.halves.end(),
                        [&](const auto& half) { return meets(half.first, at + 1, half.first); });
  }

  /// Products of one row, from i on, that may become one launch with i.
  std::vector<Product> siblings(const Product& first) const {
    std::vector<Product> r{first};
    for (std::uint32_t j = first.launch + 1; j < l_.launches.size() && j <= first.launch + kNear; ++j) {
      if (gone_[j]) continue;
      const std::optional<Product> p = product_of(l_, j);
      if (!p || p->a != first.a || p->of.dtype != first.of.dtype || !same_number(p->of.a.offset, first.of.a.offset) ||
          !same_number(p->of.k, first.of.k))
        continue;
      r.push_back(*p);
    }
    return r;
  }

  /// The one launch that reads what a product makes, and nobody reads it later.
  std::optional<std::uint32_t> reader(const Product& p) const {
    const std::vector<std::uint32_t>& users = uses_.users(p.c);
    if (l_.buffers[p.c].kind != Buffer::Kind::Temp || users.size() != 2 || users[0] != p.launch ||
        users[1] > p.launch + kNear)
      return std::nullopt;
    return users[1];
  }

  /// A pointwise loop as a part: where its points read each element of the products but once.
  std::optional<Inner> part_of(const LoopLaunch& l, SourceLoc loc, const std::vector<Product>& products) const {
    const LoopKernel& k = l.kernel;
    if (static_cast<std::size_t>(k.n_kept) != k.extents.size() || !has_device_code(k)) return std::nullopt;
    for (const BodyNode& n : k.body) {
      if (n.kind == BodyNode::Kind::Reduce) return std::nullopt;
      if (n.access == ~0u) continue;
      const bool of_product = number_of(l.buffers[k.accesses[n.access].buffer], products) >= 0;
      if (!k.accesses[n.access].gathers.empty() && (of_product || n.kind == BodyNode::Kind::Store)) return std::nullopt;
      if (of_product && n.kind == BodyNode::Kind::Store) return std::nullopt;
    }
    Inner inner(l, loc, [&](std::uint32_t buffer, bool) { return number_of(buffer, products); });
    const int reads = inner.reads();
    if (reads == 0 || gpu::kProductJoinedColumns % reads != 0) return std::nullopt;
    Int columns = 0;
    for (std::size_t p = 0; p < products.size(); ++p)
      if (std::find(inner.loop.product.begin(), inner.loop.product.end(), static_cast<int>(p)) !=
          inner.loop.product.end())
        columns = columns + products[p].of.n;
    return same_number(inner.points() * reads, columns) ? std::optional(std::move(inner)) : std::nullopt;
  }
  static int number_of(std::uint32_t buffer, const std::vector<Product>& products) {
    for (std::size_t p = 0; p < products.size(); ++p)
      if (products[p].c == buffer) return static_cast<int>(p);
    return -1;
  }
  /// What writes a product as it is.
  Inner as_it_is(const Product& p, const std::vector<Product>& products) const {
    LoopLaunch l;
    const DType t = p.of.dtype;
    l.kernel.extents = {p.of.n}, l.kernel.n_kept = 1;
    l.kernel.buffers = {{t, false}, {t, true}};
    l.buffers = {p.c, p.c};
    l.kernel.accesses = {{0, {Int(1)}, 0, {}}, {1, {Int(1)}, 0, {}}};
    l.kernel.body = {{.kind = BodyNode::Kind::Load, .dtype = is_low_precision(t) ? DType::Float32 : t, .access = 0},
                     {.kind = BodyNode::Kind::Store, .dtype = t, .a = 0, .access = 1}};
    return Inner(l, l_.launches[p.launch].loc,
                 [&](std::uint32_t, bool stored) { return stored ? -1 : number_of(p.c, products); });
  }

  void try_from(std::uint32_t i) {
    const std::optional<Product> first = product_of(l_, i);
    if (!first) return;
    std::vector<Product> all = siblings(*first);
    // All that may be; else what stands around this one product alone.
    while (!join(all) && all.size() > 1) all.pop_back();
  }

  bool join(const std::vector<Product>& products) {
    Group g;
    g.products = products;
    for (const Product& p : products) g.members.insert(p.launch);
    std::vector<bool> done(products.size());
    for (std::size_t i = 0; i < products.size(); ++i)
      if (!done[i]) add_part(g, i, done);
    std::uint32_t at = *g.members.rbegin();
    if (!may_stand_at(at, g, g.members) || !parts_are_apart(g)) return false;
    add_row(g, at);
    if (products.size() == 1 && !g.row && g.members.size() == 1 && g.halves.empty()) return false;
    add_fills(g, at);
    replace(g, at);
    return true;
  }

  void add_part(Group& g, std::size_t i, std::vector<bool>& done) const {
    const Product& p = g.products[i];
    const std::optional<std::uint32_t> by = reader(p);
    const Launch* launch = by ? &l_.launches[*by] : nullptr;
    const auto* loop =
        launch && !launch->may_fail && !launch->in_region() ? std::get_if<LoopLaunch>(&launch->what) : nullptr;
    // of each product that it reads it is the only reader, and no part is made of it
    auto reads_alone = [&](const Inner& part) {
      for (std::size_t k = 0; k < part.loop.product.size(); ++k)
        if (const int q = part.loop.product[k];
            q >= 0 && (done[static_cast<std::size_t>(q)] || reader(g.products[static_cast<std::size_t>(q)]) != by))
          return false;
      return true;
    };
    auto take = [&](Inner part) {
      for (int q : part.loop.product)
        if (q >= 0) done[static_cast<std::size_t>(q)] = true;
      g.parts.push_back(std::move(part));
    };
    if (loop) {
      if (std::optional<Inner> part = part_of(*loop, launch->loc, g.products); part && reads_alone(*part)) {
        take(std::move(*part));
        g.members.insert(*by), g.names.push_back(launch->name);
        return;
      }
      if (std::optional<Halves> halves = halves_of(*loop, p.c)) {
        if (std::optional<Inner> part = part_of(halves->made, launch->loc, g.products); part && reads_alone(*part)) {
          take(std::move(*part));
          g.halves.emplace_back(*by, std::move(halves->reduces));
          return;
        }
      }
    }
    take(as_it_is(p, g.products));
  }

  /// What a part writes nobody else in the launch may read or write.
  bool parts_are_apart(const Group& g) const {
    auto writes = [](const Inner& part, std::uint32_t buffer) {
      for (std::size_t a = 0; a < part.buffers.size(); ++a)
        if (part.buffers[a] == buffer && part.is_memory(a) && part.loop.kernel.buffers[a].written) return true;
      return false;
    };
    for (const Inner& part : g.parts) {
      for (const Product& p : g.products)
        if (writes(part, p.a) || writes(part, p.b) || (p.bias && writes(part, *p.bias))) return false;
      for (const Inner& other : g.parts)
        for (std::size_t a = 0; a < other.buffers.size() && &other != &part; ++a)
          if (other.is_memory(a) && writes(part, other.buffers[a])) return false;
    }
    return true;
  }

  /// The loop that makes the row, if only these products read it.
  void add_row(Group& g, std::uint32_t at) const {
    const Product& p = g.products[0];
    const std::vector<std::uint32_t>& users = uses_.users(p.a);
    if (users.empty() || l_.buffers[p.a].kind != Buffer::Kind::Temp ||
        p.of.k.hint() * item_size(p.of.dtype) > gpu::kProductJoinedRow || !known_as(p.of.a.offset, 0))
      return;
    const std::uint32_t from = users[0];
    const Launch& launch = l_.launches[from];
    const auto* loop = std::get_if<LoopLaunch>(&launch.what);
    if (!loop || launch.may_fail || launch.in_region() || g.members.contains(from) || from + kNear < at) return;
    for (std::uint32_t u : users)
      if (u != from &&
          std::none_of(g.products.begin(), g.products.end(), [&](const Product& q) { return q.launch == u; }))
        return;
    const LoopKernel& k = loop->kernel;
    const auto kept = static_cast<std::size_t>(k.n_kept);
    if (kept == k.extents.size() || k.n_parts || vector_dim(k) < k.n_kept || !has_device_code(k)) return;
    for (std::size_t d = 0; d < kept; ++d)
      if (!known_as(k.extents[d], 1)) return;
    int stores = 0;
    for (const BodyNode& n : k.body) {
      if (n.kind != BodyNode::Kind::Store) continue;
      const Access& a = k.accesses[n.access];
      const Ints sizes(k.extents.begin() + k.n_kept, k.extents.end()),
          strides(a.strides.begin() + k.n_kept, a.strides.end());
      if (++stores > 1 || n.b != ~0u || loop->buffers[a.buffer] != p.a || !a.gathers.empty() ||
          !known_as(a.offset, 0) || k.buffers[a.buffer].dtype != p.of.dtype)
        return;
      if (!same_number(numel(sizes), p.of.k) || !same_layout({sizes, strides, 0}, contiguous_layout(sizes))) return;
    }
    for (const BodyNode& n : k.body)
      if (n.kind == BodyNode::Kind::Load && loop->buffers[k.accesses[n.access].buffer] == p.a) return;
    std::set<std::uint32_t> members = g.members;
    members.insert(from);
    if (!may_stand_at(at, g, members)) return;
    Inner row(*loop, launch.loc, [](std::uint32_t, bool stored) { return stored ? 0 : -1; });
    for (const Inner& part : g.parts)
      for (std::size_t a = 0; a < part.buffers.size(); ++a)
        if (part.loop.kernel.buffers[a].written && part.is_memory(a) &&
            std::find(row.buffers.begin(), row.buffers.end(), part.buffers[a]) != row.buffers.end())
          return;
    g.row = std::move(row);
    g.members = std::move(members);
    g.names.insert(g.names.begin(), launch.name);
  }

  /// What is written behind them, of nothing, where nobody has been before.
  void add_fills(Group& g, std::uint32_t at) const {
    for (std::uint32_t j = at + 1; j < l_.launches.size() && j <= at + kNear; ++j) {
      const auto* loop = gone_[j] ? nullptr : std::get_if<LoopLaunch>(&l_.launches[j].what);
      if (!loop || l_.launches[j].may_fail || l_.launches[j].in_region() || loop->buffers.size() != 1 ||
          l_.buffers[loop->buffers[0]].kind != Buffer::Kind::Temp || uses_.users(loop->buffers[0])[0] != j)
        continue;
      const LoopKernel& k = loop->kernel;
      const bool fills = static_cast<std::size_t>(k.n_kept) == k.extents.size() && has_device_code(k) &&
                         known_at_most(numel(k.extents), kMostFilled) &&
                         std::none_of(k.body.begin(), k.body.end(), [](const BodyNode& n) {
                           return n.kind == BodyNode::Kind::Load || n.kind == BodyNode::Kind::Reduce;
                         });
      if (!fills) continue;
      g.parts.push_back(Inner(*loop, l_.launches[j].loc, [](std::uint32_t, bool) { return -1; }));
      g.members.insert(j);
    }
  }

  void replace(Group& g, std::uint32_t at) {
    const Product& first = g.products[0];
    gpu::ProductJoined code{first.of.dtype, static_cast<int>(first.of.k.hint()), 1, false, {}, {}, {}};
    for (const Product& p : g.products) code.biased.push_back(p.bias ? 1 : 0);
    if (g.row) code.row.push_back(g.row->loop);
    for (const Inner& part : g.parts)
      code.parts.push_back(part.loop), code.columns = std::max(code.columns, part.reads());
    auto blocks_of = [&] {
      Int blocks = 0;
      for (const Inner& part : g.parts)
        blocks = blocks + blocks_for(part.points(), code.points(part.loop) * (gpu::kProductJoinedThreads / 32));
      return blocks;
    };
    while (g.row && code.columns < gpu::kProductJoinedColumns && known_above(blocks_of(), kManyBlocks))
      code.columns *= 2;
    LaunchOf<gpu::ProductJoined> l(code);
    std::vector<Operand> operands;
    if (g.row) g.row->tell(l->row[0]), g.row->tell_operands(operands);
    else l->a->index = first.a, l->a_offset = first.of.a.offset;
    for (std::size_t i = 0; i < g.products.size(); ++i) {
      const Product& p = g.products[i];
      auto& m = l->products[i];
      m.buffer.index = p.b, m.offset = p.of.b.offset, m.step = p.of.b.column;
      if (p.bias) m.bias->index = *p.bias, m.bias_offset = p.of.bias.offset, m.bias_step = p.of.bias.column;
      for (const Operand& o : std::get<GpuLaunch>(l_.launches[p.launch].what).operands)
        if (o.buffer != p.c && (o.buffer != p.a || (!g.row && i == 0))) operands.push_back(o);
    }
    for (std::size_t i = 0; i < g.parts.size(); ++i) g.parts[i].tell(l->parts[i]), g.parts[i].tell_operands(operands);

    Launch made = l_.launches[first.launch];
    made.what = l.in(blocks_of());
    std::get<GpuLaunch>(made.what).operands = std::move(operands);
    made.nodes.clear(), made.copies.clear(), made.name.clear();
    if (g.row) made.name = g.names.front() + '_';
    made.name += l_.launches[first.launch].name;
    for (std::size_t i = g.row ? 1 : 0; i < g.names.size(); ++i) made.name += '_' + g.names[i];
    for (std::uint32_t m : g.members) {
      const Launch& x = l_.launches[m];
      made.nodes.insert(made.nodes.end(), x.nodes.begin(), x.nodes.end());
      made.copies.insert(made.copies.end(), x.copies.begin(), x.copies.end());
    }
    if (logs::on(logs::Channel::Fusion))
      logs::event(
          logs::Event::joined, function_,
          made.name + ": " + std::to_string(g.products.size()) + (g.products.size() == 1 ? " product" : " products") +
              " of one row and what stands around are one launch instead of " + std::to_string(g.members.size()),
          {{"products", g.products.size()}, {"launches", g.members.size()}, {"row", g.row.has_value()}});
    for (std::uint32_t m : g.members) uses_.forget(m), gone_[m] = true;
    l_.launches[at] = std::move(made), gone_[at] = false;
    uses_.note(at);
    for (auto& [from, rest] : g.halves) {
      uses_.forget(from);
      Launch& x = l_.launches[from];
      rest.kernel.name = x.name;
      x.what = std::move(rest);
      uses_.note(from);
    }
  }

  Lowered& l_;
  const std::string_view function_;
  std::vector<bool> gone_;
  LaunchUses uses_;
};

}  // namespace

void join_products(Lowered& l, std::string_view function, std::size_t& marked) {
  if (knobs().cuda_products != "library") ProductJoiner(l, function).run(marked);
}

void read_matrices_early(Lowered& l) {
  std::vector<bool> written(l.buffers.size());
  for (const Launch& launch : l.launches)
    for_each_use(launch, [&](std::uint32_t b, bool, bool w) { written[b] = written[b] || w; });
  for (Launch& launch : l.launches) {
    auto* gpu = std::get_if<GpuLaunch>(&launch.what);
    const auto* joined = gpu ? gpu->code.as<gpu::ProductJoined>() : nullptr;
    if (!joined) continue;
    bool early = true;
    for (std::size_t i = 0; i < gpu->buffers.size(); ++i)
      if (gpu->names[i].starts_with("products[") && gpu->names[i].ends_with(".buffer"))
        early = early && !written[gpu->buffers[i]];
    gpu::ProductJoined code = *joined;
    code.early = early;
    gpu->code = KernelCode(std::move(code));
  }
}

}  // namespace reprise::kernels
