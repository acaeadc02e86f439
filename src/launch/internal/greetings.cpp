// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/greetings.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/units.hpp"

namespace grapnel::launch {
namespace {

constexpr std::uint64_t kHello_ns = 10 * base::kSecond_ns;  // between connecting and the hello; it follows at once
constexpr std::size_t kMostStrangers = 64;                  // connections beyond those that are expected
constexpr std::uint64_t kHello = 0x6f6c6c65682d7067;

struct Hello {
  std::uint64_t word;
  std::uint64_t secret;
  std::uint64_t rank;
};

void turn_away(const os::Connection& connection, const char* why) {
  base::log_warn("a stranger (process {}) at the node's door was turned away: {}", connection.peer_pid(), why);
}

}  // namespace

Status greet(const os::Connection& connection, std::uint64_t secret, Rank me, std::uint64_t timeout_ns) {
  return connection.send(base::bytes_of(Hello{kHello, secret, static_cast<std::uint64_t>(me)}), timeout_ns);
}

Result<std::vector<Greetings::Member>> Greetings::gather(std::uint64_t timeout_ns) {
  const std::uint64_t end_ns = host_.now_ns() + timeout_ns;
  while (!missing_.empty()) {
    if (host_.now_ns() >= end_ns) {
      return Status(Code::timed_out,
                    fmt::format("start-up with rank {}: it has not connected to its node's leader "
                                "within {} s ({} of the node's ranks are missing)",
                                index(missing_.front()), timeout_ns / base::kSecond_ns, missing_.size()));
    }
    sleep_until(end_ns);
    GRAPNEL_TRY(accept_those_who_knock());
    listen_to_those_who_knock();
  }
  return std::move(members_);
}

void Greetings::sleep_until(std::uint64_t end_ns) {
  std::vector<pollfd> entries = {{listener_.number(), POLLIN, 0}};
  for (const Knock& knock : knocks_) {
    entries.push_back({knock.connection.number(), POLLIN, 0});
    end_ns = std::min(end_ns, knock.end_ns);
  }
  const std::uint64_t now_ns = host_.now_ns();
  const std::uint64_t left_ms = end_ns > now_ns ? (end_ns - now_ns) / base::kMillisecond_ns + 1 : 0;
  ::poll(entries.data(), entries.size(), static_cast<int>(left_ms));
  for (std::size_t i = 0; i < knocks_.size(); ++i) knocks_[i].has_news = entries[i + 1].revents != 0;
}

Status Greetings::accept_those_who_knock() {
  while (true) {
    auto connection = listener_.accept(0);
    if (!connection) return connection.status().code() == Code::timed_out ? Status() : connection.status();
    knocks_.push_back({*std::move(connection), host_.now_ns() + kHello_ns});
    if (knocks_.size() <= missing_.size() + kMostStrangers) continue;
    turn_away(knocks_.front().connection, "too many connections that send nothing");
    knocks_.erase(knocks_.begin());
  }
}

void Greetings::listen_to_those_who_knock() {
  std::vector<Knock> silent;
  for (Knock& knock : knocks_) {
    std::optional<Result<Bytes>> packet;
    if (knock.has_news) packet = knock.connection.receive(0);
    if (!packet || packet->status().code() == Code::timed_out) {
      if (host_.now_ns() < knock.end_ns) {
        silent.push_back(std::move(knock));
      } else {
        turn_away(knock.connection, "it sent nothing");
      }
      continue;
    }
    const auto rank = rank_in(*packet);
    if (!rank) {
      turn_away(knock.connection, "it did not send the job's secret");
      continue;
    }
    missing_.erase(std::find(missing_.begin(), missing_.end(), *rank));
    members_.push_back({*rank, std::move(knock.connection)});
  }
  knocks_ = std::move(silent);
}

std::optional<Rank> Greetings::rank_in(const Result<Bytes>& packet) const {
  if (!packet || packet->size() != sizeof(Hello)) return std::nullopt;
  const auto hello = base::Decoder(*packet).get<Hello>();
  if (hello->word != kHello || hello->secret != secret_) return std::nullopt;
  const auto rank = static_cast<Rank>(hello->rank);
  const bool expected = std::find(missing_.begin(), missing_.end(), rank) != missing_.end();
  return expected ? std::optional(rank) : std::nullopt;
}

}  // namespace grapnel::launch
