// SPDX-License-Identifier: Apache-2.0
#include "selftest/hosts.hpp"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <future>
#include <memory>
#include <thread>

namespace grapnel::tool::selftest {
namespace {

// 0, or getaddrinfo's error.
int look_up(const std::string& name) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(name.c_str(), nullptr, &wanted, &found);
  if (error == 0) ::freeaddrinfo(found);
  return error;
}

// In a thread of its own, which outlives this when the resolver does not answer.
std::future<int> start_look_up(const std::string& name) {
  auto answer = std::make_shared<std::promise<int>>();
  std::future<int> future = answer->get_future();
  std::thread([answer, name] { answer->set_value(look_up(name)); }).detach();
  return future;
}

}  // namespace

std::vector<NamedHost> parse_hosts(const std::string& hosts) {
  std::vector<NamedHost> named;
  for (std::string_view rest = hosts; !rest.empty();) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string one(rest.substr(0, comma));
    const std::size_t colon = one.find(':');
    if (!one.empty())
      named.push_back({one.substr(0, colon), colon == std::string::npos ? 0 : std::atoi(&one[colon + 1])});
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return named;
}

std::vector<Row> resolve(const std::vector<NamedHost>& hosts, double limit_s) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
  std::vector<std::future<int>> answers;
  for (const NamedHost& host : hosts) answers.push_back(start_look_up(host.name));
  std::vector<Row> rows;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const bool answered = answers[i].wait_until(end) == std::future_status::ready;
    const int error = answered ? answers[i].get() : 0;
    if (answered && error == 0) continue;
    rows.push_back({.section = "launcher",
                    .name = "host name",
                    .where = hosts[i].name,
                    .verdict = Verdict::wrong,
                    .found = answered ? ::gai_strerror(error) : fmt::format("no answer within {:.0f} s", limit_s),
                    .remedy = fmt::format("correct --hosts, or make the name known: a line in /etc/hosts of every "
                                          "machine, or the name server; `getent hosts {}` must print an address",
                                          hosts[i].name)});
  }
  if (rows.empty()) {
    rows.push_back({.section = "launcher",
                    .name = "host names",
                    .where = "this machine",
                    .found = fmt::format("{} of {} have addresses", hosts.size(), hosts.size())});
  }
  return rows;
}

}  // namespace grapnel::tool::selftest
