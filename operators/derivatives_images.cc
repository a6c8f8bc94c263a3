// Derivatives of what looks at images through windows.
#include <algorithm>

#include "autograd/rule_parts.h"
#include "graph/api_args.h"
#include "operators/derivatives.h"
#include "reprise/convolution.h"

namespace reprise::operators::derivatives {

using namespace autograd::rules;
using autograd::Backward;
using graph::api::arg;

namespace {

graph::OpId row(const char* name) { return graph::find_op(name)->id; }

/// The first `sizes` of the spatial dimensions.
Tensor cropped(Tensor t, const Ints& sizes, SourceLoc loc) {
  for (std::size_t d = 2; d < sizes.size(); ++d)
    if (!identical(t.size(static_cast<int>(d)), sizes[d])) t = narrow(t, Int(d), 0, sizes[d], loc);
  return t;
}

/// The adjoint of a convolution without a bias: what `g`, a result's gradient, says of an image of these sizes. Behind
/// the last window up to stride - 1 elements lie in none: output padding that is cropped again, so that how many these
/// are decides nothing.
Tensor into_image(const Tensor& g, const Tensor& weight, const Ints& stride, const Ints& padding, const Ints& dilation,
                  Int groups, const Ints& sizes, SourceLoc loc) {
  Ints behind;
  for (Int s : stride) behind.push_back(s - 1);
  return cropped(reprise::convolution(g, weight, {}, stride, padding, dilation, true, behind, groups, loc), sizes, loc);
}

struct Windows {
  Ints kernel, stride, padding, dilation;
};

/// For each pair of a channel of `small` and one of `big` in a group, and each place of a window: the sum over windows
/// of small's element times what the window sees there in big.
Tensor over_windows(const Tensor& small, const Tensor& big, const Windows& w, Int groups, SourceLoc loc) {
  const std::size_t n = w.kernel.size();
  const Int own = big.size(1) / groups, each = small.size(1) / groups;
  if (n == 3 && !identical(groups, Int(1))) {  // dimensions are at most eight
    std::vector<Tensor> parts;
    for (std::int64_t g = 0; g < groups.value(loc); ++g)
      parts.push_back(
          over_windows(narrow(small, 1, each * g, each, loc), narrow(big, 1, own * g, own, loc), w, 1, loc));
    return cat(parts, 0, loc);
  }
  std::vector<Int> around;
  for (std::size_t i = n; i-- > 0;) around.push_back(w.padding[i]), around.push_back(w.padding[i]);
  Tensor seen = std::all_of(around.begin(), around.end(), [](Int p) { return identical(p, Int(0)); })
                    ? big
                    : pad(big, around, 0, loc);
  for (std::size_t i = 0; i < n; ++i) {
    seen = unfold(seen, Int(i + 2), (w.kernel[i] - 1) * w.dilation[i] + 1, w.stride[i], loc);
    if (!identical(w.dilation[i], Int(1))) seen = slice(seen, -1, 0, std::nullopt, w.dilation[i], loc);
  }
  seen = cropped(seen, small.sizes(), loc);
  // [groups, channels of small, batch and windows] x [groups, channels of big and places, batch and windows]^T: rows of
  // windows are rows of the image, which are copied in one piece.
  const bool split = !identical(groups, Int(1));
  Tensor left = small;
  if (split) seen = unflatten(seen, 1, {groups, own}, loc), left = unflatten(left, 1, {groups, each}, loc);
  const std::int64_t first = split ? 3 : 2, m = static_cast<std::int64_t>(n);
  Ints of_seen, of_left;
  if (split) of_seen.push_back(1), of_left.push_back(1);
  of_seen.push_back(first - 1), of_left.push_back(first - 1);
  for (std::int64_t i = 0; i < m; ++i) of_seen.push_back(first + m + i);
  of_seen.push_back(0), of_left.push_back(0);
  for (std::int64_t i = 0; i < m; ++i) of_seen.push_back(first + i), of_left.push_back(first + i);
  Int terms = small.size(0), places = 1;
  for (std::size_t i = 0; i < n; ++i) terms *= small.size(static_cast<int>(i) + 2), places *= w.kernel[i];
  const Tensor windows = reshape(permute(seen, of_seen, loc), {groups, own * places, terms}, loc);
  const Tensor sums =
      bmm(reshape(permute(left, of_left, loc), {groups, each, terms}, loc), transpose(windows, 1, 2, loc), loc);
  Ints sizes{groups * each, own};
  sizes.append(w.kernel.begin(), w.kernel.end());
  return reshape(sums, sizes, loc);
}

}  // namespace

void convolution(Backward& b) {
  enum { kInput, kWeight, kBias, kStride, kPadding, kDilation, kTransposed, kOutputPadding, kGroups };
  const SourceLoc loc = b.loc();
  const Tensor& g = b.grad();
  const Ints &stride = b.ints(kStride), &padding = b.ints(kPadding), &dilation = b.ints(kDilation);
  const Int groups = b.integer(kGroups);
  const bool transposed = b.flag(kTransposed);
  if (b.wants(kBias)) {
    Ints dims{0};
    for (int d = 2; d < b.dim(kInput); ++d) dims.push_back(d);
    b.give(kBias, sum(wide(g, loc), IntArrayRef(dims), false, std::nullopt, loc));
  }
  if (b.wants(kInput)) {
    const Tensor weight = b.tensor(kWeight);
    b.give(kInput, transposed ? cropped(reprise::convolution(g, weight, {}, stride, padding, dilation, false,
                                                             Ints(stride.size(), 0), groups, loc),
                                        b.sizes(kInput), loc)
                              : into_image(g, weight, stride, padding, dilation, groups, b.sizes(kInput), loc));
  }
  if (b.wants(kWeight)) {
    const Windows w{Ints(b.sizes(kWeight).begin() + 2, b.sizes(kWeight).end()), stride, padding, dilation};
    const Tensor input = b.tensor(kInput);
    b.give(kWeight, transposed ? over_windows(input, g, w, groups, loc) : over_windows(g, input, w, groups, loc));
  }
}

// ---- pools

namespace {

/// Each element of g goes where `indices`, which count in a plane, say.
Tensor into_planes(const Backward& b, const Tensor& g, const Tensor& indices) {
  const Ints& sizes = b.sizes(0);
  const Int plane = numel_of(Ints(sizes.begin() + 2, sizes.end()));
  const Tensor from = flatten(g, 2, -1, b.loc()), none = zeros({sizes[0], sizes[1], plane}, g.options(), b.loc());
  return reshape(scatter_add(none, 2, flatten(indices, 2, -1, b.loc()), from, b.loc()), sizes, b.loc());
}

/// [1, ..., n, ..., 1]: a vector along the dimension that `behind` others follow.
Tensor before(const Tensor& t, std::size_t behind, SourceLoc loc) {
  Ints sizes(behind + 1, 1);
  sizes[0] = t.size(0);
  return reshape(t, sizes, loc);
}

}  // namespace

void max_pool(Backward& b) {
  const Tensor x = b.tensor(0);
  const IntArrayRef kernel(b.ints(1)), stride(b.ints(2)), padding(b.ints(3)), dilation(b.ints(4));
  const Tensor indices =
      graph::call1(row("max_pool_indices"),
                   {arg(x), arg(kernel), arg(stride), arg(padding), arg(dilation), arg(b.flag(5))}, b.loc());
  b.give(0, into_planes(b, b.grad(), indices));
}
void adaptive_max_pool(Backward& b) {
  const Tensor x = b.tensor(0);
  const IntArrayRef sizes(b.ints(1));
  b.give(0, into_planes(b, b.grad(), graph::call1(row("adaptive_max_pool_indices"), {arg(x), arg(sizes)}, b.loc())));
}

void avg_pool(Backward& b) {
  enum { kSelf, kKernel, kStride, kPadding, kCeil, kCountIncludePad, kDivisor };
  const SourceLoc loc = b.loc();
  const Ints &kernel = b.ints(kKernel), &stride = b.ints(kStride), &padding = b.ints(kPadding), &sizes = b.sizes(kSelf);
  const std::size_t n = kernel.size();
  const bool with_padding = b.flag(kCountIncludePad);
  Tensor g = wide(b.grad(), loc);
  if (b.has(kDivisor)) {
    g = g / b.integer(kDivisor);
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      if (!b.flag(kCeil) && (with_padding || identical(padding[i], Int(0)))) {
        g = g / kernel[i];
        continue;
      }
      // Elements of each window, which counts those of the padding or not, and none beyond it.
      const Tensor from =
          arange(Scalar(g.size(static_cast<int>(i) + 2)), {kInt64, g.device()}, loc) * stride[i] - padding[i];
      const Tensor to_ =
          clamp(from + kernel[i], std::nullopt, sizes[i + 2] + (with_padding ? padding[i] : Int(0)), loc);
      g = g / before(to_ - (with_padding ? from : clamp(from, 0, std::nullopt, loc)), n - 1 - i, loc);
    }
  }
  // A plane is an image of one channel.
  Ints planes{sizes[0] * sizes[1], 1}, image = planes, ones_of{1, 1};
  const Ints made = g.sizes();
  planes.append(made.begin() + 2, made.end()), image.append(sizes.begin() + 2, sizes.end()),
      ones_of.append(kernel.begin(), kernel.end());
  const Tensor given =
      into_image(reshape(g, planes, loc), ones(ones_of, g.options(), loc), stride, padding, Ints(n, 1), 1, image, loc);
  b.give(kSelf, reshape(clone(given, loc), sizes, loc));  // whose strides leave nothing to be asked
}

namespace {

/// `g`, along dimension d of sizes `out`, times a matrix [in, out]: along d of sizes `in`.
Tensor along(const Tensor& g, int d, const Tensor& matrix, SourceLoc loc) {
  return transpose(matmul(transpose(g, d, -1, loc), mT(matrix, loc), loc), d, -1, loc);
}

}  // namespace

// Window i of `out` over `size` elements begins at floor(i size / out) and ends before ceil((i + 1) size / out).
void adaptive_avg_pool(Backward& b) {
  const SourceLoc loc = b.loc();
  Tensor g = wide(b.grad(), loc);
  for (std::size_t i = 0; i < b.ints(1).size(); ++i) {
    const Int size = b.sizes(0)[i + 2], out = b.ints(1)[i];
    if (identical(size, out)) continue;
    const Scalar by(Int::max(out, 1));
    const Tensor window = arange(Scalar(out), {kInt64, g.device()}, loc),
                 element = unsqueeze(arange(Scalar(size), {kInt64, g.device()}, loc), -1, loc);
    const Tensor begin = div(window * size, by, "floor", loc),
                 end = div((window + 1) * size + (by - 1), by, "floor", loc);
    g = along(g, static_cast<int>(i) + 2,
              where((element >= begin) & (element < end), 1 / to(end - begin, g.dtype(), loc), 0, loc), loc);
  }
  b.give(0, g);
}

// A resized image is a product with one matrix for each dimension: what resizing makes of the unit vectors.
void interpolate(Backward& b) {
  enum { kSelf, kSize, kMode, kAlign, kAntialias, kScale0 };
  const SourceLoc loc = b.loc();
  Tensor g = wide(b.grad(), loc);
  const std::size_t n = b.ints(kSize).size();
  for (std::size_t i = 0; i < n; ++i) {
    const Int size = b.sizes(kSelf)[i + 2], made = b.ints(kSize)[i];
    Ints units{1, size}, results;
    for (std::size_t d = 0; d < n; ++d)
      units.push_back(d == i ? size : Int(1)), results.push_back(d == i ? made : Int(1));
    graph::CallArg scales[3];
    if (const int k = kScale0 + static_cast<int>(i); b.has(k)) scales[i] = b.number(k);
    const Tensor unit = reshape(eye(size, std::nullopt, g.options(), loc), units, loc);
    const IntArrayRef result_sizes(results);
    const Tensor matrix = graph::call1(row("interpolate"),
                                       {arg(unit), arg(result_sizes), b.text(kMode), arg(b.flag(kAlign)),
                                        arg(b.flag(kAntialias)), scales[0], scales[1], scales[2]},
                                       loc);
    g = along(g, static_cast<int>(i) + 2, reshape(matrix, {size, made}, loc), loc);
  }
  b.give(kSelf, g);
}

// ---- rearranging

void im2col(Backward& b) {
  const Tensor& g = b.grad();
  const Ints& sizes = b.sizes(0);
  const Ints image{sizes[2], sizes[3]};
  const IntArrayRef of(image), kernel(b.ints(1)), dilation(b.ints(2)), padding(b.ints(3)), stride(b.ints(4));
  b.give(0, graph::call1(row("col2im"), {arg(g), arg(of), arg(kernel), arg(dilation), arg(padding), arg(stride)},
                         b.loc()));
}
void col2im(Backward& b) {
  const Tensor& g = b.grad();
  const IntArrayRef kernel(b.ints(2)), dilation(b.ints(3)), padding(b.ints(4)), stride(b.ints(5));
  b.give(0, graph::call1(row("im2col"), {arg(g), arg(kernel), arg(dilation), arg(padding), arg(stride)}, b.loc()));
}

namespace {

/// element(at, size, front, back): which element stands at places `at`, counted from the first element.
template <class Element>
void padded(Backward& b, Element&& element) {
  const SourceLoc loc = b.loc();
  const Ints& padding = b.ints(1);
  Tensor g = b.grad();
  for (std::size_t i = 0; i < padding.size() / 2; ++i) {
    const int d = b.dim(0) - 1 - static_cast<int>(i);
    const Int size = b.sizes(0)[static_cast<std::size_t>(d)], front = padding[2 * i], back = padding[2 * i + 1];
    if (identical(front, Int(0)) && identical(back, Int(0))) continue;
    const Tensor at = arange(Scalar(size + front + back), {kInt64, g.device()}, loc) - front;
    Ints sizes = g.sizes();
    sizes[static_cast<std::size_t>(d)] = size;
    g = index_add(zeros(sizes, g.options(), loc), d, element(at, size, front, back), g, loc);
  }
  b.give(0, g);
}

}  // namespace

void reflection_pad(Backward& b) {
  padded(b, [&](const Tensor& at, Int size, Int, Int) {
    return abs(abs(at, b.loc()) - (size - 1), b.loc()) * -1 + (size - 1);
  });
}
void replication_pad(Backward& b) {
  padded(b, [&](const Tensor& at, Int size, Int, Int) { return clamp(at, 0, size - 1, b.loc()); });
}
// What is cropped is gone before the rest goes round.
void circular_pad(Backward& b) {
  padded(b, [&](const Tensor& at, Int size, Int front, Int back) {
    const Int before = Int::min(front, 0);
    return remainder(at + before, size + before + Int::min(back, 0), b.loc()) - before;
  });
}

}  // namespace reprise::operators::derivatives
