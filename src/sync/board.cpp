#include "sync/board.hpp"

#include <fmt/format.h>

#include <cstring>

#include "base/codec.hpp"
#include "base/units.hpp"
#include "sync/messages.hpp"

namespace grapnel::sync {

Board::Board(launch::Launch& launch, progress::Waiting& waiting, progress::Client* client)
    : launch_(launch),
      waiting_(waiting),
      client_(client),
      size_(static_cast<std::size_t>(launch.size())),
      words_(launch.node_memory().carve<Words>(1).front()),
      boards_(launch.node_memory().carve<Slot>(2 * size_)) {}

void Board::add_handlers(progress::HandlerTable& table) {
  table.add(kBoardHandler, {"exchange", sizeof(BoardBody), sizeof(BoardBody), false,
                            [this](progress::Request& request) { return pin(request); }});
}

progress::Outcome Board::pin(progress::Request& request) {
  const auto body = request.body_as<BoardBody>();
  const auto& nodes = launch_.nodes();
  if (body.node >= nodes.node_count()) return progress::Outcome::refused;
  const auto& ranks = nodes.ranks_of[body.node];
  if (body.first_local > ranks.size() || body.slots > ranks.size() - body.first_local ||
      request.payload.size() != body.slots * sizeof(Slot)) {
    return progress::Outcome::refused;
  }
  for (std::size_t i = 0; i < body.slots; ++i) {
    std::memcpy(&slot(body.epoch, ranks[body.first_local + i]), request.payload.data() + i * sizeof(Slot),
                sizeof(Slot));
  }
  // release: pairs with the acquire of the rank that waits for all bundles.
  words_.received[body.epoch % 2].fetch_add(body.slots, std::memory_order_release);
  waiting_.host().wake(words_.received[body.epoch % 2]);
  return progress::Outcome::done;
}

Result<std::vector<Bytes>> Board::allgather(const launch::Group& group, ByteView mine) {
  if (group.size() != size_) {
    return Status(Code::unavailable,
                  fmt::format("an exchange among {} of {} ranks is not there yet; use all ranks", group.size(), size_));
  }
  if (mine.size() > kMostBytes) {
    return Status(Code::invalid_argument,
                  fmt::format("an exchange takes {} bytes per rank, not {}", kMostBytes, mine.size()));
  }
  const std::uint32_t epoch = epoch_++;
  Slot& my_slot = slot(epoch, launch_.rank());
  my_slot.bytes = static_cast<std::uint32_t>(mine.size());
  if (!mine.empty()) std::memcpy(my_slot.data, mine.data(), mine.size());

  const auto local = static_cast<std::uint32_t>(launch_.nodes().ranks_of[index(launch_.node())].size());
  if (words_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == local) {
    GRAPNEL_TRY(publish_node());
    words_.arrived.store(0, std::memory_order_relaxed);  // ordered by the gate's release
    words_.gate.store(epoch_, std::memory_order_release);
    if (local > 1) waiting_.host().wake(words_.gate);
  } else {
    GRAPNEL_TRY(waiting_.on_word(words_.gate,
                                 [&](std::uint32_t& gate) { return static_cast<std::int32_t>(gate - epoch_) >= 0; }));
  }
  std::vector<Bytes> all;
  for (const Rank rank : group.members) {
    const Slot& theirs = slot(epoch, rank);
    all.emplace_back(theirs.data, theirs.data + std::min<std::size_t>(theirs.bytes, kMostBytes));
  }
  return all;
}

Status Board::publish_node() {
  if (client_ == nullptr) return {};
  const std::uint32_t epoch = epoch_ - 1;
  const auto& nodes = launch_.nodes();
  const auto& ranks = nodes.ranks_of[index(launch_.node())];
  constexpr std::size_t kSlotsPerMessage = 64 * base::kKiB / sizeof(Slot);
  for (std::size_t first = 0; first < ranks.size(); first += kSlotsPerMessage) {
    const std::size_t slots = std::min(kSlotsPerMessage, ranks.size() - first);
    Bytes bundle(slots * sizeof(Slot));
    for (std::size_t i = 0; i < slots; ++i) {
      std::memcpy(bundle.data() + i * sizeof(Slot), &slot(epoch, ranks[first + i]), sizeof(Slot));
    }
    const BoardBody body{static_cast<std::uint32_t>(index(launch_.node())), epoch, static_cast<std::uint32_t>(first),
                         static_cast<std::uint32_t>(slots)};
    progress::Order order;
    order.handler = kBoardHandler;
    order.body = base::bytes_of(body);
    order.payload = bundle;
    progress::Client::Guard guard(*client_);
    for (std::size_t step = 1; step < nodes.node_count(); ++step) {
      // Starting behind oneself spreads the load: not everybody begins with node 0.
      const NodeId to{static_cast<std::int32_t>((index(launch_.node()) + step) % nodes.node_count())};
      if (const auto sent = client_->send(to, order); !sent) return sent.status();
      GRAPNEL_TRY(client_->drain(to));  // also keeps `bundle` until it has left
    }
  }
  const auto others = static_cast<std::uint32_t>(size_ - ranks.size());
  const std::uint32_t awaited = (epoch / 2 + 1) * others;  // of this board, over all its exchanges
  return waiting_.on_word(words_.received[epoch % 2],
                          [&](std::uint32_t& received) { return static_cast<std::int32_t>(received - awaited) >= 0; });
}

}  // namespace grapnel::sync
