// Functions by tables in registers: one instruction picks a coefficient for each lane, where a processor has it.
// Coefficients as scripts/math_coefficients.py finds them; some of tanh's x0 are other floats than it prints, as good.
#include <iterator>

#include "jit/emit/math.h"

namespace reprise::jit {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

namespace {

// Each function by intervals: x0, f(x0), then the coefficients of x - x0, the first of them less 1 in interval 0, where
// x0 is 0. x0 stands where f(x0) is a float to 2^-32 or nearly, and the first coefficient nearly one.

// erf, by intervals of kErfWidth around its multiples.
constexpr double kErfWidth = 0.255;
// clang-format off
constexpr float kErf[][16] = {
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
// clang-format on

// tanh, by quarters of octaves from 2^-3 on; it is 1 from the last one used on.
constexpr int kTanhFirst = (127 - 3) << 2;
// clang-format off
constexpr float kTanh[][32] = {
    {0, 0.135958731, 0.16717051, 0.198448241, 0.229682013, 0.271909505, 0.334353805, 0.396843135,
     0.459402174, 0.543835402, 0.668734372, 0.793787897, 0.918716967, 1.08761263, 1.33759701, 1.58732963,
     1.83753037, 2.17525983, 2.67506528, 3.17508483, 3.67495298, 4.35006809, 5.35030794, 6.34928465,
     7.34928465, 8.6985693, 10, 12, 14, 16, 20, 24},
    {0, 0.135127157, 0.165630475, 0.195883557, 0.22572659, 0.265400738, 0.322427422, 0.377244592,
     0.429596841, 0.49588573, 0.584146738, 0.660549521, 0.725289881, 0.79600513, 0.871093869, 0.919738889,
     0.95055753, 0.974528372, 0.990549803, 0.996513188, 0.99871552, 0.999666929, 0.999954939, 0.999993861,
     0.999999166, 0.99999994, 1, 1, 1, 1, 1, 1},
    {0, 0.981740654, 0.972566545, 0.961629629, 0.949047506, 0.929562449, 0.896040559, 0.85768652,
     0.815446556, 0.754097342, 0.658772588, 0.563674331, 0.473954588, 0.366375864, 0.2411955, 0.154080391,
     0.0964403823, 0.0502944067, 0.0188110545, 0.00696145091, 0.0025673043, 0.00066598336, 9.01137173e-05, 1.22210267e-05,
     1.65394476e-06, 1.11101492e-07, 0, 0, 0, 0, 0, 0},
    {0, -0.132659823, -0.161086664, -0.188367426, -0.214225262, -0.24670656, -0.288908035, -0.323557585,
     -0.350313276, -0.3739461, -0.384819865, -0.372334808, -0.34375447, -0.291637123, -0.210103959, -0.141713738,
     -0.0916721374, -0.0490133315, -0.0186332781, -0.0069371732, -0.00256400509, -0.000665771251, -9.01108069e-05, -1.2221205e-05,
     -1.65397773e-06, -1.11210404e-07, 0, 0, 0, 0, 0, 0},
    {-0.33332926, -0.309320778, -0.297507793, -0.283644915, -0.267992616, -0.244376183, -0.205526426, -0.16383341,
     -0.121320568, -0.0659232438, 0.00520302495, 0.0580527484, 0.0913332701, 0.109988131, 0.102602854, 0.0789722577,
     0.0549916215, 0.0310095567, 0.0121943569, 0.00459588179, 0.00170627504, 0.000446156162, 6.04235356e-05, 8.19558863e-06,
     1.10917654e-06, 7.71999353e-08, 0, 0, 0, 0, 0, 0},
    {0, 0.0860135481, 0.102967367, 0.118345253, 0.13189587, 0.147068903, 0.162546188, 0.169635653,
     0.168870255, 0.157282934, 0.125212744, 0.0857696086, 0.0483604521, 0.00974386744, -0.0192877464, -0.02537442,
     -0.0217103437, -0.0138865411, -0.00587434042, -0.00227052439, -0.000850623706, -0.000224364921, -3.04254736e-05, -4.12600775e-06,
     -5.58419003e-07, -3.91939317e-08, 0, 0, 0, 0, 0, 0},
    {0.132285908, 0.112179987, 0.102409542, 0.091273047, 0.0790645182, 0.0597289577, 0.0326264389, 0.00654387707,
     -0.0166422129, -0.0428312793, -0.0613931119, -0.0628304258, -0.0533891506, -0.032714013, -0.00989369676, 0.00125885126,
     0.00458450941, 0.00403376017, 0.00195298961, 0.00078710157, 0.000299131061, 7.09942251e-05, 9.64505307e-06, 1.30646777e-06,
     1.76823903e-07, 1.01189155e-08, 0, 0, 0, 0, 0, 0},
};
// clang-format on

}  // namespace

bool MathEmitter::has_tables(Value* x) const { return e.cx.host.avx512 && Emitter::lanes_of(x) > 0; }

/// table[the low bits of where], for each lane; of 16 or 32 entries.
Value* MathEmitter::entry(llvm::ArrayRef<float> table, Value* where) {
  const int lanes = Emitter::lanes_of(where);
  const auto part = [&](Value* v, int from, int n, int of) {
    llvm::SmallVector<int, 32> m;
    for (int i = 0; i < n; ++i) m.push_back(from + i < of ? from + i : -1);
    return b.CreateShuffleVector(v, m);
  };
  if (lanes > 16) {
    Value *low = entry(table, part(where, 0, lanes / 2, lanes)),
          *high = entry(table, part(where, lanes / 2, lanes / 2, lanes));
    llvm::SmallVector<int, 64> all;
    for (int i = 0; i < lanes; ++i) all.push_back(i);
    return b.CreateShuffleVector(low, high, all);
  }
  if (lanes < 8) return part(entry(table, part(where, 0, 8, lanes)), 0, lanes, 8);
  const auto constants = [&](std::size_t from) -> Value* {
    return llvm::ConstantDataVector::get(b.getContext(), table.slice(from, static_cast<std::size_t>(lanes)));
  };
  if (lanes == 16 && table.size() == 16)
    return b.CreateIntrinsic(Intrinsic::x86_avx512_permvar_sf_512, {}, {constants(0), where});
  if (lanes == 16)
    return b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_ps_512, {}, {constants(0), where, constants(16)});
  const auto of = [&](std::size_t from) -> Value* {
    return b.CreateIntrinsic(Intrinsic::x86_avx512_vpermi2var_ps_256, {},
                             {constants(from), where, constants(from + 8)});
  };
  if (table.size() == 16) return of(0);
  Value* upper = b.CreateICmpNE(b.CreateAnd(where, 16), llvm::Constant::getNullValue(where->getType()));
  return b.CreateSelect(upper, of(16), of(0));
}

/// f(a) of a polynomial of degree 5 whose coefficients stand in interval `where`, around 0 (`first`) a + a * p.
Value* MathEmitter::by_table(llvm::ArrayRef<llvm::ArrayRef<float>> table, Value* a, Value* where, Value* first) {
  Value* r = b.CreateFSub(a, entry(table[0], where));
  Value* p = entry(table.back(), where);
  for (std::size_t i = table.size() - 2; i > 1; --i) p = e.multiply_add(p, r, entry(table[i], where));
  return e.multiply_add(p, r, b.CreateSelect(first, r, entry(table[1], where)));
}

Value* MathEmitter::erf_by_table(Value* x) {
  constexpr double magic = 0x1.8p23;  // adding it leaves the nearest integer in the low bits
  Value* a = at_most(e.call(Intrinsic::fabs, x), kErfWidth * (std::size(kErf[0]) - 0.51));
  Value* t = e.multiply_add(a, c(x, 1 / kErfWidth), c(x, magic));
  const llvm::SmallVector<llvm::ArrayRef<float>, 8> table(std::begin(kErf), std::end(kErf));
  return e.call(Intrinsic::copysign, by_table(table, a, e.bits(t), b.CreateFCmpOEQ(t, c(x, magic))), x);
}

Value* MathEmitter::tanh_by_table(Value* x) {
  Value* a = at_most(e.call(Intrinsic::fabs, x), 9.1);
  Value* quarter = b.CreateLShr(e.bits(a), 21);  // exponent, and two bits of the fraction
  Value* where =
      e.call(Intrinsic::smax, b.CreateSub(quarter, e.integer(quarter, kTanhFirst - 1)), e.integer(quarter, 0));
  const llvm::SmallVector<llvm::ArrayRef<float>, 8> table(std::begin(kTanh), std::end(kTanh));
  return e.call(Intrinsic::copysign, by_table(table, a, where, b.CreateFCmpOLT(a, c(x, 0.125))), x);
}

}  // namespace reprise::jit
