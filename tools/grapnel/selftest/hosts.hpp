// The hosts that the user names: whether they have addresses, and how many ranks they get.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "selftest/row.hpp"

namespace grapnel::tool::selftest {

struct NamedHost {
  std::string name;
  int ranks = 0;  ///< 0: not given
};
/// Of "a,b" or "a:2,b:1".
std::vector<NamedHost> parse_hosts(const std::string& hosts);

/// A row for each that does not resolve, or one good row. Looks them up side by side, for `limit_s` at most.
std::vector<Row> resolve(const std::vector<NamedHost>& hosts, double limit_s);

}  // namespace grapnel::tool::selftest
