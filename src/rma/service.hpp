// The service rma: put, get, accumulate and read-modify-write of one rank, and the handlers of its node's server.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/core.hpp"
#include "rma/handlers.hpp"
#include "rma/near.hpp"
#include "rma/rma.hpp"
#include "rma/stripes.hpp"
#include "segment/lent.hpp"

namespace grapnel::rma {

class RmaService final : public core::Service {
 public:
  explicit RmaService(core::Core& core);

  Rma& rma() { return rma_; }
  const Near& near() const { return near_; }
  /// What this rank lends to others.
  segment::Lent& lent() { return lent_; }
  /// Of this node's memory: a holder excludes all updates there.
  Stripes& stripes() { return stripes_; }

  Status complete() override;
  void before_client_ends() override { rma_.forget_remote_keys(); }
  void append_counts(std::vector<OperationCount>& rows) const override;

 private:
  Stripes stripes_;
  segment::Lent lent_;
  core::NetworkWords words_;
  Rma rma_;
  const Near near_;
  Handlers handlers_;
};

extern const core::ServiceType kService;

}  // namespace grapnel::rma
