// The collective of start-up, over the launcher's key store: slow (a launcher's barrier each), but there before all.
//
// Serves groups of all ranks only, as the launcher's fence does. Threads: one caller at a time.
#pragma once

#include <cstdint>

#include "launch/group.hpp"
#include "launch/launch.hpp"

namespace grapnel::launch {

class BootstrapExchange final : public Exchange {
 public:
  explicit BootstrapExchange(Launch& launch) : launch_(launch) {}

  /// Cost: publish, fence and a lookup per other rank. What was published stays in the launcher's store until the job
  /// ends. Errors: unavailable (a group that lacks ranks), and what the launcher reports.
  Result<std::vector<Bytes>> allgather(const Group& group, ByteView mine) override;

 private:
  Launch& launch_;
  std::uint64_t calls_ = 0;  ///< names each call's values, so that a fast rank cannot overwrite what others still read
};

}  // namespace grapnel::launch
