#include "kernels/cpu/named_kernels.h"

#include <unordered_map>

#include "kernels/cpu/host_kernels.h"
#include "kernels/launch/named.h"
#include "kernels/reference/reference.h"

namespace reprise::kernels {

namespace {

constexpr std::string_view kOperators[] = {
#define REPRISE_OP(name, ...) #name,
#include "graph/ops.def"
#undef REPRISE_OP
};

struct Names {
  std::unordered_map<std::string, NativeFn> functions;
  std::unordered_map<NativeFn, std::string> names;

  void add(std::string name, NativeFn fn) {
    names.try_emplace(fn, name);
    functions.emplace(std::move(name), fn);
  }
  Names() {
    add("linear", named::linear()), add("bmm", named::bmm());
    add("convolution", named::convolution()), add("convolution_rows", named::convolution_rows());
    add("attention", named::attention()), add("scaled", named::scaled());
    add("int_mm", named::integers()), add("int_mm_packed", named::packed_integers());
    add("block_linear", named::block_linear());
    add("copy", named::copy()), add("check_index", named::check_index());
    add("last_places", named::last_places()), add("check_weights", named::check_weights());
    add("nonzero_static", named::nonzero()), add("repeated_indices", named::repeated());
    for (std::size_t i = 0; i < std::size(kOperators); ++i) {
      const auto id = static_cast<graph::OpId>(i);
      if (const NativeFn* fn = host_kernels().find(id)) add("host:" + std::string(kOperators[i]), *fn);
      if (const HostKernel* k = reference_kernels().find(id); k && k->fn)
        add("reference:" + std::string(kOperators[i]), k->fn);
    }
  }
};
const Names& names() {
  static const Names& all = *new Names;
  return all;
}

}  // namespace

std::string kernel_name(NativeFn fn) {
  const auto at = names().names.find(fn);
  return at == names().names.end() ? std::string() : at->second;
}

NativeFn named_kernel(std::string_view name) {
  const auto at = names().functions.find(std::string(name));
  return at == names().functions.end() ? nullptr : at->second;
}

}  // namespace reprise::kernels
