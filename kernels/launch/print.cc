#include <algorithm>
#include <sstream>

#include "kernels/launch/launch.h"

namespace reprise::kernels {
namespace {

void list(std::ostream& s, const Ints& v) {
  s << '[';
  for (std::size_t i = 0; i < v.size(); ++i) s << (i ? ", " : "") << v[i];
  s << ']';
}

void layout(std::ostream& s, const Layout& l) {
  list(s, l.sizes);
  s << '{';
  for (std::size_t i = 0; i < l.strides.size(); ++i) s << (i ? ", " : "") << l.strides[i];
  s << '}';
  if (l.offset.is_symbolic() || l.offset.hint() != 0) s << '+' << l.offset;
}

void buffer(std::ostream& s, const Lowered& l, std::uint32_t i) {
  const Buffer& b = l.buffers[i];
  switch (b.kind) {
    case Buffer::Kind::Input: s << "in" << b.index; break;
    case Buffer::Kind::Output: s << "out" << b.index; break;
    case Buffer::Kind::Temp: s << 't' << i; break;
    case Buffer::Kind::Window: s << 'w' << i; break;
  }
}

void arguments(std::ostream& s, const Lowered& l, const NativeLaunch& n) {
  for (std::size_t i = 0; i < n.operands.size(); ++i) {
    const Operand& o = n.operands[i];
    s << (i ? ", " : "") << (o.written ? "-> " : "");
    buffer(s, l, o.buffer);
    s << ' ' << dtype_short_name(o.dtype);
    layout(s, o.layout);
  }
}

void arguments(std::ostream& s, const Lowered& l, const LoopLaunch& n) {
  for (std::size_t i = 0; i < n.buffers.size(); ++i) {
    s << (i ? ", " : "") << (n.kernel.buffers[i].written ? "-> " : "");
    buffer(s, l, n.buffers[i]);
    s << ' ' << dtype_short_name(n.kernel.buffers[i].dtype);
  }
  s << ") over (";
  for (std::size_t d = 0; d < n.kernel.extents.size(); ++d) {
    s << (d                      ? (static_cast<int>(d) == n.kernel.n_kept ? " | " : ", ")
          : n.kernel.n_kept == 0 ? "| "
                                 : "")
      << n.kernel.extents[d];
  }
}

void arguments(std::ostream& s, const Lowered& l, const GpuLaunch& n) {
  for (std::size_t i = 0; i < n.buffers.size(); ++i) {
    s << (i ? ", " : "") << (n.written[i] ? "-> " : "") << n.names[i] << '=';
    buffer(s, l, n.buffers[i]);
  }
  s << ") as " << n.code.text() << " of (";
  for (std::size_t i = 0; i < n.ints.size(); ++i)
    s << (i ? ", " : "") << n.names[n.buffers.size() + i] << '=' << n.ints[i];
  s << ") in " << n.blocks << " blocks";
}

void copies(std::ostream& s, const Launch& l) {
  for (const Copy& c : l.copies)
    s << " copies " << c.bytes << (c.of == Copy::Of::Ours ? " bytes beyond eager (" : " bytes as eager (") << c.why
      << ')';
}

constexpr const char* kind_name(const LoopLaunch&) { return "loop "; }
constexpr const char* kind_name(const NativeLaunch& n) { return n.captured ? "captured " : "native "; }
constexpr const char* kind_name(const GpuLaunch&) { return "gpu "; }

}  // namespace

std::string print(const Lowered& l, bool calls) {
  const bool derived = std::any_of(l.launches.begin(), l.launches.end(),
                                   [](const Launch& x) { return x.calls.find(" of #") != std::string::npos; });
  std::ostringstream s;
  for (std::uint32_t i = 0; i < l.buffers.size(); ++i) {
    if (l.buffers[i].kind == Buffer::Kind::Input) continue;
    s << "buffer ";
    buffer(s, l, i);
    s << ": " << l.buffers[i].bytes << " bytes\n";
  }
  for (std::size_t r = 0; r < l.repeats.size(); ++r) {
    const Repeat& x = l.repeats[r];
    s << "loop " << r << ": " << (x.decided ? "at most " : "") << x.count << " turns";
    if (x.decided) {
      s << " while ";
      buffer(s, l, x.swaps[0].read);
    }
    for (const Repeat::Window& w : x.windows) {
      s << ", ";
      buffer(s, l, w.buffer);
      s << " = ";
      buffer(s, l, w.of);
      if (w.offset.is_symbolic() || w.offset.hint() != 0) s << '+' << w.offset;
      s << "+turn*" << w.stride;
    }
    for (const Repeat::Swap& w : x.swaps) {
      s << ", then ";
      buffer(s, l, w.read);
      s << " <-> ";
      buffer(s, l, w.made);
    }
    s << '\n';
  }
  for (const Launch& launch : l.launches) {
    if (static_cast<std::size_t>(&launch - l.launches.data()) + l.undo.size() >= l.launches.size())
      s << "if one failed: ";
    for (std::uint32_t r : launch.repeats) s << "in loop " << r << ": ";
    s << std::visit([](const auto& what) { return kind_name(what); }, launch.what) << launch.name << '(';
    std::visit([&](const auto& what) { arguments(s, l, what); }, launch.what);
    s << (std::holds_alternative<GpuLaunch>(launch.what) ? "" : ")") << (launch.may_fail ? " may fail" : "")
      << (launch.guard ? " unless one failed" : "");
    for (const Condition& c : launch.when) {
      s << (&c == &launch.when.front() ? " if " : " and ") << (c.wanted ? "" : "not ");
      buffer(s, l, c.buffer);
      if (c.offset.is_symbolic() || c.offset.hint() != 0) s << '+' << c.offset;
    }
    copies(s, launch);
    const bool told = (calls || derived) && !launch.calls.empty();
    if (launch.scope || launch.loc || told) s << "  ;";
    if (told) s << ' ' << launch.calls;
    if (launch.scope) s << ' ' << *launch.scope;
    if (launch.loc) s << ' ' << launch.loc.file << ':' << launch.loc.line;
    s << '\n';
  }
  for (std::size_t i = 0; i < l.outputs.size(); ++i) {
    const Lowered::Out& o = l.outputs[i];
    s << "output " << i << ": ";
    if (o.buffer >= 0) buffer(s, l, static_cast<std::uint32_t>(o.buffer));
    s << ' ';
    layout(s, o.layout);
    if (o.in_place) s << " in place";
    else if (!o.why.empty()) {
      s << " epilogue copies to ";
      layout(s, o.target);
    }
    if (!o.why.empty()) s << " (" << o.why << ')';
    s << '\n';
  }
  return s.str();
}

}  // namespace reprise::kernels
