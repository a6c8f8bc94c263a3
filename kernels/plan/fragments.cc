#include "kernels/plan/fragments.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/cpu/fragment.h"
#include "kernels/plan/drop_launches.h"

namespace reprise::kernels {

namespace {

constexpr std::uint32_t kNear = 16;  // how far a loop may be behind its product

struct Use {
  std::uint32_t buffer;
  bool read, written;
};

class FragmentJoiner {
 public:
  explicit FragmentJoiner(Lowered& l) : l_(l), gone_(l.launches.size()), uses_(l.launches.size()), users_(l.buffers.size()) {
    for (std::uint32_t i = 0; i < l.launches.size(); ++i) note(i);
  }

  void run(std::size_t& marked) {
    for (std::uint32_t i = 0; i < l_.launches.size(); ++i)
      if (!gone_[i] && l_.launches[i].when.empty() && takes_fragment(l_.launches[i])) try_product(i);
    drop_launches(l_, gone_, marked);
  }

 private:
  void note(std::uint32_t i) {
    uses_[i].clear();
    for_each_use(l_.launches[i], [&](std::uint32_t b, bool read, bool written) {
      uses_[i].push_back({b, read, written});
      std::vector<std::uint32_t>& users = users_[b];
      if (const auto at = std::lower_bound(users.begin(), users.end(), i); at == users.end() || *at != i) users.insert(at, i);
    });
  }
  void forget(std::uint32_t i) {
    for (const Use& u : uses_[i]) {
      std::vector<std::uint32_t>& users = users_[u.buffer];
      if (const auto at = std::lower_bound(users.begin(), users.end(), i); at != users.end() && *at == i) users.erase(at);
    }
    uses_[i].clear();
  }

  /// The one launch that reads what launch i makes.
  std::optional<std::uint32_t> reader(std::uint32_t i) const {
    const auto& p = std::get<NativeLaunch>(l_.launches[i].what);
    std::optional<std::uint32_t> at;
    for (std::uint32_t r = 0; r < p.n_results; ++r) {
      const std::uint32_t b = p.operands[p.first_result + r].buffer;
      const std::vector<std::uint32_t>& users = users_[b];
      if (l_.buffers[b].kind != Buffer::Kind::Temp || users.size() != 2 || users[0] != i || (at && users[1] != *at)) return std::nullopt;
      at = users[1];
    }
    return at;
  }

  /// Does one of the launches between two use what launch `of` uses, and one of them writes it?
  bool meets(std::uint32_t of, std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t j = first + 1; j < last; ++j)
      for (const Use& u : uses_[j])
        for (const Use& own : uses_[of])
          if (u.buffer == own.buffer && (u.written || own.written)) return true;
    return false;
  }

  /// Does one of the launches between two write an argument? A product that ran behind it could fail when that is done.
  bool writes_argument(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t j = first + 1; j < last; ++j)
      for (const Use& u : uses_[j])
        if (u.written && l_.buffers[u.buffer].kind == Buffer::Kind::Input) return true;
    return false;
  }

  void try_product(std::uint32_t i) {
    const std::optional<std::uint32_t> found = reader(i);
    if (!found || *found - i > kNear) return;
    const std::uint32_t at = *found;
    const Launch& loop = l_.launches[at];
    if (!std::holds_alternative<LoopLaunch>(loop.what) || !loop.when.empty()) return;
    // What is written of an argument must stay as it was if there is no room to multiply in; what the product reads is read by every block.
    for (const Use& u : uses_[at])
      if (u.written && (l_.buffers[u.buffer].kind == Buffer::Kind::Input ||
                        std::any_of(uses_[i].begin(), uses_[i].end(), [&](const Use& own) { return own.buffer == u.buffer; })))
        return;
    const bool early = !meets(at, i, at);
    if (!early && writes_argument(i, at)) return;
    if ((!early && meets(i, i, at)) || !join_fragment(l_.launches[i], loop)) return;
    forget(i), forget(at);
    if (!early) l_.launches[at] = std::move(l_.launches[i]);
    gone_[early ? at : i] = true;
    note(early ? i : at);
  }

  Lowered& l_;
  std::vector<bool> gone_;
  std::vector<std::vector<Use>> uses_;              // by launch
  std::vector<std::vector<std::uint32_t>> users_;   // by buffer: launches, in order
};

}  // namespace

void join_fragments(Lowered& l, std::size_t& marked) {
  if (!l.fault_record) FragmentJoiner(l).run(marked);
}

}  // namespace reprise::kernels
