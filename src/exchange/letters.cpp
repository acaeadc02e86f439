// SPDX-License-Identifier: Apache-2.0
#include "exchange/letters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/units.hpp"
#include "exchange/messages.hpp"

namespace grapnel::exchange {
namespace {

constexpr std::size_t kNodeBytes = 2 * base::kMiB;
constexpr std::size_t kLeastInboxBytes = 16 * base::kKiB;
constexpr std::size_t kMostInboxBytes = 128 * base::kKiB;

std::size_t inbox_bytes(std::size_t local) {
  return std::clamp(std::bit_floor(kNodeBytes / local), kLeastInboxBytes, kMostInboxBytes);
}

std::vector<Inbox> carve_inboxes(launch::Launch& launch, os::Host& host) {
  const std::size_t local = launch.nodes().ranks_of[index(launch.node())].size();
  const std::size_t bytes = inbox_bytes(local);
  const auto words = launch.node_memory().carve<InboxWords>(local);
  const auto cells = launch.node_memory().carve<InboxCell>(local * (bytes / sizeof(InboxCell)));
  std::vector<Inbox> inboxes;
  for (std::size_t i = 0; i < local; ++i) {
    const std::size_t each = bytes / sizeof(InboxCell);
    inboxes.emplace_back(host, words[i], cells.subspan(i * each, each));
  }
  return inboxes;
}

}  // namespace

std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node) {
  const std::size_t local = nodes.ranks_of[index(node)].size();
  return local * (sizeof(InboxWords) + inbox_bytes(local));
}

Letters::Letters(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client, progress::Server* server)
    : launch_(launch),
      waiting_(waiting),
      client_(client),
      server_(server),
      place_(launch::places_in_nodes(launch.nodes())),
      inboxes_(carve_inboxes(launch, waiting.host())),
      mine_(inbox_of(launch.rank())),
      kept_of_(static_cast<std::size_t>(launch.size())),
      unacknowledged_of_(launch.nodes().node_count()) {}

void Letters::add_handlers(progress::HandlerTable& table) {
  table.add(kLetterHandler, {"letter", sizeof(LetterBody), sizeof(LetterBody), false,
                             [this](progress::Request& request) { return deliver(request); }});
}

progress::Outcome Letters::deliver(progress::Request& request) {
  const auto body = request.body_as<LetterBody>();
  const Envelope& envelope = body.envelope;
  const auto to = static_cast<std::size_t>(body.to);
  const auto& node_of = launch_.nodes().node_of;
  const bool sound = to < node_of.size() && node_of[to] == launch_.node() && envelope.bytes <= kLetterBytes &&
                     envelope.bytes == request.payload.size() && envelope.total_bytes <= kMostBytes &&
                     envelope.offset <= envelope.total_bytes &&
                     envelope.bytes <= envelope.total_bytes - envelope.offset &&
                     (envelope.bytes > 0 || envelope.total_bytes == 0) && Rank{envelope.from} == request.origin;
  if (!sound) return progress::Outcome::refused;
  return inbox_of(Rank{body.to}).put(envelope, request.payload) ? progress::Outcome::done : progress::Outcome::retry;
}

Status Letters::send(Rank to, const Subject& subject, ByteView message) {
  if (message.size() > kMostBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("{} bytes are too many for an exchange; {} go at most", message.size(), kMostBytes));
  }
  const bool local = is_local(to);
  Envelope envelope{subject.group, subject.sequence, static_cast<std::int32_t>(index(launch_.rank())), subject.step,
                    static_cast<std::uint32_t>(message.size())};
  std::uint32_t letters = 0;
  do {  // an empty message is a letter, too
    const ByteView content = message.subspan(envelope.offset, std::min(message.size() - envelope.offset, kLetterBytes));
    envelope.bytes = static_cast<std::uint32_t>(content.size());
    const bool acknowledged = ++letters % kLettersPerAnswer == 0;
    GRAPNEL_TRY(local ? send_local(to, envelope, content) : send_away(to, envelope, content, acknowledged));
    envelope.offset += envelope.bytes;
  } while (envelope.offset < message.size());
  return {};
}

Status Letters::send_local(Rank to, const Envelope& envelope, ByteView content) {
  Inbox& inbox = inbox_of(to);
  if (inbox.put(envelope, content)) return {};
  InboxWords& words = inbox.words();
  // seq_cst: pairs with the owner's look after it moved its head.
  words.waiting_for_room.fetch_add(1, std::memory_order_seq_cst);
  Status waited = waiting_.on_word(
      words.departures,
      [&](std::uint32_t&) {
        collect();
        return inbox.put(envelope, content);
      },
      progress::Waiting::kForever, progress::Waiting::kLongestSleep_ns,
      [to] {
        return progress::WaitSubject{progress::WaitKind::inbox, "allgather", {index(to)}};
      });
  words.waiting_for_room.fetch_sub(1, std::memory_order_relaxed);
  return waited;
}

Status Letters::send_away(Rank to, const Envelope& envelope, ByteView content, bool acknowledged) {
  const NodeId node = launch_.nodes().node_of[index(to)];
  // Read before the guard: it may lie in the shared heap, where a fault needs the client.
  std::array<std::byte, kLetterBytes> copy;
  std::copy(content.begin(), content.end(), copy.begin());
  progress::Client::Guard guard(*client_);
  GRAPNEL_TRY(wait_for_window(node, content.size()));
  GRAPNEL_TRY(hand_on(to, envelope, ByteView(copy).first(content.size()), acknowledged ? &unacknowledged_ : nullptr));
  messages_sent_.add(1);
  if (!acknowledged) return client_->drain(node);
  return client_->wait_until(
      [&] {
        collect();
        return unacknowledged_ == 0;
      },
      progress::Waiting::kForever,
      [node] {
        return progress::WaitSubject{progress::WaitKind::answer, "allgather", {index(node)}};
      });
}

// A letter that waits for room in an inbox holds up what its origin has sent behind it: so its owner must not wait for
// room in a window without emptying it.
Status Letters::wait_for_window(NodeId node, std::size_t bytes) {
  GRAPNEL_TRY(client_->endpoint(node).status());
  if (client_->sends_at_once(node, bytes)) return {};
  return client_->wait_until(
      [&] {
        collect();
        return client_->sends_at_once(node, bytes);
      },
      progress::Waiting::kForever,
      [node] {
        return progress::WaitSubject{progress::WaitKind::window, "allgather", {index(node)}};
      });
}

Status Letters::hand_on(Rank to, const Envelope& envelope, ByteView content, std::uint32_t* unacknowledged) {
  const LetterBody body{static_cast<std::int32_t>(index(to)), 0, envelope};
  progress::OutgoingRequest request;
  request.handler = kLetterHandler;
  request.body = base::bytes_of(body);
  request.payload = content;
  if (unacknowledged != nullptr) {
    ++*unacknowledged;
    request.on_reply = {[](void* count, const progress::Reply&) { --*static_cast<std::uint32_t*>(count); },
                        unacknowledged};
  }
  return client_->send(launch_.nodes().node_of[index(to)], request).status();
}

void Letters::collect() {
  const base::MutexLock lock(mutex_);
  collect_locked();
}

void Letters::collect_locked() {
  while (auto letter = mine_.take()) {
    const Envelope& envelope = letter->envelope;
    const Name name{{envelope.group, envelope.sequence, envelope.step}, Rank{envelope.from}};
    auto found = messages_.find(name);
    if (found == messages_.end()) {
      if (envelope.offset != 0) {
        base::log_warn("dropped a letter of rank {} whose beginning never came", envelope.from);
        continue;
      }
      found = messages_.try_emplace(name).first;
      found->second.total_bytes = envelope.total_bytes;
      if (++kept_of_[index(name.from)] > kMostKept) {
        launch_.abort(1, fmt::format("rank {} has sent {} messages for collective calls of groups in which rank {} "
                                     "does not take part; no program of this version does",
                                     envelope.from, kMostKept, index(launch_.rank())));
      }
    }
    add(found->second, *letter);
  }
}

// The letters of a message come in their order. By what came, and not by what was promised, grows what is kept.
void Letters::add(Message& message, const Letter& letter) {
  const Envelope& envelope = letter.envelope;
  if (envelope.offset != message.content.size() || envelope.total_bytes != message.total_bytes ||
      (message.complete() && message.begun)) {
    launch_.abort(1, fmt::format("rank {} has sent bytes from {} of a message of {} bytes to rank {}, which has {} of "
                                 "{}; no program of this version does",
                                 envelope.from, envelope.offset, envelope.total_bytes, index(launch_.rank()),
                                 message.content.size(), message.total_bytes));
  }
  message.begun = true;
  message.content.insert(message.content.end(), letter.content.begin(), letter.content.end());
}

// Only this rank's own server brings letters of other nodes here, so the thread that does its work need not look at
// anything else.
Status Letters::wait(bool from_away, const std::function<bool()>& ready, const progress::WaitSubject& subject) {
  const auto about = [&subject] { return subject; };
  if (server_ != nullptr && from_away) {
    if (ready()) return {};
    progress::Server::Driver driver(*server_);
    if (driver.has_turn()) return waiting_.on_worker(driver, ready, progress::Waiting::kForever, about);
  }
  return waiting_.on_word(
      mine_.words().arrivals, [&](std::uint32_t&) { return ready(); }, progress::Waiting::kForever,
      progress::Waiting::kLongestSleep_ns, about);
}

Result<Bytes> Letters::receive(Rank from, const Subject& subject) {
  std::optional<Bytes> message;
  GRAPNEL_TRY(wait(!is_local(from), [&] { return (message = try_receive(from, subject)).has_value(); },
                   {progress::WaitKind::message, "allgather", {index(from)}}));
  return *std::move(message);
}

}  // namespace grapnel::exchange
