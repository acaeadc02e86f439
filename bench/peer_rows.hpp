// The rows that hold us against others' one-sided communication, made of what the programs of bench/peers printed.
//
// A round starts every program once, one after the other; a value is the median of its rounds. The limit of a row is
// the best peer of the same run.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "measurement.hpp"

namespace grapnel::bench {

enum class PeerPlace { same_node, two_hosts };

/// The name that the programs know it by.
const char* to_string(PeerPlace place);

/// The programs of ours: with ARMCI's interface, and with the C++ interface below it.
inline const std::string kOurArmci = "grapnel-armci";
inline const std::string kOurCore = "grapnel-core";
bool is_ours(const std::string& program);

/// What the programs printed: by operation ("get/8B/latency"), by program, one value per round; ns or GB/s.
class PeerValues {
 public:
  /// Takes in one line of a program's output. "peer-row OPERATION VALUE" adds a value; "peer-wrong OPERATION" states
  /// that the memory was not what it must be, and discards what this program printed for it, now and later. Answers
  /// false for any other line.
  bool take(const std::string& program, const std::string& line);

  std::optional<double> median_of(const std::string& operation, const std::string& program) const;
  const std::vector<double>* values_of(const std::string& operation, const std::string& program) const;
  /// The best of those that are not ours; nothing when there is none.
  std::optional<std::string> best_peer(const std::string& operation) const;
  /// Pairs of program and operation.
  const std::vector<std::pair<std::string, std::string>>& wrong() const { return wrong_; }

 private:
  bool is_wrong(const std::string& program, const std::string& operation) const;

  std::map<std::string, std::map<std::string, std::vector<double>>> values_;
  std::vector<std::pair<std::string, std::string>> wrong_;
};

/// A row of one place: its name in the report and the operation that it shows.
struct PeerRow {
  enum class Kind {
    best_peer,  ///< the limit is the best peer
    idle,       ///< the operation with a busy target; the limit is ours with an idle one
    front_end,  ///< ARMCI's interface; the limit is the C++ interface
  };
  std::string name;
  std::string operation;
  Kind kind;
};

const std::vector<PeerRow>& peer_rows(PeerPlace place);

/// Nothing when a value or its limit is missing. `ours`: the program of ours that is shown.
std::optional<Measurement> peer_measurement(const PeerRow& row, PeerPlace place, const PeerValues& values,
                                            const std::string& ours);

}  // namespace grapnel::bench
