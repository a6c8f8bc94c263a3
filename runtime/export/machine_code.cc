#include "runtime/export/machine_code.h"

#include <sys/mman.h>

#include <algorithm>

#include "base/errors.h"
#include "device/cpu_level.h"
#include "guards/expr.h"
#include "jit/engine/objects.h"
#include "reprise/autograd.h"
#include "runtime/build/specialization.h"
#include "runtime/export/code_file.h"
#include "runtime/export/loaded.h"
#include "runtime/front/compiled.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

constexpr const char* kOp = "ExportedProgram::compile";

[[noreturn]] void refuse(const Program& p, SourceLoc loc, const std::string& why) {
  fail(ErrorCode::NotTraceable, kOp, loc, "program ", p.name, " cannot run without a compiler: ", why);
}

/// A tensor of the traced sizes at addresses that hold nothing: compiling reads none.
Tensor stand_in(const TensorMeta& m) {
  std::int64_t sizes[kMaxRank], strides[kMaxRank];
  std::int64_t last = 0;
  const int rank = m.dim();
  bool empty = false;
  for (int d = 0; d < rank; ++d) {
    sizes[d] = m.layout.sizes[static_cast<std::size_t>(d)].hint();
    strides[d] = m.layout.strides[static_cast<std::size_t>(d)].hint();
    last += std::max<std::int64_t>(sizes[d] - 1, 0) * strides[d];
    empty = empty || sizes[d] == 0;
  }
  auto* s = new Storage;
  s->bytes = empty ? 0 : (last + 1) * item_size(m.dtype);
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(s->bytes, 1));
  void* const at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) {
    delete s;
    fail(ErrorCode::OutOfMemory, kOp, {}, "no addresses for a tensor of ", bytes, " bytes");
  }
  s->data = at;
  s->deleter = [bytes](void* p) { munmap(p, bytes); };
  return Tensor::adopt(new_impl(m.dtype, Device::cpu(), sizes, strides, rank, 0, s));
}

/// A call of the traced sizes.
struct TracedSizes {
  std::vector<Tensor> inputs;
  std::vector<Scalar> numbers;

  explicit TracedSizes(const Program& p) : inputs(p.inputs.size()), numbers(p.graph.numbers.size()) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::int32_t tied = p.inputs[i].tied_to;
      const std::size_t same = !p.same_as.empty() ? p.same_as[i] : tied >= 0 ? static_cast<std::size_t>(tied) : i;
      inputs[i] = same < i ? inputs[same] : stand_in(p.graph.meta(p.graph.inputs[i].value));
    }
    for (std::size_t k = 0; k < numbers.size(); ++k) {
      const Scalar kind = p.graph.numbers[k].kind == graph::NumberInput::Kind::Float ? Scalar(0.0) : Scalar(0);
      numbers[k] = kind;
      for (const SymbolFact& f : p.symbols)
        if (f.of == SymbolFact::Of::Number && f.at == k) numbers[k] = kind.with_word(f.hint);
    }
    for (const SpecLeaf& l : p.arguments)
      if (l.bound && l.is_number()) numbers[l.at] = numbers[l.at].with_word(l.word);
  }
};

/// Why a runtime cannot run what was compiled; empty: it can.
std::string why_not(const Specialization& s) {
  if (!s.captured.empty()) return "it reads tensors that are no inputs of it";
  if (!s.wholes.empty()) return "a storage is an input of it, because arguments share memory";
  if (std::any_of(s.extra_values.begin(), s.extra_values.end(),
                  [](const ExtraValues& e) { return e.offset || e.strides; }))
    return "it depends on where an argument stands in its storage";
  if (s.folding) return "parts of it are computed ahead, of frozen weights";
  if (!s.kept.empty() || !s.assigned.empty() || s.unrepeatable) return "it changes variables of the surroundings";
  if (s.by_backend) return "another compiler than Reprise's makes its code";
  if (!s.reshaped_inputs.empty() || !s.written_anew.empty()) return "sizes or strides of an argument are changed";
  return "";
}

/// The contract, and what the code relies on beside it.
Contract with_code(const Contract& of, const Specialization& s) {
  Contract c = of;
  auto has = [](const std::vector<std::uint32_t>& list, std::size_t i) {
    return std::find(list.begin(), list.end(), i) != list.end();
  };
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    InputContract& in = c.inputs[i];
    in.any = in.any && has(s.unused, i);
    in.exact_strides |= has(s.exact_strides, i), in.shown_strides |= has(s.shown_strides, i);
    in.whole_storage |= has(s.whole_storage, i), in.written |= has(s.written_inputs, i);
  }
  c.relations.insert(c.relations.end(), s.relations.begin(), s.relations.end());
  if (c.same_as.empty()) c.same_as = s.same_as;
  return c;
}

/// What each value of a call of the specialization is.
std::vector<CodeProgram::Word> words_of(const Program& p, const Specialization& s, std::size_t numbers,
                                        std::size_t computed) {
  using Of = CodeProgram::Word::Of;
  std::size_t end = kOffsetValue + 1;
  for (const auto& [first, count] : s.input_values) end = std::max<std::size_t>(end, first + count);
  std::size_t all = end + numbers + computed;
  for (const auto& stage : s.before)
    for (const runtime::Stage::Read& r : stage->reads) all = std::max<std::size_t>(all, r.word + std::size_t{1});
  std::vector<CodeProgram::Word> words(all);
  for (std::size_t i = 0; i < s.input_values.size(); ++i) {
    const auto [first, count] = s.input_values[i];
    const auto rank = static_cast<std::uint32_t>(runtime::rank_of_word(p.inputs[i].word));
    for (std::uint32_t k = 0; k < count && rank > 0 && k < 2 * rank; ++k)
      words[first + k] = {k < rank ? Of::Size : Of::Stride, static_cast<std::uint32_t>(i), k % rank};
  }
  // Where the generator stands is among the numbers of the graph, and is none that a call gives.
  for (const SpecLeaf& l : p.arguments)
    if (l.is_number()) words[end + l.at] = {Of::Number, l.at, 0};
  for (std::size_t k = 0; k < computed; ++k)
    words[end + numbers + k] = {Of::Computed, static_cast<std::uint32_t>(k), 0};
  return words;
}

/// Its code, each object once, and the addresses that stand for them.
jit::CodeImage image_of(const Specialization& s, std::vector<const void*>& addresses) {
  std::vector<const jit::ObjectCode*> objects;
  s.for_each_stage([&](const runtime::Program& program, const runtime::RecordingCache&) {
    for (const jit::CodePtr& code : program.code) {
      const auto* object = dynamic_cast<const jit::ObjectCode*>(code.get());
      REPRISE_CHECK(object);
      if (std::find(objects.begin(), objects.end(), object) != objects.end()) continue;
      objects.push_back(object);
      addresses.push_back(object->entry);
    }
  });
  return jit::image_of(objects);
}

}  // namespace

std::string machine_code(const std::shared_ptr<const Program>& p, std::string_view level, SourceLoc loc) {
  for (std::size_t i = 0; i < p->inputs.size(); ++i)
    if (p->inputs[i].word >> 32 != 0) refuse(*p, loc, p->inputs[i].name + " is a tensor of a device");
  const device::CpuLevelScope cpu(level);
  jit::ObjectScope objects;
  // Its arguments hold nothing: no stage is run to see what data say.
  const LoadedFunction f(p, CompileOptions{.name = p->name, .branches = 0});
  const TracedSizes example(*p);
  std::vector<const TensorImpl*> impls;
  for (const Tensor& t : example.inputs) impls.push_back(t.impl());
  std::vector<std::int64_t> number_words;
  for (const Scalar& n : example.numbers) number_words.push_back(n.word().hint());
  CodeProgram made;
  made.level = level;
  made.in_spec = p->signature.in_spec, made.out_spec = p->signature.out_spec;
  for (const guards::Expr* e : f.told)
    if (e->kind() != guards::ExprKind::Symbol) made.computed_slots.push_back(made.computed.add(e));
  std::vector<std::int64_t> slots(made.computed.size());
  made.computed.evaluate(symbol_words(*p, impls, number_words).data(), slots.data());
  std::vector<Int> computed;
  for (const std::uint32_t s : made.computed_slots) computed.push_back(slots[s]);
  try {
    check_call(*p, impls, number_words);
    const NoGradScope off;
    f.function.warm_up(example.inputs, example.numbers, computed);
  } catch (const Error& e) {
    if (e.code() == ErrorCode::OutOfMemory) throw;
    refuse(*p, loc, e.message());
  }
  const Compiled& compiled = *compiled_of(f.function);
  REPRISE_CHECK(compiled.owned.size() == 1);
  const Specialization& s = *compiled.owned.front();
  if (const std::string why = why_not(s); !why.empty()) refuse(*p, loc, why);
  for (std::size_t i = 0; i < p->inputs.size(); ++i)
    if (s.uses(i) && s.input_words[i] != p->inputs[i].word)
      refuse(*p, loc, p->inputs[i].name + " is seen in another layout than its own");
  made.contract = with_code(*p, s);
  made.words = words_of(*p, s, example.numbers.size(), computed.size());
  made.guards = s.guards;
  made.tensor_results = s.tensor_results;
  try {
    std::vector<const void*> addresses;
    const jit::CodeImage image = image_of(s, addresses);
    return write_code(made, {s.before, s.random_count, s.program}, image, addresses);
  } catch (const NotArchived& e) {
    refuse(*p, loc, e.what());
  } catch (const Error& e) {
    if (e.code() != ErrorCode::NotTraceable) throw;
    refuse(*p, loc, e.message());
  }
}

}  // namespace reprise::detail
