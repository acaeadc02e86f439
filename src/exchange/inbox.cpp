// SPDX-License-Identifier: Apache-2.0
#include "exchange/inbox.hpp"

#include <algorithm>
#include <cstring>

#include "base/check.hpp"
#include "base/units.hpp"

namespace grapnel::exchange {

static_assert(sizeof(InboxCell) == 64);

bool Inbox::put(const Envelope& envelope, ByteView content) {
  GRAPNEL_CHECK(content.size() <= kLetterBytes, "a letter of {} bytes", content.size());
  const std::uint64_t needed = 1 + base::divide_up(content.size(), sizeof(InboxCell));
  std::uint64_t first = words_.tail.load(std::memory_order_relaxed);
  do {
    // acquire: pairs with the release of `head` in `take`; what is written below is ordered after the owner's clearing.
    if (first + needed - words_.head.load(std::memory_order_acquire) > cells_.size()) return false;
  } while (!words_.tail.compare_exchange_weak(first, first + needed, std::memory_order_relaxed));
  cell(first).envelope = envelope;
  write(first + 1, content);
  // release: pairs with the acquire in `take`.
  cell(first).mark.store(static_cast<std::uint32_t>(needed), std::memory_order_release);
  words_.arrivals.fetch_add(1, std::memory_order_release);  // pairs with the acquire in Waiting::on_word
  host_.wake(words_.arrivals);
  return true;
}

std::optional<Letter> Inbox::take() {
  const std::uint64_t first = words_.head.load(std::memory_order_relaxed);  // only its owner moves it
  const std::uint32_t length = cell(first).mark.load(std::memory_order_acquire);
  if (length == 0) return std::nullopt;
  Letter letter{cell(first).envelope, {}};
  letter.content.resize(std::min<std::size_t>(letter.envelope.bytes, (length - 1) * sizeof(InboxCell)));
  read(first + 1, letter.content);
  // Any of these cells may be the first of a later letter. relaxed: ordered by the release of `head`.
  for (std::uint64_t at = first; at < first + length; ++at) cell(at).mark.store(0, std::memory_order_relaxed);
  // seq_cst on both sides: either a rank that waits for room is seen here, or it sees the new head.
  words_.head.store(first + length, std::memory_order_seq_cst);
  if (words_.waiting_for_room.load(std::memory_order_seq_cst) > 0) {
    words_.departures.fetch_add(1, std::memory_order_release);
    host_.wake(words_.departures);
  }
  return letter;
}

// A letter may run over the ring's end.
void Inbox::write(std::uint64_t first_cell, ByteView content) {
  const std::size_t begin = first_cell % cells_.size();
  const std::size_t until_end = std::min(content.size(), (cells_.size() - begin) * sizeof(InboxCell));
  auto* const ring = reinterpret_cast<std::byte*>(cells_.data());
  if (until_end > 0) std::memcpy(ring + begin * sizeof(InboxCell), content.data(), until_end);
  if (content.size() > until_end) std::memcpy(ring, content.data() + until_end, content.size() - until_end);
}

void Inbox::read(std::uint64_t first_cell, ByteSpan content) {
  const std::size_t begin = first_cell % cells_.size();
  const std::size_t until_end = std::min(content.size(), (cells_.size() - begin) * sizeof(InboxCell));
  const auto* const ring = reinterpret_cast<const std::byte*>(cells_.data());
  if (until_end > 0) std::memcpy(content.data(), ring + begin * sizeof(InboxCell), until_end);
  if (content.size() > until_end) std::memcpy(content.data() + until_end, ring, content.size() - until_end);
}

}  // namespace grapnel::exchange
