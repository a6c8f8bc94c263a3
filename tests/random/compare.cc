#include "tests/random/compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sstream>

#include "tensor/impl.h"
#include "tensor/strided.h"
#include "tensor/transfer.h"

namespace reprise::fuzz {

namespace {

std::vector<double> values(const Tensor& t) {
  const Tensor host = on_host(t, "compare");
  const TensorImpl& impl = *host.impl();
  std::vector<double> out;
  out.reserve(static_cast<std::size_t>(impl.numel()));
  dispatch(impl.dtype, [&](auto* p) {
    using T = std::remove_pointer_t<decltype(p)>;
    const char* data = impl.data();
    for_each_offset(impl, [&](std::int64_t at) {
      out.push_back(convert_element<double>(load_element<T>(data + at * item_size(impl.dtype))));
    });
  });
  return out;
}

std::string difference_of_values(const Tensor& want, const Tensor& got, double tolerance) {
  const std::vector<double> w = values(want), g = values(got);
  double scale = 1;
  for (double v : w)
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  // rounded to an integer beside the halfway point
  const double allowed = is_floating(want.dtype()) ? tolerance * scale : tolerance >= 1e-2 ? 1 : 0;
  for (std::size_t j = 0; j < w.size(); ++j) {
    const bool same = w[j] == g[j] || (std::isnan(w[j]) && std::isnan(g[j])) || std::abs(w[j] - g[j]) <= allowed;
    if (!same)
      return "element " + std::to_string(j) + ": eager " + std::to_string(w[j]) + ", compiled " + std::to_string(g[j]) +
             ", apart by " + std::to_string(std::abs(w[j] - g[j]) / scale);
  }
  return "";
}

std::string text(const std::int64_t* v, int n) {
  std::string s = "[";
  for (int d = 0; d < n; ++d) s += (d ? ", " : "") + std::to_string(v[d]);
  return s + "]";
}

bool same_storage(const Tensor& a, const Tensor& b) { return a.impl()->storage == b.impl()->storage; }

// What alone shows a part of a storage which the function made (by a slice, say, even if it is all of it with these
// sizes) and is laid out as what is made: eager keeps all of that storage, compiled makes the part (docs/mutation.md).
// Where it begins differs; sizes, strides and values are the same.
bool is_lone_part(const Seen& s, std::size_t i) {
  if (i >= s.parts.size() || !s.parts[i]) return false;
  for (std::size_t j = 0; j < s.tensors.size(); ++j)
    if (same_storage(s.tensors[i], s.tensors[j]) && !s.tensors[i].is_same(s.tensors[j])) return false;
  return true;
}

std::string name_of(const Seen& s, std::size_t i) {
  static const char* const names[] = {"x", "y", "z", "v", "c", "i", "m", "w", "captured", "ids"};
  return i < s.results ? "result " + std::to_string(i)
                       : "argument " + (s.names.empty() ? names[i - s.results] : s.names[i - s.results]);
}

std::string difference_of_layouts(const Seen& want, const Seen& got, std::size_t i) {
  const TensorImpl &w = *want.tensors[i].impl(), &g = *got.tensors[i].impl();
  for (int d = 0; d < w.rank; ++d)
    if (w.strides[d] != g.strides[d])
      return "sizes " + text(w.sizes, w.rank) + ", strides: eager " + text(w.strides, w.rank) + ", compiled " +
             text(g.strides, w.rank);
  if (w.offset != g.offset && !is_lone_part(want, i))
    return "offset: eager " + std::to_string(w.offset) + ", compiled " + std::to_string(g.offset);
  for (std::size_t j = 0; j < i; ++j) {
    const bool shared = same_storage(want.tensors[i], want.tensors[j]), one = want.tensors[i].is_same(want.tensors[j]);
    if (shared != same_storage(got.tensors[i], got.tensors[j]))
      return std::string(shared ? "only eager" : "only compiled") + " shares storage with " + name_of(want, j);
    if (one != got.tensors[i].is_same(got.tensors[j]))
      return std::string(one ? "only eager" : "only compiled") + " is the same tensor as " + name_of(want, j);
  }
  return "";
}

}  // namespace

std::vector<Version> versions_of(const std::vector<Tensor>& tensors) {
  std::vector<Version> versions;
  for (const Tensor& t : tensors) versions.push_back({t.alias(), t.version()});
  return versions;
}

Seen seen(const std::vector<Tensor>& results, const std::vector<Tensor>& arguments, std::vector<Version> versions,
          std::vector<bool> parts) {
  Seen s{results, results.size(), std::move(versions), std::move(parts), {}};
  s.tensors.insert(s.tensors.end(), arguments.begin(), arguments.end());
  return s;
}

std::string difference(const Seen& want, const Seen& got, double tolerance) {
  for (std::size_t i = 0; i < want.tensors.size(); ++i) {
    const Tensor &w = want.tensors[i], &g = got.tensors[i];
    const std::string at = name_of(want, i) + ": ";
    if (w.dtype() != g.dtype())
      return at + "eager " + std::string(dtype_name(w.dtype())) + ", compiled " + std::string(dtype_name(g.dtype()));
    if (w.dim() != g.dim() || !std::equal(w.impl()->sizes, w.impl()->sizes + w.dim(), g.impl()->sizes))
      return at + "sizes: eager " + text(w.impl()->sizes, w.dim()) + ", compiled " + text(g.impl()->sizes, g.dim());
    if (std::string d = difference_of_values(w, g, tolerance); !d.empty()) return at + d;
  }
  for (std::size_t i = 0; i < want.tensors.size(); ++i)
    if (std::string d = difference_of_layouts(want, got, i); !d.empty()) return name_of(want, i) + ": " + d;
  for (std::size_t i = 0; i < want.versions.size(); ++i) {
    // Of a storage that came with the call, how many writes is not told: a replay counts one for all of them.
    auto written = [&](const Seen& s) {
      const Version& before = s.versions[i];
      const Tensor& now = s.tensors[s.results + i];
      return before.storage.version() != before.writes ||
             (!now.shares_storage_with(before.storage) && now.version() != 0);
    };
    const bool w = written(want), g = written(got);
    if (w != g)
      return name_of(want, want.results + i) + ": only " + (w ? "eager" : "compiled") + " counts a write (version)";
  }
  return "";
}

namespace {
// 0: written; otherwise how it was refused.
std::string fill(const Tensor& t, std::size_t with) {
  try {
    if (t.dtype() == kBool) t.logical_not_();
    else t.fill_(Scalar(static_cast<std::int64_t>(with + 40)));
  } catch (const Error& e) {
    return std::string(error_code_name(e.code()));
  }
  return "";
}
}  // namespace

std::string difference_after_writes(const Seen& want, const Seen& got, double tolerance, bool thoroughly) {
  for (std::size_t i = 0; i < want.tensors.size(); ++i) {
    const std::string w = fill(want.tensors[i], i), g = fill(got.tensors[i], i);
    if (w != g)
      return "a write to " + name_of(want, i) + ": eager " + (w.empty() ? "writes" : "throws " + w) + ", compiled " +
             (g.empty() ? "writes" : "throws " + g);
    if (!thoroughly && i + 1 < want.tensors.size()) continue;
    Seen a = want, b = got;
    a.versions.clear(), b.versions.clear();
    if (std::string d = difference(a, b, tolerance); !d.empty())
      return "after a write to " + (thoroughly ? name_of(want, i) : "each tensor") + ": " + d;
  }
  return "";
}

}  // namespace reprise::fuzz
