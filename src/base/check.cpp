// SPDX-License-Identifier: Apache-2.0
#include "base/check.hpp"

#include <cstdlib>

#include "base/log.hpp"

namespace grapnel::base {

void check_failed(const char* file, int line, const char* condition, const std::string& values) {
  log_write(LogLevel::error, fmt::format("internal error at {}:{}: {} is false ({})", file, line, condition, values));
  std::abort();
}

}  // namespace grapnel::base
