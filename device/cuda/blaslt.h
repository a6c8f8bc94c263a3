#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "base/mutex.h"
#include "device/backend.h"
#include "device/cuda/blaslt_api.h"
#include "device/cuda/context.h"

namespace reprise::device::cuda {

/// The entry points of one opened library.
struct BlasLt {
#define REPRISE_BLASLT_MEMBER(name, result, parameters) lt::name##_t* name = nullptr;
  REPRISE_BLASLT_FUNCTIONS(REPRISE_BLASLT_MEMBER)
#undef REPRISE_BLASLT_MEMBER
  std::string file;
};

/// A product as cuBLASLt takes it: d = op(a) op(b), columns one after the other. d may be the transpose of c; then a is
/// b^T.
struct LtProblem {
  struct Matrix {
    std::int64_t rows = 0, columns = 0, ld = 0, batch = 0;
    bool transposed = false;
    auto operator<=>(const Matrix&) const = default;
  };
  DType dtype = DType::Float32;
  bool has_bias = false, swapped = false;  ///< bias: one number for each of d's rows
  std::int64_t batch = 1;
  Matrix a, b, d;
  bool tf32 = false;
  auto operator<=>(const LtProblem&) const = default;
};
/// Nothing for layouts that cuBLASLt does not know, and for products without work.
std::optional<LtProblem> lt_problem(const Product&);
/// "linear [128, 512] x [512, 2048] float16"
std::string product_text(const Product&, std::string_view name);

/// Matrix products by cuBLASLt on one device. The library is opened when the first product asks for it
/// (REPRISE_CUBLASLT); REPRISE_CUDA_PRODUCTS says which products it serves. Threads: any; members lock.
class Products {
 public:
  explicit Products(const Context& c) : context_(c) {}
  /// Backend::product. Throws what the library reports, unless it says that it cannot do this one.
  std::optional<CapturedWork> work(const Product&, std::string_view name);
  std::string description();

 private:
  /// Bytes that the library works in; nothing where it does not serve.
  std::optional<std::int64_t> workspace(const Product&, std::string_view name);
  /// Queues it. `addresses`: of a, b, [bias], c, and the workspace where there is one.
  void enqueue(const Product&, std::string_view name, std::int64_t workspace_bytes, void* stream,
               void* const* addresses);
  struct Choice {
    bool possible = false;
    lt::Algo algo{};
    std::int64_t workspace = 0;
  };
  struct Descriptors;
  std::int64_t most_workspace() const;
  bool open() REPRISE_REQUIRES(mu_);
  bool usable(const BlasLt&, std::string& why) REPRISE_REQUIRES(mu_);
  /// What the library would do where every address is a multiple of `alignment`; asked once.
  const Choice& choose(const LtProblem&, const Product&, std::string_view name, std::int64_t alignment,
                       std::int64_t most_workspace) REPRISE_REQUIRES(mu_);
  /// Does it leave this one to own kernels?
  bool declines(lt::Status, const Product&, std::string_view name) REPRISE_REQUIRES(mu_);
  [[noreturn]] void decline(const LtProblem&, const Product&, std::string_view name, lt::Status) REPRISE_REQUIRES(mu_);
  void tell_declined(const Product&, std::string_view name, lt::Status) const REPRISE_REQUIRES(mu_);
  void check(lt::Status, const Product&, std::string_view name) const REPRISE_REQUIRES(mu_);
  std::string words(lt::Status) const REPRISE_REQUIRES(mu_);

  const Context& context_;
  Mutex mu_;
  bool opened_ REPRISE_GUARDED_BY(mu_) = false;
  std::unique_ptr<BlasLt> lt_ REPRISE_GUARDED_BY(mu_);  // null after opening: there is none, and why_ says why
  std::string why_ REPRISE_GUARDED_BY(mu_);
  lt::Handle handle_ REPRISE_GUARDED_BY(mu_) = nullptr;  // lives as long as the process
  std::map<std::tuple<LtProblem, std::int64_t, std::int64_t>, Choice> choices_ REPRISE_GUARDED_BY(mu_);
  std::set<LtProblem> declined_ REPRISE_GUARDED_BY(mu_);  // by the library, when it was told to do them
  std::set<lt::Status> warned_ REPRISE_GUARDED_BY(mu_);   // of, once each
};

}  // namespace reprise::device::cuda
