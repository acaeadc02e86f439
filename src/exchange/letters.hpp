// Messages of any length from rank to rank, for collectives of groups: small things that need no memory of their own.
//
// A message is named by group, exchange, step and sender, and waits for its receiver under that name, so exchanges of
// groups that overlap do not mix, whatever the order of their letters. On the node it is put into the receiver's inbox;
// elsewhere the receiver's server puts it there, and tries again later where the inbox is full.
//
// Full inboxes cause no deadlock: a rank that waits for room, in an inbox or in a server's window, or for the
// acknowledgement of a long message, empties its own inbox while it waits.
//
// Memory: 2 MiB of a node's memory for all its inboxes, 16 to 128 KiB for each. Messages between nodes: one per 4 KiB,
// and one answer per 16 KiB of a message.
// Without waiting: `try_send` and `try_receive`, for what goes on while the rank waits for something else.
// Threads: `send` and `receive` by one thread of a rank at a time; beside them, any thread tries.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "base/count.hpp"
#include "base/mutex.hpp"
#include "exchange/inbox.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "progress/client.hpp"
#include "progress/handlers.hpp"
#include "progress/server.hpp"
#include "progress/waiting.hpp"

namespace grapnel::exchange {

/// What a message is for; its sender and receiver give it the same name.
struct Subject {
  std::uint64_t group = 0;
  std::uint64_t sequence = 0;
  std::uint32_t step = 0;

  bool operator<(const Subject& other) const {
    return std::tie(group, sequence, step) < std::tie(other.group, other.sequence, other.step);
  }
};

/// A message that leaves letter by letter, as there is room for them. It stays where it is until it has left.
struct OutgoingMessage {
  Rank to{};
  Subject subject;
  Bytes content;
  std::uint32_t letters = 0;  ///< that were put into the inbox, or sent
  std::size_t sent = 0;       ///< bytes in them

  bool all_sent() const { return letters > 0 && sent == content.size(); }
};

/// Of node memory: the inboxes of a node.
std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node);

class Letters {
 public:
  /// Longer messages are a mistake of ours, or a stranger's.
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  /// Messages of one sender that wait for a call of their receiver: far more than calls can be apart.
  static constexpr std::uint32_t kMostKept = 8192;

  /// Collective in the order of carving. `client` is null in a job of one node, `server` also where this rank does not
  /// lead its node.
  Letters(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client, progress::Server* server);

  /// The server's part; only where this rank leads its node.
  void add_handlers(progress::HandlerTable& table);

  /// Returns when the message is in the receiver's inbox, or has left this process. Errors: peer_dead,
  /// invalid_argument (longer than kMostBytes).
  Status send(Rank to, const Subject& subject, ByteView message);
  /// Waits for the message of that name. Errors: peer_dead.
  Result<Bytes> receive(Rank from, const Subject& subject);

  /// Before the first `try_send` to that rank: connects its node. Errors: peer_dead.
  Status prepare(Rank to);
  /// Sends what goes without waiting: whether all of the message has left. Errors: peer_dead, system.
  Result<bool> try_send(OutgoingMessage& message);
  /// The message of that name, where it has come.
  std::optional<Bytes> try_receive(Rank from, const Subject& subject);
  /// What has come for any step of that exchange and was not received yet: `visit(from, content so far)`.
  void visit_kept(std::uint64_t group, std::uint64_t sequence, const std::function<void(Rank, ByteView)>& visit);
  /// Waits until `ready()`, which is called when letters have come, and now and then. `from_away`: a letter of another
  /// node is awaited. Errors: peer_dead.
  Status wait(bool from_away, const std::function<bool()>& ready, const progress::WaitSubject& subject);

  /// Empties my inbox: for a caller that waits for something else, while others may wait for room in it.
  void collect();

  bool is_local(Rank rank) const { return launch_.nodes().node_of[index(rank)] == launch_.node(); }
  /// Sent to other nodes so far, by `send`.
  std::uint64_t messages() const { return messages_sent_.value(); }

 private:
  /// Of a long message, every so many letters are acknowledged before the next ones go: far less than a window.
  static constexpr std::uint32_t kLettersPerAnswer = 4;

  struct Name {
    Subject subject;
    Rank from{};
    bool operator<(const Name& other) const { return std::tie(subject, from) < std::tie(other.subject, other.from); }
  };
  struct Message {
    Bytes content;
    std::size_t total_bytes = 0;
    bool begun = false;
    bool complete() const { return content.size() == total_bytes; }
  };

  Inbox& inbox_of(Rank local) { return inboxes_[place_[index(local)]]; }
  progress::Outcome deliver(progress::Request& request);
  Status send_local(Rank to, const Envelope& envelope, ByteView content);
  Status send_away(Rank to, const Envelope& envelope, ByteView content, bool acknowledged);
  /// Hands one letter to the client, which is guarded; a reply counts `unacknowledged` down again, where it is given.
  Status hand_on(Rank to, const Envelope& envelope, ByteView content, std::uint32_t* unacknowledged);
  Result<bool> try_send_away(OutgoingMessage& message, const Envelope& envelope, ByteView content);
  Result<bool> has_left(NodeId node);
  Envelope next_letter(const OutgoingMessage& message) const;
  /// Of that node's server: a letter would not wait in the window. Empties my inbox while it waits.
  Status wait_for_window(NodeId node, std::size_t bytes);
  /// Empties my inbox into `messages_`.
  void collect_locked() GRAPNEL_REQUIRES(mutex_);
  void add(Message& message, const Letter& letter) GRAPNEL_REQUIRES(mutex_);

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  progress::Client* client_;
  progress::Server* server_;
  std::vector<std::size_t> place_;                                 ///< by rank: which inbox of its node is its
  std::vector<Inbox> inboxes_;                                     ///< of the node's ranks
  base::Mutex mutex_;                                              ///< no wait is inside
  Inbox& mine_;                                                    ///< taken from with the mutex
  std::map<Name, Message> messages_ GRAPNEL_GUARDED_BY(mutex_);    ///< that came before they were asked for, or in part
  std::vector<std::uint32_t> kept_of_ GRAPNEL_GUARDED_BY(mutex_);  ///< messages, by sender
  // Members, so that late answers find them; the client's guard is theirs.
  std::uint32_t unacknowledged_ = 0;              ///< of `send`
  std::vector<std::uint32_t> unacknowledged_of_;  ///< of `try_send`, by node
  base::Count messages_sent_;                     ///< of `send`, to other nodes
};

}  // namespace grapnel::exchange
