// Kernels on disk: found again, not when damaged, bounded in size, none where the folder cannot be made.
#include "jit/engine/disk_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/knobs.h"
#include "device/machine_code.h"
#include "jit/gpu/loop/compile.h"
#include "tests/gpu_loop/kernels.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct DiskCache : ::testing::Test {
  const fs::path dir = fs::temp_directory_path() / ("reprise_cache_" + std::to_string(getpid()));
  Scoped<std::string> knob{knobs().cache_dir, dir.string()};
  device::Image image{"code of a kernel\nin lines", "entry_name", {32, 4, 2}, 48};
  ~DiskCache() override { fs::remove_all(dir); }
  std::vector<fs::path> files() const {
    std::vector<fs::path> out;
    if (fs::exists(dir))
      for (const auto& f : fs::directory_iterator(dir)) out.push_back(f.path());
    return out;
  }
};

TEST_F(DiskCache, FindsWhatWasStored) {
  EXPECT_EQ(jit::disk_load("key"), nullptr);
  jit::disk_store("key", image);
  const device::ImagePtr found = jit::disk_load("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, image.code);
  EXPECT_EQ(found->entry, image.entry);
  EXPECT_EQ(found->block, image.block);
  EXPECT_EQ(found->shared_bytes, image.shared_bytes);
  EXPECT_EQ(jit::disk_load("another key"), nullptr);
  EXPECT_EQ(files().size(), 1u);
}

TEST_F(DiskCache, IgnoresWhatIsDamaged) {
  jit::disk_store("key", image);
  const fs::path path = files().at(0);
  std::string whole;
  {
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  auto with = [&](const std::string& text) {
    std::ofstream(path, std::ios::binary) << text;
    return jit::disk_load("key") != nullptr;
  };
  for (std::size_t n = 0; n < whole.size(); ++n) EXPECT_FALSE(with(whole.substr(0, n))) << n;
  std::string flipped = whole;
  flipped.back() ^= 1;
  EXPECT_FALSE(with(flipped));
  EXPECT_FALSE(with(whole + "x"));
  EXPECT_FALSE(with("reprise kernel 2\n99999999999999999999 1 1 1 1 1 1 e\n"));
  EXPECT_TRUE(with(whole));
}

TEST_F(DiskCache, IgnoresAnyChangedByte) {
  const std::string text = jit::disk_text("key", image);
  ASSERT_TRUE(jit::disk_parse("key", text));
  EXPECT_FALSE(jit::disk_parse("kez", text));
  for (std::size_t at = 0; at < text.size(); ++at)
    for (char to : {'0', '9', 'x', '\n', '\0'}) {
      std::string changed = text;
      changed[at] = to;
      EXPECT_EQ(jit::disk_parse("key", changed) != nullptr, changed == text)
          << at << ": the numbers of the header count, too";
    }
}

TEST_F(DiskCache, UsesNoFolderThatOthersCanWrite) {
  jit::disk_store("key", image);
  ASSERT_EQ(files().size(), 1u);
  EXPECT_EQ(fs::status(dir).permissions() & fs::perms::all, fs::perms::owner_all);
  EXPECT_EQ(fs::status(files()[0]).permissions() & fs::perms::all, fs::perms::owner_read | fs::perms::owner_write);
  for (fs::perms open : {fs::perms::group_write, fs::perms::others_write}) {
    fs::permissions(dir, fs::perms::owner_all | open);
    EXPECT_FALSE(jit::disk_load("key"));
    jit::disk_store("key 2", image);
    jit::disk_trim(0);
    EXPECT_EQ(files().size(), 1u);
    fs::permissions(dir, fs::perms::owner_all);
    fs::permissions(files()[0], open, fs::perm_options::add);
    EXPECT_FALSE(jit::disk_load("key"));
    fs::permissions(files()[0], open, fs::perm_options::remove);
    EXPECT_TRUE(jit::disk_load("key"));
  }
  // Instead of the file a link to one like it, or something that would be waited for.
  const fs::path name = files()[0];
  fs::rename(name, dir / "elsewhere");
  fs::create_symlink("elsewhere", name);
  EXPECT_FALSE(jit::disk_load("key"));
  fs::remove(name);
  ASSERT_EQ(mkfifo(name.c_str(), 0600), 0);
  EXPECT_FALSE(jit::disk_load("key"));
  jit::disk_store("key", image);  // a file is not put in its place, either
  EXPECT_TRUE(fs::is_fifo(name));
}

TEST_F(DiskCache, LeavesAloneWhatOthersAreWriting) {
  jit::disk_store("key", image);
  const auto make = [&](const char* name) {
    std::ofstream(dir / name) << std::string(1000, 'x');
    return dir / name;
  };
  const fs::path young = make(".reprise-0000000000000001.part"), old = make(".reprise-0000000000000002.part"),
                 foreign = make("mine.part");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(2));
  fs::last_write_time(foreign, fs::file_time_type::clock::now() - std::chrono::hours(2));
  jit::disk_trim(0);
  EXPECT_TRUE(fs::exists(young));
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(foreign));
  EXPECT_EQ(files().size(), 2u);
}

TEST_F(DiskCache, KeepsWhatWasUsedLast) {
  image.code = std::string(10000, 'x');
  for (int i = 0; i < 10; ++i) {
    jit::disk_store("key " + std::to_string(i), image);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(jit::disk_load("key 0"));
  jit::disk_trim(1 << 20);
  EXPECT_EQ(files().size(), 10u);
  jit::disk_trim(60000);
  EXPECT_EQ(files().size(), 4u);
  EXPECT_TRUE(jit::disk_load("key 0"));
  EXPECT_TRUE(jit::disk_load("key 9"));
  EXPECT_FALSE(jit::disk_load("key 1"));
}

TEST_F(DiskCache, IsNotThereWhereItCannotBe) {
  for (const char* where : {"off", "/dev/null/reprise"}) {
    Scoped<std::string> elsewhere(knobs().cache_dir, where);
    jit::disk_store("key", image);
    EXPECT_EQ(jit::disk_load("key"), nullptr);
  }
  EXPECT_TRUE(files().empty());
}

TEST_F(DiskCache, HoldsKernelsOfDevicesButNotOfTheSimulator) {
  device::CodeTarget target;
  target.arch = "sm_86", target.with_ir = true;
  jit::compile_gpu(test::reduction(kernels::ReduceOp::Sum, DType::Int8, true, 3, 5), target);
  EXPECT_TRUE(files().empty());
  target.with_ir = false;
  const auto made = jit::compile_gpu(test::reduction(kernels::ReduceOp::Sum, DType::Int8, true, 3, 5), target);
  EXPECT_EQ(files().size(), 1u);
  // Beside it what a driver makes of it.
  device::MachineCodeStore* const store = device::machine_code_store();
  ASSERT_TRUE(store);
  const std::string code("\177ELF\0 and so on", 16);
  EXPECT_EQ(store->find("driver 1"), std::nullopt);
  store->keep("driver 1", code);
  EXPECT_EQ(store->find("driver 1"), code);
  EXPECT_EQ(store->find("driver 2"), std::nullopt);
  EXPECT_EQ(files().size(), 2u);
}

}  // namespace
}  // namespace reprise
