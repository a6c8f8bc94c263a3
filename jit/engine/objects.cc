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
    arm_ = file->getArch() == llvm::Triple::aarch64;
    if (!arm_ && file->getArch() != llvm::Triple::x86_64) unknown("code for another processor");
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
    for (Outside& o : outside_) {
      o.fix.to = o.through ? kTable + 8 * o.call : jump(o.call);
      fixes_.push_back(o.fix);
    }
    const std::size_t code = (to_.code.size() + CodeImage::kPage - 1) / CodeImage::kPage * CodeImage::kPage;
    to_.code.resize(code, '\0');
    for (const Fix& f : fixes_) {
      const std::uint64_t to = f.to >= kTable ? code + (f.to - kTable) : f.to;
      write(f, static_cast<std::int64_t>(to) + f.addend);
    }
  }

 private:
  static constexpr std::uint64_t kTable = std::uint64_t{1} << 48;  // stands for where the table will be
  /// Where an address stands in code, relative to the code. The image begins at a page, so that what Arm says in two
  /// parts, pages from here and the place in the page, does not depend on where it is loaded.
  enum class Form : std::uint8_t { Distance32, ArmPage, ArmInPage, ArmCall };
  struct Fix {
    std::uint64_t at;
    std::int64_t addend;
    std::uint64_t to;
    Form form = Form::Distance32;
    unsigned shift = 0;  ///< ArmInPage: log2 of the bytes that are loaded or stored
  };

  static void check_bits(std::int64_t value, int bits) {
    if (value < -(std::int64_t{1} << (bits - 1)) || value >= std::int64_t{1} << (bits - 1))
      unknown("a distance of more than its instruction can say");
  }
  void write(const Fix& f, std::int64_t to) {
    constexpr std::int64_t kPage = 4096;
    const auto at = static_cast<std::int64_t>(f.at);
    std::uint32_t word = 0;
    std::memcpy(&word, to_.code.data() + f.at, sizeof word);
    auto set = [&](std::uint32_t mask, std::uint32_t bits) { word = (word & ~mask) | (bits & mask); };
    switch (f.form) {
      case Form::Distance32:
        check_bits(to - at, 32);
        word = static_cast<std::uint32_t>(to - at);
        break;
      case Form::ArmPage: {
        const std::int64_t pages = to / kPage - at / kPage;
        check_bits(pages, 21);
        set(0x60ffffe0, static_cast<std::uint32_t>(pages) << 29 | (static_cast<std::uint32_t>(pages) >> 2 & 0x7ffff)
                                                                      << 5);
        break;
      }
      case Form::ArmInPage: {
        const auto in_page = static_cast<std::uint32_t>(to % kPage);
        if (in_page & ((1u << f.shift) - 1)) unknown("a place that is not aligned to what is read there");
        set(0x3ffc00, in_page >> f.shift << 10);
        break;
      }
      case Form::ArmCall:
        check_bits((to - at) / 4, 26);
        set(0x3ffffff, static_cast<std::uint32_t>((to - at) / 4));
        break;
    }
    std::memcpy(to_.code.data() + f.at, &word, sizeof word);
  }

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
    Fix fix{at, addend, inside.value_or(0)};
    const bool through = arm_ ? arm_form(r.getType(), fix) : x86_form(r.getType());
    if (inside && !through) return fixes_.push_back(fix);
    if (inside) unknown("a table entry of its own function");
    outside_.push_back({fix, number(unwrap(symbol->getName()).str()), through});
  }

  /// Is it read from the table, rather than called?
  static bool x86_form(std::uint64_t type) {
    switch (type) {
      case llvm::ELF::R_X86_64_PC32:
      case llvm::ELF::R_X86_64_PLT32: return false;
      case llvm::ELF::R_X86_64_GOTPCREL:
      case llvm::ELF::R_X86_64_GOTPCRELX:
      case llvm::ELF::R_X86_64_REX_GOTPCRELX: return true;
      default: unknown("a relocation of type " + std::to_string(type));
    }
  }
  static bool arm_form(std::uint64_t type, Fix& fix) {
    auto is = [&](Form form, bool through, unsigned shift = 0) {
      fix.form = form, fix.shift = shift;
      return through;
    };
    switch (type) {
      case llvm::ELF::R_AARCH64_PREL32: return is(Form::Distance32, false);
      case llvm::ELF::R_AARCH64_CALL26:
      case llvm::ELF::R_AARCH64_JUMP26: return is(Form::ArmCall, false);
      case llvm::ELF::R_AARCH64_ADR_PREL_PG_HI21: return is(Form::ArmPage, false);
      case llvm::ELF::R_AARCH64_ADD_ABS_LO12_NC:
      case llvm::ELF::R_AARCH64_LDST8_ABS_LO12_NC: return is(Form::ArmInPage, false);
      case llvm::ELF::R_AARCH64_LDST16_ABS_LO12_NC: return is(Form::ArmInPage, false, 1);
      case llvm::ELF::R_AARCH64_LDST32_ABS_LO12_NC: return is(Form::ArmInPage, false, 2);
      case llvm::ELF::R_AARCH64_LDST64_ABS_LO12_NC: return is(Form::ArmInPage, false, 3);
      case llvm::ELF::R_AARCH64_LDST128_ABS_LO12_NC: return is(Form::ArmInPage, false, 4);
      case llvm::ELF::R_AARCH64_ADR_GOT_PAGE: return is(Form::ArmPage, true);
      case llvm::ELF::R_AARCH64_LD64_GOT_LO12_NC: return is(Form::ArmInPage, true, 3);
      default: unknown("a relocation of type " + std::to_string(type));
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

  /// A jump to where the table says, one for each function: `jmp *table[call](%rip)`, and Arm's way to say that by the
  /// register that is free between functions.
  std::uint64_t jump(std::size_t call) {
    jumps_.resize(to_.calls.size());
    if (jumps_[call]) return jumps_[call];
    to_.code.resize((to_.code.size() + 15) / 16 * 16, '\xcc');
    const std::size_t at = to_.code.size();
    if (arm_) {
      constexpr std::uint32_t kJump[] = {0x90000010, 0xf9400210, 0xd61f0200};  // adrp, ldr, br: of x16
      to_.code.append(reinterpret_cast<const char*>(kJump), sizeof kJump);
      fixes_.push_back({at, 0, kTable + 8 * call, Form::ArmPage});
      fixes_.push_back({at + 4, 0, kTable + 8 * call, Form::ArmInPage, 3});
      return jumps_[call] = at;
    }
    to_.code.append("\xff\x25\0\0\0\0", 6);
    fixes_.push_back({at + 2, -4, kTable + 8 * call});
    return jumps_[call] = at;
  }

  CodeImage& to_;
  std::map<std::uint64_t, std::uint64_t> place_;  // sections of one object: where they stand
  std::vector<Fix> fixes_;
  bool arm_ = false;
  struct Outside {
    Fix fix;
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
