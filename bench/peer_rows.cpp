// SPDX-License-Identifier: Apache-2.0
#include "peer_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "pairs.hpp"
#include "statistics.hpp"

namespace grapnel::bench {
namespace {

using Kind = PeerRow::Kind;

const std::string kBusy = "busy_target/";

bool is_bandwidth(const std::string& operation) {
  const std::string ending = "/bandwidth";
  return operation.size() > ending.size() &&
         operation.compare(operation.size() - ending.size(), ending.size(), ending) == 0;
}

const std::vector<std::string>& blocking_operations() {
  static const std::vector<std::string> names = {"put_fence/8B/latency", "get/8B/latency",
                                                 "put/strided_64x512B/latency", "accumulate/4KiB/latency",
                                                 "fetch_and_add/latency"};
  return names;
}

void add_operations_of_both_places(std::vector<PeerRow>& rows, const std::string& place) {
  const auto add = [&](const std::string& operation) {
    rows.push_back({fmt::format("peers/{}/{}", place, operation), operation, Kind::best_peer});
  };
  for (const std::string& operation : blocking_operations()) add(operation);
  for (const char* operation : {"put/8KiB/bandwidth", "put/1MiB/bandwidth", "put/8MiB/bandwidth", "get/1MiB/bandwidth",
                                "lock_unlock/latency"}) {
    add(operation);
  }
}

std::vector<PeerRow> same_node_rows() {
  const std::vector<std::string> unfenced = {"put/8B/latency", "put/strided_4x8B/latency"};
  std::vector<PeerRow> rows;
  for (const std::string& operation : unfenced) {
    rows.push_back({"peers/same_node/" + operation, operation, Kind::best_peer});
  }
  add_operations_of_both_places(rows, "same_node");
  for (const std::string& operation : unfenced) rows.push_back({"peers/face/" + operation, operation, Kind::front_end});
  for (const std::string& operation : blocking_operations()) {
    rows.push_back({"peers/face/" + operation, operation, Kind::front_end});
  }
  return rows;
}

std::vector<PeerRow> two_hosts_rows() {
  std::vector<PeerRow> rows;
  add_operations_of_both_places(rows, "two_hosts");
  for (const std::string& operation : blocking_operations()) {
    rows.push_back({fmt::format("peers/{}{}", kBusy, operation), kBusy + operation, Kind::idle});
  }
  return rows;
}

// What a row is held against: a program and its operation.
struct Limit {
  std::string program;
  std::string operation;
};

std::optional<Limit> limit_of(const PeerRow& row, const PeerValues& values, const std::string& ours) {
  if (row.kind == Kind::idle) return Limit{ours, row.operation.substr(kBusy.size())};
  if (row.kind == Kind::front_end) return Limit{kOurCore, row.operation};
  const auto best = values.best_peer(row.operation);
  if (!best) return std::nullopt;
  return Limit{*best, row.operation};
}

std::string note_of(const PeerRow& row, const PeerValues& values, const Limit& limit) {
  if (row.kind != Kind::idle) return limit.program;
  const auto best = values.best_peer(row.operation);
  if (!best) return "ours with an idle target";
  return fmt::format("ours with an idle target; {} takes {:.0f} us", *best,
                     *values.median_of(row.operation, *best) * 1e-3);
}

// A limit whose middle round was far from its best one.
bool is_disturbed(const std::vector<double>& limit, bool higher_is_better) {
  const double middle = median(limit);
  return higher_is_better ? middle * kDisturbed < *std::max_element(limit.begin(), limit.end())
                          : middle > kDisturbed * *std::min_element(limit.begin(), limit.end());
}

}  // namespace

const char* to_string(PeerPlace place) { return place == PeerPlace::same_node ? "same_node" : "two_hosts"; }

bool is_ours(const std::string& program) { return program == kOurArmci || program == kOurCore; }

bool PeerValues::is_wrong(const std::string& program, const std::string& operation) const {
  return std::find(wrong_.begin(), wrong_.end(), std::pair(program, operation)) != wrong_.end();
}

bool PeerValues::take(const std::string& program, const std::string& line) {
  std::istringstream words(line);
  std::string mark;
  std::string operation;
  double value = 0;
  if (!(words >> mark >> operation)) return false;
  if (mark == "peer-wrong") {
    if (!is_wrong(program, operation)) wrong_.emplace_back(program, operation);
    values_[operation].erase(program);
    values_[kBusy + operation].erase(program);
    return true;
  }
  if (mark != "peer-row" || !(words >> value) || value <= 0) return false;
  const bool busy = operation.rfind(kBusy, 0) == 0;
  if (!is_wrong(program, busy ? operation.substr(kBusy.size()) : operation)) {
    values_[operation][program].push_back(value);
  }
  return true;
}

const std::vector<double>* PeerValues::values_of(const std::string& operation, const std::string& program) const {
  const auto programs = values_.find(operation);
  if (programs == values_.end()) return nullptr;
  const auto values = programs->second.find(program);
  return values == programs->second.end() ? nullptr : &values->second;
}

std::optional<double> PeerValues::median_of(const std::string& operation, const std::string& program) const {
  const std::vector<double>* const values = values_of(operation, program);
  if (values == nullptr) return std::nullopt;
  return median(*values);
}

std::optional<std::string> PeerValues::best_peer(const std::string& operation) const {
  const auto programs = values_.find(operation);
  if (programs == values_.end()) return std::nullopt;
  std::optional<std::string> best;
  double best_value = 0;
  for (const auto& [program, values] : programs->second) {
    if (is_ours(program)) continue;
    const double value = median(values);
    if (best && (is_bandwidth(operation) ? value <= best_value : value >= best_value)) continue;
    best = program;
    best_value = value;
  }
  return best;
}

const std::vector<PeerRow>& peer_rows(PeerPlace place) {
  static const std::vector<PeerRow> same_node = same_node_rows();
  static const std::vector<PeerRow> two_hosts = two_hosts_rows();
  return place == PeerPlace::same_node ? same_node : two_hosts;
}

std::optional<Measurement> peer_measurement(const PeerRow& row, PeerPlace place, const PeerValues& values,
                                            const std::string& ours) {
  const auto limit = limit_of(row, values, ours);
  if (!limit) return std::nullopt;
  const std::vector<double>* const mine = values.values_of(row.operation, ours);
  const std::vector<double>* const theirs = values.values_of(limit->operation, limit->program);
  if (mine == nullptr || theirs == nullptr) return std::nullopt;
  const bool bandwidth = is_bandwidth(row.operation);
  const bool hosts = place == PeerPlace::two_hosts;
  Measurement m{.name = row.name, .unit = bandwidth ? "GB/s" : hosts ? "us" : "ns"};
  m.better = bandwidth ? Better::higher : Better::lower;
  const double scale = !bandwidth && hosts ? 1e-3 : 1;
  m.value = median(*mine) * scale;
  m.limit = median(*theirs) * scale;
  m.runs = static_cast<int>(mine->size());
  m.disturbed = is_disturbed(*theirs, bandwidth);
  m.note = note_of(row, values, *limit);
  if (row.kind == Kind::best_peer && ours == kOurCore) m.note += "; ours: the C++ interface";
  return m;
}

}  // namespace grapnel::bench
