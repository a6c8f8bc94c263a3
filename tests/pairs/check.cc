#include "tests/pairs/check.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "reprise/wrapper.h"
#include "tests/pairs/function.h"
#include "tests/random/compare.h"

namespace reprise::pairs {

namespace {

using fuzz::Seen;
using fuzz::Version;

/// Of two gradients of which one is defined.
std::string who_has_one(const Tensor& eager, const Tensor& compiled) {
  if (eager.defined()) return "only eager has one";
  const NoGradScope off;
  return std::string("only compiled has one") + ((compiled != 0.0).any().item<bool>() ? "" : ", of zeros");
}

/// One of the two functions, eager or compiled, with its state.
struct Side {
  State state;
  Generator generator{11};
  std::vector<Tensor> results;
  std::vector<Version> versions, came;  ///< of the state before the call
  std::optional<ErrorCode> error;
  std::string what;

  std::vector<Tensor> visible() const {
    std::vector<Tensor> all = results, held = state.tensors();
    all.insert(all.end(), held.begin(), held.end());
    return all;
  }
  Seen seen(bool with_versions) const {
    // What the call has made may show a part alone: each result, and what it has assigned.
    std::vector<bool> made(results.size(), true);
    for (const Tensor& t : state.tensors())
      made.push_back(
          std::none_of(came.begin(), came.end(), [&](const Version& v) { return t.shares_storage_with(v.storage); }));
    Seen s = fuzz::seen(results, state.tensors(), with_versions ? versions : std::vector<Version>{}, std::move(made));
    s.names = State::names(state);
    return s;
  }
};

std::string error_name(const std::optional<ErrorCode>& e) {
  return e ? "throws " + std::string(error_code_name(*e)) : "does not throw";
}

/// With the strides of its sizes, also in dimensions of size 1: how a gradient lies is no promise.
Tensor row_by_row(const Tensor& t) { return t.detach().flatten().view(t.sizes()); }

constexpr char kNothing[] = "nothing to derive";

class Pair {
 public:
  Pair(const Program& p, Counts& counts)
      : p_(p), counts_(counts), compiled_(p, got_.state.var, options(p), exported(p)) {}

  std::string call(const Call& c) {
    const bool again = c.again && want_.state.in.x.defined() && !is(&Setting::walks_once);
    if (!again) make_state(c, want_.state), make_state(c, got_.state), left_half_way_ = false;
    for (const Chosen& s : p_.settings)
      if (auto* f = setting(s).arguments)
        f(want_.state.in, want_.state.var, number_), f(got_.state.in, got_.state.var, number_);
    for (Side* s : {&want_, &got_}) s->versions = s->came = fuzz::versions_of(s->state.tensors());
    // A tensor that the call has made and left in a variable has counted as many writes as its making took, which
    // differs.
    constexpr std::size_t kArguments = 11;
    if (p_.has(kVariables)) want_.versions.resize(kArguments), got_.versions.resize(kArguments);
    for (const Chosen& s : p_.settings)
      if (auto* f = setting(s).before) f(compiled_, number_);
    prepared_ = is(&Setting::prepared) && prepare();
    const Stats before = compiled_.stats();
    call_side(want_, [&](const Arguments& in) { return run(p_, in, want_.state.var); });
    Beside other;
    if (p_.beside()) begin_beside(c, other);
    call_side(got_, [&](const Arguments& in) { return compiled_(in); });
    if (other.thread.joinable()) other.thread.join();
    if (std::string d = end_beside(other); !d.empty()) return "the other thread: " + d;
    ++number_;
    ++counts_.calls;
    const Stats after = compiled_.stats();
    const bool eagerly = after.calls > before.calls && after.eager_fallbacks != before.eager_fallbacks;
    counts_.compiled += !eagerly;
    if (eagerly) ++counts_.fallbacks[after.last_fallback_reason.substr(0, 90)];
    if (got_.error == ErrorCode::Sealed && prepared_) return "sealed behind warm_up(): " + got_.what;
    if (got_.error == ErrorCode::Sealed) {  // nothing was done, and no number drawn
      want_.state = State(), got_.state.in = Arguments();
      want_.generator = Generator(11), got_.generator = Generator(11);
      return "";
    }
    if (want_.error != got_.error)
      return "eager " + error_name(want_.error) + " (" + want_.what + "), compiled " + error_name(got_.error) + " (" +
             got_.what + ")";
    if (want_.error) return after_error(c, again, eagerly);
    if (std::string d = compare(!exported(p_)); !d.empty()) return d;  // (one write stands for several)
    if (want_.generator.offset() != got_.generator.offset())
      return "numbers drawn: eager " + std::to_string(want_.generator.offset()) + ", compiled " +
             std::to_string(got_.generator.offset());
    if (std::string d = is(&Setting::twice) && !exported(p_) ? derive_twice() : ""; !d.empty()) return d;
    if (std::string d = exported(p_) ? "" : derive(); !d.empty()) return d;
    if (std::string d = made_since(before); !d.empty()) return d;
    counts_.prepared += prepared_;
    return write_all(c);
  }

 private:
  static const Setting& setting(const Chosen& c) { return features()[c.feature].settings[c.setting]; }
  static bool exported(const Program& p) { return is(&Setting::exported, p); }
  static CompileOptions options(const Program& p) {
    CompileOptions o{.name = "pairs", .mode = p.mode};
    for (const Chosen& c : p.settings)
      if (auto* f = setting(c).options) f(o);
    return o;
  }

  static bool is(bool Setting::*what, const Program& p) {
    return std::any_of(p.settings.begin(), p.settings.end(), [&](const Chosen& s) { return setting(s).*what; });
  }
  bool is(bool Setting::*what) const { return is(what, p_); }

  /// Nothing is left to compile for the compiled function's next call. False: it will run eagerly, or throw.
  bool prepare() {
    compiled_.reset();
    std::vector<std::shared_ptr<void>> scopes;
    for (const Chosen& s : p_.settings)
      if (auto* f = setting(s).scope) scopes.push_back(f(number_));
    bool can = true;
    try {
      compiled_.warm_up(got_.state.in);
      compiled_.seal();
    } catch (const Error&) {
      can = false;
      compiled_.reset();
    }
    while (!scopes.empty()) scopes.pop_back();
    return can;
  }
  /// What a call and its backward have made, of which warm_up() has left nothing to make.
  std::string made_since(const Stats& before) const {
    if (!prepared_) return "";
    const Stats now = compiled_.stats();
    // Sizes of data are recorded once they are known; another thread may have evicted what was recorded.
    const bool data = compiled_.has_stages() || p_.beside();
    auto made = [&](const char* what, std::int64_t n) -> std::string {
      return n ? "behind warm_up() and seal(): " + std::to_string(n) + " " + what : "";
    };
    const auto &b = before.backward, &a = now.backward;
    std::string all = made("compilations", now.compilations - before.compilations);
    all += made("compilations of a backward", a.compilations - b.compilations);
    all += made("backwards that run eagerly", a.eager_fallbacks - b.eager_fallbacks);
    if (!data) all += made("recordings", now.recordings_made - before.recordings_made);
    if (!data) all += made("recordings of a backward", a.recordings_made - b.recordings_made);
    return all;
  }

  /// A call of another thread, with arguments of its own.
  struct Beside {
    Side want, got;
    std::thread thread;
    ~Beside() {
      if (thread.joinable()) thread.join();
    }
  };
  void begin_beside(Call c, Beside& other) {
    c.data += 1;
    for (Side* side : {&other.want, &other.got}) {
      make_state(c, side->state);
      for (const Chosen& s : p_.settings)
        if (auto* f = setting(s).arguments) f(side->state.in, side->state.var, number_);
    }
    call_here(
        other.want, [&](const Arguments& in) { return run(p_, in, other.want.state.var); }, false, number_);
    other.thread = std::thread([&, number = number_] {
      call_here(
          other.got, [&](const Arguments& in) { return compiled_(in); }, false, number);
    });
  }
  std::string end_beside(Beside& other) {
    if (!p_.beside() || other.got.error == ErrorCode::Sealed) return "";
    if (other.want.error != other.got.error)
      return "eager " + error_name(other.want.error) + " (" + other.want.what + "), compiled " +
             error_name(other.got.error) + " (" + other.got.what + ")";
    if (other.want.error) return "";
    std::swap(want_, other.want), std::swap(got_, other.got);
    std::string d = compare(false);
    if (d.empty() && !want_.state.leaves.empty() && !exported(p_)) d = derive();
    std::swap(want_, other.want), std::swap(got_, other.got);
    return d;
  }

  template <class F>
  void call_here(Side& side, F call, bool all_scopes, int number) {
    std::vector<std::shared_ptr<void>> scopes;
    const GeneratorScope drawing(side.generator);
    for (const Chosen& s : p_.settings)
      if (auto* f = setting(s).scope; f && (all_scopes || !setting(s).of_process)) scopes.push_back(f(number));
    try {
      side.results = call(side.state.in);
      for (Tensor& t : side.results)
        if (is_wrapper(t)) t = plain(t);
    } catch (const Error& e) {
      side.error = e.code(), side.what = e.what();
    }
    while (!scopes.empty()) scopes.pop_back();
  }
  template <class F>
  void call_side(Side& side, F call) {
    side.error.reset();
    side.results.clear();
    auto run = [&] { call_here(side, call, true, number_); };
    if (is(&Setting::other_thread)) std::thread(run).join();
    else run();
  }

  /// The compiled function has changed nothing.
  std::string after_error(const Call& c, bool again, bool eagerly) {
    ++counts_.refused;
    std::string d;
    if (!eagerly && !again) {
      make_state(c, want_.state);
      for (const Chosen& s : p_.settings)
        if (auto* f = setting(s).arguments) f(want_.state.in, want_.state.var, number_ - 1);
      d = compare(false);
    }
    want_.state = State(), got_.state.in = Arguments();
    // what eager execution drew before it is not undone
    want_.generator = Generator(11), got_.generator = Generator(11);
    return d.empty() ? d : "after an error: " + d;
  }

  std::string compare(bool with_versions) {
    const Seen w = want_.seen(with_versions), g = got_.seen(with_versions);
    if (std::string d = fuzz::difference(w, g, tolerance()); !d.empty() || exported(p_)) return d;
    const std::vector<Tensor> ws = want_.visible(), gs = got_.visible();
    for (std::size_t i = 0; i < ws.size(); ++i) {
      if (ws[i].requires_grad() != gs[i].requires_grad())
        return name(i) + ": only " + (ws[i].requires_grad() ? "eager" : "compiled") + " wants a gradient";
      if (ws[i].is_leaf() != gs[i].is_leaf())
        return name(i) + ": only " + (ws[i].is_leaf() ? "eager" : "compiled") + " is a leaf";
    }
    return compare_gradients();
  }

  std::string compare_gradients() {
    if (left_half_way_) return "";
    auto gradients = [](const Side& s) {
      std::vector<Tensor> all = s.state.leaves;
      const std::vector<Tensor> seen = s.visible();
      all.insert(all.end(), seen.begin(), seen.end());
      for (Tensor& t : all) t = t.grad();
      return all;
    };
    const std::vector<Tensor> w = gradients(want_), g = gradients(got_);
    const std::size_t leaves = want_.state.leaves.size();
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::string at = "gradient of " + (i < leaves ? "leaf " + std::to_string(i) : name(i - leaves)) + ": ";
      if (w[i].defined() != g[i].defined()) return at + who_has_one(w[i], g[i]);
      if (!w[i].defined()) continue;
      const NoGradScope off;
      const std::string d = fuzz::difference(fuzz::seen({row_by_row(w[i])}, {}, {}, {true}),
                                             fuzz::seen({row_by_row(g[i])}, {}, {}, {true}), tolerance_of_gradients());
      if (!d.empty()) return at + d;
    }
    return "";
  }

  std::string name(std::size_t i) const {
    return i < want_.results.size() ? "result " + std::to_string(i)
                                    : State::names(want_.state)[i - want_.results.size()];
  }
  // Of what half precision has rounded, rounding to integers makes steps of any height, and derivatives cancel.
  double tolerance() const { return !p_.has(kHalf) ? 1e-4 : p_.has(kSteps) ? 2 : 3e-2; }
  double tolerance_of_gradients() const { return std::max(tolerance(), p_.has(kHalf) ? 0.15 : 0); }

  /// Gradients of a sum of the squares of gradients, where both sides can make them: a compiled function may refuse.
  std::string derive_twice() {
    auto second = [&](Side& side, std::vector<Tensor>& found) -> std::string {
      const GeneratorScope drawing(side.generator);
      try {
        Tensor loss, squares;
        for (const Tensor& t : side.results)
          if (t.requires_grad() && t.is_floating_point()) {
            const Tensor part = t.to(kFloat32).sin().sum();
            loss = loss.defined() ? loss + part : part;
          }
        std::vector<Tensor> leaves;
        for (const Tensor& t : side.state.leaves)
          if (t.requires_grad()) leaves.push_back(t);
        if (!loss.defined() || leaves.empty()) return kNothing;
        for (const Tensor& g : grad({loss}, leaves, {}, {.create_graph = true, .allow_unused = true}))
          if (g.defined() && g.requires_grad()) {
            const Tensor part = g.to(kFloat32).square().sum();
            squares = squares.defined() ? squares + part : part;
          }
        if (!squares.defined()) return kNothing;
        found = grad({squares}, leaves, {}, {.retain_graph = true, .allow_unused = true});
      } catch (const Error& e) {
        side.what = e.what();
        return std::string(error_code_name(e.code()));
      }
      return "";
    };
    std::vector<Tensor> want, got;
    const std::string w = second(want_, want), g = second(got_, got);
    if (g != w && got_.what.find("derivative of the derivative") != std::string::npos) return "";
    if (g == error_code_name(ErrorCode::Sealed)) return "";
    if (w != g)
      return "second derivatives: eager " + (w.empty() ? "makes them" : w + " (" + want_.what + ")") + ", compiled " +
             (g.empty() ? "makes them" : g + " (" + got_.what + ")");
    if (!w.empty()) return "";
    ++counts_.derived_twice;
    for (std::size_t i = 0; i < want.size(); ++i) {
      const std::string at = "second gradient of leaf " + std::to_string(i) + ": ";
      if (want[i].defined() != got[i].defined()) return at + who_has_one(want[i], got[i]);
      if (!want[i].defined()) continue;
      const NoGradScope off;
      const std::string d =
          fuzz::difference(fuzz::seen({row_by_row(want[i])}, {}, {}, {true}),
                           fuzz::seen({row_by_row(got[i])}, {}, {}, {true}), 10 * tolerance_of_gradients());
      if (!d.empty()) return at + d;
    }
    return "";
  }

  /// Backward of a weighted sum of all that wants gradients.
  std::string derive() {
    auto walk = [&](Side& side, bool compiled) -> std::string {
      const GeneratorScope drawing(side.generator);
      try {
        Tensor loss;
        double weight = 1;
        for (const Tensor& t : side.visible()) {
          weight += 1;
          if (!t.requires_grad() || !t.is_floating_point()) continue;
          if (is(&Setting::walks_part) && (static_cast<int>(weight) + number_) % 2) continue;
          // Of every other one the gradient comes transposed.
          const bool turned = t.dim() > 1 && static_cast<int>(weight) % 2;
          const Tensor part = ((turned ? t.transpose(0, -1) : t) * weight).to(kFloat32).sum();
          loss = loss.defined() ? loss + part : part;
        }
        if (!loss.defined()) return kNothing;
        auto backward = [&] { loss.backward({}, {.retain_graph = !is(&Setting::walks_once)}); };
        if (compiled) {
          const auto on = walks_.enable();
          backward();
        } else {
          backward();
        }
      } catch (const Error& e) {
        side.what = e.what();
        return std::string(error_code_name(e.code()));
      }
      return "";
    };
    const std::string w = walk(want_, false), g = walk(got_, is(&Setting::compiled_walk));
    if (g == error_code_name(ErrorCode::Sealed) && !prepared_) {  // it has no gradients that eager execution has
      left_half_way_ = true;
      return "";
    }
    if (w != g)
      return "backward: eager " + (w.empty() ? "runs" : w + " (" + want_.what + ")") + ", compiled " +
             (g.empty() ? "runs" : g + " (" + got_.what + ")");
    counts_.derived += w.empty();
    // What a backward adds before it throws goes by the order of its nodes, which is none of a promise.
    left_half_way_ |= !w.empty() && w != kNothing;
    return compare_gradients();
  }

  std::string write_all(const Call& c) {
    const std::vector<Tensor> ws = want_.visible(), gs = got_.visible();
    // The results, and two of what else is visible.
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < want_.results.size(); ++i) which.push_back(i);
    for (unsigned j = 0; j < 2; ++j)
      which.push_back(want_.results.size() + (c.data >> (8 * j)) % 13 % (ws.size() - want_.results.size()));
    for (std::size_t i : which) {
      // That reaches views made while gradients were off.
      const bool quietly = c.data >> (i % 24) & 1 || compiled_.has_used_runtime();
      auto write = [&](Side& s, const Tensor& t) -> std::string {
        try {
          const auto off = quietly ? std::make_unique<NoGradScope>() : nullptr;
          if (t.dtype() == kBool) t.logical_not_();
          else if (!t.is_floating_point()) t.clamp_(0, 1);
          else t.mul_(2.0);
        } catch (const Error& e) {
          s.what = e.what();
          return std::string(error_code_name(e.code()));
        }
        return "";
      };
      const std::string w = write(want_, ws[i]), g = write(got_, gs[i]);
      if (w != g)
        return "a write to " + name(i) + ": eager " + (w.empty() ? "writes" : w + " (" + want_.what + ")") +
               ", compiled " + (g.empty() ? "writes" : g + " (" + got_.what + ")");
      if (!w.empty()) continue;
      ++counts_.writes;
      std::string d = compare(false);
      if (d.empty() && !want_.state.leaves.empty() && !exported(p_) && !is(&Setting::walks_once)) d = derive();
      if (!d.empty()) return "after a write to " + name(i) + ": " + d;
    }
    return "";
  }

  const Program& p_;
  Counts& counts_;
  Side want_, got_;
  CompiledAutograd walks_;
  int number_ = 0;
  bool left_half_way_ = false;  ///< a backward has thrown
  bool prepared_ = false;
  Function compiled_;
};

}  // namespace

Counts& Counts::operator+=(const Counts& o) {
  programs += o.programs, calls += o.calls, compiled += o.compiled, refused += o.refused, writes += o.writes,
      derived += o.derived, derived_twice += o.derived_twice, prepared += o.prepared;
  for (const auto& [reason, n] : o.fallbacks) fallbacks[reason] += n;
  return *this;
}

std::string check(const Program& p, const std::vector<Call>& calls, Counts& counts) {
  ++counts.programs;
  try {
    Pair pair(p, counts);
    for (std::size_t i = 0; i < calls.size(); ++i)
      if (std::string d = pair.call(calls[i]); !d.empty()) return "call " + std::to_string(i) + ": " + d;
  } catch (const std::exception& e) {
    return std::string("throws where nothing should: ") + e.what();
  }
  return "";
}

void shrink(Program& p, std::vector<Call>& calls) {
  auto fails = [](const Program& q, const std::vector<Call>& c) {
    Counts counts;
    return !check(q, c, counts).empty();
  };
  // Takes a change if some difference stays.
  auto attempt = [&](auto change) {
    Program q = p;
    std::vector<Call> c = calls;
    change(q, c);
    if (c.empty() || q.results.empty() || !fails(q, c)) return;
    p = q, calls = c;
  };
  for (std::size_t i = calls.size(); i-- > 0;)
    attempt([&](Program&, std::vector<Call>& c) { c.erase(c.begin() + static_cast<std::ptrdiff_t>(i)); });
  for (std::size_t i = p.settings.size(); i-- > 0;)
    attempt(
        [&](Program& q, std::vector<Call>&) { q.settings.erase(q.settings.begin() + static_cast<std::ptrdiff_t>(i)); });
  for (std::size_t i = p.steps.size(); i-- > 0;) {
    attempt([&](Program& q, std::vector<Call>&) { q.steps[i].row = q.steps[i].wrap = Step::kNone; });
    if (p.steps[i].wrap != Step::kNone) attempt([&](Program& q, std::vector<Call>&) { q.steps[i].wrap = Step::kNone; });
    if (p.steps[i].wrap != Step::kNone) attempt([&](Program& q, std::vector<Call>&) { q.steps[i].row = Step::kNone; });
    for (unsigned from : {0u, 2u})  // (two threads share variables, and no arguments)
      if (p.steps[i].a >= Program::kPool && !(from == 2 && p.beside()))
        attempt([&](Program& q, std::vector<Call>&) { q.steps[i].a = from; });
  }
  for (std::size_t i = p.results.size(); i-- > 0;)
    attempt(
        [&](Program& q, std::vector<Call>&) { q.results.erase(q.results.begin() + static_cast<std::ptrdiff_t>(i)); });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    attempt([&](Program&, std::vector<Call>& c) { c[i].sharing = Sharing::None; });
    attempt([&](Program&, std::vector<Call>& c) { c[i].layout = Layout::Plain; });
    attempt([&](Program&, std::vector<Call>& c) { c[i].tape = Tape::None; });
    attempt([&](Program&, std::vector<Call>& c) { c[i].n = c[i].m = 2; });
  }
}

}  // namespace reprise::pairs
