// Micro-kernels of convolutions: the panels that their products read.
#include <cstddef>

#include "jit/cpu/micro/code.h"

namespace reprise::jit {

void emit(EmitContext& cx, const micro::PackWindows& code) {
  const DType src = code.src, acc = kernels::acc_dtype(src);
  MicroCode g(cx, code, acc);
  const int vectors = kernels::gemm_vectors(code.bits), lanes = g.lanes;
#define REPRISE_POINTER(name) g.pointer_at(offsetof(micro::WindowPanel, name))
#define REPRISE_INTEGER(name) g.integer_at(offsetof(micro::WindowPanel, name))
  const V image = REPRISE_POINTER(image), place = REPRISE_POINTER(place), inside = REPRISE_POINTER(inside), column = REPRISE_POINTER(column), channels = REPRISE_INTEGER(channels),
          channel = REPRISE_INTEGER(channel), places = REPRISE_INTEGER(places), dense = REPRISE_INTEGER(dense), to = REPRISE_POINTER(to);
#undef REPRISE_POINTER
#undef REPRISE_INTEGER
  auto number = [&](const V& array, const V& i) { return g.wrap(g.b.CreateAlignedLoad(g.b.getInt64Ty(), g.at(array, DType::Int64, i).v, llvm::Align(8))); };
  llvm::Type* offsets_type = llvm::FixedVectorType::get(g.b.getInt64Ty(), static_cast<unsigned>(lanes));
  for (int v = 0; v < vectors; ++v) {
    // load(where place 0 of column 0 is, the place's offset, the lanes inside) for every row of the panel.
    auto rows = [&](const std::function<V(V, V, V)>& load) {
      g.carry(0, channels, 1, {image, g.at(to, acc, v * lanes)}, [&](V, Vs at) -> Vs {
        const V row = g.carry(0, places, 1, {at[1]}, [&](V p, Vs row) -> Vs {
          llvm::Value* bits = g.b.CreateTrunc((number(inside, p) >> V(std::int64_t{v} * lanes)).v, g.b.getIntNTy(static_cast<unsigned>(lanes)));
          const V mask = g.wrap(g.b.CreateBitCast(bits, llvm::FixedVectorType::get(g.b.getInt1Ty(), static_cast<unsigned>(lanes))));
          g.store(acc, load(at[0], number(place, p), mask), row[0]);
          return {g.at(row[0], acc, vectors * lanes)};
        })[0];
        return {g.at(at[0], src, channel), row};
      });
    };
    g.when(((dense >> V(v)) & 1) != 0,
           [&] {
             const V first = number(column, g.i64(v * lanes));
             rows([&](V from, V offset, V mask) { return g.load(src, g.at(from, src, first + offset), mask); });
           },
           [&] {
             llvm::Value* columns = g.b.CreateAlignedLoad(offsets_type, g.at(column, DType::Int64, g.i64(v * lanes)).v, llvm::Align(8));
             rows([&](V from, V offset, V mask) {
               // Lanes outside read an element that is there, and 0 instead: memory of half types is read whole.
               llvm::Value* at = g.b.CreateAdd(columns, g.b.CreateVectorSplat(static_cast<unsigned>(lanes), offset.v));
               at = g.b.CreateSelect(mask.v, at, llvm::Constant::getNullValue(offsets_type));
               return g.select(mask, g.wrap(g.cast(src, acc, g.gather(src, from.v, at, mask.v))), g.zero());
             });
           });
  }
  g.finish();
}

}  // namespace reprise::jit
