// Operators of users (reprise/library.h): public types over graph/register_op.h and the columns of kernels/.
#include "reprise/library.h"

#include <algorithm>
#include <cctype>
#include <memory>

#include "base/errors.h"
#include "graph/interpreter.h"
#include "graph/register_op.h"
#include "graph/schema.h"
#include "graph/shape_rules.h"
#include "graph/writers.h"
#include "kernels/plan/columns.h"
#include "runtime/users/decomposition.h"

namespace reprise {

using graph::ArgDef;
using graph::ArgType;
using graph::OpId;
using graph::RuleCtx;

namespace {

using Shape = std::function<void(ShapeCall&)>;
using Workspace = std::function<Int(const std::vector<kernels::Operand>&)>;

constinit graph::OpColumn<const Shape*> g_shapes("shape function of a user");

/// What a user's function throws is an error of the operator.
void ask(RuleCtx& c, const Shape& shape) {
  ShapeCall call(c);
  try {
    shape(call);
  } catch (const Error&) {
    throw;
  } catch (const std::exception& e) {
    fail(ErrorCode::InvalidArgument, c.op.schema.name.c_str(), c.loc, "its shape function throws: ", e.what());
  }
}
void user_shape(RuleCtx& c) { ask(c, **g_shapes.find(c.op.id)); }
void like_the_first(RuleCtx& c) {
  if (c.op.n_made == 1) c.result(c.tensor(0).dtype, c.tensor(0).layout.sizes);
}

}  // namespace

// ---- ShapeCall

bool ShapeCall::has(int arg) const { return c_.has(arg); }
DType ShapeCall::dtype(int tensor) const { return c_.tensor(tensor).dtype; }
const Ints& ShapeCall::sizes(int tensor) const { return c_.tensor(tensor).layout.sizes; }
Int ShapeCall::size(int tensor, int d) const {
  return sizes(tensor)[static_cast<std::size_t>(wrap_dim(d, dim(tensor), c_.op.schema.name.c_str(), c_.loc))];
}
int ShapeCall::dim(int tensor) const { return c_.tensor(tensor).dim(); }
std::size_t ShapeCall::count(int tensors) const { return c_.tensors(tensors).size(); }

static const TensorMeta& of_list(const RuleCtx& c, int tensors, std::size_t i) {
  const auto list = c.tensors(tensors);
  if (i >= list.size() || !list[i])
    fail(ErrorCode::IndexOutOfRange, c.op.schema.name.c_str(), c.loc, "'",
         c.op.schema.args[static_cast<std::size_t>(tensors)].name, "' has no tensor ", i);
  return *list[i];
}
const Ints& ShapeCall::sizes(int tensors, std::size_t i) const { return of_list(c_, tensors, i).layout.sizes; }
DType ShapeCall::dtype(int tensors, std::size_t i) const { return of_list(c_, tensors, i).dtype; }
Int ShapeCall::integer(int arg) const { return c_.integer(arg); }
const Ints& ShapeCall::integers(int arg) const { return c_.ints(arg); }
Scalar ShapeCall::number(int arg) const { return c_.scalar(arg); }
bool ShapeCall::flag(int arg) const { return c_.flag(arg); }
DType ShapeCall::dtype_argument(int arg, DType otherwise) const { return c_.dtype(arg, otherwise); }
std::string_view ShapeCall::text(int arg) const { return c_.str(arg); }
void ShapeCall::result(DType t, const Ints& sizes) {
  c_.result(graph::checked_dtype(t, c_.op.schema.name.c_str(), c_.loc), sizes);
}
void ShapeCall::fail(ErrorCode code, const std::string& message) const {
  reprise::fail(code, c_.op.schema.name.c_str(), c_.loc, message);
}
void ShapeCall::expect_equal(Int a, Int b, const char* what) const {
  if (!graph::same(a, b, c_.loc, what))
    reprise::fail(ErrorCode::ShapeMismatch, c_.op.schema.name.c_str(), c_.loc, "sizes ", a, " and ", b, " of ", what);
}

// ---- Operator

Operator::Results::operator Tensor() const {
  if (all_.size() != 1)
    fail(ErrorCode::InvalidArgument, std::string(name_).c_str(), {}, "gives ", all_.size(),
         " results, and one is wanted");
  return all_[0];
}

std::string_view Operator::name() const { return graph::op(static_cast<OpId>(id_)).schema.name; }

Operator::Results Operator::call(std::span<const detail::OperatorArg> given, SourceLoc loc) const {
  static_assert(std::is_same_v<detail::OperatorArg, graph::CallArg>);
  const graph::OpDef& def = graph::op(static_cast<OpId>(id_));
  detail::expect_arguments(def, given, loc);
  if (const Decomposition* of = detail::decomposition_for(def, given))
    return Results(detail::decomposed(def, *of, given, loc), def.schema.name);
  return Results(graph::calln(def.id, given, loc), def.schema.name);
}

// ---- Library

Library::Library(std::string name) : name_(std::move(name)) {
  bool ok = !name_.empty() && !std::isdigit(static_cast<unsigned char>(name_[0]));
  for (char c : name_) ok = ok && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (!ok || name_ == "aten")
    fail(ErrorCode::InvalidArgument, "Library", {}, "'", name_, "' can be no namespace of operators");
}

Operator Library::define(OperatorDef d) const {
  graph::Schema schema = graph::parse_schema(d.schema);
  if (const std::size_t colon = schema.name.find("::"); colon == std::string::npos) d.schema = name_ + "::" + d.schema;
  else if (schema.name.substr(0, colon) != name_)
    fail(ErrorCode::InvalidArgument, schema.name.c_str(), {}, "is defined by the library '", name_, "'");
  auto refuse = [&](const char* why) {
    fail(ErrorCode::InvalidArgument,
         (schema.name.find("::") == std::string::npos ? name_ + "::" + schema.name : schema.name).c_str(), {}, why);
  };
  const bool has_kernel = d.cpu || d.cuda;
  if (!has_kernel && !d.decomposition) refuse("has no kernel, and no decomposition");
  if (!has_kernel && (d.shape || d.workspace || d.may_fail || d.lane || d.moves || !d.functional.empty()))
    refuse("has a decomposition alone, which decides what else is told of it");
  if (schema.n_results < 0 && d.decomposition) refuse("gives a list, which a decomposition does not");
  if (d.decomposition) detail::expect_parameters(schema, d.decomposition);
  if (!d.samples.empty() && (d.cpu != nullptr) + bool(d.decomposition) + !d.functional.empty() < 2)
    refuse("has samples, and no two ways to compute them");
  if (d.workspace && !d.cuda) refuse("says how much memory its kernel for a device works in, and has none");
  const graph::Writes w = graph::writes_of(schema);
  if (has_kernel && !d.shape &&
      (w.writes.empty() ? schema.n_results : std::count(w.returns.begin(), w.returns.end(), -1)) > 1)
    refuse("has several results, and no shape function");
  std::vector<graph::OpFact> facts;
  std::unique_ptr<const Workspace> workspace;
  std::unique_ptr<const Shape> shape;
  if (d.cpu) facts.push_back(kernels::reference_kernels().fact({d.cpu}));
  if (d.workspace)
    workspace =
        std::make_unique<const Workspace>([of = std::move(d.workspace)](const std::vector<kernels::Operand>& operands) {
          std::vector<WorkspaceTensor> tensors;
          for (const kernels::Operand& o : operands) tensors.push_back({o.dtype, o.layout.sizes});
          return of(tensors);
        });
  if (d.cuda) facts.push_back(kernels::captured_kernels().fact({d.cuda, workspace.get()}));
  std::unique_ptr<const Decomposition> decomposition;
  if (d.decomposition)
    facts.push_back(detail::decompositions().fact(
        (decomposition = std::make_unique<const Decomposition>(std::move(d.decomposition))).get()));
  std::function<void(OpId)> check;
  if (!d.samples.empty()) check = [&](OpId id) { detail::expect_samples_agree(id, d.samples); };
  const graph::ShapeRule rule = d.shape ? user_shape : like_the_first;
  if (d.shape) facts.push_back(g_shapes.fact((shape = std::make_unique<const Shape>(std::move(d.shape))).get()));
  // What is taken apart as it is called is in no graph.
  const graph::OpClass cls = has_kernel ? graph::OpClass::Reference : graph::OpClass::Transfer;
  const OpId id = graph::register_op({.schema = d.schema,
                                      .cls = cls,
                                      .shape = rule,
                                      .moves = d.moves,
                                      .effects = {.may_fail = d.may_fail, .lane = d.lane},
                                      .functional = std::move(d.functional),
                                      .check = std::move(check)},
                                     facts);
  // Operators stay for good, and so do their functions.
  static_cast<void>(workspace.release());
  static_cast<void>(shape.release());
  static_cast<void>(decomposition.release());
  return Operator(static_cast<std::uint16_t>(id));
}

Operator Library::find(std::string_view name) const {
  const std::string full =
      name.find("::") == std::string_view::npos ? name_ + "::" + std::string(name) : std::string(name);
  const graph::OpDef* o = graph::find_op(full);
  if (!o || !full.starts_with(name_ + "::"))
    fail(ErrorCode::InvalidArgument, "Library", {}, "the library '", name_, "' has no operator '", std::string(name),
         "'");
  return Operator(static_cast<std::uint16_t>(o->id));
}

}  // namespace reprise
