// SPDX-License-Identifier: Apache-2.0
#include "selftest/reach.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <span>

#include "base/codec.hpp"
#include "os/clock.hpp"
#include "os/interfaces.hpp"
#include "selftest/echo.hpp"
#include "selftest/host_name.hpp"

namespace grapnel::tool::selftest {
namespace {

constexpr std::size_t kMostTried = 32;
constexpr std::size_t kMostAddresses = 8;
constexpr int kRoundTrips = 200, kBlocks = 20;

// As it is published.
struct Place {
  std::uint64_t number = 0;  ///< what the node answers with
  std::uint16_t port = 0;
  std::uint16_t addresses = 0;
  std::uint32_t padding = 0;
  std::uint32_t address[kMostAddresses] = {};
};

std::string text_of(std::uint32_t address) {
  char text[INET_ADDRSTRLEN] = {};
  return ::inet_ntop(AF_INET, &address, text, sizeof text) != nullptr ? text : "?";
}

Place own_place(const std::vector<std::string>& interfaces, bool one_machine) {
  Place place;
  if (one_machine) {
    place.addresses = 1;
    place.address[0] = htonl(INADDR_LOOPBACK);
    return place;
  }
  for (const os::Interface& one : os::network_interfaces()) {
    const bool chosen =
        interfaces.empty() || std::find(interfaces.begin(), interfaces.end(), one.text()) != interfaces.end();
    if (chosen && place.addresses < kMostAddresses) place.address[place.addresses++] = one.address;
  }
  return place;
}

// The socket is connected, or the errno of why not.
int connect_within(const os::Descriptor& socket, std::uint32_t address, std::uint16_t port, double limit_s) {
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_addr.s_addr = address;
  to.sin_port = htons(port);
  if (::connect(socket.number(), reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd entry{socket.number(), POLLOUT, 0};
  if (::poll(&entry, 1, static_cast<int>(limit_s * 1e3)) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t bytes = sizeof error;
  ::getsockopt(socket.number(), SOL_SOCKET, SO_ERROR, &error, &bytes);
  return error;
}

class TcpReach final : public Reach {
 public:
  TcpReach(launch::Launch& launch, std::vector<Place> places, std::unique_ptr<EchoServer> server)
      : nodes_(launch.nodes()), me_(index(launch.node())), places_(std::move(places)), server_(std::move(server)) {}

  std::vector<Row> connect(double limit_s) override {
    if (server_ == nullptr) return {};
    const std::size_t others = std::min(places_.size() - 1, kMostTried);
    const std::uint64_t end = os::monotonic_ns() + static_cast<std::uint64_t>(limit_s * 1e9);
    std::vector<Row> rows;
    for (std::size_t step = 1; step <= others; ++step) {
      const double left_s = static_cast<double>(end - std::min(end, os::monotonic_ns())) / 1e9;
      const std::size_t node = (me_ + step) % places_.size();
      if (auto row = try_node(node, std::clamp(left_s, 0.3, limit_s / 3))) rows.push_back(*std::move(row));
    }
    if (rows.empty()) rows.push_back({"network", "reachable by TCP", "", Verdict::good, "every node that was tried"});
    return rows;
  }

  std::optional<Bare> measure() override {
    if (!to_next_.valid()) return std::nullopt;
    const auto small = best_of(kRoundTrips, sizeof(std::uint64_t)), large = best_of(kBlocks, kBulkBytes);
    if (!small || !large) return std::nullopt;
    return Bare{*small, *large};
  }

 private:
  // A row where it does not answer.
  std::optional<Row> try_node(std::size_t node, double limit_s) {
    const Place& place = places_[node];
    std::string failures, blame;
    for (std::size_t i = 0; i < place.addresses; ++i) {
      os::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const int error = connect_within(socket, place.address[i], place.port, limit_s / place.addresses);
      const bool right = error == 0 && introduce(socket, place.number);
      if (right) {
        if (me_ == 0 && node == 1) to_next_ = std::move(socket);
        return std::nullopt;
      }
      blame = remedy_for(error);
      failures += fmt::format("{}{} port {}: {}", failures.empty() ? "" : ", ", text_of(place.address[i]), place.port,
                              error == 0           ? "another machine answers there"
                              : error == ETIMEDOUT ? fmt::format("no answer within {:.1f} s", limit_s / place.addresses)
                                                   : std::strerror(error));
    }
    const std::string from = host_of(nodes_.machine_of[me_]), to = host_of(nodes_.machine_of[node]);
    if (failures.empty()) failures = "it has no IPv4 address", blame = remedy_for(ENETUNREACH);
    return Row{"network", "reachable by TCP", fmt::format("{} → {}", from, to), Verdict::wrong, failures, blame};
  }

  static std::string remedy_for(int error) {
    switch (error) {
      case 0: return "two machines have this address: set UCX_NET_DEVICES to the interface of the network between them";
      case ECONNREFUSED:
        return "a firewall rejects, or the address is another machine's: open the ports between the job's machines "
               "(all, or those of UCX_TCP_PORT_RANGE), or set UCX_NET_DEVICES to another interface";
      case ENETUNREACH:
      case EHOSTUNREACH:
        return "there is no route: set UCX_NET_DEVICES to an interface that leads there, on every machine";
      default: break;
    }
    return "a firewall drops what is sent, or there is no route: open the ports between the job's machines (all, or "
           "those of UCX_TCP_PORT_RANGE), or set UCX_NET_DEVICES to another interface";
  }

  // Whether the node that was asked for is at the other end.
  static bool introduce(const os::Descriptor& socket, std::uint64_t number) {
    ::fcntl(socket.number(), F_SETFL, 0);
    make_patient(socket);
    std::uint64_t answer = 0;
    return send_all(socket, base::bytes_of(number)) &&
           receive_all(socket, std::as_writable_bytes(std::span(&answer, 1))) && answer == ~number;
  }

  std::optional<double> best_of(int times, std::size_t bytes) const {
    const Bytes block(bytes);
    double least_us = std::numeric_limits<double>::max();
    for (int i = 0; i < times; ++i) {
      const std::uint64_t begin = os::monotonic_ns(), length = bytes;
      std::uint64_t answer = 0;
      const bool done = send_all(to_next_, base::bytes_of(length)) && send_all(to_next_, block) &&
                        receive_all(to_next_, std::as_writable_bytes(std::span(&answer, 1)));
      if (!done) return std::nullopt;
      least_us = std::min(least_us, static_cast<double>(os::monotonic_ns() - begin) / 1e3);
    }
    return least_us;
  }

  const launch::NodeMap& nodes_;
  const std::size_t me_;
  const std::vector<Place> places_;  ///< by node
  const std::unique_ptr<EchoServer> server_;
  os::Descriptor to_next_;
};

}  // namespace

Result<std::unique_ptr<Reach>> Reach::open(launch::Launch& launch, const std::vector<std::string>& interfaces) {
  const launch::NodeMap& nodes = launch.nodes();
  std::unique_ptr<EchoServer> server;
  if (launch.leads_node()) {
    Place mine = own_place(interfaces, nodes.one_machine());
    mine.number = os::random_u64();
    GRAPNEL_ASSIGN_OR_RETURN(server, EchoServer::open(nodes.one_machine(), mine.number, kBulkBytes));
    mine.port = server->port();
    GRAPNEL_TRY(launch.publish("selftest_place", base::bytes_of(mine)));
  }
  GRAPNEL_TRY(launch.fence());
  std::vector<Place> places;
  for (std::size_t node = 0; launch.leads_node() && node < nodes.node_count(); ++node) {
    GRAPNEL_ASSIGN_OR_RETURN(const Bytes bytes,
                             launch.lookup(nodes.leader(NodeId(static_cast<int>(node))), "selftest_place"));
    const auto place = base::Decoder(bytes).get<Place>();
    if (!place) return Status(Code::system, fmt::format("node {} has published no place to connect to", node));
    places.push_back(*place);
  }
  return std::unique_ptr<Reach>(std::make_unique<TcpReach>(launch, std::move(places), std::move(server)));
}

}  // namespace grapnel::tool::selftest
