// `grapnel info`: what this build is, what it finds here, and every setting.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/config.hpp"
#include "grapnel/status.hpp"

namespace grapnel::tool {

/// A titled table; the first row names the columns.
struct Section {
  std::string title;
  std::vector<std::vector<std::string>> rows;
};

/// `grapnel info [--json]`. The answer is the exit code.
int info(bool json);

/// What the transports and the choice of protocols have to say (info_transport.cpp).
std::vector<Section> transport_sections(const base::Config& config);

}  // namespace grapnel::tool
