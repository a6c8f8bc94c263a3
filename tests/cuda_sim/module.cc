#include "tests/cuda_sim/module.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "tests/cuda_sim/memory.h"
#include "tests/cuda_sim/race.h"

namespace sim {

namespace {

/// The fields of device/cuda's kernel that writes cells: it is hand-written PTX, without bitcode.
void upload_cells(const char* params, std::uint64_t bytes) {
  std::uint64_t head[3];
  std::memcpy(head, params, sizeof head);
  const auto [block, first, count] = head;
  const std::uint64_t to = block + 8 * first, n = 8 * count;
  if (n == 0) return;
  std::string why = sizeof head + n > bytes ? std::string("more values than parameters") : memory().why_not(to, n);
  if (why.empty() && to % 8) why = "misaligned";
  if (!why.empty())
    return report_error(CUDA_ERROR_ILLEGAL_ADDRESS, cat("reprise_upload_cells: writes ", n, " bytes at ", hex(to), ": ",
                                                        why, ": ", memory().describe(to, n)));
  std::memcpy(g_arena.data(to), params + sizeof head, n);
  memory().mark(to, n, kWritten);
  race_access(to, n, Touch::Write, 0);
}

std::string decode_base64(const std::string& text) {
  std::string out;
  std::uint32_t bits = 0;
  int have = 0;
  for (char c : text) {
    int v = c >= 'A' && c <= 'Z'   ? c - 'A'
            : c >= 'a' && c <= 'z' ? c - 'a' + 26
            : c >= '0' && c <= '9' ? c - '0' + 52
            : c == '+'             ? 62
            : c == '/'             ? 63
                                   : -1;
    if (c == '=') break;
    require(v >= 0, CUDA_ERROR_INVALID_PTX, "the bitcode in the image is not base64");
    bits = bits << 6 | static_cast<std::uint32_t>(v);
    if ((have += 6) >= 8) out.push_back(static_cast<char>(bits >> (have -= 8)));
  }
  return out;
}

/// PTX without comments, and the bitcode of its `// reprise-ir` lines.
struct Text {
  std::string ptx, bitcode;
};
Text split(const std::string& image) {
  static const std::string mark = "// reprise-ir ";
  Text t;
  std::string base64;
  std::istringstream lines(image);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, mark.size(), mark) == 0) {
      for (char c : line.substr(mark.size()))
        if (!std::isspace(static_cast<unsigned char>(c))) base64.push_back(c);
    } else {
      t.ptx += line.substr(0, line.find("//"));
      t.ptx += '\n';
    }
  }
  t.bitcode = decode_base64(base64);
  return t;
}

struct Entry {
  std::string name;
  std::vector<Parameter> params;
  std::uint32_t bytes = 0;
};

/// The declarations of kernels: `.entry name(.param .u64 a, .param .align 8 .b8 b[64])`.
std::vector<Entry> entries_of(const std::string& ptx) {
  std::vector<Entry> found;
  for (std::size_t at = ptx.find(".entry"); at != std::string::npos; at = ptx.find(".entry", at)) {
    at += 6;
    std::size_t name = ptx.find_first_not_of(" \t\r\n", at), stop = ptx.find_first_of(" \t\r\n({", name);
    require(stop != std::string::npos, CUDA_ERROR_INVALID_PTX, "an .entry without a body");
    Entry e{ptx.substr(name, stop - name), {}, 0};
    const std::size_t open = ptx.find_first_not_of(" \t\r\n", stop);
    if (open != std::string::npos && ptx[open] == '(') {
      const std::size_t close = ptx.find(')', open);
      require(close != std::string::npos, CUDA_ERROR_INVALID_PTX, "kernel ", e.name, ": its parameters do not end");
      std::istringstream list(ptx.substr(open + 1, close - open - 1));
      for (std::string one; std::getline(list, one, ',');) {
        std::uint32_t size = 0, align = 0, count = 1;
        std::istringstream words(one);
        for (std::string w; words >> w;) {
          if (w == ".align") words >> align;
          else if (w == ".ptr" || w == ".param" || w[0] != '.') { /* the name, below */
          } else if (w.size() > 2 && std::isdigit(static_cast<unsigned char>(w[2])) && size == 0)
            size = static_cast<std::uint32_t>(std::stoul(w.substr(2)) / 8);
          if (w[0] != '.')
            if (auto b = w.find('['); b != std::string::npos)
              count = static_cast<std::uint32_t>(std::stoul(w.substr(b + 1)));
        }
        if (size == 0) continue;
        // `.ptr .align N` speaks of what the pointer points to.
        if (align == 0 || one.find(".ptr") != std::string::npos) align = size;
        e.bytes = (e.bytes + align - 1) / align * align;
        e.params.push_back({e.bytes, size * count});
        e.bytes += size * count;
      }
    }
    found.push_back(std::move(e));
  }
  return found;
}

void check_header(const std::string& ptx) {
  const std::size_t version = ptx.find(".version"), target = ptx.find(".target");
  require(version != std::string::npos && target != std::string::npos && version < target, CUDA_ERROR_INVALID_PTX,
          "no PTX: it lacks .version or .target");
  const double v = std::atof(ptx.c_str() + version + 8);
  require(v >= 1 && v <= 9.0, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, ".version ", v, ", this driver knows up to 9.0");
  const std::size_t sm = ptx.find("sm_", target);
  require(sm != std::string::npos, CUDA_ERROR_INVALID_PTX, "no sm_ in .target");
  const int arch = std::atoi(ptx.c_str() + sm + 3);
  // With features of one architecture alone: sm_90a.
  const bool exactly = std::isalpha(static_cast<unsigned char>(ptx[sm + 3 + std::to_string(arch).size()]));
  require(exactly ? arch == settings().arch : arch <= settings().arch, CUDA_ERROR_NO_BINARY_FOR_GPU, ".target sm_",
          arch, " on a device of sm_", settings().arch);
}

}  // namespace

void load_image(LoadedModule& m, const std::string& image) {
  ++counters().modules_loaded;
  const Text text = split(image);
  check_header(text.ptx);
  const std::vector<Entry> entries = entries_of(text.ptx);
  std::shared_ptr<Code> code;
  if (!text.bitcode.empty()) m.code = code = compile_bitcode(text.bitcode);
  for (const Entry& e : entries) {
    auto f = std::make_shared<LoadedKernel>();
    f->name = e.name;
    f->params = e.params;
    f->param_bytes = e.bytes;
    if (code && code->kernels.count(e.name)) {
      f->code = code;
      f->kernel = code->kernels[e.name];
      const auto& sizes = f->kernel.param_bytes;
      bool same = sizes.size() == e.params.size();
      for (std::size_t i = 0; same && i < sizes.size(); ++i) same = sizes[i] == e.params[i].bytes;
      require(same, CUDA_ERROR_INVALID_PTX, "kernel ", e.name,
              ": the parameters of its PTX and of its bitcode differ (", e.params.size(), " and ", sizes.size(), ")");
    } else if (e.name == "reprise_upload_cells") {
      f->native = upload_cells;
    } else {
      fail(CUDA_ERROR_INVALID_PTX, "kernel ", e.name,
           ": the image has no bitcode of it (lines `// reprise-ir`, CodeTarget::with_ir), and PTX is not interpreted");
    }
    add_handle(f);
    m.functions[e.name] = f;
  }
  if (code)
    for (auto& [name, k] : code->kernels)
      require(m.functions.count(name), CUDA_ERROR_INVALID_PTX, "kernel ", name,
              " is in the bitcode but not in the PTX");
}

void unload(LoadedModule& m) {
  for (auto& [name, f] : m.functions) {
    f->unloaded = true;
    remove_handle(f->handle);
    if (f->kernel_handle) remove_handle(f->kernel_handle);
  }
  remove_handle(m.handle);
}

std::shared_ptr<LoadedKernel> find_function(const void* handle) {
  const auto h = reinterpret_cast<std::uint64_t>(handle);
  if (auto o = find_handle_or_null(h); o && o->kind == Kind::Kernel)
    return std::static_pointer_cast<KernelHandle>(o)->function;
  return std::static_pointer_cast<LoadedKernel>(find_handle(h, Kind::Function));
}

}  // namespace sim
