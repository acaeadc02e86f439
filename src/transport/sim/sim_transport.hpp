// The transport contract over the simulated network.
//
// Every call reads the virtual clock, so it is a yield point. Besides carrying messages a worker checks its user: one
// thread at a time, no `progress`, `connect` or `sleep` from inside a sink, sizes within the limits, one flush per
// endpoint, payloads unchanged until their completion. A breach is our bug and ends the process with what and where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "base/random.hpp"
#include "os/host.hpp"
#include "transport/sim/sim_atomics.hpp"
#include "transport/sim/sim_native.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/transport.hpp"

namespace grapnel::transport::sim {

class SimTransport final : public Transport {
 public:
  SimTransport(SimNetwork& network, Rank rank, os::Host& host);

  const Capabilities& capabilities() const override { return capabilities_; }
  Result<std::unique_ptr<Worker>> create_worker(MessageSink& sink) override;
  Result<std::unique_ptr<RegisteredMemory>> register_memory(ByteSpan memory, Access access) override;

 private:
  SimNetwork& network_;
  const Rank rank_;
  os::Host& host_;
  Capabilities capabilities_;
  std::atomic<std::uint64_t> workers_made_{0};
};

class SimWorker final : public Worker {
 public:
  SimWorker(SimNetwork& network, os::Host& host, MessageSink& sink, Rank rank, std::uint64_t seed);
  ~SimWorker() override;

  Bytes address() const override;
  Result<EndpointId> connect(ByteView address) override;
  Result<Sent> send(EndpointId to, ByteView header, ByteView payload, Completion completion) override;
  Result<Sent> send_whole(EndpointId to, ByteView header, ByteView payload, Completion completion) override;
  Result<Sent> reply(ReplyPath to, ByteView header, ByteView payload, Completion completion) override;
  void receive(BulkHandle bulk, ByteSpan place, Completion landed) override;
  void decline(BulkHandle bulk) override;
  Result<Sent> put(EndpointId to, ByteView local, std::uintptr_t remote_address, const RemoteKey& key,
                   Completion completion) override;
  Result<Sent> get(EndpointId from, ByteSpan local, std::uintptr_t remote_address, const RemoteKey& key,
                   Completion completion) override;
  Result<std::unique_ptr<RemoteKey>> import_key(EndpointId endpoint, ByteView key) override;
  Result<Sent> open_atomics(EndpointId to, Completion completion) override;
  Result<Sent> atomic(EndpointId to, const Atomic& what, std::uint64_t* old_value, std::uintptr_t remote_address,
                      const RemoteKey& key, Completion completion) override;
  Result<Sent> flush(EndpointId endpoint, Completion completion) override;
  bool progress() override;
  void sleep(std::uint64_t timeout_ns) override;
  bool arm() override;
  void doze(std::uint64_t timeout_ns) override;
  void lend() override {}
  void take_back() override { inbox_.nudge(host_); }
  void wake() override;
  std::size_t endpoint_count() const override { return endpoints_.size(); }

 private:
  class Use;

  // A bulk message of ours, announced and not taken yet.
  struct Bulk {
    Line* line = nullptr;
    ByteView payload;
    std::uint64_t payload_hash = 0;
    Completion completion;
    std::uint64_t sequence = 0;
  };
  // One that was announced to us.
  struct Arrival {
    std::uint64_t number = 0;
    Line* back = nullptr;
    std::uint64_t bulk = 0;
    std::size_t bytes = 0;
    bool landing = false;
    ByteSpan place;
    Completion completion;
  };
  struct Landed {
    Completion completion;
    Status outcome;
  };

  Line& line_of(EndpointId endpoint);
  void list(Line& line);
  Status failure_of(const Line& line, std::uint64_t now_ns) const;
  Result<Sent> post(Line& line, ByteView header, ByteView payload, Completion completion,
                    std::size_t most_whole_bytes = kMaxPayloadBytes);
  bool has_room(const Line& line, std::size_t bytes) const;
  void depart(Line& line, Packet packet, std::uint64_t now_ns);

  // Bulk: sim_bulk.cpp
  Result<Sent> announce(Line& line, ByteView header, ByteView payload, Completion completion, std::uint64_t now_ns);
  void answer_bulk(const Arrival& arrival, PacketKind kind);
  void offer(Line& back, const Packet& packet);
  void send_payload(const Packet& taken);
  void bulk_was_declined(const Packet& declined);
  void land(const Packet& packet);
  bool tell_what_landed();
  void fail_bulk(const Line& line, const Status& why);
  bool has_bulk(const Line& line, std::uint64_t last_sequence) const;
  bool tell_failures(std::uint64_t now_ns);
  void fail_line(Line& line, const Status& why);
  bool move_backlog(Line& line, std::uint64_t now_ns);
  bool flush_is_over(const Line& line, std::uint64_t now_ns) const;
  bool finish_flush(Line& line, std::uint64_t now_ns);
  bool deliver(std::uint64_t now_ns);
  bool is_deaf(std::uint64_t now_ns);
  std::uint64_t next_due_ns(std::uint64_t now_ns, std::uint64_t next_arrival_ns) const;
  void notify(const Completion& completion, const Status& outcome);

  SimNetwork& network_;
  os::Host& host_;
  MessageSink& sink_;
  const Rank rank_;
  const NetworkOptions& options_;
  base::Random random_;
  Mailbox& inbox_;
  NativeQueue natives_;
  AtomicQueue atomics_;
  std::vector<Line*> endpoints_;                                ///< by EndpointId
  std::vector<Line*> lines_;                                    ///< endpoints, and the ways back that were used
  std::uint64_t sequence_ = 0;                                  ///< of sends and puts
  std::map<std::uint64_t, Bulk> bulks_;                         ///< by number
  std::map<std::uint64_t, std::unique_ptr<Arrival>> arrivals_;  ///< by number
  std::vector<Landed> landed_;                                  ///< since the last tell_what_landed
  std::uint64_t next_bulk_ = 1;
  std::uint64_t deaf_until_ns_ = 0;
  std::uint64_t cuts_seen_ = 0;
  std::uint64_t next_cut_ns_ = kNever;  ///< the earliest cut that is known and lies ahead
  bool in_callback_ = false;
  // Of the last `arm`; relaxed: `doze` may find those of an earlier one, and then ends early.
  std::atomic<std::uint32_t> armed_bell_{0};
  std::atomic<std::uint64_t> armed_until_ns_{0};
  std::atomic<std::uint64_t> user_{0};  ///< the thread inside a call; 0: none
};

}  // namespace grapnel::transport::sim
