// What the ranks of a node share for their collectives, in node memory: words per group, and two posts per rank.
//
// A collective goes in phases. In each, a rank may show the others of its node something in one of its posts, even and
// odd phases in turn:
//
//   enter    all have arrived at the phase before; my post of this parity is free ─▶ write call and content
//   arrive   arrived += 1
//   read     the posts of others, once all have arrived, or once the one that matters is shown (shown += 1)
//   leave    left[parity] += 1
//
//   rank A   │ enter 5 │ arrive │ …wait for all… │ read B's post │ leave │ enter 6 …
//   rank B   │ enter 5          │ arrive │ read A's post │ leave │ enter 6 …
//
// Invariants (k: a phase of one group, n: its members on the node):
//  1. No rank arrives at k + 1 before all have arrived at k. So at `arrived` ≥ n·k all have arrived at k, and a rank
//     is one phase ahead of another at most.
//  2. A rank leaves k before it arrives at k + 1. So when all have arrived at k + 1, the posts of phase k have no
//     reader and may be written for k + 2.
//  3. A rank is in phases of several groups by turns, with the same two posts: it writes a post last used for another
//     group only when all have left that phase. Of phases of one parity, a rank is at most in the one that others are
//     in, so `left` needs a word for each parity.
//  4. `shown` is counted up by one rank at a time: a phase has one rank that shows, and it arrives afterwards.
//
// Memory: kEntries entries, and two posts per rank, however many groups there are.
// Threads: of one rank one at a time.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/check.hpp"
#include "base/units.hpp"
#include "collective/call.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"
#include "launch/group_entries.hpp"
#include "launch/launch.hpp"
#include "progress/gate.hpp"
#include "progress/waiting.hpp"

namespace grapnel::collective {

inline constexpr std::size_t kPostBytes = 32 * base::kKiB;

struct alignas(base::kCacheLineBytes) GroupEntry {
  std::uint64_t key = 0;         ///< of the group; under the table's lock
  std::uint32_t references = 0;  ///< ranks of this node that hold it; 0: free. Under the table's lock
  alignas(base::kCacheLineBytes) progress::Gate arrived;
  alignas(base::kCacheLineBytes) progress::Gate shown;
  alignas(base::kCacheLineBytes) progress::Gate left[2];
};

/// What a rank shows in a phase. The content begins in the line of the call, for small values.
struct alignas(base::kCacheLineBytes) Post {
  Call call;
  std::uint64_t phase = 0;
  std::byte content[kPostBytes];
};

/// A rank's part in the collectives of a group on its node.
struct NodeMembership {
  std::vector<Rank> local;  ///< the group's members on this node, ascending
  std::uint32_t place = 0;  ///< mine among them
  GroupEntry* entry = nullptr;
  std::uint32_t number = 0;    ///< of the entry
  std::uint64_t phase = 0;     ///< the last one entered; outlives a release
  std::uint32_t showings = 0;  ///< so far; likewise

  std::uint32_t size() const { return static_cast<std::uint32_t>(local.size()); }
  bool held() const { return entry != nullptr; }
};

class NodeWords {
 public:
  static constexpr std::uint32_t kEntries = 2048;
  static std::size_t node_memory_bytes(const launch::NodeMap& nodes, NodeId node);

  /// Collective in the order of carving.
  NodeWords(launch::Launch& launch, progress::Waiting& waiting);

  /// Before the first phase. Errors: unavailable when kEntries groups have collectives on this node; peer_dead.
  Status attach(const launch::Group& group, NodeMembership& mine);
  /// After the last one. Waits until the others have read what this rank showed. Errors: peer_dead.
  Status release(NodeMembership& mine);

  /// The next phase. Waits until all have arrived at the one before, and until my post is free. Errors: peer_dead.
  Status enter(NodeMembership& mine, const Call& call);
  ByteSpan my_content(const NodeMembership& mine) { return post_of(mine, mine.place, mine.phase).content; }
  void arrive(NodeMembership& mine) {
    GRAPNEL_ASSERT(mine.held() && mine.phase > 0, "place {} arrives in phase {}", mine.place, mine.phase);
    mine.entry->arrived.arrive(waiting_.host(), count_of(mine, mine.phase));
  }
  /// Errors: peer_dead.
  Status wait_for_all(const NodeMembership& mine);
  /// What the member at `place` shows in `phase`, which is mine or the one before; it has been waited for. Ends the job
  /// where that member called something else.
  const std::byte* content_of(const NodeMembership& mine, std::uint32_t place, std::uint64_t phase, const Call& call);
  /// Instead of `wait_for_all`, in a phase in which one rank shows something to the others: that rank, before it
  /// arrives, and the others. Every member calls one of them.
  void show(NodeMembership& mine) {
    ++mine.showings;
    mine.entry->shown.open(waiting_.host());
  }
  Status wait_for_shown(NodeMembership& mine);
  /// I read no post of `phase` any more.
  void leave(NodeMembership& mine, std::uint64_t phase) {
    GRAPNEL_ASSERT(phase == mine.phase || phase + 1 == mine.phase, "leaves phase {} in phase {}", phase, mine.phase);
    mine.entry->left[phase % 2].arrive(waiting_.host(), left_count(mine, phase));
  }

 private:
  struct LastUse {
    GroupEntry* entry = nullptr;  ///< null: no rank reads the post
    std::uint32_t left = 0;       ///< what its `left` comes to when all have left
    const std::vector<Rank>* members = nullptr;
  };

  /// Of gates that all count up: at the end of a phase.
  static std::uint32_t count_of(const NodeMembership& mine, std::uint64_t phase) {
    return static_cast<std::uint32_t>(phase * mine.size()) & progress::Gate::kCountMask;
  }
  static std::uint32_t left_count(const NodeMembership& mine, std::uint64_t phase) {
    return count_of(mine, (phase + 1) / 2);  // phases of its parity so far
  }
  Post& post_of(const NodeMembership& mine, std::uint32_t place, std::uint64_t phase) {
    return posts_[2 * place_[index(mine.local[place])] + phase % 2];
  }
  Status wait_until_free(std::size_t parity);
  [[noreturn]] void blame(const NodeMembership& mine, std::uint32_t place, std::uint64_t phase, const Call& call);

  launch::Launch& launch_;
  progress::Waiting& waiting_;
  launch::GroupEntries<GroupEntry> entries_;
  std::span<Post> posts_;           ///< two per rank of the node
  std::vector<std::size_t> place_;  ///< by rank: its place among its node's
  LastUse last_use_[2];             ///< of my posts, by parity
};

}  // namespace grapnel::collective
