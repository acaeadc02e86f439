#include "runtime/implementation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/codec.hpp"
#include "base/log.hpp"
#include "base/output.hpp"
#include "os/identity.hpp"
#include "runtime/group_access.hpp"
#include "runtime/internal/report.hpp"

namespace grapnel {

Result<std::unique_ptr<Runtime::Implementation>> Runtime::Implementation::build(runtime::Foundation foundation) {
  auto self = std::unique_ptr<Implementation>(new Implementation);
  self->config = foundation.config;
  self->host = std::move(foundation.host);
  self->launch = std::move(foundation.launch);
  launch::Launch& launch = *self->launch;
  self->world = GroupAccess::wrap(launch::make_world(launch.rank(), launch.size()));
  self->waiting = std::make_unique<progress::Waiting>(*self->host, launch, self->config.spin_ns);
  self->reports = std::make_unique<runtime::RankReports>(*self);
  GRAPNEL_TRY(self->compare_settings());
  if (launch.nodes().node_count() > 1) GRAPNEL_TRY(self->connect_nodes(foundation));
  progress::Client* client = self->client.get();
  self->stripes = std::make_unique<rma::Stripes>(launch);
  self->letters = std::make_unique<exchange::Letters>(launch, *self->waiting, client);
  self->exchange = std::make_unique<exchange::GroupExchange>(launch, *self->letters);
  auto segments = segment::SegmentTable::create(launch, *self->exchange, *self->host, self->transport.get());
  if (!segments) return segments.status();
  self->segments = std::move(*segments);
  self->rma.emplace(self->config, launch, *self->waiting, *self->segments, *self->stripes, client,
                    self->transport.get());
  self->barriers =
      std::make_unique<sync::Barriers>(self->config, launch, *self->waiting, *self->rma, client, self->server.get());
  GRAPNEL_TRY(self->barriers->open_world(*GroupAccess::of(self->world)));
  self->locks = std::make_unique<locks::Locks>(self->config, launch, *self->waiting, client, self->server.get());
  self->notifications = std::make_unique<sync::Notifications>(launch, *self->waiting, client, *self->rma);
  if (self->server) GRAPNEL_TRY(self->start_server());
  launch.at_death([locks = self->locks.get()](Rank dead) { locks->after_death(dead); });
  self->reports->layers_run();
  return self;
}

// With those of the node's other ranks; `exchange_servers` does it between nodes.
Status Runtime::Implementation::compare_settings() {
  auto& settings_of_first = launch->node_memory().carve<std::atomic<std::uint64_t>>(1).front();
  const std::uint64_t mine = std::hash<std::string>{}(config.alike()) | 1;
  std::uint64_t first = 0;
  if (settings_of_first.compare_exchange_strong(first, mine) || first == mine) return {};
  return Status(Code::invalid_argument,
                fmt::format("some settings must be alike in all ranks of a job, and another rank of this node has not "
                            "all of this rank's {}",
                            config.alike()));
}

Status Runtime::Implementation::connect_nodes(const runtime::Foundation& foundation) {
  auto made = foundation.make_transport(config, *launch);
  if (!made) return made.status();
  transport = std::move(*made);
  if (launch->leads_node()) {
    auto created = progress::Server::create(config, *launch, *waiting, *transport);
    if (!created) return created.status();
    server = std::move(*created);
  }
  auto servers = exchange_servers();
  if (!servers) return servers.status();
  if (server) server->know_servers(*servers);
  auto connected = progress::Client::create(*launch, *waiting, *transport, std::move(*servers));
  if (!connected) return connected.status();
  client = std::move(*connected);
  client->limit_connecting(config.connect_ms * base::kMillisecond_ns);
  if (server) server->listen_to(client->bell());
  return {};
}

Result<std::vector<progress::ServerDescription>> Runtime::Implementation::exchange_servers() {
  if (server) GRAPNEL_TRY(launch->publish("server", server->description().encode()));
  const std::vector<int> cpus = os::cpus_allowed();
  GRAPNEL_TRY(launch->publish("cpus", std::as_bytes(std::span(cpus))));
  GRAPNEL_TRY(launch->fence());
  std::vector<progress::ServerDescription> servers;
  for (std::size_t node = 0; node < launch->nodes().node_count(); ++node) {
    const auto text = launch->lookup(launch->nodes().leader(NodeId(static_cast<int>(node))), "server");
    if (!text) return text.status();
    auto description = progress::ServerDescription::decode(*text);
    if (!description) return description.status();
    if (description->settings != config.alike()) {
      return Status(Code::invalid_argument,
                    fmt::format("these settings must be alike in all ranks of a job, and node {} has {}, this rank {}",
                                node, description->settings, config.alike()));
    }
    servers.push_back(std::move(*description));
  }
  return servers;
}

Status Runtime::Implementation::start_server() {
  rma_handlers = std::make_unique<rma::Handlers>(*segments, *waiting, *stripes);
  rma_handlers->add_to(server->handlers());
  letters->add_handlers(server->handlers());
  locks->add_handlers(*server);
  notifications->add_handlers(server->handlers());
  // Launchers bind ranks to single cores; the server serves them all and may run where any of them may.
  std::vector<int> cpus;
  for (const Rank rank : launch->nodes().ranks_of[index(launch->node())]) {
    const auto theirs = launch->lookup(rank, "cpus");
    if (!theirs) return theirs.status();
    const auto* first = reinterpret_cast<const int*>(theirs->data());
    cpus.insert(cpus.end(), first, first + theirs->size() / sizeof(int));
  }
  std::sort(cpus.begin(), cpus.end());
  cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
  return server->start(cpus);
}

Runtime::Implementation::~Implementation() {
  reports.reset();
  if (launch) launch->at_death({});
  // The server's handlers work on everything above it: it ends first.
  if (server) server->stop();
  if (rma && client) rma->forget_remote_keys();
  // The workers go before what their last completions refer to.
  client.reset();
  server.reset();
}

Status Runtime::Implementation::finish() {
  if (finished_) return Status(Code::invalid_argument, "finish was called before");
  finished_ = true;
  // Not sent now: what they read or write may be gone with the function that started them.
  if (const std::size_t kept = rma->kept(); kept > 0) {
    base::log_warn("{} puts and gets on aggregate handles are dropped: nobody waited for them", kept);
  }
  // A write of mine that was refused is no reason to leave the others waiting.
  Status mine = rma->wait_all();
  Status all = barriers->run(*GroupAccess::of(world));
  if (all.code() == Code::peer_dead) return all;
  if (config.stats) print_statistics();
  // Nobody sends any more after the first fence; every client is gone after the second; then the servers may go.
  GRAPNEL_TRY(launch->fence());
  reports->ends();
  if (client) rma->forget_remote_keys();
  launch->at_death({});  // what is told of a death goes by the client
  client.reset();
  if (server) server->leave();  // no server stops before all have left
  GRAPNEL_TRY(launch->fence());
  if (server) server->stop();
  reports.reset();
  GRAPNEL_TRY(launch->finalize());
  return mine.ok() ? all : mine;
}

Result<const launch::Group*> Runtime::Implementation::sound(const Group& group, const char* what) {
  if (const launch::Group* inside = GroupAccess::of(group)) return inside;
  return Status(Code::invalid_argument, fmt::format("{}: a group of nobody; make_group makes groups", what));
}

Result<Memory> Runtime::Implementation::allocate(const Group& group, std::size_t bytes) {
  const progress::WaitScope scope("allocate");
  const auto members = sound(group, "allocate");
  if (!members) return members.status();
  auto allocation = segments->allocate(**members, bytes);
  if (!allocation) return allocation.status();
  std::vector<void*> addresses;
  std::vector<std::size_t> sizes;
  for (const segment::Part& part : allocation->parts) {
    addresses.push_back(part.address);
    sizes.push_back(part.bytes);
  }
  return Memory(group, std::move(addresses), std::move(sizes), launch->rank());
}

Status Runtime::Implementation::free(const Group& group, const Memory& memory) {
  const progress::WaitScope scope("free");
  const auto members = sound(group, "free");
  if (!members) return members.status();
  Status waited = rma->wait_implicit();
  Status fenced = rma->fence_all();
  if (fenced.code() == Code::peer_dead) return fenced;
  rma->forget_remote_keys();
  GRAPNEL_TRY(segments->free(**members, memory.local()));
  return waited.ok() ? fenced : waited;
}

Result<std::vector<Bytes>> Runtime::Implementation::allgather(const Group& group, ByteView mine) {
  const auto members = sound(group, "allgather");
  return members ? exchange->allgather(**members, mine) : members.status();
}

std::vector<OperationCount> Runtime::Implementation::operation_counts() const {
  std::vector<OperationCount> rows;
  for (const rma::OperationKind kind : rma::kOperationKinds) rows.push_back(runtime::row_of(kind, rma->counts(kind)));
  rows.push_back(runtime::row_of(rma->fence_counts()));
  rows.push_back(runtime::row_of(barriers->counts(), barriers->messages()));
  const std::uint64_t heartbeats = server ? server->heartbeats() : 0;
  rows.push_back({"heartbeat", 0, 0, heartbeats, 0, heartbeats});
  return rows;
}

void Runtime::Implementation::print_statistics() {
  const std::vector<OperationCount> mine = operation_counts();
  const auto all = allgather(world, runtime::encode(mine));
  const auto of_locks = sum_lock_counts();
  if (!all || !of_locks || index(launch->rank()) != 0) return;
  std::vector<OperationCount> sum = mine;
  for (std::size_t rank = 1; rank < all->size(); ++rank) runtime::add_encoded(sum, (*all)[rank]);
  // Where it cannot be written the job is as good: the numbers are no result of the program.
  (void)base::write_all(STDERR_FILENO, runtime::table(sum) + runtime::lock_table(*of_locks));
}

}  // namespace grapnel
