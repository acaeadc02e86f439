// SPDX-License-Identifier: Apache-2.0
#include "runtime/implementation.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <functional>

#include "base/codec.hpp"
#include "base/output.hpp"
#include "exchange/agreement.hpp"
#include "launch/group.hpp"
#include "os/identity.hpp"
#include "progress/settings.hpp"
#include "rma/service.hpp"
#include "runtime/internal/report.hpp"

namespace grapnel {

Result<std::unique_ptr<Runtime::Implementation>> Runtime::Implementation::build(runtime::Foundation foundation) {
  auto self = std::unique_ptr<Implementation>(new Implementation);
  self->config = foundation.config;
  self->host = std::move(foundation.host);
  self->launch = std::move(foundation.launch);
  launch::Launch& launch = *self->launch;
  self->world = Group(std::make_shared<const launch::Group>(launch::make_world(launch.rank(), launch.size())));
  self->waiting =
      std::make_unique<progress::Waiting>(*self->host, launch, self->config.get<progress::Settings>().spin_ns);
  self->reports = std::make_unique<runtime::RankReports>(*self);
  GRAPNEL_TRY(self->compare_settings());
  if (launch.nodes().node_count() > 1) GRAPNEL_TRY(self->connect_nodes(foundation));
  progress::Client* client = self->client.get();
  self->letters = std::make_unique<exchange::Letters>(launch, *self->waiting, client, self->server.get());
  self->exchange = std::make_unique<exchange::GroupExchange>(launch, *self->letters);
  auto segments = segment::SegmentTable::create(launch, *self->exchange, *self->host, self->transport.get());
  if (!segments) return segments.status();
  self->segments = std::move(*segments);
  GRAPNEL_TRY(self->open_services(foundation.services));
  if (self->server) GRAPNEL_TRY(self->start_server());
  launch.at_death([&services = self->services](Rank dead) {
    for (const auto& service : services) service->after_death(dead);
  });
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
  GRAPNEL_ASSIGN_OR_RETURN(auto made, foundation.make_transport(config, *launch));
  transport = std::move(made);
  if (launch->leads_node()) {
    GRAPNEL_ASSIGN_OR_RETURN(auto created, progress::Server::create(config, *launch, *waiting, *transport));
    server = std::move(created);
  }
  GRAPNEL_ASSIGN_OR_RETURN(auto servers, exchange_servers());
  if (server) server->know_servers(servers);
  GRAPNEL_ASSIGN_OR_RETURN(auto connected, progress::Client::create(*launch, *waiting, *transport, std::move(servers)));
  client = std::move(connected);
  client->limit_connecting(config.get<progress::Settings>().connect_ms * base::kMillisecond_ns);
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
    GRAPNEL_ASSIGN_OR_RETURN(const auto text,
                             launch->lookup(launch->nodes().leader(NodeId(static_cast<int>(node))), "server"));
    GRAPNEL_ASSIGN_OR_RETURN(auto description, progress::ServerDescription::decode(text));
    if (description.settings != config.alike()) {
      return Status(Code::invalid_argument,
                    fmt::format("these settings must be alike in all ranks of a job, and node {} has {}, this rank {}",
                                node, description.settings, config.alike()));
    }
    servers.push_back(std::move(description));
  }
  return servers;
}

Status Runtime::Implementation::open_services(const runtime::ServiceTypes& types) {
  core = std::make_unique<core::Core>(core::Core{config, *host, *launch, *world.known(), *waiting, *letters, *exchange,
                                                 *segments, transport.get(), client.get(), server.get()});
  progress::HandlerId next = progress::kFirstServiceHandler;
  for (const core::ServiceType* type : types) {
    auto opened = type->open(*core, next);
    if (!opened) return opened.status();
    next = static_cast<progress::HandlerId>(next + type->handlers);
    core->opened.push_back(opened->get());
    services.push_back(std::move(*opened));
  }
  GRAPNEL_CHECK(next <= progress::kHandlerLimit, "the services want {} handler numbers of {}", next,
                progress::kHandlerLimit);
  rma = &core->service<rma::RmaService>().rma();
  barriers = &core->service<sync::Barriers>();
  locks = &core->service<locks::Locks>();
  notifications = &core->service<sync::Notifications>();
  collectives = &core->service<collective::Collectives>();
  return {};
}

Status Runtime::Implementation::start_server() {
  letters->add_handlers(server->handlers());
  // Launchers bind ranks to single cores; the server serves them all and may run where any of them may.
  std::vector<int> cpus;
  for (const Rank rank : launch->nodes().ranks_of[index(launch->node())]) {
    GRAPNEL_ASSIGN_OR_RETURN(const auto theirs, launch->lookup(rank, "cpus"));
    const auto* first = reinterpret_cast<const int*>(theirs.data());
    cpus.insert(cpus.end(), first, first + theirs.size() / sizeof(int));
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
  close_services();
  // The workers go before what their last completions refer to.
  client.reset();
  server.reset();
  while (!services.empty()) services.pop_back();  // in the opposite order
}

void Runtime::Implementation::close_services() {
  if (!client) return;
  for (const auto& service : services) service->before_client_ends();
}

Status Runtime::Implementation::complete_services() {
  Status first;
  for (const auto& service : services) {
    Status completed = service->complete();
    if (first.ok()) first = std::move(completed);
  }
  return first;
}

Status Runtime::Implementation::finish() {
  if (finished_) return Status(Code::invalid_argument, "finish was called before");
  finished_ = true;
  // A write of mine that was refused is no reason to leave the others waiting.
  Status mine = complete_services();
  Status all = barriers->run(*world.known());
  if (all.code() == Code::peer_dead) return all;
  if (config.get<runtime::Settings>().stats) print_statistics();
  // No rank sends after the first fence; every client has ended after the second; then the servers may end.
  GRAPNEL_TRY(launch->fence());
  reports->ends();
  close_services();
  launch->at_death({});  // a report of a death is sent by the client
  client.reset();
  if (server) server->leave();  // no server stops before all have left
  GRAPNEL_TRY(launch->fence());
  if (server) server->stop();
  reports.reset();
  GRAPNEL_TRY(launch->finalize());
  return mine.ok() ? all : mine;
}

Result<const launch::Group*> Runtime::Implementation::sound(const Group& group, const char* what) {
  if (const launch::Group* inside = group.known().get()) return inside;
  return Status(Code::invalid_argument, fmt::format("{}: the group has no members; make one with make_group", what));
}

Result<Memory> Runtime::Implementation::allocate(const Group& group, std::size_t bytes, AtomicDomain domain) {
  const progress::WaitScope scope("allocate");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, sound(group, "allocate"));
  const auto at_once = segment::Taking::at_once;
  GRAPNEL_ASSIGN_OR_RETURN(auto allocation, segments->allocate(*members, bytes, at_once, domain));
  if (domain == AtomicDomain::network) {
    const Status opened = exchange::agree_on(*exchange, *members, rma->open_network(*members));
    if (opened.code() == Code::peer_dead) return opened;
    if (!opened.ok()) {
      GRAPNEL_TRY(segments->free(*members, allocation.parts[members->my_index].address));
      return opened;
    }
  }
  std::vector<void*> addresses;
  std::vector<std::size_t> sizes;
  for (const segment::Part& part : allocation.parts) {
    addresses.push_back(part.address);
    sizes.push_back(part.bytes);
  }
  return Memory(group, std::move(addresses), std::move(sizes), launch->rank());
}

Status Runtime::Implementation::free(const Group& group, const Memory& memory) {
  const progress::WaitScope scope("free");
  GRAPNEL_ASSIGN_OR_RETURN(const auto members, sound(group, "free"));
  Status waited = rma->wait_implicit();
  Status fenced = rma->fence_all();
  if (fenced.code() == Code::peer_dead) return fenced;
  rma->forget_remote_keys();
  GRAPNEL_TRY(segments->free(*members, memory.local()));
  return waited.ok() ? fenced : waited;
}

Result<std::vector<Bytes>> Runtime::Implementation::allgather(const Group& group, ByteView mine) {
  const auto members = sound(group, "allgather");
  return members ? exchange->allgather(**members, mine) : members.status();
}

std::vector<OperationCount> Runtime::Implementation::operation_counts() const {
  std::vector<OperationCount> rows;
  for (const auto& service : services) service->append_counts(rows);
  const std::uint64_t heartbeats = server ? server->heartbeats() : 0;
  rows.push_back({"heartbeat", 0, 0, heartbeats, 0, heartbeats});
  // The messages of all rows above, and those that no row counts: acknowledgements and answers.
  rows.push_back({"sent by ranks", 0, 0, 0, 0, client ? client->messages() : 0});
  rows.push_back({"sent by servers", 0, 0, 0, 0, server ? server->messages() : 0});
  return rows;
}

void Runtime::Implementation::print_statistics() {
  const std::vector<OperationCount> mine = operation_counts();
  const auto all = allgather(world, runtime::encode(mine));
  std::string of_services;
  for (const auto& service : services) {
    const auto text = service->report([this](ByteView bytes) { return allgather(world, bytes); });
    if (!text) return;
    of_services += *text;
  }
  if (!all || index(launch->rank()) != 0) return;
  std::vector<OperationCount> sum = mine;
  for (std::size_t rank = 1; rank < all->size(); ++rank) runtime::add_encoded(sum, (*all)[rank]);
  // Where it cannot be written the job is as good: the numbers are no result of the program.
  (void)base::write_all(STDERR_FILENO, runtime::table(sum) + of_services);
}

}  // namespace grapnel
