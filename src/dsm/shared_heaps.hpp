// The shared heap as a service of the runtime: opened by all ranks, once.
//
// Threads: `open` collectively.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "core/service.hpp"
#include "dsm/handlers.hpp"
#include "dsm/heap.hpp"

namespace grapnel::dsm {

extern const core::ServiceType kService;

class SharedHeaps final : public core::Service {
 public:
  SharedHeaps(core::Core& core, progress::HandlerId first)
      : core_(core), first_handler_(first), handlers_(core, first) {}

  /// Collective: the job's heap. Every rank gets the same answer. Errors: invalid_argument (open already; options that
  /// differ), unavailable (too many nodes; no range of addresses that is free in all ranks; the trap), no_memory,
  /// peer_dead.
  Result<std::shared_ptr<Heap>> open(const SharedHeapOptions& options);

  /// Writes the report, where one is wanted.
  Status complete() override;
  void before_client_ends() override {
    if (heap_) heap_->close();
  }
  void append_counts(std::vector<OperationCount>& rows) const override;
  Result<std::string> report(const core::Gather& gather) override;

 private:
  Result<SharedHeapOptions> agree_on_options(SharedHeapOptions options);
  /// Where the heap lies in all ranks: the first range that is free in all.
  Status agree_on_addresses(HeapParts& parts);
  Status make_parts(HeapParts& parts, int locks);

  core::Core& core_;
  const progress::HandlerId first_handler_;
  Handlers handlers_;
  std::uint32_t combine_ = 0;  ///< of barriers; 0: not added yet
  std::shared_ptr<Heap> heap_;
  std::shared_ptr<Report> report_;  ///< null: none is wanted
};

}  // namespace grapnel::dsm
