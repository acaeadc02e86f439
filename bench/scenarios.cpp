// SPDX-License-Identifier: Apache-2.0
#include "collect.hpp"
#include "dse_rows.hpp"
#include "dsm_papers.hpp"
#include "dsm_rows.hpp"
#include "lock_rows.hpp"
#include "scenario.hpp"
#include "sync_rows.hpp"

namespace grapnel::bench {
namespace {

constexpr int kPairs = 61;
constexpr int kPairsQuick = 31;

// `rma`, or those of its rows that hold us against others.
Scenario rma(const std::string& name, const std::string& help, bool only_peers) {
  const auto options = [only_peers](const Wanted& wanted) {
    return RmaOptions{wanted.filter, wanted.effort, only_peers};
  };
  return {name,
          "",
          help,
          "rma",
          kPairs,
          kPairsQuick,
          [options](const Wanted& wanted) { return rma_rows(options(wanted)); },
          [options](const Wanted& wanted, const PeerSink& sink) { return collect_rma(options(wanted), sink); }};
}

Scenario sync() {
  return {"sync",
          "",
          "Fence, barrier and lock, beside the papers' and the machine's limits",
          "sync",
          kPairs,
          kPairsQuick,
          [](const Wanted& wanted) { return sync_rows(wanted.filter); },
          [](const Wanted& wanted, const PeerSink& sink) { return collect_sync(wanted.filter, wanted.effort, sink); }};
}

Scenario locks() {
  return {"locks",
          "",
          "The MPI paper's five metrics, for every lock and progress mode",
          "locks",
          kLockRounds,
          kLockRoundsQuick,
          [](const Wanted& wanted) { return lock_rows(wanted.filter); },
          [](const Wanted& wanted, const PeerSink& sink) {
            return collect_locks(wanted.filter, wanted.effort, sink.on_row);
          }};
}

Scenario dsm() {
  return {"dsm",
          "",
          "The shared heap: its messages, its costs beside their parts, and a program in it",
          "dsm",
          kDsmPairs,
          kDsmPairsQuick,
          [](const Wanted& wanted) { return dsm_rows(wanted.filter); },
          [](const Wanted& wanted, const PeerSink& sink) { return collect_dsm(wanted.filter, wanted.effort, sink); }};
}

Scenario dsm_papers() {
  return {"dsm",
          "papers",
          "instead, what the TreadMarks paper measures, in three ways of progress",
          "dsm_papers",
          kPaperRounds,
          kPaperRoundsQuick,
          [](const Wanted& wanted) { return dsm_paper_rows(wanted.filter); },
          [](const Wanted& wanted, const PeerSink& sink) {
            return collect_dsm_papers(wanted.filter, wanted.effort, sink.on_row);
          }};
}

Scenario dse() {
  return {"dse",
          "",
          "The DSE paper's four tests, beside a plain server over TCP sockets",
          "dse",
          kDseRounds,
          kDseRoundsQuick,
          [](const Wanted& wanted) { return dse_rows(wanted.filter); },
          [](const Wanted& wanted, const PeerSink& sink) { return collect_dse(wanted.filter, wanted.effort, sink); }};
}

}  // namespace

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {rma("rma", "One-sided operations, inside a node and between nodes", false),
                                            rma("peers", "The rows of rma that hold us against others", true),
                                            sync(),
                                            locks(),
                                            dse(),
                                            dsm(),
                                            dsm_papers()};
  return all;
}

}  // namespace grapnel::bench
