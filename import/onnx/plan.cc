// From what a file says to what is run: names become slots of one frame, which graphs inside others share (a name is
// visible inside, and made once); operators become rows of the table. All that is not supported is told together. Nodes
// stand in the order of the file, which is one of a graph without cycles: what is read before it is made is an error.
#include "import/onnx/plan.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>

#include "base/shown.h"
#include "import/onnx/ml.h"

namespace reprise::onnx {
namespace {

/// Slots by what is seen where a graph is planned. What a graph inside makes, or hides, is undone behind it.
class Names {
 public:
  bool add(const std::string& name, int slot) {
    if (!at_.emplace(name, slot).second) return false;
    undo_.emplace_back(name, -1);
    return true;
  }
  void hide(const std::string& name) {
    const auto found = at_.find(name);
    if (found == at_.end()) return;
    undo_.emplace_back(name, found->second);
    at_.erase(found);
  }
  int find(const std::string& name) const {
    const auto found = at_.find(name);
    return found == at_.end() ? -1 : found->second;
  }
  std::size_t mark() const { return undo_.size(); }
  void back_to(std::size_t mark) {
    for (; undo_.size() > mark; undo_.pop_back()) {
      auto& [name, slot] = undo_.back();
      if (slot < 0) at_.erase(name);
      else at_[name] = slot;
    }
  }

 private:
  std::unordered_map<std::string, int> at_{};
  std::vector<std::pair<std::string, int>> undo_{};
};
constexpr int kDeepest = 16;  ///< graphs inside each other, and functions

/// What is not supported, once each.
struct Missing {
  struct Of {
    std::int64_t count = 0;
    std::string first{}, why{};
  };
  std::map<std::tuple<std::string, std::string, std::int64_t>, Of> operators{};
  std::vector<std::string> tensors{};
};

class Planner {
 public:
  Planner(ModelData& model, const Source& source, Missing& missing)
      : model_(model), source_(source), missing_(missing) {
    for (FunctionData& f : model.functions) by_name_.emplace(f.domain + ":" + f.name, &f);
  }

  Plan main(const std::map<std::string, Tensor>& constants) {
    plan_ = {};
    opsets_ = &model_.opsets;
    given_ = &constants;
    Names names;
    build(model_.graph, plan_.program.graph, names, 0);
    for (const auto& [name, t] : constants)
      if (!used_.contains(name))
        fail(ErrorCode::InvalidArgument, "onnx::load", source_.loc, "the model has no input '", shown(name),
             "', which is to be a constant");
    finish();
    plan_.program.functions = std::move(functions_);
    return std::move(plan_);
  }

 private:
  int slot(const std::string& name) {
    if (plan_.names.size() >= 10'000'000) source_.bad("it has more than 10 million values");
    plan_.names.push_back(name);
    plan_.program.constants.emplace_back();
    plan_.elements.push_back(0), plan_.instead.push_back(0);
    return static_cast<int>(plan_.names.size()) - 1;
  }
  int define(Names& names, const std::string& name, const std::string& who, Graph& graph) {
    const int s = slot(name);
    if (!names.add(name, s)) source_.bad("'" + shown(name) + "' is made twice, the second time by " + who);
    graph.own.push_back(s);
    return s;
  }
  void set_element(int s, std::int32_t element) {
    if (s >= 0 && is_held_wider(element)) plan_.elements[static_cast<std::size_t>(s)] = element;
  }
  void constant(int s, const TensorData& t, const std::string& who) {
    set_element(s, t.element);
    if (!t.tensor.defined()) return missing_.tensors.push_back(who + " is of " + element_name(t.element));
    set_constant(s, t.tensor);
  }
  void set_constant(int s, const Tensor& t) {
    Value v(t);
    v.numbers = numbers_of_constant(t);
    plan_.program.constants[static_cast<std::size_t>(s)] = std::move(v);
  }

  /// `names`: what is seen from outside.
  void build(GraphData& from, Graph& to, Names& names, int depth) {
    const std::size_t outside = names.mark();
    if (depth > kDeepest) source_.bad("graphs lie more than " + std::to_string(kDeepest) + " deep in each other");
    to.name = from.name;
    std::map<std::string_view, const TensorData*> initial;
    for (const TensorData& t : from.initializers)
      if (!initial.emplace(t.name, &t).second) source_.bad("the initializer '" + shown(t.name) + "' is there twice");
    std::set<std::string> inputs;
    for (const ValueInfo& v : from.inputs) {
      if (!inputs.insert(v.name).second) source_.bad("the input '" + shown(v.name) + "' is there twice");
      if (initial.contains(v.name)) continue;  // a default: the initializer's value is taken
      if (depth == 0 && given_ && given_->contains(v.name)) {
        used_.insert(v.name);
        const int s = define(names, v.name, "an input", to);
        set_constant(s, given_->at(v.name)), set_element(s, v.element);
        continue;
      }
      if (depth > 0) names.hide(v.name);  // one of a graph inside hides those outside
      to.in.push_back(define(names, v.name, "an input", to));
      set_element(to.in.back(), v.element);
    }
    for (const TensorData& t : from.initializers) {
      if (depth > 0) names.hide(t.name);
      constant(define(names, t.name, "an initializer", to), t, "the initializer '" + shown(t.name) + "'");
    }
    nodes(from.nodes, to, names, depth);
    for (const ValueInfo& v : from.outputs) {
      const int found = names.find(v.name);
      if (found < 0) source_.bad("nothing makes the result '" + shown(v.name) + "'");
      to.out.push_back(found);
    }
    if (depth > 0) to.declared = std::move(from.outputs);
    names.back_to(outside);
  }

  void nodes(std::vector<NodeData>& from, Graph& to, Names& names, int depth) {
    std::int64_t number = 0;
    // A node that reads what comes later: a cycle, or a wrong order.
    for (NodeData& data : from) {
      Node node;
      node.scope = data.name.empty() ? data.op + "_" + std::to_string(number) : data.name;
      ++number;
      const std::string who = "node '" + shown(node.scope) + "' (" + shown(data.op) + ")";
      for (const std::string& in : data.inputs) {
        if (in.empty()) {
          node.in.push_back(-1);
          continue;
        }
        const int found = names.find(in);
        if (found < 0) source_.bad(who + " reads '" + shown(in) + "', which nothing before it makes" + later(from, in));
        node.in.push_back(found);
      }
      resolve(data, node, who);
      for (Attribute& a : data.attributes) {
        if (a.kind != Attribute::Kind::Graph || !a.graph) continue;
        auto inner = std::make_unique<Graph>();
        build(*a.graph, *inner, names, depth + 1);
        node.graphs.emplace_back(a.name, std::move(inner));
      }
      for (const std::string& out : data.outputs) node.out.push_back(out.empty() ? -1 : define(names, out, who, to));
      if (is_constant(data, node)) continue;
      follow_elements(data, node);
      for (Attribute& a : data.attributes) a.graph.reset();
      for (const Attribute& a : data.attributes)
        if (a.name == "value" && a.tensor && a.tensor->tensor.defined())
          node.value = numbers_of_constant(a.tensor->tensor);
      node.data.op = data.op, node.data.name = data.name, node.data.domain = data.domain;
      node.data.attributes = std::move(data.attributes);
      give_instead(node);
      prepare(node, who);
      if (!folded(node)) to.nodes.push_back(std::move(node));
    }
  }
  static std::string later(const std::vector<NodeData>& all, const std::string& name) {
    for (const NodeData& n : all)
      if (std::find(n.outputs.begin(), n.outputs.end(), name) != n.outputs.end())
        return ": '" + shown(n.name) + "' makes it later, or of it (a cycle)";
    return {};
  }

  void resolve(const NodeData& data, Node& node, const std::string& who) {
    for (const Attribute& a : data.attributes)
      if (a.kind == Attribute::Kind::Tensor && a.tensor && !a.tensor->tensor.defined() &&
          dtype_of_element(a.tensor->element) == std::nullopt && a.of_caller.empty())
        missing_.tensors.push_back("the attribute '" + shown(a.name) + "' of " + who + " is of " +
                                   element_name(a.tensor->element));
    if (const auto own = by_name_.find(data.domain + ":" + data.op); own != by_name_.end()) {
      node.function = function(*own->second).get();
      return;
    }
    const auto set = opsets_->find(data.domain);
    if (set == opsets_->end()) return missing(data, node, 0, "of a domain that the model does not import");
    node.version = set->second;
    bool any = false;
    node.row = find_row(data.domain, data.op, set->second, &any);
    if (!node.row) missing(data, node, set->second, any ? "of other versions is supported" : "");
  }
  void missing(const NodeData& data, const Node& node, std::int64_t version, const std::string& why) {
    Missing::Of& of = missing_.operators[{data.domain, data.op, version}];
    if (of.count++ == 0) of.first = node.scope, of.why = why;
  }

  /// The tables of its attributes.
  void prepare(Node& node, const std::string& who) {
    if (!node.row || !node.row->prepare) return;
    for (const Attribute& a : node.data.attributes)
      if (!a.of_caller.empty())
        return missing(node.data, node, node.version, "with an attribute that the caller of a function gives");
    Frame none{.program = plan_.program, .values = {}};
    try {
      Call call(node, none);
      node.prepared = node.row->prepare(call);
    } catch (const Error& e) {
      if (e.code() == ErrorCode::FileFormat) source_.bad(who + ": " + e.message());
      missing(node.data, node, node.version, e.message());
    }
  }
  /// Of what there are no tensors of: labels that are strings are their numbers, maps of labels are what they are of.
  void give_instead(const Node& node) {
    if (!node.row || node.out.empty()) return;
    static const std::set<std::string_view> moves{"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"};
    std::int32_t ignored = 0;
    std::int32_t& element = node.out[0] < 0 ? ignored : plan_.instead[static_cast<std::size_t>(node.out[0])];
    const bool keeps = node.data.domain.empty() && moves.contains(node.data.op);
    for (std::size_t i = 0; i < node.in.size(); ++i) {
      const std::int32_t given = node.in[i] < 0 ? 0 : plan_.instead[static_cast<std::size_t>(node.in[i])];
      if (given && keeps && i == 0) element = given;
      else if (given) missing(node.data, node, node.version, "of labels that are strings, or of maps");
    }
    if (node.data.domain != kMlDomain) return;
    if (node.data.op == "ZipMap") element = static_cast<std::int32_t>(Element::Float);
    for (const Attribute& a : node.data.attributes)
      if (node.data.op != "ZipMap" && a.name == "classlabels_strings" && !a.strings.empty())
        element = static_cast<std::int32_t>(Element::Int64);
  }

  /// What is held wider keeps its values where elements are moved or compared; sums and products wrap as the file's
  /// integers do, and what else there is of 16 bits and more is not supported (of 2 and 4 bits there is nothing else).
  void follow_elements(const NodeData& data, Node& node) {
    static const std::set<std::string_view> moves{"Concat",         "DepthToSpace", "Expand",   "Flatten", "Gather",
                                                  "GatherElements", "GatherND",     "Identity", "Pad",     "Reshape",
                                                  "Slice",          "SpaceToDepth", "Split",    "Squeeze", "Tile",
                                                  "Transpose",      "Unsqueeze",    "Where"};
    static const std::set<std::string_view> takes{
        "Cast", "CastLike", "DequantizeLinear", "Equal",          "Greater", "GreaterOrEqual",
        "If",   "Less",     "LessOrEqual",      "QuantizeLinear", "Shape",   "Size"};
    static const std::set<std::string_view> wraps{"Abs",       "Add",        "BitShift", "BitwiseAnd", "BitwiseNot",
                                                  "BitwiseOr", "BitwiseXor", "Div",      "Max",        "Min",
                                                  "Mod",       "Mul",        "Neg",      "Sub",        "Sum"};
    const auto element = [&](int s) { return s < 0 ? 0 : plan_.elements[static_cast<std::size_t>(s)]; };
    bool any = false;
    for (int s : node.in) any |= element(s) != 0;
    if (any)
      for (int s : node.in) node.elements.push_back(element(s));
    const bool gives = !node.out.empty() && node.out[0] >= 0;
    if (any && gives && node.row && data.domain.empty() && wraps.contains(data.op) &&
        integer_element(node.elements[0]).bits > 8) {
      node.wraps = node.elements[0];
      for (int s : node.out) set_element(s, node.wraps);
      return;
    }
    const bool keeps = node.row && data.domain.empty() && moves.contains(data.op);
    if (!keeps && !(node.row && data.domain.empty() && takes.contains(data.op)))
      for (std::int32_t e : node.elements)
        if (integer_element(e).bits > 8) return missing(data, node, node.version, "of " + element_name(e));
    if (keeps) {
      const std::size_t from = data.op == "Where" ? 1 : 0;
      if (from < node.elements.size())
        for (int s : node.out) set_element(s, node.elements[from]);
    } else if (node.row && !node.out.empty()) {
      const auto said = [&](const char* name) -> std::int32_t {
        for (const Attribute& a : data.attributes)
          if (a.name == name && a.kind == Attribute::Kind::Int) return static_cast<std::int32_t>(a.i);
        return 0;
      };
      const auto of = [&](std::size_t i) { return i < node.elements.size() ? node.elements[i] : 0; };
      if (data.op == "Cast" || data.op == "BitCast") set_element(node.out[0], said("to"));
      else if (data.op == "CastLike") set_element(node.out[0], of(1));
      else if (data.op == "QuantizeLinear") set_element(node.out[0], of(2) ? of(2) : said("output_dtype"));
      else if (const std::int32_t t = said("dtype")) set_element(node.out[0], t);
      for (const Attribute& a : data.attributes)
        if (data.op == "ConstantOfShape" && a.kind == Attribute::Kind::Tensor)
          set_element(node.out[0], a.tensor->element);
      for (const auto& [name, g] : node.graphs)
        for (std::size_t i = 0; data.op == "If" && i < g->out.size() && i < node.out.size(); ++i)
          set_element(node.out[i], element(g->out[i]));
    }
  }

  const std::shared_ptr<Function>& function(FunctionData& from) {
    const std::string key = from.domain + ":" + from.name;
    if (const auto found = made_.find(key); found != made_.end()) {
      if (!found->second) source_.bad("the function '" + shown(from.name) + "' calls itself");
      return found->second;
    }
    if (made_.size() > 10'000) source_.bad("it has more than 10,000 functions");
    made_[key] = nullptr;
    if (++functions_deep_ > kDeepest)
      source_.bad("functions call each other more than " + std::to_string(kDeepest) + " deep");
    auto f = std::make_shared<Function>();
    f->name = from.name, f->domain = from.domain, f->defaults = std::move(from.defaults);
    // The body is planned as a model of its own.
    Plan outer = std::exchange(plan_, {});
    const auto* opsets = std::exchange(opsets_, from.opsets.empty() ? &model_.opsets : &from.opsets);
    const auto* given = std::exchange(given_, nullptr);
    Names names;
    Graph& body = plan_.program.graph;
    for (const std::string& in : from.inputs) body.in.push_back(define(names, in, "an input", body));
    nodes(from.nodes, body, names, 0);
    for (const std::string& out : from.outputs) {
      const int found = names.find(out);
      if (found < 0)
        source_.bad("nothing makes the result '" + shown(out) + "' of the function '" + shown(from.name) + "'");
      body.out.push_back(found);
    }
    finish();
    f->body = std::move(plan_.program);
    plan_ = std::move(outer), opsets_ = opsets, given_ = given;
    --functions_deep_;
    functions_.push_back(f);
    return made_[key] = f;
  }

  bool is_constant(const NodeData& data, const Node& node) {
    if (data.op != "Constant" || !data.domain.empty() || node.out.size() != 1 || node.out[0] < 0 || !node.in.empty())
      return false;
    for (const Attribute& a : data.attributes) {
      if (!a.of_caller.empty()) return false;
      using Kind = Attribute::Kind;
      if (a.name == "value" && a.kind == Kind::Tensor)
        return constant(node.out[0], *a.tensor, "node '" + shown(node.scope) + "'"), true;
      if (a.name == "value_float" && a.kind == Kind::Float)
        return set_constant(node.out[0], tensor(static_cast<float>(a.f))), true;
      if (a.name == "value_int" && a.kind == Kind::Int) return set_constant(node.out[0], tensor(a.i)), true;
      if (a.name == "value_ints" && a.kind == Kind::Ints) return set_constant(node.out[0], tensor_of(a.ints)), true;
      if (a.name == "value_floats" && a.kind == Kind::Floats)
        return set_constant(node.out[0], tensor_of(std::vector<float>(a.floats.begin(), a.floats.end()))), true;
    }
    return false;
  }

  /// Of constants alone: computed now, where it takes no more memory than they do. (What cannot be computed says so
  /// when it is run.)
  bool folded(const Node& node) {
    if (!node.row || !node.graphs.empty() || node.in.empty() || node.wraps) return false;
    bool all = true, numbers = true, referring = false;
    for (int s : node.in) {
      if (s < 0) continue;
      const Value& v = plan_.program.constants[static_cast<std::size_t>(s)];
      all &= v.given(), numbers &= v.numbers != nullptr;
    }
    for (const Attribute& a : node.data.attributes) referring |= !a.of_caller.empty();
    if (!all || referring || !(node.row->moves || (node.row->fold && numbers))) return false;
    // One room for all nodes: a new one for each would take time by the square of their number.
    Frame frame{.program = plan_.program, .values = std::move(room_)};
    if (frame.values.size() < plan_.program.constants.size()) frame.values.resize(plan_.program.constants.size());
    const bool made = fold_into(node, frame, numbers);
    for (int s : node.out)
      if (s >= 0) frame.values[static_cast<std::size_t>(s)] = {};
    room_ = std::move(frame.values);
    return made;
  }
  /// Runs the node; its results become constants. False where it cannot be computed now.
  bool fold_into(const Node& node, Frame& frame, bool numbers) {
    try {
      Call call(node, frame);
      if (!(node.row->fold && numbers && node.row->fold(call))) {
        if (!node.row->moves) return false;
        node.row->run(call);
      }
    } catch (const Error&) {
      return false;
    }
    for (int s : node.out) {
      if (s < 0) continue;
      Value v = std::move(frame.values[static_cast<std::size_t>(s)]);
      if (!v.given()) return false;
      if (!v.has_tensor && v.numbers) v.tensor = to_tensor(*v.numbers), v.has_tensor = true;
      if (v.has_tensor && !v.numbers) v.numbers = numbers_of_constant(v.tensor);
      plan_.program.constants[static_cast<std::size_t>(s)] = std::move(v);
    }
    return true;
  }

  /// When values end, and which decide sizes.
  void finish() {
    for (auto* marks : {&plan_.decides, &plan_.wanted, &plan_.chooses}) marks->assign(plan_.names.size(), false);
    ends(plan_.program.graph);
    const auto numbers = [](const Node& n, std::size_t input) {
      return (n.row->numbers >> std::min<std::size_t>(input, 31) & 1) != 0;
    };
    decide(plan_.program.graph, plan_.decides, true, numbers);
    decide(plan_.program.graph, plan_.wanted, false,
           [&](const Node& n, std::size_t input) { return numbers(n, input) && !(n.data.op == "Loop" && input == 1); });
    decide(plan_.program.graph, plan_.chooses, true,
           [](const Node& n, std::size_t input) { return n.data.op == "If" && input == 0; });
  }
  static void reads(const Node& n, std::set<int>& all) {
    for (int s : n.in)
      if (s >= 0) all.insert(s);
    for (const auto& [name, g] : n.graphs) {
      for (const Node& inner : g->nodes) reads(inner, all);
      all.insert(g->out.begin(), g->out.end());
    }
  }
  static void ends(Graph& g) {
    std::set<int> later(g.out.begin(), g.out.end());
    const std::set<int> own(g.own.begin(), g.own.end());
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
      std::set<int> read;
      reads(*n, read);
      for (int s : n->out)
        if (s >= 0) read.insert(s);
      for (int s : read)
        if (own.contains(s) && later.insert(s).second) n->dead.push_back(s);
      for (auto& [name, inner] : n->graphs) ends(*inner);
    }
  }
  /// Marks, from the inputs of nodes that are `taken` backwards, what they are computed of as numbers. With
  /// `conditions`, also from what bodies of loops say of another turn.
  template <class Taken>
  static void decide(const Graph& g, std::vector<bool>& marks, bool conditions, const Taken& taken) {
    const auto mark = [&](int s) {
      if (s >= 0) marks[static_cast<std::size_t>(s)] = true;
    };
    for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
      bool wanted = false;
      for (int s : n->out) wanted |= s >= 0 && marks[static_cast<std::size_t>(s)];
      // What a graph inside takes and gives stands beside the node's own: of a loop behind the number of the turn (and
      // whether it goes on).
      const bool loops = n->data.op == "Loop";
      for (const auto& [name, inner] : n->graphs) {
        const std::size_t results = loops ? 1 : 0;
        if (loops && conditions && !inner->out.empty()) mark(inner->out[0]);
        for (std::size_t i = 0; i + results < inner->out.size() && i < n->out.size(); ++i)
          if (n->out[i] >= 0 && marks[static_cast<std::size_t>(n->out[i])]) mark(inner->out[i + results]);
        decide(*inner, marks, conditions, taken);
        for (std::size_t i = loops ? 1 : 0; i < inner->in.size() && i < n->in.size(); ++i)
          if (marks[static_cast<std::size_t>(inner->in[i])]) mark(n->in[i]);
      }
      if (!n->row) continue;
      for (std::size_t i = 0; i < n->in.size(); ++i)
        if (taken(*n, i) || (wanted && n->row->fold)) mark(n->in[i]);
    }
  }

  ModelData& model_;
  const Source& source_;
  Missing& missing_;
  Plan plan_{};
  const std::map<std::string, std::int64_t>* opsets_ = nullptr;
  const std::map<std::string, Tensor>* given_ = nullptr;
  std::set<std::string> used_{};
  std::map<std::string, FunctionData*> by_name_{};
  std::map<std::string, std::shared_ptr<Function>> made_{};
  std::vector<std::shared_ptr<Function>> functions_{};
  std::vector<Value> room_{};  ///< all empty between two nodes that are folded
  int functions_deep_ = 0;
};

}  // namespace

Plan make_plan(ModelData& model, const Source& source, const std::map<std::string, Tensor>& constants) {
  Missing missing;
  Plan plan = Planner(model, source, missing).main(constants);
  if (missing.operators.empty() && missing.tensors.empty()) return plan;
  std::string text = "not supported:";
  constexpr std::size_t kMost = 50;
  std::size_t told = 0;
  for (const auto& [key, of] : missing.operators) {
    if (++told > kMost) break;
    const auto& [domain, op, version] = key;
    text += "\n  " + (domain.empty() ? std::string("ai.onnx") : shown(domain)) + "." + shown(op);
    if (version) text += " of version " + std::to_string(version);
    text += ": " + std::to_string(of.count) + (of.count == 1 ? " node" : " nodes") + ", the first is '" +
            shown(of.first) + "'" + (of.why.empty() ? "" : " (" + of.why + ")");
  }
  for (const std::string& t : missing.tensors)
    if (++told <= kMost) text += "\n  " + t;
  if (told > kMost) text += "\n  ... and " + std::to_string(told - kMost) + " more";
  source.bad(text, ErrorCode::InvalidArgument);
}

}  // namespace reprise::onnx
