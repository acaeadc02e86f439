// What is printed at the end: the operation table and the locks, from counters summed over ranks.
#pragma once

#include <string>
#include <vector>

#include "grapnel/runtime.hpp"
#include "locks/locks.hpp"
#include "rma/counts.hpp"
#include "sync/barrier.hpp"

namespace grapnel::runtime {

OperationCount row_of(rma::OperationKind kind, const rma::OperationCounts& counts);
OperationCount row_of(const rma::FenceCounts& counts);
/// `messages`: sent by this rank, if it leads its node.
OperationCount row_of(const sync::BarrierCounts& counts, std::uint64_t messages);
/// The numbers of the rows, in order; the names stay with the reader.
Bytes encode(const std::vector<OperationCount>& rows);
void add_encoded(std::vector<OperationCount>& rows, ByteView encoded);
std::string table(const std::vector<OperationCount>& rows);

/// A line and a histogram of waiting times for each kind that was used; empty where none was.
std::string lock_table(const std::vector<LockCounts>& by_kind);

}  // namespace grapnel::runtime
