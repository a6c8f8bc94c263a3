#include "validate/accesses.h"

#include <algorithm>
#include <map>
#include <set>

#include "kernels/loop/analysis.h"
#include "kernels/plan/temp_plan.h"
#include "runtime/build/specialization.h"

namespace reprise::validate {

using detail::Specialization;
using kernels::Buffer;

namespace {

/// Sizes and steps along which places lie, in elements of `item` bytes.
struct Places {
  std::vector<Poly> sizes, strides;
  Poly offset;
  std::int64_t item = 1;
};

class Accesses {
 public:
  Accesses(Prover& p, const Specialization& s, const runtime::Program& program, const Ask& ask)
      : p_(p), t_(p.terms()), s_(s), program_(program), ask_(ask) {}

  void run() {
    read_checks();
    for (std::size_t i = 0; i < program_.lowered.launches.size(); ++i) {
      const kernels::Launch& l = program_.lowered.launches[i];
      at_ = "launch " + std::to_string(i) + " (" + l.name + ")";
      made_for_device_ = std::any_of(program_.gpu_steps.begin(), program_.gpu_steps.end(),
                                     [&](const runtime::Program::GpuStep& g) { return g.launch == i && g.loop; });
      if (const auto* loop = std::get_if<kernels::LoopLaunch>(&l.what)) prove(*loop);
      if (const auto* native = std::get_if<kernels::NativeLaunch>(&l.what)) prove(native->operands);
      if (const auto* gpu = std::get_if<kernels::GpuLaunch>(&l.what)) prove(gpu->operands);
      for (const kernels::Condition& c : l.when) inside("condition", c.buffer, {{}, {}, t_.number(c.offset), 1}, {});
    }
    for (std::size_t r = 0; r < program_.lowered.repeats.size(); ++r) prove_windows(r);
    for (std::size_t i = 0; i < program_.lowered.outputs.size(); ++i) prove_output(i);
    prove_lives();
  }

 private:
  Places places_of(const Layout& l, DType dtype) {
    Places out;
    out.item = item_size(dtype);
    for (Int v : l.sizes) out.sizes.push_back(t_.number(v));
    for (Int v : l.strides) out.strides.push_back(t_.number(v));
    out.offset = t_.number(l.offset);
    return out;
  }

  /// What the program makes sure of when a recording is made (ExprProgram's checks): under the condition that there are
  /// elements.
  struct Checked {
    std::vector<Poly> sizes;
    std::vector<FormulaPtr> facts;
  };
  void read_checks() {
    // A tensor that there is has its elements in a storage, and they have been counted.
    for (const graph::InputSpec& input : program_.graph.inputs) {
      const TensorMeta& m = program_.graph.meta(input.value);
      try {
        const Places own = places_of(m.layout, m.dtype);
        Checked made;
        made.sizes = own.sizes;
        Poly count(1), last;
        for (std::size_t d = 0; d < own.sizes.size(); ++d) {
          count = count * own.sizes[d];
          if (t_.nonnegative(own.strides[d])) last = last + (own.sizes[d] - Poly(1)) * own.strides[d];
        }
        made.facts = {at_most_zero(count - Poly(INT64_MAX)),
                      at_most_zero((last + Poly(1)) * Poly(own.item) - Poly(INT64_MAX))};
        checked_.push_back(std::move(made));
      } catch (const Unsupported&) {  // then it is no help
      }
    }
    // And so have those on a storage that is an input itself (Note [Whole storages]).
    for (const detail::Traced::Whole& whole : s_.wholes)
      for (std::uint32_t i : whole.members) {
        const graph::Value& value = program_.graph.values[program_.graph.inputs[i].value.v];
        for (const guards::Symbol& symbol : program_.graph.env->symbols()) {
          if (symbol.source.name != value.name + " .storage_offset()") continue;
          try {
            const Places own = places_of(program_.graph.meta(program_.graph.inputs[i].value).layout,
                                         program_.graph.meta(program_.graph.inputs[i].value).dtype);
            Poly last = t_.word(symbol.source.word);
            for (std::size_t d = 0; d < own.sizes.size(); ++d)
              if (t_.nonnegative(own.strides[d])) last = last + (own.sizes[d] - Poly(1)) * own.strides[d];
            checked_.push_back(
                {own.sizes, {at_most_zero(last + Poly(1) - t_.word(s_.input_values[whole.input].first))}});
          } catch (const Unsupported&) {
          }
        }
      }
    const guards::ExprProgram& e = program_.exprs;
    std::vector<Meaning> slots;
    try {
      slots = t_.of(e);
    } catch (const Unsupported& u) {
      return ask_("the numbers of the program", [&]() -> FormulaPtr { throw u; }, {});
    }
    auto number = [&](std::uint32_t s) { return Terms::number(slots[s]); };
    for (const auto& c : e.size_checks()) {
      Checked made;
      Poly bytes(c.item_size);
      for (std::uint32_t s : c.sizes) {
        made.sizes.push_back(number(s));
        bytes = bytes * number(s);
      }
      made.facts.push_back(at_most_zero(bytes - Poly(INT64_MAX)));
      for (const Poly& size : made.sizes)
        if (FormulaPtr f = at_most_zero(Poly() - size); f->kind != Formula::Kind::True) fitting_.push_back(f);
      checked_.push_back(std::move(made));
    }
    for (const auto& c : e.reach_checks()) {
      Checked made;
      Poly last = number(c.offset);
      for (std::size_t d = 0; d < c.sizes.size(); ++d) {
        made.sizes.push_back(number(c.sizes[d]));
        last = last + (number(c.sizes[d]) - Poly(1)) * number(c.strides[d]);
      }
      made.facts.push_back(at_most_zero(Poly() - number(c.offset)));
      made.facts.push_back(at_most_zero(last - number(c.elements) + Poly(1)));
      checked_.push_back(std::move(made));
    }
    for (std::uint32_t s : e.must_fit())
      if (FormulaPtr f = t_.fits(number(s)); f->kind != Formula::Kind::True) fitting_.push_back(f);
  }

  /// Of what has elements: sizes are at least one, and so the checks of those sizes say something.
  const std::vector<FormulaPtr>& where_any(const std::vector<Poly>& sizes) {
    auto [made, is_new] = where_any_.try_emplace(sizes);
    if (!is_new) return made->second;
    std::vector<FormulaPtr>& also = made->second;
    std::set<FormulaPtr, Before> there;
    auto know = [&](const FormulaPtr& f) {
      if (f->kind != Formula::Kind::True && there.insert(f).second) also.push_back(f);
    };
    for (const FormulaPtr& f : fitting_) know(f);
    for (const Poly& s : sizes) {
      know(at_most_zero(Poly(1) - s));
      // Factors that are never negative are not zero, either.
      if (s.terms.size() == 1)
        for (AtomId a : s.terms.begin()->first)
          if (t_.bounds_of(a).lo >= 0) {
            Poly one;
            one.add({a}, 1);
            know(at_most_zero(Poly(1) - one));
          }
    }
    // Many have the same sizes. What is asked of them are these facts, and not what the checks say, however many there
    // are.
    const std::vector<FormulaPtr> asked_with = also;
    std::map<Poly, bool> any;
    auto has_any = [&](const Poly& s) {
      const auto [it, is_first] = any.try_emplace(s, false);
      if (is_first) it->second = p_.quickly(at_most_zero(Poly(1) - s), asked_with);
      return it->second;
    };
    for (const Checked& c : checked_)
      if (std::all_of(c.sizes.begin(), c.sizes.end(), has_any))
        for (const FormulaPtr& f : c.facts) know(f);
    return also;
  }

  /// Where the lowest and the highest place stand.
  std::pair<Poly, Poly> ends(const Places& x) {
    Poly low = x.offset, high = x.offset;
    for (std::size_t d = 0; d < x.sizes.size(); ++d) {
      const Poly step = (x.sizes[d] - Poly(1)) * x.strides[d];
      if (step.terms.empty()) continue;
      if (p_.quickly(at_most_zero(Poly() - x.strides[d]))) high = high + step;
      else if (p_.quickly(at_most_zero(x.strides[d]))) low = low + step;
      else low = low + t_.extreme(true, step, Poly(0)), high = high + t_.extreme(false, step, Poly(0));
    }
    return {low, high};
  }

  /// Offsets and strides that are stepped along then fit 64 bits, too: they are the places of elements, and differences
  /// of such.
  void inside(const std::string& what, std::uint32_t buffer, const Places& x, const std::vector<FormulaPtr>& also) {
    const Buffer& b = program_.lowered.buffers[buffer];
    const std::string text = at_ + ": " + what + " is inside buffer " + std::to_string(buffer);
    ask_(
        text,
        [&] {
          const auto [low, high] = ends(x);
          const Poly item(x.item);
          if (b.kind != Buffer::Kind::Input)
            return both(at_most_zero(Poly() - low), at_most_zero((high + Poly(1)) * item - t_.number(b.bytes)));
          // As the call's tensor has it: its elements are inside its storage, and there are some.
          const TensorMeta& m = program_.graph.meta(program_.graph.inputs[b.index].value);
          Places own = places_of(m.layout, m.dtype);
          own.offset = Poly();
          FormulaPtr has_any = truth(true);
          // of an expanded dimension there is something to be read also where it has no elements (runtime::fits)
          for (std::size_t d = 0; d < own.sizes.size(); ++d)
            if (!own.strides[d].terms.empty()) has_any = both(has_any, at_most_zero(Poly(1) - own.sizes[d]));
          const auto [own_low, own_high] = ends(own);
          return both(has_any, both(at_most_zero(own_low * Poly(own.item) - low * item),
                                    at_most_zero((high + Poly(1)) * item - (own_high + Poly(1)) * Poly(own.item))));
        },
        also);
  }

  void fit(const std::string& what, Int v, const std::vector<FormulaPtr>& also) {
    if (!v.is_symbolic() || v.expr()->is_float()) return;
    ask_(
        at_ + ": " + what + " fits 64 bits", [&] { return t_.fits(t_.number(v)); }, also);
  }

  void prove(const kernels::LoopLaunch& l) {
    const kernels::LoopKernel& k = l.kernel;
    const std::size_t rank = k.extents.size(), kept = static_cast<std::size_t>(k.n_kept),
                      parts = kept + static_cast<std::size_t>(k.n_parts);
    std::vector<Poly> extents;
    for (Int e : k.extents) extents.push_back(t_.number(e));
    auto first = [&](std::size_t n) -> const std::vector<FormulaPtr>& {
      return where_any({extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(n)});
    };
    const std::vector<FormulaPtr>&per_row = first(kept), &per_part = first(parts), &all = first(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      fit("extent " + std::to_string(d), k.extents[d], d < kept ? per_row : all);
      ask_(
          at_ + ": extent " + std::to_string(d) + " is not negative", [&] { return at_most_zero(Poly() - extents[d]); },
          fitting_);
    }
    if (!made_for_device_) fit("the count of tasks", kernels::task_count(k), per_row);
    for (std::size_t i = 0; i < k.accesses.size(); ++i) {
      const kernels::Access& a = k.accesses[i];
      // What does not vary over reduced dimensions may be read where these have no elements, too.
      std::size_t varies = kept;
      for (std::size_t d = kept; d < rank; ++d)
        if (!kernels::is_plain(a.strides[d], 0)) varies = std::max(varies, d < parts ? parts : rank);
      if (!a.gathers.empty()) varies = rank;
      std::vector<FormulaPtr> also = varies == rank ? all : varies == parts ? per_part : per_row;
      Places x;
      x.item = item_size(k.buffers[a.buffer].dtype);
      x.offset = t_.number(a.offset);
      for (std::size_t d = 0; d < varies; ++d) {
        x.sizes.push_back(extents[d]);
        x.strides.push_back(t_.number(a.strides[d]));
      }
      // An index that was checked is within its extent.
      for (const kernels::Access::Gather& g : a.gathers) {
        x.sizes.push_back(t_.number(g.extent));
        x.strides.push_back(t_.number(g.stride));
        also.push_back(at_most_zero(Poly(1) - x.sizes.back()));
      }
      inside("access " + std::to_string(i), l.buffers[a.buffer], x, also);
    }
  }

  void prove(const std::vector<kernels::Operand>& operands) {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const kernels::Operand& o = operands[i];
      const Places x = places_of(o.layout, o.dtype);
      const std::vector<FormulaPtr>& also = where_any(x.sizes);
      for (std::size_t d = 0; d < x.sizes.size(); ++d) {
        fit("a size of operand " + std::to_string(i), o.layout.sizes[d], also);
        ask_(
            at_ + ": a size of operand " + std::to_string(i) + " is not negative",
            [&] { return at_most_zero(Poly() - x.sizes[d]); }, fitting_);
      }
      inside("operand " + std::to_string(i), o.buffer, x, also);
    }
  }

  /// In each turn a window is inside the buffer that it shows, from byte to byte.
  void prove_windows(std::size_t r) {
    const kernels::Repeat& loop = program_.lowered.repeats[r];
    at_ = "loop " + std::to_string(r);
    for (const kernels::Repeat::Window& w : loop.windows) {
      const Buffer& b = program_.lowered.buffers[w.buffer];
      const Int item = item_size(b.dtype);
      const Layout turns{{loop.count, b.bytes}, {w.stride * item, 1}, w.offset * item};
      const Places x = places_of(turns, DType::Int8);
      inside("window " + std::to_string(w.buffer), w.of, x, where_any(x.sizes));
    }
  }

  void prove_output(std::size_t i) {
    const kernels::Lowered::Out& o = program_.lowered.outputs[i];
    const graph::OutputSpec& spec = program_.graph.outputs[i];
    if (o.buffer < 0 || spec.kind == graph::OutputSpec::Kind::AliasOfInput ||
        spec.kind == graph::OutputSpec::Kind::AliasOfOutput)
      return;
    at_ = "result " + std::to_string(i);
    const Places x = places_of(o.layout, program_.graph.meta(spec.value).dtype);
    inside("its layout", static_cast<std::uint32_t>(o.buffer), x, where_any(x.sizes));
  }

  /// A temporary holds something from its first launch to its last: by looking, with the numbers that sizes have in the
  /// traced call.
  void prove_lives() {
    const kernels::Lowered& l = program_.lowered;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> life(l.buffers.size(), {~0u, 0});
    for (const kernels::TempLife& t : program_.lives) life[t.buffer] = {t.first, t.last};
    bool covered = true;
    for (std::uint32_t i = 0; i < l.launches.size(); ++i)
      kernels::for_each_use(l.launches[i], [&](std::uint32_t b, bool, bool) {
        covered = covered && (l.buffers[b].kind != Buffer::Kind::Temp || (life[b].first <= i && i <= life[b].second));
      });
    // What changes places behind a turn of a loop is there as long as the other is.
    for (const kernels::Repeat& r : l.repeats)
      for (const kernels::Repeat::Swap& s : r.swaps) covered = covered && life[s.read] == life[s.made];
    ask_("temporaries are there while launches use them", [&] { return truth(covered); }, {});
    std::vector<std::int64_t> bytes;
    for (const kernels::TempLife& t : program_.lives)
      bytes.push_back(l.buffers[t.buffer].bytes.is_symbolic()
                          ? program_.graph.env->evaluate_hint(l.buffers[t.buffer].bytes.expr())
                          : l.buffers[t.buffer].bytes.hint());
    const kernels::TempPlan plan = kernels::plan_offsets(program_.lives, bytes);
    bool apart = true;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      apart = apart && plan.offsets[i] >= 0 && plan.offsets[i] + bytes[i] <= plan.total;
      for (std::size_t j = 0; j < i; ++j) {
        const kernels::TempLife &x = program_.lives[i], &y = program_.lives[j];
        const bool at_once = x.first <= y.last && y.first <= x.last,
                   meet = plan.offsets[i] < plan.offsets[j] + bytes[j] && plan.offsets[j] < plan.offsets[i] + bytes[i];
        apart = apart && (bytes[i] <= 0 || bytes[j] <= 0 || !at_once || !meet);
      }
    }
    ask_("temporaries that live at the same time are apart", [&] { return truth(apart); }, {});
  }

  Prover& p_;
  Terms& t_;
  const Specialization& s_;
  const runtime::Program& program_;
  const Ask& ask_;
  std::string at_;
  bool made_for_device_ = false;  // the loop kernel: it counts blocks, not tasks
  std::vector<Checked> checked_;
  std::vector<FormulaPtr> fitting_;
  std::map<std::vector<Poly>, std::vector<FormulaPtr>> where_any_;  // by the sizes
};

}  // namespace

void prove_accesses(Prover& p, const Specialization& s, const runtime::Program& program, const Ask& ask) {
  Accesses(p, s, program, ask).run();
}

}  // namespace reprise::validate
