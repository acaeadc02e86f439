// Finding the ranks of this machine by /proc/net/unix, and asking them.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <set>
#include <string_view>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "launch/status_socket.hpp"
#include "os/clock.hpp"
#include "os/stream.hpp"
#include "runtime/job_status.hpp"

namespace grapnel::runtime {
namespace {

constexpr std::uint64_t kAnswer_ns = base::kSecond_ns;
constexpr int kLook_ms = 5;
constexpr int kMostAncestors = 64;

// JOB-RANK-PROCESS-RANDOM behind the prefix.
std::optional<RankProcess> parse(const std::string& name) {
  const std::string_view rest = std::string_view(name).substr(std::string_view(launch::kStatusPrefix).size());
  RankProcess found{name};
  const char* const end = rest.data() + rest.size();
  const auto job = std::from_chars(rest.data(), end, found.job, 16);
  if (job.ec != std::errc{} || job.ptr == end || *job.ptr != '-') return std::nullopt;
  const auto rank = std::from_chars(job.ptr + 1, end, found.rank);
  if (rank.ec != std::errc{} || rank.ptr == end || *rank.ptr != '-') return std::nullopt;
  const auto process = std::from_chars(rank.ptr + 1, end, found.process);
  if (process.ec != std::errc{} || process.ptr == end || *process.ptr != '-') return std::nullopt;
  return found;
}

int parent_of(int process) {
  std::ifstream file(fmt::format("/proc/{}/stat", process));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::size_t behind_name = text.rfind(')');  // the name may hold anything
  int parent = 0;
  if (behind_name != std::string::npos && text.size() > behind_name + 4) {
    std::from_chars(text.data() + behind_name + 4, text.data() + text.size(), parent);
  }
  return parent;
}

bool descends(int process, int ancestor) {
  for (int steps = 0; process > 1 && steps < kMostAncestors; ++steps) {
    if (process == ancestor) return true;
    process = parent_of(process);
  }
  return process == ancestor;
}

struct Asked {
  os::Connection connection;
  Bytes answer;
  bool over = false;
};

// What has come; at the end of the connection the answer is whole.
void take(Asked& one, std::optional<RankStatus>& status) {
  while (true) {
    const auto packet = one.connection.receive(0);
    if (packet) {
      one.answer.insert(one.answer.end(), packet->begin(), packet->end());
      if (one.answer.size() <= launch::kMostStatusBytes) continue;
    } else if (packet.status().code() == Code::timed_out) {
      return;
    }
    one.over = true;
    if (one.answer.empty()) return;
    auto decoded = RankStatus::decode(one.answer);
    if (decoded) {
      status = *std::move(decoded);
    } else {
      base::log_error("{}", decoded.status().message());
    }
    return;
  }
}

}  // namespace

Result<std::vector<RankProcess>> rank_processes() {
  std::ifstream file("/proc/net/unix");
  if (!file) return Status(Code::unavailable, "/proc/net/unix cannot be read: the ranks cannot be found");
  std::map<std::string, RankProcess> found;  // a name is there once for each connection that waits
  const std::string mark = std::string("@") + launch::kStatusPrefix;
  for (std::string line; std::getline(file, line);) {
    const std::size_t place = line.find(mark);
    if (place == std::string::npos) continue;
    if (auto one = parse(line.substr(place + 1))) found.emplace(one->name, *one);
  }
  std::vector<RankProcess> all;
  for (auto& [name, one] : found) all.push_back(std::move(one));
  return all;
}

std::vector<RankProcess> of_job(const std::vector<RankProcess>& all, int process) {
  std::set<std::uint64_t> jobs;
  for (const RankProcess& one : all) {
    if (descends(one.process, process)) jobs.insert(one.job);
  }
  std::vector<RankProcess> theirs;
  std::copy_if(all.begin(), all.end(), std::back_inserter(theirs),
               [&](const auto& one) { return jobs.count(one.job); });
  return theirs;
}

Answers ask(const std::vector<RankProcess>& processes, std::optional<std::uint32_t> reporter,
            const std::function<void()>& meanwhile) {
  Answers answers;
  std::vector<Asked> asked;
  Bytes request{reporter ? launch::kAskAndCover : launch::kAsk};
  if (reporter) {
    const ByteView number = base::bytes_of(*reporter);
    request.insert(request.end(), number.begin(), number.end());
  }
  for (const RankProcess& process : processes) {
    auto connection = os::Connection::connect(process.name, 0, os::Trust::root_too);
    if (!connection) continue;  // another user's, or gone
    [[maybe_unused]] const Status sent = connection->send(request, 0);
    answers.processes.push_back(process);
    asked.push_back({*std::move(connection), {}});
  }
  answers.statuses.resize(asked.size());
  const std::uint64_t end_ns = os::monotonic_ns() + kAnswer_ns;
  while (os::monotonic_ns() < end_ns) {
    std::vector<pollfd> entries;
    for (std::size_t i = 0; i < asked.size(); ++i) {
      if (!asked[i].over) take(asked[i], answers.statuses[i]);
      if (!asked[i].over) entries.push_back({asked[i].connection.number(), POLLIN, 0});
    }
    if (entries.empty()) break;
    if (meanwhile) meanwhile();
    ::poll(entries.data(), entries.size(), kLook_ms);
  }
  return answers;
}

}  // namespace grapnel::runtime
