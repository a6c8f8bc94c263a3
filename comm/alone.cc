#include "comm/alone.h"

#include <cstring>

namespace reprise::comm {

namespace {

class Alone final : public Communicator {
 public:
  explicit Alone(int rank) : Communicator(0, {rank}) {}
  const char* backend() const override { return "alone"; }
  void abort(const std::string&) noexcept override {}

 private:
  void run(const Call& c) override {
    if (c.kind == Kind::Barrier || c.in == c.out || c.n == 0) return;
    std::memcpy(c.out, c.in, static_cast<std::size_t>(c.n * item_size(c.dtype)));
  }
  std::shared_ptr<Communicator> make_group(const std::vector<int>&, int) override { return alone(members()[0]); }
};

}  // namespace

std::shared_ptr<Communicator> alone(int rank) { return std::make_shared<Alone>(rank); }

}  // namespace reprise::comm
