// The operation table: rows from counters, summed over ranks, printed.
#pragma once

#include <string>
#include <vector>

#include "grapnel/runtime.hpp"
#include "rma/counts.hpp"

namespace grapnel::runtime {

OperationCount row_of(rma::OperationKind kind, const rma::OperationCounts& counts);
OperationCount row_of(const rma::FenceCounts& counts);
/// The numbers of the rows, in order; the names stay with the reader.
Bytes encode(const std::vector<OperationCount>& rows);
void add_encoded(std::vector<OperationCount>& rows, ByteView encoded);
std::string table(const std::vector<OperationCount>& rows);

}  // namespace grapnel::runtime
