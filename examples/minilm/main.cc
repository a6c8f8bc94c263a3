// Sentences to vectors: a tokenizer and a small BERT, compiled once for sentences of all lengths.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "../common/example.h"
#include "model.h"
#include "tokenizer.h"

namespace rp = reprise;
namespace nn = reprise::nn;

namespace {

const char* const kSentences[] = {
    "A cat sits on the mat.",
    "The cat is sitting on a rug!",
    "Interest rates rose again in March; markets fell.",
    "Die Z\xC3\xA4hlung k\xC3\xB6nnte fehlschlagen.",
    "x",
    "",
    "na\xC3\xAFve caf\xC3\xA9s in \xE5\x8C\x97\xE4\xBA\xAC serve r\xC3\xA9sum\xC3\xA9s, they say: unbelievable, isn't "
    "it?",
};

/// What the tokenizer makes of a text, with a vocabulary of a few pieces.
void check_tokenizer(example::Checks& checks) {
  const minilm::Tokenizer t(
      {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##believ", "##able", "cafe", "!", ",", "\xE5\x8C\x97", "##s", "a"});
  auto is = [&](const char* text, const std::vector<std::int64_t>& wanted) {
    const std::vector<std::int64_t> got = t.encode(text, 16);
    checks.equal(std::string("pieces of '") + text + "'", got == wanted ? 1 : 0, 1);
  };
  is("", {2, 3});
  is("Unbelievable!", {2, 4, 5, 6, 8, 3});
  is(" CAF\xC3\x89s,\tcafe\xCC\x81s ", {2, 7, 11, 9, 7, 11, 3});  // one letter, or two
  is("a\xE5\x8C\x97"
     "a\xE5\x8C\x98",
     {2, 12, 10, 12, 1, 3});            // characters stand alone
  is("unbelievably a", {2, 1, 12, 3});  // a word whose end is unknown is unknown
  is("\xC2\xAD"
     "a\xE2\x80\x8B"
     "\x01",
     {2, 12, 3});  // what nobody sees
  is("\xFF"
     "a",
     {2, 12, 3});
  is("a a a a a a a a a a a a a a a a a a a a", {2, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 3});
}

/// The same in loops and doubles, of one sentence.
std::vector<double> by_loops(const minilm::Model& m, const std::vector<std::int64_t>& tokens, std::int64_t heads,
                             double eps) {
  using Matrix = std::vector<std::vector<double>>;
  auto matrix = [](const rp::Tensor& t) {
    const std::vector<double> all = t.to_vector<double>();
    const auto columns = static_cast<std::size_t>(t.size(1).value());
    Matrix rows;
    for (std::size_t i = 0; i < all.size(); i += columns)
      rows.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(i),
                        all.begin() + static_cast<std::ptrdiff_t>(i + columns));
    return rows;
  };
  auto linear = [&](const nn::Linear& l, const Matrix& x) {
    const Matrix w = matrix(l.weight);
    const std::vector<double> b = l.bias->to_vector<double>();
    Matrix y(x.size(), std::vector<double>(w.size()));
    for (std::size_t i = 0; i < x.size(); ++i)
      for (std::size_t j = 0; j < w.size(); ++j) {
        y[i][j] = b[j];
        for (std::size_t k = 0; k < w[j].size(); ++k) y[i][j] += x[i][k] * w[j][k];
      }
    return y;
  };
  auto norm = [&](const nn::LayerNorm& l, Matrix x) {
    const std::vector<double> w = l.weight->to_vector<double>(), b = l.bias->to_vector<double>();
    for (std::vector<double>& row : x) {
      double mean = 0, var = 0;
      for (const double v : row) mean += v / static_cast<double>(row.size());
      for (const double v : row) var += (v - mean) * (v - mean) / static_cast<double>(row.size());
      for (std::size_t j = 0; j < row.size(); ++j) row[j] = (row[j] - mean) / std::sqrt(var + eps) * w[j] + b[j];
    }
    return x;
  };
  auto plus = [](Matrix a, const Matrix& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
      for (std::size_t j = 0; j < a[i].size(); ++j) a[i][j] += b[i][j];
    return a;
  };
  const Matrix words = matrix(m.embeddings.word_embeddings.weight),
               positions = matrix(m.embeddings.position_embeddings.weight),
               types = matrix(m.embeddings.token_type_embeddings.weight);
  Matrix x;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    x.push_back(words[static_cast<std::size_t>(tokens[i])]);
    for (std::size_t j = 0; j < x[i].size(); ++j) x[i][j] += positions[i][j] + types[0][j];
  }
  x = norm(m.embeddings.LayerNorm, x);
  const std::size_t n = tokens.size(), dim = x[0].size(), d = dim / static_cast<std::size_t>(heads);
  for (const minilm::Layer& l : m.encoder.layer) {
    const Matrix q = linear(l.attention.self.query, x), k = linear(l.attention.self.key, x),
                 v = linear(l.attention.self.value, x);
    Matrix y(n, std::vector<double>(dim, 0));
    for (std::size_t h = 0; h < dim; h += d)
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<double> p(n);
        double most = -INFINITY, sum = 0;
        for (std::size_t j = 0; j < n; ++j) {
          p[j] = 0;
          for (std::size_t e = h; e < h + d; ++e) p[j] += q[i][e] * k[j][e] / std::sqrt(static_cast<double>(d));
          most = std::max(most, p[j]);
        }
        for (double& s : p) s = std::exp(s - most), sum += s;
        for (std::size_t j = 0; j < n; ++j)
          for (std::size_t e = h; e < h + d; ++e) y[i][e] += p[j] / sum * v[j][e];
      }
    x = norm(l.attention.output.LayerNorm, plus(x, linear(l.attention.output.dense, y)));
    Matrix g = linear(l.intermediate.dense, x);
    for (std::vector<double>& row : g)
      for (double& e : row) e = e / 2 * (1 + std::erf(e / std::sqrt(2.0)));
    x = norm(l.output.LayerNorm, plus(x, linear(l.output.dense, g)));
  }
  std::vector<double> mean(dim, 0);
  double length = 0;
  for (const std::vector<double>& row : x)
    for (std::size_t j = 0; j < dim; ++j) mean[j] += row[j] / static_cast<double>(n);
  for (const double e : mean) length += e * e;
  for (double& e : mean) e /= std::sqrt(length);
  return mean;
}

struct Batch {
  rp::Tensor tokens, present;
};
Batch batch_of(const std::vector<std::vector<std::int64_t>>& sentences, std::int64_t padding) {
  std::size_t longest = 0;
  for (const auto& s : sentences) longest = std::max(longest, s.size());
  const auto rows = static_cast<std::int64_t>(sentences.size()), columns = static_cast<std::int64_t>(longest);
  Batch b{rp::full({rows, columns}, padding, {.dtype = rp::kInt64}), rp::zeros({rows, columns}, {.dtype = rp::kBool})};
  for (std::size_t i = 0; i < sentences.size(); ++i)
    for (std::size_t j = 0; j < sentences[i].size(); ++j)
      b.tokens.data<std::int64_t>()[i * longest + j] = sentences[i][j], b.present.data<bool>()[i * longest + j] = true;
  return b;
}

struct Line {
  std::string text;
  std::vector<std::int64_t> tokens;
  std::vector<float> vector;
};
/// What scripts/minilm.py has written: text, pieces and vector, parted by tabs.
std::vector<Line> reference(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read '" + path + "'");
  std::vector<Line> all;
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find('\t'), second = line.find('\t', first + 1);
    if (second == std::string::npos) throw std::runtime_error("'" + path + "' has a line without two tabs");
    Line& l = all.emplace_back(Line{line.substr(0, first), {}, {}});
    std::istringstream tokens(line.substr(first + 1, second - first - 1)), numbers(line.substr(second + 1));
    for (std::int64_t t; tokens >> t;) l.tokens.push_back(t);
    for (float f; numbers >> f;) l.vector.push_back(f);
  }
  return all;
}

int run(int argc, char** argv) {
  std::int64_t calls = 50;
  const char* folder = std::getenv("MINILM");
  example::Options("minilm",
                   "Sentences to vectors with a WordPiece tokenizer and a small BERT. MINILM=FOLDER names a folder "
                   "with model.safetensors, vocab.txt and reference.tsv, "
                   "as scripts/minilm.py makes one; without it weights are random.")
      .integer("--calls", &calls, 1, 100000, "sentences to time")
      .parse(argc, argv);
  example::Checks checks;
  check_tokenizer(checks);

  std::int64_t heads = 4;
  double eps = 1e-12;
  minilm::Model model;
  std::vector<std::vector<std::int64_t>> sentences;
  std::int64_t padding = 0;
  std::vector<Line> lines;
  if (folder) {
    const std::string at = folder;
    heads = 12;
    const minilm::Tokenizer tokenizer = minilm::Tokenizer::of_file(at + "/vocab.txt");
    padding = tokenizer.padding();
    rp::load_safetensors(at + "/model.safetensors", model, {.strict = false});  // the file's pooler is for training
    lines = reference(at + "/reference.tsv");
    std::int64_t same = 0;
    for (const Line& l : lines) sentences.push_back(tokenizer.encode(l.text)), same += sentences.back() == l.tokens;
    checks.equal("sentences with the reference's pieces", same, static_cast<std::int64_t>(lines.size()));
  } else {
    rp::manual_seed(3);
    model = minilm::random_model(256, 64, 64, 128, 2);
    for (const char* s : kSentences) {
      std::vector<std::int64_t>& t = sentences.emplace_back(std::vector<std::int64_t>{1});
      for (const char* c = s; *c && t.size() < 60; ++c) t.push_back(static_cast<unsigned char>(*c));
      t.push_back(2);
    }
  }

  rp::freeze(model);  // what is computed of its weights alone is computed once
  auto step = rp::compile(minilm::embed, {.name = "embed"});
  std::vector<rp::Tensor> alone;
  for (const auto& s : sentences) {
    const Batch b = batch_of({s}, padding);
    alone.push_back(step(model, b.tokens, b.present, heads, eps));
    if (!folder)
      checks.close("a sentence of " + std::to_string(s.size()) + ", as loops have it", alone.back().view({-1}),
                   rp::tensor_of(by_loops(model, s, heads, eps)).to(rp::kFloat32), 1e-5);
  }
  for (std::size_t i = 0; i < lines.size(); ++i)
    checks.at_most("'" + lines[i].text.substr(0, 30) + "', from the reference",
                   (alone[i].view({-1}) - rp::tensor_of(lines[i].vector)).abs().amax().item<double>(), 1e-5);
  const Batch all = batch_of(sentences, padding);
  checks.close("all of them padded to one length", step(model, all.tokens, all.present, heads, eps), rp::cat(alone, 0),
               1e-5);
  checks.close("eagerly", minilm::embed(model, all.tokens, all.present, heads, eps), rp::cat(alone, 0), 1e-5);

  example::Times times;
  for (std::int64_t i = 0; i < calls; ++i) {
    const Batch b = batch_of({sentences[static_cast<std::size_t>(i) % sentences.size()]}, padding);
    const double begin = example::now();
    step(model, b.tokens, b.present, heads, eps);
    times.add(example::now() - begin);
  }
  std::printf("\n");
  for (std::size_t i = 1; i < std::min<std::size_t>(4, alone.size()); ++i)
    std::printf("sentence %zu is %.3f like the first\n", i + 1, (alone[0] * alone[i]).sum().item<double>());
  example::row("a sentence", times.median() * 1e6, "us");
  example::rows(step.stats());
  checks.at_most("compilations", static_cast<double>(step.stats().compilations), 2);  // one sentence, and several
  checks.equal("eager calls", static_cast<std::int64_t>(step.stats().eager_fallbacks), 0);
  return checks.exit_code();
}

}  // namespace

int main(int argc, char** argv) { return example::guarded("minilm", run, argc, argv); }
