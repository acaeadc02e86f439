// SPDX-License-Identifier: Apache-2.0
#include "run/pmi_server.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>

#include "launch/pmi1_table.hpp"
#include "os/limits.hpp"
#include "os/sealed_file.hpp"
#include "run/message.hpp"

namespace grapnel::tool {
namespace {

constexpr std::size_t kMostWhy = 2048;      // bytes of an abort's message that are printed
constexpr int kMostPiecesOfTheDead = 1024;  // a child of the rank may hold its socket and go on writing

std::string field(const launch::Pmi1Message& request, const char* name) {
  const auto text = request.text(name);
  return text ? *text : std::string();
}

}  // namespace

PmiServer::PmiServer(int ranks) : size_(ranks), store_(ranks) { ranks_.reserve(static_cast<std::size_t>(ranks)); }

Status PmiServer::open() {
  events_ = os::Descriptor(::epoll_create1(EPOLL_CLOEXEC));
  if (events_.valid()) return {};
  return Status(Code::system, fmt::format("cannot make an epoll instance: {}", os::error_words(errno)));
}

Result<os::Descriptor> PmiServer::add_rank() {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    return Status(Code::system, fmt::format("cannot make the pair of sockets of rank {}: {}; the launcher holds one "
                                            "descriptor per rank, three with --label",
                                            ranks_.size(), os::error_words(errno)));
  }
  ranks_.emplace_back(os::Descriptor(ends[0]));
  os::Descriptor theirs(ends[1]);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = static_cast<std::uint32_t>(ranks_.size() - 1);
  if (::epoll_ctl(events_.number(), EPOLL_CTL_ADD, ends[0], &event) != 0) {
    return Status(Code::system, fmt::format("cannot listen to rank {}: {}", ranks_.size() - 1, os::error_words(errno)));
  }
  return theirs;
}

void PmiServer::serve() {
  std::array<epoll_event, 64> events;
  const int count = ::epoll_wait(events_.number(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) serve_rank(static_cast<int>(events[static_cast<std::size_t>(i)].data.u32));
}

// One piece of what a rank has sent, so that a rank that sends without end takes turns with the others.
void PmiServer::serve_rank(int rank) {
  PmiConnection& connection = ranks_[static_cast<std::size_t>(rank)].connection;
  if (!connection.open()) return;
  if (connection.blocked()) {
    if (!connection.flush()) return forget(rank);
    if (!connection.blocked()) listen_to(rank);
  }
  const bool going_on = connection.blocked() || connection.read();
  while (connection.open() && !connection.blocked() && take_request(rank)) {
  }
  if (!going_on && connection.open()) forget(rank);
}

void PmiServer::hear_out(int rank) {
  const RankState& state = of(rank);
  for (int piece = 0; piece < kMostPiecesOfTheDead && state.connection.open(); ++piece) {
    serve_rank(rank);
    if (!state.connection.more_to_read()) return;
  }
}

bool PmiServer::take_request(int rank) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  if (state.announced) {
    auto bytes = state.connection.next_bytes(*state.announced);
    if (!bytes) return false;
    state.published = *std::move(bytes);
    state.announced.reset();
    arrive(rank, At::fence);
    return true;
  }
  const auto line = state.connection.next_line();
  if (!line) {
    if (state.connection.unread() > launch::kPmi1LongestLine) turn_away(rank, "a line without an end");
    return false;
  }
  on_line(rank, *line);
  return state.connection.open();
}

void PmiServer::on_line(int rank, const std::string& line) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  ++state.messages;
  ++counts_.messages;
  counts_.most_of_a_rank = std::max(counts_.most_of_a_rank, state.messages);
  if (state.skips) {
    if (line != "endcmd") return;
    state.skips = false;
    state.connection.answer("cmd=spawn_result rc=-1 msg=not_supported\n");
  } else if (line == "mcmd=spawn") {
    state.skips = true;
    return;
  } else {
    const auto request = launch::parse_pmi1(line);
    if (!request) return turn_away(rank, "a line that is no request");
    on_request(rank, *request);
  }
  if (!state.connection.flush()) return forget(rank);
  if (state.connection.open() && state.connection.blocked()) listen_to(rank);
}

void PmiServer::on_request(int rank, const launch::Pmi1Message& request) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  const bool after_init = std::exchange(state.asked_init, false);
  const std::string& command = request.command;
  if (command == "init") {
    state.asked_init = state.ever_joined = true;
    ++state.others;
    state.connection.answer("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0 grapnel=1\n");
  } else if (command == "grapnel_join") {
    state.others -= after_init ? 1 : 0;  // it was Grapnel's
    state.ever_joined = true;
    ++state.jobs;
    state.connection.answer("cmd=grapnel_joined\n");
  } else if (command == "finalize") {
    state.others = 0;
    state.connection.answer("cmd=finalize_ack\n");
  } else if (command == "abort") {
    on_abort(rank, request);
  } else if (!on_grapnels(rank, request) && !on_question(rank, request)) {
    state.connection.answer(fmt::format("cmd={}_result rc=-1 msg=not_supported\n", command.substr(0, 64)));
  }
}

bool PmiServer::on_grapnels(int rank, const launch::Pmi1Message& request) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  if (request.command == "grapnel_leave") {
    state.jobs = std::max(state.jobs - 1, 0);
    state.connection.answer("cmd=grapnel_left\n");
    return true;
  }
  const bool fence = request.command == "grapnel_fence";
  if (!fence && request.command != "barrier_in") return false;
  if (state.at != At::outside) {
    turn_away(rank, "a request while it waits in a barrier");
  } else if (!fence) {
    arrive(rank, At::barrier);
  } else {
    const auto bytes = request.number("bytes");
    if (!bytes || *bytes < 0 || static_cast<std::size_t>(*bytes) > launch::kPmi1MostPublished) {
      turn_away(rank, "a fence of an impossible size");
    } else {
      state.announced = static_cast<std::size_t>(*bytes);
    }
  }
  return true;
}

bool PmiServer::on_question(int rank, const launch::Pmi1Message& request) {
  PmiConnection& connection = ranks_[static_cast<std::size_t>(rank)].connection;
  const std::string& command = request.command;
  if (command == "get_maxes") {
    connection.answer(fmt::format("cmd=maxes kvsname_max={} keylen_max={} vallen_max={}\n", PmiStore::kNameRoom,
                                  PmiStore::kKeyRoom, PmiStore::kValueRoom));
  } else if (command == "get_appnum") {
    connection.answer("cmd=appnum appnum=0\n");
  } else if (command == "get_universe_size") {
    connection.answer(fmt::format("cmd=universe_size size={}\n", size_));
  } else if (command == "get_my_kvsname") {
    connection.answer(fmt::format("cmd=my_kvsname kvsname={}\n", store_.name()));
  } else if (command == "put") {
    const Status put = store_.put(rank, field(request, "kvsname"), field(request, "key"), field(request, "value"));
    connection.answer(
        fmt::format("cmd=put_result rc={} msg={}\n", put.ok() ? 0 : -1, put.ok() ? "success" : put.message()));
  } else if (command == "get") {
    const std::string* const value = store_.get(field(request, "kvsname"), field(request, "key"));
    connection.answer(value != nullptr ? fmt::format("cmd=get_result rc=0 msg=success value={}\n", *value)
                                       : "cmd=get_result rc=-1 msg=key_not_found value=unknown\n");
  } else if (command == "publish_name" || command == "unpublish_name" || command == "lookup_name") {
    connection.answer(fmt::format("cmd={}_result rc=-1 info=not_supported msg=not_supported\n",
                                  command.substr(0, command.find('_'))));
  } else {
    return false;
  }
  return true;
}

void PmiServer::on_abort(int rank, const launch::Pmi1Message& request) {
  if (abort_) return;
  const auto exit_code = request.number("exitcode");
  std::string why;
  if (const auto bytes = launch::from_base64(field(request, "grapnel_why"))) {
    why.assign(reinterpret_cast<const char*>(bytes->data()), std::min(bytes->size(), kMostWhy));
  }
  abort_ = AbortRequest{rank, exit_code ? *exit_code : 1, printable(why)};
}

void PmiServer::arrive(int rank, At at) {
  ranks_[static_cast<std::size_t>(rank)].at = at;
  if (++arrived_ == size_) release();
}

// To all at once: what each published, as one file.
void PmiServer::release() {
  ++counts_.fences;
  arrived_ = 0;
  std::vector<Bytes> parts;
  std::size_t published = 0;
  for (RankState& state : ranks_) {
    published += state.published.size();
    parts.push_back(std::exchange(state.published, {}));
  }
  std::string fenced = "cmd=grapnel_fenced bytes=0\n";
  PmiConnection::File file;
  if (published > 0) {
    const Bytes table = launch::encode_pmi1_table(parts);
    if (auto sealed = os::create_sealed_file("grapnel-fence", table)) {
      fenced = fmt::format("cmd=grapnel_fenced bytes={}\n", table.size());
      file = std::make_shared<const os::Descriptor>(*std::move(sealed));
    } else {
      const std::string why(sealed.status().message());
      fenced =
          fmt::format("cmd=grapnel_fenced bytes=-1 grapnel_why={}\n", launch::to_base64(std::as_bytes(std::span(why))));
    }
  }
  for (int rank = 0; rank < size_; ++rank) {
    RankState& state = ranks_[static_cast<std::size_t>(rank)];
    const At at = std::exchange(state.at, At::outside);
    if (!state.connection.open() || at == At::outside) continue;
    if (at == At::barrier) state.connection.answer("cmd=barrier_out\n");
    if (at == At::fence) state.connection.answer(fenced, file);
    if (!state.connection.flush()) {
      forget(rank);
    } else if (state.connection.blocked()) {
      listen_to(rank);
    }
  }
}

void PmiServer::turn_away(int rank, const std::string& why) {
  say(fmt::format("rank {} sent its launcher {}; its connection is closed", rank, why));
  if (broken_ < 0) broken_ = rank;
  forget(rank);
}

// A rank that waited in a barrier stays counted there: it may have left on the way to its end, which ends the job.
void PmiServer::forget(int rank) {
  RankState& state = ranks_[static_cast<std::size_t>(rank)];
  state.connection.close();
  state.announced.reset();
}

void PmiServer::listen_to(int rank) {
  const PmiConnection& connection = of(rank).connection;
  epoll_event event{};
  event.events = connection.blocked() ? EPOLLOUT : EPOLLIN;
  event.data.u32 = static_cast<std::uint32_t>(rank);
  ::epoll_ctl(events_.number(), EPOLL_CTL_MOD, connection.number(), &event);
}

std::optional<PmiServer::AbortRequest> PmiServer::take_abort() { return std::exchange(abort_, std::nullopt); }

bool PmiServer::is_in_job(int rank) const { return of(rank).jobs > 0 || of(rank).others > 0; }

bool PmiServer::anybody_in_job() const {
  return std::any_of(ranks_.begin(), ranks_.end(), [](const auto& one) { return one.jobs > 0 || one.others > 0; });
}

}  // namespace grapnel::tool
