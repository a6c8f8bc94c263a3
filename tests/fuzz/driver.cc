// libFuzzer's place where it is not: replays the files of a folder, then damages them in ways that are the same in
// every run (the seed is printed), for FUZZ_SECONDS seconds (default 2). The input that broke something is left in the
// current folder as fuzz-broken-<target>.
//
//   fuzz_graph FOLDER|FILE...
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "tests/fuzz/fuzz.h"

/// Of the sanitizers, where they are: called before they end the process.
extern "C" void __sanitizer_set_death_callback(void (*)()) __attribute__((weak));

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongest = 1 << 14;  ///< of a damaged input; files of the corpus may be longer
std::string g_input, g_kept_as;

/// Signals: only what may be called from one.
void keep_input() {
  int fd = open(g_kept_as.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd >= 0 && write(fd, g_input.data(), g_input.size()) >= 0) close(fd);
}
void on_signal(int signal) {
  keep_input();
  const char text[] = "fuzz: the input that did it is in fuzz-broken-* of this folder\n",
             slow[] = "fuzz: an input took more than 20 s\n";
  if (signal == SIGALRM && write(2, slow, sizeof slow - 1) < 0) _exit(2);
  if (write(2, text, sizeof text - 1) < 0) _exit(2);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

void run(const std::string& input) {
  g_input = input;
  alarm(20);  // nothing this short takes that long
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(g_input.data()), g_input.size());
  alarm(0);
}

/// Damages `s` once. Words come out of other inputs, as a splice would bring them.
void damage(std::string& s, const std::vector<std::string>& corpus, std::mt19937_64& random) {
  auto below = [&](std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); };
  const std::size_t at = below(s.size() + 1);
  switch (below(9)) {
    case 0:
      if (at < s.size()) s[at] = static_cast<char>(s[at] ^ (1 << below(8)));
      break;
    case 1:
      if (at < s.size()) s[at] = static_cast<char>(random());
      break;
    case 2: s.insert(at, 1, "0123456789-+*/%(),[]{}\"'. snul\n\\:@\0\xff"[below(36)]); break;
    case 3: s.erase(at, 1 + below(4)); break;
    case 4: s.erase(at, below(s.size() / 2 + 1)); break;
    case 5: s.insert(at, s.substr(below(s.size() + 1), below(40))); break;  // said twice
    case 6: {
      const std::string& other = corpus[below(corpus.size())];
      s.insert(at, other.substr(below(other.size() + 1), below(60)));
      break;
    }
    case 7: {  // another number
      constexpr const char* kNumbers[] = {"0",
                                          "1",
                                          "-1",
                                          "2",
                                          "9223372036854775807",
                                          "-9223372036854775808",
                                          "18446744073709551616",
                                          "4294967296",
                                          "4611686018427387904",
                                          "1e999",
                                          "nan",
                                          "99999",
                                          "s0",
                                          "s99999"};
      std::size_t digit = s.find_first_of("0123456789", at);
      if (digit == std::string::npos) break;
      std::size_t end = s.find_first_not_of("0123456789", digit);
      s.replace(digit, (end == std::string::npos ? s.size() : end) - digit, kNumbers[below(std::size(kNumbers))]);
      break;
    }
    case 8: {  // two pieces change places
      std::size_t b = below(s.size() + 1), n = below(30);
      std::string piece = s.substr(b, n);
      s.erase(b, n);
      s.insert(std::min(at, s.size()), piece);
      break;
    }
  }
  if (s.size() > kLongest) s.resize(kLongest);
}

std::string read(const fs::path& p) {
  std::ifstream in(p, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

double number(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text && *text ? std::atof(text) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  g_kept_as = "fuzz-broken-" + fs::path(argv[0]).filename().string();
  for (int s : {SIGABRT, SIGALRM}) signal(s, on_signal);
  if (__sanitizer_set_death_callback)
    __sanitizer_set_death_callback(keep_input);  // they tell more of the other signals
  else
    for (int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) signal(s, on_signal);
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i)
    if (fs::is_directory(argv[i]))
      for (const auto& e : fs::directory_iterator(argv[i])) paths.push_back(e.path());
    else paths.emplace_back(argv[i]);
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> corpus;
  for (const fs::path& p : paths) corpus.push_back(read(p));
  if (corpus.empty()) {
    std::fprintf(stderr, "usage: %s FOLDER|FILE...\n", argv[0]);
    return 2;
  }
  const double seconds = number("FUZZ_SECONDS", 2);
  const auto seed = static_cast<std::uint64_t>(number("FUZZ_SEED", 1));
  for (const std::string& s : corpus) run(s);
  std::mt19937_64 random(seed);
  const auto start = std::chrono::steady_clock::now();
  long tried = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds) {
    std::string s = corpus[random() % corpus.size()];
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) damage(s, corpus, random);
    run(s);
    ++tried;
  }
  std::printf("%zu inputs of the corpus, %ld damaged ones, seed %llu\n", corpus.size(), tried,
              static_cast<unsigned long long>(seed));
  return 0;
}
