// Descriptors 0, 1 and 2 are the program's: nothing of ours may have them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace grapnel::os {

/// Opens /dev/null for those of 0, 1 and 2 that are closed (daemons and cron start programs so). Otherwise the next
/// socket or shared memory would get the number, and what the program prints would land in it. Any thread; at the
/// start.
void fill_standard_descriptors();

}  // namespace grapnel::os
