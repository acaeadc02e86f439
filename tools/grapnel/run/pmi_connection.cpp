// SPDX-License-Identifier: Apache-2.0
#include "run/pmi_connection.hpp"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <span>

namespace grapnel::tool {
namespace {

constexpr std::size_t kPiece = 64 * 1024;

}  // namespace

void PmiConnection::close() {
  socket_.reset();
  in_.clear();
  taken_ = 0;
  filled_ = false;
  out_.clear();
}

bool PmiConnection::read() {
  static std::array<char, kPiece> piece;
  filled_ = false;
  const ssize_t count = ::recv(socket_.number(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EINTR;
  filled_ = static_cast<std::size_t>(count) == piece.size();
  in_.erase(0, taken_);
  taken_ = 0;
  in_.append(piece.data(), static_cast<std::size_t>(count));
  return count > 0;
}

std::optional<std::string> PmiConnection::next_line() {
  const std::size_t end = in_.find('\n', taken_);
  if (end == std::string::npos) return std::nullopt;
  std::string line = in_.substr(taken_, end - taken_);
  taken_ = end + 1;
  return line;
}

std::optional<Bytes> PmiConnection::next_bytes(std::size_t count) {
  if (unread() < count) return std::nullopt;
  const auto bytes = std::as_bytes(std::span(in_.data() + taken_, count));
  taken_ += count;
  return Bytes(bytes.begin(), bytes.end());
}

void PmiConnection::answer(std::string line, File file) { out_.push_back({std::move(line), std::move(file)}); }

bool PmiConnection::flush() {
  while (!out_.empty()) {
    if (!send(out_.front())) return errno == EAGAIN || errno == EINTR || errno == ETOOMANYREFS;
    if (out_.front().bytes.empty()) out_.pop_front();
  }
  return true;
}

bool PmiConnection::send(Out& out) {
  iovec part{out.bytes.data(), out.bytes.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  if (out.file) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = out.file->number();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  const ssize_t count = ::sendmsg(socket_.number(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) return false;
  out.file.reset();  // it went with the first byte
  out.bytes.erase(0, static_cast<std::size_t>(count));
  return true;
}

}  // namespace grapnel::tool
