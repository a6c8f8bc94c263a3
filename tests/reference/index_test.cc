#include "tests/reference/harness.h"

namespace reprise::test {
namespace {

using L = std::vector<std::int64_t>;

Tensor table() { return make({0, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32}, {4, 3}); }

TEST(Index, EmbeddingAndSelect) {
  Tensor w = table(), i = make_long({3, 0, 1, 1}, {2, 2}), one = make_long({2, 0});
  Tensor e = call(OpId::embedding, {&w, &i});
  EXPECT_EQ(sizes_of(e), (L{2, 2, 3}));
  expect_near(e, {30, 31, 32, 0, 1, 2, 10, 11, 12, 10, 11, 12});
  expect_near(call(OpId::index_select, {&w, Int(0), &one}), {20, 21, 22, 0, 1, 2});
  expect_near(call(OpId::index_select, {&w, Int(-1), &one}), {2, 0, 12, 10, 22, 20, 32, 30});
  Tensor i32 = cast(one, DType::Int32), tw = transposed_memory(w);
  expect_near(call(OpId::index_select, {&tw, Int(0), &i32}), {20, 21, 22, 0, 1, 2});
  Tensor s = scalar_tensor(4), zero = make_long({0});
  expect_near(call(OpId::index_select, {&s, Int(0), &zero}), {4});
  Tensor none = make_long({}, {0});
  EXPECT_EQ(sizes_of(call(OpId::index_select, {&w, Int(0), &none})), (L{0, 3}));
}

TEST(Index, GatherAndScatter) {
  Tensor w = table(), i = make_long({2, 0, 1, 3}, {2, 2}), src = make({-1, -2, -3, -4}, {2, 2});
  expect_near(call(OpId::gather, {&w, Int(0), &i}), {20, 1, 10, 31});
  Tensor j = make_long({2, 0, 1, 1}, {2, 2});
  expect_near(call(OpId::gather, {&w, Int(1), &j}), {2, 0, 11, 11});
  expect_near(call(OpId::scatter, {&w, Int(0), &i, &src}), {0, 1 - 3, 2, -3, 11, 12, -1, 21, 22, 30, -4, 32});
  expect_near(call(OpId::scatter, {&w, Int(1), &j, Scalar(7)}), {7, 1, 7, 10, 7, 12, 20, 21, 22, 30, 31, 32});
  Tensor same = make_long({0, 0, 0, 0}, {4, 1}), ones = make({1, 2, 3, 4}, {4, 1});
  expect_near(call(OpId::scatter_add, {&w, Int(0), &same, &ones}), {10, 1, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32});
}

TEST(Index, IndexPutsDimensionsWhereAtenDoes) {
  Tensor w = table(), rows = make_long({0, -1}), columns = make_long({2, 1}), down = make_long({1, 3}, {2, 1});
  std::vector<Tensor> by_rows{rows}, by_columns{Tensor(), columns}, both{rows, columns}, grid{down, columns};
  expect_near(call(OpId::index, {&w, TensorArrayRef(by_rows)}), {0, 1, 2, 30, 31, 32});
  expect_near(call(OpId::index, {&w, TensorArrayRef(by_columns)}), {2, 1, 12, 11, 22, 21, 32, 31});
  expect_near(call(OpId::index, {&w, TensorArrayRef(both)}), {2, 31});
  expect_near(call(OpId::index, {&w, TensorArrayRef(grid)}), {12, 11, 32, 31});
  // Indexed dims apart: their common sizes come first. [2, 3, 2] by index in dims 0 and 2.
  std::vector<float> v(12);
  for (std::size_t i = 0; i < 12; ++i) v[i] = static_cast<float>(i);
  Tensor cube = make(v, {2, 3, 2}), a = make_long({1, 0, 1}), b = make_long({0, 1, 1});
  std::vector<Tensor> apart{a, Tensor(), b}, middle{Tensor(), columns, b = make_long({0, 1})};
  Tensor r = call(OpId::index, {&cube, TensorArrayRef(apart)});
  EXPECT_EQ(sizes_of(r), (L{3, 3}));
  expect_near(r, {6, 8, 10, 1, 3, 5, 7, 9, 11});
  Tensor m = call(OpId::index, {&cube, TensorArrayRef(middle)});
  EXPECT_EQ(sizes_of(m), (L{2, 2}));
  expect_near(m, {4, 3, 10, 9});
}

TEST(Index, IndexPut) {
  Tensor w = table(), rows = make_long({0, -1, 0}), columns = make_long({1, 2, 1}), v = make({5, 6, 7}),
         one = scalar_tensor(100);
  std::vector<Tensor> both{rows, columns}, by_columns{Tensor(), make_long({0})};
  expect_near(call(OpId::index_put, {&w, TensorArrayRef(both), &v, false}),
              {0, 7, 2, 10, 11, 12, 20, 21, 22, 30, 31, 6});
  expect_near(call(OpId::index_put, {&w, TensorArrayRef(both), &v, true}),
              {0, 1 + 5 + 7, 2, 10, 11, 12, 20, 21, 22, 30, 31, 32 + 6});
  expect_near(call(OpId::index_put, {&w, TensorArrayRef(by_columns), &one, false}),
              {100, 1, 2, 100, 11, 12, 100, 21, 22, 100, 31, 32});
}

// Every indexing operator: a value out of range is reported with its position and the bound.
TEST(Index, FaultsNameTheValue) {
  Tensor w = table(), bad = make_long({0, 4}), low = make_long({1, -1}), grid = make_long({0, 1, 9, 2}, {2, 2}),
         src = make({1, 2, 3, 4}, {2, 2});
  std::vector<Tensor> list{bad}, too_low{make_long({-5})};
  auto message = [](const Error& e) {
    EXPECT_EQ(e.code(), ErrorCode::IndexOutOfRange);
    return std::string(e.op()) + ": " + e.message();
  };
  auto of = [&](OpId op, std::vector<CallArg> args) { return message(error_of([&] { call(op, args); })); };
  EXPECT_EQ(of(OpId::embedding, {&w, &bad}),
            "embedding: index 4 at position [1] is out of range for dimension 0 of size 4");
  EXPECT_EQ(of(OpId::embedding, {&w, &low}),
            "embedding: index -1 at position [1] is out of range for dimension 0 of size 4");
  EXPECT_EQ(of(OpId::index_select, {&w, Int(1), &bad}),
            "index_select: index 4 at position [1] is out of range for dimension 1 of size 3");
  EXPECT_EQ(of(OpId::gather, {&w, Int(0), &grid}),
            "gather: index 9 at position [1, 0] is out of range for dimension 0 of size 4");
  EXPECT_EQ(of(OpId::scatter, {&w, Int(0), &grid, &src}),
            "scatter: index 9 at position [1, 0] is out of range for dimension 0 of size 4");
  EXPECT_EQ(of(OpId::scatter_add, {&w, Int(1), &grid, &src}),
            "scatter_add: index 9 at position [1, 0] is out of range for dimension 1 of size 3");
  EXPECT_EQ(of(OpId::index, {&w, TensorArrayRef(list)}),
            "index: index 4 at position [1] is out of range for dimension 0 of size 4");
  Tensor one = scalar_tensor(1);
  EXPECT_EQ(of(OpId::index_put, {&w, TensorArrayRef(too_low), &one, false}),
            "index_put: index -5 at position [0] is out of range for dimension 0 of size 4");
}

TEST(Index, AFaultWritesNothing) {
  float out[2] = {7, 7}, self[2] = {1, 2}, src[2] = {3, 4};
  std::int64_t at[2] = {0, 5}, ints[] = {0};
  auto view = [](void* p, DType t) {
    kernels::TensorView v;
    v.data = static_cast<char*>(p), v.dtype = t, v.rank = 1, v.sizes[0] = 2, v.strides[0] = 1;
    return v;
  };
  kernels::TensorView tensors[] = {view(self, DType::Float32), view(at, DType::Int64), view(src, DType::Float32),
                                   view(out, DType::Float32)};
  using K = kernels::NativeArg::Kind;
  kernels::NativeArg args[] = {{K::Tensor, 0, 1}, {K::Int, 0, 1}, {K::Tensor, 1, 1}, {K::Tensor, 2, 1}};
  kernels::KernelFault fault;
  kernels::reference_kernel(OpId::scatter)({tensors, args, ints, nullptr, nullptr, 4, 3, 1, nullptr, &fault});
  EXPECT_TRUE(fault.failed);
  EXPECT_EQ(out[0], 7);
  EXPECT_EQ(out[1], 7);
}

TEST(Join, Cat) {
  Tensor a = make({1, 2}, {1, 2}), b = make({3, 4, 5, 6}, {2, 2}), none = make({}, {0});
  std::vector<Tensor> rows{a, none, b}, columns{b, b};
  expect_near(call(OpId::cat, {TensorArrayRef(rows), Int(0)}), {1, 2, 3, 4, 5, 6});
  expect_near(call(OpId::cat, {TensorArrayRef(columns), Int(-1)}), {3, 4, 3, 4, 5, 6, 5, 6});
  Tensor i = make_long({7, 8}, {1, 2});
  std::vector<Tensor> mixed{i, a};
  Tensor m = call(OpId::cat, {TensorArrayRef(mixed), Int(0)});
  EXPECT_EQ(m.dtype(), DType::Float32);
  expect_near(m, {7, 8, 1, 2});
}

TEST(Join, ScattersOfViews) {
  Tensor x = make({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, {3, 4}), src = make({1, 2, 3, 4, 5, 6}, {3, 2}),
         row = make({1, 2, 3, 4});
  expect_near(call(OpId::slice_scatter, {&x, &src, Int(1), Int(1), kNone, Int(2)}),
              {0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6});
  Tensor last = make({9, 9, 9, 9}, {1, 4});
  expect_near(call(OpId::slice_scatter, {&x, &last, Int(0), Int(-1), Int(100), Int(1)}),
              {0, 0, 0, 0, 0, 0, 0, 0, 9, 9, 9, 9});
  expect_near(call(OpId::select_scatter, {&x, &row, Int(0), Int(-2)}), {0, 0, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0});
  Tensor d = make({1, 2, 3});
  expect_near(call(OpId::diagonal_scatter, {&x, &d, Int(1), Int(0), Int(1)}), {0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3});
  Tensor below = make({1, 2});
  expect_near(call(OpId::diagonal_scatter, {&x, &below, Int(-1), Int(0), Int(1)}),
              {0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0});
  Ints size{2, 2}, stride{5, 1};
  Tensor square = make({1, 2, 3, 4}, {2, 2});
  expect_near(call(OpId::as_strided_scatter, {&x, &square, IntArrayRef(size), IntArrayRef(stride), Int(1)}),
              {0, 1, 2, 0, 0, 0, 3, 4, 0, 0, 0, 0});
  // Over self's own strides: self is the transpose of a [4, 3] block, so storage position 1 is element [1, 0].
  Tensor t = transposed_memory(x);
  Ints two{2}, one{1};
  Tensor pair = make({5, 6});
  expect_near(call(OpId::as_strided_scatter, {&t, &pair, IntArrayRef(two), IntArrayRef(one), Int(1)}),
              {0, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0});
}

}  // namespace
}  // namespace reprise::test
