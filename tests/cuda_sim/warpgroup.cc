#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/cuda_sim/api.h"
#include "tests/cuda_sim/execution.h"
#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/tensor.h"

/// Products of warpgroups (PTX ISA, "Asynchronous warpgroup level matrix instructions", wgmma). They happen as late as
/// the program allows, when somebody waits for them: what is read too early is a token, a quiet NaN, and what is
/// overwritten too early is multiplied as it is then. Each warp makes its own 16 of the 64 rows.
namespace sim {

namespace {

// A token: 12 bits of whose sums, 8 of which element.
constexpr std::uint32_t kToken = 0x7fe00000, kTokenMask = 0xfff00000;
constexpr std::uint32_t token(std::uint32_t sums, std::uint32_t i) { return kToken | (sums & 0xfff) << 8 | i; }

/// The sums that a register's token names, or null.
AsyncSums* sums_of(Thread& t, std::uint32_t bits) {
  if ((bits & kTokenMask) != kToken) return nullptr;
  auto found = t.sums.find(bits >> 8 & 0xfff);
  return found == t.sums.end() || (bits & 0xff) >= found->second.values.size() ? nullptr : &found->second;
}

void multiply(std::uint32_t what, std::uint32_t* sums, std::uint64_t a, std::uint64_t b, const std::uint32_t* fragment,
              std::uint32_t site) {
  Thread& t = *g_exec.current;
  const WarpgroupProduct p = WarpgroupProduct::of(what);
  const std::uint32_t n = p.columns / 2;
  std::uint32_t id = sums[0] >> 8 & 0xfff;
  if (p.fresh) {
    id = t.next_sums++ & 0xfff;
    t.sums[id] = {std::vector<std::uint32_t>(n), 0};
    for (std::uint32_t i = 0; i < n; ++i) sums[i] = token(id, i);
  } else if (sums_of(t, sums[0])) {
    for (std::uint32_t i = 0; i < n; ++i)
      if (sums[i] != token(id, i))
        refuse("wgmma: registers of sums that are still being made are mixed with others", site);
  } else {
    if (!t.products_fenced) refuse("wgmma reads registers that this thread has changed, without wgmma.fence", site);
    id = t.next_sums++ & 0xfff;
    t.sums[id] = {{sums, sums + n}, 0};
    for (std::uint32_t i = 0; i < n; ++i) sums[i] = token(id, i);
  }
  AsyncProduct product{what, site, id, a, b, {}};
  if (p.a_in_registers) {
    if (!t.products_fenced) refuse("wgmma reads registers that this thread has changed, without wgmma.fence", site);
    std::copy_n(fragment, 4, product.fragment.begin());
    for (std::uint32_t r : product.fragment)
      if (sums_of(t, r)) refuse("wgmma multiplies sums that are still being made", site);
  }
  t.open_products.push_back(product);
}

void fence() { g_exec.current->products_fenced = true; }

void commit() {
  Thread& t = *g_exec.current;
  t.product_groups.push_back(std::move(t.open_products));
  t.open_products.clear();
}

bool in_flight(const Thread& t, std::uint32_t id) {
  auto has = [&](const std::vector<AsyncProduct>& group) {
    return std::any_of(group.begin(), group.end(), [&](const AsyncProduct& p) { return p.sums == id; });
  };
  return has(t.open_products) || std::any_of(t.product_groups.begin(), t.product_groups.end(), has);
}

/// Waits, with the rest of the warp; then of `n` registers those whose sums are made get them.
void wait(std::uint32_t pending, std::uint32_t n, std::uint32_t* registers, std::uint32_t site) {
  together(kTensorOperation + kWaitForProducts + pending, ~0u, site);
  Thread& t = *g_exec.current;
  for (std::uint32_t i = 0; i < n; ++i) {
    AsyncSums* made = sums_of(t, registers[i]);
    const std::uint32_t id = registers[i] >> 8 & 0xfff;
    if (!made || in_flight(t, id)) continue;
    registers[i] = made->values[registers[i] & 0xff];
    if (++made->taken == made->values.size()) t.sums.erase(id);
  }
  t.products_fenced = false;
}

/// A matrix of shared memory that a descriptor names: lines (rows of a, columns of b) by 32 bytes of k.
class Matrix {
 public:
  Matrix(std::uint64_t descriptor, bool by_k, int bytes, std::uint32_t site)
      : start_((descriptor & 0x3fff) << 4), leading_((descriptor >> 16 & 0x3fff) << 4),
        stride_((descriptor >> 32 & 0x3fff) << 4), by_k_(by_k), bytes_(bytes), site_(site) {
    if (descriptor >> 62 != 1) refuse("wgmma: the simulator knows matrices swizzled by 128 bytes only", site);
    if (descriptor >> 49 & 7) refuse("wgmma: the simulator knows descriptors with no base offset only", site);
    if (start_ >> 7 & 7)
      refuse(cat("wgmma: the swizzled rows of a matrix begin at a multiple of 1024 bytes, not at ", hex(start_)), site);
    if (by_k && bytes != 2) refuse("wgmma: only elements of 16 bits can lie by k", site);
  }
  std::uint32_t at(int line, int k) const {
    // Eight rows of 128 bytes stand together, whose runs of 16 bytes are exchanged by the row's number.
    const std::uint64_t l = static_cast<std::uint64_t>(line), d = static_cast<std::uint64_t>(k),
                        size = static_cast<std::uint64_t>(bytes_);
    std::uint64_t p = by_k_ ? start_ + l / 64 * leading_ + d / 8 * stride_ + d % 8 * 128 + l % 64 * 2
                            : start_ + l / 8 * stride_ + l % 8 * 128 + d * size;
    if (settings().has_swizzle) p ^= p >> 3 & 0x70;
    const std::uint64_t run = p & ~std::uint64_t{15};
    if (run != run_) run_ = run, data_ = readable(g_arena.base + run, 16, site_);
    std::uint32_t bits = 0;
    std::memcpy(&bits, data_ + (p & 15), size);
    return bits;
  }

 private:
  std::uint64_t start_, leading_, stride_;
  bool by_k_;
  int bytes_;
  std::uint32_t site_;
  mutable std::uint64_t run_ = ~std::uint64_t{0};
  mutable const char* data_ = nullptr;
};

/// Product `number` of the first group, of one warp: d[16, n] += a[16, k] b[k, n]; products are exact, each sum of k is
/// rounded once.
void perform(std::size_t number, Thread* warp) {
  const auto of_lane = [&](int lane) -> const AsyncProduct& { return warp[lane].product_groups.front()[number]; };
  const AsyncProduct& first = of_lane(0);
  const WarpgroupProduct p = WarpgroupProduct::of(first.what);
  const int bytes = p.kind == Tensor::Tf32   ? 4
                    : p.kind >= Tensor::Int8 ? 1
                                             : 2,
            depth = 32 / bytes, columns = static_cast<int>(p.columns), top = static_cast<int>(warp->warp % 4) * 16;
  std::vector<double> a(static_cast<std::size_t>(16 * depth)), b(static_cast<std::size_t>(columns * depth));
  const auto at = [](int i) { return static_cast<std::size_t>(i); };
  if (p.a_in_registers) {
    const int in_register = 4 / bytes;
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r)
        for (int i = 0; i < in_register; ++i) {
          a[at((lane / 4 + r % 2 * 8) * depth + lane % 4 * in_register + i + r / 2 * depth / 2)] =
              element(p.kind, of_lane(lane).fragment[at(r)], i);
        }
  } else {
    const Matrix m(first.a, p.a_by_k, bytes, first.site);
    for (int i = 0; i < 16; ++i)
      for (int k = 0; k < depth; ++k) a[at(i * depth + k)] = element(p.kind, m.at(top + i, k), 0);
  }
  const Matrix m(first.b, p.b_by_k, bytes, first.site);
  if (p.b_by_k) {
    for (int k = 0; k < depth; ++k)
      for (int j = 0; j < columns; ++j) b[at(j * depth + k)] = element(p.b_kind, m.at(j, k), 0);
  } else {
    for (int j = 0; j < columns; ++j)
      for (int k = 0; k < depth; ++k) b[at(j * depth + k)] = element(p.b_kind, m.at(j, k), 0);
  }
  for (int lane = 0; lane < 32; ++lane) {
    std::vector<std::uint32_t>& d = warp[lane].sums.at(of_lane(lane).sums).values;
    for (int i = 0; i < columns / 2; ++i) {
      const int row = lane / 4 + i / 2 % 2 * 8, column = i / 4 * 8 + lane % 4 * 2 + i % 2;
      double sum = 0;
      for (int k = 0; k < depth; ++k) sum += a[at(row * depth + k)] * b[at(column * depth + k)];
      if (p.kind == Tensor::Int8) d[at(i)] += static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));  // wraps
      else
        d[at(i)] =
            std::bit_cast<std::uint32_t>(static_cast<float>(sum + static_cast<double>(std::bit_cast<float>(d[at(i)]))));
    }
  }
}

}  // namespace

void perform_products(std::uint32_t pending, Thread* warp) {
  for (int lane = 1; lane < 32; ++lane) {
    const Thread &one = warp[0], &other = warp[lane];
    bool alike = one.product_groups.size() == other.product_groups.size();
    for (std::size_t g = 0; alike && g < one.product_groups.size(); ++g)
      alike = std::equal(one.product_groups[g].begin(), one.product_groups[g].end(), other.product_groups[g].begin(),
                         other.product_groups[g].end(), [](const AsyncProduct& x, const AsyncProduct& y) {
                           return x.what == y.what && x.a == y.a && x.b == y.b && x.site == y.site;
                         });
    if (!alike)
      return report_kernel_error(CUDA_ERROR_LAUNCH_FAILED,
                                 "lanes of a warp have asked for different products of their warpgroup (wgmma)",
                                 other.site);
  }
  while (warp[0].product_groups.size() > pending) {
    for (std::size_t i = 0; i < warp[0].product_groups.front().size(); ++i) perform(i, warp);
    for (int lane = 0; lane < 32; ++lane) warp[lane].product_groups.erase(warp[lane].product_groups.begin());
  }
}

std::span<const RuntimeFunction> warpgroup_functions() {
  static const RuntimeFunction all[] = {{"sim_wgmma", reinterpret_cast<void*>(multiply)},
                                        {"sim_wgmma_fence", reinterpret_cast<void*>(fence)},
                                        {"sim_wgmma_commit", reinterpret_cast<void*>(commit)},
                                        {"sim_wgmma_wait", reinterpret_cast<void*>(wait)}};
  return all;
}

}  // namespace sim
