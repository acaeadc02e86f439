// What the locks put on the wire.
//
//   body := LockBody [Tally] payload     Tally: in front of a releaser's payload, in sets with the shared mode of
//                                        shared_mode.hpp; payload: the user's bytes, kMostLockPayload at most
//
// `kLockAskHandler` is answered (with a LockBody and maybe a payload), at once or when the lock is granted;
// `kLockTellHandler` is one-way, from a rank or from another node's server. `kLockSetHandler` (LockSetBody, and a bit
// per rank of the job, set for members) is a rank's request to its own server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <type_traits>

#include "grapnel/lock.hpp"
#include "progress/message.hpp"

namespace grapnel::locks {

inline constexpr progress::HandlerId kLockAskHandler = 34;
inline constexpr progress::HandlerId kLockTellHandler = 35;
inline constexpr progress::HandlerId kLockSetHandler = 36;

enum class Verb : std::uint16_t {
  // asked of the home
  enqueue,  ///< queues `me`; the answer names the place before it
  attempt,  ///< takes the lock if it is free; the answer: whether
  compare,  ///< replaces the word `other` by `me`; the answer's `other` is the old one
  read,     ///< the answer's `value` is the ticket that is served
  // told
  link,    ///< to the server of `other`: `me` is behind it
  grant,   ///< to the server of `me`: the lock is yours; `other` (of an McsQueue) held it last
  free,    ///< to the home: `me` has released and knows no successor
  cancel,  ///< to the home: takes `me` out of the queue; its `enqueue` is answered, with `flag` kCancelled. Without
           ///< effect where `me` is not there any more: the answer is under way
  look,    ///< to the home: a ticket is served that a rank of another node may hold
  want_shared,  ///< to the home: the node `me` wants readers' access (`flag`: reader_writer.hpp, Wish) …
  want_sole,    ///< … or a writer's; `flag` 1: and gives back its shared grant
  give_back,    ///< to the home: the node `me` gives its grant back; `flag` 1: and wants a shared one again
  recall,       ///< to the server of `me`: give the shared grant back (reader_writer's grants say in `value` who had it
                ///< last, as the node + 1; 0: it was free)
  grant_shared,  ///< to the server of `me`; `flag` 1: and give it back when the readers that wait now are done
  died,          ///< to every other node: `me`, a rank of the sender's node that held the lock, has died
  // the shared mode around an algorithm (shared_mode.hpp)
  await_readers,  ///< asked of the home: answers with `flag` 0 once `value` readers have left in all. `flag` 1: answers
                  ///< now, with 0 or, where some are inside, 1
  reader_left,    ///< to the home: `flag` 1: a reader of another node has left; 0: the one of the home's own node that
                  ///< was awaited has left, and is counted already
  stop_awaiting,  ///< to the home: the sender gives up; its `await_readers` is answered with `flag` 1. Without effect
                  ///< where the answer is under way
  join_readers    ///< asked of the home: where a writer waits for readers, the sender is inside beside them from the
                  ///< answer on; the answer's `flag` 1: it is, 0: it is not
};

/// What the holders of a lock hand on beside its payload, where readers pass through it.
struct Tally {
  std::uint32_t admitted = 0;      ///< readers that were admitted so far, modulo 2^32
  std::uint32_t since_writer = 0;  ///< 1: some of them since the last writer, so that one may be inside
};
inline constexpr std::size_t kMostLockBytes = sizeof(Tally) + kMostLockPayload;  ///< behind a body

struct LockBody {
  std::uint64_t set = 0;  ///< its number (lock_set.hpp)
  Verb verb{};
  std::uint16_t flag = 0;
  std::int32_t home = 0;
  std::int32_t index = 0;
  std::uint32_t unused = 0;
  std::uint64_t me = 0;
  std::uint64_t other = 0;
  std::uint64_t value = 0;
};

/// There is (or no longer is) a set of which the node's leader is no member: its server answers for it all the same.
struct LockSetBody {
  std::uint64_t set = 0;
  std::uint64_t block = 0;  ///< the node's block (lock_memory.hpp): its address
  std::uint64_t payload_bytes = 0;
  std::uint64_t lines = 0;
  std::uint32_t kind = 0;
  std::int32_t count = 0;
  std::uint32_t ends = 0;
  std::uint32_t shared_mode = 0;
};

static_assert(std::has_unique_object_representations_v<LockBody> && std::has_unique_object_representations_v<Tally> &&
                  std::has_unique_object_representations_v<LockSetBody>,
              "they travel: no byte is left unwritten");
static_assert(sizeof(LockBody) + kMostLockBytes <= progress::kMaxBodyBytes);

}  // namespace grapnel::locks
