#include <cmath>

#include "node_run.h"

namespace reprise::kernels::testing {
namespace {

using graph::NodeArg;
using graph::OpId;
using graph::ValueId;

class GpuElements : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!device_here()) GTEST_SKIP() << "no device here";
  }
  Strided numbers(DType t, const std::vector<std::int64_t>& sizes) {
    Strided x = any_strides(rng, t, sizes);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      x.set(i, static_cast<double>(rng() % 20) - (t == DType::UInt8 ? 0 : 10));
    return x;
  }
  Strided indices(DType t, const std::vector<std::int64_t>& sizes, std::int64_t extent, bool wraps = false) {
    Strided x = any_strides(rng, t, sizes);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      x.set(i, static_cast<double>(rng() % static_cast<std::uint64_t>(extent)) -
                   (wraps && rng() % 3 == 0 ? static_cast<double>(extent) : 0));
    return x;
  }
  NodeResults run(OpId op, std::vector<NodeArg> args, const std::vector<Strided>& inputs) {
    bool in_place = rng() % 2 && op != OpId::rand && op != OpId::randn;
    return run_node(
        op, std::move(args), inputs, rng() % 2 ? Known::All : Known::Ones,
        [&](DType t, std::vector<std::int64_t> s) { return any_strides(rng, t, s); }, in_place);
  }
  std::mt19937 rng{11};
};

TEST_F(GpuElements, Random) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float16, DType::Float64})
    for (OpId op : {OpId::rand, OpId::randn})
      for (const Ints& sizes : {Ints{1000}, Ints{3, 5, 7}, Ints{0}, Ints{}}) {
        if (op == OpId::randn && t == DType::Float64) continue;
        std::vector<NodeArg> args{sizes, t, NodeArg(std::string("cpu")), NodeArg(Int(0x123456789abcdef)),
                                  NodeArg(Int(0xfffffff0))};
        NodeResults r = run(op, args, {});
        expect_close(r,
                     t == DType::Float32   ? 1.2e-7
                     : t == DType::Float64 ? 0
                                           : 8e-3,
                     op == OpId::rand ? 0 : 1e-11, std::string(dtype_name(t)));
        if (HasFatalFailure()) return;
      }
}

TEST_F(GpuElements, Scatter) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Float64, DType::Int64, DType::Int32, DType::UInt8})
    for (OpId op : {OpId::scatter, OpId::scatter_add})
      for (std::int64_t dim : {0, 1, 2}) {
        DType index_type = dim == 1 ? DType::Int32 : DType::Int64;
        std::vector<std::int64_t> sizes{5, 6, 7}, of_index{4, 5, 6};
        of_index[static_cast<std::size_t>(dim)] += 4;
        Strided index = indices(index_type, of_index, sizes[static_cast<std::size_t>(dim)]);
        NodeResults r = run(op, {ValueId{}, NodeArg(Int(dim)), ValueId{}, ValueId{}},
                            {numbers(t, sizes), index, numbers(t, of_index)});
        expect_close(r, 0, 0, std::string(dtype_name(t)) + " dim " + std::to_string(dim));
        if (op == OpId::scatter) {
          NodeResults one = run(op, {ValueId{}, NodeArg(Int(dim)), ValueId{}, Scalar(3)}, {numbers(t, sizes), index});
          expect_close(one, 0, 0, std::string(dtype_name(t)) + " number");
        }
        if (HasFatalFailure()) return;
      }
}

TEST_F(GpuElements, ScatterOfOneDimAndNone) {
  for (DType t : {DType::Float32, DType::Int32}) {
    NodeResults one = run(OpId::scatter, {ValueId{}, NodeArg(Int(0)), ValueId{}, ValueId{}},
                          {numbers(t, {30}), indices(DType::Int64, {300}, 30), numbers(t, {300})});
    expect_close(one, 0, 0, "one dim");
    NodeResults none = run(OpId::scatter, {ValueId{}, NodeArg(Int(0)), ValueId{}, ValueId{}},
                           {numbers(t, {4, 3}), indices(DType::Int64, {0, 3}, 4), numbers(t, {0, 3})});
    expect_close(none, 0, 0, "no index");
  }
}

TEST_F(GpuElements, IndexPut) {
  for (DType t : {DType::Float32, DType::BFloat16, DType::Int64, DType::Int8})
    for (bool add : {false, true}) {
      auto check = [&](const std::vector<std::int64_t>& sizes, std::vector<NodeArg> list, std::vector<Strided> tensors,
                       const std::vector<std::int64_t>& of_values) {
        std::vector<NodeArg> args{ValueId{}, list[0], ValueId{}, add};
        tensors.insert(tensors.begin(), numbers(t, sizes));
        tensors.push_back(numbers(t, of_values));
        NodeResults r = run(OpId::index_put, args, tensors);
        expect_close(
            r, 0, 0,
            std::string(dtype_name(t)) + (add ? " add" : "") + ", values of rank " + std::to_string(of_values.size()));
      };
      // run_node gives what is there its input.
      const ValueId none{}, some{1};
      check({6, 5}, {std::vector<ValueId>{some}}, {indices(DType::Int64, {9}, 6, true)}, {9, 5});
      check({6, 5, 4}, {std::vector<ValueId>{none, some}}, {indices(DType::Int32, {3, 2}, 5, true)}, {6, 3, 2, 4});
      check({6, 5, 4}, {std::vector<ValueId>{none, some}}, {indices(DType::Int64, {1}, 5)}, {1, 4});
      check({6, 5, 4}, {std::vector<ValueId>{some, none, some}},
            {indices(DType::Int64, {7, 1}, 6), indices(DType::Int64, {1, 3}, 4)}, {3, 5});
      if (HasFatalFailure()) return;
      if (!add || t == DType::Int64)
        check({6, 5}, {std::vector<ValueId>{some, some}},
              {indices(DType::Int64, {40}, 6), indices(DType::Int32, {40}, 5)}, {40});
      if (!add || t == DType::Int64)
        check({4, 6}, {std::vector<ValueId>{some, some}},
              {indices(DType::Int64, {3, 2}, 4, true), indices(DType::Int64, {3, 1}, 6, true)}, {3, 2});
      check({6, 5}, {std::vector<ValueId>{some}}, {indices(DType::Int64, {0}, 6)}, {0, 5});
      if (HasFatalFailure()) return;
    }
}

TEST_F(GpuElements, IndicesAreChecked) {
  Strided index = indices(DType::Int64, {9}, 6);
  index.set(4, 6);
  NodeResults r = run(OpId::index_put, {ValueId{}, std::vector<ValueId>{ValueId{1}}, ValueId{}, false},
                      {numbers(DType::Float32, {6, 5}), index, numbers(DType::Float32, {9, 5})});
  EXPECT_TRUE(r.check.failed);
  EXPECT_EQ(r.check.message, r.fault.message);
  EXPECT_TRUE(r.launched.empty());
}

}  // namespace
}  // namespace reprise::kernels::testing
