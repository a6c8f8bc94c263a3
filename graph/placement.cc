#include "reprise/placement.h"

#include <algorithm>
#include <charconv>

#include "base/errors.h"
#include "base/shown.h"

namespace reprise {

namespace {

/// The text of placements or of a mesh, read from the left.
class Reader {
 public:
  Reader(const char* op, std::string_view text) : op_(op), text_(text) {}

  bool done() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  bool take(std::string_view token) {
    if (done() || !text_.substr(at_).starts_with(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!take(token)) bad("'" + std::string(token) + "'");
  }
  std::int64_t number() {
    done();
    std::int64_t n = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), n);
    if (error != std::errc()) bad("a number");
    at_ = static_cast<std::size_t>(end - text_.data());
    return n;
  }
  std::string until(char end) {
    done();
    const std::size_t start = at_;
    while (at_ < text_.size() && text_[at_] != end) ++at_;
    return std::string(text_.substr(start, at_ - start));
  }
  [[noreturn]] void bad(const std::string& wanted) const {
    fail(ErrorCode::InvalidArgument, op_, {}, "at character ", at_ + 1, " of '", shown(std::string(text_), 200),
         "': wanted ", wanted);
  }

 private:
  const char* op_;
  std::string_view text_;
  std::size_t at_ = 0;
};

constexpr ReduceOp kReductions[] = {ReduceOp::Sum, ReduceOp::Mean, ReduceOp::Max, ReduceOp::Min};

}  // namespace

Placement Shard(int dim) {
  if (dim < 0)
    fail(ErrorCode::InvalidArgument, "Shard", {}, "dimension ", dim, " is negative: a placement counts from 0");
  Placement p;
  p.kind_ = Placement::Kind::Shard, p.dim_ = dim;
  return p;
}

Placement Partial(ReduceOp op) {
  Placement p;
  p.kind_ = Placement::Kind::Partial, p.reduce_ = op;
  return p;
}

std::string to_string(ReduceOp op) {
  switch (op) {
    case ReduceOp::Sum: return "sum";
    case ReduceOp::Mean: return "mean";
    case ReduceOp::Max: return "max";
    case ReduceOp::Min: return "min";
  }
  return "?";
}

std::string to_string(const Placement& p) {
  if (p.is_shard()) return "S(" + std::to_string(p.dim()) + ")";
  if (p.is_replicate()) return "R";
  return p.reduce() == ReduceOp::Sum ? "P" : "P(" + to_string(p.reduce()) + ")";
}

std::string to_string(const Placements& placements) {
  std::string s;
  for (const Placement& p : placements) s += to_string(p);
  return s;
}

Placements parse_placements(std::string_view text) {
  Reader r("parse_placements", text);
  Placements out;
  while (!r.done()) {
    if (r.take("R")) {
      out.push_back(Replicate());
    } else if (r.take("S(")) {
      const std::int64_t dim = r.number();
      if (dim < 0 || dim > 1000) r.bad("a dimension from 0 to 1000");
      r.expect(")");
      out.push_back(Shard(static_cast<int>(dim)));
    } else if (r.take("P")) {
      ReduceOp op = ReduceOp::Sum;
      if (r.take("(")) {
        const auto* named = std::find_if(std::begin(kReductions), std::end(kReductions),
                                         [&](ReduceOp k) { return r.take(to_string(k)); });
        if (named == std::end(kReductions)) r.bad("sum, mean, max or min");
        op = *named;
        r.expect(")");
      }
      out.push_back(Partial(op));
    } else {
      r.bad("R, S(dimension), P or P(reduction)");
    }
  }
  return out;
}

MeshShape::MeshShape(std::vector<std::int64_t> sizes, std::vector<std::string> names)
    : sizes_(std::move(sizes)), names_(std::move(names)) {
  const auto refuse = [](auto&&... what) { fail(ErrorCode::InvalidArgument, "MeshShape", {}, what...); };
  if (names_.empty())
    for (std::size_t i = 0; i < sizes_.size(); ++i) names_.push_back(std::to_string(i));
  if (names_.size() != sizes_.size()) refuse(sizes_.size(), " sizes and ", names_.size(), " names");
  std::int64_t ranks = 1;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] < 1) refuse("axis ", i, " ('", names_[i], "') has size ", sizes_[i]);
    if (sizes_[i] > INT32_MAX / ranks) refuse("more than 2147483647 ranks");
    ranks *= sizes_[i];
    if (names_[i].empty()) refuse("axis ", i, " has an empty name");
    if (names_[i].find_first_of("=,[] ") != std::string::npos)
      refuse("the name '", names_[i], "' holds a blank, a bracket, '=' or ','");
    if (std::find(names_.begin(), names_.begin() + static_cast<std::ptrdiff_t>(i), names_[i]) !=
        names_.begin() + static_cast<std::ptrdiff_t>(i))
      refuse("two axes are named '", names_[i], "'");
  }
}

int MeshShape::axis(std::string_view name) const {
  const auto at = std::find(names_.begin(), names_.end(), name);
  if (at == names_.end())
    fail(ErrorCode::InvalidArgument, "MeshShape", {}, "no axis is named '", shown(std::string(name), 100), "' in ",
         to_string(*this));
  return static_cast<int>(at - names_.begin());
}

std::int64_t MeshShape::ranks() const {
  std::int64_t n = 1;
  for (const std::int64_t s : sizes_) n *= s;
  return n;
}

std::vector<std::int64_t> MeshShape::coordinates(std::int64_t rank) const {
  if (rank < 0 || rank >= ranks())
    fail(ErrorCode::IndexOutOfRange, "MeshShape", {}, "rank ", rank, " of a mesh of ", ranks());
  std::vector<std::int64_t> at(sizes_.size());
  for (std::size_t i = sizes_.size(); i-- > 0; rank /= sizes_[i]) at[i] = rank % sizes_[i];
  return at;
}

std::int64_t MeshShape::rank(const std::vector<std::int64_t>& at) const {
  if (at.size() != sizes_.size())
    fail(ErrorCode::InvalidArgument, "MeshShape", {}, at.size(), " coordinates in ", to_string(*this));
  std::int64_t rank = 0;
  for (std::size_t i = 0; i < at.size(); ++i) {
    if (at[i] < 0 || at[i] >= sizes_[i])
      fail(ErrorCode::IndexOutOfRange, "MeshShape", {}, "coordinate ", at[i], " of axis '", names_[i], "' in ",
           to_string(*this));
    rank = rank * sizes_[i] + at[i];
  }
  return rank;
}

std::string to_string(const MeshShape& mesh) {
  std::string s = "[";
  for (int i = 0; i < mesh.axes(); ++i) s += (i ? ", " : "") + mesh.name(i) + "=" + std::to_string(mesh.size(i));
  return s + "]";
}

MeshShape parse_mesh_shape(std::string_view text) {
  Reader r("parse_mesh_shape", text);
  std::vector<std::int64_t> sizes;
  std::vector<std::string> names;
  r.expect("[");
  if (!r.take("]")) {
    do {
      names.push_back(r.until('='));
      r.expect("=");
      sizes.push_back(r.number());
    } while (r.take(","));
    r.expect("]");
  }
  if (!r.done()) r.bad("the end");
  return MeshShape(std::move(sizes), std::move(names));
}

}  // namespace reprise
