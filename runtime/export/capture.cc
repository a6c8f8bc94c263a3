// A call is traced and written down (Note [Exported programs]).
#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "autograd/trace_tape.h"
#include "base/bail.h"
#include "base/errors.h"
#include "graph/interpreter.h"
#include "guards/expr.h"
#include "passes/registered.h"
#include "reprise/autograd.h"
#include "runtime/build/specialization.h"
#include "runtime/call/call_frame.h"
#include "runtime/call/kept_trace.h"
#include "runtime/export/capture.h"
#include "runtime/export/program.h"
#include "runtime/trace/graph_call.h"
#include "tensor/impl.h"

namespace reprise::detail {

namespace {

constexpr const char* kOp = "export_program";

/// Addresses that hold nothing stand for the bytes of a shape-only tensor: a trace compares them and reads none.
struct StandIns {
  Device device;
  std::map<const Storage*, Storage*> made;  ///< a reference each
  ~StandIns() {
    for (auto& [of, s] : made) release(s);
  }
  Storage* of(const Storage& shape) {
    Storage*& s = made[&shape];
    if (!s) {
      const std::size_t bytes = static_cast<std::size_t>(std::max<std::int64_t>(shape.bytes, 1));
      void* at = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED)
        fail(ErrorCode::OutOfMemory, kOp, {}, "no addresses for a shape-only tensor of ", shape.bytes, " bytes");
      s = new Storage;
      s->device = device, s->data = at, s->bytes = shape.bytes;
      s->deleter = [bytes](void* p) { munmap(p, bytes); };
    }
    return s;
  }
};

/// Another handle of the same elements, or of a stand-in's, with the same marks, that wants a gradient if it does.
Tensor handle_like(const TensorImpl& t, Storage* storage, Device device) {
  retain(storage);
  TensorImpl* made = new_impl(t.dtype, device, t.sizes, t.strides, t.rank, t.offset, storage);
  const Tensor handle = Tensor::adopt(made);
  if (t.notes && t.notes->marks.set) {
    made->notes = new TensorNotes;
    made->notes->marks = t.notes->marks;
  }
  if (requires_grad(t)) handle.requires_grad_(true);
  return handle;
}

/// Makes the arguments what is traced: shape-only tensors get stand-ins, declared sizes marks.
class Prepare final : public LeafWriter {
 public:
  Prepare(const std::vector<std::string>& names, const ExportOptions& o, StandIns& stand_ins, bool module,
          SourceLoc loc)
      : LeafWriter(Path::of_arguments(names)), options_(o), stand_ins_(stand_ins), module_(module), loc_(loc),
        used_(o.sizes.size()) {}
  bool all_want = false;  ///< floating parameters of the module, or arguments of a function, get gradients
  void tensor(Tensor& t) override {
    if (!t.defined()) return;
    if (t.impl()->trace)
      fail(ErrorCode::InvalidArgument, kOp, loc_, path_.text(), " is a tensor of a trace, which holds nothing");
    const TensorImpl& real = *t.impl();
    auto& known = handles_[&real];
    if (known.defined()) {
      t = known;
      return;
    }
    const bool of_module = module_ && path_.argument() == 0;
    const bool parameter = (of_module || !module_) && path_.kind() != FieldKind::Buffer;
    const bool wants = all_want && parameter && is_floating(t.dtype()) && !t.requires_grad();
    const bool declared = std::any_of(options_.sizes.begin(), options_.sizes.end(),
                                      [&](const NamedSize& s) { return s.argument == path_.text(); });
    if (!is_shape_only(real.device) && !declared && !wants) return;
    Tensor made = is_shape_only(real.device) ? handle_like(real, stand_ins_.of(*real.storage), options_.device)
                                             : handle_like(real, real.storage, real.device);
    if (wants) made.requires_grad_(true);
    for (std::size_t i = 0; i < options_.sizes.size(); ++i) {
      const NamedSize& s = options_.sizes[i];
      if (s.argument != path_.text()) continue;
      used_[i] = true;
      mark_dynamic(made, s.dim, {s.size.min, s.size.max, s.size.multiple_of}, loc_);
    }
    keep_.push_back(t);
    known = t = made;
  }
  void integer(Int&) override {}
  void number(Scalar&) override {}
  void check_all_used() const {
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (!used_[i])
        fail(ErrorCode::InvalidArgument, kOp, loc_, "sizes names '", options_.sizes[i].argument,
             "', and no argument that is a tensor is called that");
  }

 private:
  const ExportOptions& options_;
  StandIns& stand_ins_;
  const bool module_;
  const SourceLoc loc_;
  std::vector<bool> used_;
  std::vector<Tensor> keep_;  // what was replaced: its address is a key
  std::map<const TensorImpl*, Tensor> handles_;
};

class FrameReader final : public LeafReader {
 public:
  explicit FrameReader(CallFrame& f) : frame_(f) {}
  void tensor(const Tensor& t) override {
    if (is_wrapper(t))
      fail(ErrorCode::InvalidArgument, kOp, {}, "an argument is a wrapper (", wrapper_name(t),
           "), and exported programs take plain tensors: pass plain() of it, or its inner tensors");
    frame_.tensor(t);
  }
  void integer(const Int& i) override { frame_.integer(i); }
  void number(const Scalar& s) override { frame_.number(s); }
  void constant(std::uint64_t w, ConstantKind k) override { frame_.constant(w, k); }
  void text(std::string_view s) override { frame_.text(s); }

 private:
  CallFrame& frame_;
};

/// Writes leaves down, as SpecLeaf says.
class SpecReader final : public LeafReader {
 public:
  SpecReader() = default;
  SpecReader(const std::vector<std::string>& names, bool module)
      : LeafReader(Path::of_arguments(names)), arguments_(true), module_(module) {}
  std::vector<SpecLeaf> all;
  std::vector<Tensor> tensors;  ///< by leaf of a tensor, undefined ones too where these are results

  void tensor(const Tensor& t) override {
    const bool counts = t.defined() || !arguments_;
    add(t.defined() ? SpecLeaf::Kind::Tensor : SpecLeaf::Kind::Undefined).at = next_tensor_;
    if (!counts) return;
    ++next_tensor_;
    tensors.push_back(t);
  }
  void integer(const Int& i) override {
    SpecLeaf& l = add(SpecLeaf::Kind::Int);
    l.at = next_number_++, l.word = i.hint();
  }
  void number(const Scalar& s) override {
    if (s.kind() == Scalar::Kind::Bool) {
      add(SpecLeaf::Kind::Flag).word = s.word().hint();
      return;
    }
    SpecLeaf& l = add(s.is_float() ? SpecLeaf::Kind::Float : SpecLeaf::Kind::Integer);
    l.at = next_number_++, l.word = s.word().hint();
  }
  void constant(std::uint64_t w, ConstantKind k) override {
    constexpr SpecLeaf::Kind kKinds[] = {SpecLeaf::Kind::Number, SpecLeaf::Kind::Whole,  SpecLeaf::Kind::Flag,
                                         SpecLeaf::Kind::Enum,   SpecLeaf::Kind::Length, SpecLeaf::Kind::Presence};
    add(kKinds[static_cast<int>(k)]).word = static_cast<std::int64_t>(w);
  }
  void text(std::string_view s) override { add(SpecLeaf::Kind::Text).text = s; }

 private:
  SpecLeaf& add(SpecLeaf::Kind k) {
    SpecLeaf& l = all.emplace_back();
    l.kind = k, l.path = path_.text();
    if (l.path.starts_with('.')) l.path.erase(0, 1);
    l.bound = arguments_ && ((module_ && path_.argument() == 0) || path_.kind() != FieldKind::None);
    return l;
  }
  bool arguments_ = false, module_ = false;
  std::uint32_t next_tensor_ = 0, next_number_ = 0;
};

/// What the trace leaves beside the graph.
class Kept final : public KeptTrace {
 public:
  Kept(const ExportOptions& o, bool cuts, SourceLoc loc) : options_(o), cuts_(cuts), loc_(loc) {}
  std::vector<SpecLeaf> spec;
  std::vector<std::uint32_t> gradients, detached;

  LeafReader& results() override { return results_.emplace(); }
  void ran(Tracer& tracer) override {
    gradients.clear(), detached.clear(), made_.clear();
    if (!results_) results_.emplace();  // it gives nothing
    if (options_.trace_joint) derive(tracer);
    spec = std::move(results_->all);
    results_.reset();
  }
  void ends(Tracer& tracer) override {
    for (Tensor& g : made_) {
      tracer.result(g);
      g = Tensor();
    }
    made_.clear();
    check_leaves(tracer);
    if (cuts_) return;  // the tape is walked
    // Results stay as they are: nothing that the tape has noted is followed further.
    tracer.tape->end();
    tracer.drop_places();
  }

 private:
  /// What a function makes of the caller's tape, no loaded program does.
  static void check_leaves(const Tracer& tracer) {
    auto becomes = [](const Tensor& t, bool before) {
      const autograd::State* s = autograd::state_of(t);
      if (s && s->wants && !before)
        bail(Bail::changes_tape, "requires_grad_", {},
             "an argument or a captured tensor becomes a leaf that wants a gradient");
    };
    for (std::uint32_t i = 0; i < tracer.inputs(); ++i) becomes(tracer.input(i), tracer.tape->input(i) != nullptr);
    for (const Tensor& t : tracer.tape->changed()) becomes(t, static_cast<bool>(tracer.tape->edge_before(t)));
  }

  void derive(Tracer& tracer) {
    const std::vector<Tensor>& given = results_->tensors;
    const auto at = static_cast<std::size_t>(options_.loss);
    auto no_loss = [&](const auto&... why) {
      fail(ErrorCode::InvalidArgument, kOp, loc_, options_.name, " has no scalar loss: ", why...);
    };
    if (options_.loss < 0 || at >= given.size())
      no_loss("result ", options_.loss, " was named, and it gives ", given.size(), " tensors");
    const Tensor& loss = given[at];
    if (!loss.defined()) no_loss("result ", options_.loss, " is undefined");
    if (!is_floating(loss.dtype()) || loss.dim() != 0)
      no_loss("result ", options_.loss, " is ", dtype_name(loss.dtype()), " of sizes ", loss.sizes().vec(),
              ", wanted a floating tensor of no dimensions");
    if (!loss.requires_grad())
      no_loss("result ", options_.loss,
              " wants no gradient: no argument or weight with requires_grad() takes part in it");
    for (std::size_t i = 0; i < given.size(); ++i)
      if (i != at && given[i].defined() && given[i].requires_grad()) detached.push_back(static_cast<std::uint32_t>(i));
    std::vector<Tensor> of;
    std::set<const TensorImpl*> seen;
    for (std::uint32_t i = 0; i < tracer.inputs(); ++i) {
      const TensorImpl* real = tracer.concrete(i);
      if (!requires_grad(*real) || !seen.insert(real).second) continue;
      const Tensor captured = tracer.captured(i);
      of.push_back(captured.defined() ? captured : tracer.input(i));
      gradients.push_back(i);
    }
    std::vector<Tensor> made = grad(TensorArrayRef{loss}, of, {}, {.allow_unused = true}, loc_);
    std::vector<std::uint32_t> used;
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!made[i].defined()) continue;
      used.push_back(gradients[i]);
      made_.push_back(std::move(made[i]));
    }
    gradients = std::move(used);
  }

  const ExportOptions& options_;
  const bool cuts_;  ///< the trace's own joint graph is wanted
  const SourceLoc loc_;
  std::optional<SpecReader> results_;
  std::vector<Tensor> made_;
};

/// No setting of the thread makes tensors shape-only while it lives: the trace has none.
struct RealTensors {
  const std::uint64_t before = graph::thread_state.word;
  RealTensors() { graph::thread_state.word &= ~graph::bits_of(graph::Setting::ShapeOnly); }
  ~RealTensors() { graph::thread_state.word = before; }
};

constinit thread_local bool t_exporting = false;
/// While it lives, this thread exports.
struct Exporting {
  const bool before = std::exchange(t_exporting, true);
  ~Exporting() { t_exporting = before; }
};

/// One call's way to a program.
class Export {
 public:
  Export(const Call& call, bool module, ExportOptions o, SourceLoc loc, CutRequest* cut = nullptr)
      : call_(call), module_(module), options_(std::move(o)), cut_(cut), loc_(loc), kept_(options_, cut, loc) {
    stand_ins_.device = options_.device;
    if (module_) names_.push_back("module");
    for (std::size_t i = 0; i < std::max<std::size_t>(options_.arguments.size(), 32); ++i) {
      const bool named = i < options_.arguments.size() && !options_.arguments[i].empty();
      names_.push_back(named ? options_.arguments[i] : "arg " + std::to_string(i));
    }
    for (std::size_t i = 0; i < options_.sizes.size(); ++i)
      if (options_.sizes[i].size.name.empty())
        fail(ErrorCode::InvalidArgument, kOp, loc_, "sizes[", i, "] has no name");
  }

  ExportedProgram run() {
    call_.form.arguments.with_copies(
        call_.arguments, [](void* self, void* const* copies) { static_cast<Export*>(self)->traced(copies); }, this);
    return ProgramAccess::exported(std::move(made_));
  }

 private:
  void traced(void* const* copies) {
    const Call prepared{call_.form, call_.function, copies};
    SpecReader before(names_, module_);
    call_.form.arguments.read_copies(copies, before);
    Prepare prepare(names_, options_, stand_ins_, module_, loc_);
    prepare.all_want =
        ((options_.trace_joint && module_) || cut_) &&
        std::none_of(before.tensors.begin(), before.tensors.end(), [](const Tensor& t) { return t.requires_grad(); });
    call_.form.arguments.write_copies(copies, prepare);
    prepare.check_all_used();
    CallFrame frame;
    frame.clear();
    frame.constant(0);
    FrameReader fill(frame);
    call_.form.arguments.read_copies(copies, fill);
    struct Body {
      CallFrame& frame;
      const Call& call;
      const std::vector<std::string>& names;
      Kept& kept;
    } body{frame, prepared, names_, kept_};
    TraceFacts facts;
    FunctionBytes::Handles handles;
    TracedCall made = [&] {
      const RealTensors real;
      const Exporting exporting;
      const GradModeScope gradients(options_.trace_joint || cut_ || is_grad_enabled());
      try {
        return trace_call(
            options_.name, kernels::Mode::Full, frame,
            [](void* b, Tracer& t) {
              auto& of = *static_cast<Body*>(b);
              trace_kept(t, of.frame, of.call, of.names, of.kept);
            },
            &body,
            {.handles = &handles,
             .static_sizes = options_.static_sizes,
             .keeps = cut_ ? cut_->keeps : BackwardKeeps::MinimumCut,
             .partition = cut_ ? cut_->choose : PartitionFunction(),
             .registered = passes::registered(),
             .joint = cut_ ? &cut_->joint : nullptr},
            facts);
      } catch (const Error& e) {
        if (e.code() != ErrorCode::NotTraceable) throw;
        fail(ErrorCode::NotTraceable, kOp, e.where() ? e.where() : loc_, options_.name,
             " cannot be exported, since such calls run eagerly: ", e.message());
      }
    }();
    check(made.traced);
    if (cut_) cut_->take(made.traced, kept_.spec, options_, loc_);
    made_ = write_program({.traced = made.traced,
                           .frame = frame,
                           .options = options_,
                           .module = module_,
                           .arguments = std::move(before.all),
                           .values = std::move(before.tensors),
                           .results = std::move(kept_.spec),
                           .gradients = std::move(kept_.gradients),
                           .detached = std::move(kept_.detached)},
                          loc_);
  }

  /// What a replay does for a compiled function, and a loaded program could not.
  void check(const Traced& t) const {
    auto refuse = [&](const auto&... why) {
      fail(ErrorCode::NotTraceable, kOp, loc_, options_.name, " cannot be exported: ", why...);
    };
    const graph::Graph& g = t.graph;
    auto name = [&](std::size_t input) { return g.values[g.inputs[input].value.v].name; };
    if (t.unrepeatable) refuse("the function ", bail_text(*t.unrepeatable));
    for (const Captured& c : t.captured)
      if (c.wrapper) refuse("it captures a wrapper: let it take its inner tensors");
    if (!t.result_wrappers.empty()) refuse("a result is a wrapper (", t.result_wrappers[0].type->name, ")");
    if (!t.assigned.empty())
      refuse("it assigns a tensor to a variable of its surroundings, which another process does not have: return it");
    if (!t.wholes.empty())
      refuse(
          "arguments share memory of which one is written, or the function names places in a storage (as_strided, "
          "resize_): ",
          t.wholes[0].members.empty() ? "a storage" : name(t.wholes[0].members[0]), " is seen as a whole storage");
    for (const graph::MetadataMutation& m : g.metadata_mutations)
      refuse("it changes the sizes or strides of ", name(m.input), " in place, which a loaded program does not do");
    if (!t.assumed.empty())
      refuse(
          "it relies on what is known of a number that depends on data (check_size), which a loaded program would "
          "not ask");
    for (const guards::Expr* e : NumbersOf::of(g))
      if (e->kind() != guards::ExprKind::Symbol && g.env->of_data(e))
        refuse("it computes ", Int(e), " of a number that depends on data, which a call does not know ahead");
    if (t.draws_of_data) refuse("how many random numbers it draws depends on data");
    if (!t.written_anew.empty()) refuse("it gives ", name(t.written_anew[0]), " another storage");
    for (std::size_t i = 0; i < t.extra_values.size(); ++i)
      if (t.extra_values[i].strides || t.extra_values[i].offset)
        refuse("it asks for strides of ", name(i), " in dimensions of size 0 and 1");
  }

  const Call& call_;
  const bool module_;
  const ExportOptions options_;
  CutRequest* const cut_;  ///< null: there is no derivative, or one of a loss
  const SourceLoc loc_;
  std::vector<std::string> names_;
  StandIns stand_ins_;
  Kept kept_;
  std::shared_ptr<const Program> made_;
};

}  // namespace

ExportedProgram export_call(const Call& call, bool module, ExportOptions options, SourceLoc loc) {
  if (graph::thread_state.modes & bit(graph::Key::Trace)) bail(Bail::asks_state, kOp, loc);
  return Export(call, module, std::move(options), loc).run();
}
ExportedProgram export_forward(const Call& call, ExportOptions options, CutRequest& cut, SourceLoc loc) {
  if (graph::thread_state.modes & bit(graph::Key::Trace)) bail(Bail::asks_state, "export_joint", loc);
  return Export(call, false, std::move(options), loc, &cut).run();
}

}  // namespace reprise::detail

namespace reprise {

bool is_exporting() noexcept { return detail::t_exporting && is_compiling(); }

}  // namespace reprise
