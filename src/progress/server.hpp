// A node's server: the thread that executes what remote ranks ask of this node's memory, so that its ranks never need
// to.
//
// It lives in the process of the node's leader, which has every segment of the node mapped, and owns the node's receive
// worker. Its loop: take messages, execute them, retry what had to wait, give the window back, and when there is
// nothing to do wait as the progress mode says. Handlers never wait.
//
// Invariants:
//  1. Requests of one origin are executed in the order they came; while one is parked, or its bulk payload is landing,
//     later ones queue behind it. Only bulk payloads that do not overlap land together, two at most, and they too are
//     settled in order.
//  2. `handled` of an origin counts executed requests, never goes back, and is reported with every reply.
//  3. What an origin can make the server hold is bounded by its window: a request beyond it is dropped, and one whose
//     answer would be more than a window of answers that have not left is parked until some have. A charge that does
//     not cover the answer is refused. Memory: a window of parked requests and a window of answers per rank at most,
//     and nothing while none is parked and all have left. A bulk payload stays with its sender until its turn has come
//     and then moves to its place.
//  4. Besides answers there is at most one message of counts in flight per origin, so the server never waits for a
//     client that waits for it. What it sends to other servers has credits of its own (server_links.hpp).
//  5. A connection is one origin's, and a rank has one (admission.cpp).
//
// Threads: everything runs in the server's thread, which here and elsewhere means the thread that has the server's
// turn: its own thread or, while that sleeps, another one of the process (Driver). Any thread: construction, `start`,
// `stop` (when no thread is in a call), `ring`, `ring_or_drive` and `statistics`.
// Source: armci-multiprotocol, section 2; thesis, chapter 2 (the server as a thread).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/config.hpp"
#include "grapnel/status.hpp"
#include "launch/launch.hpp"
#include "os/host.hpp"
#include "progress/handlers.hpp"
#include "progress/internal/doorbell.hpp"
#include "progress/internal/server_links.hpp"
#include "progress/message.hpp"
#include "progress/settings.hpp"
#include "progress/waiting.hpp"
#include "transport/transport.hpp"

namespace grapnel::progress {

class Server final : public transport::MessageSink {
 public:
  static Result<std::unique_ptr<Server>> create(const base::Config& config, launch::Launch& launch, Waiting& waiting,
                                                transport::Transport& transport);
  ~Server() override;

  /// Bulk payloads of one origin that land together.
  static constexpr std::size_t kLandingsPerOrigin = 2;

  /// Where the layers above register, before `start`.
  HandlerTable& handlers() { return handlers_; }
  ServerDescription description() const { return {worker_->address(), settings_.window_bytes, alike_}; }

  /// The servers of all nodes, by node, for `tell`. Before `start`.
  void know_servers(std::vector<ServerDescription> servers) { links_.know(std::move(servers)); }

  /// Sends a one-way request to another node's server (server_links.hpp). Never waits. From handlers and watchers only.
  void tell(NodeId node, HandlerId handler, ByteView body, ByteView payload = {}) {
    links_.post(node, handler, body, payload);
  }

  /// What sending one such request takes this server, ns; 0: not known yet. The server's thread only.
  std::uint32_t message_cost_ns() const { return links_.message_cost_ns(); }

  /// Starts the thread, on `cpus`: where any of the node's ranks may run (launchers bind each to a single core).
  Status start(const std::vector<int>& cpus);
  /// Ends the thread; requests that arrive later are lost. Called when no rank will send any more.
  void stop();
  /// The job is about to end in order, and servers with it: one that is silent from now on is not lost. Any thread.
  void leave() { links_.leave(); }
  /// Heartbeats sent to other servers. Any thread.
  std::uint64_t heartbeats() const { return links_.heartbeats(); }
  /// Replies, acknowledgements and requests to other servers: neither heartbeats nor credits. Any thread.
  std::uint64_t messages() const { return replies_.load(std::memory_order_relaxed) + links_.messages(); }

  /// Answers a request whose handler returned `done` without an answer (a queued lock). From handlers only.
  void answer_later(Rank origin, std::uint64_t token, ByteView body);

  /// Counted writes (message.hpp) that were applied or refused, of all origins and of one. The server's thread only.
  std::uint64_t writes_applied() const { return writes_; }
  std::uint64_t writes_applied(Rank origin) const { return origins_[index(origin)].writes; }

  /// `look` is called between messages, and once more before the server sleeps: it does what there is to do and answers
  /// whether there was anything. It may connect and send. Before `start`.
  void add_watcher(std::function<bool()> look) { watchers_.push_back(std::move(look)); }
  /// By this bell the ranks of the node call for a look. Before `start`. Kept as a copy: the client that it came from
  /// ends before the server.
  void listen_to(const Doorbell& bell) { bell_.emplace(bell); }
  /// After work was stored for a watcher; from this process, any thread.
  void ring() {
    if (bell_->must_wake()) worker_->wake();
  }
  /// The same, but where the server sleeps the caller does the work itself: a few steps, without waiting. What is left
  /// then is the server's, which is woken for it.
  void ring_or_drive();

  /// The turn of a sleeping server, as long as this lives: a thread of its process that waits for what the server would
  /// do next does it itself, and saves two wake-ups of a thread, the server's and its own. Has `progress` and `sleep`,
  /// for `Waiting::on_worker`. Rings and messages of others end its sleep, not the server's.
  class Driver {
   public:
    explicit Driver(Server& server);
    ~Driver();
    Driver(const Driver&) = delete;
    Driver& operator=(const Driver&) = delete;
    /// False where the server is awake or about to sleep, or another thread drives it: then nothing else may be called.
    bool has_turn() const { return has_turn_; }
    bool progress() { return server_.move(); }
    void sleep(std::uint64_t timeout_ns);

   private:
    Server& server_;
    const bool has_turn_;
  };

  struct Statistics {
    std::uint64_t handled = 0, refused = 0, foreign = 0, parked = 0, sleeps = 0, turns_taken = 0;
  };
  Statistics statistics() const;
  /// Requests that are parked now. Any thread.
  std::uint64_t parked_now() const {
    const std::uint64_t left = unparked_.load(std::memory_order_relaxed);
    const std::uint64_t all = parked_.load(std::memory_order_relaxed) + bulk_parked_.load(std::memory_order_relaxed);
    return all > left ? all - left : 0;
  }
  bool is_asleep() const { return bell_ && bell_->must_wake(); }

 private:
  struct Origin;
  struct Parked {
    const Handler* handler;
    RequestHeader header;
    Bytes body, payload;
    std::uint64_t resume;
    transport::BulkHandle bulk{};  ///< none: an ordinary request
    ByteSpan place{};              ///< of the bulk payload until it has landed
    Origin* from = nullptr;        ///< of a bulk request
    bool over = false;             ///< a bulk request that waits for an earlier one to be settled, with `outcome`
    Outcome outcome = Outcome::done;
  };
  struct Origin {
    transport::ReplyPath path;
    std::uint64_t handled = 0, released = 0, held = 0;  ///< `held`: charges of parked requests
    std::uint64_t leaving = 0;                          ///< charges of requests whose answers have not left
    std::uint64_t reported_released = 0;
    std::uint64_t writes = 0;  ///< counted ones
    std::uint32_t refused = 0;
    bool counts_in_flight = false;
    std::size_t started = 0;  ///< so many of `parked`, the first ones, wait for a bulk payload or to be settled …
    bool retries = false;     ///< … or the first of them is to be retried
    bool lost = false;        ///< a bulk payload of it did not come: what came after is executed no more
    std::deque<Parked> parked;
    Server* server = nullptr;
  };
  class Execution;
  /// An answer on its way out. Kept for the next one.
  struct Leaving {
    Origin* origin = nullptr;
    std::uint32_t charge = 0;
    transport::Completion sent;
    Leaving* next = nullptr;
  };
  /// The connections on which another node's server sends.
  struct ServerWays {
    const void* first = nullptr;
    const void* second = nullptr;
  };

  Server(const base::Config& config, launch::Launch& launch, Waiting& waiting);

  void run();
  void wait_for_work();
  void wait_for_the_timer();
  void wait_for_a_local_rank();
  void doze();
  bool move();
  bool look();
  void on_message(const transport::Message& message) override;
  void on_bulk(const transport::BulkMessage& message) override;
  void on_endpoint_failure(transport::EndpointId endpoint, const Status& why) override;

  /// Null, or what is wrong with the message.
  const char* fault_of(ByteView front, std::size_t payload_bytes, std::uint32_t least_charge,
                       RequestHeader& header) const;
  /// The handler that the request names, or one that refuses what does not fit it.
  const Handler& handler_for(const RequestHeader& header, ByteView body, bool bulk) const;
  void drop(const char* fault);
  /// Makes the connection this origin's; false where it is another's, or the origin has one. admission.cpp
  bool bind(std::int32_t origin, transport::ReplyPath path);
  bool is_way_of_server(std::int32_t origin, transport::ReplyPath path);
  bool has_room_to_answer(const Origin& origin, const RequestHeader& header) const {
    return origin.leaving + header.charge <= settings_.window_bytes;
  }
  /// The spare one is of an answer that has not left: charged until it has, and another becomes the spare one.
  [[gnu::cold]] void keep_leaving();
  static void answer_left(void* leaving, const Status& outcome);
  void execute_for_server(const RequestHeader& header, ByteView body, ByteView payload);
  void execute_or_park(Origin& origin, const Handler& handler, const RequestHeader& header, ByteView body,
                       ByteView payload);
  Outcome execute(Origin& origin, const Handler& handler, const RequestHeader& header, ByteView body, ByteView payload,
                  std::uint64_t& resume);
  void tell_refusal(const char* name, const RequestHeader& header);
  void settle(Origin& origin, const Handler& handler, const RequestHeader& header, Outcome outcome);
  bool retry_parked();
  bool run_parked(Origin& origin);
  bool start_landing(Origin& origin, Parked& request);
  void payload_landed(Parked& request, const Status& outcome);
  bool settle_first(Origin& origin);
  void forget_parked(Origin& origin);
  void report_counts(Origin& origin);
  /// Released charges that are worth a report. A client that waits for room has more than its window less the charge of
  /// one request outstanding, so all of it must not stay unreported (most_whole_bytes, message.hpp).
  std::uint64_t report_from() const { return settings_.window_bytes / 2 - kRequestCharge; }
  /// `charge`: what the reply takes of its origin's window until it has left.
  void reply(Origin& origin, ReplyCode code, std::uint64_t token, std::uint32_t charge, std::uint64_t handled,
             std::uint64_t released, ByteView body, ByteView payload, transport::Completion sent);

  const Settings settings_;
  const std::string alike_;  ///< base::Config::alike
  launch::Launch& launch_;
  Waiting& waiting_;
  Waiting::CoreSharing neighbour_;
  SpinBudget patience_;
  HandlerTable handlers_;
  std::vector<Origin> origins_;
  std::vector<ServerWays> server_ways_;                      ///< by node
  std::unordered_map<const void*, std::int32_t> origin_of_;  ///< by connection
  std::deque<Leaving> leavings_;
  Leaving* spare_leaving_ = &leavings_.emplace_back();  ///< of the answer that is about to leave
  Leaving* free_leavings_ = nullptr;
  ServerLinks links_;
  std::unique_ptr<transport::Worker> worker_;  ///< ends before the origins: its last completions still find them
  std::size_t retrying_origins_ = 0;
  std::uint32_t vain_looks_ = 0;  ///< in a row, at requests that a local rank holds up
  std::uint64_t writes_ = 0;
  std::vector<std::function<bool()>> watchers_;
  std::optional<Doorbell> bell_;
  std::atomic<bool> stopping_{false};
  os::Word timer_{0};  ///< slept on in the mode `timer`, until the period is over; it never changes
  std::unique_ptr<os::Thread> thread_;
  std::unique_ptr<Metronome> metronome_;
  // Written by the thread that has the turn, read by any: relaxed on both sides.
  std::atomic<std::uint64_t> handled_{0}, replies_{0}, refused_{0}, foreign_{0}, parked_{0}, sleeps_{0},
      turns_taken_{0}, bulk_parked_{0}, unparked_{0};
};

}  // namespace grapnel::progress
