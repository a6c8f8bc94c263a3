// What is around calls and in which dtypes they compute: autocast, the default dtype, one-byte dtypes, random numbers,
// frozen tensors, operators and patterns of a user's own, threads, sizes and strides that are changed in place, errors.
#include <thread>

#include "reprise/library.h"
#include "reprise/parameter.h"
#include "reprise/patterns.h"
#include "reprise/settings.h"
#include "tests/pairs/function.h"

namespace reprise::pairs {

namespace {

const Row metadata[] = {
    PAIRS_ROW(2, 0, Tensor t = flat(a).alias(); t.t_(); return t),
    PAIRS_ROW(2, 0, Tensor t = a.alias(); t.unsqueeze_(0); t.mul_(c); return t),
    PAIRS_ROW(1, 0, return flat(a).t_()),
    PAIRS_ROW(2, 0, Tensor t = a.detach().clone(); t.resize_({a.size(0) + 1, 2}); t.fill_(c); return t),
    PAIRS_ROW(2, 0, Tensor t = a.detach() * 0.5; t.resize_({1, a.numel()}); return t + 0.0),
    PAIRS_ROW(2, 0, Tensor t = a.detach(); t.set_(b.detach()); t.mul_(0.5); return t),
    PAIRS_ROW(1, kFails, in.y.set_(in.row); return in.y + 0.0),
    PAIRS_ROW(1, kFails, in.row.set_(in.wide); in.row.resize_({in.wide.size(0) + 1}); in.row.fill_(c);
              return in.row + 0.0),
    PAIRS_ROW(1, kFails, in.wide.resize_({in.wide.size(0) + in.n}); in.wide.fill_(c); return in.wide + 0.0),
    PAIRS_ROW(1, kVariables | kFails, var.a.set_(var.b); return var.a + 0.0),
    PAIRS_ROW(1, kFails, var.b.resize_({in.n, 2}); var.b.fill_(c); return a),
};

const Row dtypes[] = {
    PAIRS_ROW(3, kHalf, return a.to(kBFloat16).mul(0.5).to(kFloat32)),
    PAIRS_ROW(2, kHalf, return a.to(kFloat16) + c),
    PAIRS_ROW(2, 0, return a.to(kFloat64) * c),
    PAIRS_ROW(2, kHalf, const AutocastScope on(kBFloat16); return matmul(flat(a), flat(a).t()) * 0.125),
    PAIRS_ROW(2, 0, const DefaultDTypeScope on(kFloat64); return a + full({}, c)),
    PAIRS_ROW(2, 0, return a + zeros({1})),
    PAIRS_ROW(2, 0, return in.index.to(kFloat64).unsqueeze(1) * 0.5 + a.sum()),
    PAIRS_ROW(2, 0, return in.bytes.mean(-1, false, kFloat32) + a.sum()),
};
const Wrap dtype_wraps[] = {
    PAIRS_WRAP(2, kHalf, const AutocastScope on(kBFloat16); return inner(matmul(flat(a), flat(a).t()) * 0.125, b)),
    PAIRS_WRAP(1, 0, const DefaultDTypeScope on(kFloat64); return inner(a, b)),
    PAIRS_WRAP(2, kHalf, const AutocastScope on(kBFloat16, false);
               return inner(matmul(flat(a), flat(a).t()) * 0.125, b)),
    PAIRS_WRAP(1, 0, const DefaultDTypeScope on(kFloat32); return inner(a * (in.index.sum() / 3), b)),
};
const Setting dtype_settings[] = {
    {.text = "nothing"},
    {.text = "AutocastScope(kBFloat16) around every other call",
     .flags = kHalf,
     .scope = [](int call) -> std::shared_ptr<void> {
       return call % 2 ? std::make_shared<AutocastScope>(kBFloat16) : nullptr;
     }},
    {.text = "DefaultDTypeScope(kFloat64) around every other call",
     .scope = [](int call) -> std::shared_ptr<void> {
       return call % 2 ? std::make_shared<DefaultDTypeScope>(kFloat64) : nullptr;
     }},
};

const Row bytes[] = {
    PAIRS_ROW(3, 0, return in.bytes.t().tril().to(kFloat32)),
    PAIRS_ROW(3, 0,
              return where(arange(in.bytes.size(0), {.device = a.device()}) > 3, in.bytes.t(), in.bytes.t() * 2)
                  .to(kFloat32)),
    PAIRS_ROW(2, 0, return in.mask.t().triu().to(kFloat32)),
    PAIRS_ROW(2, 0, in.bytes.t().add_(3); return in.bytes.to(kFloat32)),
    PAIRS_ROW(2, 0, in.mask.logical_not_(); return a + in.mask.to(kFloat32).sum()),
    PAIRS_ROW(2, 0, return in.bytes.t().contiguous().sub(200).to(kFloat32) * c),
    PAIRS_ROW(2, 0, return in.bytes.to(kInt8).t().mul(3).to(kFloat32)),
    PAIRS_ROW(2, 0, return cat({in.bytes.t(), in.bytes.t()}, d).to(kFloat32)),
    PAIRS_ROW(2, 0, return (in.mask & in.bytes.to(kBool)).t().to(kUInt8).sum(0).to(kFloat32)),
    PAIRS_ROW(2, 0, return in.y.masked_fill(in.mask, c) + 0.0),
    PAIRS_ROW(1, 0, in.bytes.copy_(in.mask); return in.bytes.to(kFloat32)),
};

const Row random_rows[] = {
    PAIRS_ROW(3, 0, return a + rand(a.sizes(), a.options())),
    PAIRS_ROW(3, 0, return dropout(a, 0.5)),
    PAIRS_ROW(2, 0, return a * randn(a.sizes(), a.options()).clamp(-2.0, 2.0)),
    PAIRS_ROW(2, 0, return a + randint(0, 5, a.sizes(), {.device = a.device()}).to(a.dtype())),
    PAIRS_ROW(1, 0, Int k = in.count.item().to_int(); return rand({2 * k + 1}, in.wide.options()) + in.wide),
    PAIRS_ROW(1, 0, rand({3}); return a),
};
const Wrap random_wraps[] = {
    PAIRS_WRAP(2, 0, return inner(dropout(a, 0.25), b)),
    PAIRS_WRAP(1, 0, Tensor t = rand({2}, a.options()); return inner(a, b) + t.sum() + rand({1}, a.options()).sum()),
};

const Row frozen_rows[] = {
    PAIRS_ROW(2, 0, return a + tanh(in.row).sum()),
    PAIRS_ROW(2, 0, return a * (in.y * 2.0 + 1.0).sum()),
    PAIRS_ROW(2, 0, return a + tanh(var.b).sum()),
    PAIRS_ROW(1, 0, return tanh(var.list[1])),
};
const Setting frozen[] = {
    {.text = "freeze(in.row)", .arguments = [](Arguments& in, Variables&, int) { freeze(in.row); }},
    {.text = "freeze(in.y), freeze(var.b)",
     .arguments = [](Arguments& in, Variables& v, int) { freeze(in.y), freeze(v.b); }},
    {.text = "Freeze::Captured", .options = [](CompileOptions& o) { o.freeze = Freeze::Captured; }},
    {.text = "Freeze::Captured, var.b.mul_(2) before every other call",
     .options = [](CompileOptions& o) { o.freeze = Freeze::Captured; },
     .arguments =
         [](Arguments&, Variables& v, int call) {
           const NoGradScope off;
           if (call % 2) v.b.mul_(2.0);
         }},
};

// Operators of a user's own: one that is made of others.
Tensor made_of(const Tensor& a) {
  static const Operator op = Library("pairs").define(
      {.schema = "pairs::made_of(Tensor x) -> Tensor", .decomposition = [](Tensor x) { return tanh(x) * 2.0 + x; }});
  return op(a);
}
const Row operators[] = {
    PAIRS_ROW(2, 0, return made_of(a)),
    PAIRS_ROW(2, 0, return made_of(flat(a).t()) + 0.0),
    PAIRS_ROW(1, 0, a.copy_(made_of(a)); return a),
};
const Wrap operator_wraps[] = {
    PAIRS_WRAP(2, 0, return made_of(inner(a, b))),
    PAIRS_WRAP(1, 0, return inner(made_of(a), b)),
};

// While it lives, patterns are registered whose replacements compute the same in another way.
struct Patterns {
  Patterns() {
    const std::vector<std::tuple<Tensor>> one{{zeros({2, 3})}, {zeros({3})}};
    const std::vector<std::tuple<Tensor, Tensor>> two{{zeros({2, 3}), zeros({2, 3})}};
    register_pattern(
        "pairs_tanh", [](Tensor a) { return tanh(a) * 2.0; }, [](Tensor a) { return tanh(a) + tanh(a); }, one);
    register_pattern(
        "pairs_half_add", [](Tensor a, Tensor b) { return a * 0.5 + b; },
        [](Tensor a, Tensor b) { return b + a.clone().mul_(0.5); }, two);
  }
  ~Patterns() { unregister_pattern("pairs_tanh"), unregister_pattern("pairs_half_add"); }
};
const Row pattern_rows[] = {
    PAIRS_ROW(2, 0, return tanh(a) * 2.0),
    PAIRS_ROW(2, 0, return a * 0.5 + fit(a, b)),
    PAIRS_ROW(1, 0, Tensor t = a * 0.5; t.add_(fit(a, b)); return t),
    PAIRS_ROW(1, 0, Tensor t = tanh(a); Tensor u = t * 2.0; t.add_(1.0); return u + t),
};
const Setting patterns[] = {
    {.text = "patterns are registered",
     .scope = [](int) -> std::shared_ptr<void> { return std::make_shared<Patterns>(); },
     .of_process = true},
};

const Setting threads[] = {
    {.text = "ServeMeanwhile", .options = [](CompileOptions& o) { o.on_miss = OnMiss::ServeMeanwhile; }},
    {.text = "ServeMeanwhile, wait() before every other call",
     .options = [](CompileOptions& o) { o.on_miss = OnMiss::ServeMeanwhile; },
     .before =
         [](Function& f, int call) {
           if (call % 2) f.wait();
         }},
    {.text = "each call on a thread of its own", .other_thread = true},
    {.text = "reset() before every other call",
     .before =
         [](Function& f, int call) {
           if (call % 2) f.reset();
         }},
    {.text = "seal() before call 3",
     .before =
         [](Function& f, int call) {
           if (call == 3) f.seal();
         }},
    {.text = "reset(), warm_up() and seal() before each call", .prepared = true},
    {.text = "ServeMeanwhile; reset(), warm_up() and seal() before each call",
     .options = [](CompileOptions& o) { o.on_miss = OnMiss::ServeMeanwhile; },
     .prepared = true},
    {.text = "check 1, the backward ahead, recordings_max 2",
     .options = [](CompileOptions& o) { o.check = 1, o.backward = BackwardCompile::Ahead, o.recordings_max = 2; }},
    {.text = "max_specializations 1, recordings_max 1",
     .options = [](CompileOptions& o) { o.max_specializations = 1, o.recordings_max = 1; }},
    {.text = "static_sizes", .options = [](CompileOptions& o) { o.static_sizes = true; }},
    {.text = "mode interpret", .options = [](CompileOptions& o) { o.mode = "interpret"; }},
    {.text = "mode no-fuse", .options = [](CompileOptions& o) { o.mode = "no-fuse"; }},
};

const Setting concurrent[] = {
    {.text = "another thread calls at the same time", .beside = true},
    {.text = "another thread calls at the same time, ServeMeanwhile",
     .options = [](CompileOptions& o) { o.on_miss = OnMiss::ServeMeanwhile; },
     .beside = true},
    {.text = "another thread calls at the same time, recordings_max 1",
     .options = [](CompileOptions& o) { o.max_specializations = 2, o.recordings_max = 1; },
     .beside = true},
};

const Row errors[] = {
    PAIRS_ROW(2, kFails, return a.view({a.size(0) * a.size(-1)})),
    PAIRS_ROW(2, kFails, return a + in.wide),
    PAIRS_ROW(2, kFails, return index_select(a, 0, in.index + in.count)),
    PAIRS_ROW(2, kFails, a.mul_(2.0); return a + in.row),
    PAIRS_ROW(1, kFails | kVariables, var.a = in.x; return index_select(a, 0, in.index + in.count)),
    PAIRS_ROW(1, kFails | kVariables, var.list[0] = a; return a.view({a.size(0) * a.size(-1)})),
    PAIRS_ROW(
        1, kFails, try { return a + in.wide; } catch (const Error&) { return a * 2.0; }),
    PAIRS_ROW(1, kFails, return in.x.requires_grad_()),
    PAIRS_ROW(1, kFails, Int k = in.count.item().to_int(); check_size(k, 0, 1); return a * k),
};

}  // namespace

const Feature kMetadata{"metadata", metadata, {}, {}};
const Feature kDTypes{"dtypes", dtypes, dtype_wraps, dtype_settings};
const Feature kBytes{"bytes", bytes, {}, {}};
const Feature kRandom{"random", random_rows, random_wraps, {}};
const Feature kFrozen{"frozen", frozen_rows, {}, frozen};
const Feature kOperators{"operators", operators, operator_wraps, {}};
const Feature kPatterns{"patterns", pattern_rows, {}, patterns};
const Feature kThreads{"threads", {}, {}, threads};
const Feature kConcurrent{"concurrent", {}, {}, concurrent};
const Feature kErrors{"errors", errors, {}, {}};

}  // namespace reprise::pairs
