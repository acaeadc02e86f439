// Answers that travel in an exchange, so that all members of a group end with the same one.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "base/codec.hpp"
#include "exchange/exchange.hpp"
#include "grapnel/status.hpp"
#include "launch/group.hpp"

namespace grapnel::exchange {

/// A code (32 bit) and a text (with its length).
void put_status(base::Encoder& out, const Status& status);
std::optional<Status> get_status(base::Decoder& in);

/// The answers of all as `read` understands it; `system` where a member's bytes make no sense.
template <typename Answer>
Result<std::vector<Answer>> exchange_answers(Exchange& exchange, const launch::Group& group, ByteView mine,
                                             std::optional<Answer> (*read)(base::Decoder&)) {
  GRAPNEL_ASSIGN_OR_RETURN(auto all, exchange.allgather(group, mine));
  std::vector<Answer> answers;
  answers.reserve(all.size());
  for (const Bytes& bytes : all) {
    base::Decoder in(bytes);
    auto answer = read(in);
    if (!answer) return Status(Code::system, "a member of the group sent an answer that makes no sense");
    answers.push_back(*std::move(answer));
  }
  return answers;
}

/// Returns when every member has come here.
Status meet(Exchange& exchange, const launch::Group& group);

/// ok, or `why` with the member's rank in front: what all members return.
Status blame(const launch::Group& group, std::size_t member, const Status& why);

/// Collective: `mine` of every member; the first that is not ok is every member's answer.
Status agree_on(Exchange& exchange, const launch::Group& group, const Status& mine);

}  // namespace grapnel::exchange
