// One way to open and publish files: nothing waits, nothing but regular files is opened, nothing is believed that
// another can write.
#include "base/files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/shown.h"

namespace reprise {
namespace {

namespace fs = std::filesystem;

struct Files : ::testing::Test {
  const fs::path dir = [] {
    std::string name = ::testing::TempDir() + "reprise_files_XXXXXX";
    return fs::path(mkdtemp(name.data()));
  }();
  std::string why;
  bool unsafe = false;
  ~Files() override { fs::remove_all(dir); }
  std::string path(const char* name) const { return (dir / name).string(); }
  std::string text_of(const std::string& p) const {
    std::ifstream in(p, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(dir), {}); }
};

TEST_F(Files, WhatIsNoRegularFileIsRefusedWithoutWaiting) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_symlink("fifo", path("link"));
  const std::pair<std::string, const char*> cases[] = {{path("fifo"), "a FIFO"},
                                                       {path("link"), "a FIFO"},
                                                       {dir.string(), "a folder"},
                                                       {"/dev/zero", "a device"},
                                                       {"/dev/null", "a device"}};
  for (auto& [name, kind] : cases) {
    why.clear();
    EXPECT_FALSE(files::open_to_read(name, why)) << name;
    EXPECT_NE(why.find(kind), std::string::npos) << name << ": " << why;
    why.clear();
    EXPECT_FALSE(files::open_to_write(name, why)) << name;
    EXPECT_NE(why.find(kind), std::string::npos) << name << ": " << why;
  }
  EXPECT_FALSE(files::open_to_read(path("none"), why));
  EXPECT_EQ(why, "No such file or directory");
  EXPECT_FALSE(files::open_to_read(std::string("a\0b", 3), why));
  EXPECT_FALSE(files::open_to_write(path("no/folder"), why));
}

TEST_F(Files, WhatAnotherWritesIsLeftAlone) {
  std::string first = path("x.jsonl"), second = first, third = first;
  {
    files::File f = files::open_alone(first, why);
    ASSERT_TRUE(f) << why;
    EXPECT_EQ(first, path("x.jsonl"));
    EXPECT_TRUE(files::write_all(f, "abc", 3, why));
    files::File g = files::open_alone(second, why);
    ASSERT_TRUE(g) << why;
    EXPECT_EQ(second, path("x.jsonl.") + std::to_string(getpid()));
    EXPECT_EQ(files::size_of(f), 3);
    EXPECT_FALSE(files::open_alone(third, why));
    EXPECT_EQ(why, "another process writes it");
  }
  files::File f = files::open_alone(third, why);
  ASSERT_TRUE(f) << why;
  EXPECT_EQ(third, path("x.jsonl")) << "it is free again";
  EXPECT_EQ(files::size_of(f), 0) << "and begun anew";
}

TEST_F(Files, WritingEmptiesAndReadingIsExact) {
  std::ofstream(path("x")) << "long before";
  {
    files::File f = files::open_to_write(path("x"), why);
    ASSERT_TRUE(f) << why;
    EXPECT_TRUE(files::write_all(f, "abc", 3, why));
  }
  files::File f = files::open_to_read(path("x"), why);
  EXPECT_EQ(files::size_of(f), 3);
  char got[4] = {};
  EXPECT_TRUE(files::read_at(f, 1, got, 2, why));
  EXPECT_STREQ(got, "bc");
  EXPECT_FALSE(files::read_at(f, 1, got, 3, why));
  EXPECT_NE(why.find("ends at byte 3"), std::string::npos) << why;
}

TEST_F(Files, ANewFileAppearsWholeOrNotAtAll) {
  std::ofstream(path("x")) << "old";
  {
    files::NewFile f(AT_FDCWD, path("x"), 0640);
    EXPECT_TRUE(f.write("new", 3));
    EXPECT_EQ(text_of(path("x")), "old");
    EXPECT_EQ(entries(), 2);
    for (const auto& e : fs::directory_iterator(dir))
      EXPECT_TRUE(e.path().filename() == "x" || files::is_unfinished(e.path().filename().string()));
    EXPECT_TRUE(f.publish(true)) << f.why();
  }
  EXPECT_EQ(text_of(path("x")), "new");
  { files::NewFile(AT_FDCWD, path("x"), 0640).write("lost", 4); }
  EXPECT_EQ(text_of(path("x")), "new");
  EXPECT_EQ(entries(), 1);
  files::NewFile nowhere(AT_FDCWD, path("no/folder"), 0600);
  EXPECT_FALSE(nowhere.good());
  EXPECT_EQ(nowhere.why(), "create: No such file or directory");
  EXPECT_FALSE(nowhere.write("x", 1));
  EXPECT_FALSE(nowhere.publish(true));
}

TEST_F(Files, ANewFileReplacesFilesAlone) {
  ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
  fs::create_directory(path("folder"));
  for (const char* name : {"fifo", "folder"}) {
    files::NewFile f(AT_FDCWD, path(name), 0600);
    EXPECT_TRUE(f.write("x", 1));
    EXPECT_FALSE(f.publish(false)) << name;
    EXPECT_NE(f.why().find("not a regular file"), std::string::npos) << f.why();
  }
  EXPECT_EQ(entries(), 2);
}

TEST_F(Files, AFolderThatOthersCanWriteIsNotBelieved) {
  const std::string sub = path("deep/er/cache");
  {
    files::PrivateFolder in = files::PrivateFolder::open(sub + "/", true, why, unsafe);
    ASSERT_TRUE(in) << why;
    files::NewFile f(in.fd(), "a", 0600);
    f.write("text", 4);
    EXPECT_TRUE(f.publish(false)) << f.why();
    EXPECT_EQ(in.read("a", 100), "text");
    EXPECT_FALSE(in.read("a", 3)) << "past the limit";
    EXPECT_FALSE(in.read("b", 100));
    fs::create_symlink("a", sub + "/link");
    EXPECT_FALSE(in.read("link", 100));
    ASSERT_EQ(mkfifo((sub + "/fifo").c_str(), 0600), 0);
    EXPECT_FALSE(in.read("fifo", 100));
    chmod((sub + "/a").c_str(), 0620);
    EXPECT_FALSE(in.read("a", 100)) << "its group can write it";
    if (geteuid() == 0) {
      chmod((sub + "/a").c_str(), 0600);
      ASSERT_EQ(chown((sub + "/a").c_str(), 12345, 12345), 0);
      EXPECT_FALSE(in.read("a", 100)) << "another user's";
    }
  }
  struct stat st {};
  ASSERT_EQ(stat(sub.c_str(), &st), 0);
  EXPECT_EQ(st.st_mode & 0777, 0700u);
  for (mode_t mode : {0770, 0702, 01777}) {
    chmod(sub.c_str(), mode);
    EXPECT_FALSE(files::PrivateFolder::open(sub, true, why, unsafe));
    EXPECT_TRUE(unsafe);
    EXPECT_EQ(why, "others than its owner can write into it");
  }
  chmod(sub.c_str(), 0700);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(sub.c_str(), 12345, 12345), 0);
    EXPECT_FALSE(files::PrivateFolder::open(sub, true, why, unsafe));
    EXPECT_TRUE(unsafe);
    EXPECT_EQ(why, "it belongs to user 12345");
    ASSERT_EQ(chown(sub.c_str(), 0, 0), 0);
    fs::create_directory_symlink(sub, path("link"));
    EXPECT_TRUE(files::PrivateFolder::open(path("link"), true, why, unsafe)) << why;
    ASSERT_EQ(lchown(path("link").c_str(), 12345, 12345), 0);
    for (const char* end : {"", "/", "//"}) {
      EXPECT_FALSE(files::PrivateFolder::open(path("link") + end, true, why, unsafe));
      EXPECT_TRUE(unsafe);
    }
    EXPECT_FALSE(files::open_to_write(path("link"), why));
    EXPECT_NE(why.find("link made by user 12345"), std::string::npos) << why;
  }
  EXPECT_FALSE(files::PrivateFolder::open("/dev/null/x", true, why, unsafe));
  EXPECT_FALSE(unsafe);
  EXPECT_FALSE(files::PrivateFolder::open("", true, why, unsafe));
}

// RLIMIT_FSIZE: a write past it fails, and SIGXFSZ ends nobody. What the thread had blocked stays blocked.
TEST_F(Files, ALimitOfTheirSizeIsAnError) {
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{1000, before.rlim_max};
  const std::string bytes(4000, 'x');
  for (const bool blocked : {false, true}) {
    sigset_t one, old, now, pending;
    sigemptyset(&one), sigaddset(&one, SIGXFSZ);
    if (blocked) pthread_sigmask(SIG_BLOCK, &one, nullptr);
    pthread_sigmask(SIG_BLOCK, nullptr, &old);
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    why.clear();
    const bool wrote = files::write_all(files::open_to_write(path("x"), why), bytes.data(), 4000, why);
    const std::string of_write = why;
    files::NewFile file(AT_FDCWD, path("y"), 0600);
    const bool published = file.write(bytes.data(), 4000) && file.publish(false);
    setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_FALSE(wrote);
    EXPECT_EQ(of_write, "File too large");
    EXPECT_FALSE(published);
    EXPECT_EQ(file.why(), "write: File too large");
    EXPECT_FALSE(fs::exists(path("y")));
    pthread_sigmask(SIG_BLOCK, nullptr, &now);
    EXPECT_EQ(sigismember(&now, SIGXFSZ), sigismember(&old, SIGXFSZ));
    ASSERT_EQ(sigpending(&pending), 0);
    EXPECT_EQ(sigismember(&pending, SIGXFSZ), blocked);  // the caller's own affair
    const timespec none{};
    while (blocked && sigtimedwait(&one, nullptr, &none) > 0) {
    }
    if (blocked) pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  }
}

TEST(Shown, ControlsAreWrittenAndLengthIsBounded) {
  EXPECT_EQ(shown("plain, gr\xc3\xbc\xc3\x9f, \xe2\x82\xac, \xf0\x9f\x98\x80"),
            "plain, gr\xc3\xbc\xc3\x9f, \xe2\x82\xac, \xf0\x9f\x98\x80");
  EXPECT_EQ(shown("\x1b[31m\n\r\x7f"), "\\x1b[31m\\x0a\\x0d\\x7f");
  EXPECT_EQ(shown(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown("\xc2\x9b"
                  "31m"),
            "\\xc2\\x9b31m");  // one byte's worth of escape, in UTF-8
  EXPECT_EQ(shown("\xe2\x80\xae"
                  "evil"),
            "\\xe2\\x80\\xae"
            "evil");  // from here on right to left
  EXPECT_EQ(shown("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80");
  EXPECT_EQ(shown("\xe2\x82"), "\\xe2\\x82");
  EXPECT_EQ(shown("abcdef", 4), "abcd...");
  EXPECT_EQ(shown("abcd", 4), "abcd");
  EXPECT_LT(shown(std::string(1 << 20, '\x1b')).size(), 300u);
}

}  // namespace
}  // namespace reprise
