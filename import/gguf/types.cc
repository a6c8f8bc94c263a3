#include "import/gguf/types.h"

#include <algorithm>

namespace reprise::gguf {

namespace {

constexpr Type of(std::uint32_t n) { return static_cast<Type>(n); }
constexpr TypeFacts blocks(Type t, kernels::BlockFormat f) {
  const kernels::BlockFacts& facts = kernels::facts_of(f);
  return {t, facts.name.data(), facts.elements, facts.bytes, {}, f};
}

// All that files are seen with, so that their places can be checked: those without a dtype and that nothing unpacks are
// told by name.
constexpr TypeFacts kTypes[] = {
    {Type::F32, "F32", 1, 4, kFloat32},
    {Type::F16, "F16", 1, 2, kFloat16},
    blocks(Type::Q4_0, kernels::BlockFormat::Q4_0),
    blocks(Type::Q4_1, kernels::BlockFormat::Q4_1),
    blocks(Type::Q5_0, kernels::BlockFormat::Q5_0),
    blocks(Type::Q5_1, kernels::BlockFormat::Q5_1),
    blocks(Type::Q8_0, kernels::BlockFormat::Q8_0),
    blocks(Type::Q2_K, kernels::BlockFormat::Q2_K),
    blocks(Type::Q3_K, kernels::BlockFormat::Q3_K),
    blocks(Type::Q4_K, kernels::BlockFormat::Q4_K),
    blocks(Type::Q5_K, kernels::BlockFormat::Q5_K),
    blocks(Type::Q6_K, kernels::BlockFormat::Q6_K),
    {of(15), "Q8_K", 256, 292},
    {of(16), "IQ2_XXS", 256, 66},
    {of(17), "IQ2_XS", 256, 74},
    {of(18), "IQ3_XXS", 256, 98},
    {of(19), "IQ1_S", 256, 50},
    blocks(Type::IQ4_NL, kernels::BlockFormat::IQ4_NL),
    {of(21), "IQ3_S", 256, 110},
    {of(22), "IQ2_S", 256, 82},
    blocks(Type::IQ4_XS, kernels::BlockFormat::IQ4_XS),
    {Type::I8, "I8", 1, 1, kInt8},
    {Type::I16, "I16", 1, 2},
    {Type::I32, "I32", 1, 4, kInt32},
    {Type::I64, "I64", 1, 8, kInt64},
    {Type::F64, "F64", 1, 8, kFloat64},
    {of(29), "IQ1_M", 256, 56},
    {Type::BF16, "BF16", 1, 2, kBFloat16},
    {of(34), "TQ1_0", 256, 54},
    {of(35), "TQ2_0", 256, 66},
    {of(39), "MXFP4", 32, 17},
};

}  // namespace

const TypeFacts* facts_of(Type t) {
  const auto* found =
      std::find_if(std::begin(kTypes), std::end(kTypes), [&](const TypeFacts& f) { return f.type == t; });
  return found == std::end(kTypes) ? nullptr : found;
}

std::string type_name(Type t) {
  const TypeFacts* f = facts_of(t);
  return f ? f->name : "type " + std::to_string(static_cast<std::uint32_t>(t));
}

bool is_quantized(Type t) {
  const TypeFacts* f = facts_of(t);
  return f && f->elements > 1;
}

}  // namespace reprise::gguf
