#include "runtime/program.h"

#include <algorithm>

#include "base/errors.h"
#include "reprise/compile.h"
#include "runtime/tracer.h"

namespace reprise::runtime {

namespace {

class Builder {
 public:
  explicit Builder(Program& p) : p_(p) {}

  Slot slot(Int i) { return p_.exprs.add(i); }
  std::vector<Slot> slots(const Ints& list) {
    std::vector<Slot> out;
    for (Int i : list) out.push_back(slot(i));
    return out;
  }
  SlotLayout layout(const Layout& l) { return {slots(l.sizes), slots(l.strides), slot(l.offset)}; }

  void add(const kernels::LoopLaunch& l, std::uint32_t launch) {
    Program::LoopStep step;
    jit::CodePtr code = jit::compile(l.kernel);
    step.fn = code->loop();
    p_.code.push_back(std::move(code));
    step.launch = launch;
    step.buffers = l.buffers;
    for (Int i : kernels::runtime_params(l.kernel)) step.params.push_back(slot(i));
    step.tasks = slot(kernels::task_count(l.kernel));
    step.work = slot(kernels::work_per_task(l.kernel));
    p_.steps.push_back({true, static_cast<std::uint32_t>(p_.loops.size())});
    p_.loops.push_back(std::move(step));
  }

  void add(const kernels::GridLaunch&, std::uint32_t) { fail(ErrorCode::Internal, "compile", {}, "the host runs no grid kernels"); }

  void add(const kernels::NativeLaunch& n, std::uint32_t launch) {
    Program::NativeStep step;
    step.launch = launch;
    for (const kernels::Operand& o : n.operands) {
      REPRISE_CHECK(o.layout.dim() <= kMaxRank);
      step.views.push_back({o.buffer, layout(o.layout)});
    }
    for (Int i : n.ints) step.ints.push_back(slot(i));
    for (const Scalar& s : n.numbers) step.numbers.push_back(s.is_float() ? 0 : slot(s.to_int()));
    for (const kernels::MicroKernelSpec& m : n.micro) {
      jit::CodePtr code = jit::compile(m);
      step.micro.push_back(code->entry);
      p_.code.push_back(std::move(code));
    }
    p_.steps.push_back({false, static_cast<std::uint32_t>(p_.natives.size())});
    p_.natives.push_back(std::move(step));
  }

 private:
  Program& p_;
};

}  // namespace

Program build_program(graph::Graph graph, std::string_view mode, const std::vector<Int>& int_results, bool uses_random, Int random_count) {
  Program p;
  p.lowered = kernels::lower(graph, mode);
  p.graph = std::move(graph);
  p.n_inputs = static_cast<std::uint32_t>(p.graph.inputs.size());
  Builder b(p);
  for (std::uint32_t i = 0; i < p.lowered.launches.size(); ++i)
    std::visit([&](const auto& what) { b.add(what, i); }, p.lowered.launches[i].what);
  for (const kernels::Buffer& buffer : p.lowered.buffers) p.buffer_bytes.push_back(b.slot(buffer.bytes));
  p.lives = kernels::temp_lives(p.lowered);
  for (std::size_t i = 0; i < p.graph.outputs.size(); ++i) {
    const graph::OutputSpec& spec = p.graph.outputs[i];
    const kernels::Lowered::Out& out = p.lowered.outputs[i];
    bool alias = spec.kind == graph::OutputSpec::Kind::AliasOfInput || spec.kind == graph::OutputSpec::Kind::AliasOfOutput;
    Program::Out o;
    o.layout = b.layout(alias ? spec.layout : out.layout);
    if (spec.kind == graph::OutputSpec::Kind::NewValueOfInput && !out.in_place) o.target = b.layout(out.target);
    p.outputs.push_back(std::move(o));
  }
  for (const graph::MetadataMutation& m : p.graph.metadata_mutations) p.metadata.push_back(b.layout(m.layout));
  for (Int i : int_results) p.int_results.push_back(b.slot(i));
  p.uses_random = uses_random;
  p.random_count = b.slot(random_count);
  for (std::uint32_t w : p.exprs.words())
    if (w != detail::kSeedValue && w != detail::kOffsetValue) p.key_words.push_back(w);
  return p;
}

}  // namespace reprise::runtime
