// Programs with machine code as bytes (docs/export_format.md).
#include "runtime/export/code_file.h"

#include <algorithm>
#include <cstring>

#include "base/hash.h"
#include "jit/engine/objects.h"
#include "runtime/call/layout_class.h"

namespace reprise::detail {

REPRISE_ARCHIVED(SpecLeaf, kind, path, bound, word, text, at)
REPRISE_ARCHIVED(InputContract, name, weight, any, word, exact_strides, whole_storage, shown_strides, tied_to, written)
REPRISE_ARCHIVED(SymbolFact, of, at, dim, name, declared, hint, lo, hi, multiple_of, at_most, group)
REPRISE_ARCHIVED(Relation, kind, a, b)
REPRISE_ARCHIVED(CodeProgram::Word, of, at, dim)
}  // namespace reprise::detail

namespace reprise::runtime {
REPRISE_ARCHIVED(Stage::Read, tensor, word)
}  // namespace reprise::runtime

namespace reprise::detail {

namespace {

constexpr std::string_view kMagic = "RPRSCODE";
struct Header {
  char magic[8];
  std::uint32_t version, zero;
  std::uint64_t hash;  ///< of all that follows this header
  std::uint64_t data;  ///< bytes of data, behind which code begins at a multiple of kAlign
};
static_assert(sizeof(Header) == 32);
constexpr std::size_t kAlign = 64;

constexpr std::size_t code_at(std::size_t data) { return (sizeof(Header) + data + kAlign - 1) / kAlign * kAlign; }

template <class C>
auto parts(C& c) {
  return std::tie(c.name, c.symbols, c.inputs, c.arguments, c.results, c.relations, c.same_as, c.gradients);
}

void require(bool holds) {
  if (!holds) throw DamagedArchive();
}

std::size_t contract_words(const Contract& c) { return 2 * c.symbols.size() + 1; }

std::size_t number_count(const Contract& c) {
  return static_cast<std::size_t>(
      std::count_if(c.arguments.begin(), c.arguments.end(), [](const SpecLeaf& l) { return l.is_number(); }));
}

void check_contract(const Contract& c) {
  const std::size_t n = c.inputs.size(), numbers = number_count(c);
  for (std::size_t i = 0; i < n; ++i) {
    const InputContract& in = c.inputs[i];
    require((in.word & 0xff) >= 1 && (in.word & 0xff) <= kDTypeCount && in.word >> 32 == 0);
    require(runtime::rank_of_word(in.word) <= kMaxRank &&
            static_cast<int>(runtime::layout_class(in.word)) <= static_cast<int>(runtime::LayoutClass::Dense));
    require(in.tied_to < static_cast<std::int32_t>(i) &&
            (in.tied_to < 0 || (in.weight && c.inputs[static_cast<std::size_t>(in.tied_to)].weight)));
  }
  for (const SymbolFact& f : c.symbols) {
    require(f.of <= SymbolFact::Of::Data);
    if (f.of <= SymbolFact::Of::Stride)
      require(f.at < n && f.dim < static_cast<std::uint32_t>(runtime::rank_of_word(c.inputs[f.at].word)));
    if (f.of == SymbolFact::Of::Number) require(f.at < numbers);
  }
  std::vector<bool> given(n);
  for (const SpecLeaf& l : c.arguments) {
    require(l.kind <= SpecLeaf::Kind::Text);
    if (l.is_number()) require(l.at < numbers);
    if (l.kind != SpecLeaf::Kind::Tensor) continue;
    require(l.at < n && !given[l.at] && c.inputs[l.at].weight == l.bound);
    given[l.at] = true;
  }
  for (std::size_t i = 0; i < n; ++i) require(given[i] || c.inputs[i].weight);
  for (const Relation& r : c.relations) require(r.a < n && r.b < n && r.kind <= Relation::Kind::Overlap);
  require(c.same_as.empty() || c.same_as.size() == n);
  for (std::uint32_t i : c.same_as) require(i < n);
  for (std::uint32_t i : c.gradients) require(i < n);
}

/// The numbers that stages read, and how many tensors they are given: the call's, and what the stages before have made.
void check_stages(const CodeProgram& p) {
  std::size_t given = p.contract.inputs.size();
  std::vector<DType> made;
  auto is_number = [](DType t) { return item_size(t) == sizeof(std::int64_t); };
  for (const auto& stage : p.before) {
    const graph::Graph& g = stage->program.graph;
    require(g.inputs.size() == given);
    for (const graph::OutputSpec& o : g.outputs) {
      require(o.kind == graph::OutputSpec::Kind::User);
      made.push_back(g.meta(o.value).dtype);
    }
    given += g.outputs.size();
    for (const runtime::Stage::Read& r : stage->reads) {
      const std::size_t inputs = p.contract.inputs.size();
      require(r.tensor < given && r.word < p.words.size() && p.words[r.word].of == CodeProgram::Word::Of::Zero);
      require(is_number(r.tensor < inputs ? static_cast<DType>((p.contract.inputs[r.tensor].word & 0xff) - 1)
                                          : made[r.tensor - inputs]));
    }
    for (const runtime::Stage::Condition& c : stage->conditions) require(c.slot < stage->assumed.size());
  }
  require(p.before.empty() || !p.program.uses_random || p.random_count.size() > 0);
  require(p.program.graph.inputs.size() == given);
}

void check_results(const CodeProgram& p) {
  using Kind = graph::OutputSpec::Kind;
  const auto outputs = static_cast<std::int32_t>(p.program.graph.outputs.size());
  const auto inputs = static_cast<std::int32_t>(p.contract.inputs.size());
  require(p.contract.gradients.size() <= p.tensor_results.size());
  std::int32_t next = 0;  // as build_results() goes through them
  for (auto leaf = p.tensor_results.begin(); leaf != p.tensor_results.end(); ++leaf) {
    require(*leaf<outputs&& * leaf> input_itself(0) - std::max(inputs, 1) && (inputs > 0 || *leaf >= -1));
    if (*leaf < 0) continue;
    if (*leaf < next) {
      require(std::find(p.tensor_results.begin(), leaf, *leaf) != leaf);
      continue;
    }
    next = *leaf + 1;
    require(p.program.graph.outputs[static_cast<std::size_t>(*leaf)].kind != Kind::NewValueOfInput);
  }
  for (const SpecLeaf& l : p.contract.results) {
    require(l.kind <= SpecLeaf::Kind::Text);
    if (l.kind == SpecLeaf::Kind::Tensor) require(l.at < p.user_results());
    if (l.is_number()) require(l.at < p.program.int_results.size());
  }
}

void check_words(const CodeProgram& p) {
  const Contract& c = p.contract;
  using Of = CodeProgram::Word::Of;
  for (const CodeProgram::Word& w : p.words) {
    require(w.of <= Of::Computed);
    if (w.of == Of::Size || w.of == Of::Stride)
      require(w.at < c.inputs.size() && w.dim < static_cast<std::uint32_t>(runtime::rank_of_word(c.inputs[w.at].word)));
    if (w.of == Of::Number) require(w.at < number_count(c));
    if (w.of == Of::Computed) require(w.at < p.computed_slots.size());
  }
  require(!p.program.uses_random || p.words.size() > kOffsetValue);
  for (std::uint32_t s : p.computed_slots) require(s < p.computed.size());
}

}  // namespace

std::string write_code(const CodeProgram& p, const CodeParts& of, const jit::CodeImage& image,
                       const std::vector<const void*>& addresses) {
  std::map<const void*, std::uint32_t> entries;
  for (std::size_t i = 0; i < addresses.size(); ++i) entries.emplace(addresses[i], static_cast<std::uint32_t>(i));
  runtime::ProgramWriter to(std::move(entries));
  write(to, image.code.size()), write(to, image.calls), write(to, image.entries);
  write(to, p.level), write(to, p.in_spec), write(to, p.out_spec);
  std::apply([&](const auto&... part) { (write(to, part), ...); }, parts(p.contract));
  to.own(p.contract.guards);
  to.own(p.computed), write(to, p.computed_slots);
  write(to, p.words);
  to.own(p.guards);
  write(to, p.tensor_results);
  to.number(of.before.size());
  for (const auto& stage : of.before) {
    to.own(stage->program);
    write(to, stage->reads);
    to.own(stage->assumed);
    to.number(stage->conditions.size());
    for (const runtime::Stage::Condition& c : stage->conditions) {
      if (c.decision >= 0) throw NotArchived("it branches on a value of a tensor");
      write(to, c.slot), write(to, c.text);
    }
    to.own(stage->made);
  }
  to.own(of.random_count);
  to.own(of.program);

  const std::string& data = to.bytes();
  std::string file(code_at(data.size()), '\0');
  std::memcpy(file.data() + sizeof(Header), data.data(), data.size());
  file += image.code;
  Header h{};
  std::memcpy(h.magic, kMagic.data(), sizeof h.magic);
  h.version = runtime::kCodeVersion;
  h.data = data.size();
  h.hash = hash_text(std::string_view(file).substr(sizeof h));
  std::memcpy(file.data(), &h, sizeof h);
  return file;
}

std::unique_ptr<CodeProgram> read_code(std::string_view bytes) {
  Header h;
  require(bytes.size() >= sizeof h);
  std::memcpy(&h, bytes.data(), sizeof h);
  require(std::string_view(h.magic, sizeof h.magic) == kMagic);
  if (h.version != runtime::kCodeVersion)
    throw NotArchived("has machine code of version " + std::to_string(h.version) + ", and this runtime runs version " +
                      std::to_string(runtime::kCodeVersion) + ": export the program anew");
  require(h.data <= bytes.size() - sizeof h && code_at(h.data) <= bytes.size());
  require(hash_text(bytes.substr(sizeof h)) == h.hash);
  runtime::ProgramReader from(bytes.substr(sizeof h, h.data), 0, {});
  auto p = std::make_unique<CodeProgram>();
  require(read<std::size_t>(from) == bytes.size() - code_at(h.data));
  const auto calls = read<std::vector<std::string>>(from);
  const auto entries = read<std::vector<std::uint64_t>>(from);
  p->memory = CodeMemory(bytes.substr(code_at(h.data)), calls);
  std::vector<void*> addresses;
  for (std::uint64_t e : entries) addresses.push_back(p->memory.at(e));
  from.set_entries(std::move(addresses));
  read(from, p->level), read(from, p->in_spec), read(from, p->out_spec);
  std::apply([&](auto&... part) { (read(from, part), ...); }, parts(p->contract));
  check_contract(p->contract);
  from.words = contract_words(p->contract);
  from.own(p->contract.guards);
  from.own(p->computed), read(from, p->computed_slots);
  read(from, p->words);
  from.words = p->words.size();
  from.own(p->guards);
  read(from, p->tensor_results);
  for (std::size_t n = from.count(); n > 0; --n) {
    runtime::Program program;
    from.own(program);
    auto stage = std::make_unique<runtime::Stage>(std::move(program));
    read(from, stage->reads);
    from.own(stage->assumed);
    for (std::size_t c = from.count(); c > 0; --c) {
      runtime::Stage::Condition& condition = stage->conditions.emplace_back();
      read(from, condition.slot), read(from, condition.text);
    }
    from.own(stage->made);
    p->before.push_back(std::move(stage));
  }
  from.own(p->random_count);
  from.own(p->program);
  require(from.done());
  check_words(*p), check_stages(*p), check_results(*p);
  return p;
}

}  // namespace reprise::detail
