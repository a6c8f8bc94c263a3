#include "runtime/replay/program_archive.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <type_traits>

#include "device/backend.h"
#include "graph/name_scopes.h"
#include "guards/program_archive.h"
#include "kernels/cpu/named_kernels.h"
#include "runtime/replay/profile.h"

namespace reprise {
REPRISE_ARCHIVED(NativeArg, kind, first, count)
}

namespace reprise::kernels {
REPRISE_ARCHIVED(TempLife, buffer, first, last)
REPRISE_ARCHIVED(Repeat::Swap, read, made)
}  // namespace reprise::kernels

namespace reprise::runtime {

REPRISE_ARCHIVED(SlotLayout, sizes, strides, offset)
REPRISE_ARCHIVED(Program::FloatWord, word, computed, params, numbers, results)
REPRISE_ARCHIVED(Program::LoopStep, fn, first_pointer, n_pointers, first_param, tasks, work, launch)
REPRISE_ARCHIVED(Program::NativeStep::View, buffer, layout)
REPRISE_ARCHIVED(Program::ViewPlace, buffer, offset, item)
REPRISE_ARCHIVED(Program::Condition, buffer, offset, wanted)
REPRISE_ARCHIVED(Program::Repeat::Window, buffer, of, offset, stride, item)
REPRISE_ARCHIVED(Program::Repeat, first, end, next, count, windows, swaps, decided, loc, conditions)
REPRISE_ARCHIVED(Program::Out, layout, target)
REPRISE_ARCHIVED(Program::InputPlace, buffer, input)
REPRISE_ARCHIVED(Program::OutputPlace, buffer, output)

namespace {

// What replays ask of graphs and launches.
struct BufferPart {
  kernels::Buffer::Kind kind{};
  std::uint32_t index = 0;
  DType dtype{};
};
REPRISE_ARCHIVED(BufferPart, kind, index, dtype)
struct LaunchPart {
  std::string name, op, scope;
  bool native = false;
  std::vector<std::uint8_t> dtypes;         ///< of a native one's operands
  std::vector<std::uint8_t> float_numbers;  ///< of its numbers: is it a float?
  std::vector<NativeArg> args;
  std::vector<std::string> strings;
  std::uint32_t first_result = 0, n_results = 0;
  bool has_workspace = false;
};
REPRISE_ARCHIVED(LaunchPart, name, op, scope, native, dtypes, float_numbers, args, strings, first_result, n_results,
                 has_workspace)
struct OutputPart {
  graph::OutputSpec::Kind kind{};
  std::uint32_t source = 0;
  DType dtype{};
  bool is_view = false, in_place = false;
  std::int32_t buffer = -1;
};
REPRISE_ARCHIVED(OutputPart, kind, source, dtype, is_view, in_place, buffer)

/// The fields of a program that are kept as they are, in the order of the format.
template <class P>
auto kept(P& p) {
  return std::tie(p.key_words, p.floats, p.random_words, p.uses_random, p.copied_bytes, p.random_count,
                  p.pointer_buffers, p.view_places, p.natives, p.steps, p.conditions, p.first_condition, p.repeats,
                  p.param_slots, p.natives_of, p.n_pointers, p.n_views, p.n_ints, p.n_numbers, p.buffer_bytes, p.lives,
                  p.outputs, p.input_buffer, p.inputs_read, p.outputs_made, p.temps, p.gives_away, p.has_epilogue,
                  p.int_results, p.lowered.undo);
}

[[noreturn]] void refuse(const kernels::Launch& l, const std::string& why) {
  const std::string_view file = l.loc.file ? l.loc.file : "";
  throw NotArchived((l.op.empty() ? l.name : l.op) +
                    (file.empty() ? ""
                                  : " (" + std::string(file.substr(file.find_last_of('/') + 1)) + ":" +
                                        std::to_string(l.loc.line) + ")") +
                    " " + why);
}

void require(bool holds) {
  if (!holds) throw DamagedArchive();
}

LaunchPart part_of(const kernels::Launch& l) {
  LaunchPart p;
  p.name = l.name, p.op = l.op;
  if (l.scope) p.scope = *l.scope;
  if (std::holds_alternative<kernels::GpuLaunch>(l.what)) refuse(l, "is a device's kernel");
  const auto* n = std::get_if<kernels::NativeLaunch>(&l.what);
  if (!n) return p;
  if (kernels::kernel_name(n->fn).empty())
    refuse(l, "is computed by a registered operator's function, which a runtime does not have");
  p.native = true;
  for (const kernels::Operand& o : n->operands) p.dtypes.push_back(static_cast<std::uint8_t>(o.dtype));
  for (const Scalar& s : n->numbers) p.float_numbers.push_back(s.is_float());
  p.args = n->args, p.strings = n->strings;
  p.first_result = n->first_result, p.n_results = n->n_results, p.has_workspace = n->has_workspace;
  return p;
}

void check_arg(const NativeArg& a, const Program::NativeStep& step, const LaunchPart& part) {
  using Kind = NativeArg::Kind;
  std::size_t most = 0;
  switch (a.kind) {
    case Kind::None: return;
    case Kind::Tensor:
    case Kind::TensorList: most = part.dtypes.size(); break;
    case Kind::Number: most = part.float_numbers.size(); break;
    case Kind::Str: most = part.strings.size(); break;
    case Kind::Int:
    case Kind::IntList:
    case Kind::Bool:
    case Kind::DType: most = step.ints.size(); break;
    default: throw DamagedArchive();
  }
  require(a.first <= most && a.count <= most - a.first);
  require(a.kind == Kind::TensorList || a.kind == Kind::IntList || a.first < most);
}

/// What was read, against what it counts.
class Checker {
 public:
  Checker(const Program& p, const std::vector<LaunchPart>& launches, std::size_t words)
      : p_(p), launches_(launches), words_(words) {}

  void run() const {
    below(p_.key_words, words_), below(p_.random_words, words_);
    slot(p_.copied_bytes), slot(p_.random_count), slots(p_.param_slots), slots(p_.buffer_bytes), slots(p_.int_results);
    require(p_.pointer_buffers.size() == p_.n_pointers && p_.view_places.size() == p_.n_views);
    below(p_.pointer_buffers, buffers());
    for (const auto& v : p_.view_places) buffer(v.buffer), slot(v.offset), require(v.item > 0 && v.item <= 16);
    require(p_.buffer_bytes.size() == buffers() && p_.natives_of.size() == p_.exprs.size());
    for (const auto& natives : p_.natives_of)
      for (Program::NativeId i : natives) require(static_cast<std::size_t>(i) < p_.natives.size());
    for (const auto& f : p_.floats) {
      require(f.word < words_ && (!f.computed || *f.computed < p_.float_exprs.size()));
      below(f.params, p_.param_slots.size()), below(f.numbers, p_.n_numbers), below(f.results, p_.int_results.size());
    }
    steps();
    places();
    outputs();
  }

 private:
  std::size_t buffers() const { return p_.lowered.buffers.size(); }
  static void below(const std::vector<std::uint32_t>& list, std::size_t n) {
    for (std::uint32_t x : list) require(x < n);
  }
  void buffer(std::uint32_t b) const { require(b < buffers()); }
  void slot(Slot s) const { require(static_cast<std::size_t>(s) < p_.exprs.size()); }
  void slots(const std::vector<Slot>& list) const {
    for (Slot s : list) slot(s);
  }
  void layout(const SlotLayout& l) const {
    slots(l.sizes), slots(l.strides), slot(l.offset);
    require(l.sizes.size() == l.strides.size() && l.sizes.size() <= kMaxRank);
  }

  void steps() const {
    require(p_.steps.size() == launches_.size());
    for (const auto& step : p_.steps) {
      if (const auto* loop = std::get_if<Program::LoopStep>(&step)) {
        require(loop->launch < launches_.size() && !launches_[loop->launch].native);
        require(loop->n_pointers <= p_.n_pointers && loop->first_pointer <= p_.n_pointers - loop->n_pointers);
        require(loop->first_param <= p_.param_slots.size());
        slot(loop->tasks), slot(loop->work);
      } else {
        const auto* id = std::get_if<Program::NativeId>(&step);
        require(id && static_cast<std::size_t>(*id) < p_.natives.size());
      }
    }
    std::size_t ints = 0, numbers = 0;
    for (const Program::NativeStep& n : p_.natives) native(n), ints += n.ints.size(), numbers += n.numbers.size();
    require(ints == p_.n_ints && numbers == p_.n_numbers);
    if (!p_.first_condition.empty()) {
      require(p_.first_condition.size() == p_.steps.size() + 1 &&
              std::is_sorted(p_.first_condition.begin(), p_.first_condition.end()) &&
              p_.first_condition.back() <= p_.conditions.size());
    }
    for (const auto& c : p_.conditions) buffer(c.buffer), slot(c.offset);
    for (std::size_t i = 0; i < p_.repeats.size(); ++i) {
      const Program::Repeat& r = p_.repeats[i];
      require(r.first < r.end && r.end <= p_.steps.size() && r.next > i && r.next <= p_.repeats.size());
      slot(r.count);
      require((!r.decided || !r.swaps.empty()) && (!r.conditions || !p_.first_condition.empty()));
      for (const auto& w : r.windows) buffer(w.buffer), buffer(w.of), slot(w.offset), slot(w.stride);
      for (const auto& s : r.swaps) buffer(s.read), buffer(s.made);
    }
    require(p_.lowered.undo.size() <= p_.steps.size());
    below(p_.lowered.undo, p_.steps.size() - p_.lowered.undo.size());
  }

  void native(const Program::NativeStep& n) const {
    require(n.launch < launches_.size());
    const LaunchPart& part = launches_[n.launch];
    require(part.native && n.n_views == n.views.size() && n.views.size() == part.dtypes.size());
    require(n.n_views <= p_.n_views && n.first_view <= p_.n_views - n.n_views);
    require(n.ints.size() <= p_.n_ints && n.first_int <= p_.n_ints - n.ints.size());
    require(n.numbers.size() == part.float_numbers.size() && n.numbers.size() <= p_.n_numbers &&
            n.first_number <= p_.n_numbers - n.numbers.size());
    for (const auto& v : n.views) buffer(v.buffer), layout(v.layout);
    slots(n.ints), slots(n.numbers);
    for (std::uint8_t d : part.dtypes) require(d < kDTypeCount);
    for (const NativeArg& a : part.args) check_arg(a, n, part);
    require(part.first_result <= part.dtypes.size() &&
            part.n_results + part.has_workspace <= part.dtypes.size() - part.first_result);
  }

  void places() const {
    for (const auto& l : p_.lives) buffer(l.buffer), require(l.first <= l.last && l.last < p_.steps.size());
    below(p_.temps, buffers());
    for (const auto& i : p_.inputs_read) buffer(i.buffer), require(i.input < p_.graph.inputs.size());
    for (const auto& o : p_.outputs_made) buffer(o.buffer), require(o.output < p_.outputs.size());
    for (const auto& b : p_.lowered.buffers) {
      using Kind = kernels::Buffer::Kind;
      require(b.kind <= Kind::Window && static_cast<std::size_t>(b.dtype) < kDTypeCount);
      require(b.kind != Kind::Output || b.index < p_.outputs.size());
      require(b.kind != Kind::Input || b.index < p_.graph.inputs.size());
    }
    require(p_.input_buffer.size() == p_.graph.inputs.size());
  }

  void outputs() const {
    using Kind = graph::OutputSpec::Kind;
    require(p_.outputs.size() == p_.graph.outputs.size());
    for (std::size_t i = 0; i < p_.outputs.size(); ++i) {
      const graph::OutputSpec& o = p_.graph.outputs[i];
      const std::int32_t b = p_.lowered.outputs[i].buffer;
      require(o.kind <= Kind::Intermediate);
      layout(p_.outputs[i].layout);
      if (o.kind == Kind::AliasOfInput || o.kind == Kind::NewValueOfInput) require(o.source < p_.graph.inputs.size());
      if (o.kind == Kind::AliasOfOutput) {
        require(o.source < p_.outputs.size() && p_.graph.outputs[o.source].kind != Kind::AliasOfOutput);
        require(made_by(p_.lowered.outputs[o.source].buffer));
      }
      if (o.kind == Kind::User || o.kind == Kind::Intermediate) require(made_by(b));
      if (o.kind == Kind::NewValueOfInput && !p_.lowered.outputs[i].in_place) {
        require(b >= 0 && static_cast<std::size_t>(b) < buffers());
        layout(p_.outputs[i].target);
        require(p_.outputs[i].target.sizes.size() == p_.outputs[i].layout.sizes.size());
      }
    }
  }
  /// Has a storage been made for this buffer?
  bool made_by(std::int32_t b) const {
    return b >= 0 && static_cast<std::size_t>(b) < buffers() &&
           p_.lowered.buffers[static_cast<std::size_t>(b)].kind == kernels::Buffer::Kind::Output;
  }

  const Program& p_;
  const std::vector<LaunchPart>& launches_;
  const std::size_t words_;
};

}  // namespace

void ProgramWriter::own(const guards::ExprProgram& p) { guards::write_program(*this, p); }
void ProgramWriter::own(const guards::GuardSet& g) { guards::write_guards(*this, g); }
void ProgramWriter::own(jit::LoopFn fn) { number(entries_.at(reinterpret_cast<const void*>(fn))); }
void ProgramWriter::own(void* micro) { number(entries_.at(micro)); }
void ProgramWriter::own(const Program::NativeStep& s) {
  text(kernels::kernel_name(s.fn));
  write(*this, s.launch), write(*this, s.first_view), write(*this, s.first_int), write(*this, s.first_number);
  write(*this, s.views), write(*this, s.ints), write(*this, s.numbers), write(*this, s.micro);
}

void ProgramWriter::own(const SourceLoc& loc) { guards::write_place(*this, loc); }
void ProgramWriter::own(const Program& p) {
  if (!device::runs_host_code(p.device))
    throw NotArchived("a program of " + p.device.str() + " has no code of the host");
  if (!p.metadata.empty()) throw NotArchived("sizes or strides of an argument are changed");
  if (!p.moving_words.empty() || !p.word_cells.empty()) throw NotArchived("a program has words of a device");
  number(p.graph.inputs.size());
  number(p.lowered.buffers.size());
  for (const kernels::Buffer& b : p.lowered.buffers) write(*this, BufferPart{b.kind, b.index, b.dtype});
  number(p.lowered.launches.size());
  for (const kernels::Launch& l : p.lowered.launches) {
    write(*this, part_of(l));
    guards::write_place(*this, l.loc);
  }
  number(p.graph.outputs.size());
  for (std::size_t i = 0; i < p.graph.outputs.size(); ++i) {
    const graph::OutputSpec& o = p.graph.outputs[i];
    const kernels::Lowered::Out& l = p.lowered.outputs[i];
    write(*this, OutputPart{o.kind, o.source, o.value ? p.graph.meta(o.value).dtype : DType::Float32, !o.recipe.empty(),
                            l.in_place, l.buffer});
  }
  own(p.exprs), own(p.float_exprs);
  std::apply([&](const auto&... field) { (write(*this, field), ...); }, kept(p));
}

void ProgramReader::own(guards::ExprProgram& p) { p = guards::read_program(*this, words); }
void ProgramReader::own(guards::GuardSet& g) { g = guards::read_guards(*this, words); }
void ProgramReader::own(jit::LoopFn& fn) {
  void* at = nullptr;
  own(at);
  fn = reinterpret_cast<jit::LoopFn>(at);
}
void ProgramReader::own(void*& micro) {
  const std::uint64_t i = number();
  require(i < entries_.size());
  micro = entries_[i];
}
void ProgramReader::own(Program::NativeStep& s) {
  const std::string_view name = text();
  s.fn = kernels::named_kernel(name);
  if (!s.fn) throw NotArchived("it calls the kernel '" + std::string(name) + "', which this runtime does not have");
  read(*this, s.launch), read(*this, s.first_view), read(*this, s.first_int), read(*this, s.first_number);
  read(*this, s.views), read(*this, s.ints), read(*this, s.numbers), read(*this, s.micro);
  s.n_views = static_cast<std::uint32_t>(s.views.size());
}

void ProgramReader::own(SourceLoc& loc) { loc = guards::read_place(*this); }
void ProgramReader::own(Program& p) {
  p.profile = std::make_shared<Profile>();
  p.graph.inputs.resize(count());
  for (std::size_t n = count(); n > 0; --n) {
    const auto b = read<BufferPart>(*this);
    p.lowered.buffers.push_back({b.kind, b.index, b.dtype, 0});
  }
  std::vector<LaunchPart> parts(count());
  for (LaunchPart& part : parts) {
    read(*this, part);
    kernels::Launch l;
    l.name = part.name, l.op = part.op, l.scope = NameScopes::kept(part.scope);
    l.loc = guards::read_place(*this);
    if (part.native) {
      kernels::NativeLaunch n;
      n.operands.resize(part.dtypes.size());
      for (std::size_t i = 0; i < part.dtypes.size(); ++i) n.operands[i].dtype = static_cast<DType>(part.dtypes[i]);
      for (std::uint8_t f : part.float_numbers) n.numbers.push_back(f ? Scalar(0.0) : Scalar(0));
      n.args = part.args, n.strings = part.strings;
      n.first_result = part.first_result, n.n_results = part.n_results, n.has_workspace = part.has_workspace;
      l.what = std::move(n);
    }
    p.lowered.launches.push_back(std::move(l));
  }
  for (std::size_t n = count(); n > 0; --n) {
    const auto o = read<OutputPart>(*this);
    require(static_cast<std::size_t>(o.dtype) < kDTypeCount);
    graph::OutputSpec spec;
    spec.kind = o.kind, spec.source = o.source;
    spec.value.v = static_cast<std::uint32_t>(p.graph.values.size());
    if (o.is_view) spec.recipe.emplace_back();
    graph::Value v;
    v.meta.dtype = o.dtype, v.meta.device = Device::cpu();
    p.graph.values.push_back(std::move(v));
    p.graph.outputs.push_back(std::move(spec));
    kernels::Lowered::Out out;
    out.buffer = o.buffer, out.in_place = o.in_place;
    p.lowered.outputs.push_back(std::move(out));
  }
  own(p.exprs), own(p.float_exprs);
  std::apply([&](auto&... field) { (read(*this, field), ...); }, kept(p));
  Checker(p, parts, words).run();
  for (Program::NativeStep& s : p.natives) {
    const auto& n = std::get<kernels::NativeLaunch>(p.lowered.launches[s.launch].what);
    s.call = {nullptr,        n.args.data(),    nullptr,
              nullptr,        n.strings.data(), static_cast<std::uint32_t>(n.args.size()),
              n.first_result, n.n_results,      s.micro.data(),
              nullptr,        n.has_workspace};
  }
}

}  // namespace reprise::runtime
