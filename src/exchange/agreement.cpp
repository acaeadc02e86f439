// SPDX-License-Identifier: Apache-2.0
#include "exchange/agreement.hpp"

#include <fmt/format.h>

#include <string>

namespace grapnel::exchange {

void put_status(base::Encoder& out, const Status& status) {
  // An exchange takes little per rank: a long text must not make the sender's part invalid.
  constexpr std::size_t kMostText = 256;
  const std::string text = status.message().substr(0, kMostText);
  out.put(static_cast<std::uint32_t>(status.code()));
  out.put_string(std::as_bytes(std::span(text)));
}

std::optional<Status> get_status(base::Decoder& in) {
  const auto code = in.get<std::uint32_t>();
  const auto text = in.get_string();
  if (!code || !text || *code > static_cast<std::uint32_t>(Code::system)) return std::nullopt;
  if (*code == static_cast<std::uint32_t>(Code::ok)) return Status{};
  return Status(static_cast<Code>(*code), std::string(reinterpret_cast<const char*>(text->data()), text->size()));
}

Status meet(Exchange& exchange, const launch::Group& group) {
  // Not empty: launchers' key stores differ in what they do with values without bytes.
  const std::byte here{1};
  return exchange.allgather(group, base::bytes_of(here)).status();
}

Status blame(const launch::Group& group, std::size_t member, const Status& why) {
  if (why.ok()) return {};
  return Status(why.code(), fmt::format("rank {}: {}", index(group.members[member]), why.message()));
}

Status agree_on(Exchange& exchange, const launch::Group& group, const Status& mine) {
  base::Encoder out;
  put_status(out, mine);
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, exchange_answers<Status>(exchange, group, out.view(), get_status));
  for (std::size_t member = 0; member < all.size(); ++member) GRAPNEL_TRY(blame(group, member, all[member]));
  return {};
}

}  // namespace grapnel::exchange
