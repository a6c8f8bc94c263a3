// graph::parse: a text is a graph that prints as itself and verifies, or one error that says where it is wrong.
#include "base/errors.h"
#include "graph/text.h"
#include "tests/fuzz/fuzz.h"

using namespace reprise;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::optional<graph::Graph> g;
  try {
    g = graph::parse(text);
  } catch (const Error& e) {
    if (e.code() != ErrorCode::InvalidArgument)
      fuzz::broken(std::string("another error than InvalidArgument: ") + e.what());
    if (e.message().find("line ") == std::string::npos)
      fuzz::broken("an error that does not say where: " + std::string(e.what()));
    return 0;
  }
  for (bool locations : {true, false}) {
    const std::string first = graph::print(*g, locations);
    std::string again;
    try {
      // (the hints are left out with them)
      again = graph::print(locations ? graph::parse(first) : graph::parse_unverified(first), locations);
    } catch (const Error& e) {
      fuzz::broken("accepted, but not what was printed of it:\n" + first + e.what());
    }
    if (first != again) fuzz::broken("does not print as itself:\n" + first + "and\n" + again);
  }
  try {
    graph::verify(*g, "parse");
  } catch (const Error& e) {
    fuzz::broken(std::string("accepted, but: ") + e.what());
  }
  return 0;
}
