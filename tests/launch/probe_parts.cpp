// SPDX-License-Identifier: Apache-2.0
#include "launch/probe_parts.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <string>

#include "base/codec.hpp"
#include "os/shared_memory.hpp"

namespace grapnel::probe {

void say_line(const std::string& text) {
  const std::string line = text + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) ::_exit(3);
}

void fail(const std::string& what) {
  say_line("probe FAILED: " + what);
  ::_exit(99);
}

void need(bool condition, const std::string& what) {
  if (!condition) fail(what);
}

void need(const Status& status, const std::string& what) { need(status.ok(), what + ": " + status.message()); }

namespace {

struct Told {
  std::int32_t rank;
  std::int32_t node;
  std::uint64_t secret;
  std::uint64_t pool_base;
};

// Values of all sizes, and what every rank states about itself.
void check_exchange(launch::Launch& launch) {
  const Told mine{static_cast<std::int32_t>(launch.rank()), static_cast<std::int32_t>(launch.node()),
                  launch.job_secret(), launch.pool().base()};
  need(launch.publish("told", base::bytes_of(mine)), "publish");
  const Bytes large(20'000 + static_cast<std::size_t>(mine.rank), static_cast<std::byte>(mine.rank + 1));
  need(launch.publish("large", large), "publish");
  need(launch.fence(), "fence");
  for (int rank = 0; rank < launch.size(); ++rank) {
    const auto bytes = launch.lookup(static_cast<Rank>(rank), "told");
    need(bytes.status(), "lookup");
    const auto told = base::Decoder(*bytes).get<Told>();
    need(told && told->rank == rank, "who published");
    need(told->secret == mine.secret, "one secret");
    need(told->node == static_cast<std::int32_t>(launch.nodes().node_of[static_cast<std::size_t>(rank)]), "one map");
    if (told->node == mine.node) need(told->pool_base == mine.pool_base, "one pool base in a node");
    const auto big = launch.lookup(static_cast<Rank>(rank), "large");
    need(big.status(), "lookup large");
    need(big->size() == 20'000u + static_cast<std::size_t>(rank) && big->back() == static_cast<std::byte>(rank + 1),
         "a large value");
  }
  need(launch.lookup(Rank{0}, "never published").status().code() == Code::invalid_argument,
       "a missing key is an error");
}

// Every rank of the node adds to a word; no other rank's additions may show.
void check_node_memory(launch::Launch& launch) {
  const auto words = launch.node_memory().carve<std::atomic<std::uint64_t>>(2);
  words[0].fetch_add(1);
  words[1].fetch_add(static_cast<std::uint64_t>(launch.rank()) + 1);
  need(launch.fence(), "fence");
  std::uint64_t sum = 0;
  const auto& locals = launch.nodes().ranks_of[index(launch.node())];
  for (const Rank rank : locals) sum += static_cast<std::uint64_t>(rank) + 1;
  need(words[0].load() == locals.size() && words[1].load() == sum, "node memory is the node's");
}

// Every rank sends two files to every rank of the node, and asks for them in the other order.
void check_descriptors(launch::Launch& launch) {
  const auto me = static_cast<std::uint64_t>(launch.rank());
  const auto& locals = launch.nodes().ranks_of[index(launch.node())];
  for (const std::uint64_t round : {1, 2}) {
    const auto file = os::create_shared_file("probe", 4096);
    need(file.status(), "create_shared_file");
    const std::uint64_t content = me * 10 + round;
    need(::pwrite(file->number(), &content, sizeof content, 0) == sizeof content, "write");
    for (const Rank to : locals) need(launch.send_descriptor(to, content, *file), "send_descriptor");
  }
  for (const std::uint64_t round : {2, 1}) {
    for (const Rank from : locals) {
      const std::uint64_t tag = static_cast<std::uint64_t>(from) * 10 + round;
      const auto file = launch.receive_descriptor(tag);
      need(file.status(), "receive_descriptor");
      std::uint64_t content = 0;
      need(::pread(file->number(), &content, sizeof content, 0) == sizeof content && content == tag, "the right file");
    }
  }
}

}  // namespace

void check(launch::Launch& launch) {
  check_exchange(launch);
  check_node_memory(launch);
  check_descriptors(launch);
  for (int round = 0; round < 20; ++round) need(launch.fence(), "fence");
  need(launch.health(), "health");
  say_line(fmt::format("probe ok rank {} of {} node {} of {} under {}", static_cast<int>(launch.rank()), launch.size(),
                       static_cast<int>(launch.node()), launch.nodes().node_count(), launch.description()));
}

void sleep_for_ever() {
  while (true) ::pause();
}

void stay(launch::Launch& launch, const std::string& how) {
  need(launch.fence(), "fence");
  say_line(fmt::format("ready {} {}", static_cast<int>(launch.rank()), ::getpid()));
  if (how == "compute") {
    for (volatile std::uint64_t count = 0; true;) {
      const std::uint64_t next = count + 1;
      count = next;
    }
  }
  // One rank stays away, so that the others wait in the fence.
  if (how == "fence" && static_cast<int>(launch.rank()) != launch.size() - 1) {
    const Status status = launch.fence();
    say_line("fence: " + status.to_string());
  }
  while (how == "health" && launch.health().ok()) ::usleep(1000);
  if (how == "health") say_line("health: " + launch.health().to_string());
  sleep_for_ever();
}

void end_badly(launch::Launch& launch, bool abort, int rank, int code) {
  need(launch.fence(), "fence");
  if (static_cast<int>(launch.rank()) != rank) sleep_for_ever();
  if (!abort) ::_exit(code);
  launch.abort(code, "the probe was told to");
  ::_exit(98);  // not reached; the compiler does not see that through a virtual call
}

}  // namespace grapnel::probe
