// Letters for a rank that does not wait for them: while it waits for something else.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "base/check.hpp"
#include "exchange/letters.hpp"

namespace grapnel::exchange {

Status Letters::prepare(Rank to) {
  if (is_local(to)) return {};
  const progress::Client::Guard guard(*client_);
  return client_->endpoint(launch_.nodes().node_of[index(to)]).status();
}

Envelope Letters::next_letter(const OutgoingMessage& message) const {
  const std::size_t total = message.content.size(), bytes = std::min(total - message.sent, kLetterBytes);
  const Subject& subject = message.subject;
  return {subject.group,
          subject.sequence,
          static_cast<std::int32_t>(index(launch_.rank())),
          subject.step,
          static_cast<std::uint32_t>(total),
          static_cast<std::uint32_t>(message.sent),
          static_cast<std::uint32_t>(bytes)};
}

// Where it cannot go on, it empties this rank's inbox, as `send` does: two that only send, with full inboxes, would
// wait for each other.
Result<bool> Letters::try_send(OutgoingMessage& message) {
  GRAPNEL_ASSERT(message.content.size() <= kMostBytes, "a message of {} bytes", message.content.size());
  const bool local = is_local(message.to);
  while (!message.all_sent()) {
    const Envelope envelope = next_letter(message);
    const ByteView content = ByteView(message.content).subspan(message.sent, envelope.bytes);
    bool sent = false;
    if (local) {
      sent = inbox_of(message.to).put(envelope, content);
    } else {
      GRAPNEL_ASSIGN_OR_RETURN(sent, try_send_away(message, envelope, content));
    }
    if (!sent) {
      collect();
      return false;
    }
    ++message.letters;
    message.sent += envelope.bytes;
  }
  return local ? Result<bool>(true) : has_left(launch_.nodes().node_of[index(message.to)]);
}

// As `send`: after every fourth letter of a message none goes before the answer is here.
Result<bool> Letters::try_send_away(OutgoingMessage& message, const Envelope& envelope, ByteView content) {
  const NodeId node = launch_.nodes().node_of[index(message.to)];
  std::uint32_t& unacknowledged = unacknowledged_of_[index(node)];
  const progress::Client::TryGuard guard(*client_);
  if (!guard) return false;
  const auto may_send = [&] { return unacknowledged == 0 && client_->sends_at_once(node, content.size()); };
  if (!may_send()) {
    GRAPNEL_TRY(client_->health());
    client_->progress();
    if (!may_send()) return false;
  }
  const bool acknowledged = (message.letters + 1) % kLettersPerAnswer == 0;
  GRAPNEL_TRY(hand_on(message.to, envelope, content, acknowledged ? &unacknowledged : nullptr));
  return true;
}

// No thread moves a rank's messages while it computes.
Result<bool> Letters::has_left(NodeId node) {
  const progress::Client::TryGuard guard(*client_);
  if (!guard) return false;
  if (client_->try_drain(node)) return true;
  GRAPNEL_TRY(client_->health());
  client_->progress();
  return client_->try_drain(node);
}

std::optional<Bytes> Letters::try_receive(Rank from, const Subject& subject) {
  const base::MutexLock lock(mutex_);
  collect_locked();
  const auto found = messages_.find({subject, from});
  if (found == messages_.end() || !found->second.complete()) return std::nullopt;
  std::optional<Bytes> content(std::move(found->second.content));
  --kept_of_[index(from)];
  messages_.erase(found);
  return content;
}

void Letters::visit_kept(std::uint64_t group, std::uint64_t sequence,
                         const std::function<void(Rank, ByteView)>& visit) {
  const base::MutexLock lock(mutex_);
  for (auto at = messages_.lower_bound({{group, sequence, 0}, Rank{0}}); at != messages_.end(); ++at) {
    const Name& name = at->first;
    if (name.subject.group != group || name.subject.sequence != sequence) break;
    visit(name.from, at->second.content);
  }
}

}  // namespace grapnel::exchange
