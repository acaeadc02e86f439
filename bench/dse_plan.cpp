// SPDX-License-Identifier: Apache-2.0
#include "dse_plan.hpp"

#include <fmt/format.h>

#include <bit>

namespace grapnel::bench {
namespace {

constexpr std::uint64_t kCountedBytes = 64;  ///< messages are counted at this length; they do not depend on it
constexpr std::uint64_t kLabOperations = 5;

struct Path {
  std::string name;
  std::vector<std::string> settings;
};

const std::vector<Path>& paths() {
  static const std::vector<Path> all = {{"tcp", {"GRAPNEL_TRANSPORT=ucx"}},
                                        {"posix", {"GRAPNEL_TRANSPORT=ucx", "UCX_TLS=posix"}},
                                        {"local", {"GRAPNEL_TRANSPORT=local"}}};
  return all;
}

const char* name_of(DseTest test) {
  switch (test) {
    case DseTest::access: return "access";
    case DseTest::broadcast: return "broadcast";
    case DseTest::all_to_all: return "all_to_all";
    case DseTest::barrier: return "barrier";
  }
  return "";
}

// So many that a turn takes some milliseconds.
std::uint64_t operations_of(DseTest test) { return test == DseTest::all_to_all ? 30 : 100; }

DseRow row(DseTest test, DseWay way, std::uint64_t bytes, int nodes, const std::string& path, bool counts) {
  const std::string length = test == DseTest::barrier ? "" : fmt::format("{}B/", bytes);
  const std::string tail = test == DseTest::access || test == DseTest::barrier ? ""
                           : way == DseWay::get                                ? "/get"
                                                                               : "/collective";
  DseRow made;
  made.name = fmt::format("{}/{}{}_nodes/{}{}", name_of(test), length, nodes, path, tail);
  if (counts) made.messages_name = fmt::format("messages/{}/{}_nodes{}", name_of(test), nodes, tail);
  made.ours = {test, way, bytes, operations_of(test)};
  made.limit = {test, DseWay::plain, bytes, operations_of(test)};
  return made;
}

DsePart part(int nodes, const Path& path) {
  DsePart made{fmt::format("dse_{}", nodes), path.settings, {}};
  for (const std::uint64_t bytes : {4, 64, 1024}) {
    const bool counts = path.name == paths().front().name && bytes == kCountedBytes;
    made.rows.push_back(row(DseTest::access, DseWay::get, bytes, nodes, path.name, counts));
    for (const DseTest test : {DseTest::broadcast, DseTest::all_to_all}) {
      made.rows.push_back(row(test, DseWay::get, bytes, nodes, path.name, counts));
      made.rows.push_back(row(test, DseWay::collective, bytes, nodes, path.name, counts));
    }
  }
  const bool counts = path.name == paths().front().name;
  made.rows.push_back(row(DseTest::barrier, DseWay::collective, 0, nodes, path.name, counts));
  return made;
}

// Where time is the network's: one operation after the other, held against the trips on its path.
DseRow path_row(DseTest test, DseWay way, int hosts, int trips) {
  const std::string tail = test == DseTest::all_to_all ? (way == DseWay::get ? "/get" : "/collective") : "";
  DseRow made;
  made.name = fmt::format("lab_{}/path/{}{}", hosts, name_of(test), tail);
  made.ours = {test, way, kCountedBytes, kLabOperations};
  made.limit = {test, DseWay::round_trip, kCountedBytes, kLabOperations};
  made.limit_parts = trips / 2.0;
  return made;
}

// Not the collective broadcast: its root runs ahead, so that its operations have no path of their own.
DsePart lab_part(int hosts) {
  const int rounds = std::bit_width(static_cast<unsigned>(hosts - 1));
  DsePart made{fmt::format("dse_{}", hosts), {}, {}, hosts};
  made.rows = {path_row(DseTest::access, DseWay::get, hosts, 2), path_row(DseTest::broadcast, DseWay::get, hosts, 2),
               path_row(DseTest::all_to_all, DseWay::get, hosts, 2),
               path_row(DseTest::all_to_all, DseWay::collective, hosts, rounds),
               path_row(DseTest::barrier, DseWay::collective, hosts, rounds)};
  return made;
}

}  // namespace

std::vector<DsePart> dse_plan() {
  std::vector<DsePart> plan;
  for (int nodes = 2; nodes <= 8; ++nodes) {
    for (const Path& path : paths()) plan.push_back(part(nodes, path));
  }
  for (const int hosts : {2, 4, 8}) plan.push_back(lab_part(hosts));
  return plan;
}

}  // namespace grapnel::bench
