// Windows are made and freed.
//
//   every member: exchange wishes ─▶ all refuse, or allocate ─▶ begin the locks ─▶ the window
//
// The part of a member in the allocation: [its memory, at a page][control, at a cache line][locks of its node, where it
// is the node's first member]. With shared memory that is contiguous the first member's part has the memory of all.
// SPDX-License-Identifier: Apache-2.0
#include "window/windows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "base/codec.hpp"
#include "exchange/agreement.hpp"
#include "rma/service.hpp"
#include "window/internal/control.hpp"
#include "window/internal/services.hpp"

namespace grapnel::window {
namespace {

Result<std::unique_ptr<core::Service>> open(core::Core& core, progress::HandlerId) {
  return std::unique_ptr<core::Service>(std::make_unique<Windows>(core));
}

/// A member's wish, as the others get it.
struct Offer {
  std::uint64_t base = 0, bytes = 0;
  std::int64_t unit = 0;
  std::uint32_t flavor = 0, lock_kind = 0, lock_domain = 0, no_locks = 0, contiguous = 0, same_unit = 0;
  std::uint32_t way = kInSegment;  ///< to its memory
  std::uint32_t objection = 0;
  std::uint64_t locks = 0;  ///< number of the set, from the group's first member

  static constexpr std::uint32_t kInSegment = 0, kLent = 1, kNone = 2;

  bool is_like(const Offer& other) const {
    return flavor == other.flavor && lock_kind == other.lock_kind && lock_domain == other.lock_domain &&
           no_locks == other.no_locks && contiguous == other.contiguous && same_unit == other.same_unit &&
           (same_unit == 0 || unit == other.unit);
  }
};
static_assert(std::has_unique_object_representations_v<Offer>);

/// Every member computes the same answer from the same offers.
Status check_offers(const std::vector<Offer>& offers, const std::vector<Part>& parts) {
  for (std::size_t place = 0; place < offers.size(); ++place) {
    const Offer& one = offers[place];
    const std::size_t rank = index(parts[place].rank);
    if (one.unit < 1) {
      return Status(Code::invalid_argument,
                    fmt::format("a window of rank {} has the unit {}; it takes 1 and more", rank, one.unit));
    }
    if (!one.is_like(offers.front())) {
      return Status(Code::invalid_argument,
                    fmt::format("ranks {} and {} make a window with different flavours, options or units",
                                index(parts.front().rank), rank));
    }
    if (one.flavor == static_cast<std::uint32_t>(Flavor::shared) && parts[place].node != parts.front().node) {
      return Status(Code::unavailable, fmt::format("shared memory of ranks {} and {}: they are of different nodes",
                                                   index(parts.front().rank), rank));
    }
    if (one.way == Offer::kNone) {
      return Status(Code::unavailable, fmt::format("the memory of rank {} is of no segment, and process copies do not "
                                                   "work in its node; allocate it",
                                                   rank));
    }
  }
  return {};
}

LockOptions lock_options_of(const Options& wanted, const Settings& settings) {
  LockOptions options;
  options.domain = wanted.lock_domain.value_or(settings.lock_domain);
  const bool network = options.domain == AtomicDomain::network;
  const bool replaces = network && !locks::exists_in_network(settings.lock);
  options.kind = wanted.lock_kind.value_or(replaces ? LockKind::test_and_set : settings.lock);
  options.shared_mode = !network || options.kind == LockKind::test_and_set;
  return options;
}

/// Locks were asked for by kind or domain: where they cannot be had that is an error, and not a window for the host.
Status of_locks(const Status& made) {
  return made.code() == Code::unavailable ? Status(Code::invalid_argument, made.message()) : made;
}

bool has_own_memory(Flavor flavor) { return flavor == Flavor::allocated || flavor == Flavor::shared; }

/// The first member's part has the memory of all.
bool is_in_one(const Window& window) { return window.flavor() == Flavor::shared && window.options().contiguous; }

/// Of users' memory in a member's part of the allocation; SIZE_MAX where it is more than fits into any memory.
std::size_t user_bytes(const Window& window, int place) {
  if (!has_own_memory(window.flavor()) || (is_in_one(window) && place != 0)) return 0;
  if (!is_in_one(window)) return window.bytes_of(place);
  std::size_t sum = 0;
  for (int member = 0; member < window.size(); ++member) {
    if (__builtin_add_overflow(sum, window.bytes_of(member), &sum)) return SIZE_MAX;
  }
  return sum;
}

}  // namespace

const core::ServiceType kService{"window", Settings::group, nullptr, 0, open};

Windows::Windows(core::Core& core)
    : settings_(core.config.get<Settings>()),
      services_(new Services{core.launch, core.waiting, core.exchange, core.segments, core.service<locks::Locks>(),
                             core.service<rma::RmaService>().rma(), core.service<rma::RmaService>().near(),
                             core.service<rma::RmaService>().lent(), core.service<sync::Barriers>(),
                             core.service<sync::Signals>()}) {}

Windows::~Windows() = default;

// ---- creation

Windows::Created Windows::allocate(std::span<const Rank> places, std::size_t bytes, std::int64_t unit,
                                   const Options& options) {
  return make(places, {Flavor::allocated, options, nullptr, bytes, unit});
}

Windows::Created Windows::allocate_shared(std::span<const Rank> places, std::size_t bytes, std::int64_t unit,
                                          const Options& options) {
  return make(places, {Flavor::shared, options, nullptr, bytes, unit});
}

Windows::Created Windows::create(std::span<const Rank> places, void* base, std::size_t bytes, std::int64_t unit,
                                 const Options& options) {
  return make(places, {Flavor::created, options, base, bytes, unit});
}

Windows::Created Windows::create_dynamic(std::span<const Rank> places, const Options& options) {
  return make(places, {Flavor::dynamic, options});
}

Windows::Created Windows::make(std::span<const Rank> places, const Wish& wish) {
  const launch::NodeMap& nodes = services_->launch.nodes();
  GRAPNEL_ASSIGN_OR_RETURN(auto group, launch::make_group({places.begin(), places.end()}, services_->launch.rank(),
                                                          services_->launch.size()));
  Options kept = wish.options;
  kept.objection = nullptr;  // the caller's, for this call
  std::shared_ptr<Window> window(
      new Window(*services_, std::make_shared<const launch::Group>(std::move(group)), wish.flavor, kept));
  for (const Rank rank : places) {
    const NodeId node = nodes.node_of[index(rank)];
    window->parts_.push_back({rank, node, nullptr, 0, 1, node == services_->launch.node()});
    if (rank == services_->launch.rank()) window->my_place_ = static_cast<int>(window->parts_.size()) - 1;
  }
  Status made = agree(*window, wish);
  if (made.ok()) made = allocate_memory(*window);
  if (made.ok() && window->locks_ != nullptr)
    made = of_locks(services_->locks.begin(window->locks_, window->lock_block_));
  if (made.ok()) {
    window->near_.open(window->parts_, wish.flavor == Flavor::dynamic);
    return window;
  }
  window->locks_.reset();  // they did not begin
  if (made.code() != Code::peer_dead) GRAPNEL_TRY(give_back(*window));
  return made;
}

// The way to the memory that the caller brings; it is lent before the others know of it.
std::uint32_t Windows::way_to(Window& window, const Wish& wish) {
  const bool is_dynamic = wish.flavor == Flavor::dynamic;
  if (has_own_memory(wish.flavor) || (!is_dynamic && wish.bytes == 0)) return Offer::kInSegment;
  if (!is_dynamic && services_->segments.contains(wish.base, wish.bytes)) return Offer::kInSegment;
  if (!services_->rma.copies_work(services_->launch.node()).ok()) return Offer::kNone;
  if (is_dynamic) return Offer::kLent;
  return window.lend(wish.base, wish.bytes).ok() ? Offer::kLent : Offer::kNone;
}

// One objection refuses the window at all members.
Status Windows::settle_objections(const Options& options, std::uint32_t largest) {
  if (largest == 0) return {};
  if (options.objection != nullptr) *options.objection = largest;
  return Status(Code::unavailable, fmt::format("a member does not want the window (its reason: {})", largest));
}

Status Windows::agree(Window& window, const Wish& wish) {
  LockOptions lock_options = lock_options_of(wish.options, settings_);
  GRAPNEL_TRY(of_locks(services_->locks.with_settings(1, lock_options)));
  Offer mine;
  mine.base = reinterpret_cast<std::uint64_t>(wish.base);
  mine.bytes = wish.bytes;
  mine.unit = wish.unit;
  mine.flavor = static_cast<std::uint32_t>(wish.flavor);
  mine.lock_kind = static_cast<std::uint32_t>(lock_options.kind);
  mine.lock_domain = static_cast<std::uint32_t>(lock_options.domain);
  mine.no_locks = wish.options.no_locks ? 1 : 0;
  mine.contiguous = wish.options.contiguous ? 1 : 0;
  mine.same_unit = wish.options.same_unit ? 1 : 0;
  mine.way = way_to(window, wish);
  mine.objection = wish.options.objection != nullptr ? *wish.options.objection : 0;
  const launch::Group& group = *window.group_;
  if (!wish.options.no_locks && group.my_index == 0) mine.locks = services_->locks.next_number();
  GRAPNEL_ASSIGN_OR_RETURN(const auto all, services_->exchange.allgather(group, base::bytes_of(mine)));
  std::vector<Offer> offers;
  std::uint32_t objection = 0;
  std::uint64_t number = 0;
  for (Part& part : window.parts_) {
    // A member that sent something else has no unit, and is refused.
    const Offer offer = base::Decoder(all[group.index_of(part.rank)]).get<Offer>().value_or(Offer());
    part.bytes = offer.bytes;
    part.unit = offer.unit;
    part.base = reinterpret_cast<std::byte*>(offer.base);
    part.is_lent = offer.way == Offer::kLent;
    objection = std::max(objection, offer.objection);
    if (part.rank == group.members.front()) number = offer.locks;
    offers.push_back(offer);
  }
  GRAPNEL_TRY(settle_objections(wish.options, objection));
  GRAPNEL_TRY(check_offers(offers, window.parts_));
  if (!wish.options.no_locks) window.locks_ = services_->locks.prepare(number, window.group_, 1, lock_options);
  return {};
}

Status Windows::allocate_memory(Window& window) {
  const locks::Set* const locks = window.locks_.get();
  const bool has_block = locks != nullptr && locks->memory().allocates_block();
  const std::size_t bytes =
      part_bytes(user_bytes(window, window.my_place_), window.size(), has_block ? locks->memory().block_bytes() : 0);
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocation, services_->segments.allocate(*window.group_, bytes));
  place_parts(window, allocation);
  return {};
}

void Windows::place_parts(Window& window, const segment::Allocation& allocation) const {
  const launch::Group& group = *window.group_;
  std::byte* next = nullptr;  ///< with all memory in one part
  for (std::size_t place = 0; place < window.parts_.size(); ++place) {
    Part& part = window.parts_[place];
    auto* const block = static_cast<std::byte*>(allocation.parts[group.index_of(part.rank)].address);
    if (is_in_one(window)) {
      if (place == 0) next = block;
      part.base = std::exchange(next, next + part.bytes);
    } else if (has_own_memory(window.flavor_)) {
      // Of a shared window, an empty part has no address, as with the MPIs: programs look whether there is one.
      part.base = window.flavor_ == Flavor::shared && part.bytes == 0 ? nullptr : block;
    }
    const std::size_t bytes = user_bytes(window, static_cast<int>(place));
    window.controls_.push_back(block + control_offset(bytes));
    if (part.rank == services_->launch.rank()) window.allocation_ = block;
    if (window.locks_ == nullptr || part.rank != window.locks_->memory().block_owner()) continue;
    window.lock_block_ = block + lock_block_offset(bytes, window.size());
  }
  GRAPNEL_ASSERT(window.allocation_ != nullptr && (window.locks_ == nullptr || window.lock_block_ != nullptr),
                 "a window of {} members without this rank's part, or its node's locks", window.size());
}

// ---- the end

Status Windows::give_back(Window& window) {
  if (window.locks_ != nullptr) GRAPNEL_TRY(services_->locks.end(*window.locks_));
  window.locks_.reset();
  GRAPNEL_TRY(window.take_back());
  if (window.allocation_ == nullptr) return {};
  return services_->segments.free(*window.group_, std::exchange(window.allocation_, nullptr));
}

Outcome Windows::free(Window& window) {
  GRAPNEL_WINDOW_TRY(window.may_be_freed());
  Outcome completed = window.complete_all(true);
  if (window.locks_ != nullptr) GRAPNEL_WINDOW_TRY(services_->locks.settle(*window.locks_));
  const Status met = window.meet();
  if (!met.ok() && met.code() != Code::refused) return met;
  GRAPNEL_WINDOW_TRY(give_back(window));
  return completed.ok() ? Outcome(met) : std::move(completed);
}

}  // namespace grapnel::window
