#include "runtime/replay/program.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/bail.h"
#include "base/errors.h"
#include "base/hash.h"
#include "base/knobs.h"
#include "device/backend.h"
#include "graph/view_column.h"
#include "kernels/gpu/launches.h"
#include "kernels/loop/analysis.h"
#include "kernels/plan/temp_plan.h"
#include "kernels/reference/undeclared_writes.h"
#include "passes/pass.h"
#include "reprise/compile.h"
#include "runtime/replay/profile.h"
#include "runtime/replay/warpgroup_trial.h"
#include "runtime/trace/tracer.h"

namespace reprise::runtime {

namespace {

struct HashOfSizes {
  std::size_t operator()(const Ints* sizes) const {
    std::uint64_t h = kHashSeed;
    for (Int s : *sizes)
      h = hash_mix(h,
                   s.is_symbolic() ? reinterpret_cast<std::uintptr_t>(s.expr()) : static_cast<std::uint64_t>(s.hint()));
    return h;
  }
};
struct SameSizes {
  bool operator()(const Ints* a, const Ints* b) const {
    return std::equal(a->begin(), a->end(), b->begin(), b->end(), [](Int x, Int y) { return identical(x, y); });
  }
};

class Builder {
 public:
  Builder(Program& p, const std::vector<std::pair<std::uint32_t, Int>>& floats, Makers makers)
      : p_(p), floats_(floats) {
    if (!device::runs_host_code(p.device)) target_ = code_target(p.device, p.lowered.launches);
    code_ = compile_launches(p.lowered.launches, target_, makers);
  }

  /// Of what a recording is made for: on devices, all that is no word.
  Slot fixed(Int i) {
    if (!target_.arch.empty()) fixed_.add(i);
    return slot(i);
  }
  Slot slot(Int i) {
    const Slot s{p_.exprs.add(i)};
    if (i.is_symbolic() && i.expr()->is_float()) computed_.emplace(s, i);
    return s;
  }
  std::vector<Slot> slots(const Ints& list) {
    std::vector<Slot> out;
    for (Int i : list) out.push_back(slot(i));
    return out;
  }
  void fix(const Layout& l) {
    for (Int i : l.sizes) fixed(i);
    for (Int i : l.strides) fixed(i);
    fixed(l.offset);
  }
  SlotLayout layout(const Layout& l) { return {slots(l.sizes), slots(l.strides), slot(l.offset)}; }

  void add(const kernels::LoopLaunch& l, std::uint32_t launch) {
    if (jit::GpuKernelPtr code = std::move(code_[launch].gpu)) {
      Program::GpuStep step;
      step.launch = launch;
      step.image = code->image;
      step.loop = std::move(code);
      step.buffers = l.buffers;
      const std::vector<Int> params = kernels::runtime_params(l.kernel);
      const std::size_t numbers = params.size() - static_cast<std::size_t>(kernels::param_slots(l.kernel).floats);
      for (std::size_t i = numbers; i < params.size(); ++i) step.buffers.push_back(float_cell(params[i]));
      if (kernels::grid_moves(l.kernel)) step.words.push_back(grid_cell(l.kernel.extents));
      for (std::size_t i = 0; i < numbers; ++i) {
        step.params.push_back(slot(params[i]));
        step.words.push_back(cell({std::nullopt, step.params.back()}));
      }
      return add_gpu(std::move(step));
    }
    Program::LoopStep step;
    jit::CodePtr code = std::move(code_[launch].loop);
    step.fn = code->loop();
    p_.code.push_back(std::move(code));
    step.launch = launch;
    step.first_param = static_cast<std::uint32_t>(p_.param_slots.size());
    for (Int i : kernels::runtime_params(l.kernel)) p_.param_slots.push_back(fixed(i));
    step.tasks = fixed(kernels::task_count(l.kernel));
    // a scatter's places are no value, whose sizes would be checked
    p_.exprs.must_fit(static_cast<std::uint32_t>(step.tasks));
    step.work = slot(kernels::work_per_task(l.kernel));
    step.n_pointers = static_cast<std::uint32_t>(l.buffers.size());
    step.first_pointer = take(p_.n_pointers, l.buffers.size());
    p_.pointer_buffers.insert(p_.pointer_buffers.end(), l.buffers.begin(), l.buffers.end());
    p_.steps.push_back(step);
  }

  void add(const kernels::GpuLaunch& g, std::uint32_t launch) {
    Program::GpuStep step;
    step.launch = launch;
    step.image = std::move(code_[launch].image);
    step.buffers = g.buffers;
    const std::vector<bool> words = kernels::words_of(g);
    if (words[0]) step.words.push_back(grid_cell({g.blocks}));
    for (std::size_t i = 0; i < g.ints.size(); ++i) {
      step.params.push_back(slot(g.ints[i]));
      if (words[i + 1]) step.words.push_back(cell({std::nullopt, step.params.back()}));
      else step.plain.push_back(step.params.back());
    }
    step.blocks = slot(g.blocks), step.most = slot(g.most);
    if (const std::optional<kernels::ValueCheck>& check = p_.lowered.launches[launch].check)
      step.check = {fixed(numel(check->sizes)), fixed(check->extent), slots(check->sizes)};
    // A library's kernel knows nothing of guards, nor of words.
    if (g.product && !guard_of(launch)) step.product = g.product->map<Slot>([&](Int i) { return fixed(i); });
    step.alternative = g.alternative;
    add_gpu(std::move(step));
  }

  void add(const kernels::NativeLaunch& n, std::uint32_t launch) {
    Program::NativeStep step;
    step.launch = launch;
    for (const kernels::Operand& o : n.operands) {
      REPRISE_CHECK(o.layout.dim() <= kMaxRank);
      fix(o.layout);
      step.views.push_back({o.buffer, layout(o.layout)});
      p_.view_places.push_back({o.buffer, step.views.back().layout.offset, item_size(o.dtype)});
    }
    for (Int i : n.ints) step.ints.push_back(fixed(i));
    for (const Scalar& s : n.numbers) step.numbers.push_back(fixed(s.word()));
    for (jit::CodePtr& code : code_[launch].micro) {
      step.micro.push_back(code->entry);
      p_.code.push_back(std::move(code));
    }
    step.n_views = static_cast<std::uint32_t>(step.views.size());
    step.fn = n.fn;
    // `n` stays where it is with the program's launches, and so does what its vectors hold when the program is moved.
    step.call = {nullptr,        n.args.data(),    nullptr,
                 nullptr,        n.strings.data(), static_cast<std::uint32_t>(n.args.size()),
                 n.first_result, n.n_results,      step.micro.data(),
                 nullptr,        n.has_workspace};
    const kernels::Launch& of = p_.lowered.launches[launch];
    if (const graph::OpDef* def = graph::find_op(of.op.empty() ? of.name : of.op);
        def && kernels::UndeclaredWrites::asked(*def))
      step.watched = def;
    step.first_view = take(p_.n_views, step.views.size());
    step.first_int = take(p_.n_ints, step.ints.size());
    step.first_number = take(p_.n_numbers, step.numbers.size());
    if (n.captured && !target_.arch.empty()) p_.steps.push_back(static_cast<Program::CapturedId>(p_.natives.size()));
    else p_.steps.push_back(static_cast<Program::NativeId>(p_.natives.size()));
    p_.natives.push_back(std::move(step));
  }

  /// Which steps run only where a value says so. There is one step for each launch.
  void add_conditions() {
    const std::vector<kernels::Launch>& launches = p_.lowered.launches;
    if (std::all_of(launches.begin(), launches.end(), [](const kernels::Launch& l) { return l.when.empty(); })) return;
    REPRISE_CHECK(device::runs_host_code(p_.device) && p_.steps.size() == launches.size());
    for (const kernels::Launch& l : launches) {
      p_.first_condition.push_back(static_cast<std::uint32_t>(p_.conditions.size()));
      for (const kernels::Condition& c : l.when) p_.conditions.push_back({c.buffer, slot(c.offset), c.wanted});
    }
    p_.first_condition.push_back(static_cast<std::uint32_t>(p_.conditions.size()));
  }

  void add_repeats() {
    const kernels::Lowered& l = p_.lowered;
    const auto ranges = kernels::repeat_ranges(l);
    std::vector<std::size_t> order;
    for (std::size_t r = 0; r < ranges.size(); ++r)
      if (ranges[r].second > 0) order.push_back(r);
    if (order.empty()) return;
    REPRISE_CHECK(device::runs_host_code(p_.device) && p_.steps.size() == l.launches.size());
    auto depth = [&](std::size_t r) {
      const std::vector<std::uint32_t>& in = l.launches[ranges[r].first].repeats;
      return std::find(in.begin(), in.end(), static_cast<std::uint32_t>(r)) - in.begin();
    };
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      if (ranges[a].first != ranges[b].first) return ranges[a].first < ranges[b].first;
      return depth(a) < depth(b);
    });
    for (std::size_t r : order) {
      const kernels::Repeat& x = l.repeats[r];
      Program::Repeat made{ranges[r].first,
                           ranges[r].second,
                           0,
                           fixed(x.count),
                           {},
                           x.swaps,
                           x.decided,
                           x.loc,
                           conditions_of_all(ranges[r].first, ranges[r].second)};
      for (const kernels::Repeat::Window& w : x.windows)
        made.windows.push_back(
            {w.buffer, w.of, fixed(w.offset), fixed(w.stride), item_size(l.buffers[w.buffer].dtype)});
      p_.repeats.push_back(std::move(made));
    }
    for (std::size_t i = 0; i < p_.repeats.size(); ++i) {
      std::size_t next = i + 1;
      while (next < p_.repeats.size() && p_.repeats[next].first < p_.repeats[i].end) ++next;
      p_.repeats[i].next = static_cast<std::uint32_t>(next);
    }
  }

  /// How many conditions steps have in common, the first ones.
  std::uint32_t conditions_of_all(std::uint32_t first, std::uint32_t end) const {
    if (p_.first_condition.empty()) return 0;
    const auto begin = [&](std::uint32_t step) { return p_.conditions.begin() + p_.first_condition[step]; };
    auto common = begin(first + 1) - begin(first);
    for (std::uint32_t step = first + 1; step < end; ++step) {
      common = std::min(common, begin(step + 1) - begin(step));
      const auto differ =
          std::mismatch(begin(first), begin(first) + common, begin(step), [](const auto& a, const auto& b) {
            return a.buffer == b.buffer && a.offset == b.offset && a.wanted == b.wanted;
          });
      common = differ.first - begin(first);
    }
    return static_cast<std::uint32_t>(common);
  }

  /// Sizes that the call's numbers make may be more than memory addresses: products of them must not wrap. The elements
  /// of arguments have been counted, and what has the sizes of a value before it needs no check of its own. `made`:
  /// values of the traced program, which passes may have removed. Numbers that nothing else reads are left out: they
  /// would ask for recordings of their own.
  void add_size_checks(const std::vector<MadeSizes>& made) {
    const graph::Graph& g = p_.graph;
    std::unordered_map<const Ints*, std::int64_t, HashOfSizes, SameSizes>
        known;  // sizes, and the item size that they are known to fit
    auto check = [&](const Ints& sizes, std::int64_t item, std::string_view op) {
      if (std::none_of(sizes.begin(), sizes.end(), [](Int s) { return s.is_symbolic(); })) return;
      auto [it, is_new] = known.try_emplace(&sizes, item);
      if (!is_new && item <= it->second) return;
      it->second = item;
      p_.exprs.add_size_check(sizes, item, std::string(op));
    };
    for (const graph::InputSpec& i : g.inputs) known.try_emplace(&g.meta(i.value).layout.sizes, 1);
    const std::vector<std::uint32_t> read = made.empty() ? std::vector<std::uint32_t>() : p_.exprs.words();
    for (const MadeSizes& m : made) {
      guards::ExprProgram alone;
      for (Int s : m.sizes) alone.add(s);
      const std::vector<std::uint32_t> words = alone.words();
      if (std::includes(read.begin(), read.end(), words.begin(), words.end())) check(m.sizes, m.item_size, m.op);
    }
    auto nodes = [&](const graph::Graph& g, auto& nodes) -> void {
      for (const graph::Node& n : g.nodes) {
        for (const graph::NodeArg& a : n.args)
          if (const auto* region = std::get_if<graph::Region>(&a)) nodes(**region, nodes);
        for (graph::ValueId r : n.results) {
          const graph::OpDef& op = graph::op(n.op);
          check(g.meta(r).layout.sizes, op.cls == graph::OpClass::View ? 1 : item_size(g.meta(r).dtype), op.name());
        }
      }
      for (const graph::Node& n : g.nodes) {
        if (!graph::names_places(n.op)) continue;
        const std::string name(graph::op(n.op).name());
        const Int have = numel(g.meta(std::get<graph::ValueId>(n.args[0])).layout.sizes);
        if (graph::op(n.op).cls == graph::OpClass::View) {
          const Layout& l = g.meta(n.results[0]).layout;
          p_.exprs.add_reach_check(l.sizes, l.strides, l.offset, have, name);
        } else if (std::holds_alternative<Int>(n.args[4])) {
          p_.exprs.add_reach_check(std::get<Ints>(n.args[2]), std::get<Ints>(n.args[3]), std::get<Int>(n.args[4]), have,
                                   name);
        }
      }
    };
    nodes(g, nodes);
    for (const graph::OutputSpec& o : g.outputs) check(o.layout.sizes, 1, "view");
    for (const graph::MetadataMutation& m : g.metadata_mutations) check(m.layout.sizes, 1, "view");
  }

  /// Which native steps each slot decides about.
  void add_natives_of() {
    p_.natives_of.resize(p_.exprs.size());
    for (std::uint32_t i = 0; i < p_.natives.size(); ++i) {
      const Program::NativeStep& step = p_.natives[i];
      auto decides = [&, id = static_cast<Program::NativeId>(i)](const std::vector<Slot>& slots) {
        for (Slot s : slots) {
          std::vector<Program::NativeId>& its = p_.natives_of[static_cast<std::uint32_t>(s)];
          if (its.empty() || its.back() != id) its.push_back(id);
        }
      };
      for (const Program::NativeStep::View& v : step.views) decides(v.layout.sizes), decides(v.layout.strides);
      decides(step.ints), decides(step.numbers);
    }
  }

  /// Where float arguments are read.
  void add_floats(const std::vector<std::pair<std::uint32_t, Int>>& floats) {
    const std::vector<std::uint32_t> words = p_.exprs.words();
    auto add = [&](std::uint32_t word, std::optional<std::uint32_t> computed, Slot s) {
      Program::FloatWord f{word, computed, {}, {}, {}};
      for (std::uint32_t i = 0; i < p_.param_slots.size(); ++i)
        if (p_.param_slots[i] == s) f.params.push_back(i);
      for (const Program::NativeStep& step : p_.natives)
        for (std::uint32_t i = 0; i < step.numbers.size(); ++i)
          if (step.numbers[i] == s) f.numbers.push_back(step.first_number + i);
      for (std::uint32_t i = 0; i < p_.int_results.size(); ++i)
        if (p_.int_results[i] == s) f.results.push_back(i);
      p_.floats.push_back(std::move(f));
    };
    std::vector<std::uint32_t> read;  // words
    for (auto [word, symbol] : floats) {
      if (!std::binary_search(words.begin(), words.end(), word)) continue;
      add(word, std::nullopt, slot(symbol));
      read.push_back(word);
    }
    // What is computed of them is as new in each call as they are.
    for (const auto& [s, bits] : computed_) {
      guards::ExprProgram alone;
      alone.add(bits);
      const std::vector<std::uint32_t> of = alone.words();
      if (std::any_of(of.begin(), of.end(),
                      [&](std::uint32_t w) { return std::find(read.begin(), read.end(), w) != read.end(); }))
        add(0, p_.float_exprs.add(bits), s);
    }
  }

  /// What a replay has to fill in, when all steps are there.
  void add_places() {
    using Kind = kernels::Buffer::Kind;
    const kernels::Lowered& l = p_.lowered;
    std::vector<bool> read(l.buffers.size(), p_.copies_inside);  // a device's kernels have tables of their own
    for (std::uint32_t b : p_.pointer_buffers) read[b] = true;
    for (const Program::ViewPlace& v : p_.view_places) read[v.buffer] = true;
    for (const Program::Condition& c : p_.conditions) read[c.buffer] = true;
    for (const Program::Repeat& r : p_.repeats)
      for (const Program::Repeat::Window& w : r.windows) read[w.of] = true;
    for (const kernels::Lowered::Out& o : l.outputs)
      if (o.buffer >= 0) read[static_cast<std::size_t>(o.buffer)] = true;
    for (std::uint32_t b = 0; b < l.buffers.size(); ++b) switch (l.buffers[b].kind) {
        case Kind::Input:
          if (read[b]) p_.inputs_read.push_back({b, l.buffers[b].index});
          break;
        case Kind::Output: p_.outputs_made.push_back({b, l.buffers[b].index}); break;
        case Kind::Temp: p_.temps.push_back(b); break;
        case Kind::Window: break;  // has its address from another one
      }
    const graph::Graph& g = p_.graph;
    p_.has_epilogue = !g.metadata_mutations.empty();
    p_.gives_away = std::all_of(g.metadata_mutations.begin(), g.metadata_mutations.end(),
                                [](const graph::MetadataMutation& m) { return m.from_output < 0; });
    std::vector<bool> taken(l.buffers.size());
    for (std::size_t i = 0; i < g.outputs.size(); ++i) {
      const graph::OutputSpec::Kind kind = g.outputs[i].kind;
      p_.has_epilogue |= kind == graph::OutputSpec::Kind::NewValueOfInput;
      p_.gives_away &= kind != graph::OutputSpec::Kind::AliasOfOutput;
      if (l.outputs[i].buffer < 0) continue;
      const auto b = static_cast<std::size_t>(l.outputs[i].buffer);
      p_.gives_away &= !taken[b];
      taken[b] = true;
    }
  }

  /// What recordings are made for, and what they leave to words. When all slots are there.
  void add_key() {
    auto of_call = [&](std::uint32_t w) {
      return std::find(p_.random_words.begin(), p_.random_words.end(), w) == p_.random_words.end() &&
             std::none_of(p_.floats.begin(), p_.floats.end(),
                          [&](const auto& f) { return !f.computed && f.word == w; });
    };
    const std::vector<std::uint32_t> all = p_.exprs.words(), fixed = target_.arch.empty() ? all : fixed_.words();
    for (std::uint32_t w : all) {
      if (!of_call(w)) continue;
      (std::binary_search(fixed.begin(), fixed.end(), w) ? p_.key_words : p_.moving_words).push_back(w);
    }
    if (p_.moving_words.empty()) return;
    auto moves = [&](const Ints& of) {
      guards::ExprProgram alone;
      for (Int i : of) alone.add(i);
      const std::vector<std::uint32_t> words = alone.words();
      return std::any_of(words.begin(), words.end(), [&](std::uint32_t w) {
        return std::binary_search(p_.moving_words.begin(), p_.moving_words.end(), w);
      });
    };
    for (const auto& [step, of] : grids_) {
      if (!moves(of)) continue;
      p_.gpu_steps[step].bound = static_cast<std::int32_t>(p_.bounded_grids.size());
      p_.bounded_grids.push_back(static_cast<Program::GpuId>(step));
    }
    p_.buffer_bound.assign(p_.lowered.buffers.size(), -1);
    for (std::uint32_t b : p_.temps) {
      if (!moves({p_.lowered.buffers[b].bytes})) continue;
      p_.buffer_bound[b] = static_cast<std::int32_t>(p_.bounded_grids.size() + p_.bounded_buffers.size());
      p_.bounded_buffers.push_back(b);
    }
  }

  /// Which buffers each step touches, and how.
  void add_uses() {
    std::vector<bool> stored(p_.lowered.buffers.size());
    for (std::size_t b = 0; b < stored.size(); ++b)
      stored[b] = p_.lowered.buffers[b].kind == kernels::Buffer::Kind::Input;
    for (const kernels::Launch& launch : p_.lowered.launches) {
      std::vector<Program::Use> uses;
      kernels::for_each_use(launch, [&](std::uint32_t b, bool read, bool written) {
        auto it = std::find_if(uses.begin(), uses.end(), [&](const Program::Use& u) { return u.buffer == b; });
        if (it == uses.end()) it = uses.insert(it, {b, false, false, !stored[b]});
        it->read |= read;
        it->written |= written;
      });
      for (const Program::Use& u : uses)
        if (u.written) stored[u.buffer] = true;
      p_.uses.push_back(std::move(uses));
    }
  }

 private:
  std::uint32_t cell(const Program::WordCell& c) {
    const std::uint64_t key =
        hash_mix(hash_mix(hash_mix(kHashSeed, c.word ? *c.word + 1 : 0), static_cast<std::uint64_t>(c.slot)),
                 static_cast<std::uint64_t>(c.grid));
    auto [at, end] = cells_.equal_range(key);
    while (at != end && !(p_.word_cells[at->second] == c)) ++at;
    if (at == end)
      at = cells_.emplace(key, static_cast<std::uint32_t>(p_.word_cells.size())), p_.word_cells.push_back(c);
    return static_cast<std::uint32_t>(p_.workspace_cell() + 1) + at->second;
  }
  /// The cell of how many blocks the next of gpu_steps has, which these numbers decide.
  std::uint32_t grid_cell(const Ints& of) {
    grids_.emplace_back(static_cast<std::uint32_t>(p_.gpu_steps.size()), of);
    return cell({std::nullopt, Slot{}, static_cast<std::int32_t>(p_.gpu_steps.size())});
  }
  /// The cell of a float, given as its bits.
  std::uint32_t float_cell(Int bits) {
    Program::WordCell made;
    for (auto [word, symbol] : floats_)
      if (identical(symbol, bits)) made.word = word;
    if (!made.word) made.slot = slot(bits);
    return cell(made);
  }
  const std::optional<std::uint32_t>& guard_of(std::uint32_t launch) const { return p_.lowered.launches[launch].guard; }

  void add_gpu(Program::GpuStep step) {
    if (guard_of(step.launch)) step.buffers.push_back(*guard_of(step.launch));
    p_.steps.push_back(static_cast<Program::GpuId>(p_.gpu_steps.size()));
    p_.gpu_steps.push_back(std::move(step));
  }
  static std::uint32_t take(std::uint32_t& total, std::size_t n) {
    return std::exchange(total, total + static_cast<std::uint32_t>(n));
  }

  device::CodeTarget target_;
  guards::ExprProgram fixed_;
  // of gpu_steps with a word for their grid: what decides about it
  std::vector<std::pair<std::uint32_t, Ints>> grids_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> cells_;  // of word_cells, by hash
  std::vector<LaunchCode> code_;                                 // by launch; taken by add()
  std::map<Slot, Int> computed_;                                 // doubles
  Program& p_;
  const std::vector<std::pair<std::uint32_t, Int>>& floats_;
};

/// The device that a graph's work happens on: that of its tensors. 0-dim tensors of the host may go along anywhere, as
/// arguments and as values on the way.
Device device_of(const graph::Graph& g) {
  std::optional<Device> device;
  auto see = [&](const graph::Graph& of, graph::ValueId v, bool stays) {
    const TensorMeta& m = of.meta(v);
    if (!stays && m.dim() == 0 && device::runs_host_code(m.device)) return;
    if (!device) device = m.device;
    if (*device != m.device)
      bail(Bail::several_devices, "compile", {}, "the function works on ", device->str(), " and on ", m.device.str(),
           ": such a function runs operator by operator");
  };
  for (const graph::InputSpec& i : g.inputs) see(g, i.value, i.mutates_data);
  auto inside = [&](const graph::Graph& region, auto& inside) -> void {
    for (const graph::Node& n : region.nodes) {
      for (graph::ValueId r : n.results) see(region, r, false);
      for (const graph::NodeArg& a : n.args)
        if (const auto* r = std::get_if<graph::Region>(&a)) inside(**r, inside);
    }
  };
  inside(g, inside);
  for (const graph::OutputSpec& o : g.outputs)
    if (o.value) see(g, o.value, o.kind != graph::OutputSpec::Kind::AliasOfInput);
  return device.value_or(Device::cpu());
}

}  // namespace

kernels::Work Program::work_of(std::uint32_t launch, SlotValues slots) const {
  return kernels::work_of(lowered.launches[launch], graph, [&](const Int& i) -> std::int64_t {
    if (!i.is_symbolic()) return i.hint();
    const std::optional<std::uint32_t> at = exprs.find(i.expr());
    return at ? slots[Slot{*at}] : i.hint();
  });
}

std::int64_t Program::blocks_of(const GpuStep& s, SlotValues slots) const {
  if (!s.loop) return slots[s.blocks];
  constexpr std::size_t kUsual = 64;
  std::int64_t few[kUsual];
  std::vector<std::int64_t> many(s.params.size() > kUsual ? s.params.size() : 0);
  std::int64_t* params = many.empty() ? few : many.data();
  for (std::size_t i = 0; i < s.params.size(); ++i) params[i] = slots[s.params[i]];
  return s.loop->grid(params).x;
}

namespace {

/// Up to an eighth more than n; less than that by powers of two, from `least` on.
std::int64_t class_of(std::int64_t n, std::int64_t least, std::int64_t coarse) {
  if (n <= 0) return 0;
  if (n <= least) return least;
  const std::int64_t unit =
      static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(n))) / (n <= coarse ? 1 : 16);
  return n > INT64_MAX - unit ? n : (n + unit - 1) / unit * unit;
}

}  // namespace

// Grids and temporaries that are small are of one class: blocks with nothing to do end at once. Where a launch says how
// many it has for all sizes that matter, that many are one (kernels/gpu/attention.cc: few rows, and any length).
std::vector<std::int64_t> Program::bounds(SlotValues slots) const {
  constexpr std::int64_t kFewOfLoop = 64, kFewOfKind = 640, kManyBlocks = 1 << 15, kFewBytes = 64 << 10,
                         kManyBytes = 1 << 20;
  std::vector<std::int64_t> all;
  all.reserve(bounded_grids.size() + bounded_buffers.size());
  for (GpuId g : bounded_grids) {
    const GpuStep& s = gpu_step(g);
    const std::int64_t blocks = blocks_of(s, slots), most = s.loop || blocks == 0 ? 0 : slots[s.most];
    all.push_back(
        std::max(blocks, std::min<std::int64_t>(most ? class_of(std::max(blocks, most), 1, kManyBlocks)
                                                     : class_of(blocks, s.loop ? kFewOfLoop : kFewOfKind, kManyBlocks),
                                                INT32_MAX)));
  }
  for (std::uint32_t b : bounded_buffers) all.push_back(class_of(slots[buffer_bytes[b]], kFewBytes, kManyBytes));
  return all;
}

kernels::Lowered lower_graph(graph::Graph& graph, kernels::Mode mode) {
  const Device device = device_of(graph);
  const bool host = device::runs_host_code(device);
  const auto style = host                                            ? kernels::LaunchStyle::Calls
                     : device::backend(device).target().arch.empty() ? kernels::LaunchStyle::Apart
                                                                     : kernels::LaunchStyle::Gpu;
  if (!host && passes::inline_regions(graph) && knobs().verify >= 1) graph::verify(graph, "inline_regions");
  return kernels::lower(graph, mode, style);
}

namespace {
std::vector<std::uint32_t> random_words_of(const graph::Graph& g, bool own) {
  std::vector<std::uint32_t> words;
  if (own) words = {detail::kSeedValue, detail::kOffsetValue};
  for (const graph::NumberInput& n : g.numbers)
    if (n.kind == graph::NumberInput::Kind::Seed || n.kind == graph::NumberInput::Kind::Offset)
      if (const std::uint32_t w = g.env->symbols()[n.symbol].source.word;
          std::find(words.begin(), words.end(), w) == words.end())
        words.push_back(w);
  return words;
}
}  // namespace

Program build_program(graph::Graph graph, kernels::Lowered lowered, const std::vector<Int>& int_results,
                      const std::vector<std::pair<std::uint32_t, Int>>& floats, bool uses_random, Int random_count,
                      Makers makers, const std::vector<MadeSizes>& made) {
  Program p;
  p.profile = std::make_shared<Profile>();
  p.device = device_of(graph);
  bool host = device::runs_host_code(p.device);
  p.lowered = std::move(lowered);
  p.copies_inside = !host;
  p.graph = std::move(graph);
  Builder b(p, floats, makers);
  for (std::uint32_t i = 0; i < p.lowered.launches.size(); ++i)
    std::visit([&](const auto& what) { b.add(what, i); }, p.lowered.launches[i].what);
  b.add_conditions();
  b.add_repeats();
  if (!host) b.add_uses();
  p.input_buffer.assign(p.graph.inputs.size(), -1);
  for (std::size_t i = 0; i < p.lowered.buffers.size(); ++i)
    if (p.lowered.buffers[i].kind == kernels::Buffer::Kind::Input)
      p.input_buffer[p.lowered.buffers[i].index] = static_cast<std::int32_t>(i);
  for (const kernels::Buffer& buffer : p.lowered.buffers) {
    p.buffer_bytes.push_back(b.slot(buffer.bytes));
    p.exprs.must_fit(static_cast<std::uint32_t>(p.buffer_bytes.back()));
  }
  p.lives = kernels::temp_lives(p.lowered);
  b.add_places();
  for (std::size_t i = 0; i < p.graph.outputs.size(); ++i) {
    const graph::OutputSpec& spec = p.graph.outputs[i];
    const kernels::Lowered::Out& out = p.lowered.outputs[i];
    bool alias =
        spec.kind == graph::OutputSpec::Kind::AliasOfInput || spec.kind == graph::OutputSpec::Kind::AliasOfOutput;
    Program::Out o;
    o.layout = b.layout(alias ? spec.layout : out.layout);
    if (spec.kind == graph::OutputSpec::Kind::NewValueOfInput && !out.in_place) o.target = b.layout(out.target);
    p.outputs.push_back(std::move(o));
  }
  for (const graph::MetadataMutation& m : p.graph.metadata_mutations) p.metadata.push_back(b.layout(m.layout));
  for (Int i : int_results) p.int_results.push_back(b.slot(i));
  p.uses_random = uses_random;
  p.random_words = random_words_of(p.graph, uses_random);
  p.random_count = b.slot(random_count);
  p.copied_bytes = b.slot(kernels::copied_beyond_eager(p.lowered));
  b.add_size_checks(made);
  b.add_natives_of();
  if (host) b.add_floats(floats);
  b.add_key();
  return p;
}

std::vector<MadeSizes> made_sizes(const graph::Graph& g) {
  std::vector<MadeSizes> made;
  std::unordered_map<const Ints*, std::int64_t, HashOfSizes, SameSizes>
      known;  // and the item size that they are counted by
  for (const graph::InputSpec& i : g.inputs) known.try_emplace(&g.meta(i.value).layout.sizes, 1);
  for (const graph::Node& n : g.nodes) {
    const graph::OpDef& op = graph::op(n.op);
    for (graph::ValueId r : n.results) {
      const TensorMeta& m = g.meta(r);
      if (std::none_of(m.layout.sizes.begin(), m.layout.sizes.end(), [](Int s) { return s.is_symbolic(); })) continue;
      const std::int64_t item = op.cls == graph::OpClass::View ? 1 : item_size(m.dtype);
      const auto [at, is_new] = known.try_emplace(&m.layout.sizes, item);
      if (!is_new && item <= at->second) continue;
      at->second = item;
      made.push_back({m.layout.sizes, item, std::string(op.name())});
    }
  }
  return made;
}

Program build_program(graph::Graph graph, kernels::Mode mode, const std::vector<Int>& int_results,
                      const std::vector<std::pair<std::uint32_t, Int>>& floats, bool uses_random, Int random_count,
                      Makers makers) {
  kernels::Lowered lowered = lower_graph(graph, mode);
  return build_program(std::move(graph), std::move(lowered), int_results, floats, uses_random, random_count, makers);
}

GuardedProgram build_guarded(graph::Graph graph, kernels::Lowered lowered, const std::vector<std::uint32_t>* kept,
                             const std::vector<Int>& int_results,
                             const std::vector<std::pair<std::uint32_t, Int>>& floats, bool uses_random,
                             Int random_count, Makers makers, const std::vector<MadeSizes>& made) {
  const std::shared_ptr<guards::ShapeEnv> env = graph.env;
  Program program =
      build_program(std::move(graph), std::move(lowered), int_results, floats, uses_random, random_count, makers, made);
  GuardedProgram guarded{std::move(program), kept ? guards::GuardSet(*env, *kept) : guards::GuardSet(*env)};
  env->freeze();
  return guarded;
}

}  // namespace reprise::runtime
