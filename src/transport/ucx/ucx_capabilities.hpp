// Which UCX transports there are, and what each does without the target's processor.
//
// UCX emulates put and get where a transport lacks them: the target's worker must then be progressed and any address is
// written unchecked. Nothing in UCP's interface (1.13) separates the two, so this table does; the conformance suite
// checks its rows where the machine has the transport.
//
// Threads: stateless, any thread.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "grapnel/status.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport {

/// One row of `grapnel info`: a transport on a device of this machine.
struct TransportRow {
  std::string name;    ///< UCX's name, as UCX_TLS takes it
  std::string device;  ///< as UCX_NET_DEVICES takes it
  bool native_put = false;
  bool native_get = false;
  bool detects_dead_peers = false;
  std::string how;  ///< what carries out a put or get: "network adapter", "origin's processor", "messages"
};

/// What UCX finds on this machine, in UCX's order. Opens and closes every memory domain: milliseconds. Errors: system.
Result<std::vector<TransportRow>> describe_transports();

/// Which atomics an adapter's row executes; none of others. Opens and closes an interface: milliseconds.
NativeAtomics atomics_of(const TransportRow& row);

namespace ucx {

/// What carries out a put or get.
enum class NativeWay {
  none,          ///< the target's processor, through messages
  adapter,       ///< the network adapter: ucp_put and ucp_get
  process_copy,  ///< the origin's kernel copies between the two processes
};

struct TransportFact {
  std::string_view name;     ///< UCX's transport
  std::string_view aliases;  ///< space-separated names of families in UCX_TLS that include it
  bool within_machine;       ///< reaches only this machine
  NativeWay native;
  bool detects_dead_peers;  ///< takes part in UCP_ERR_HANDLING_MODE_PEER
  bool leaves_in_turn;      ///< takes a message only when all before it have left this process for good
  std::string_view how;
};

/// The fact for a transport's name, or null for one that the table does not know (then nothing is assumed of it).
const TransportFact* find_fact(std::string_view name);

/// True when the list `tls` (the syntax of UCX_TLS: names and families by commas, "all", a leading ^ excludes) selects
/// it.
bool selects(std::string_view tls, const TransportFact& fact);

}  // namespace ucx
}  // namespace grapnel::transport
