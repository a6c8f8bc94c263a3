// Functions by tables in registers: one instruction picks a coefficient for each lane, where a processor has it. Coefficients: scripts/math_coefficients.py.
#include "jit/emit/math.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

constexpr int kEntries = 16;

// erf by intervals of kWidth around its multiples: x0, erf(x0), then the polynomial's coefficients of x - x0, the first of them less 1 in the interval around 0.
// x0 stands where erf(x0) is a float to 2^-32, and the first coefficient nearly one.
constexpr double kWidth = 0.255;
constexpr float kErf[][kEntries] = {
    {0, 0.204021618, 0.510042787, 0.765071988, 1.02011585, 1.27477789, 1.5298382, 1.78495157,
     2.04036713, 2.29484725, 2.54961348, 2.80524397, 3.06001663, 3.31452322, 3.5695231, 3.82452321},
    {0, 0.227059036, 0.529280841, 0.720736444, 0.850884199, 0.928581655, 0.969498634, 0.988407195,
     0.99609226, 0.998827159, 0.999688685, 0.999927282, 0.99998492, 0.999997258, 0.999999583, 0.99999994},
    {0.128379166, 1.08237457, 0.869913578, 0.628416002, 0.398577183, 0.222177997, 0.108650096, 0.0466412529,
     0.0175567679, 0.00582531793, 0.00169555238, 0.00043134109, 9.67945816e-05, 1.91103136e-05, 3.30288731e-06, 5.01232137e-07},
    {0, -0.220829517, -0.443689078, -0.480781436, -0.406595439, -0.283229381, -0.166218579, -0.0832530037,
     -0.0358222201, -0.013367964, -0.00432278961, -0.00120989967, -0.00029614431, -6.33253585e-05, -1.17852733e-05, -1.91594768e-06},
    {-0.376124173, -0.330686599, -0.139103502, 0.0357490033, 0.143655732, 0.166641682, 0.133307025, 0.0835210159,
     0.0428750031, 0.0185102932, 0.00678281765, 0.00211907737, 0.00057194446, 0.000133589536, 2.69529883e-05, 4.72007014e-06},
    {0, 0.107603222, 0.18236658, 0.146079525, 0.0623925216, -0.0113648213, -0.0461924225, -0.0466363914,
     -0.0318074338, -0.0168449376, -0.007258425, -0.0025978419, -0.000788365956, -0.000204283235, -4.52758468e-05, -8.64060257e-06},
    {0.112293713, 0.0805515423, 0.00445571914, -0.0551972538, -0.0682138726, -0.0438967161, -0.0115898019, 0.00823432859,
     0.013032862, 0.00984338485, 0.00532155018, 0.00226086029, 0.000785438053, 0.000227676865, 5.57117455e-05, 1.16057727e-05},
};

}  // namespace

bool MathEmitter::has_tables(Value* x) const { return e.cx.host.avx512 && Emitter::lanes_of(x) > 0; }

/// table[low four bits of where], for each lane.
Value* MathEmitter::entry(const float (&table)[kEntries], Value* where) {
  const int lanes = Emitter::lanes_of(where);
  const auto part = [&](Value* v, int from, int n) {
    llvm::SmallVector<int, 32> m;
    for (int i = 0; i < n; ++i) m.push_back(from + i < lanes ? from + i : -1);
    return b.CreateShuffleVector(v, m);
  };
  if (lanes > 16) {
    Value *low = entry(table, part(where, 0, lanes / 2)), *high = entry(table, part(where, lanes / 2, lanes / 2));
    llvm::SmallVector<int, 64> all;
    for (int i = 0; i < lanes; ++i) all.push_back(i);
    return b.CreateShuffleVector(low, high, all);
  }
  const auto constants = [&](int from, int n) -> Value* { return llvm::ConstantDataVector::get(b.getContext(), llvm::ArrayRef<float>(table + from, static_cast<std::size_t>(n))); };
  if (lanes == 16) return b.CreateIntrinsic(Intrinsic::x86_avx512_permvar_sf_512, {}, {constants(0, 16), where});
  if (lanes < 8) {
    Value* wide = entry(table, part(where, 0, 8));
    llvm::SmallVector<int, 8> m;
    for (int i = 0; i < lanes; ++i) m.push_back(i);
    return b.CreateShuffleVector(wide, m);
  }
  return b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_ps_256, {}, {constants(0, 8), where, constants(8, 8)});
}

/// One polynomial of degree 5 whose coefficients differ by interval; around 0, x + x * p.
Value* MathEmitter::erf_by_table(Value* x) {
  constexpr double magic = 0x1.8p23;  // adding it leaves the nearest integer in the low bits
  Value* a = at_most(e.call(Intrinsic::fabs, x), kWidth * (kEntries - 0.51));
  Value* t = e.fma(a, c(x, 1 / kWidth), c(x, magic));
  Value* where = e.bits(t);
  Value* r = b.CreateFSub(a, entry(kErf[0], where));
  constexpr int last = static_cast<int>(std::size(kErf)) - 1;
  Value* p = entry(kErf[last], where);
  for (int i = last - 1; i > 1; --i) p = e.fma(p, r, entry(kErf[i], where));
  Value* start = b.CreateSelect(b.CreateFCmpOEQ(t, c(x, magic)), r, entry(kErf[1], where));
  return e.call(Intrinsic::copysign, e.fma(p, r, start), x);
}

}  // namespace reprise::jit
