// Hosts of a lab (docs/lab.md) for as long as a measurement takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace grapnel::bench {

class Lab {
 public:
  /// `delay`: as `./dev lab up --delay` takes it; empty: none. What is wrong is printed on stderr. A coordinator that
  /// is killed leaves idle hosts, which the next `up` of anybody removes.
  explicit Lab(int hosts, const std::string& delay = {});
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab();

  [[nodiscard]] bool is_up() const { return up_; }
  /// What this machine and the hosts both see, and what ends with the lab.
  [[nodiscard]] std::string folder() const;
  /// The beginning of a command that runs a program on the hosts, in turn; `environment`: "NAME=value".
  [[nodiscard]] std::vector<std::string> run(const std::string& launcher, int ranks, int timeout_s,
                                             const std::vector<std::string>& environment = {}) const;

 private:
  std::string number_;
  bool up_ = false;
};

}  // namespace grapnel::bench
