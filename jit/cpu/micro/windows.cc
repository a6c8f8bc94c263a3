// Micro-kernels of convolutions: the panels that their products read, and sums over windows of one channel.
#include <cstddef>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

namespace {

/// What a WindowPanel, which stands `at` bytes into the argument, says.
struct Panel {
  MicroCode& g;
  DType src;
  V image, place, inside, column, channels, channel, places, dense, to, to_channel, to_place;
  Panel(MicroCode& g, DType src, std::size_t at)
      : g(g), src(src),
#define REPRISE_POINTER(name) name(g.pointer_at(at + offsetof(micro::WindowPanel, name)))
#define REPRISE_INTEGER(name) name(g.integer_at(at + offsetof(micro::WindowPanel, name)))
        REPRISE_POINTER(image), REPRISE_POINTER(place), REPRISE_POINTER(inside), REPRISE_POINTER(column),
        REPRISE_INTEGER(channels), REPRISE_INTEGER(channel), REPRISE_INTEGER(places), REPRISE_INTEGER(dense),
        REPRISE_POINTER(to), REPRISE_INTEGER(to_channel), REPRISE_INTEGER(to_place) {
  }
#undef REPRISE_POINTER
#undef REPRISE_INTEGER

  V number(const V& array, const V& i) const {
    return g.wrap(g.b.CreateAlignedLoad(g.b.getInt64Ty(), g.at(array, DType::Int64, i).v, llvm::Align(8)));
  }

  /// Whether place p of a window is within the image, for the windows of vector v.
  V mask_at(int v, const V& p) const {
    const auto lanes = static_cast<unsigned>(g.lanes);
    llvm::Value* bits =
        g.b.CreateTrunc((number(inside, p) >> V(static_cast<std::int64_t>(v) * g.lanes)).v, g.b.getIntNTy(lanes));
    return g.wrap(g.b.CreateBitCast(bits, llvm::FixedVectorType::get(g.b.getInt1Ty(), lanes)));
  }
  /// What the windows of a vector have in a place of a channel, of which the first element is given.
  using Load = std::function<V(const V&)>;
  using At = std::function<Load(const V& place)>;
  /// Of a vector whose elements lie side by side.
  At loaded(int v) const {
    const V first = number(column, g.i64(v * g.lanes));
    return [this, v, first](const V& p) -> Load {
      const V at = first + number(place, p), mask = mask_at(v, p);
      return [this, at, mask](const V& from) { return g.load(src, g.at(from, src, at), mask); };
    };
  }
  At gathered(int v) const {
    const auto lanes = static_cast<unsigned>(g.lanes);
    llvm::Type* type = llvm::FixedVectorType::get(g.b.getInt64Ty(), lanes);
    llvm::Value* columns =
        g.b.CreateAlignedLoad(type, g.at(column, DType::Int64, g.i64(v * g.lanes)).v, llvm::Align(8));
    return [this, v, type, lanes, columns](const V& p) -> Load {
      // Lanes outside read an element that is there, and 0 instead: memory of half types is read whole.
      const V mask = mask_at(v, p);
      llvm::Value* at = g.b.CreateAdd(columns, g.b.CreateVectorSplat(lanes, number(place, p).v));
      at = g.b.CreateSelect(mask.v, at, llvm::Constant::getNullValue(type));
      return [this, at, mask](const V& from) {
        return g.select(mask, g.wrap(g.cast(src, g.acc, g.gather(src, from.v, at, mask.v))), g.zero());
      };
    };
  }
  V is_dense(int v) const { return ((dense >> V(v)) & 1) != 0; }
};

}  // namespace

void emit(EmitContext& cx, const micro::PackWindows& code) {
  const DType acc = kernels::acc_dtype(code.src);
  MicroCode g(cx, code, acc);
  const int vectors = kernels::gemm_vectors(code.bits);
  const Panel in(g, code.src, 0);
  const V channel = in.to_channel * (vectors * g.lanes), place = in.to_place * (vectors * g.lanes);
  // Place by place: what is asked of one is the same for all channels.
  auto rows = [&](int first, const std::vector<Panel::At>& all) {
    g.carry(0, in.places, 1, {g.at(in.to, acc, first * g.lanes)}, [&](V p, Vs at) -> Vs {
      std::vector<Panel::Load> loads;
      for (const Panel::At& load : all) loads.push_back(load(p));
      g.carry(0, in.channels, 1, {in.image, at[0]}, [&](V, Vs row) -> Vs {
        for (std::size_t v = 0; v < loads.size(); ++v)
          g.store(acc, loads[v](row[0]), g.at(row[1], acc, static_cast<std::int64_t>(v) * g.lanes));
        return {g.at(row[0], code.src, in.channel), g.at(row[1], acc, channel)};
      });
      return {g.at(at[0], acc, place)};
    });
  };
  const V whole = (std::int64_t{1} << vectors) - 1;
  std::vector<Panel::At> all;
  for (int v = 0; v < vectors; ++v) all.push_back(in.loaded(v));
  g.when((in.dense & whole) == whole, [&] { rows(0, all); },
         [&] {
           for (int v = 0; v < vectors; ++v)
             g.when(
                 in.is_dense(v), [&] { rows(v, {in.loaded(v)}); }, [&] { rows(v, {in.gathered(v)}); });
         });
  g.finish();
}

void emit(EmitContext& cx, const micro::SumWindows& code) {
  const DType src = code.src, acc = kernels::acc_dtype(src);
  MicroCode g(cx, code, acc);
  const Panel in(g, src, offsetof(micro::WindowRows, seen));
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::WindowRows, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::WindowRows, name))
  const V weights = REPRISE_POINTER(weights), bias = REPRISE_POINTER(bias), sum = REPRISE_POINTER(sum),
          weights_row = REPRISE_INTEGER(weights_row), bias_row = REPRISE_INTEGER(bias_row), y = REPRISE_POINTER(y),
          y_row = REPRISE_INTEGER(y_row), n = REPRISE_INTEGER(n);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  const V low_at = g.wrap(g.b.CreateConstGEP1_64(g.b.getInt8Ty(), g.arg(0).v, offsetof(micro::WindowRows, low)));
  const V low =
      g.splat(g.wrap(g.cast(DType::Float64, acc, g.b.CreateAlignedLoad(g.b.getDoubleTy(), low_at.v, llvm::Align(8)))));
  const V has_sum = g.is_there(sum);
  const int vectors = kernels::gemm_vectors(code.bits);
  // All rows of some vectors together: so many sums go on at once.
  auto rows = [&](int first, const std::vector<Panel::At>& loads) {
    Vs masks;
    for (std::size_t i = 0; i < loads.size(); ++i)
      masks.push_back(g.mask_below(n - (first + static_cast<int>(i)) * g.lanes));
    // The image's channel, its weights, its bias; where its results stand, and what is added.
    g.carry(0, in.channels, 1,
            {in.image, weights, bias, g.at(y, src, first * g.lanes), g.at(sum, acc, first * g.lanes)},
            [&](V, Vs at) -> Vs {
              Vs t = g.carry(0, in.places, 1, Vs(loads.size(), g.zero()), [&](V p, Vs s) -> Vs {
                const V weight = g.load_splat(g.at(at[1], acc, p));
                for (std::size_t i = 0; i < loads.size(); ++i) s[i] = g.multiply_add(weight, loads[i](p)(at[0]), s[i]);
                return s;
              });
              auto part = [&](std::size_t i) { return static_cast<std::int64_t>(i) * g.lanes; };
              t = g.carry(0, has_sum, 1, t, [&](V, Vs s) -> Vs {
                for (std::size_t i = 0; i < s.size(); ++i)
                  s[i] = g.load(acc, g.at(at[4], acc, part(i)), masks[i]) + s[i];
                return s;
              });
              const V more = g.load_splat(at[2]);
              for (std::size_t i = 0; i < t.size(); ++i) {
                const V whole = t[i] + more;
                g.store(src, g.select(whole < low, low, whole), g.at(at[3], src, part(i)), masks[i]);  // NaN stays
              }
              return {g.at(at[0], src, in.channel), g.at(at[1], acc, weights_row), g.at(at[2], acc, bias_row),
                      g.at(at[3], src, y_row), g.at(at[4], acc, y_row)};
            });
  };
  std::vector<Panel::At> all;
  g.when((in.dense & V((std::int64_t{1} << vectors) - 1)) == V((std::int64_t{1} << vectors) - 1),
         [&] {
           for (int v = 0; v < vectors; ++v) all.push_back(in.loaded(v));
           rows(0, all);
         },
         [&] {
           for (int v = 0; v < vectors; ++v)
             g.when(n > V(v * g.lanes), [&] {
               g.when(
                   in.is_dense(v), [&] { rows(v, {in.loaded(v)}); }, [&] { rows(v, {in.gathered(v)}); });
             });
         });
  g.finish();
}

}  // namespace reprise::jit
