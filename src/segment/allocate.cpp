// The collective allocation.
//
//   every member                        the first member of each node
//   ---------                           -----------------------------
//   exchange 1: bytes asked for         … and the memory that is available
//   plan; all refuse if a machine lacks memory
//                                       takes a range of the node's pool and empties it
//   exchange 2: …                       status, address
//   all give up if one of them failed
//   takes the memory of its own part    shows the range to `contains`, registers it with the transport
//   exchange 3: status                  … and the key
//                                       if anybody failed: gives the range back
//
// The memory is read before exchange 1 and taken after it, so no member's reading contains what another took for the
// same allocation. It is shown to `contains` before exchange 3, since a rank that is through may write at once.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/log.hpp"
#include "exchange/agreement.hpp"
#include "os/shared_memory.hpp"
#include "segment/internal/allocation_plan.hpp"
#include "segment/internal/live.hpp"
#include "transport/pages.hpp"

namespace grapnel::segment {

using exchange::blame;
using exchange::exchange_answers;
using exchange::get_status;
using exchange::put_status;

namespace {

// What the first member of a node answers about its node in exchange 2; of others only the (ok) status counts.
struct Claim {
  Status status;
  std::uint64_t address = 0;  // where the node's range lies in the node's ranks
  std::uint64_t region = 0;   // RemoteRegion::id
};

// Behind the parts of a segment in the network domain, so that its end can be odd.
constexpr std::size_t kMarkBytes = 4096;

struct Outcome {
  Status status;
  Bytes key;  // of the registered memory; only a node's leader has one
};

std::optional<PartRequest> read_request(base::Decoder& in) {
  const auto bytes = in.get<std::uint64_t>();
  const auto available = in.get<std::uint64_t>();
  const auto source = in.get_string();
  if (!bytes || !available || !source) return std::nullopt;
  return PartRequest{*bytes, {*available, {reinterpret_cast<const char*>(source->data()), source->size()}}};
}

std::optional<Claim> read_claim(base::Decoder& in) {
  auto status = get_status(in);
  const auto address = in.get<std::uint64_t>();
  const auto region = in.get<std::uint64_t>();
  if (!status || !address || !region) return std::nullopt;
  return Claim{*std::move(status), *address, *region};
}

std::optional<Outcome> read_outcome(base::Decoder& in) {
  auto status = get_status(in);
  const auto key = in.get_string();
  if (!status || !key) return std::nullopt;
  return Outcome{*std::move(status), Bytes(key->begin(), key->end())};
}

template <typename Answer>
Status first_failure(const launch::Group& group, const std::vector<Answer>& answers) {
  const auto failed = std::find_if(answers.begin(), answers.end(), [](const auto& each) { return !each.status.ok(); });
  if (failed == answers.end()) return {};
  return blame(group, static_cast<std::size_t>(failed - answers.begin()), failed->status);
}

}  // namespace

// All that one call of `allocate` knows.
struct SegmentTable::Attempt {
  const launch::Group& group;
  LiveKey key;
  Taking taking;
  AllocationPlan plan{};
  std::vector<Claim> claims{};      ///< by group index
  std::vector<Outcome> outcomes{};  ///< by group index
  std::unique_ptr<Live> live = std::make_unique<Live>();

  const NodeShare& my_share() const { return plan.shares[plan.share_of[group.my_index]]; }
};

Result<Allocation> SegmentTable::allocate(const launch::Group& group, std::size_t bytes, Taking taking,
                                          AtomicDomain domain) {
  if (domain == AtomicDomain::network) GRAPNEL_TRY(check_leaders(group));
  Attempt attempt{group, {group.key, next_number_[group.key]++}, taking};
  attempt.live->domain = domain;
  GRAPNEL_TRY(agree_on_plan(attempt, bytes));
  Status status = agree_on_claims(attempt, claim_range(attempt));
  if (status.ok()) status = agree_on_outcomes(attempt, take_memory(attempt));
  if (status.ok()) return remember(attempt);
  // The range will not be used; what members took of its memory they took before they answered.
  forget(*attempt.live);
  if (const Status given_back = give_back(*attempt.live); !given_back.ok()) {
    base::log_debug("a failed allocation keeps its addresses: {}", given_back.message());
  }
  return status;
}

// The same answer in all members. A node's leader has the adapter's connections.
Status SegmentTable::check_leaders(const launch::Group& group) const {
  if (transport_ == nullptr) return {};
  for (const Rank member : group.members) {
    const Rank leader = launch_.nodes().leader(launch_.nodes().node_of[index(member)]);
    if (group.contains(leader)) continue;
    return Status(Code::unavailable,
                  fmt::format("memory in the network domain: rank {} leads the node of rank {} and is no member of the "
                              "group; make a group with it",
                              index(leader), index(member)));
  }
  return {};
}

Status SegmentTable::agree_on_plan(Attempt& attempt, std::size_t bytes) {
  const auto& members = attempt.group.members;
  const auto first_here = std::find_if(members.begin(), members.end(), [&](Rank member) {
    return launch_.nodes().node_of[index(member)] == launch_.node();
  });
  os::MemoryLimit limit{std::numeric_limits<std::size_t>::max(), ""};
  // What is taken on use is refused on use.
  if (*first_here == launch_.rank() && attempt.taking == Taking::at_once) limit = os::tightest_memory_limit();
  base::Encoder mine;
  mine.put(std::uint64_t{bytes}).put(std::uint64_t{limit.available_bytes});
  mine.put_string(std::as_bytes(std::span(limit.source)));
  GRAPNEL_ASSIGN_OR_RETURN(const auto requests,
                           exchange_answers<PartRequest>(exchange_, attempt.group, mine.view(), read_request));
  auto plan = plan_allocation(attempt.group, launch_.nodes(), requests);
  if (!plan) return plan.status();
  attempt.plan = *std::move(plan);
  return {};
}

// The part of a node's first member.
Status SegmentTable::claim_range(Attempt& attempt) {
  const NodeShare& share = attempt.my_share();
  Live& live = *attempt.live;
  live.range_bytes = share.bytes;
  if (live.domain == AtomicDomain::network && share.bytes > 0) live.range_bytes += kMarkBytes;
  if (share.first != attempt.group.my_index || share.bytes == 0) return {};
  GRAPNEL_ASSIGN_OR_RETURN(const auto offset, ranges_.allocate(live.range_bytes));
  live.claimed = true;
  live.range_offset = offset;
  // A late write of a faulty program may have brought pages back that were given away.
  return os::release_shared_file(files_.memory, live.range_offset, live.range_bytes);
}

Status SegmentTable::agree_on_claims(Attempt& attempt, const Status& mine) {
  base::Encoder out;
  put_status(out, mine);
  // The rank's own count, with its number in front, names regions uniquely in the job.
  out.put(std::uint64_t{pool_base_ + attempt.live->range_offset});
  out.put(std::uint64_t{(index(launch_.rank()) << 40) | next_region_++});
  auto claims = exchange_answers<Claim>(exchange_, attempt.group, out.view(), read_claim);
  if (!claims) return claims.status();
  GRAPNEL_TRY(first_failure(attempt.group, *claims));
  attempt.claims = *std::move(claims);
  attempt.live->range_offset = attempt.claims[attempt.my_share().first].address - pool_base_;
  return {};
}

// The parts of all. Each takes its own, so that the pages come from the memory beside its own processor.
Status SegmentTable::take_memory(Attempt& attempt) {
  Live& live = *attempt.live;
  const std::size_t me = attempt.group.my_index;
  transport::forget_pages(live.range(pool_base_));  // of an earlier allocation that this rank was no member of
  if (live.range_bytes == 0 || attempt.taking == Taking::on_use) return {};
  GRAPNEL_TRY(os::reserve_shared_file(files_.memory, live.range_offset + attempt.plan.offset_of[me],
                                      attempt.plan.bytes_of[me]));
  if (!live.claimed) return {};
  const std::uintptr_t end = live.range_offset + live.range_bytes;
  publish_range(live.range_offset, live.domain == AtomicDomain::network ? end - 1 : end);
  return register_range(live);
}

// Remote ranks are connected to the leader's process, and a key is worth nothing on another's connections: without the
// leader in the group its node is reached by messages.
Status SegmentTable::register_range(Live& live) {
  if (!launch_.leads_node() || transport_ == nullptr) return {};
  const transport::Capabilities& fabric = transport_->capabilities();
  const bool atomics = live.domain == AtomicDomain::network;
  if (!atomics && !fabric.native_put && !fabric.native_get) return {};
  if (atomics && !fabric.native_atomics.suffice()) {
    return Status(Code::unavailable,
                  fmt::format("memory in the network domain: {} has no native fetch-and-add and compare-and-swap; "
                              "`grapnel info` lists the devices that do",
                              fabric.name));
  }
  const auto access = atomics ? transport::Access::atomics : transport::Access::copies;
  auto registered = transport_->register_memory(live.range(pool_base_), access);
  if (!registered) return registered.status();
  live.registered = *std::move(registered);
  return {};
}

Status SegmentTable::agree_on_outcomes(Attempt& attempt, const Status& mine) {
  base::Encoder out;
  put_status(out, mine);
  out.put_string(mine.ok() && attempt.live->registered ? attempt.live->registered->key() : Bytes{});
  auto outcomes = exchange_answers<Outcome>(exchange_, attempt.group, out.view(), read_outcome);
  if (!outcomes) return outcomes.status();
  GRAPNEL_TRY(first_failure(attempt.group, *outcomes));
  attempt.outcomes = *std::move(outcomes);
  return {};
}

Allocation SegmentTable::remember(Attempt& attempt) {
  Live& live = *attempt.live;
  const AllocationPlan& plan = attempt.plan;
  for (std::size_t i = 0; i < attempt.group.size(); ++i) {
    const NodeShare& share = plan.shares[plan.share_of[i]];
    const std::uintptr_t address = attempt.claims[share.first].address + plan.offset_of[i];
    live.parts.push_back(plan.bytes_of[i] == 0 ? Part{} : Part{reinterpret_cast<void*>(address), plan.bytes_of[i]});
  }
  // In the network domain a rank reaches the words of its own node as those of others.
  const auto is_found = [&](const NodeShare& share) {
    return share.bytes > 0 && (share.node != launch_.node() || live.domain == AtomicDomain::network);
  };
  for (const NodeShare& share : plan.shares) {
    if (!is_found(share)) continue;
    live.remote.push_back(
        {share.node, attempt.claims[share.first].address, std::move(attempt.outcomes[share.first].key)});
  }
  {
    const base::ExclusiveLock lock(remote_mutex_);
    std::size_t next = 0;
    for (const NodeShare& share : plan.shares) {
      if (!is_found(share)) continue;
      const Live::Remote& remote = live.remote[next++];
      const Claim& claim = attempt.claims[share.first];
      remote_[index(share.node)][remote.begin] = {remote.begin, remote.begin + share.bytes, remote.key, claim.region,
                                                  live.domain};
    }
  }
  Allocation allocation{live.parts};
  if (void* mine = live.parts[attempt.group.my_index].address) by_my_address_.emplace(mine, attempt.key);
  live_.emplace(attempt.key, std::move(attempt.live));
  return allocation;
}

}  // namespace grapnel::segment
