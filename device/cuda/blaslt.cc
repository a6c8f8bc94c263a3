#include "device/cuda/blaslt.h"

#include <dlfcn.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <vector>

#include "base/counters.h"
#include "base/errors.h"
#include "base/knobs.h"
#include "base/log.h"
#include "base/mutex.h"

namespace reprise::device::cuda {

namespace {

/// What algorithms may ask for: what the library's makers recommend, and what a lane of the pool grows by at most.
constexpr std::int64_t kWorkspaceSm90 = std::int64_t{32} << 20, kWorkspaceBefore = std::int64_t{4} << 20;
/// Alignments that the library is asked about. No kernel loads more than 16 bytes at a time; 256 is what allocators
/// give.
constexpr std::int64_t kBestAlignment = 256, kVectorAlignment = 16;
constexpr std::size_t kChoicesMax = 4096;

enum class Who { Own, Library, Auto };
Who who() {
  const std::string& s = knobs().cuda_products;
  if (s == "own") return Who::Own;
  if (s == "library") return Who::Library;
  if (s != "auto")
    fail(ErrorCode::InvalidArgument, "REPRISE_CUDA_PRODUCTS", {}, "\"", s, "\" is none of own, library, auto");
  return Who::Auto;
}

std::optional<lt::DataType> lt_type(DType t) {
  switch (t) {
    case DType::Float32: return lt::kReal32F;
    case DType::Float64: return lt::kReal64F;
    case DType::Float16: return lt::kReal16F;
    case DType::BFloat16: return lt::kReal16BF;
    default: return std::nullopt;
  }
}

/// `lines` vectors of `depth` elements, as a matrix whose columns are in a row: each line a column, or each line a row.
std::optional<LtProblem::Matrix> columns(std::int64_t lines, std::int64_t line, std::int64_t depth, std::int64_t k,
                                         std::int64_t batch, bool lines_are_columns) {
  if ((depth == 1 || k == 1) && (lines == 1 || line >= depth))
    return LtProblem::Matrix{depth, lines, lines == 1 ? depth : line, batch, !lines_are_columns};
  if ((lines == 1 || line == 1) && (depth == 1 || k >= lines))
    return LtProblem::Matrix{lines, depth, depth == 1 ? lines : k, batch, lines_are_columns};
  return std::nullopt;
}

std::int64_t alignment_class(std::uint64_t bits, DType t) {
  return bits % kBestAlignment == 0 ? kBestAlignment : bits % kVectorAlignment == 0 ? kVectorAlignment : item_size(t);
}

const char* type_name(DType t) {
  return t == DType::Float32   ? "float32"
         : t == DType::Float64 ? "float64"
         : t == DType::Float16 ? "float16"
                               : "bfloat16";
}

}  // namespace

std::optional<LtProblem> lt_problem(const Product& p) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (!lt_type(p.dtype)) return std::nullopt;
  for (std::int64_t n : {p.batch, p.m, p.n, p.k})
    if (n < 1 || n > most) return std::nullopt;
  // c's rows as d's columns, or c as it is. The bias goes along d's rows.
  for (bool swapped : {true, false}) {
    std::int64_t rows = swapped ? p.n : p.m, cols = swapped ? p.m : p.n;
    std::int64_t along = swapped ? p.c.column : p.c.row, across = swapped ? p.c.row : p.c.column;
    if ((rows != 1 && along != 1) || (cols != 1 && across < rows)) continue;
    if (p.has_bias) {
      std::int64_t step = swapped ? p.bias.column : p.bias.row, other = swapped ? p.bias.row : p.bias.column;
      if ((rows != 1 && step != 1) || (cols != 1 && other != 0)) continue;
    }
    auto a = swapped ? columns(p.n, p.b.column, p.k, p.b.row, p.b.batch, false)
                     : columns(p.m, p.a.row, p.k, p.a.column, p.a.batch, false);
    auto b = swapped ? columns(p.m, p.a.row, p.k, p.a.column, p.a.batch, true)
                     : columns(p.n, p.b.column, p.k, p.b.row, p.b.batch, true);
    if (!a || !b) return std::nullopt;
    LtProblem q{
        p.dtype, p.has_bias, swapped, p.batch, *a, *b, {rows, cols, cols == 1 ? rows : across, p.c.batch, false}};
    q.tf32 = p.dtype == DType::Float32 && knobs().cuda_tf32 == "on";
    if (p.batch == 1) q.a.batch = q.b.batch = q.d.batch = 0;
    return q;
  }
  return std::nullopt;
}

std::string product_text(const Product& p, std::string_view name) {
  std::string b = p.batch == 1 ? "" : std::to_string(p.batch) + ", ";
  return std::string(name) + " [" + b + std::to_string(p.m) + ", " + std::to_string(p.k) + "] x [" + b +
         std::to_string(p.k) + ", " + std::to_string(p.n) + "] " + type_name(p.dtype);
}

/// The library's objects for one problem.
struct Products::Descriptors {
  Descriptors(const BlasLt& f, const LtProblem& q) : lt(f) {
    const lt::DataType type = *lt_type(q.dtype);
    const bool wide = q.dtype == DType::Float64;
    note(lt.cublasLtMatmulDescCreate(&desc,
                                     wide     ? lt::kCompute64F
                                     : q.tf32 ? lt::kCompute32FFastTf32
                                              : lt::kCompute32F,
                                     wide ? lt::kReal64F : lt::kReal32F));
    std::int32_t ta = q.a.transposed ? lt::kOpT : lt::kOpN, tb = q.b.transposed ? lt::kOpT : lt::kOpN;
    set(lt::kDescTransA, ta), set(lt::kDescTransB, tb);
    if (q.has_bias) set(lt::kDescEpilogue, static_cast<std::uint32_t>(lt::kEpilogueBias));
    a = layout(type, q.a, q.batch), b = layout(type, q.b, q.batch), d = layout(type, q.d, q.batch);
  }
  ~Descriptors() {
    for (lt::MatrixLayout l : {a, b, d})
      if (l) lt.cublasLtMatrixLayoutDestroy(l);
    if (preference) lt.cublasLtMatmulPreferenceDestroy(preference);
    if (desc) lt.cublasLtMatmulDescDestroy(desc);
  }
  Descriptors(const Descriptors&) = delete;

  void note(lt::Status s) {
    if (status == lt::kSuccess) status = s;
  }
  template <class T>
  void set(lt::DescAttribute what, const T& v) {
    if (status == lt::kSuccess) note(lt.cublasLtMatmulDescSetAttribute(desc, what, &v, sizeof v));
  }
  lt::MatrixLayout layout(lt::DataType type, const LtProblem::Matrix& m, std::int64_t batch) {
    lt::MatrixLayout l = nullptr;
    if (status != lt::kSuccess) return l;
    note(lt.cublasLtMatrixLayoutCreate(&l, type, static_cast<std::uint64_t>(m.rows),
                                       static_cast<std::uint64_t>(m.columns), m.ld));
    if (batch > 1 && l) {
      std::int32_t count = static_cast<std::int32_t>(batch);
      note(lt.cublasLtMatrixLayoutSetAttribute(l, lt::kLayoutBatchCount, &count, sizeof count));
      note(lt.cublasLtMatrixLayoutSetAttribute(l, lt::kLayoutStridedBatchOffset, &m.batch, sizeof m.batch));
    }
    return l;
  }
  template <class T>
  void prefer(lt::PreferenceAttribute what, const T& v) {
    if (status == lt::kSuccess) note(lt.cublasLtMatmulPreferenceSetAttribute(preference, what, &v, sizeof v));
  }

  const BlasLt& lt;
  lt::Status status = lt::kSuccess;  // the first that was not success
  lt::MatmulDesc desc = nullptr;
  lt::MatrixLayout a = nullptr, b = nullptr, d = nullptr;
  lt::Preference preference = nullptr;
};

bool Products::usable(const BlasLt& f, std::string& why) {
  context_.enter();
  lt::Status s = f.cublasLtCreate(&handle_);
  if (s == lt::kSuccess) return true;
  handle_ = nullptr;
  const char* name = f.cublasLtGetStatusName(s);
  why = f.file + " does not start: " + (name ? name : "status " + std::to_string(static_cast<int>(s)));
  return false;
}

bool Products::open() {
  if (opened_) return lt_ != nullptr;
  opened_ = true;
  std::vector<std::string> names{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  if (const std::string& named = knobs().cublaslt; named == "off") return why_ = "REPRISE_CUBLASLT is off", false;
  else if (!named.empty()) names = {named};
  else if (cu().simulated) return why_ = "the simulator of the driver has none of its own accord", false;
  for (const std::string& name : names) {
    std::string why;
    auto f = std::make_unique<BlasLt>();
    f->file = name;
    if (void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
#define REPRISE_BLASLT_FIND(entry, result, parameters)                 \
  f->entry = reinterpret_cast<lt::entry##_t*>(dlsym(library, #entry)); \
  if (!f->entry && why.empty()) why = name + " has no " #entry;
      REPRISE_BLASLT_FUNCTIONS(REPRISE_BLASLT_FIND)
#undef REPRISE_BLASLT_FIND
      if (why.empty() && usable(*f, why)) {
        lt_ = std::move(f);
        break;
      }
      dlclose(library);
    } else {
      why = dlerror();
    }
    // The first one's reason, unless a later one was there at least.
    if (why_.empty() || why_.find("cannot open") != std::string::npos) why_ = why;
  }
  if (lt_) return true;
  if (!knobs().cublaslt.empty()) logs::warn("cuda: " + why_ + "; Reprise's own kernels serve matrix products");
  return false;
}

std::string Products::description() {
  const MutexLock lock(mu_);
  if (who() == Who::Own) return "own kernels (REPRISE_CUDA_PRODUCTS=own)";
  if (!open()) return "own kernels (" + why_ + ")";
  std::size_t v = lt_->cublasLtGetVersion();
  std::size_t thousand = v >= 100000 ? 10000 : 1000;  // 130100 is 13.1.0, 12345 would be 12.3.45
  return "cuBLASLt " + std::to_string(v / thousand) + "." + std::to_string(v % thousand / 100) + "." +
         std::to_string(v % 100) + " (" + lt_->file + ")";
}

std::string Products::words(lt::Status s) const {
  const char* name = lt_->cublasLtGetStatusName(s);
  return std::string("cuBLASLt ") + (name ? name : "status " + std::to_string(static_cast<int>(s)));
}

bool Products::declines(lt::Status s, const Product& p, std::string_view name) {
  if (s == lt::kNotSupported || s == lt::kArchMismatch) return true;
  if (s == lt::kSuccess || s == lt::kAllocFailed || s == lt::kNotInitialized || who() != Who::Auto) return false;
  check_usable();
  // Nobody asked for the library, and own kernels can do it.
  if (warned_.insert(s).second)
    logs::warn("cuda: " + product_text(p, name) + ": " + words(s) +
               "; own kernels serve products of which it says that");
  return true;
}

void Products::check(lt::Status s, const Product& p, std::string_view name) const {
  if (s == lt::kSuccess) return;
  check_usable();
  fail(s == lt::kAllocFailed ? ErrorCode::OutOfMemory : ErrorCode::DeviceFailed, "cuda", {}, product_text(p, name),
       ": ", words(s));
}

void Products::tell_declined(const Product& p, std::string_view name, lt::Status s) const {
  if (!logs::on(logs::Channel::Recordings)) return;
  const std::string what = product_text(p, name);
  logs::event(logs::Event::product_declined, name, what + ": " + words(s) + "; own kernels serve it",
              {{"product", what}, {"status", words(s)}});
}

const Products::Choice& Products::choose(const LtProblem& q, const Product& p, std::string_view name,
                                         std::int64_t alignment, std::int64_t most_workspace) {
  auto key = std::tuple(q, alignment, most_workspace);
  if (auto it = choices_.find(key); it != choices_.end()) return it->second;
  context_.enter();
  Descriptors o(*lt_, q);
  // Some versions refuse an epilogue without an address; none looks at it here.
  if (q.has_bias) o.set(lt::kDescBiasPointer, reinterpret_cast<const void*>(kBestAlignment));
  if (o.status == lt::kSuccess) o.note(lt_->cublasLtMatmulPreferenceCreate(&o.preference));
  o.prefer(lt::kPrefMaxWorkspaceBytes, static_cast<std::uint64_t>(most_workspace));
  // Parts of a sum that is split are added up in Float32.
  o.prefer(lt::kPrefReductionSchemeMask, static_cast<std::uint32_t>(lt::kReductionComputeType));
  for (lt::PreferenceAttribute at :
       {lt::kPrefMinAlignmentA, lt::kPrefMinAlignmentB, lt::kPrefMinAlignmentC, lt::kPrefMinAlignmentD})
    o.prefer(at, static_cast<std::uint32_t>(alignment));
  lt::HeuristicResult result{};
  int found = 0;
  if (o.status == lt::kSuccess)
    o.note(lt_->cublasLtMatmulAlgoGetHeuristic(handle_, o.desc, o.a, o.b, o.d, o.d, o.preference, 1, &result, &found));
  if (o.status == lt::kSuccess && (found == 0 || result.state != lt::kSuccess)) o.status = lt::kNotSupported;
  if (declines(o.status, p, name)) tell_declined(p, name, o.status);
  else check(o.status, p, name);
  if (choices_.size() >= kChoicesMax) choices_.clear();
  return choices_[key] = {o.status == lt::kSuccess, result.algo, static_cast<std::int64_t>(result.workspace_bytes)};
}

void Products::decline(const LtProblem& q, const Product& p, std::string_view name, lt::Status s) {
  declined_.insert(q);
  tell_declined(p, name, s);
  throw ProductDeclined(ErrorCode::DeviceFailed, "cuda", product_text(p, name) + ": " + words(s));
}

std::int64_t Products::most_workspace() const { return context_.major >= 9 ? kWorkspaceSm90 : kWorkspaceBefore; }

std::optional<std::int64_t> Products::workspace(const Product& p, std::string_view name) {
  const Who w = who();
  if (w == Who::Own || (w == Who::Auto && std::min(p.m, p.n) <= kFewProductRows)) return std::nullopt;
  const std::optional<LtProblem> q = lt_problem(p);
  if (!q) return std::nullopt;
  const MutexLock lock(mu_);
  if (!open() || declined_.count(*q)) return std::nullopt;
  // Arguments may lie anywhere, and somewhere else at the next run: whatever their alignment turns out to be, there
  // must be a way, and memory for it.
  const std::int64_t most = most_workspace();
  std::uint64_t offsets = static_cast<std::uint64_t>(
      (p.a.offset | p.b.offset | p.c.offset | (p.has_bias ? p.bias.offset : 0)) * item_size(p.dtype));
  std::int64_t bytes = 0;
  for (std::int64_t alignment : {alignment_class(offsets, p.dtype), std::int64_t{item_size(p.dtype)}}) {
    const Choice& c = choose(*q, p, name, alignment, most);
    if (!c.possible) return std::nullopt;
    bytes = std::max(bytes, c.workspace);
  }
  return bytes;
}

std::optional<CapturedWork> Products::work(const Product& p, std::string_view name) {
  const std::optional<std::int64_t> bytes = workspace(p, name);
  if (!bytes) return std::nullopt;
  CapturedWork w;
  w.workspace_bytes = *bytes;
  w.key = {static_cast<std::int64_t>(p.dtype), p.has_bias, p.batch, p.m, p.n, p.k, *bytes};
  for (const Product::Matrix* m : {&p.a, &p.b, &p.bias, &p.c})
    w.key.insert(w.key.end(), {m->offset, m->batch, m->row, m->column});
  w.enqueue = [this, p, own = std::string(name), bytes = *bytes](void* stream, void* const* addresses) {
    enqueue(p, own, bytes, stream, addresses);
  };
  return w;
}

void Products::enqueue(const Product& p, std::string_view name, std::int64_t workspace_bytes, void* stream,
                       void* const* addresses) {
  auto next = [&](std::int64_t offset) -> void* {
    return static_cast<char*>(*addresses++) + offset * item_size(p.dtype);
  };
  struct {
    void *a, *b, *bias, *c, *workspace;
  } at{};
  at.a = next(p.a.offset), at.b = next(p.b.offset);
  if (p.has_bias) at.bias = next(p.bias.offset);
  at.c = next(p.c.offset);
  if (workspace_bytes) at.workspace = *addresses;
  const LtProblem q = *lt_problem(p);
  const MutexLock lock(mu_);
  REPRISE_CHECK(lt_ != nullptr);
  std::uint64_t bits = 0;
  for (void* x : {at.a, at.b, at.bias, at.c}) bits |= reinterpret_cast<std::uint64_t>(x);
  const std::int64_t alignment = alignment_class(bits, p.dtype);
  const Choice* choice = &choose(q, p, name, alignment, most_workspace());
  if (!choice->possible || choice->workspace > workspace_bytes)
    choice = &choose(q, p, name, alignment, workspace_bytes);
  if (!choice->possible) decline(q, p, name, lt::kNotSupported);
  Descriptors o(*lt_, q);
  if (q.has_bias) o.set(lt::kDescBiasPointer, static_cast<const void*>(at.bias));
  if (declines(o.status, p, name)) decline(q, p, name, o.status);
  check(o.status, p, name);
  const double one = 1, zero = 0;
  const float one32 = 1, zero32 = 0;
  const bool wide = p.dtype == DType::Float64;
  const void *alpha = wide ? static_cast<const void*>(&one) : &one32,
             *beta = wide ? static_cast<const void*>(&zero) : &zero32;
  lt::Status s = lt_->cublasLtMatmul(handle_, o.desc, alpha, q.swapped ? at.b : at.a, o.a, q.swapped ? at.a : at.b, o.b,
                                     beta, at.c, o.d, at.c, o.d, &choice->algo, at.workspace,
                                     static_cast<std::size_t>(workspace_bytes), static_cast<CUstream>(stream));
  if (declines(s, p, name)) decline(q, p, name, s);  // what it said before notwithstanding
  check(s, p, name);
  counters().product_captures.add();
}

}  // namespace reprise::device::cuda
