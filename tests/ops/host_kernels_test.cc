// The host's own kernels (kernels/cpu/host_kernels.h) against the reference kernels: the same bits, for any dtype,
// layout, size and number of threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/interpreter.h"
#include "kernels/reference/reference.h"
#include "reprise/ops.h"
#include "reprise/stats.h"

namespace reprise::test {
namespace {

using graph::CallArg;
using graph::OpId;
using L = std::vector<Int>;

constexpr DType kAll[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16, DType::Int8,
                          DType::UInt8,   DType::Int32,   DType::Int64,   DType::Bool};

std::string bytes_of(const Tensor& t) {
  const Tensor c = t.contiguous();
  const auto n = static_cast<std::size_t>(c.numel().value() * item_size(c.dtype()));
  return n ? std::string(static_cast<const char*>(c.data_ptr()), n) : std::string();
}

/// Eager, on one thread and on all, gives the reference kernel's bits.
void expect_same(OpId op, const std::vector<CallArg>& args, const std::string& what) {
  SCOPED_TRACE(std::string(graph::op(op).name()) + " " + what);
  const std::vector<Tensor> want = kernels::reference_call(op, args);
  for (int threads : {1, default_num_threads()}) {
    set_num_threads(threads);
    std::vector<Tensor> got;
    graph::forward({graph::op(op), args, false, {}}, got);
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(bytes_of(got[i]) == bytes_of(want[i])) << "result " << i << " with " << threads << " threads";
  }
  set_num_threads(default_num_threads());
}

Tensor some(L sizes, DType t) {
  const Tensor x = t == DType::Bool ? randint(0, 2, sizes, {.dtype = kInt64})
                   : is_floating(t) ? randn(sizes) * 4
                                    : randint(t == DType::UInt8 ? 0 : -100, 100, sizes, {.dtype = kInt64});
  return x.to(t);
}
Tensor places(L sizes, std::int64_t extent) {
  return randint(0, std::max<std::int64_t>(extent, 1), sizes, {.dtype = kInt64});
}

/// [rows, columns] with these values, its columns one after another in memory.
Tensor by_columns(const Tensor& x) { return x.transpose(0, 1).contiguous().transpose(0, 1); }

TEST(HostKernels, Scatters) {
  manual_seed(3);
  struct Case {
    std::int64_t rows, columns, written;
  };
  for (DType t : kAll)
    for (const Case& c : {Case{7, 5, 9}, {1, 1, 1}, {3, 1, 0}, {2, 700, 4}, {300, 260, 310}, {3, 40000, 2}}) {
      if (c.written > 300 && t != DType::Float32 && t != DType::Int64 && t != DType::BFloat16 && t != DType::Bool)
        continue;
      const Tensor x = some({c.rows, c.columns}, t);
      for (bool columns : {false, true}) {
        const Tensor self = columns ? by_columns(x) : x;
        for (int dim : {0, 1}) {
          const L sizes = dim == 0 ? L{c.written, c.columns} : L{c.rows, c.written};
          const Tensor src = some(sizes, t), whole = places(sizes, dim == 0 ? c.rows : c.columns),
                       narrow = whole.to(kInt32);
          const Tensor row = places({dim == 0 ? c.written : 1, dim == 0 ? 1 : c.written}, dim == 0 ? c.rows : c.columns)
                                 .expand(sizes),
                       turned = by_columns(src);
          const std::string what = std::string(dtype_name(t)) + " " + std::to_string(c.rows) + " x " +
                                   std::to_string(c.columns) + " dim " + std::to_string(dim);
          for (const Tensor* index : {&whole, &row, &narrow})
            for (const Tensor* from : {&src, &turned}) {
              expect_same(OpId::scatter, {&self, Int(dim), index, from}, what);
              if (t != DType::Bool) expect_same(OpId::scatter_add, {&self, Int(dim), index, from}, what);
              for (const char* reduce : {"sum", "prod", "amax", "amin"})
                for (bool include : {true, false})
                  expect_same(OpId::scatter_reduce, {&self, Int(dim), index, from, std::string_view(reduce), include},
                              what + " " + reduce);
            }
          expect_same(OpId::scatter, {&self, Int(dim), &whole, Scalar(1)}, what);
        }
      }
    }
}

TEST(HostKernels, NansStayInExtremes) {
  const Tensor x = tensor_of<float>({1, NAN, 3, -0.0F}), index = tensor_of<std::int64_t>({0, 1, 2, 3, 0, 3}),
               src = tensor_of<float>({NAN, 5, 2, 0, 7, -1});
  for (const char* reduce : {"amax", "amin"})
    for (bool include : {true, false})
      expect_same(OpId::scatter_reduce, {&x, Int(0), &index, &src, std::string_view(reduce), include}, reduce);
}

TEST(HostKernels, IndexPut) {
  manual_seed(4);
  for (DType t : kAll)
    for (std::int64_t n : {0, 1, 6, 400}) {
      const Tensor x = some({40, 3, 90}, t);
      const Tensor i = places({n}, 80) - 40, j = places({n}, 6) - 3, k = places({n}, 180) - 90, one = places({1}, 3);
      for (bool add : {false, true}) {
        if (add && t == DType::Bool) continue;
        auto same = [&](std::vector<Tensor> indices, L sizes, const char* what) {
          const Tensor v = some(sizes, t), single = some({1}, t);
          expect_same(OpId::index_put, {&x, TensorArrayRef(indices), &v, add}, what);
          expect_same(OpId::index_put, {&x, TensorArrayRef(indices), &single, add}, what);
        };
        same({i}, {n, 3, 90}, "rows");
        same({Tensor(), j}, {40, n, 90}, "the middle");
        same({Tensor(), Tensor(), k}, {40, 3, n}, "the last");
        same({i, j}, {n, 90}, "two");
        same({i, Tensor(), k}, {n, 3}, "apart");
        same({i, one, k}, {n}, "all");
      }
    }
}

/// Results of sort, argmax and cumsum do not depend on threads, nor on which way rows lie in memory.
TEST(HostKernels, RowsAndColumnsAreOrderedAlike) {
  manual_seed(5);
  for (DType t : {DType::Float32, DType::Float64, DType::BFloat16, DType::Int32, DType::Int64, DType::UInt8})
    for (auto [rows, columns] : {std::pair<std::int64_t, std::int64_t>{1, 1}, {5, 3}, {3000, 70}, {130, 2100}}) {
      Tensor x = some({rows, columns}, t);
      if (is_floating(t) && rows > 1) x = where(x > 9, tensor_of<float>({NAN}).to(t), x);
      const Tensor turned = by_columns(x);
      for (int threads : {1, default_num_threads()}) {
        set_num_threads(threads);
        for (int dim : {0, 1}) {
          EXPECT_EQ(bytes_of(argmax(x, dim)), bytes_of(argmax(turned, dim)));
          EXPECT_EQ(bytes_of(argmin(x, dim)), bytes_of(argmin(turned, dim)));
          EXPECT_EQ(bytes_of(cumsum(x, dim)), bytes_of(cumsum(turned, dim)));
          const auto [v, p] = sort(x, dim);
          const auto [w, q] = sort(turned, dim);
          EXPECT_EQ(bytes_of(p), bytes_of(q));
          EXPECT_EQ(bytes_of(v), bytes_of(gather(x, dim, p)));
          if (!is_floating(t)) {
            const Tensor rising = v.slice(dim, 1, std::nullopt, 1) >= v.slice(dim, 0, -1, 1);
            EXPECT_TRUE(rising.all().to_vector<bool>()[0]);
          }
          EXPECT_EQ(bytes_of(argmax(x, dim, true)), bytes_of(std::get<1>(topk(x, 1, dim))));
        }
      }
      set_num_threads(default_num_threads());
    }
}

TEST(HostKernels, SortOfLongIntegers) {
  manual_seed(6);
  const Tensor small = randint(0, 5000, {20000}, {.dtype = kInt64}), wide = (small - 2500) * (std::int64_t{1} << 50);
  for (const Tensor* x : {&small, &wide})
    for (bool descending : {false, true}) {
      std::vector<std::int64_t> v = x->to_vector<std::int64_t>(), places(v.size());
      for (std::size_t i = 0; i < v.size(); ++i) places[i] = static_cast<std::int64_t>(i);
      std::stable_sort(places.begin(), places.end(), [&](std::int64_t a, std::int64_t b) {
        return descending ? v[static_cast<std::size_t>(a)] > v[static_cast<std::size_t>(b)]
                          : v[static_cast<std::size_t>(a)] < v[static_cast<std::size_t>(b)];
      });
      EXPECT_EQ(std::get<1>(sort(*x, 0, descending)).to_vector<std::int64_t>(), places);
    }
}

TEST(HostKernels, RandomNumbers) {
  for (std::int64_t n : {0, 1, 31, 32, 33, 10000})
    for (std::int64_t offset : {std::int64_t{0}, std::int64_t{0xfffffff0}}) {
      const L sizes{n};
      const std::vector<CallArg> args = {IntArrayRef(sizes), DType::Float32, std::string_view("cpu"),
                                         Int(123456789012345), Int(offset)};
      expect_same(OpId::rand, args, std::to_string(n));
      const std::vector<float> want = kernels::reference_call(OpId::randn, args)[0].to_vector<float>();
      std::vector<Tensor> got;
      graph::forward({graph::op(OpId::randn), args, false, {}}, got);
      const std::vector<float> values = got[0].to_vector<float>();
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(values[i], want[i], 1e-12 + 2e-7 * std::abs(want[i]));
    }
}

}  // namespace
}  // namespace reprise::test
