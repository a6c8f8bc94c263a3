#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/op.h"

namespace reprise::graph {

/// The shape rules that rows of ops.def name. Each gives result dtype and sizes as ATen would, for plain and symbolic
/// sizes.
namespace rules {
// shape_pointwise.cc
void arithmetic(RuleCtx&);
void arithmetic_no_bool(RuleCtx&);
void subtraction(RuleCtx&);
void division(RuleCtx&);
void power(RuleCtx&);
void binary_float(RuleCtx&);
void binary_float_only(RuleCtx&);
void lerp(RuleCtx&);
void addcmul(RuleCtx&);
void addcdiv(RuleCtx&);
void comparison(RuleCtx&);
void bitwise(RuleCtx&);
void shift(RuleCtx&);
void unary(RuleCtx&);
void unary_no_bool(RuleCtx&);
void unary_square(RuleCtx&);
void unary_float(RuleCtx&);
void unary_float_only(RuleCtx&);
void unary_bool(RuleCtx&);
void unary_bitwise(RuleCtx&);
void gelu(RuleCtx&);
void where(RuleCtx&);
void clamp(RuleCtx&);
void masked_fill(RuleCtx&);
void to(RuleCtx&);
void copy(RuleCtx&);
void fill(RuleCtx&);
// shape_reduce.cc
void reduce_sum(RuleCtx&);
void reduce_extreme(RuleCtx&);
void reduce_bool(RuleCtx&);
void reduce_mean(RuleCtx&);
void reduce_var(RuleCtx&);
void reduce_float(RuleCtx&);
void reduce_norm(RuleCtx&);
void reduce_arg(RuleCtx&);
void cumsum(RuleCtx&);
void softmax(RuleCtx&);
void layer_norm(RuleCtx&);
void rms_norm(RuleCtx&);
void topk(RuleCtx&);
void sort(RuleCtx&);
// shape_matmul.cc
void mm(RuleCtx&);
void bmm(RuleCtx&);
void linear(RuleCtx&);
void matmul(RuleCtx&);
void addmm(RuleCtx&);
void attention(RuleCtx&);
// shape_scaled.cc
void int_mm(RuleCtx&);
void scaled_mm(RuleCtx&);
// shape_index.cc
void embedding(RuleCtx&);
void index_select(RuleCtx&);
void gather(RuleCtx&);
void index(RuleCtx&);
void scatter(RuleCtx&);
void scatter_reduce(RuleCtx&);
void index_put(RuleCtx&);
void cat(RuleCtx&);
void view_scatter(RuleCtx&);
void view_rule(RuleCtx&);
void set_source(RuleCtx&);
// shape_create.cc
void full(RuleCtx&);
void arange(RuleCtx&);
void random(RuleCtx&);
void multinomial(RuleCtx&);
// shape_transfer.cc
void to_device(RuleCtx&);
void copy_from(RuleCtx&);
void item(RuleCtx&);
// shape_region.cc
void cond(RuleCtx&);
void scan(RuleCtx&);
}  // namespace rules

// ---- questions of shape rules (questions.cc). They never ask what is known, and record what they ask with the user's
// line.

/// Decides it for this trace; records `why` with the guard.
bool ask(const Bool&, const char* why);
/// Must hold: false (and no guard) if it does not in the call being traced.
bool require(const Bool&, const char* why);
/// Are the two sizes equal, as the operator requires? Guards the equality unless known; false adds no guard.
bool same(Int a, Int b, SourceLoc, const char* why);
/// A plain number equal to v? Never asks.
inline bool is_plain(Int a, std::int64_t v) { return !a.is_symbolic() && a.hint() == v; }
/// Has it a number that only the data tell (docs/data_sizes.md)?
bool depends_on_data(const Int&);
/// Would asking it end the trace, because only data tell?
bool data_decides(const Bool&);
/// The -1 that stands for a size to be found; an argument that is -1 in this call is guarded to be.
inline bool is_to_infer(Int a, SourceLoc loc) {
  return a.hint() == -1 && static_cast<bool>(detail::compare_eq(a, -1, loc));
}

/// `t`; throws InvalidArgument, naming `op`, for a number that is no dtype's.
DType checked_dtype(DType t, const char* op, SourceLoc);

/// Throws InvalidArgument, naming `op`, for more dimensions than a tensor may have, and for more elements of
/// `item_size` bytes than 63 bits count (1: a view, which needs no memory of its own). Symbols count with the value
/// they have in the call being traced; the sizes of later calls are checked when they are computed
/// (runtime/replay/program.cc).
void check_sizes(const Ints& sizes, std::int64_t item_size, const char* op, SourceLoc);

/// Do a * b and a - b fit 64 bits? Decided for this trace, like a branch: plain numbers would wrap.
bool product_fits(Int a, Int b, const char* why);
bool difference_fits(Int a, Int b, const char* why);
/// The product of sizes in the call being traced: nothing where 64 bits do not hold it. (A size of 0 makes any product
/// 0.)
std::optional<std::int64_t> product_now(const Ints& sizes);

/// ceil(n / step) for 0 <= n and 0 < step.
Int count_steps(Int n, Int step);

/// Conditions under which different indices of a view stand at different places: each dimension steps over all that the
/// dimensions of smaller strides reach. Which dimensions these are is read off the hints. nullopt: it is not so nested
/// in the call being traced (elements may share a place, or be interleaved).
std::optional<std::vector<Bool>> apart_conditions(const Ints& sizes, const Ints& strides, SourceLoc);
/// Are they known to, whatever the symbols are?
bool known_apart(const Ints& sizes, const Ints& strides);

/// The last element that a view of elements reaches, counted as its offset is. Strides must not be negative.
Int last_of(const Layout&);
/// In a graph the operand of as_strided is all of its storage, row-major, and there is nothing beyond it: throws
/// IndexOutOfRange, naming `op`, for a view that reaches beyond.
void check_within_storage(const Layout& made, const Layout& storage, const char* op, SourceLoc);
/// The layout that a registered view's rule made of `in` shows elements of its operand alone (IndexOutOfRange
/// otherwise), whatever its strides are (InvalidArgument for a rule that says otherwise). Nothing is asked of built-in
/// views, nor of views of a storage.
void check_within_operand(const OpDef&, std::span<const RuleArg> args, const Layout& in, const Layout& made, SourceLoc);

/// "[2, s0]".
std::string sizes_text(const Ints&);

/// Result sizes when `dims` (wrapped, sorted ascending, unique) are reduced.
Ints reduced_sizes(const Ints& sizes, const std::vector<int>& dims, bool keepdim);
/// The wrapped, sorted dims of an int[]? argument; None and [] mean all. Throws for repeated ones. Used by
/// decompositions too.
std::vector<int> reduced_dims(const RuleArg&, int rank, const char* op, SourceLoc);

/// `src` must broadcast to `target` (copy_ and friends).
void check_expandable(const Ints& src, const Ints& target, const char* op, SourceLoc);
/// The device of an operator's tensors: they must agree, but for 0-dim CPU tensors.
Device common_device(std::span<const RuleArg>, const char* op, SourceLoc);
/// "cpu", "cuda:1", "null"; throws InvalidArgument.
Device device_from_name(std::string_view, SourceLoc = {});

/// `sizes` with one -1 replaced for `in`'s elements; throws ShapeMismatch when they do not fit. Equal factors of both
/// sides cancel first, so {b, t, -1} of [b, t, 64] asks only that neither b nor t is 0.
Ints infer_size(const Ints& in, const Ints& sizes, SourceLoc, const char* op = "view");
/// Strides of a tensor that is made with these sizes, also where one of them is 0: like contiguous_strides, which takes
/// a symbolic size for no 0.
Ints made_strides(const Ints& sizes);
/// Strides of `in` seen as `sizes` without a copy; nullopt when no strides do. Known-contiguous input asks nothing (of
/// elements).
std::optional<Ints> view_strides(const Layout& in, const Ints& sizes, SourceLoc, Strides = Strides::OfElements);

}  // namespace reprise::graph
