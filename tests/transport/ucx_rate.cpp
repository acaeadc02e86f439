// Round trips and streams between two processes, over our Worker and over bare UCP in turns; prints both and the median
// of the ratios of neighbours, because a machine's pace drifts.
//
//   ucx_rate [NAME=VALUE …]
//
// The names are UCX's without UCX_; they are given to the bare side in place of its own defaults (TLS=tcp
// NET_DEVICES=lo), so that settings can be compared with those that the transport chose.
// SPDX-License-Identifier: Apache-2.0
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>

#include "transport/wire.hpp"

namespace grapnel::testing {
namespace {

constexpr int kPairs = 15;
constexpr int kRoundTrips = 500;
constexpr std::size_t kChunkBytes = 64 * 1024;
constexpr std::uint64_t kChunks = 1024;
constexpr std::uint64_t kWindow = 16;
constexpr std::uint64_t kChunksPerAnswer = 4;

enum class Kind : std::uint32_t { ask, answer, chunk, stop };
struct Header {
  Kind kind;
  std::uint32_t pad;
};

ByteView view(const Header& header) { return std::as_bytes(std::span(&header, 1)); }

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

// One side of one wire, in either process.
class Player {
 public:
  explicit Player(std::unique_ptr<Wire> wire) : wire_(std::move(wire)), sink_(kWindow * kChunkBytes) {
    wire_->on_message = [this](ByteView header, ByteView payload) { receive(header, payload); };
  }
  Wire& wire() { return *wire_; }

  void serve() {
    stopped_ = false;
    while (!stopped_ || wire_->under_way() > 0) wire_->progress();
  }
  void stop() {
    send(Kind::stop, {});
    while (wire_->under_way() > 0) wire_->progress();
  }

  double round_trip_us() {
    std::vector<double> times;
    for (int i = 0; i < kRoundTrips; ++i) {
      const double start = now_us();
      const std::uint64_t before = answers_;
      send(Kind::ask, {});
      while (answers_ == before) wire_->progress();
      times.push_back(now_us() - start);
    }
    return median(std::move(times));
  }

  double stream_gigabytes() {
    const double start = now_us();
    const std::uint64_t before = answers_;
    std::uint64_t sent = 0;
    while ((answers_ - before) * kChunksPerAnswer < kChunks) {
      while (sent < kChunks && sent - (answers_ - before) * kChunksPerAnswer < kWindow) {
        send(Kind::chunk, ByteView(sink_).subspan(sent % kWindow * kChunkBytes, kChunkBytes));
        ++sent;
      }
      wire_->progress();
    }
    return static_cast<double>(kChunks * kChunkBytes) / (now_us() - start) / 1e3;
  }

 private:
  void send(Kind kind, ByteView payload) {
    const Header header{.kind = kind, .pad = 0};
    wire_->send(view(header), payload);
  }

  // As a server does: answers at once, puts data where it belongs.
  void receive(ByteView bytes, ByteView payload) {
    Header header;
    std::memcpy(&header, bytes.data(), sizeof(header));
    switch (header.kind) {
      case Kind::ask: send(Kind::answer, {}); break;
      case Kind::answer: ++answers_; break;
      case Kind::stop: stopped_ = true; break;
      case Kind::chunk:
        std::memcpy(sink_.data() + chunks_ % kWindow * kChunkBytes, payload.data(), payload.size());
        if (++chunks_ % kChunksPerAnswer == 0) send(Kind::answer, {});
        break;
    }
  }

  std::unique_ptr<Wire> wire_;
  Bytes sink_;
  std::uint64_t answers_ = 0;
  std::uint64_t chunks_ = 0;
  bool stopped_ = false;
};

void meet(Wire& wire, int socket) {
  const Bytes mine = wire.address();
  const std::uint64_t my_bytes = mine.size();
  std::uint64_t bytes = 0;
  bool good = ::write(socket, &my_bytes, 8) == 8;
  good = good && ::write(socket, mine.data(), mine.size()) == static_cast<ssize_t>(mine.size());
  good = good && ::recv(socket, &bytes, 8, MSG_WAITALL) == 8;
  Bytes other(bytes);
  good = good && ::recv(socket, other.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
  if (!good) std::exit(1);
  wire.connect(other);
}

void print(const char* what, const char* unit, const std::array<std::vector<double>, 2>& values, bool more_is_better) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < values[0].size(); ++i) ratios.push_back(values[0][i] / values[1][i]);
  const auto best = [&](const std::vector<double>& all) {
    return more_is_better ? *std::max_element(all.begin(), all.end()) : *std::min_element(all.begin(), all.end());
  };
  std::printf("%-12s worker %7.2f (best %.2f)  bare UCP %7.2f (best %.2f) %s  ratio %.3f (best to best %.3f)\n", what,
              median(values[0]), best(values[0]), median(values[1]), best(values[1]), unit, median(ratios),
              best(values[0]) / best(values[1]));
}

int run(const std::vector<std::pair<std::string, std::string>>& settings) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return 1;
  const pid_t child = ::fork();
  const int socket = sockets[child == 0 ? 1 : 0];
  std::array<Player, 2> players{Player(make_worker_wire()), Player(make_bare_wire(settings))};
  for (Player& player : players) meet(player.wire(), socket);
  std::array<std::vector<double>, 2> trips, streams;
  for (int pair = -1; pair < kPairs; ++pair) {  // the first is to warm up
    for (std::size_t side = 0; side < 2; ++side) {
      if (child == 0) {
        players[side].serve();
        continue;
      }
      const double trip = players[side].round_trip_us();
      const double stream = players[side].stream_gigabytes();
      players[side].stop();
      if (pair < 0) continue;
      trips[side].push_back(trip);
      streams[side].push_back(stream);
    }
  }
  char end = 0;
  if (::write(socket, &end, 1) != 1 || ::read(socket, &end, 1) != 1)
    return 1;  // neither closes before the other is through
  if (child == 0) return 0;
  print("round trip", "us", trips, false);
  print("stream", "GB/s", streams, true);
  ::waitpid(child, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace grapnel::testing

int main(int count, char** arguments) {
  std::vector<std::pair<std::string, std::string>> settings{{"TLS", "tcp"}, {"NET_DEVICES", "lo"}};
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    const std::size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      std::fprintf(stderr, "usage: ucx_rate [NAME=VALUE ...]\n");
      return 2;
    }
    settings.emplace_back(argument.substr(0, equals), argument.substr(equals + 1));
  }
  return grapnel::testing::run(settings);
}
