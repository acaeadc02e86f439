// SPDX-License-Identifier: Apache-2.0
#include "launch/internal/pmi1_client.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/units.hpp"

namespace grapnel::launch {
namespace {

constexpr std::uint64_t kAnswer_ns = 60 * base::kSecond_ns;  // a launcher of thousands of ranks, on a busy machine
constexpr std::uint64_t kGoodbye_ns = base::kSecond_ns;
constexpr int kLook_ms = 100;
constexpr std::size_t kLongestWhy = 2048;  // bytes of an abort's message; the launcher's lines are bounded

Status connection_ended() {
  return Status(Code::peer_dead,
                "the launcher's PMI-1 connection has ended: the launcher is gone, or MPI_Finalize has closed it (a job "
                "that started over PMI-1 ends before MPI_Finalize)");
}

Status socket_failure(const char* what) {
  return Status(Code::system, fmt::format("{} the launcher over PMI-1: {}", what, std::strerror(errno)));
}

}  // namespace

Result<std::unique_ptr<Pmi1Client>> Pmi1Client::connect(os::Host& host, int descriptor) {
  os::Descriptor copy(::fcntl(descriptor, F_DUPFD_CLOEXEC, 0));
  if (!copy.valid()) return Status(Code::unavailable, fmt::format("PMI_FD={} is not open here", descriptor));
  std::unique_ptr<Pmi1Client> client(new Pmi1Client(host, std::move(copy)));
  GRAPNEL_TRY(client->greet());
  return client;
}

Status Pmi1Client::greet() {
  const Health no_health = [] { return Status(); };
  const auto init = ask("cmd=init pmi_version=1 pmi_subversion=1\n", "response_to_init", kAnswer_ns, no_health);
  if (!init) return init.status();
  const auto code = init->number("rc");
  const auto version = init->number("pmi_version");
  if (!code || !version || *code != 0 || *version != 1) {
    return Status(Code::unavailable, "the launcher at PMI_FD speaks another version than PMI-1");
  }
  extended_ = init->fields.count("grapnel") != 0;
  if (extended_) return {};  // none of the rest is asked for
  const auto limits = ask("cmd=get_maxes\n", "maxes", kAnswer_ns, no_health);
  if (!limits) return limits.status();
  const auto key_room = limits->number("keylen_max");
  const auto value_room = limits->number("vallen_max");
  if (!key_room) return key_room.status();
  if (!value_room) return value_room.status();
  constexpr int kMostRoom = static_cast<int>(kPmi1LongestLine / 4);  // of one line, with everything else in it
  // hydra 4.2 states 1024 and aborts over its answer to a `get` once value and the words around it pass 1024.
  constexpr int kMostValueRoom = 901;
  if (*key_room < 2 || *value_room < 2) return Status(Code::refused, "the launcher's PMI-1 store has no room");
  key_limit_ = static_cast<std::size_t>(std::min(*key_room, kMostRoom)) - 1;  // its limits count a closing zero
  value_limit_ = static_cast<std::size_t>(std::min(*value_room, kMostValueRoom)) - 1;
  GRAPNEL_ASSIGN_OR_RETURN(const auto store, ask("cmd=get_my_kvsname\n", "my_kvsname", kAnswer_ns, no_health));
  GRAPNEL_ASSIGN_OR_RETURN(auto name, store.text("kvsname"));
  store_ = std::move(name);
  return {};
}

Status Pmi1Client::put(std::string_view key, std::string_view value, const Health& health) {
  const auto answer =
      ask(fmt::format("cmd=put kvsname={} key={} value={}\n", store_, key, value), "put_result", kAnswer_ns, health);
  if (!answer) return answer.status();
  GRAPNEL_ASSIGN_OR_RETURN(const auto code, answer->number("rc"));
  if (code == 0) return {};
  const auto words = answer->text("msg");
  return Status(Code::refused,
                fmt::format("the launcher does not take the key {}: {}", key, words ? *words : "it does not say why"));
}

Result<std::string> Pmi1Client::get(std::string_view key, const Health& health) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto answer, ask(fmt::format("cmd=get kvsname={} key={}\n", store_, key), "get_result",
                                                  kAnswer_ns, health));
  GRAPNEL_ASSIGN_OR_RETURN(const auto code, answer.number("rc"));
  if (code != 0) return Status(Code::invalid_argument, fmt::format("nobody has put the key {}", key));
  return answer.text("value");
}

Status Pmi1Client::barrier(const Health& health) { return ask("cmd=barrier_in\n", "barrier_out", 0, health).status(); }

void Pmi1Client::finalize() {
  // At a process's exit no caller is left that could handle a failure.
  [[maybe_unused]] const auto answer = ask("cmd=finalize\n", "finalize_ack", kGoodbye_ns, [] { return Status(); });
}

void Pmi1Client::abort(int exit_code, std::string_view why) {
  std::string line = fmt::format("cmd=abort exitcode={}", exit_code);
  if (extended_) line += " grapnel_why=" + to_base64(std::as_bytes(std::span(why.substr(0, kLongestWhy))));
  [[maybe_unused]] const Status sent = send(line + "\n");
}

Status Pmi1Client::join() {
  return ask("cmd=grapnel_join\n", "grapnel_joined", kAnswer_ns, [] { return Status(); }).status();
}

Status Pmi1Client::leave() {
  return ask("cmd=grapnel_leave\n", "grapnel_left", kAnswer_ns, [] { return Status(); }).status();
}

Result<std::optional<Pmi1Table>> Pmi1Client::fence(ByteView published, int ranks, const Health& health) {
  if (published.size() > kPmi1MostPublished) {
    return Status(Code::invalid_argument, fmt::format("{} bytes are published for one fence; the limit is {}",
                                                      published.size(), kPmi1MostPublished));
  }
  const std::string line = fmt::format("cmd=grapnel_fence bytes={}\n", published.size());
  GRAPNEL_TRY(send(line, {reinterpret_cast<const char*>(published.data()), published.size()}));
  const auto answer = read_answer("grapnel_fenced", 0, health);
  if (!answer) return answer.status();
  const auto bytes = answer->number("bytes");
  if (!bytes) return bytes.status();
  if (*bytes == 0) return std::optional<Pmi1Table>();
  if (*bytes < 0 || files_.empty()) {
    const auto text = answer->text("grapnel_why");
    const auto why = text ? from_base64(*text) : std::nullopt;
    return Status(Code::system, fmt::format("the launcher cannot pass on what was published: {}",
                                            why ? std::string(reinterpret_cast<const char*>(why->data()), why->size())
                                                : "its answer brings no file"));
  }
  const os::Descriptor file = std::move(files_.front());
  files_.pop_front();
  GRAPNEL_ASSIGN_OR_RETURN(auto table, Pmi1Table::open(file, static_cast<std::size_t>(*bytes), ranks));
  return std::optional<Pmi1Table>(std::move(table));
}

Result<Pmi1Message> Pmi1Client::ask(const std::string& line, const char* expected, std::uint64_t timeout_ns,
                                    const Health& health) {
  GRAPNEL_TRY(send(line));
  return read_answer(expected, timeout_ns, health);
}

Result<Pmi1Message> Pmi1Client::read_answer(const char* expected, std::uint64_t timeout_ns, const Health& health) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto text, read_line(timeout_ns, health));
  auto answer = parse_pmi1(text);
  if (answer && answer->command != expected) {
    return Status(Code::refused,
                  fmt::format("the launcher answers \"{}\" where {} was due", answer->command, expected));
  }
  return answer;
}

Status Pmi1Client::send(std::string_view line, std::string_view bytes) {
  const base::MutexLock lock(sending_);
  GRAPNEL_TRY(send_all(line));
  return send_all(bytes);
}

Status Pmi1Client::send_all(std::string_view bytes) {
  // Blocking, but a line or two always fit: the launcher reads each before its answer.
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket_.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && (errno == EPIPE || errno == ECONNRESET)) return connection_ended();
    if (count < 0) return socket_failure("writing to");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

Result<std::string> Pmi1Client::read_line(std::uint64_t timeout_ns, const Health& health) {
  const std::uint64_t begin_ns = host_.now_ns();
  while (true) {
    if (const std::size_t end = unread_.find('\n'); end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    if (unread_.size() > kPmi1LongestLine) return parse_pmi1(unread_).status();
    GRAPNEL_TRY(health());
    if (timeout_ns != 0 && host_.now_ns() - begin_ns >= timeout_ns) {
      return Status(Code::timed_out,
                    fmt::format("the launcher has not answered over PMI-1 within {} s", timeout_ns / base::kSecond_ns));
    }
    pollfd entry{socket_.number(), POLLIN, 0};
    if (::poll(&entry, 1, kLook_ms) <= 0) continue;
    GRAPNEL_TRY(read_some());
  }
}

Status Pmi1Client::read_some() {
  char piece[4096];
  iovec part{piece, sizeof piece};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket_.number(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (count == 0 || (count < 0 && errno == ECONNRESET)) return connection_ended();
  if (count < 0) return errno == EINTR || errno == EAGAIN ? Status() : socket_failure("reading from");
  unread_.append(piece, static_cast<std::size_t>(count));
  const cmsghdr* const header = CMSG_FIRSTHDR(&message);
  if (header != nullptr && header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
    int number = -1;
    std::memcpy(&number, CMSG_DATA(header), sizeof number);
    files_.emplace_back(number);
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0) {
    return Status(Code::system, "a file that the launcher passed cannot be taken: too many open files (ulimit -n)");
  }
  return {};
}

}  // namespace grapnel::launch
