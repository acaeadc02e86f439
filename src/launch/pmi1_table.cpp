// SPDX-License-Identifier: Apache-2.0
#include "launch/pmi1_table.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>

#include "base/codec.hpp"

namespace grapnel::launch {
namespace {

bool equal(ByteView bytes, std::string_view text) {
  return bytes.size() == text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

}  // namespace

Bytes encode_pmi1_table(const std::vector<Bytes>& parts) {
  base::Encoder table;
  std::uint64_t offset = (parts.size() + 1) * sizeof(std::uint64_t);
  table.put(offset);
  for (const Bytes& part : parts) table.put(offset += part.size());
  for (const Bytes& part : parts) table.put_bytes(part);
  return table.take();
}

Result<Pmi1Table> Pmi1Table::open(const os::Descriptor& file, std::size_t bytes, int ranks) {
  GRAPNEL_ASSIGN_OR_RETURN(auto view, os::SealedView::map(file, bytes));
  Pmi1Table table(std::move(view));
  const auto parts = static_cast<std::size_t>(ranks);
  const std::size_t head = (parts + 1) * sizeof(std::uint64_t);
  bool good = bytes >= head && table.offset(0) == head && table.offset(parts) == bytes;
  for (std::size_t i = 0; good && i < parts; ++i) good = table.offset(i) <= table.offset(i + 1);
  if (!good) return Status(Code::refused, fmt::format("the launcher's table is not one of {} ranks", ranks));
  return table;
}

std::size_t Pmi1Table::offset(std::size_t number) const {
  std::uint64_t value = 0;
  std::memcpy(&value, view_.bytes().data() + number * sizeof value, sizeof value);
  return value;
}

Result<std::optional<ByteView>> Pmi1Table::find(Rank rank, std::string_view key) const {
  const std::size_t begin = offset(index(rank));
  base::Decoder part(view_.bytes().subspan(begin, offset(index(rank) + 1) - begin));
  std::optional<ByteView> found;
  while (!part.rest().empty()) {
    const auto name = part.get_string();
    const auto value = name ? part.get_string() : std::nullopt;
    if (!value) return Status(Code::refused, fmt::format("what rank {} published cannot be read", index(rank)));
    if (equal(*name, key)) found = *value;
  }
  return found;
}

}  // namespace grapnel::launch
