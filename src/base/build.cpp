// SPDX-License-Identifier: Apache-2.0
#include "base/build.hpp"

#include <fmt/format.h>

namespace grapnel::base {

const std::string& build_name() {
  static const std::string name = fmt::format("{} (build {})", build_version(), build_id());
  return name;
}

}  // namespace grapnel::base
