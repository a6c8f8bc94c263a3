// Memory for time: what a function's derivative needs is computed again, by running the function again.
//
// Note [Checkpoints]
// Eagerly, forward runs the function with hooks on what nodes save (saved_hooks.h): of a tensor that it makes, nothing
// is kept but a number. The first of these that backward asks for runs the function again, as the thread was set then
// and with the same random numbers, with hooks that note what the nodes would save, by number; the others are found
// there. In a trace nothing is run twice: what the rule says is noted by the number of the call (TraceTape), and the
// partition of the joint graph goes by it (partition.h).
#include <memory>
#include <unordered_map>

#include "autograd/saved_hooks.h"
#include "autograd/state.h"
#include "autograd/tape.h"
#include "autograd/trace_tape.h"
#include "base/errors.h"
#include "base/mutex.h"
#include "graph/call_numbers.h"
#include "graph/interpreter.h"
#include "graph/random_log.h"
#include "reprise/autograd.h"
#include "reprise/ops.h"

namespace reprise::autograd {

namespace {

using Function = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// What a function does depends on: of Key::Wrapper nothing, whose scopes may be gone when it runs again.
struct Settings {
  std::uint64_t word = graph::thread_state.word;
  const graph::Mode* floats = of(graph::Key::Floats);
  const graph::Mode* autocast = of(graph::Key::Autocast);
  static const graph::Mode* of(graph::Key k) { return graph::thread_state.top[static_cast<std::size_t>(k)]; }
};
class SettingsScope {
 public:
  explicit SettingsScope(const Settings& s) : before_(graph::thread_state) {
    graph::ThreadState& t = graph::thread_state;
    constexpr std::uint64_t kModes = graph::bits_of(graph::Setting::Modes);
    t.word = (s.word & ~kModes) | (t.word & kModes);
    set(t, graph::Key::Floats, s.floats), set(t, graph::Key::Autocast, s.autocast);
  }
  ~SettingsScope() {
    const std::uint64_t read = graph::thread_state.read;
    graph::thread_state = before_;
    graph::thread_state.read = read;
  }

 private:
  static void set(graph::ThreadState& t, graph::Key k, const graph::Mode* m) {
    t.top[static_cast<std::size_t>(k)] = m;
    t.modes = static_cast<graph::Keys>(m ? t.modes | graph::bit(k) : t.modes & ~graph::bit(k));
  }
  const graph::ThreadState before_;
};

/// A tensor that a node needs as it was when the node saved it.
class Kept {
 public:
  Kept() = default;
  explicit Kept(const Tensor& t) : tensor_(t), version_(t.defined() ? version_of(*t.impl()) : 0) {}
  bool defined() const { return tensor_.defined(); }
  const Tensor& get(SourceLoc loc) const {
    if (tensor_.defined() && version_of(*tensor_.impl()) != version_)
      fail(ErrorCode::InvalidArgument, "checkpoint", loc,
           "a tensor that its derivative needs was written since, in place", last_write_text(tensor_),
           "; write to a copy (clone()), or later");
    return tensor_;
  }

 private:
  Tensor tensor_;
  std::uint64_t version_ = 0;
};

/// One call, held by what its nodes have saved.
struct Checkpoint : std::enable_shared_from_this<Checkpoint> {
  Function f;
  std::vector<Tensor> inputs;
  std::vector<std::uint64_t> versions;  // of the inputs, when the function ran
  CheckpointRule rule;
  SourceLoc loc;
  Settings settings;
  graph::RandomLog random;
  std::uint64_t begun = 0;  // nodes of the function have larger sequence numbers
  std::size_t numbered = 0;
  Mutex mu;  // while it runs again
  /// What the second run has given and nobody has asked for yet.
  std::unordered_map<std::size_t, Kept> again REPRISE_GUARDED_BY(mu);

  bool is_kept(const Tensor& t) const {
    const Edge e = edge_of(t);
    // not made by the function
    if (!e || e.node->sequence < begun || dynamic_cast<const AccumulateGrad*>(e.node.get())) return true;
    const CheckpointPolicy p = rule ? rule(e.node->name()) : CheckpointPolicy::PreferRecompute;
    return p == CheckpointPolicy::MustSave || p == CheckpointPolicy::PreferSave;
  }

  Tensor take(std::size_t number) {
    const MutexLock lock(mu);
    if (!again.count(number)) run_again();
    const auto at = again.find(number);
    if (at == again.end())
      fail(ErrorCode::InvalidArgument, "checkpoint", loc, "run again, the function computes something else: tensor ",
           number, " of ", numbered, " that its derivative needs is not there");
    return at->second.get(loc);
  }

  void run_again();
};

struct Packed {
  std::shared_ptr<Checkpoint> of;
  std::size_t number = 0;
  Kept kept;  // where it is
  SourceLoc loc;
};
Tensor unpack(const SavedTensorHooks::Packed& p) {
  auto& packed = *static_cast<Packed*>(p.get());
  return packed.kept.defined() ? packed.kept.get(packed.loc) : packed.of->take(packed.number);
}

/// While it lives, nodes of this thread save so.
class Hooks {
 public:
  explicit Hooks(SavedHooks h) : mine_(std::move(h)), before_(exchange_saved_hooks(&mine_)) {}
  ~Hooks() { exchange_saved_hooks(before_); }

 private:
  const SavedHooks mine_;
  const SavedHooks* const before_;
};

std::uint64_t sequence_now() {
  struct Nothing final : Node {
    Nothing() : Node({}) {}
    std::string name() const override { return ""; }
    std::vector<Tensor> apply(std::vector<Tensor>, Needed) override { return {}; }
  };
  return Nothing().sequence;
}

void Checkpoint::run_again() {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].defined() && version_of(*inputs[i].impl()) != versions[i])
      fail(ErrorCode::InvalidArgument, "checkpoint", loc, "tensor ", i,
           " that the function was given was written since, in place", last_write_text(inputs[i]),
           ", and it is run again for its derivative");
  random.replays = true, random.next = 0;
  struct Back {
    std::uint64_t &begun, was;
    ~Back() { begun = was; }
  } back{begun, std::exchange(begun, sequence_now())};
  std::size_t next = 0;
  Hooks hooks({[&](const Tensor& without, const Tensor& t) REPRISE_REQUIRES(mu) -> SavedTensorHooks::Packed {
                 const std::size_t n = next++;
                 if (!is_kept(t)) again[n] = Kept(without);
                 return std::make_shared<Packed>(Packed{nullptr, n, Kept(without), loc});
               },
               std::make_shared<const std::function<Tensor(const SavedTensorHooks::Packed&)>>(unpack)});
  const SettingsScope set(settings);
  const EnableGradScope on;
  const graph::RandomLogScope numbers(random);
  std::vector<Tensor> own;
  for (const Tensor& t : inputs) {
    own.push_back(t.defined() ? t.detach() : Tensor());
    if (t.defined() && t.requires_grad()) own.back().requires_grad_();
  }
  f(own);
  if (next != numbered)
    fail(ErrorCode::InvalidArgument, "checkpoint", loc,
         "run again, the function computes something else: its derivative needs ", next, " tensors, and needed ",
         numbered);
}

std::vector<Tensor> run(const CheckpointRule& rule, Function f, std::vector<Tensor> inputs, SourceLoc loc) {
  if (!gradients_are_on()) return f(inputs);
  if (TraceTape* trace = TraceTape::current()) {
    const std::int32_t first = graph::call_numbers.latest + 1;
    std::vector<Tensor> made = f(inputs);
    trace->note_checkpoint({first, graph::call_numbers.latest, rule});
    return made;
  }
  auto c = std::make_shared<Checkpoint>();
  c->f = std::move(f), c->inputs = std::move(inputs), c->rule = rule, c->loc = loc;
  for (const Tensor& t : c->inputs) c->versions.push_back(t.defined() ? version_of(*t.impl()) : 0);
  c->begun = sequence_now();
  Hooks hooks({[c](const Tensor& without, const Tensor& t) -> SavedTensorHooks::Packed {
                 const std::size_t n = c->numbered++;
                 if (c->is_kept(t)) return std::make_shared<Packed>(Packed{nullptr, n, Kept(without), c->loc});
                 return std::make_shared<Packed>(Packed{c, n, Kept(), c->loc});
               },
               std::make_shared<const std::function<Tensor(const SavedTensorHooks::Packed&)>>(unpack)});
  const graph::RandomLogScope numbers(c->random);
  return c->f(c->inputs);
}

}  // namespace

}  // namespace reprise::autograd

namespace reprise {

std::vector<Tensor> detail::checkpoint(const CheckpointRule& rule,
                                       std::function<std::vector<Tensor>(const std::vector<Tensor>&)> f,
                                       std::vector<Tensor> inputs, SourceLoc loc) {
  return autograd::run(rule, std::move(f), std::move(inputs), loc);
}

}  // namespace reprise
