#include "jit/engine/objects.h"

#include <llvm/BinaryFormat/ELF.h>
#include <llvm/Object/ELFObjectFile.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "jit/engine/entry_points.h"
#include "jit/engine/in_llvm.h"

namespace reprise::jit {

namespace {

constinit thread_local ObjectScope* t_scope = nullptr;

template <class T>
T unwrap(llvm::Expected<T> v) {
  if (!v) fail(ErrorCode::Internal, "jit", {}, "reading an object: ", llvm::toString(v.takeError()));
  return std::move(*v);
}

[[noreturn]] void unknown(const std::string& what) {
  fail(ErrorCode::Internal, "jit", {}, "an object of generated code has ", what);
}

/// Lays objects out and resolves what they say of each other. Calls of functions outside jump through the table.
class Linker {
 public:
  explicit Linker(CodeImage& to) : to_(to) {}

  void add(const ObjectCode& o) {
    const std::unique_ptr<llvm::object::ObjectFile> file = unwrap(
        llvm::object::ObjectFile::createObjectFile(llvm::MemoryBufferRef({o.object.data(), o.object.size()}, o.name)));
    if (!llvm::isa<llvm::object::ELF64LEObjectFile>(file.get())) unknown("another format than ELF");
    place_.clear();
    for (const llvm::object::SectionRef& s : file->sections()) take(s);
    bool found = false;
    for (const llvm::object::SymbolRef& s : file->symbols()) {
      if (unwrap(s.getName()) != o.name || unwrap(s.getType()) != llvm::object::SymbolRef::ST_Function) continue;
      to_.entries.push_back(address_of(s, *file).value());
      found = true;
    }
    if (!found) unknown("no function " + o.name);
    for (const llvm::object::SectionRef& s : file->sections()) {
      const llvm::object::section_iterator of = unwrap(s.getRelocatedSection());
      if (of == file->section_end() || !place_.contains(of->getIndex())) continue;
      for (const llvm::object::ELFRelocationRef r : s.relocations()) resolve(r, place_.at(of->getIndex()), *file);
    }
  }

  /// The jumps to functions outside, and where the table stands.
  void finish() {
    for (auto& [at, call, through] : outside_) {
      std::uint64_t to = 0;
      if (through) to = kTable + 8 * call;
      else to = jump(call);
      fixes_.push_back({at.first, at.second, to});
    }
    const std::size_t code = (to_.code.size() + CodeImage::kPage - 1) / CodeImage::kPage * CodeImage::kPage;
    to_.code.resize(code, '\0');
    for (const Fix& f : fixes_) {
      const std::uint64_t to = f.to >= kTable ? code + (f.to - kTable) : f.to;
      const auto value = static_cast<std::int64_t>(to) + f.addend - static_cast<std::int64_t>(f.at);
      if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
        unknown("a distance of more than 2 GiB");
      const auto bits = static_cast<std::int32_t>(value);
      std::memcpy(to_.code.data() + f.at, &bits, sizeof bits);
    }
  }

 private:
  static constexpr std::uint64_t kTable = std::uint64_t{1} << 48;  // stands for where the table will be
  struct Fix {
    std::uint64_t at;
    std::int64_t addend;
    std::uint64_t to;
  };

  void take(const llvm::object::SectionRef& s) {
    const llvm::object::ELFSectionRef elf(s);
    const llvm::StringRef name = unwrap(s.getName());
    // Nothing is thrown through generated code.
    if (!(elf.getFlags() & llvm::ELF::SHF_ALLOC) || s.getSize() == 0 || name.starts_with(".eh_frame")) return;
    if (elf.getFlags() & llvm::ELF::SHF_WRITE) unknown("a section that is written, " + name.str());
    const std::uint64_t align = std::max<std::uint64_t>(s.getAlignment().value(), 64);
    to_.code.resize((to_.code.size() + align - 1) / align * align, '\0');
    place_[s.getIndex()] = to_.code.size();
    const llvm::StringRef bytes = unwrap(s.getContents());
    to_.code.append(bytes.data(), bytes.size());
  }

  std::optional<std::uint64_t> address_of(const llvm::object::SymbolRef& s, const llvm::object::ObjectFile& file) {
    const llvm::object::section_iterator in = unwrap(s.getSection());
    if (in == file.section_end()) return std::nullopt;
    const auto at = place_.find(in->getIndex());
    if (at == place_.end()) unknown("a symbol in a section that is not loaded");
    return at->second + unwrap(s.getValue());
  }

  void resolve(const llvm::object::ELFRelocationRef& r, std::uint64_t section, const llvm::object::ObjectFile& file) {
    const std::uint64_t at = section + r.getOffset();
    const std::int64_t addend = unwrap(r.getAddend());
    const llvm::object::symbol_iterator symbol = r.getSymbol();
    if (symbol == file.symbol_end()) unknown("a relocation without a symbol");
    if (at + 4 > to_.code.size()) unknown("a relocation outside of its section");
    const std::optional<std::uint64_t> inside = address_of(*symbol, file);
    switch (r.getType()) {
      case llvm::ELF::R_X86_64_PC32:
      case llvm::ELF::R_X86_64_PLT32:
        if (inside) fixes_.push_back({at, addend, *inside});
        else outside_.push_back({{at, addend}, number(unwrap(symbol->getName()).str()), false});
        return;
      case llvm::ELF::R_X86_64_GOTPCREL:
      case llvm::ELF::R_X86_64_GOTPCRELX:
      case llvm::ELF::R_X86_64_REX_GOTPCRELX:
        if (!inside) {
          outside_.push_back({{at, addend}, number(unwrap(symbol->getName()).str()), true});
          return;
        }
        [[fallthrough]];
      default: unknown("a relocation of type " + std::to_string(r.getType()));
    }
  }

  std::size_t number(const std::string& name) {
    const auto at = std::find(to_.calls.begin(), to_.calls.end(), name);
    if (at != to_.calls.end()) return static_cast<std::size_t>(at - to_.calls.begin());
    if (!entry_point(name))
      fail(ErrorCode::NotTraceable, "jit", {}, "generated code calls ", name, ", which a runtime does not have");
    to_.calls.push_back(name);
    return to_.calls.size() - 1;
  }

  /// `jmp *table[call](%rip)`, one for each function.
  std::uint64_t jump(std::size_t call) {
    jumps_.resize(to_.calls.size());
    if (jumps_[call]) return jumps_[call];
    to_.code.resize((to_.code.size() + 15) / 16 * 16, '\xcc');
    const std::size_t at = to_.code.size();
    to_.code.append("\xff\x25\0\0\0\0", 6);
    fixes_.push_back({at + 2, -4, kTable + 8 * call});
    return jumps_[call] = at;
  }

  CodeImage& to_;
  std::map<std::uint64_t, std::uint64_t> place_;  // sections of one object: where they stand
  std::vector<Fix> fixes_;
  struct Outside {
    std::pair<std::uint64_t, std::int64_t> at;
    std::size_t call;
    bool through;  ///< it reads the table itself
  };
  std::vector<Outside> outside_;
  std::vector<std::uint64_t> jumps_;
};

}  // namespace

ObjectCode::ObjectCode(std::string o, std::string n) : object(std::move(o)), name(std::move(n)) {
  entry = this;
  bytes = static_cast<std::int64_t>(object.size());
}

ObjectScope::ObjectScope() : outer_(std::exchange(t_scope, this)) {}
ObjectScope::~ObjectScope() { t_scope = outer_; }
ObjectScope* ObjectScope::current() noexcept { return t_scope; }

CodeImage image_of(const std::vector<const ObjectCode*>& objects) {
  const InLlvm inside;
  CodeImage image;
  Linker linker(image);
  for (const ObjectCode* o : objects) linker.add(*o);
  linker.finish();
  return image;
}

}  // namespace reprise::jit
