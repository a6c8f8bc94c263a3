#include "autograd/node.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "autograd/tape_undo.h"
#include "base/mutex.h"
#include "graph/call_numbers.h"
#include "tensor/impl.h"

namespace reprise::autograd {

namespace {
std::atomic<std::uint64_t> g_sequence{1};
}  // namespace

Node::Node(SourceLoc l)
    : sequence(g_sequence.fetch_add(1, std::memory_order_relaxed)), loc(l), traced(graph::call_numbers.latest),
      in_trace(current_trace) {}

Node::~Node() {
  for (Edge& e : next)
    if (e.node) let_go(std::move(e.node));
}

HookList& Node::hook_list() {
  if (!hooks) hooks = std::make_shared<HookList>();
  return *hooks;
}

// What a node keeps may hold the last reference to others, and those to others again.
void let_go(std::shared_ptr<Node>&& node) noexcept {
  static thread_local std::vector<std::shared_ptr<Node>>* waiting = nullptr;
  if (node.use_count() != 1) return node.reset();
  if (waiting) {
    try {
      waiting->push_back(std::move(node));
    } catch (const std::bad_alloc&) {
      node.reset();
    }
    return;
  }
  std::vector<std::shared_ptr<Node>> all;
  waiting = &all;
  node.reset();
  while (!all.empty()) {
    std::shared_ptr<Node> last = std::move(all.back());
    all.pop_back();
    last.reset();
  }
  waiting = nullptr;
}

std::uint64_t HookList::add(Hook hook) {
  const MutexLock lock(mu_);
  hook.id = next_++;
  const auto at =
      hook.last ? hooks_.end() : std::find_if(hooks_.begin(), hooks_.end(), [](const Hook& h) { return h.last; });
  TapeUndo::note_hook(*this, hook.id);
  return hooks_.insert(at, std::move(hook))->id;
}
void HookList::remove(std::uint64_t id) {
  std::vector<Hook> gone;  // a hook's destructor may run the program's code
  const MutexLock lock(mu_);
  auto at = std::find_if(hooks_.begin(), hooks_.end(), [&](const Hook& h) { return h.id == id; });
  if (at == hooks_.end()) return;
  gone.push_back(std::move(*at));
  hooks_.erase(at);
}
std::vector<HookList::Hook> HookList::all() const {
  const MutexLock lock(mu_);
  return hooks_;
}

}  // namespace reprise::autograd
