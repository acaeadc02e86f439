#include "base/build.hpp"

#include <fmt/format.h>

namespace grapnel::base {

std::string build_name() { return fmt::format("{} (build {})", build_version(), build_id()); }

}  // namespace grapnel::base
