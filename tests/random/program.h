#pragma once
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reprise/reprise.h"

namespace reprise::fuzz {

/// One operation of a random program: what to do, on which tensors of the pool, with which small numbers.
struct Step {
  enum Kind {
    Unary, Binary, Number, Where, Reduce, Softmax, Norm, Product, Transpose, Slice, Select, Unsqueeze, Flatten, Expand, Cat, Stack,
    AddInplace, MulInplace, CopyInplace, FillInplace, MaskedFillInplace, Gather, Cast, Cumsum, Sort, kinds
  } kind;
  unsigned a, b, p, q;
  std::string str() const;
};

/// A program over a pool: the arguments, then one tensor for each step. Its results are some members of the pool.
struct Program {
  std::vector<Step> steps;
  std::vector<unsigned> results;
  std::string str() const;
};

/// What a program is run on. Sizes are N, M, K in several places, so that symbols have to be found equal.
struct Arguments {
  Tensor x;      ///< [N, M]
  Tensor y;      ///< [M, K]
  Tensor z;      ///< [N, M], transposed storage
  Tensor v;      ///< [M], every second element of a longer buffer
  Tensor ids;    ///< int64 [N], values below the smallest N there is (1)
  Int n;         ///< a number of the call
};
Arguments make_arguments(std::mt19937& rng, int n, int m, int k);

Program random_program(std::mt19937& rng, int length);
/// The same C++ function for eager and compiled runs. Throws what an operator throws.
std::vector<Tensor> run(const Program&, Arguments);

}  // namespace reprise::fuzz
