#include "rt/loaded.h"

#include <algorithm>
#include <bit>

#include "base/errors.h"
#include "base/knobs.h"
#include "base/shown.h"
#include "device/cpu_info.h"
#include "device/cpu_level.h"
#include "graph/interpreter.h"
#include "runtime/export/sections.h"
#include "tensor/impl.h"

namespace reprise::rt {

namespace {

constexpr const char* kLoad = "rprt_load";
constexpr std::string_view kLevels[] = {"x86_64_v2", "avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx", "aarch64"};

using detail::CodeProgram;
using detail::SpecLeaf;

std::unique_ptr<const CodeProgram> code_of(const SafeTensors& file, const std::string& path, std::string wanted) {
  std::replace(wanted.begin(), wanted.end(), '-', '_');
  std::string have, best;
  for (const std::string& name : file.names()) {
    if (!name.starts_with(detail::kCodeTensor)) continue;
    const std::string level = name.substr(detail::kCodeTensor.size());
    have += (have.empty() ? "" : ", ") + shown(level, 40);
  }
  for (std::string_view level : kLevels) {
    const std::string name = std::string(detail::kCodeTensor) + std::string(level);
    if (file.contains(name) && (wanted.empty() || wanted == level) && device::has_cpu_level(level)) best = name;
  }
  if (have.empty())
    fail(ErrorCode::DeviceUnavailable, kLoad, {}, "'", shown(path),
         "' has no machine code: ExportedProgram::compile() adds it");
  if (best.empty())
    fail(ErrorCode::DeviceUnavailable, kLoad, {}, "'", shown(path), "' has machine code for ", have,
         wanted.empty() ? ", and this processor runs none of it" : ", and is to run here as " + shown(wanted, 40));
  const Tensor t = file.at(best);
  if (t.dtype() != kUInt8 || t.impl()->rank != 1)
    fail(ErrorCode::FileFormat, kLoad, {}, "'", shown(path), "': '", best, "' is no machine code");
  try {
    return detail::read_code({t.impl()->data(), static_cast<std::size_t>(t.impl()->numel())});
  } catch (const DamagedArchive&) {
    fail(ErrorCode::FileFormat, kLoad, {}, "'", shown(path), "': its machine code is damaged");
  } catch (const NotArchived& e) {
    fail(ErrorCode::FileFormat, kLoad, {}, "'", shown(path), "' ", e.what());
  }
}

SafeTensors opened(const std::string& path, Reading how) {
  SafeTensors file = load_safetensors(path, how, SourceLoc{});
  if (!file.metadata().contains(std::string(detail::kVersionSection)))
    fail(ErrorCode::FileFormat, kLoad, {}, "'", shown(path), "': it holds tensors, and no program");
  detail::check_sections(file.metadata(), path, kLoad, {});
  return file;
}

}  // namespace

Tensor tensor_of(const rprt_tensor& t, const char* name) {
  auto wrong = [&](const auto&... why) { fail(ErrorCode::InvalidArgument, name, {}, why...); };
  if (t.dtype < 0 || t.dtype >= kDTypeCount) wrong("has dtype ", t.dtype, ", which is none");
  if (t.ndim < 0 || t.ndim > RPRT_MAX_DIMS) wrong("has ", t.ndim, " dimensions; ", RPRT_MAX_DIMS, " are the most");
  const auto dtype = static_cast<DType>(t.dtype);
  std::int64_t last = 0, numel = 1;
  bool fits = true;
  for (int d = 0; d < t.ndim; ++d) {
    if (t.sizes[d] < 0) wrong("has size ", t.sizes[d], " in dimension ", d);
    if (t.strides[d] < 0) wrong("has stride ", t.strides[d], " in dimension ", d);
    std::int64_t step;
    fits = fits && !__builtin_mul_overflow(numel, t.sizes[d], &numel) &&
           !__builtin_mul_overflow(std::max<std::int64_t>(t.sizes[d] - 1, 0), t.strides[d], &step) &&
           !__builtin_add_overflow(last, step, &last) && last < INT64_MAX / 16;
  }
  if (!fits) wrong("has more elements than memory has addresses");
  if (numel > 0 && !t.data) wrong("has no data");
  if (reinterpret_cast<std::uintptr_t>(t.data) % static_cast<std::uintptr_t>(item_size(dtype)) != 0)
    wrong("has data at an address that is not aligned to its elements");
  auto* s = new Storage;
  s->data = t.data;
  s->bytes = numel == 0 ? 0 : (last + 1) * item_size(dtype);
  s->deleter = [](void*) {};
  return Tensor::adopt(new_impl(dtype, Device::cpu(), t.sizes, t.strides, t.ndim, 0, s));
}

void describe(const TensorImpl& t, rprt_tensor& to) {
  static_assert(kMaxRank == RPRT_MAX_DIMS);
  to.data = t.data();
  to.dtype = static_cast<std::int32_t>(t.dtype);
  to.ndim = t.rank;
  std::copy_n(t.sizes, RPRT_MAX_DIMS, to.sizes);
  std::copy_n(t.strides, RPRT_MAX_DIMS, to.strides);
}

Loaded::Loaded(const std::string& path, const std::string& level, Reading how)
    : Loaded(opened(path, how), path, level, how) {}

Loaded::Loaded(const SafeTensors& file, const std::string& path, const std::string& level, Reading how)
    : code_(code_of(file, path, level)), recordings_(code_->program) {
  const auto budget = std::make_shared<runtime::RecordingBudget>(knobs().recordings_max, knobs().recordings_bytes);
  for (const auto& stage : code_->before) stage->recordings.keep_within(budget);
  recordings_.keep_within(budget);
  signature_ = code_->in_spec + " -> " + code_->out_spec;
  guards_ = detail::guard_texts(code_->contract);
  find_places();
  read_weights(file, path, how);
}

void Loaded::find_places() {
  auto place = [](const SpecLeaf& l) {
    using Of = Place::Of;
    const Of of = l.kind == SpecLeaf::Kind::Tensor  ? Of::Tensor
                  : !l.is_number()                  ? Of::Nothing
                  : l.kind == SpecLeaf::Kind::Float ? Of::Number
                                                    : Of::Integer;
    return Place{of, l.at, l.path};
  };
  const detail::Contract& c = code_->contract;
  for (const SpecLeaf& l : c.arguments) {
    if (l.is_number()) numbers_.resize(std::max<std::size_t>(numbers_.size(), l.at + 1));
    if (l.is_number() && l.bound) numbers_[l.at] = l.word;
    if (!l.bound && (l.kind == SpecLeaf::Kind::Tensor || l.is_number())) arguments_.push_back(place(l));
  }
  for (const SpecLeaf& l : c.results)
    if (!l.is_constant()) results_.push_back(place(l));
  for (std::size_t k = 0; k < c.gradients.size(); ++k)
    results_.push_back({Place::Of::Tensor, static_cast<std::uint32_t>(code_->user_results() + k),
                        "gradient of " + c.inputs[c.gradients[k]].name});
  for (std::uint32_t i = 0; i < c.inputs.size(); ++i)
    if (c.inputs[i].weight && c.inputs[i].tied_to < 0) weights_.push_back(i);
}

void Loaded::read_weights(const SafeTensors& file, const std::string& path, Reading how) {
  std::optional<SafeTensors> other;
  if (const auto at = file.metadata().find(std::string(detail::kBesideSection)); at != file.metadata().end()) {
    if (at->second.find('/') != std::string::npos)
      fail(ErrorCode::FileFormat, kLoad, {}, "'", shown(path), "': its weights are in '", shown(at->second),
           "', which is no file beside it");
    other = load_safetensors(detail::folder_of(path) + at->second, how, SourceLoc{});
  }
  const SafeTensors& from = other ? *other : file;
  auto inputs = std::make_shared<Inputs>();
  inputs->tensors.resize(code_->contract.inputs.size());
  for (std::size_t i = 0; i < inputs->tensors.size(); ++i) {
    const detail::InputContract& in = code_->contract.inputs[i];
    Tensor& t = inputs->tensors[i];
    if (in.tied_to >= 0) t = inputs->tensors[static_cast<std::size_t>(in.tied_to)];
    if (!in.weight || in.tied_to >= 0 || !from.contains(in.name)) continue;
    t = detail::laid_out(from.at(in.name, SourceLoc{}), in, path, kLoad, {});
    try {
      detail::check_input(code_->contract, i, *t.impl(), kLoad, {});
    } catch (const Error& e) {
      fail(ErrorCode::FileFormat, kLoad, {}, "'", shown(path), "': ", e.message());
    }
  }
  bound_ = std::move(inputs);
}

Tensor Loaded::weight(std::uint32_t input) const { return bound()->tensors[input]; }

void Loaded::bind(const std::string& name, const rprt_tensor& given) {
  const detail::Contract& c = code_->contract;
  for (std::uint32_t i : weights_) {
    if (c.inputs[i].name != name) continue;
    const Tensor t = tensor_of(given, c.inputs[i].name.c_str());
    detail::check_input(c, i, *t.impl(), "rprt_bind", {});
    auto next = std::make_shared<Inputs>();
    const std::lock_guard lock(mu_);
    next->tensors = bound_->tensors;
    for (std::size_t k = 0; k < next->tensors.size(); ++k)
      if (k == i || c.inputs[k].tied_to == static_cast<std::int32_t>(i)) next->tensors[k] = t;
    bound_ = std::move(next);
    return;
  }
  fail(ErrorCode::InvalidArgument, "rprt_bind", {}, "'", shown(name), "' is no weight of ", c.name);
}

void Loaded::fill_words(const std::vector<const TensorImpl*>& inputs, const std::vector<std::int64_t>& numbers,
                        std::vector<std::int64_t>& words) const {
  const CodeProgram& p = *code_;
  std::vector<std::int64_t> computed(p.computed.size());
  words.assign(p.words.size(), 0);
  if (!computed.empty()) p.computed.evaluate(detail::symbol_words(p.contract, inputs, numbers).data(), computed.data());
  for (std::size_t w = 0; w < words.size(); ++w) {
    using Of = CodeProgram::Word::Of;
    const CodeProgram::Word& of = p.words[w];
    switch (of.of) {
      case Of::Zero: break;
      case Of::Size: words[w] = inputs[of.at]->sizes[of.dim]; break;
      case Of::Stride: words[w] = inputs[of.at]->strides[of.dim]; break;
      case Of::Number: words[w] = numbers[of.at]; break;
      case Of::Computed: words[w] = computed[p.computed_slots[of.at]]; break;
    }
  }
}

void Loaded::check_code_guards(const std::vector<std::int64_t>& words) const {
  const CodeProgram& p = *code_;
  const auto miss = p.guards.first_miss(words.data());
  if (!miss) return;
  const auto& check = p.guards.checks()[*miss];
  const auto told = p.guards.told(*miss, words.data());
  std::string name = told.names;
  using Of = CodeProgram::Word::Of;
  if (check.kind != guards::GuardSet::kGeneral) {
    const CodeProgram::Word& of = p.words[check.a];
    if (of.of == Of::Size || of.of == Of::Stride)
      name = p.contract.inputs[of.at].name + (of.of == Of::Size ? ".size(" : ".stride(") + std::to_string(of.dim) + ")";
  }
  fail(ErrorCode::InvalidArgument, p.contract.name.c_str(), {}, name, " is ", told.seen,
       ", and the program's machine code is for ", p.guards.text(*miss));
}

const TensorImpl* Loaded::same_tensor(const std::vector<const TensorImpl*>& inputs, std::size_t i,
                                      const TensorImpl& t) const {
  const std::vector<std::uint32_t>& same_as = code_->contract.same_as;
  if (same_as.empty()) return nullptr;
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    if (j == i || !inputs[j] || same_as[j] != same_as[i]) continue;
    const TensorImpl& other = *inputs[j];
    if (other.data() == t.data() && other.dtype == t.dtype && other.rank == t.rank &&
        std::equal(t.sizes, t.sizes + t.rank, other.sizes) && std::equal(t.strides, t.strides + t.rank, other.strides))
      return &other;
  }
  return nullptr;
}

std::int64_t Loaded::itself(const TensorImpl* t, const std::vector<TensorImpl*>& inputs) const {
  for (std::size_t a = 0; a < arguments_.size(); ++a)
    if (arguments_[a].of == Place::Of::Tensor && inputs[arguments_[a].at] == t) return static_cast<std::int64_t>(a) + 1;
  for (std::size_t w = 0; w < weights_.size(); ++w)
    if (inputs[weights_[w]] == t) return -static_cast<std::int64_t>(w) - 1;
  return 0;
}

void Loaded::give(detail::Outputs& outputs, const std::vector<TensorImpl*>& inputs, rprt_value* results) const {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    const Place& place = results_[i];
    rprt_value& r = results[i];
    r = {};
    switch (place.of) {
      case Place::Of::Tensor: {
        TensorImpl*& t = outputs.tensors[place.at];
        if (!t) break;
        r.kind = RPRT_TENSOR;
        describe(*t, r.tensor);
        r.integer = itself(t, inputs);
        r.owner = t;
        reprise::detail::retain(t);
        break;
      }
      case Place::Of::Integer: r.kind = RPRT_INTEGER, r.integer = outputs.ints[place.at]; break;
      case Place::Of::Number: r.kind = RPRT_NUMBER, r.number = std::bit_cast<double>(outputs.ints[place.at]); break;
      case Place::Of::Nothing: break;
    }
  }
}

namespace {

/// What a call of this thread works with, so that the next one allocates less.
struct Frame {
  std::vector<Tensor> given;
  std::vector<const TensorImpl*> inputs;
  std::vector<TensorImpl*> impls;
  std::vector<std::int64_t> numbers, words;
};
struct FrameScope {
  Frame& frame;
  FrameScope() : frame(of_thread()) {}
  ~FrameScope() { frame.given.clear(); }
  FrameScope(const FrameScope&) = delete;

 private:
  static Frame& of_thread() {
    thread_local Frame one;
    return one;
  }
};

/// Numbers that a call has taken from the generator: they go back where it fails.
struct Drawn {
  std::int64_t offset = 0, count = 0;
  ~Drawn() {
    if (count) graph::give_back_random(offset, count);
  }
};

}  // namespace

void Loaded::run_stages(std::vector<std::int64_t>& words, std::vector<Tensor>& made,
                        std::vector<TensorImpl*>& tensors) const {
  try {
    runtime::run_stages(code_->before, code_->contract.name, words.data(), made, tensors);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::NotTraceable) throw;  // that is what an assumption says that does not hold
    fail_text(ErrorCode::InvalidArgument, code_->contract.name.c_str(), e.where(), e.message());
  }
}

void Loaded::call(const rprt_value* arguments, std::size_t n_arguments, rprt_value* results, std::size_t n_results) {
  const CodeProgram& p = *code_;
  const char* const name = p.contract.name.c_str();
  if (n_arguments != arguments_.size())
    fail(ErrorCode::InvalidArgument, name, {}, "it is called with ", n_arguments, " arguments, wanted ",
         arguments_.size(), "; it is called as ", p.in_spec);
  if (n_results != results_.size())
    fail(ErrorCode::InvalidArgument, name, {}, "there is room for ", n_results, " results, and it gives ",
         results_.size());
  const std::shared_ptr<const Inputs> weights = bound();
  const FrameScope scope;
  auto& [given, inputs, impls, numbers, words] = scope.frame;
  inputs.clear();
  for (const Tensor& t : weights->tensors) inputs.push_back(t.impl());
  numbers = numbers_;
  for (std::size_t i = 0; i < n_arguments; ++i) {
    const Place& place = arguments_[i];
    const rprt_value& a = arguments[i];
    const bool number = a.kind == RPRT_INTEGER || a.kind == RPRT_NUMBER;
    if (place.of == Place::Of::Tensor ? a.kind != RPRT_TENSOR
                                      : !number || (place.of == Place::Of::Integer && a.kind != RPRT_INTEGER))
      fail(ErrorCode::InvalidArgument, name, {}, place.name, " is no ",
           place.of == Place::Of::Tensor    ? "tensor"
           : place.of == Place::Of::Integer ? "integer"
                                            : "number",
           "; it is called as ", p.in_spec);
    if (place.of == Place::Of::Tensor) {
      given.push_back(tensor_of(a.tensor, place.name.c_str()));
      const TensorImpl* known = same_tensor(inputs, place.at, *given.back().impl());
      inputs[place.at] = known ? known : given.back().impl();
    } else if (place.of == Place::Of::Integer) {
      numbers[place.at] = a.integer;
    } else {
      numbers[place.at] =
          std::bit_cast<std::int64_t>(a.kind == RPRT_NUMBER ? a.number : static_cast<double>(a.integer));
    }
  }
  const bool known = weights->known.load(std::memory_order_relaxed);
  detail::check_call(p.contract, inputs, numbers, known);
  if (!known) weights->known.store(true, std::memory_order_relaxed);
  fill_words(inputs, numbers, words);
  check_code_guards(words);
  Drawn drawn;
  if (p.program.uses_random) {
    const guards::ExprProgram& exprs = p.before.empty() ? p.program.exprs : p.random_count;
    std::vector<std::int64_t> slots(exprs.size());
    exprs.evaluate(words.data(), slots.data());
    drawn.count = p.before.empty() ? runtime::SlotValues(slots.data())[p.program.random_count] : slots.back();
    const auto [seed, offset] = graph::take_random(drawn.count);
    drawn.offset = offset;
    words[detail::kSeedValue] = seed, words[detail::kOffsetValue] = offset;
  }
  detail::Outputs outputs;
  std::int64_t copied = 0;
  impls.clear();
  for (const TensorImpl* t : inputs) impls.push_back(const_cast<TensorImpl*>(t));
  std::vector<Tensor> made;
  if (!p.before.empty()) run_stages(words, made, impls);
  recordings_.get(words.data(), p.contract.name)
      ->replay(words.data(), impls.data(), outputs, p.tensor_results, &copied);
  drawn.count = 0;
  give(outputs, impls, results);
}

}  // namespace reprise::rt
