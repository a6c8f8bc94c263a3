#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ostream>
#include <sstream>

#include "base/float_state.h"
#include "device/backend.h"
#include "tensor/frozen.h"
#include "tensor/impl.h"
#include "tensor/strided.h"
#include "tensor/transfer.h"
#include "tensor/wrapped.h"

namespace reprise {
namespace {

constexpr std::int64_t kSummariseAbove = 1000, kEdge = 3;
constexpr int kLineWidth = 80, kDigits = 4;

/// Writes one number; all numbers of a tensor with one width, floats in one notation.
class Formatter {
 public:
  explicit Formatter(DType dtype) : dtype_(dtype) {}
  /// Called first, for each number that will be printed.
  void see(const char* p) {
    if (is_floating(dtype_)) {
      double v = std::fabs(number(p));
      if (std::isfinite(v) && v != 0) low_ = std::min(low_, v), high_ = std::max(high_, v);
    }
  }
  void choose_notation() { scientific_ = high_ > 0 && (high_ > 1e8 || low_ < 1e-4 || high_ / low_ > 1000); }
  void measure(const char* p) { width_ = std::max(width_, plain(p).size()); }
  std::string text(const char* p) const {
    std::string s = plain(p);
    return s.size() < width_ ? std::string(width_ - s.size(), ' ') + s : s;
  }
  std::size_t width() const { return width_; }

 private:
  double number(const char* p) const {
    return dispatch(dtype_, [&]<class T>(T*) { return convert_element<double>(load_element<T>(p)); });
  }
  std::string plain(const char* p) const {
    if (dtype_ == DType::Bool) return load_element<bool>(p) ? "true" : "false";
    if (!is_floating(dtype_))
      return dispatch(dtype_,
                      [&]<class T>(T*) { return std::to_string(convert_element<std::int64_t>(load_element<T>(p))); });
    double v = number(p);
    if (std::isnan(v)) return "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    char text[64];
    std::snprintf(text, sizeof text, scientific_ ? "%.*e" : "%.*f", kDigits, v);
    return text;
  }
  DType dtype_;
  bool scientific_ = false;
  double low_ = INFINITY, high_ = 0;
  std::size_t width_ = 0;
};

class Printer {
 public:
  Printer(const TensorImpl& t) : t_(t), format_(t.dtype), summarise_(t.numel() > kSummariseAbove) {}

  std::string run(std::size_t indent) {
    walk(0, t_.data(), [&](const char* p) { format_.see(p); });
    format_.choose_notation();
    walk(0, t_.data(), [&](const char* p) { format_.measure(p); });
    print(0, t_.data(), indent);
    return std::move(out_);
  }

 private:
  // The stride of a single row may be any number: nobody goes along it.
  std::int64_t step(int d) const { return t_.sizes[d] > 1 ? t_.strides[d] * item_size(t_.dtype) : 0; }
  bool done(int d) const { return d == t_.rank || d == kMaxRank; }  // the latter tells the compiler the bound
  bool skips(int d) const { return summarise_ && t_.sizes[d] > 2 * kEdge; }

  template <class F>
  void walk(int d, const char* p, F&& f) {
    if (done(d)) return f(p);
    for (std::int64_t i = 0; i < t_.sizes[d]; ++i) {
      if (skips(d) && i == kEdge) i = t_.sizes[d] - kEdge;
      walk(d + 1, p + i * step(d), f);
    }
  }

  void print(int d, const char* p, std::size_t indent) {
    if (done(d)) {
      out_ += format_.text(p);
      return;
    }
    out_ += '[';
    const bool last = d == t_.rank - 1;
    const std::size_t per_line =
        std::max<std::size_t>(1, (kLineWidth - std::min<std::size_t>(indent, kLineWidth)) / (format_.width() + 2));
    std::size_t on_line = 0;
    for (std::int64_t i = 0; i < t_.sizes[d]; ++i) {
      if (i > 0) {
        out_ += ',';
        if (!last) {
          out_ += std::string(static_cast<std::size_t>(t_.rank - 1 - d), '\n') + std::string(indent + 1, ' ');
        } else if (on_line >= per_line) {
          out_ += '\n' + std::string(indent + 1, ' ');
          on_line = 0;
        } else {
          out_ += ' ';
        }
      }
      if (skips(d) && i == kEdge) {
        out_ += "...";
        i = t_.sizes[d] - kEdge - 1;
      } else {
        print(d + 1, p + i * step(d), indent + 1);
      }
      ++on_line;
    }
    out_ += ']';
  }

  const TensorImpl& t_;
  Formatter format_;
  const bool summarise_;
  std::string out_;
};

std::string sizes_text(const Ints& sizes) {
  std::string s = "(";
  for (std::size_t i = 0; i < sizes.size(); ++i) s += (i ? ", " : "") + sizes[i].str();
  return s + (sizes.size() == 1 ? ",)" : ")");
}

}  // namespace

std::string Tensor::str() const {
  if (!defined()) return "tensor(undefined)";
  if (impl_->trace) impl_->trace->reads_value("str", {});
  if (current_trace) current_trace->not_traceable(Bail::reads_value, "str", {});
  if (has_no_bytes(*impl_)) return name_of_wrapper.load()(*this) + "(" + with_bytes(*this, {}).str() + ")";
  if (is_discarded(*impl_->storage))
    return "tensor(discarded, size=" + sizes_text(sizes()) + ", dtype=" + std::string(dtype_name(impl_->dtype)) + ")";
  if (is_shape_only(impl_->device))
    return "tensor(..., size=" + sizes_text(sizes()) + ", dtype=" + std::string(dtype_name(impl_->dtype)) +
           ", device=" + impl_->device.str() + ")";
  if (!device::runs_host_code(impl_->device) && !impl_->storage->released) {
    std::string s = on_host(*this, "str").str();
    s.insert(s.size() - 1, ", device=" + impl_->device.str());
    return s;
  }
  std::string tail = ", dtype=" + std::string(dtype_name(impl_->dtype)) + ")";
  if (impl_->storage->released) return "tensor(released, size=" + sizes_text(sizes()) + tail;
  if (impl_->numel() == 0) return "tensor([], size=" + sizes_text(sizes()) + tail;
  const FloatState ours;
  return "tensor(" + Printer(*impl_).run(7) + tail;
}

std::ostream& operator<<(std::ostream& s, const Tensor& t) { return s << t.str(); }

}  // namespace reprise
