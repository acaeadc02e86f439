// What updates the words of an allocation, and those of a set of locks.
//
// A word is updated by one thing only: the processors of its node, or the network adapters. The two are not atomic
// against each other, so a call that would mix them is refused.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel {

enum class AtomicDomain {
  processor,  ///< ranks of the node by instructions, others through the node's server
  /// The adapter of the word's node, for all ranks, those of its node too: no processor of the node takes part. For
  /// fetch_and_add, swap and compare_and_swap of aligned 64-bit words; accumulates and updates are refused. Needs
  /// adapters that do it (`grapnel info`), and every node's leading rank in the group; in a job of one node the
  /// processor does it. Only members reach the words with atomics.
  network,
};

}  // namespace grapnel
