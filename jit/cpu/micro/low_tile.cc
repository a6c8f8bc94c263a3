// Tiles of products of bfloat16 and int8 on the instructions made for them: AMX's tiles, and VDPBF16PS; and what brings
// a matrix into their form.
#include "jit/cpu/micro/code.h"
#include "jit/engine/target.h"

namespace reprise::jit {

namespace {

/// AMX by tiles of fixed numbers, all of 16 rows of 64 bytes: its instructions, or calls of what computes the same
/// (jit/engine/emulated.h).
class Amx {
 public:
  static constexpr std::int64_t kRows = 16, kRowBytes = 64;
  explicit Amx(MicroCode& g) : g_(g), b_(g.b), emulated_(g.cx.host.emulates_amx) {}

  /// Until release(): nothing that may use tiles itself is called in between.
  void configure() {
    std::vector<std::uint8_t> c(64, 0);
    c[0] = 1;  // the palette
    for (std::size_t t = 0; t < 8; ++t) c[16 + 2 * t] = kRowBytes, c[48 + t] = kRows;
    llvm::Constant* data = llvm::ConstantDataArray::get(b_.getContext(), c);
    auto* config =
        new llvm::GlobalVariable(g_.cx.module, data->getType(), true, llvm::GlobalValue::PrivateLinkage, data, "tiles");
    config->setAlignment(llvm::Align(64));
    emit(llvm::Intrinsic::x86_ldtilecfg, "reprise_tile_config", {config});
  }
  void release() { emit(llvm::Intrinsic::x86_tilerelease, "reprise_tile_release", {}); }
  void zero(int tile) { emit(llvm::Intrinsic::x86_tilezero, "reprise_tile_zero", {number(tile)}); }
  void load(int tile, const V& from, const V& stride) {
    emit(llvm::Intrinsic::x86_tileloadd64, "reprise_tile_load", {number(tile), from.v, g_.i64(stride).v});
  }
  void store(int tile, const V& to, const V& stride) {
    emit(llvm::Intrinsic::x86_tilestored64, "reprise_tile_store", {number(tile), to.v, g_.i64(stride).v});
  }
  void add_products(DType x, int sums, int a, int b) {
    const bool halves = x == DType::BFloat16;
    emit(halves ? llvm::Intrinsic::x86_tdpbf16ps : llvm::Intrinsic::x86_tdpbssd,
         halves ? "reprise_tile_bf16" : "reprise_tile_int8", {number(sums), number(a), number(b)});
  }

 private:
  llvm::Value* number(int tile) {
    return emulated_ ? static_cast<llvm::Value*>(b_.getInt64(static_cast<std::uint64_t>(tile)))
                     : b_.getInt8(static_cast<std::uint8_t>(tile));
  }
  void emit(llvm::Intrinsic::ID instruction, const char* function, std::vector<llvm::Value*> arguments) {
    if (!emulated_) {
      b_.CreateIntrinsic(instruction, {}, arguments);
      return;
    }
    std::vector<llvm::Type*> types;
    for (llvm::Value* v : arguments) types.push_back(v->getType());
    b_.CreateCall(g_.cx.module.getOrInsertFunction(function, llvm::FunctionType::get(b_.getVoidTy(), types, false)),
                  arguments);
  }
  MicroCode& g_;
  llvm::IRBuilder<>& b_;
  const bool emulated_;
};

struct Arguments {
  V a, a_row, b, sums, m, k, first;
  explicit Arguments(MicroCode& g)
      : a(g.arg(0)), a_row(g.arg(1)), b(g.arg(2)), sums(g.arg(3)), m(g.arg(4)), k(g.arg(5)), first(g.arg(6)) {}
};

/// Two tiles of rows by two of columns: each of four tiles that are loaded meets two others, and four sums wait for
/// nothing but themselves.
void amx_tile(EmitContext& cx, const micro::LowTile& code) {
  MicroCode g(cx, code, DType::Int32);
  const Arguments p(g);
  Amx amx(g);
  constexpr std::int64_t row = 2 * Amx::kRowBytes;  // of b and of sums
  auto at = [&](const V& base, const V& bytes) { return g.at(base, DType::UInt8, bytes); };
  auto tiles = [&](const V& from, const V& to, int rows) {  // rows: 1 or 2 tiles
    g.carry(from, to, rows * Amx::kRows, {}, [&](V i, Vs) -> Vs {
      const V a = at(p.a, i * p.a_row), below = at(a, p.a_row * Amx::kRows), sums = at(p.sums, i * row);
      auto each = [&](auto&& f) {
        for (int r = 0; r < rows; ++r)
          for (int c = 0; c < 2; ++c) f(r * 2 + c, at(sums, r * Amx::kRows * row + c * Amx::kRowBytes));
      };
      g.when(
          p.first != 0, [&] { each([&](int t, V) { amx.zero(t); }); },
          [&] { each([&](int t, V s) { amx.load(t, s, row); }); });
      g.carry(0, p.k, Amx::kRows, {a, below, p.b}, [&](V, Vs s) -> Vs {
        amx.load(6, s[2], row);
        amx.load(4, s[0], p.a_row);
        amx.add_products(code.x, 0, 4, 6);
        amx.load(7, at(s[2], Amx::kRowBytes), row);
        amx.add_products(code.x, 1, 4, 7);
        if (rows == 2) {
          amx.load(5, s[1], p.a_row);
          amx.add_products(code.x, 2, 5, 6);
          amx.add_products(code.x, 3, 5, 7);
        }
        return {at(s[0], Amx::kRowBytes), at(s[1], Amx::kRowBytes), at(s[2], Amx::kRows * row)};
      });
      each([&](int t, V s) { amx.store(t, s, row); });
      return {};
    });
  };
  amx.configure();
  const V pairs = g.whole(p.m, 2 * Amx::kRows);
  tiles(0, pairs, 2);
  tiles(pairs, p.m, 1);
  amx.release();
  g.finish();
}

}  // namespace

V dot_of_halves(MicroCode& g, const V& sums, const V& x, const V& y) {
  if (makes_x86() && !g.cx.host.emulates_bf16) {
    auto halves = [&](const V& v) { return g.b.CreateBitCast(v.v, llvm::FixedVectorType::get(g.b.getBFloatTy(), 32)); };
    return g.wrap(
        g.b.CreateIntrinsic(llvm::Intrinsic::x86_avx512bf16_dpbf16ps_512, {}, {sums.v, halves(x), halves(y)}));
  }
  auto floats = [&](const V& v) { return g.b.CreateBitCast(v.v, sums.v->getType()); };
  return g.wrap(g.call_runtime("reprise_dot_bf16", {sums.v, floats(x), floats(y)}));
}

void emit(EmitContext& cx, const micro::LowTile& code) {
  if (code.form == kernels::LowForm::Amx) return amx_tile(cx, code);
  MicroCode g(cx, code, DType::Float32);
  const Arguments p(g);
  const int nv = kernels::gemm_vectors(code.bits), mr = kernels::gemm_rows(code.bits);
  const std::int64_t row = nv * g.lanes;
  auto index = [&](int i, int v) { return static_cast<std::size_t>(i * nv + v); };
  g.carry(0, p.m, mr, {}, [&](V i, Vs) -> Vs {
    Vs from;
    for (int r = 0; r < mr; ++r) from.push_back(g.at(p.a, DType::UInt8, (i + r) * p.a_row));
    const V to = g.at(p.sums, DType::Float32, i * row);
    Vs s(static_cast<std::size_t>(mr * nv), g.zero());
    s = g.carry(p.first, 1, 1, s, [&](V, Vs t) -> Vs {  // 0 or 1 times
      for (int r = 0; r < mr; ++r)
        for (int v = 0; v < nv; ++v)
          t[index(r, v)] = g.load(DType::Float32, g.at(to, DType::Float32, r * row + v * g.lanes));
      return t;
    });
    s.push_back(p.b);
    s = g.carry(0, p.k, 1, s, [&](V c, Vs t) -> Vs {
      Vs w;
      for (int v = 0; v < nv; ++v) w.push_back(g.load(DType::Float32, g.at(t.back(), DType::Float32, v * g.lanes)));
      for (int r = 0; r < mr; ++r) {
        const V x = g.load_splat(DType::Float32, g.at(from[static_cast<std::size_t>(r)], DType::Float32, c));
        for (int v = 0; v < nv; ++v)
          t[index(r, v)] = dot_of_halves(g, t[index(r, v)], x, w[static_cast<std::size_t>(v)]);
      }
      t.back() = g.at(t.back(), DType::Float32, row);
      return t;
    });
    for (int r = 0; r < mr; ++r)
      for (int v = 0; v < nv; ++v)
        g.store(DType::Float32, s[index(r, v)], g.at(to, DType::Float32, r * row + v * g.lanes));
    return {};
  });
  g.finish();
}

void emit(EmitContext& cx, const micro::Interleave& code) {
  MicroCode g(cx, code, DType::Int32);
  auto& b = g.b;
  const int size = code.size, group = 4 / size, lanes = g.lanes;
  const V from = g.arg(0), from_row = g.arg(1), to = g.arg(2), to_row = g.arg(3), rows = g.arg(4), n = g.arg(5);
  auto* narrow = llvm::FixedVectorType::get(b.getIntNTy(static_cast<unsigned>(8 * size)), static_cast<unsigned>(lanes));
  llvm::Constant* none = llvm::Constant::getNullValue(narrow);
  std::vector<int> order;  // of `group` rows after one another: column by column
  for (int c = 0; c < lanes; ++c)
    for (int t = 0; t < group; ++t) order.push_back(t * lanes + c);
  const V whole = g.whole(n, lanes), whole_rows = g.whole(rows, group);
  const V tail = g.mask_below(n - whole);
  auto pass = [&](V begin, V end, bool all_there, Vs at) {
    return g.carry(begin, end, group, at, [&](V i, Vs p) -> Vs {
      Vs row{p[0]};
      for (int t = 1; t < group; ++t)
        row.push_back(all_there ? g.at(row.back(), DType::UInt8, from_row)
                                : g.at(p[0], DType::UInt8, (g.min(i + t, rows - 1) - i) * from_row));
      auto columns = [&](V j, const V& mask) {
        std::vector<llvm::Value*> parts;
        for (int t = 0; t < group; ++t) {
          const V place = g.at(row[static_cast<std::size_t>(t)], DType::UInt8, j * size);
          llvm::Value* x =
              mask.v ? static_cast<llvm::Value*>(b.CreateMaskedLoad(narrow, place.v, llvm::Align(1), mask.v, none))
                     : b.CreateAlignedLoad(narrow, place.v, llvm::Align(1));
          // of a row that is not there another one was read
          parts.push_back(all_there || t == 0 ? x : b.CreateSelect((i + t < rows).v, x, none));
        }
        for (; parts.size() > 1; parts.resize(parts.size() / 2))
          for (std::size_t t = 0; t < parts.size(); t += 2) parts[t / 2] = g.joined(parts[t], parts[t + 1]);
        llvm::Value* made = b.CreateShuffleVector(parts[0], order);
        if (code.turned) made = b.CreateXor(made, llvm::ConstantInt::get(made->getType(), 0x80));
        b.CreateAlignedStore(made, g.at(p[1], DType::Int32, j).v, llvm::Align(4));
      };
      g.carry(0, whole, lanes, {}, [&](V j, Vs) -> Vs { return columns(j, {}), Vs{}; });
      g.carry(whole, n, lanes, {}, [&](V j, Vs) -> Vs { return columns(j, tail), Vs{}; });
      return {g.at(p[0], DType::UInt8, from_row * group), g.at(p[1], DType::Int32, to_row)};
    });
  };
  pass(whole_rows, rows, false, pass(0, whole_rows, true, {from, to}));
  g.finish();
}

}  // namespace reprise::jit
