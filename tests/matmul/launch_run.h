#pragma once
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "device/parallel.h"
#include "graph/graph.h"
#include "jit/cpu/micro/compile.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/matmul.h"

namespace reprise::kernels::testing {

/// Bytes that end at a page nobody may touch: an access behind the last one is a fault, also from generated code.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : size_(bytes), mapped_((bytes + 4095) / 4096 * 4096 + 4096) {
    void* p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<unsigned char*>(p);
    mprotect(base_ + mapped_ - 4096, 4096, PROT_NONE);
  }
  ~Guarded() { munmap(base_, mapped_); }
  Guarded(const Guarded&) = delete;
  unsigned char* begin() const { return base_ + mapped_ - 4096 - size_; }
  std::size_t size() const { return size_; }
  friend bool operator==(const Guarded& a, const Guarded& b) {
    return a.size_ == b.size_ && std::memcmp(a.begin(), b.begin(), a.size_) == 0;
  }

 private:
  std::size_t size_, mapped_;
  unsigned char* base_;
};

/// A strided tensor over its own bytes, filled with sentinels; elements are read and written as doubles.
class Strided {
 public:
  Strided(DType t, std::vector<std::int64_t> sizes, std::vector<std::int64_t> strides = {})
      : dtype(t), sizes(sizes), strides(strides) {
    if (strides.empty()) {
      this->strides.assign(sizes.size(), 1);
      for (int d = static_cast<int>(sizes.size()) - 2; d >= 0; --d)
        this->strides[d] = this->strides[d + 1] * std::max<std::int64_t>(1, sizes[d + 1]);
    }
    std::int64_t reach = 1;
    for (std::size_t d = 0; d < sizes.size(); ++d) reach += sizes[d] > 0 ? (sizes[d] - 1) * this->strides[d] : 0;
    if (numel() == 0) reach = 0;
    store = std::make_shared<Guarded>(static_cast<std::size_t>((reach + kGuard) * item_size(t)));
    std::memset(store->begin(), kSentinel, store->size());
  }
  std::int64_t numel() const {
    std::int64_t n = 1;
    for (std::int64_t s : sizes) n *= s;
    return n;
  }
  char* data() { return reinterpret_cast<char*>(store->begin()) + kGuard * item_size(dtype); }
  std::int64_t offset(std::int64_t index) const {
    std::int64_t o = 0;
    for (int d = static_cast<int>(sizes.size()) - 1; d >= 0; --d) o += index % sizes[d] * strides[d], index /= sizes[d];
    return o;
  }
  double get(std::int64_t index) { return read(offset(index)); }
  double read(std::int64_t o) {
    char* p = data() + o * item_size(dtype);
    switch (dtype) {
      case DType::Float64: return *reinterpret_cast<double*>(p);
      case DType::Float32: return *reinterpret_cast<float*>(p);
      case DType::Float16: return static_cast<float>(*reinterpret_cast<Half*>(p));
      case DType::BFloat16: return static_cast<float>(*reinterpret_cast<BFloat16*>(p));
      case DType::Int8: return *reinterpret_cast<std::int8_t*>(p);
      case DType::Int32: return *reinterpret_cast<std::int32_t*>(p);
      case DType::Float8E4M3FN: return static_cast<float>(*reinterpret_cast<Float8E4M3FN*>(p));
      case DType::Float8E5M2: return static_cast<float>(*reinterpret_cast<Float8E5M2*>(p));
      default: return *reinterpret_cast<unsigned char*>(p);
    }
  }
  void set(std::int64_t index, double v) {
    char* p = data() + offset(index) * item_size(dtype);
    switch (dtype) {
      case DType::Float64: *reinterpret_cast<double*>(p) = v; break;
      case DType::Float32: *reinterpret_cast<float*>(p) = static_cast<float>(v); break;
      case DType::Float16: *reinterpret_cast<Half*>(p) = Half(static_cast<float>(v)); break;
      case DType::BFloat16: *reinterpret_cast<BFloat16*>(p) = BFloat16(static_cast<float>(v)); break;
      case DType::Int8: *reinterpret_cast<std::int8_t*>(p) = static_cast<std::int8_t>(v); break;
      case DType::Float8E4M3FN: *reinterpret_cast<Float8E4M3FN*>(p) = Float8E4M3FN(static_cast<float>(v)); break;
      case DType::Float8E5M2: *reinterpret_cast<Float8E5M2*>(p) = Float8E5M2(static_cast<float>(v)); break;
      default: *reinterpret_cast<unsigned char*>(p) = v != 0;
    }
  }
  void fill(std::mt19937& rng, double scale = 1) {
    std::uniform_real_distribution<double> u(-scale, scale);
    for (std::int64_t i = 0; i < numel(); ++i) set(i, u(rng));
  }
  /// Are all bytes that are no element still what they were?
  void expect_sentinels() {
    std::vector<bool> own(store->size(), false);
    for (std::int64_t i = 0; i < numel(); ++i)
      for (int b = 0; b < item_size(dtype); ++b)
        own[static_cast<std::size_t>((kGuard + offset(i)) * item_size(dtype) + b)] = true;
    for (std::size_t i = 0; i < store->size(); ++i)
      if (!own[i] && store->begin()[i] != kSentinel) FAIL() << "byte " << i << " beside the result was written";
  }
  TensorMeta meta() const {
    TensorMeta m;
    m.dtype = dtype;
    for (std::int64_t s : sizes) m.layout.sizes.push_back(s);
    for (std::int64_t s : strides) m.layout.strides.push_back(s);
    return m;
  }
  Operand operand(std::uint32_t buffer) const { return {buffer, dtype, meta().layout, false}; }
  TensorView view() {
    TensorView v;
    v.data = data(), v.dtype = dtype, v.rank = static_cast<int>(sizes.size());
    for (int d = 0; d < v.rank; ++d) v.sizes[d] = sizes[d], v.strides[d] = strides[d];
    return v;
  }

  static constexpr std::int64_t kGuard = 64;
  static constexpr unsigned char kSentinel = 0xa5;
  DType dtype;
  std::vector<std::int64_t> sizes, strides;
  std::shared_ptr<Guarded> store;
};

/// Builds a graph of one node, its launch, and runs it on `tensors` (operands that are tensors, then the result).
inline KernelFault run_node(graph::OpId op, std::vector<graph::NodeArg> args, std::vector<Strided*> tensors) {
  graph::Graph g;
  g.env = std::make_shared<guards::ShapeEnv>();
  std::size_t next = 0;
  for (auto& a : args)
    if (std::holds_alternative<graph::ValueId>(a))
      a = g.add_input(tensors[next]->meta(), "x" + std::to_string(next)), ++next;
  g.add(op, args);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    operands.push_back(tensors[i]->operand(static_cast<std::uint32_t>(i)));
  const graph::Node& node = g.nodes.back();
  // Every second launch knows nothing but the strides that are 1, as one made for all sizes does; the others know all.
  static int calls = 0;
  if (++calls % 2) {
    int names = 0;
    auto unknown = [&](Int v) { return g.env->symbol_named("s" + std::to_string(names++), v.hint()); };
    for (Operand& o : operands) {
      for (Int& v : o.layout.sizes) v = unknown(v);
      for (Int& v : o.layout.strides)
        if (v.hint() != 1) v = unknown(v);
    }
  }
  NativeLaunch launch = op == graph::OpId::scaled_dot_product_attention ? attention_launch(g, node, operands)
                                                                        : matmul_launch(g, node, operands);
  std::vector<TensorView> views;
  for (Strided* t : tensors) views.push_back(t->view());
  std::vector<std::int64_t> ints;
  for (Int i : launch.ints) ints.push_back(i.value());
  std::vector<Number> numbers;
  for (const Scalar& s : launch.numbers)
    numbers.push_back({s.is_float(), s.to_double(), s.is_float() ? 0 : s.to_int().hint()});
  std::vector<jit::CodePtr> code;
  std::vector<void*> micro;
  for (const KernelCode& s : launch.micro) code.push_back(jit::compile(s)), micro.push_back(code.back()->entry);
  KernelFault fault;
  launch.fn({views.data(), launch.args.data(), ints.data(), numbers.data(), launch.strings.data(),
             static_cast<std::uint32_t>(launch.args.size()), launch.first_result, launch.n_results, micro.data(),
             &fault});
  return fault;
}

/// Half a unit in the last place of a result of this dtype, relative.
inline double rounding(DType t) {
  return t == DType::Float64 ? 1.2e-16 : t == DType::Float32 ? 6e-8 : t == DType::Float16 ? 4.9e-4 : 3.95e-3;
}

}  // namespace reprise::kernels::testing
