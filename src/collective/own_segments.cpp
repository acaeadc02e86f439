// SPDX-License-Identifier: Apache-2.0
#include "collective/own_segments.hpp"

#include "base/check.hpp"

namespace grapnel::collective {
namespace {

launch::Group group_of(const launch::Launch& launch) {
  auto alone = launch::make_group({launch.rank()}, launch.rank(), launch.size());
  GRAPNEL_CHECK(alone.ok(), "a group of rank {} alone", index(launch.rank()));
  return std::move(*alone);
}

}  // namespace

OwnSegments::OwnSegments(core::Core& core) : segments_(core.segments), alone_(group_of(core.launch)) {}

Result<std::byte*> OwnSegments::allocate(std::size_t bytes) {
  GRAPNEL_ASSIGN_OR_RETURN(const auto allocation, segments_.allocate(alone_, bytes));
  return static_cast<std::byte*>(allocation.parts.front().address);
}

}  // namespace grapnel::collective
