#include "launch/node_launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

namespace grapnel::launch {
namespace {

ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::optional<std::string> text_from(base::Decoder& decoder) {
  const auto bytes = decoder.get_string();
  if (!bytes) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
}

}  // namespace

Bytes Introduction::encode() const {
  base::Encoder encoder;
  encoder.put_string(view_of(machine)).put_string(view_of(mailbox_name)).put_string(view_of(listener_name)).put(secret);
  return encoder.take();
}

Result<Introduction> Introduction::decode(ByteView bytes) {
  base::Decoder decoder(bytes);
  const auto machine = text_from(decoder);
  const auto mailbox_name = text_from(decoder);
  const auto listener_name = text_from(decoder);
  const auto secret = decoder.get<std::uint64_t>();
  if (!secret || !machine || !mailbox_name || !listener_name) {
    return Status(Code::refused, "a rank's introduction cannot be read: are all ranks one version of Grapnel?");
  }
  return Introduction{*machine, *mailbox_name, *listener_name, *secret};
}

void tell(std::string_view text) {
  const std::string line = fmt::format("grapnel: {}\n", text);
  // A message that cannot be written has nowhere to be reported.
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, line.data(), line.size());
}

Status NodeLaunch::settle(const base::Config& config, Rank me, const std::vector<Introduction>& everybody,
                          Doors doors) {
  std::vector<std::string> machines;
  for (const Introduction& introduction : everybody) machines.push_back(introduction.machine);
  rank_ = me;
  nodes_ = make_node_map(machines, config.nodes);
  job_secret_ = everybody.front().secret;

  NodeLink::Plan plan{me, {}, job_secret_, config.pool_bytes};
  for (const Rank rank : nodes_.ranks_of[index(node())]) {
    const Introduction& introduction = everybody[index(rank)];
    plan.ranks.push_back({rank, introduction.mailbox_name, introduction.listener_name});
  }
  auto link = NodeLink::join(host_, std::move(plan), std::move(doors));
  if (!link) return link.status();
  link_ = std::move(*link);
  return {};
}

Status NodeLaunch::send_descriptor(Rank to, std::uint64_t tag, const os::Descriptor& descriptor) {
  Status sent = link_->send_descriptor(to, tag, descriptor);
  if (sent.ok() || health().ok()) return sent;
  return health();  // the death is the cause, the failed send its consequence
}

Result<os::Descriptor> NodeLaunch::receive_descriptor(std::uint64_t tag) {
  return link_->receive_descriptor(tag, [this] { return health(); });
}

Status NodeLaunch::health() {
  // Acquire, partner: the watcher's compare-and-swap in Liveness.
  const std::uint32_t dead = link_->liveness_words().dead.load(std::memory_order_acquire);
  if (dead == 0) [[likely]]
    return {};
  return Status(Code::peer_dead, describe_death(dead));
}

}  // namespace grapnel::launch
