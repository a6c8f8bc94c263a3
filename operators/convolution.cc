// Convolutions: one operator in graphs, for one to three dimensions, transposed or not.
//
// Note [What a convolution is made of]
// On the host, convolutions of floats that are not transposed have kernels of their own: products and sums that see the
// windows where they stand (Note [Convolutions by panels] in kernels/cpu/convolution.cc). What follows is how the
// others are taken apart, and all of them on devices.
//
// Images stay as they are told, channels before places, and a product's rows are channels: weights are read as they
// stand, and the result stands as it is told.
// - Kernels of one place, without steps and padding: a product of the weights with the image's planes; nothing is
// copied.
// - One channel to a group (depthwise): sums of products over the window, a loop kernel over a view of the padded
// image.
// - Else the windows are copied once, [n, c * places, results], and multiplied by the weights [o, c * places]. Groups
// are the product's batch; then images stand
//   beside each other in its columns. Where the copy would be large, one row of the kernel at a time is copied and its
//   product added: it then holds the image as often as a row has places, not as the kernel has.
// - Transposed: the product comes first, [n, o * places, inputs], and what each place gives is added to where it
// belongs, one place after the other. Zeros between the
//   inputs and an ordinary convolution would multiply stride^n times as much. Where places do not meet (stride =
//   kernel) nothing is added: it is a permutation. Of steps of 1 there are no such zeros: it is an ordinary convolution
//   with the kernel turned around (what most convolutions' derivatives are).
#include "reprise/convolution.h"

#include "base/errors.h"
#include "device/backend.h"
#include "graph/api_args.h"
#include "graph/autocast.h"
#include "graph/register_op.h"
#include "graph/shape_rules.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"
#include "operators/convolution_layouts.h"
#include "operators/convolution_reference.h"
#include "operators/derivatives.h"
#include "operators/families.h"
#include "operators/spatial.h"
#include "passes/layouts.h"
#include "reprise/ops.h"

namespace reprise {

using graph::NodeArg;
using graph::OpId;
using graph::api::arg;
using graph::api::checked_meta;
using graph::api::named;
using operators::Steps;
using operators::V;
using passes::Build;

namespace {

using namespace kernels::windows_args;

std::vector<Steps> steps_of(const Ints& weight, const Ints& stride, const Ints& dilation, SourceLoc loc) {
  std::vector<Steps> all;
  for (std::size_t i = 0; i < stride.size(); ++i)
    all.push_back({weight[i + 2].value(loc), stride[i].value(loc), dilation[i].value(loc)});
  return all;
}

Int padded_size(Int in, Int padding) { return graph::is_plain(padding, 0) ? in : in + 2 * padding; }
/// What a transposed convolution adds to, before padding is cut off.
Int full_size(Int in, const Steps& s, Int output_padding) { return (in - 1) * s.stride + s.reach() + output_padding; }

void convolution_shape(graph::RuleCtx& c) {
  const char* name = c.op.schema.name.c_str();
  auto refuse = [&](ErrorCode code, const auto&... what) { fail(code, name, c.loc, what...); };
  const TensorMeta &input = c.tensor(kInput), &weight = c.tensor(kWeight);
  const TensorMeta* bias = c.optional_tensor(kBias);
  const int n = weight.dim() - 2;
  const std::string sizes =
      graph::sizes_text(input.layout.sizes) + " and a weight of sizes " + graph::sizes_text(weight.layout.sizes);
  if (n < 1 || n > 3 || input.dim() != weight.dim())
    refuse(ErrorCode::ShapeMismatch,
           "wants an image [n, c, ...] and a weight with one to three spatial dimensions, got an image of sizes ",
           sizes);
  if (input.dtype != weight.dtype || (bias && bias->dtype != input.dtype))
    refuse(ErrorCode::DTypeMismatch, "the image is ", dtype_name(input.dtype), ", the weight ",
           dtype_name(weight.dtype), bias ? ", the bias " : "", bias ? dtype_name(bias->dtype) : "",
           "; cast with to()");
  if (input.dtype == DType::Bool) refuse(ErrorCode::DTypeMismatch, "computes with no bool");
  const bool transposed = c.flag(kTransposed);
  const std::int64_t groups = c.constant_int(kGroups);
  for (int i : {kStride, kPadding, kDilation, kOutputPadding})
    if (c.ints(i).size() != static_cast<std::size_t>(n))
      refuse(ErrorCode::InvalidArgument, "'", c.op.schema.args[static_cast<std::size_t>(i)].name, "' has ",
             c.ints(i).size(), " numbers for ", n, " spatial dimensions");
  if (groups < 1) refuse(ErrorCode::InvalidArgument, "'groups' must be positive, got ", groups);
  for (Int i : c.ints(kStride))
    if (i.value(c.loc) < 1)
      refuse(ErrorCode::InvalidArgument, "'stride' must be positive, got ", graph::sizes_text(c.ints(kStride)));
  for (Int i : c.ints(kDilation))
    if (i.value(c.loc) < 1)
      refuse(ErrorCode::InvalidArgument, "'dilation' must be positive, got ", graph::sizes_text(c.ints(kDilation)));
  for (Int i : c.ints(kPadding))
    if (i.value(c.loc) < 0)
      refuse(ErrorCode::InvalidArgument, "'padding' must not be negative, got ", graph::sizes_text(c.ints(kPadding)));
  const Int in = input.size(1), first = weight.size(0);
  if (!graph::require(detail::compare_eq(first % groups, 0, c.loc), "convolution: groups divide the weight"))
    refuse(ErrorCode::InvalidArgument, groups, " groups do not divide the ", first,
           transposed ? " channels" : " results", " of an image of sizes ", sizes);
  if (!transposed && !graph::is_plain(in, 0) && !graph::depends_on_data(in) && in.hint() % groups != 0)
    refuse(ErrorCode::InvalidArgument, groups, " groups do not divide the channels of an image of sizes ", sizes);
  if (!graph::same(in, transposed ? first : weight.size(1) * groups, c.loc, "convolution: equal channels"))
    refuse(ErrorCode::ShapeMismatch, "an image of sizes ", sizes, " do not fit each other with ", groups,
           groups == 1 ? " group" : " groups");
  Ints made{input.size(0), transposed ? weight.size(1) * groups : first};
  if (bias && (bias->dim() != 1 || !graph::same(bias->size(0), made[1], c.loc, "convolution: a bias for each result")))
    refuse(ErrorCode::ShapeMismatch, "a bias of sizes ", graph::sizes_text(bias->layout.sizes),
           " is not one for each of ", made[1], " results");
  const std::vector<Steps> steps = steps_of(weight.layout.sizes, c.ints(kStride), c.ints(kDilation), c.loc);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Int size = input.size(static_cast<int>(i) + 2), padding = c.ints(kPadding)[i],
              more = c.ints(kOutputPadding)[i];
    if (steps[i].kernel < 1)
      refuse(ErrorCode::InvalidArgument, "the kernel has no place: the weight has sizes ",
             graph::sizes_text(weight.layout.sizes));
    if (transposed) {
      if (const std::int64_t o = more.value(c.loc); o < 0 || (o >= steps[i].stride && o >= steps[i].dilation))
        refuse(ErrorCode::InvalidArgument, "'output_padding' must be less than stride or dilation, got ",
               graph::sizes_text(c.ints(kOutputPadding)));
      const Int out = full_size(size, steps[i], more) - 2 * padding;
      if (!graph::require(detail::compare_lt(0, size, c.loc), "convolution: elements to transpose") ||
          !graph::require(detail::compare_lt(0, out, c.loc), "convolution: a result"))
        refuse(ErrorCode::ShapeMismatch, "dimension ", i + 2, " of an image of sizes ", sizes, " would become ", out);
      made.push_back(out);
    } else {
      if (more.value(c.loc) != 0) refuse(ErrorCode::InvalidArgument, "'output_padding' is of transposed convolutions");
      const Int room = padded_size(size, padding);
      if (!graph::require(detail::compare_le(steps[i].reach(), room, c.loc),
                          "convolution: the kernel fits the padded image"))
        refuse(ErrorCode::ShapeMismatch, "a kernel that reaches over ", steps[i].reach(),
               " elements is larger than dimension ", i + 2, " of the image, ", size, " and ", padding,
               " on both sides");
      made.push_back(operators::windows(room, steps[i]));
    }
  }
  c.result(input.dtype, made);
}

/// Copies of windows up to so large are made at once.
constexpr std::int64_t kColumnsBytes = std::int64_t{64} << 20;

/// The product of all numbers of a list from `first` on.
Int count_from(const Ints& sizes, std::size_t first) {
  Int n = 1;
  for (std::size_t i = first; i < sizes.size(); ++i) n = n * sizes[i];
  return n;
}

OpId convolution_op();

struct Conv {
  Build& b;
  V x, w;
  std::vector<Steps> steps;
  Ints padding, output_padding;
  Int groups;
  Int batch() const { return b.sizes(x)[0]; }
  int rank() const { return b.dim(x); }

  /// A [k, m] times each of [n, m, l]: [n, k, l].
  V times_each(V rows, V images) const {
    const Ints m = b.sizes(rows);
    return b.emit(OpId::bmm, {b.emit(OpId::expand,
                                     {b.emit(OpId::unsqueeze, {rows, Int(0)}), Ints{b.sizes(images)[0], m[0], m[1]}}),
                              images});
  }
  /// [n, c, ...] seen as [c, n, ...], and back.
  V images_second(V v) const {
    Ints order{1, 0};
    for (int d = 2; d < b.dim(v); ++d) order.push_back(d);
    return b.emit(OpId::permute, {v, order});
  }

  /// [n, o, results], of an image with its padding. Half types would be rounded between the sums.
  V by_kernel_rows(V image, const Ints& results) const {
    const V seen = operators::window_view(b, image, steps);
    const std::size_t n = steps.size();
    const Int depth = b.sizes(w)[1] * (operators::places(steps) / steps[0].kernel), out = b.sizes(w)[0];
    Ints order{0, 1};  // of [n, c, o..., k1...]
    for (std::size_t i = 0; i + 1 < n; ++i) order.push_back(static_cast<std::int64_t>(2 + n + i));
    for (std::size_t i = 0; i < n; ++i) order.push_back(static_cast<std::int64_t>(2 + i));
    V sum;
    for (std::int64_t i = 0; i < steps[0].kernel; ++i) {
      const V rows = b.reshape(b.emit(OpId::select, {w, Int(2), Int(i)}), Ints{out, depth});
      const V row =
          b.emit(OpId::permute, {b.emit(OpId::select, {seen, Int(static_cast<std::int64_t>(2 + n)), Int(i)}), order});
      const V product = times_each(rows, b.reshape(row, Ints{batch(), depth, count_from(results, 0)}));
      sum = sum ? b.add(sum, product) : product;
    }
    return sum;
  }

  V by_product() const {
    const V image = operators::padded(b, x, padding, padding, Scalar(0));
    const Int out = b.sizes(w)[0], in = b.sizes(w)[1], per_group = out / groups;
    bool every_element = true;
    for (const Steps& s : steps) every_element = every_element && s.kernel == 1 && s.stride == 1;
    const std::size_t n = steps.size();
    const V rows = b.reshape(w, Ints{groups, per_group, in * operators::places(steps)});
    const Int depth = in * operators::places(steps);
    // images beside each other: [c, k..., n, o...], not [n, c, k..., o...]
    const bool apart = !graph::is_plain(groups, 1);
    V seen = image;
    const Ints given = b.sizes(image);
    Ints results(given.begin() + 2, given.end());
    if (!every_element) {
      seen = operators::window_view(b, image, steps);
      Ints order;
      if (!apart) order.push_back(0);
      order.push_back(1);
      for (std::size_t i = 0; i < n; ++i) order.push_back(static_cast<std::int64_t>(2 + n + i));
      if (apart) order.push_back(0);
      for (std::size_t i = 0; i < n; ++i)
        order.push_back(static_cast<std::int64_t>(2 + i)), results[i] = b.sizes(seen)[2 + i];
      seen = b.emit(OpId::permute, {seen, order});
    } else if (apart) {
      seen = images_second(seen);
    }
    Ints made = apart ? Ints{out, batch()} : Ints{batch(), out};
    made.append(results.begin(), results.end());
    const DType dtype = b.meta(x).dtype;
    if (const Int bytes = batch() * depth * count_from(results, 0) * item_size(dtype);
        !apart && steps[0].kernel > 1 && bytes.hint() > kColumnsBytes &&
        (dtype == DType::Float32 || dtype == DType::Float64))
      return b.emit(OpId::view, {by_kernel_rows(image, results), made});
    if (!apart)
      return b.emit(OpId::view, {times_each(b.emit(OpId::select, {rows, Int(0), Int(0)}),
                                            b.reshape(seen, Ints{batch(), depth, count_from(results, 0)})),
                                 made});
    const V product = b.emit(OpId::bmm, {rows, b.reshape(seen, Ints{groups, depth, batch() * count_from(results, 0)})});
    return images_second(b.emit(OpId::view, {product, made}));
  }

  /// Depthwise: one channel to a group, and `per_group` results of each.
  V by_sums(DType accumulated, bool one_result) const {
    const V image = b.to(operators::padded(b, x, padding, padding, Scalar(0)), accumulated);
    const V seen = operators::window_view(b, image, steps);  // [n, c, o..., k...]
    const Int channels = b.sizes(x)[1], out = b.sizes(w)[0];
    const std::size_t n = steps.size();
    const Ints windows = b.sizes(seen);
    Ints made{batch(), out}, kernel{channels};
    made.append(windows.begin() + 2, windows.begin() + static_cast<std::ptrdiff_t>(2 + n));
    if (!one_result) kernel.push_back(out / groups);
    for (std::size_t i = 0; i < n; ++i) kernel.push_back(1);
    for (const Steps& s : steps) kernel.push_back(s.kernel);
    const V weights = b.reshape(b.to(w, accumulated), kernel);  // [c, (o / c,) 1..., k...]
    if (operators::places(steps) > operators::kUnrolledPlaces) {
      Ints window;
      for (std::size_t i = 0; i < n; ++i) window.push_back(static_cast<std::int64_t>(2 + n + i));
      return b.reduce(OpId::sum, b.mul(seen, weights), window, false);
    }
    V sum;
    operators::for_each_place(steps, [&](const std::vector<std::int64_t>& at) {
      V image_at = operators::seen_at(b, seen, at);
      if (!one_result) image_at = b.emit(OpId::unsqueeze, {image_at, Int(2)});
      const V product = b.mul(image_at, operators::seen_at(b, weights, at));
      sum = sum ? b.add(sum, product) : product;
    });
    return one_result ? sum : b.reshape(sum, made);
  }

  /// Is it, transposed, an ordinary convolution with the kernel turned around?
  bool turns() const {
    for (std::size_t i = 0; i < steps.size(); ++i)
      if (steps[i].stride != 1 || !graph::is_plain(output_padding[i], 0) ||
          padding[i].value(b.loc()) >= steps[i].reach())
        return false;
    return true;
  }
  /// That one.
  Conv turned() const {
    const Ints of = b.sizes(w);
    const std::size_t n = steps.size();
    Ints grouped{groups, of[0] / groups, of[1]}, order{0, 2, 1}, made{groups * of[1], of[0] / groups}, around;
    std::vector<V> places(n + 2);
    bool any = false;
    for (std::size_t i = 0; i < n; ++i) {
      const Int kernel = of[i + 2];
      grouped.push_back(kernel), order.push_back(static_cast<std::int64_t>(3 + i)), made.push_back(kernel);
      around.push_back(steps[i].reach() - 1 - padding[i]);
      Ints apart(n - i, Int(1));
      apart[0] = kernel;
      places[i + 2] =
          b.emit(OpId::view,
                 {b.add(b.mul(operators::positions(b, w, kernel), Scalar(-1)), Scalar(steps[i].kernel - 1)), apart});
      any = any || steps[i].kernel > 1;
    }
    const V weights = b.reshape(b.emit(OpId::permute, {b.reshape(w, grouped), order}), made);
    return {b, x, any ? operators::taken(b, weights, places) : weights, steps, around, output_padding, groups};
  }

  V transposed(DType accumulated) const {
    const Int out = b.sizes(w)[1] * groups, per_group = b.sizes(w)[1], in = b.sizes(x)[1];
    const std::size_t n = steps.size();
    const Ints of_x = b.sizes(x);
    Ints image(of_x.begin() + 2, of_x.end()), kernel;
    for (const Steps& s : steps) kernel.push_back(s.kernel);
    const V wide = b.to(x, accumulated), weights = b.to(w, accumulated);
    V given;  // [n, o, k..., i...]
    Ints apart{batch(), out};
    apart.append(kernel.begin(), kernel.end()), apart.append(image.begin(), image.end());
    if (graph::is_plain(groups, 1)) {
      const V rows = b.emit(OpId::permute, {b.reshape(weights, Ints{in, out * count_from(kernel, 0)}), Ints{1, 0}});
      given = b.emit(OpId::view, {times_each(rows, b.reshape(wide, Ints{batch(), in, count_from(image, 0)})), apart});
    } else {
      const V rows =
          b.emit(OpId::permute,
                 {b.reshape(weights, Ints{groups, in / groups, per_group * count_from(kernel, 0)}), Ints{0, 2, 1}});
      const V product = b.emit(
          OpId::bmm, {rows, b.reshape(images_second(wide), Ints{groups, in / groups, batch() * count_from(image, 0)})});
      Ints sizes{out}, order{static_cast<std::int64_t>(1 + n), 0};
      sizes.append(kernel.begin(), kernel.end());
      sizes.push_back(batch());
      sizes.append(image.begin(), image.end());
      for (std::size_t i = 0; i < n; ++i) order.push_back(static_cast<std::int64_t>(1 + i));
      for (std::size_t i = 0; i < n; ++i) order.push_back(static_cast<std::int64_t>(2 + n + i));
      given = b.emit(OpId::permute, {b.emit(OpId::view, {product, sizes}), order});
    }
    bool meet = false;
    Ints full{batch(), out};
    for (std::size_t i = 0; i < n; ++i) {
      meet = meet || steps[i].stride != steps[i].kernel || steps[i].dilation != 1 ||
             !graph::is_plain(output_padding[i], 0);
      full.push_back(full_size(image[i], steps[i], output_padding[i]));
    }
    V sum;
    if (!meet) {
      Ints order{0, 1};
      for (std::size_t i = 0; i < n; ++i)
        order.push_back(static_cast<std::int64_t>(2 + n + i)), order.push_back(static_cast<std::int64_t>(2 + i));
      sum = b.reshape(b.emit(OpId::permute, {given, order}), full);
    } else {
      sum = operators::added_up(b, given, steps, full);
    }
    for (std::size_t i = 0; i < n; ++i)
      if (!graph::is_plain(padding[i], 0))
        sum = operators::slice(b, sum, static_cast<int>(i) + 2, padding[i], full[i + 2] - padding[i]);
    return sum;
  }
};

bool is_depthwise(const Conv& c) {
  return !graph::is_plain(c.groups, 1) && static_cast<bool>(detail::compare_eq(c.b.sizes(c.w)[1], 1, c.b.loc()));
}
/// Are there kernels that see the windows where they stand?
bool has_kernels(const Build& b, Device device) {
  return device::runs_host_code(device) && is_floating(b.meta(b.tensor(kInput)).dtype);
}

V decompose_convolution(Build& b, DType result) {
  const Conv given{b,
                   b.tensor(kInput),
                   b.tensor(kWeight),
                   steps_of(b.sizes(b.tensor(kWeight)), b.ints(kStride), b.ints(kDilation), b.loc()),
                   b.ints(kPadding),
                   b.ints(kOutputPadding),
                   b.integer(kGroups)};
  const bool turns = b.flag(kTransposed) && given.turns();
  const Conv c = turns ? given.turned() : given;
  if (turns && has_kernels(b, b.meta(c.x).device))
    return b.emit(convolution_op(), {c.x, c.w, b.has(kBias) ? NodeArg(b.tensor(kBias)) : NodeArg(), b.ints(kStride),
                                     c.padding, b.ints(kDilation), false, c.output_padding, c.groups});
  const DType accumulated = Build::accumulator(result);
  V made;
  if (b.flag(kTransposed) && !turns) {
    made = c.transposed(accumulated);
  } else if (is_depthwise(c)) {
    const bool one_result = static_cast<bool>(detail::compare_eq(b.sizes(c.w)[0], c.groups, b.loc()));
    made = one_result || operators::places(c.steps) <= operators::kUnrolledPlaces ? c.by_sums(accumulated, one_result)
                                                                                  : c.by_product();
  } else {
    made = c.by_product();
  }
  if (b.has(kBias)) made = b.add(made, operators::per_channel(b, b.to(b.tensor(kBias), b.meta(made).dtype), c.rank()));
  return b.to(made, result);
}

bool may_stand_last(const graph::Graph& g, const graph::Node& n) {
  return is_floating(g.meta(n.results[0]).dtype) && !std::get<bool>(n.args[kTransposed]);
}

bool is_taken_apart(const Build& b, Device device) { return !has_kernels(b, device) || b.flag(kTransposed); }

OpId convolution_op() {
  static const OpId id = graph::register_op(
      {.schema = "convolution(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
                 "bool transposed, int[] output_padding, int groups) -> Tensor",
       .cls = graph::OpClass::Matmul,
       .shape = convolution_shape},
      {passes::decompositions().fact({decompose_convolution, is_taken_apart}),
       kernels::product_forms().fact(kernels::ProductForm::Windows),
       kernels::reference_kernels().fact({operators::convolution_reference}),
       graph::autocast_rules().fact(graph::AutocastRule::Lower),
       passes::layout_wishes().fact({operators::convolution_last_op, may_stand_last, operators::convolution_cost}),
       operators::derivative(operators::derivatives::convolution,
                             autograd::in(0, autograd::of(1)) + autograd::in(1, autograd::of(0)))});
  return id;
}

struct Of {
  int n;
  const char* name;
};

Tensor convolve(Of of, const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                const ConvPadding& padding, IntArrayRef dilation, Int groups, SourceLoc loc) {
  const operators::Batch batch = operators::with_batch(input, of.n, of.name, loc);
  const TensorMeta w = checked_meta(weight, of.name, loc);
  if (w.dim() != of.n + 2)
    fail(ErrorCode::ShapeMismatch, of.name, loc, "'weight' must have ", of.n + 2, " dimensions, got sizes ",
         graph::sizes_text(w.layout.sizes));
  const Ints step = operators::per_dim(stride, of.n, of.name, "stride", loc),
             spread = operators::per_dim(dilation, of.n, of.name, "dilation", loc);
  const Ints none(static_cast<std::size_t>(of.n), Int(0));
  Ints around = none;
  Tensor image = batch.image;
  if (padding.mode() == "same") {
    Ints more;  // behind, from the last dimension on
    for (std::size_t i = 0; i < around.size(); ++i) {
      if (step[i].value(loc) != 1)
        fail(ErrorCode::InvalidArgument, of.name, loc, "padding 'same' wants strides of 1, got ",
             graph::sizes_text(step));
      const Int all = spread[i] * (w.size(static_cast<int>(i) + 2).value(loc) - 1);
      around[i] = all / 2;
      more.insert(more.begin(), all % 2), more.insert(more.begin(), 0);
    }
    for (Int i : more)
      if (!graph::is_plain(i, 0)) {
        image = pad(image, more, 0, loc);
        break;
      }
  } else if (padding.mode().empty()) {
    around = operators::per_dim(padding.sizes(), of.n, of.name, "padding", loc);
  } else if (padding.mode() != "valid") {
    fail(ErrorCode::InvalidArgument, of.name, loc, "padding is '", padding.mode(),
         "', expected numbers, same or valid");
  }
  return batch.result(
      named(of.name, [&] { return convolution(image, weight, bias, step, around, spread, false, none, groups, loc); }),
      loc);
}

Tensor convolve_transposed(Of of, const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                           IntArrayRef padding, IntArrayRef output_padding, Int groups, IntArrayRef dilation,
                           SourceLoc loc) {
  const operators::Batch batch = operators::with_batch(input, of.n, of.name, loc);
  auto list = [&](IntArrayRef given, const char* what) { return operators::per_dim(given, of.n, of.name, what, loc); };
  if (const TensorMeta w = checked_meta(weight, of.name, loc); w.dim() != of.n + 2)
    fail(ErrorCode::ShapeMismatch, of.name, loc, "'weight' must have ", of.n + 2, " dimensions, got sizes ",
         graph::sizes_text(w.layout.sizes));
  return batch.result(named(of.name,
                            [&] {
                              return convolution(batch.image, weight, bias, list(stride, "stride"),
                                                 list(padding, "padding"), list(dilation, "dilation"), true,
                                                 list(output_padding, "output_padding"), groups, loc);
                            }),
                      loc);
}

}  // namespace

#define REPRISE_CONV(n)                                                                                            \
  Tensor conv##n##d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,             \
                    const ConvPadding& padding, IntArrayRef dilation, Int groups, SourceLoc loc) {                 \
    return convolve({n, "conv" #n "d"}, input, weight, bias, stride, padding, dilation, groups, loc);              \
  }                                                                                                                \
  Tensor conv_transpose##n##d(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,   \
                              IntArrayRef padding, IntArrayRef output_padding, Int groups, IntArrayRef dilation,   \
                              SourceLoc loc) {                                                                     \
    return convolve_transposed({n, "conv_transpose" #n "d"}, input, weight, bias, stride, padding, output_padding, \
                               groups, dilation, loc);                                                             \
  }
REPRISE_CONV(1)
REPRISE_CONV(2)
REPRISE_CONV(3)
#undef REPRISE_CONV

Tensor convolution(const Tensor& input, const Tensor& weight, const Tensor& bias, IntArrayRef stride,
                   IntArrayRef padding, IntArrayRef dilation, bool transposed, IntArrayRef output_padding, Int groups,
                   SourceLoc loc) {
  return graph::call1(convolution_op(),
                      {arg(input), arg(weight), arg(bias), arg(stride), arg(padding), arg(dilation), arg(transposed),
                       arg(output_padding), arg(groups)},
                      loc);
}

namespace operators {

void result_with_channels_last(graph::RuleCtx& c) {
  const DType dtype = c.results.back().dtype;
  const Ints made = c.results.back().layout.sizes;
  Ints sizes{made[0]};
  sizes.append(made.begin() + 2, made.end());
  sizes.push_back(made[1]);
  c.results.pop_back();
  c.result(dtype, sizes);
}

void convolution_last_reference(const kernels::NativeArgs& args) {
  std::vector<kernels::TensorView> tensors(args.tensors, args.tensors + args.first_result + 1);
  kernels::TensorView& y = tensors.back();
  const kernels::TensorView made = y;
  for (int d = 1; d < y.rank; ++d) {  // [n, ..., o] seen as [n, o, ...]
    const int from = d == 1 ? y.rank - 1 : d - 1;
    y.sizes[d] = made.sizes[from], y.strides[d] = made.strides[from];
  }
  kernels::NativeArgs seen = args;
  seen.tensors = tensors.data();
  convolution_reference(seen);
}

OpId convolution_last_op() {
  static const OpId id = graph::register_op(
      {.schema = "reprise::convolution_last(Tensor input, Tensor weight, Tensor? bias, int[] stride, int[] padding, "
                 "int[] dilation, bool transposed, int[] output_padding, int groups) -> Tensor",
       .cls = graph::OpClass::Matmul,
       .shape = [](graph::RuleCtx& c) { convolution_shape(c), result_with_channels_last(c); }},
      {kernels::product_forms().fact(kernels::ProductForm::WindowsLast),
       kernels::reference_kernels().fact({convolution_last_reference})});
  return id;
}

void register_convolution() { static_cast<void>(convolution_op()), static_cast<void>(convolution_last_op()); }

}  // namespace operators

}  // namespace reprise
