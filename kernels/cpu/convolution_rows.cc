// Note [Convolutions by rows]
// Where results are few, or an image's channels lie side by side, the sides of the product change: results are its
// rows, and the weights [c * places, o] its panels, which stand packed where weights are frozen
// (operators/packed_windows.h) and else are packed by the call. What a row is made of is found in one of two ways:
// - Channels side by side: a table says for each result and each place of the kernel where its channels begin, or that
// they are zeros. Nothing is copied.
// - Else what the windows see is packed as it is for products by panels, some channels at a time, and turned: rows that
// are read in the order of k take a line of the cache for
//   many products, columns one for each. Kernels of one place over planes that are seen whole are turned where they
//   stand.
// Results go out row by row where channels lie side by side there, too, else turned, a panel at a time. Those may have
// a fragment (Note [Fragments]), which runs over some rows of a panel when their sums are whole.
//
// The order of sums is that of products by panels: of channels, then places, or, where channels lie side by side in the
// image or the weight, of places, then channels; in parts of product_depth. So panels that are made before and those
// that are made by the call, and products by panels, give equal bits.
#include "kernels/cpu/convolution_rows.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "device/cpu_info.h"
#include "kernels/cpu/convolution.h"
#include "kernels/cpu/convolution_kernels.h"
#include "kernels/cpu/fragment.h"
#include "kernels/cpu/matmul_product.h"
#include "kernels/cpu/windows.h"
#include "kernels/launch/layout.h"
#include "kernels/launch/named.h"
#include "kernels/launch/product.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {

namespace {

using namespace windows_args;
namespace own = convolution_ints;
// The arguments of convolution_packed behind those of convolution.
enum { kPanels = windows_args::kCount, kVectors, kByPlaces, kPackedCount };

// of an image of planes: more are packed into panels as well, unless results stand as rows
constexpr std::int64_t kFewRows = 256;
constexpr std::int64_t kFewChannels = 8;        // fewer are no segment worth a look into a table
constexpr std::int64_t kGrainFmas = 640 << 10;  // about 10 us
constexpr std::int64_t kPackedBytes = 4 << 20;  // of windows that are packed before they are met by all panels
constexpr std::int64_t kGrainPacked = 32 << 10;
constexpr std::int64_t kTableBytes = 64 << 10;  // of where rows stand
constexpr std::int64_t kTurnedRows = 160;       // of a panel that is packed and turned: in the nearest cache
constexpr std::int64_t kEndedBytes = 24 << 10;  // of results that a fragment takes at once: in the nearest cache

// ---- panels

template <class T>
void pack_panels(const TensorView& w, std::int64_t width, bool by_places, T* out) {
  const std::int64_t o = w.sizes[0], channels = w.sizes[1], places = count_from(w, 2), k = channels * places;
  std::vector<std::int64_t> offset(static_cast<std::size_t>(k));
  for (std::int64_t p = 0; p < places; ++p) {
    std::int64_t at = 0, left = p;
    for (int d = w.rank; d-- > 2; left /= w.sizes[d]) at += left % w.sizes[d] * w.strides[d];
    for (std::int64_t c = 0; c < channels; ++c)
      offset[static_cast<std::size_t>(by_places ? p * channels + c : c * places + p)] = c * w.strides[1] + at;
  }
  const T* from = w.as<T>();
  constexpr std::int64_t kTile = 16;  // of k: lines that are read and written stay in the cache meanwhile
  const std::int64_t tiles = (k + kTile - 1) / kTile, panels = (o + width - 1) / width;
  parallel(panels * tiles, std::max<std::int64_t>(1, (std::int64_t{64} << 10) / (kTile * width)),
           [&](std::int64_t begin, std::int64_t end) {
             for (std::int64_t i = begin; i < end; ++i) {
               const std::int64_t p = i / tiles, first = i % tiles * kTile, last = std::min(k, first + kTile),
                                  cols = std::min(width, o - p * width);
               T* panel = out + p * width * k;
               for (std::int64_t c = 0; c < width; ++c) {
                 const T* row = from + (p * width + c) * w.strides[0];
                 for (std::int64_t e = first; e < last; ++e)
                   panel[e * width + c] = c < cols ? row[offset[static_cast<std::size_t>(e)]] : T{0};
               }
             }
           });
}
void pack_panels(const TensorView& w, std::int64_t width, bool by_places, char* out) {
  if (w.dtype == DType::Float64) pack_panels(w, width, by_places, reinterpret_cast<double*>(out));
  else pack_panels(w, width, by_places, reinterpret_cast<float*>(out));
}

/// Rows of a tile with so many vectors.
int tile_rows(int bits, DType t, int vectors, std::int64_t rows) {
  // what windows are packed for
  if (bits != 512) return std::min(gemm_rows(bits), gemm_vectors(bits) * micro_lanes(bits, t));
  if (vectors == 4) return 6;
  return rows % 8 != 0 && rows % 7 == 0 ? 7 : 8;
}
int panel_vectors(int bits, DType t, std::int64_t o, std::int64_t rows) {
  if (bits != 512) return gemm_vectors(bits);
  const std::int64_t lanes = micro_lanes(bits, t);
  if (o <= 2 * lanes) return static_cast<int>((o + lanes - 1) / lanes);
  const bool few = rows > 0 && rows < 64 && rows % 7 == 0 && rows % 6 != 0 && o >= 9 * lanes;
  return o % (4 * lanes) == 0 && !few ? 4 : 3;
}

// ---- the product

struct RowKernels {
  MatmulKernels f;
  micro::PackWindowsFn pack;
  micro::RowTileFn full, two, one;
  micro::TurnFn turn;
};

class Rows {
 public:
  /// Of `windows` of x; y's channels lie side by side (`in_rows`), or its places do. Before a fragment y's data may be
  /// null: results are nowhere but in blocks.
  Rows(const RowKernels& f, const TensorView& x, const TensorView& y, const Windows& windows, int bits, int vectors,
       int tile_rows, bool in_rows, bool by_table, bool by_places, bool none, std::int64_t k, const Fragment* fragment)
      : f_(f), x_(x), y_(y), windows_(windows), size_(item_size(x.dtype)), lanes_(micro_lanes(bits, x.dtype)),
        width_(vectors * lanes_), tile_rows_(tile_rows), group_(windows.width() / tile_rows * tile_rows),
        n_(count_from(y, 2)), o_(y.sizes[1]), k_(none ? 0 : k), images_(y.sizes[0]), fragment_(fragment),
        in_rows_(in_rows), by_table_(by_table && !none), in_places_(by_places) {
    depth_ = product_depth(std::max<std::int64_t>(k_, 1), lanes_);
    // The images' results are one list of rows, where they stand like that.
    row_ = n_ == 1 ? y.strides[0] : y.strides[y.rank - 1];
    for (int d = y.rank; d-- > 2;)
      if (y.sizes[d] != 1) {
        row_ = y.strides[d];
        break;
      }
    if (in_rows_ && by_table_ && images_ > 1 && (n_ == 1 || y.strides[0] == n_ * row_))
      rows_ = images_ * n_, lists_ = 1;
    else rows_ = n_, lists_ = images_;
    const bool planes = !none && !by_table_ && windows.sees_planes();
    way_ = none ? Way::Nothing : by_table_ ? Way::Table : planes ? Way::Planes : Way::Packed;
    // An odd number of lines, so that a power of two does not put all rows into one set of the cache.
    // What is turned is written in whole vectors, also behind the last part of a row.
    packed_row_ = round_up(k_ + lanes_ - 1, 64 / size_) | (64 / size_);
    std::int64_t block = kFewRows;
    if (rows_ > kFewRows) {
      const std::int64_t bytes = std::max<std::int64_t>(1, x.numel() / std::max<std::int64_t>(1, images_ * n_)) * size_;
      block = std::clamp<std::int64_t>(std::min(device::cpu_info().l2_bytes / 4 / std::max<std::int64_t>(1, bytes),
                                                kTableBytes / 8 / table_places()),
                                       group_, 8 * kFewRows);
    }
    block_ = std::max<std::int64_t>(1, std::min(block, rows_) / group_) * group_;
    if (packs()) block_ = group_;
    blocks_ = (rows_ + block_ - 1) / block_, panels_ = (o_ + width_ - 1) / width_;
  }

  void run(const char* panels, const char* bias, const char* sum, bool relu) {
    panels_at_ = panels, bias_ = bias, sum_ = sum, relu_ = relu;
    zeros_.assign(static_cast<std::size_t>(way_ == Way::Nothing || !by_table_ ? 0 : (x_.sizes[1] * size_ + 7) / 8),
                  0.0);
    const std::int64_t all_packed = packs() ? lists_ * blocks_ * packed_bytes() : 0;
    const bool before = all_packed > 0 && all_packed <= kPackedBytes;
    Scratch packed(before ? all_packed : 0);
    packed_ = packed.get();
    if (before)
      parallel(lists_ * blocks_, std::max<std::int64_t>(1, kGrainPacked / std::max<std::int64_t>(1, k_ * group_)),
               [&](std::int64_t b, std::int64_t e) {
                 for (std::int64_t i = b; i < e; ++i) pack(i / blocks_, i % blocks_, packed_ + i * packed_bytes());
               });
    // Panels that meet the same rows are neighbours; those of windows that each thread packs are not parted. Where
    // weights are many and rows few, each panel meets all rows.
    const bool parted = !packs() || before;
    const bool by_panels = before && panels_ * width_ > lists_ * rows_;
    const std::int64_t work = std::max<std::int64_t>(k_, 1) + (fragment_ ? fragment_->cost() : 0);
    const std::int64_t items = lists_ * blocks_ * (parted ? panels_ : 1),
                       fmas = std::max<std::int64_t>(1, std::min(block_, rows_) * work * (parted ? width_ : o_));
    parallel(items, std::max<std::int64_t>(1, kGrainFmas / fmas), [&](std::int64_t b, std::int64_t e) {
      const std::int64_t stage_rows = round_up(std::min(block_, rows_), lanes_);
      Scratch stage(in_rows_ && y_.data ? 0 : stage_rows * width_ * size_), own_packed(parted ? 0 : packed_bytes());
      Table table;
      for (std::int64_t i = b; i < e; ++i) {
        if (!parted) {
          pack(i / blocks_, i % blocks_, own_packed.get());
          for (std::int64_t p = 0; p < panels_; ++p)
            block(i / blocks_, i % blocks_, p, own_packed.get(), stage.get(), table);
          continue;
        }
        const std::int64_t lists = lists_ * blocks_, p = by_panels ? i / lists : i % panels_,
                           at = by_panels ? i % lists : i / panels_;
        block(at / blocks_, at % blocks_, p, before ? packed_ + at * packed_bytes() : nullptr, stage.get(), table);
      }
    });
  }

 private:
  enum class Way { Nothing, Table, Planes, Packed };
  struct Table {
    std::int64_t list = -1, first = -1;
    const char* packed = nullptr;
    std::vector<const void*> rows;  // by group, place, row
  };
  bool packs() const { return way_ == Way::Packed || way_ == Way::Planes; }
  // of a group, which is a block
  std::int64_t packed_bytes() const { return round_up(group_, lanes_) * packed_row_ * size_; }
  /// A block's rows, each of k elements.
  void pack(std::int64_t list, std::int64_t block, char* to) const {
    const std::int64_t first = block * block_, count = std::min(block_, rows_ - first), wide = windows_.width();
    auto turn = [&](const char* from, std::int64_t from_row, std::int64_t k, std::int64_t deep) {
      for (std::int64_t i = 0; i < deep; i += lanes_)
        f_.f.transpose(from + i * from_row * size_, from_row, to + (k + i) * size_, packed_row_,
                       std::min(lanes_, deep - i), count);
    };
    if (way_ == Way::Planes) return turn(x_.data + (list * x_.strides[0] + first) * size_, x_.strides[1], 0, k_);
    // Rows of some channels lie after one another where places are the inner ones.
    const std::int64_t channels = windows_.channels(), places = windows_.places(),
                       some = in_places_ ? channels : std::max<std::int64_t>(1, kTurnedRows / places / lanes_ * lanes_);
    Scratch panel(std::min(some, channels) * places * wide * size_);
    Windows::Seen seen;
    windows_.look(first, count, seen);
    for (std::int64_t c = 0; c < channels; c += some) {
      const std::int64_t n = std::min(some, channels - c);
      windows_.pack(seen, list, c, n, panel.get());
      turn(panel.get(), wide, c * places, n * places);
    }
  }

  /// Where the rows [first, first + count) of a list have their elements. Panels that meet the same rows ask once.
  void look(Table& t, std::int64_t list, std::int64_t first, std::int64_t count, const char* packed) const {
    if (t.list == list && t.first == first && t.packed == packed) return;
    t.list = list, t.first = first, t.packed = packed;
    const std::int64_t places = table_places(), groups = (count + group_ - 1) / group_;
    t.rows.resize(static_cast<std::size_t>(groups * places * group_));
    for (std::int64_t g = 0; g < groups; ++g)
      look(t.rows.data() + g * places * group_, list, first + g * group_, std::min(group_, count - g * group_), packed);
  }
  void look(const void** at, std::int64_t list, std::int64_t first, std::int64_t count, const char* packed) const {
    const std::int64_t places = table_places();
    if (packs())
      for (std::int64_t i = 0; i < count; ++i) at[i] = packed + i * packed_row_ * size_;
    if (way_ == Way::Table) {
      const bool one_list = lists_ == 1 && images_ > 1;
      Windows::Seen seen;
      for (std::int64_t done = 0, some; done < count; done += some) {
        const std::int64_t row = first + done, image = one_list ? row / n_ : list, col = one_list ? row % n_ : row;
        some = std::min(count - done, n_ - col);
        seen.dense = 0;
        windows_.look(col, some, seen);
        const char* base = x_.data + image * x_.strides[0] * size_;
        for (std::int64_t p = 0; p < places; ++p) {
          const std::int64_t place = windows_.place(p);
          for (std::int64_t i = 0; i < some; ++i)
            at[p * group_ + done + i] = seen.inside[p] >> i & 1 ? base + (seen.column[i] + place) * size_
                                                                : reinterpret_cast<const char*>(zeros_.data());
        }
      }
    }
    // A tile has all its rows.
    for (std::int64_t p = 0; p < places; ++p)
      for (std::int64_t i = count; i < round_up(count, tile_rows_); ++i)
        at[p * group_ + i] = at[p * group_ + count - 1];
  }
  std::int64_t table_places() const { return way_ == Way::Table ? windows_.places() : 1; }

  /// A block of rows times a panel.
  void block(std::int64_t list, std::int64_t block, std::int64_t panel, const char* packed, char* stage,
             Table& table) const {
    const std::int64_t first = block * block_, count = std::min(block_, rows_ - first), col = panel * width_,
                       cols = std::min(width_, o_ - col);
    const bool one_list = lists_ == 1 && images_ > 1, in_place = in_rows_ && y_.data;
    const std::int64_t y_at =
        ((one_list ? 0 : list * y_.strides[0]) + (in_rows_ ? first * row_ + col : col * y_.strides[1] + first)) * size_;
    const char* sum = sum_ ? sum_ + y_at : nullptr;
    char* to = in_place ? y_.data + y_at : stage;
    const std::int64_t to_row = in_place ? row_ : width_;
    if (sum && !in_rows_) {
      for (std::int64_t c = 0; c < cols; c += lanes_)
        f_.f.transpose(sum + c * y_.strides[1] * size_, y_.strides[1], stage + c * size_, width_,
                       std::min(lanes_, cols - c), count);
      sum = stage;
    }
    if (way_ != Way::Nothing) look(table, list, first, count, packed);
    const micro::RowTileFn f = cols > 2 * lanes_ ? f_.full : cols > lanes_ ? f_.two : f_.one;
    const std::int64_t segment = by_table_ ? x_.sizes[1] : k_;
    const char* weights = panels_at_ + col * k_ * size_;
    micro::RowTile t{};
    t.rows_step = group_, t.length = segment;
    t.b_row = width_, t.from_row = to_row, t.to_row = to_row, t.n = cols;
    for (std::int64_t k = 0; k == 0 || k < k_; k += depth_) {
      const std::int64_t deep = std::min(depth_, k_ - k);
      t.b = weights + k * width_ * size_;
      const std::int64_t begin = k_ ? k / segment : 0;
      t.begin = k - begin * segment;
      t.segments = k_ ? (k + deep - 1) / segment - begin + 1 : 0;
      t.end = k + deep - (begin + t.segments - 1) * segment;
      const bool last = k + deep >= k_;
      t.bias = last && bias_ ? bias_ + col * size_ : nullptr, t.relu = last && relu_;
      // The panel's next rows are fetched, or the next panel's, as evenly as can be: a core waits for few lines at
      // once.
      const char* ahead = static_cast<const char*>(t.b) + deep * width_ * size_;
      const std::int64_t tiles = (count + tile_rows_ - 1) / tile_rows_,
                         at_once = last && fragment_ ? std::max<std::int64_t>(1, kEndedBytes / (cols * size_)) : count;
      std::int64_t ended = 0;
      t.ahead_step = std::min<std::int64_t>(64, (width_ * size_ + tiles - 1) / tiles);
      for (std::int64_t group = 0; group < count; group += group_) {
        const std::int64_t some = std::min(group_, count - group);
        for (std::int64_t i = 0; i < some; i += tile_rows_) {
          t.rows = way_ == Way::Nothing ? nullptr : table.rows.data() + group * table_places() + begin * group_ + i;
          t.m = std::min<std::int64_t>(tile_rows_, some - i);
          t.to = to + (group + i) * to_row * size_;
          t.from = k > 0 ? t.to : sum ? sum + (group + i) * to_row * size_ : nullptr;
          t.ahead = ahead + (group + i) / tile_rows_ * deep * t.ahead_step;
          f(&t);
        }
        const std::int64_t whole = group + some;
        if (!last || !fragment_ || (whole < count && whole - ended < at_once)) continue;
        const Block block{to + ended * to_row * size_, to_row};
        fragment_->run((one_list ? 0 : list * n_) + first + ended, whole - ended, col, cols, &block);
        ended = whole;
      }
    }
    if (!in_rows_) f_.turn(stage, width_, y_.data + y_at, y_.strides[1], count, cols);
  }

  const RowKernels& f_;
  const TensorView &x_, &y_;
  const Windows& windows_;
  std::int64_t size_, lanes_, width_, tile_rows_, group_, n_, o_, k_, images_;
  const Fragment* fragment_;
  bool in_rows_, by_table_, in_places_;
  Way way_ = Way::Nothing;
  std::int64_t depth_ = 1, packed_row_ = 1, row_ = 1, rows_ = 0, lists_ = 1, block_ = 1, blocks_ = 1, panels_ = 1;
  const char *panels_at_ = nullptr, *bias_ = nullptr, *sum_ = nullptr;
  char* packed_ = nullptr;
  bool relu_ = false;
  std::vector<double> zeros_;
};

/// Do the results of each image stand row by row, their channels side by side?
bool in_rows(const TensorView& y) {
  if (y.sizes[1] != 1 && y.strides[1] != 1) return false;
  std::int64_t stride = 0;
  for (int d = y.rank; d-- > 2;) {
    if (y.sizes[d] == 1) continue;
    if (stride && y.strides[d] != stride) return false;
    stride = y.strides[d] * y.sizes[d];
  }
  return true;
}

/// What a fragment reads: rows of results of such sizes, where it has a place for them; else of no address.
TensorView before_fragment(const Fragment& fragment, DType t, const std::int64_t* sizes, int rank) {
  const Block place = fragment.place(0);
  TensorView y;
  y.data = place.data, y.dtype = t, y.rank = rank;
  std::copy_n(sizes, rank, y.sizes);
  y.strides[1] = 1;
  std::int64_t stride = place.data ? place.row : sizes[1];
  for (int d = rank; d-- > 2; stride *= sizes[d]) y.strides[d] = stride;
  y.strides[0] = stride;
  return y;
}

void rows_kernel(const NativeArgs& args) {
  reporting(args, [&] {
    const TensorView &given = args.tensor(kInput), &w = args.tensor(kWeight);
    const int at = static_cast<int>(args.n_args) - 1;
    auto number = [&](int i) { return args.integer(at, static_cast<std::uint32_t>(i)); };
    const std::int64_t fragment_at = number(own::kFragment), rank = given.rank;
    const unsigned which = static_cast<unsigned>(number(own::kWhich));
    std::optional<Fragment> fragment;
    if (fragment_at > 0)
      fragment.emplace(args, static_cast<std::size_t>(fragment_at + rank),
                       static_cast<std::size_t>(std::popcount(which) + 5 + number(own::kDeals)));
    const TensorView result =
        fragment ? before_fragment(*fragment, given.dtype, args.ints + fragment_at, given.rank) : args.result();
    if (result.numel() == 0) return;
    const int bits = static_cast<int>(number(own::kBits)), vectors = static_cast<int>(number(own::kVectors)),
              tile = static_cast<int>(number(own::kTileRows));
    const bool by_places = number(own::kByPlaces) != 0;
    const Sum sum = static_cast<Sum>(number(own::kSum));
    void* const* code = args.micro;
    const MatmulKernels f = matmul_kernels(bits, which, code);
    code += std::popcount(which);
    const RowKernels kernels{f,
                             reinterpret_cast<micro::PackWindowsFn>(code[0]),
                             reinterpret_cast<micro::RowTileFn>(code[1]),
                             reinterpret_cast<micro::RowTileFn>(code[2]),
                             reinterpret_cast<micro::RowTileFn>(code[3]),
                             reinterpret_cast<micro::TurnFn>(code[4])};
    const std::int64_t size = item_size(given.dtype), k = count_from(w, 1);
    const bool none = k == 0 || given.numel() == 0;
    const bool by_table = by_places && (given.strides[1] == 1 || given.sizes[1] == 1) && given.sizes[1] >= kFewChannels;
    std::optional<Planes> planes;
    if (!by_table && !none) planes.emplace(f, given);
    const Phases phases(args, !by_table && number(own::kDeals) ? reinterpret_cast<micro::DealRowsFn>(code[5]) : nullptr,
                        planes ? planes->view() : given);
    const TensorView& x = phases.view();

    TensorView y = result;
    const bool rows = fragment || in_rows(result), in_place = rows || side_by_side(result, 2);
    Scratch made(in_place ? 0 : result.numel() * size);
    if (!in_place) {
      y.data = made.get();
      std::int64_t stride = 1;
      for (int d = y.rank; d-- > 0; stride *= y.sizes[d]) y.strides[d] = stride;
    }
    const char* panels = nullptr;
    const bool packed = args.n_args > kPackedCount;
    Scratch own_panels(packed || none ? 0 : row_panel_elements(w.sizes[0], k, w.dtype, vectors) * size);
    if (packed) panels = args.tensor(kPanels).data;
    else if (!none)
      pack_panels(w, vectors * micro_lanes(bits, w.dtype), by_places, own_panels.get()), panels = own_panels.get();
    Scratch biases(args.has(kBias) ? y.sizes[1] * size : 0);
    if (args.has(kBias)) gather(args.tensor(kBias), given.dtype, biases.get());
    const char* added = sum == Sum::None      ? nullptr
                        : sum == Sum::InPlace ? y.data
                                              : args.tensors[args.first_result - 1].data;
    const Windows windows(args, x, w, y, bits, kernels.pack, none, !by_places, phases.dims());
    Rows(kernels, x, y, windows, bits, vectors, tile, rows, by_table, by_places, none, k,
         fragment ? &*fragment : nullptr)
        .run(panels, biases.get(), added, number(own::kRelu) != 0);
    if (!in_place) scatter(y.data, result);
  });
}

/// Whether the channels of images of such a layout lie side by side, as far as that is known.
bool is_channels_last(const Layout& l) {
  return is_number(l.strides[1], 1) && !is_number(l.strides.back(), 1) && l.sizes[1].hint() > 1;
}
bool weight_places_first(const Layout& w) {
  return is_number(w.strides[1], 1) && w.sizes[1].hint() > 1 && !is_number(w.strides.back(), 1);
}
Int count(const Ints& sizes, std::size_t first) {
  Int n = 1;
  for (std::size_t i = first; i < sizes.size(); ++i) n = n * sizes[i];
  return n;
}

}  // namespace

void prepack_windows_kernel(const NativeArgs& args) {
  reporting(args, [&] {
    if (args.result().numel() == 0) return;
    const TensorView& w = args.tensor(0);
    pack_panels(w, args.integer(1) * micro_lanes(micro_vector_bits(), w.dtype), args.flag(2), args.result().data);
  });
}

std::optional<RowPanels> row_panels_wanted(const TensorMeta& image, const TensorMeta& weight, const TensorMeta& result,
                                           const Int& groups, bool transposed) {
  const DType t = image.dtype;
  if (transposed || !is_number(groups, 1) || (t != DType::Float32 && t != DType::Float64)) return std::nullopt;
  const std::int64_t rows = count(result.layout.sizes, 2).hint(), o = weight.layout.sizes[0].hint(),
                     channels = weight.layout.sizes[1].hint();
  const bool last = is_channels_last(image.layout), few = rows <= kFewRows;
  const int bits = micro_vector_bits(), vectors = panel_vectors(bits, t, o, rows);
  if (o < micro_lanes(bits, t) || rows * result.layout.sizes[0].hint() < gemm_rows(bits)) return std::nullopt;
  if (!(last && channels >= kFewChannels) && !few && !is_channels_last(result.layout)) return std::nullopt;
  // One place of one place: the images are the rows of one product (convolution.cc).
  if (rows == 1 && is_number(count(weight.layout.sizes, 2), 1)) return std::nullopt;
  return RowPanels{vectors, last || weight_places_first(weight.layout)};
}

std::optional<NativeLaunch> rows_launch(const graph::Graph& g, const graph::Node& node,
                                        const std::vector<Operand>& operands) {
  const bool packed = node.args.size() >= kPackedCount;
  const Operand &x = operands[kInput], &w = operands[kWeight], &y = operands.back();
  RowPanels panels;
  if (packed) {
    panels = {static_cast<int>(std::get<Int>(node.args[kVectors]).hint()), std::get<bool>(node.args[kByPlaces])};
  } else {
    // Of planes other ways read the weights as they stand.
    const bool last = is_channels_last(x.layout) && x.layout.sizes[1].hint() >= kFewChannels;
    std::optional<RowPanels> wanted;
    if (last)
      wanted = row_panels_wanted({x.dtype, {}, x.layout}, {w.dtype, {}, w.layout}, {y.dtype, {}, y.layout},
                                 std::get<Int>(node.args[kGroups]), std::get<bool>(node.args[kTransposed]));
    if (!wanted) return std::nullopt;
    panels = *wanted;
  }
  const int bits = micro_vector_bits();
  const DType t = y.dtype;
  const unsigned which = 1u << MatmulKernels::kTranspose;
  const int rows = tile_rows(bits, t, panels.vectors, count(y.layout.sizes, 2).hint());
  const bool deals = deals_phases(node, t);
  NativeLaunch out = native_launch(rows_kernel, g, node, operands);
  out.args.push_back({NativeArg::Kind::IntList, static_cast<std::uint32_t>(out.ints.size()), own::kCount});
  for (std::int64_t i : {std::int64_t{bits}, std::int64_t{which}, static_cast<std::int64_t>(Sum::None), std::int64_t{0},
                         std::int64_t{panels.vectors}, std::int64_t{rows}, std::int64_t{panels.by_places},
                         std::int64_t{0}, std::int64_t{deals}, std::int64_t{0}})
    out.ints.push_back(i);
  out.micro = matmul_specs(bits, t, which);
  out.micro.push_back(micro::PackWindows{bits, t});
  for (int v : {panels.vectors, 2, 1}) out.micro.push_back(micro::RowTiles{bits, t, rows, v});
  out.micro.push_back(micro::Turn{bits, t});
  if (deals) out.micro.push_back(micro::DealRows{bits, t, 2});
  return out;
}

bool is_rows_convolution(const NativeLaunch& l) { return l.fn == rows_kernel; }

NativeFn named::convolution_rows() { return rows_kernel; }

}  // namespace reprise::kernels
