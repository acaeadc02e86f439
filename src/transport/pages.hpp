// Pages that are exchanged behind addresses that stay mapped.
//
// UCX keeps the registrations of memory that it has sent from, received into or was asked to register, by address,
// until it learns that the memory was unmapped. Where a hole is made in a mapped file and filled again it learns
// nothing: the adapter would go on with the old pages. The cache is the process's, and so also its MPI's where that
// uses the same library.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "grapnel/types.hpp"

namespace grapnel::transport {

/// Other pages are behind these addresses from now on, or none: every kept registration of them ends. No transfer of
/// this process is using them. Any thread.
void forget_pages(ByteSpan memory);

}  // namespace grapnel::transport
