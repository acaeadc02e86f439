// The service of windows: makes and frees them, collectively over a group.
//
// A window takes one allocation of segment memory of its group: each member's part is the user's memory, at a page, and
// behind it the words that post and complete count in. Behind those of a node's first member lie the words of the
// window's locks in that node, one lock per member; a window with `no_locks` has none.
//
// Threads: creation and free collectively, one at a time per rank.
// Cost: creation: five exchanges, four without locks; free: a barrier and two exchanges. Docs: docs/window.md.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "core/core.hpp"
#include "grapnel/status.hpp"
#include "window/settings.hpp"
#include "window/window.hpp"

namespace grapnel::window {

extern const core::ServiceType kService;

class Windows final : public core::Service {
 public:
  explicit Windows(core::Core& core);
  ~Windows() override;

  using Created = Result<std::shared_ptr<Window>>;

  // Collective over the ranks of `places`, which name the members in the order of their places; all give the same list.
  // Every member gets the same answer. `unit`: what displacements count in, positive; may differ. Errors:
  // invalid_argument (a rank twice or outside the job; a unit below 1; the members' options, flavours or, with
  // same_unit, units differ); no_memory; unavailable (an objection, and see below); peer_dead.

  /// Memory of the window's own, zeroed; `bytes` may be 0 and may differ.
  Created allocate(std::span<const Rank> places, std::size_t bytes, std::int64_t unit, const Options& options);
  /// The same on one node: all members load and store in each other's parts. unavailable: the members are of several
  /// nodes.
  Created allocate_shared(std::span<const Rank> places, std::size_t bytes, std::int64_t unit, const Options& options);
  /// The caller's memory, which stays until the window is freed: of segments, or lent by process copies. unavailable,
  /// with the reason: some member's memory is of no segment, and process copies do not work in its node.
  Created create(std::span<const Rank> places, void* base, std::size_t bytes, std::int64_t unit,
                 const Options& options);
  /// No memory until `attach`. unavailable: as for `create`.
  Created create_dynamic(std::span<const Rank> places, const Options& options);

  /// Collective over the window's ranks: completes this rank's operations, meets, and gives the memory back. Errors:
  /// synchronization (nothing was done, and no other rank was waited for); range: a write was refused, the window is
  /// gone; peer_dead.
  Outcome free(Window& window);

 private:
  /// What a member brings to a creation.
  struct Wish {
    Flavor flavor{};
    const Options& options;
    void* base = nullptr;
    std::size_t bytes = 0;
    std::int64_t unit = 1;
  };
  Created make(std::span<const Rank> places, const Wish& wish);
  /// Exchanges the members' wishes; the same error in all of them where these cannot be one window.
  Status agree(Window& window, const Wish& wish);
  static Status settle_objections(const Options& options, std::uint32_t largest);
  std::uint32_t way_to(Window& window, const Wish& wish);
  Status allocate_memory(Window& window);
  void place_parts(Window& window, const segment::Allocation& allocation) const;
  Status give_back(Window& window);

  const Settings settings_;
  const std::unique_ptr<Services> services_;
};

}  // namespace grapnel::window
