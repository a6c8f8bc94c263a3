// Reprise's side of ./run bench --peers: answers a line of JSON to each line of JSON, as bench/peers/contender.py says.
//   reprise_peer THREADS
#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>
#include <string>

#include "reprise/stats.h"
#include "reprise_peer.h"

namespace reprise::peers {

namespace {

using nlohmann::json;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Inputs are named SET.NAME.
std::vector<Tensors> sets_of(const std::string& path) {
  const rp::SafeTensors file = rp::load_safetensors(path);
  std::vector<Tensors> sets;
  for (const std::string& name : file.names()) {
    const std::size_t dot = name.find('.'), set = std::stoul(name.substr(0, dot));
    if (sets.size() <= set) sets.resize(set + 1);
    sets[set][name.substr(dot + 1)] = file.at(name).clone();
  }
  return sets;
}

Call prepare(const json& ask, std::size_t& sets) {
  auto text = [&](const char* name) {
    return ask.contains(name) && ask[name].is_string() ? ask[name].get<std::string>() : std::string();
  };
  const Job job{ask.at("net"), ask.at("point"), sets_of(ask.at("inputs")), text("weights"), text("onnx")};
  sets = job.sets.size();
  Call call = model(job);
  return call ? call : small_net(job);
}

/// As contender.py's measure(); `once` is 0 where it is not known.
json measure(const Call& call, std::size_t sets, double seconds, double once) {
  double begin = now();
  for (std::size_t i = 0; i < (once > 0 ? 1 : sets); ++i) call(i, nullptr);
  if (once <= 0) once = (now() - begin) / static_cast<double>(sets);
  const std::size_t fill = std::max<std::size_t>(1, static_cast<std::size_t>(1e-3 / std::max(once, 1e-9))),
                    batch = (fill + sets - 1) / sets * sets;
  std::vector<double> times;
  const double until = now() + seconds;
  std::size_t calls = 0;
  while (times.empty() || now() < until) {
    begin = now();
    for (std::size_t i = 0; i < batch; ++i) call(i % sets, nullptr);
    times.push_back((now() - begin) / static_cast<double>(batch));
    calls += batch;
  }
  std::sort(times.begin(), times.end());
  const std::size_t half = times.size() / 2;
  return {{"seconds", times.size() % 2 ? times[half] : (times[half - 1] + times[half]) / 2}, {"calls", calls}};
}

/// As tensors.py's write_samples().
void write_samples(const std::string& path, const std::vector<rp::Tensor>& results) {
  constexpr std::int64_t kSamples = 1 << 16;
  std::int64_t count = 0;
  for (const rp::Tensor& t : results) count += t.numel().value();
  const std::int64_t step = std::max<std::int64_t>(1, (count + kSamples - 1) / kSamples | 1);
  std::vector<float> kept;
  std::int64_t at = 0;  // of the first element of a tensor among all
  for (const rp::Tensor& t : results) {
    const std::vector<float> all = t.to(rp::kFloat32).to_vector<float>();
    for (std::int64_t i = (step - at % step) % step; i < static_cast<std::int64_t>(all.size()); i += step)
      kept.push_back(all[static_cast<std::size_t>(i)]);
    at += static_cast<std::int64_t>(all.size());
  }
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(&count), sizeof count);
  file.write(reinterpret_cast<const char*>(kept.data()), static_cast<std::streamsize>(kept.size() * sizeof(float)));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::int64_t peak_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::int64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes * 1024;
  }
  throw std::runtime_error("/proc/self/status does not say VmHWM");
}

int serve() {
  Call call;
  std::size_t sets = 0;
  double once = 0;
  for (std::string line; std::getline(std::cin, line);) {
    json answer = {{"ok", true}};
    try {
      const json ask = json::parse(line);
      const std::string what = ask.at("do");
      if (what == "quit") return 0;
      if (what == "prepare") {
        call = {}, once = 0;
        const double begin = now();
        call = prepare(ask, sets);
        if (!call) {
          answer = {{"ok", false}, {"absent", true}, {"error", "no net '" + ask.at("net").get<std::string>() + "'"}};
        } else {
          const double loaded = now();
          call(0, nullptr);
          answer["load"] = loaded - begin, answer["first_call"] = now() - loaded;
        }
      } else if (!call && what != "memory") {
        answer = {{"ok", false}, {"error", "nothing is prepared"}};
      } else if (what == "run") {
        answer.update(measure(call, sets, ask.at("seconds"), once));
        once = answer["seconds"];
      } else if (what == "result") {
        std::vector<rp::Tensor> results;
        for (std::size_t i = 0; i < sets; ++i) call(i, &results);
        write_samples(ask.at("file"), results);
      } else if (what == "memory") {
        answer["peak_bytes"] = peak_bytes();
      }
    } catch (const std::exception& error) {
      answer = {{"ok", false}, {"error", std::string(error.what()).substr(0, 300)}};
    }
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
  return 0;
}

}  // namespace

}  // namespace reprise::peers

int main(int argc, char** argv) {
  char* end = nullptr;
  const long threads = argc == 2 ? std::strtol(argv[1], &end, 10) : 0;
  if (threads < 1 || threads > 4096 || *end) {
    std::cerr << "usage: reprise_peer THREADS (bench/peers/contender.py says what it is asked)\n";
    return 2;
  }
  reprise::set_num_threads(static_cast<int>(threads));
  std::cout << nlohmann::json{{"ok", true}, {"version", "this"}}.dump() << std::endl;
  return reprise::peers::serve();
}
