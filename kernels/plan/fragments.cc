#include "kernels/plan/fragments.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/fragment.h"
#include "kernels/plan/drop_launches.h"
#include "kernels/plan/launch_uses.h"

namespace reprise::kernels {

namespace {

constexpr std::uint32_t kNear = 16;  // how far a loop may be behind its product

class FragmentJoiner {
 public:
  explicit FragmentJoiner(Lowered& l) : l_(l), gone_(l.launches.size()), uses_(l) {}

  void run(std::size_t& marked) {
    for (std::uint32_t i = 0; i < l_.launches.size(); ++i)
      if (!gone_[i] && !l_.launches[i].in_region() && takes_fragment(l_.launches[i])) try_product(i);
    drop_launches(l_, gone_, marked);
  }

 private:
  /// The one launch that reads what launch i makes.
  std::optional<std::uint32_t> reader(std::uint32_t i) const {
    const auto& p = std::get<NativeLaunch>(l_.launches[i].what);
    std::optional<std::uint32_t> at;
    for (std::uint32_t r = 0; r < p.n_results; ++r) {
      const std::uint32_t b = p.operands[p.first_result + r].buffer;
      const std::vector<std::uint32_t>& users = uses_.users(b);
      if (l_.buffers[b].kind != Buffer::Kind::Temp || users.size() != 2 || users[0] != i || (at && users[1] != *at))
        return std::nullopt;
      at = users[1];
    }
    return at;
  }

  /// Does one of the launches between two use what launch `of` uses, and one of them writes it?
  bool meets(std::uint32_t of, std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t j = first + 1; j < last; ++j)
      if (uses_.meet(of, j)) return true;
    return false;
  }

  /// Does one of the launches between two write an argument? A product that ran behind it could fail when that is done.
  bool writes_argument(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t j = first + 1; j < last; ++j)
      for (const LaunchUses::Use& u : uses_.of(j))
        if (u.written && l_.buffers[u.buffer].kind == Buffer::Kind::Input) return true;
    return false;
  }

  void try_product(std::uint32_t i) {
    const std::optional<std::uint32_t> found = reader(i);
    if (!found || *found - i > kNear) return;
    const std::uint32_t at = *found;
    const Launch& loop = l_.launches[at];
    if (!std::holds_alternative<LoopLaunch>(loop.what) || loop.in_region()) return;
    // What is written of an argument must stay as it was if there is no room to multiply in; what the product reads is
    // read by every block.
    for (const LaunchUses::Use& u : uses_.of(at))
      if (u.written && (l_.buffers[u.buffer].kind == Buffer::Kind::Input ||
                        std::any_of(uses_.of(i).begin(), uses_.of(i).end(),
                                    [&](const LaunchUses::Use& own) { return own.buffer == u.buffer; })))
        return;
    const bool early = !meets(at, i, at);
    if (!early && writes_argument(i, at)) return;
    if ((!early && meets(i, i, at)) || !join_fragment(l_.launches[i], loop)) return;
    uses_.forget(i), uses_.forget(at);
    if (!early) l_.launches[at] = std::move(l_.launches[i]);
    gone_[early ? at : i] = true;
    uses_.note(early ? i : at);
  }

  Lowered& l_;
  std::vector<bool> gone_;
  LaunchUses uses_;
};

}  // namespace

void join_fragments(Lowered& l, std::size_t& marked) {
  if (!l.fault_record) FragmentJoiner(l).run(marked);
}

}  // namespace reprise::kernels
