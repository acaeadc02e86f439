// The operation table that is printed at the end: rows summed over ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "grapnel/operation_count.hpp"
#include "grapnel/types.hpp"

namespace grapnel::runtime {

/// The numbers of the rows, in order; the names stay with the reader.
Bytes encode(const std::vector<OperationCount>& rows);
void add_encoded(std::vector<OperationCount>& rows, ByteView encoded);
std::string table(const std::vector<OperationCount>& rows);

}  // namespace grapnel::runtime
